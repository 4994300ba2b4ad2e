"""The extractor that asks a chat model.

What the model answers is believed as far as the text bears it: each statement must quote the words
that it was drawn from, these must hold its names, numbers and dates, and what others say is not
turned into the speaker's. What is not borne out is left out, and its passage is found all the same.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rewound.eventlog.enums import FactKind, Why
from rewound.eventlog.instants import from_us
from rewound.llm.chat import tokens_of
from rewound.llm.chat_model import ChatModel
from rewound.llm.dispatched import NobodyAsked
from rewound.llm.english import verb_at, words_of
from rewound.llm.extraction import Doubted, Drawn, ExtractionFailed, Said, Spread
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
from rewound.llm.portions import Portion, Stretch, portions
from rewound.llm.prompting import fenced, prompt
from rewound.llm.replies import ChatFailed
from rewound.llm.rules import RulesExtractor
from rewound.llm.scripts import is_other_script
from rewound.llm.sentences import sentences
from rewound.llm.speakers import AUTHOR, UNNAMED, speaks
from rewound.llm.stating import FORGOTTEN, is_question
from rewound.llm.time_expressions import place

ANSWER_TOKENS = 2048
"""Of one answer, where the context is not smaller: some 20 facts."""

TEXT_TOKENS = 1200
"""Of one text at most: longer ones make small models skip what stands in their middle."""

TEXT_TOKENS_MIN = 64
FRAME_TOKENS = 160
"""What stands around the text, and what a chat template adds."""

TEXT_CHARS_MAX = 1000
DEPTH_MAX = 8
"""How often a text is halved that the server calls too long for its model."""

_log = logging.getLogger(__name__)


class ModelExtractor:
    """Draws statements by a chat model. Safe for any number of threads."""

    chars_max = 20_000

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._prompt = prompt("extract.v1")
        self._rules = RulesExtractor()

    @property
    def name(self) -> str:
        """`model/` with the version of the prompt, and the model if it was named."""
        return f"model/1 {self._chat.model or ''}".rstrip()

    @property
    def parallel(self) -> int:
        return self._chat.parallel if isinstance(self._chat, Spread) else 1

    def close(self) -> None:
        self._chat.close()

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        """For each piece what it states, in the order of the text. Raises ExtractionFailed.

        Only users and documents are read. Pieces without a statement of which the rules would draw
        some come as Doubted, when there was none in any other piece either.
        """
        drawn: list[list[Drawn]] = [[] for _ in pieces]
        try:
            for portion in portions(pieces, self._room(), tokens_of):
                for piece, each in self._read(portion, pieces, 0):
                    if all(each.text.lower() != other.text.lower() for other in drawn[piece]):
                        drawn[piece].append(each)
        except ChatFailed as failed:
            asked = not isinstance(failed, NobodyAsked)
            raise ExtractionFailed(str(failed), failed.why, failed.reply, asked=asked) from None
        for found in drawn:
            found.sort(key=lambda each: each.start)
        if not any(drawn):
            stated = self._rules.extract(pieces)
            return [Doubted() if each else [] for each in stated]
        return drawn

    def _room(self) -> int:
        """Tokens of a text that fit the model's context beside the prompt and an answer. Raises
        ChatFailed."""
        context = self._chat.context_tokens()
        room = context - self._answer_tokens() - tokens_of(self._prompt.whole) - FRAME_TOKENS
        if room < TEXT_TOKENS_MIN:
            raise ChatFailed(
                f"the model reads only {context} tokens at once, too few for the prompt and a text",
                Why.REFUSED,
            )
        return min(room, TEXT_TOKENS)

    def _answer_tokens(self) -> int:
        return min(ANSWER_TOKENS, self._chat.context_tokens() // 3)

    def _read(
        self, portion: Portion, pieces: Sequence[Said], depth: int
    ) -> Iterator[tuple[int, Drawn]]:
        """The statements of a portion with their pieces. Raises ChatFailed.

        What gave no usable answer is tried once more in halves, never as it was; what is too long
        for the model is halved until it fits.
        """
        try:
            answer = self._chat.answer(
                self._prompt.system,
                _told(portion, pieces),
                self._prompt.schema,
                self._answer_tokens(),
            )
        except ChatFailed as failed:
            halves = portion.halves()
            most = DEPTH_MAX if failed.too_long else 1
            if not failed.smaller_may_help or depth >= most or len(halves) < 2:
                raise
            _log.info("%s: %s; it is tried on smaller pieces", self.name, failed)
            for half in halves:
                yield from self._read(half, pieces, depth + 1)
            return
        yield from self._borne(answer["facts"], portion, pieces)

    def _borne(
        self, facts: list[dict[str, Any]], portion: Portion, pieces: Sequence[Said]
    ) -> Iterator[tuple[int, Drawn]]:
        left_out: Counter[str] = Counter()
        for fact in facts:
            try:
                yield _drawn(fact, portion, pieces)
            except _LeftOut as why:
                left_out[str(why)] += 1
        if left_out:
            reasons = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items()))
            _log.info("%s: of %d statements were left out: %s", self.name, len(facts), reasons)


# --- what is told to the model


def _owner(piece: Said) -> str:
    """Whoever speaks, as statements call them."""
    speaker = " ".join((piece.speaker or "").split())[:100]
    return speaker or (AUTHOR if piece.role == "document" else UNNAMED)


def _told(portion: Portion, pieces: Sequence[Said]) -> str:
    piece = pieces[portion.stretches[0].piece]  # All are of one source.
    what = "A document written by" if piece.role == "document" else "A message said by"
    return (
        f"{what} {json.dumps(_owner(piece), ensure_ascii=False)} on {_day(piece)}.\n"
        f"{fenced(portion.text)}\n"
    )


def _day(piece: Said) -> str:
    try:
        return f"{from_us(piece.at).astimezone(place(piece.zone)):%A, %Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return "an unknown day"


# --- what is believed of its answer


class _LeftOut(Exception):
    """Why a statement is left out, in words without any of its own."""


class _Found(NamedTuple):
    stretch: Stretch
    start: int
    end: int
    """In the stretch."""


def _drawn(fact: dict[str, Any], portion: Portion, pieces: Sequence[Said]) -> tuple[int, Drawn]:
    """A statement, if its words bear it. Raises _LeftOut."""
    found = _found(fact["quote"], portion)
    piece = pieces[found.stretch.piece]
    owner = _owner(piece)
    text = _named(" ".join(fact["text"].split()).rstrip("."), owner)
    if not text or len(text) > TEXT_CHARS_MAX or FORGOTTEN in text:
        raise _LeftOut("without a usable text")
    if speaks(words_of(text)):
        raise _LeftOut("in the first person")
    if piece.role == "user" and _asks(found):
        raise _LeftOut("drawn from a question")
    if piece.role == "user" and not _is_own(text, _sentences_around(found), owner):
        raise _LeftOut("turning others' words into the speaker's")
    found, on = _grown(found, text, owner, piece)
    if FORGOTTEN in on.words:
        raise _LeftOut("drawn from what was forgotten")
    if missing := unborne(text, on):
        raise _LeftOut(f"with {missing} that the text does not hold")
    kind = FactKind[fact["kind"].upper()]
    try:
        begun, ended = since(fact["valid_from"], on), until(fact["valid_to"], on)
    except Unborne:
        raise _LeftOut("with a date that the text does not hold") from None
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
    raise _LeftOut("without a quote from the text")


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
