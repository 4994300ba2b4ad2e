"""Statements that share a subject: `I moved to Ghent and started at Arcadis` states two things.

Only the places are found here where such a clause could be parted; whether it is depends on what
the parts say.
"""

from typing import NamedTuple

from rewound.llm.english import (
    AUXILIARIES,
    SAME_IN_PAST,
    THIRD,
    VERBS,
    Word,
    holds_its_verb,
    is_adverb,
    is_past,
    is_third,
)
from rewound.llm.stating import Form


class Segment(NamedTuple):
    """Characters [start, end) of a clause that hold one of its verbs with what belongs to it."""

    start: int
    end: int


_STOPS = frozenset(
    "that which who whom whose because when where while if whether what how why than as i we they "
    "you he she it to".split()
)
_LINKS = frozenset("also then now later recently just already".split())
_OWN = frozenset("i i'm i've we we're we've".split())


def segments(text: str, words: list[Word], verb: int, form: Form) -> list[Segment]:
    """The parts of a clause, its subject in the first one; one part where it is whole.

    A verb of the same tense must follow `and`, with more than itself behind it.
    """
    whole = [Segment(0, len(text))]
    if form not in ("statement", "elided") or verb < 0 or verb >= len(words):
        return whole
    past = _is_past(words, verb)
    own = words[0].low in _OWN or form == "elided"
    begins = [0]
    ends: list[int] = []
    place = verb + 1
    while place < len(words) - 2:
        low = words[place].low
        if low in _STOPS and not (low == "to" and words[place + 1].low not in VERBS):
            break
        if holds_its_verb(low):
            break
        after = place + 1
        if low == "and":
            while after < len(words) - 2 and (
                words[after].low in _LINKS or is_adverb(words[after].low)
            ):
                after += 1
            if _goes_on(text, words, after, past, own):
                ends.append(words[place - 1].end)
                begins.append(words[place + 1].start)
        place = after
    ends.append(len(text))
    return [Segment(start, end) for start, end in zip(begins, ends, strict=True)]


def _is_past(words: list[Word], verb: int) -> bool:
    low = words[verb].low
    if low in ("i've", "we've", "have", "has"):
        after = words[verb + 1].low if verb + 1 < len(words) else ""
        return is_past(after)  # I've moved, but not: I have a dog.
    return is_past(low) or low in SAME_IN_PAST or low in ("was", "were", "had", "did")


# What goes on from then till now, whatever stands before it: was born in Lima and lives in Oslo.
_LASTING = frozenset("live lives work works".split())


def _goes_on(text: str, words: list[Word], place: int, past: bool, own: bool) -> bool:
    """Whether the word is a verb of the same tense whose object or complement follows. After the
    first person (`own`) it has its plain form."""
    word, after = words[place], words[place + 1]
    if not word.text.islower() or text[word.end : after.start] != " ":
        return False
    if after.low in ("and", "or", "of") or is_third(after.low) or after.low in AUXILIARIES:
        return False
    if word.low in _LASTING and after.low in ("in", "at", "for", "as", "near"):
        return word.low.endswith("s") != own
    if past:
        return is_past(word.low) or word.low in SAME_IN_PAST
    if own:
        return word.low in VERBS or word.low in ("have", "am", "are")
    return word.low in THIRD or word.low in ("has", "is")


def shared_subject(words: list[Word], verb: int, name: str) -> str | None:
    """The subject that all parts share, where it is the speaker; None where it is another."""
    first = words[0].low
    if first not in _OWN or any(word.low == "and" for word in words[:verb]):
        return None
    return name if first.startswith("i") else f"{name} and others"
