"""The extractor that asks a chat model, about a text or several messages of one conversation.

What the model answers is believed as far as the text bears it: each statement must quote the words
that it was drawn from, these must hold its names, numbers and dates, and what others say is not
turned into the speaker's. What is not borne out is left out, and its passage is found all the same.
"""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rewound.eventlog.enums import Why
from rewound.eventlog.instants import from_us
from rewound.llm.believing import LeftOut, believed, owner_of
from rewound.llm.chat import tokens_of
from rewound.llm.chat_model import ChatModel
from rewound.llm.dispatched import NobodyAsked
from rewound.llm.extraction import Doubted, Drawn, ExtractionFailed, Said, Spread
from rewound.llm.mixing import may_be_together, mixes
from rewound.llm.portions import Portion, portions
from rewound.llm.prompting import fenced, prompt
from rewound.llm.replies import ChatFailed
from rewound.llm.rules import RulesExtractor
from rewound.llm.time_expressions import place

ANSWER_TOKENS = 2048
"""Of one answer, where the context is not smaller: some 20 facts."""

TEXT_TOKENS = 1200
"""Of one text at most: longer ones make small models skip what stands in their middle."""

TEXT_TOKENS_MIN = 64
FRAME_TOKENS = 160
"""What stands around the text, and what a chat template adds."""

LABEL_TOKENS = 40
"""What stands around one message among several."""

DEPTH_MAX = 8
"""How often a text is halved that the server calls too long for its model."""

_log = logging.getLogger(__name__)


Outcome = list[list[Drawn]] | ExtractionFailed


class _Reading:
    """What came of some sources so far. Their pieces are numbered through."""

    def __init__(self, sources: Sequence[Sequence[Said]]) -> None:
        self.pieces = [piece for pieces in sources for piece in pieces]
        self.owners = [number for number, pieces in enumerate(sources) for _ in pieces]
        self.drawn: list[list[Drawn]] = [[] for _ in self.pieces]
        self.failed: dict[int, ExtractionFailed] = {}

    def sources_of(self, portion: Portion) -> list[int]:
        return list(dict.fromkeys(self.owners[each.piece] for each in portion.stretches))

    def part(self, portion: Portion, sources: Sequence[int]) -> Portion:
        """What a portion holds of certain sources."""
        stretches = portion.stretches
        return Portion(tuple(each for each in stretches if self.owners[each.piece] in sources))

    def keep(self, piece: int, each: Drawn) -> None:
        if all(each.text.lower() != other.text.lower() for other in self.drawn[piece]):
            self.drawn[piece].append(each)

    def fail(self, sources: Sequence[int], failed: ChatFailed) -> None:
        """A reply is kept where it is about one source alone: it goes with what it quotes."""
        reply = failed.reply if len(sources) == 1 else None
        asked = not isinstance(failed, NobodyAsked)
        for source in sources:
            why = ExtractionFailed(str(failed), failed.why, reply, asked=asked)
            self.failed.setdefault(source, why)

    def of(self, source: int) -> list[list[Drawn]]:
        found = zip(self.owners, self.drawn, strict=True)
        return [sorted(drawn, key=_by_start) for owner, drawn in found if owner == source]


