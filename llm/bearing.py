"""Whether a sentence of an answer is borne by the memories that it cites.

A model may cite what says nothing of the kind. What can be checked without another model is: that
names, numbers, dates and addresses stand in what is cited, that some of its words do, and that it
denies only what is denied there, and affirms nothing that is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from rewound.llm.claim_words import Token, tokens_of
from rewound.llm.grounding import Ground, ground, unborne
from rewound.llm.question_answering import Recalled
from rewound.llm.scripts import is_other_script
from rewound.llm.time_expressions import find
from rewound.llm.time_ranges import TimeExpression

_HOST = r"(?-i:\b[a-z][\w-]*\.(?:[a-z][\w-]*\.)*[a-z]{2,24}\b)"
_ADDRESS = re.compile(
    r"\w[\w+.-]*://\S+|\bwww\.\S+|\bmailto:\S+|[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"
    rf"|{_HOST}(?:/\S*)?|!?\[[^\]]*\]\([^)]*\)|<[a-z/!][^>]*>",
    re.I,
)
"""Of the web and of mail, with a scheme or without, and what a page would show as one."""
_YES = re.compile(r"(?:yes|no|ja|nein|oui|non|sí|sì)\b\W*", re.I)
"""A first word that only says which way the rest goes."""

_EDGES = ".,;:!?)>]}\"'”’»"


def wanting(sentence: str, cited: Sequence[Recalled]) -> str | None:
    """What of a sentence the memories that it cites do not bear, in words; None if it stands."""
    sentence = _YES.sub("", sentence, count=1) if _YES.match(sentence) else sentence
    words = "\n".join(f"{each.asked} {each.text}" for each in cited)
    for address in _ADDRESS.findall(sentence):
        if address.rstrip(_EDGES) not in words:
            return "it holds an address that what it cites does not"
    on = _together([_ground(each) for each in cited])
    plain = _without_dates(sentence, cited)
    missing = unborne(plain, on)
    if missing == "words":
        return "what it cites says nothing of the kind"
    if missing is not None:
        return f"it holds {missing} that what it cites does not"
    if is_other_script(sentence):
        return None  # its letters were looked for
    said = [token for token in tokens_of(sentence) if token.is_content]
    known = [token for token in tokens_of(f"{words} {on.speaker}") if token.is_content]
    if not {token.stem for token in said} & {token.stem for token in known} and not _akin(said, on):
        return "what it cites says nothing of the kind"
    if _is_denial(said, known, any(each.over for each in cited)):
        return "it denies what it cites, or affirms what that denies"
    return None


def _ground(memory: Recalled) -> Ground:
    return ground(f"{memory.asked} {memory.text}".strip(), memory.by, memory.at, memory.zone)


def _together(grounds: Sequence[Ground]) -> Ground:
    first = grounds[0]
    return first._replace(
        words="\n".join(each.words for each in grounds),
        speaker=" ".join(each.speaker for each in grounds),
        times=tuple(time for each in grounds for time in each.times),
    )


def _akin(said: Sequence[Token], on: Ground) -> bool:
    """Whether a long word stands in what is cited as a part of another, or the other way round."""
    words = re.findall(r"\w{4,}", f"{on.words} {on.speaker}".casefold())
    return any(
        token.low.startswith(word) or word.startswith(token.low)
        for token in said
        if len(token.low) >= 4
        for word in words
    )


def _is_denial(said: Sequence[Token], known: Sequence[Token], over: bool) -> bool:
    """Whether one denies what the other affirms."""
    denied = {token.stem for token in known if token.denied}
    affirmed = {token.stem for token in known if not token.denied}
    denies = {token.stem for token in said if token.denied and not token.date}
    if not over and denies & affirmed - denied:
        return True
    content = {token.stem for token in said if not token.date}
    against = (content - denies) & (denied - affirmed)
    return bool(against) and 2 * len(against) >= len(content)


# --- dates that the memories are marked with


def _without_dates(sentence: str, cited: Sequence[Recalled]) -> str:
    """The sentence without times that are those of what it cites, so that a day of the month bears
    no number of cats."""
    days = [day for each in cited for day in _days(each)]
    spans: set[tuple[int, int]] = set()
    for each in cited:
        for time in find(sentence, each.at, each.zone):
            if any(_names(time, first, length) for first, length in days):
                spans.add((time.start, time.end))
    for start, end in sorted(spans, reverse=True):
        sentence = f"{sentence[:start]} {sentence[end:]}"
    return sentence


_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")


def _days(memory: Recalled) -> Iterator[tuple[date, int]]:
    """The first day of each of its dates, and how many parts of it are known: year, month, day."""
    for text in memory.dates:
        found = _DATE.match(text)
        if found is not None:
            parts = [int(part) for part in found.groups() if part]
            yield date(*(*parts, 1, 1)[:3]), len(parts)


def _names(time: TimeExpression, day: date, parts: int) -> bool:
    """Whether a time is such a date, said as exactly as it is known or less."""
    first = time.first or time.past
    if first is None:
        return False
    if time.first is not None and time.past is not None:
        return time.first.date() <= day < time.past.date()
    at = first.date()
    wholes = ((day.year, day.month, day.day), (day.year, day.month, 1), (day.year, 1, 1))
    return (at.year, at.month, at.day) in wholes[3 - parts :]
