"""What is believed of a model's statements: as much as the text bears.

Each must quote the words that it was drawn from, these must hold its names, numbers and dates, and
what others say is not turned into the speaker's.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rewound.eventlog.enums import FactKind
from rewound.llm.english import verb_at, words_of
from rewound.llm.extraction import Drawn, Said
from rewound.llm.grounding import (
    Ground,
    Unborne,
    ground,
    located,
    missing_names,
    since,
    unborne,
    until,
)
from rewound.llm.portions import Portion, Stretch
from rewound.llm.scripts import is_other_script
from rewound.llm.sentences import sentences
from rewound.llm.speakers import AUTHOR, UNNAMED, speaks
from rewound.llm.stating import FORGOTTEN, is_question

TEXT_CHARS_MAX = 1000


def owner_of(piece: Said) -> str:
    """Whoever speaks, as statements call them."""
    speaker = " ".join((piece.speaker or "").split())[:100]
    return speaker or (AUTHOR if piece.role == "document" else UNNAMED)


class LeftOut(Exception):
    """Why a statement is left out, in words without any of its own."""


class _Found(NamedTuple):
    stretch: Stretch
    start: int
    end: int
    """In the stretch."""


def believed(fact: dict[str, Any], portion: Portion, pieces: Sequence[Said]) -> tuple[int, Drawn]:
    """A statement, if its words bear it. Raises LeftOut."""
    found = _found(fact["quote"], portion)
    piece = pieces[found.stretch.piece]
    owner = owner_of(piece)
    text = _named(" ".join(fact["text"].split()).rstrip("."), owner)
    if not text or len(text) > TEXT_CHARS_MAX or FORGOTTEN in text:
        raise LeftOut("without a usable text")
    if speaks(words_of(text)):
        raise LeftOut("in the first person")
    if piece.role == "user" and _asks(found):
        raise LeftOut("drawn from a question")
    if piece.role == "user" and not _is_own(text, _sentences_around(found), owner):
        raise LeftOut("turning others' words into the speaker's")
    found, on = _grown(found, text, owner, piece)
    if FORGOTTEN in on.words:
        raise LeftOut("drawn from what was forgotten")
    if missing := unborne(text, on):
        raise LeftOut(f"with {missing} that the text does not hold")
    kind = FactKind[fact["kind"].upper()]
    try:
        begun, ended = since(fact["valid_from"], on), until(fact["valid_to"], on)
    except Unborne:
        raise LeftOut("with a date that the text does not hold") from None
    if begun is None and ended is None and len(on.times) == 1:
        (time,) = on.times
        if time.relation != "at" or kind is FactKind.EPISODE:
            begun, ended = time.valid_from, time.valid_to
    if begun is not None and ended is not None and ended.at <= begun.at:
        ended = None
    subject, attribute, value = _property(fact, on)
    return found.stretch.piece, Drawn(
        text=text[:1].upper() + text[1:],
        start=found.stretch.start + found.start,
        end=found.stretch.start + found.end,
        kind=kind,
        valid_from=begun,
        valid_to=ended,
        subject=subject,
        attribute=attribute,
        value=value,
        entities=_entities(fact, on),
        confidence=_confidence(fact["confidence"]),
    )


def _found(quote: str, portion: Portion) -> _Found:
    for stretch in portion.stretches:
        if span := located(stretch.text, quote):
            return _Found(stretch, span.start, span.end)
    raise LeftOut("without a quote from the text")


def _named(text: str, owner: str) -> str:
    """With the speaker's name where the model wrote `the user`."""
    if owner in (UNNAMED, AUTHOR):
        return text
    return re.sub(r"\b[Tt]he (?:user|speaker)\b", lambda _: owner, text)


def _asks(found: _Found) -> bool:
    """Whether a quote is a question; what stands in front of one in its sentence may state."""
    text = found.stretch.text
    quote = text[found.start : found.end].strip()
    mark = text[found.end : found.end + 1]
    return is_question(quote.lower(), quote.endswith(("?", "？")) or mark in ("?", "？"))


def _sentences_around(found: _Found) -> str:
    """The whole sentences that a quote stands in."""
    text = found.stretch.text
    held = [
        span
        for span in sentences(text, 0, len(text))
        if span.start < found.end and found.start < span.end
    ]
    return text[held[0].start : held[-1].end] if held else text[found.start : found.end]


_ENGLISH = frozenset(
    "the is are has and with of to his her for he she they says said lives".split()
)


def _is_own(text: str, sentence: str, owner: str) -> bool:
    """Whether a statement about the speaker comes of a sentence in which they speak of themselves,
    which may leave out the `I`. Only English is judged."""
    if not text.lower().startswith(owner.lower()) or is_other_script(sentence):
        return True
    words = words_of(sentence)
    if speaks(words) or owner.lower() in sentence.lower():
        return True
    english = any(word.low in _ENGLISH for word in words)
    return not english or verb_at(words) <= 0


GROWTH_CHARS = 400


def _grown(found: _Found, text: str, owner: str, piece: Said) -> tuple[_Found, Ground]:
    """The quote with the words before it that hold a name it only points at with `she`."""
    words = found.stretch.text
    on = ground(words[found.start : found.end], owner, piece.at, piece.zone)
    missing = missing_names(text, on)
    if not missing:
        return found, on
    begin = max(0, found.start - GROWTH_CHARS)
    before = words[begin : found.start].lower()
    places = [before.rfind(name.lower().removesuffix("'s").removesuffix("’s")) for name in missing]
    if min(places) < 0:
        return found, on
    held = [s for s in sentences(words, 0, found.start) if s.start <= begin + min(places) < s.end]
    start = held[0].start if held else begin + min(places)
    return found._replace(start=start), ground(
        words[start : found.end], owner, piece.at, piece.zone
    )


def _property(fact: dict[str, Any], on: Ground) -> tuple[str | None, str | None, str | None]:
    """Subject, attribute and value, all or none: two statements are compared by them."""
    subject, attribute, value = (
        " ".join((fact[name] or "").split())[:200] for name in ("subject", "attribute", "value")
    )
    if not (subject and attribute and value):
        return None, None, None
    subject = _named(subject, on.speaker)
    if subject.lower() in ("i", "me", "user"):
        subject = on.speaker
    if unborne(subject, on) or unborne(value, on):
        return None, None, None
    shown = subject[:1].upper() + subject[1:]
    return shown, attribute.lower().replace("_", " "), value


def _entities(fact: dict[str, Any], on: Ground) -> tuple[str, ...]:
    named = (" ".join(each.split()) for each in fact["entities"] or ())
    return tuple(
        dict.fromkeys(
            each
            for each in named
            if each
            and len(each) <= 200
            and each.lower() not in (UNNAMED, AUTHOR, "user", "author")
            and any(char.isupper() or char.isdigit() or not char.isascii() for char in each)
            and not unborne(each, on)
        )
    )


def _confidence(told: float | None) -> int:
    return round(told * 1000) if told is not None and 0 <= told <= 1 else 800