class ModelExtractor:
    """Draws statements by a chat model. Safe for any number of threads."""

    chars_max = 20_000

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat
        self._prompt = prompt("extract.v1")
        self._prompt_of_many = prompt("extract_many.v1")
        self._rules = RulesExtractor()

    @property
    def name(self) -> str:
        """`model/` with the version of the prompts, and the model if it was named."""
        return f"model/2 {self._chat.model or ''}".rstrip()

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
        (outcome,) = self.extract_each([pieces])
        if isinstance(outcome, ExtractionFailed):
            raise outcome
        return outcome

    def extract_each(self, sources: Sequence[Sequence[Said]]) -> list[Outcome]:
        """The same for each source, of which as many are read in one call as fit into one.

        A call that gave no usable answer is made once more for halves of its sources, down to each
        by itself, so that one text spoils no other's facts.
        """
        reading = _Reading(sources)
        label_tokens = LABEL_TOKENS if len(sources) > 1 else 0
        try:
            room = self._room()
        except ChatFailed as failed:
            reading.fail(range(len(sources)), failed)
        else:
            cut = portions(reading.pieces, room, lambda text: tokens_of(text) + label_tokens)
            for portion in cut:
                self._read(portion, reading)
        return [self._outcome(reading, source, said) for source, said in enumerate(sources)]

    def _outcome(self, reading: _Reading, source: int, pieces: Sequence[Said]) -> Outcome:
        if source in reading.failed:
            return reading.failed[source]
        drawn = reading.of(source)
        if any(drawn):
            return drawn
        return [Doubted() if each else [] for each in self._rules.extract(pieces)]

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

    def _read(self, portion: Portion, reading: _Reading, depth: int = 0) -> None:
        """Keep the statements of a portion, or why there are none.

        What gave no usable answer is tried once more in halves, never as it was; what is too long
        for the model is halved until it fits.
        """
        sources = reading.sources_of(portion)
        if all(source in reading.failed for source in sources):
            return
        if len(sources) > 1 and not may_be_together(portion):
            for source in sources:
                self._read(reading.part(portion, [source]), reading)
            return
        try:
            facts = self._answer(portion, reading)
        except ChatFailed as failed:
            parts = _smaller(portion, reading, failed, depth)
            if not parts:
                return reading.fail(sources, failed)
            _log.info("%s: %s; it is tried on smaller pieces", self.name, failed)
            for part in parts:
                self._read(part, reading, depth + (len(sources) == 1))
        else:
            self._keep(facts, portion, reading)

    def _answer(self, portion: Portion, reading: _Reading) -> list[dict[str, Any]]:
        """What the model makes of a portion. Raises ChatFailed."""
        sources = reading.sources_of(portion)
        if len(sources) == 1:
            asked, told = self._prompt, _told(portion, reading.pieces)
        else:
            asked = self._prompt_of_many
            told = _told_many([reading.part(portion, [each]) for each in sources], reading.pieces)
        tokens = self._answer_tokens()
        facts: list[dict[str, Any]] = self._chat.answer(asked.system, told, asked.schema, tokens)[
            "facts"
        ]
        return facts

    def _keep(self, facts: list[dict[str, Any]], portion: Portion, reading: _Reading) -> None:
        """What of an answer is borne out by the text."""
        left_out: Counter[str] = Counter()
        for fact in facts:
            try:
                reading.keep(*_drawn_of(fact, portion, reading))
            except LeftOut as why:
                left_out[str(why)] += 1
        if left_out:
            reasons = ", ".join(f"{count} {why}" for why, count in sorted(left_out.items()))
            _log.info("%s: of %d statements were left out: %s", self.name, len(facts), reasons)


def _by_start(each: Drawn) -> int:
    return each.start


def _smaller(
    portion: Portion, reading: _Reading, failed: ChatFailed, depth: int
) -> Sequence[Portion]:
    """What to ask instead of a portion that gave no usable answer; nothing if that is in vain."""
    sources = reading.sources_of(portion)
    if len(sources) > 1:
        if isinstance(failed, NobodyAsked) or failed.why is Why.UNREACHABLE:
            return ()
        middle = len(sources) // 2
        return [reading.part(portion, part) for part in (sources[:middle], sources[middle:])]
    most = DEPTH_MAX if failed.too_long else 1
    halves = portion.halves()
    return halves if failed.smaller_may_help and depth < most and len(halves) > 1 else ()


# --- what is told to the model


def _told(portion: Portion, pieces: Sequence[Said]) -> str:
    piece = pieces[portion.stretches[0].piece]  # All are of one source.
    what = "A document written by" if piece.role == "document" else "A message said by"
    return (
        f"{what} {json.dumps(owner_of(piece), ensure_ascii=False)} on {_day(piece)}.\n"
        f"{fenced(portion.text)}\n"
    )


def _told_many(parts: Sequence[Portion], pieces: Sequence[Said]) -> str:
    """Messages under their numbers, from 1."""
    told = ["Messages of one conversation, oldest first.\n"]
    for number, part in enumerate(parts, 1):
        piece = pieces[part.stretches[0].piece]
        owner = json.dumps(owner_of(piece), ensure_ascii=False)
        told.append(f"Message {number}, said by {owner} on {_day(piece)}:\n{fenced(part.text)}\n")
    return "".join(told)


def _day(piece: Said) -> str:
    try:
        return f"{from_us(piece.at).astimezone(place(piece.zone)):%A, %Y-%m-%d %H:%M}"
    except (ValueError, OverflowError):
        return "an unknown day"


# --- what is believed of its answer


def _drawn_of(fact: dict[str, Any], portion: Portion, reading: _Reading) -> tuple[int, Drawn]:
    """A statement, if the message that it names bears it. Raises LeftOut."""
    sources = reading.sources_of(portion)
    if len(sources) == 1:
        return believed(fact, portion, reading.pieces)
    if not 1 <= fact["message"] <= len(sources):
        raise LeftOut("of a message that there is not")
    source = sources[fact["message"] - 1]
    piece, drawn = believed(fact, reading.part(portion, [source]), reading.pieces)
    own = f"{reading.pieces[piece].text} {owner_of(reading.pieces[piece])}"
    others = reading.part(portion, [each for each in sources if each != source]).text
    if mixes(drawn.text, own, others):
        raise LeftOut("with words of another message")
    named = (drawn.subject, drawn.attribute, drawn.value)
    if any(mixes(each, own, others) for each in named if each):
        drawn = drawn._replace(subject=None, attribute=None, value=None)
    return piece, drawn
