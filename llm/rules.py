"""The extractor that needs no model: one statement for each independent clause that is one.

The words stay near the source; only the speaker, pronouns and times are resolved. What cannot be
resolved with confidence is left out, for its passage is found all the same. English is understood;
of Chinese, Japanese, Korean and Thai a clause is kept as it was said, at half confidence.
"""

import re
from collections.abc import Collection, Iterator, Sequence

from rewound.llm.attribute_table import Row, Table, digest
from rewound.llm.english import words_of
from rewound.llm.extraction import Drawn, Said
from rewound.llm.people import gender_of
from rewound.llm.piece_reader import PieceReader, Thread
from rewound.llm.screening import prose
from rewound.llm.sentences import Span, sentences
from rewound.llm.stating import takes_back

MOST = 8
"""Statements of one piece; the first ones count."""

MOST_READ = 100_000
"""Characters of a piece that are read; a sentence that goes on behind them is left out."""

MOST_SENTENCES = 2_000
"""Sentences of a piece that are read."""

BEFORE_CHARS = 4_000
"""Characters of an earlier message that is read for what a later one refers to."""

BEFORE_US = 24 * 3_600 * 1_000_000
"""How long before a message an earlier one may have been said for that."""


class RulesExtractor:
    """Draws statements by rules. Holds no state, loads nothing, never fails on a text.

    Of each piece the first MOST_READ characters and MOST_SENTENCES sentences are read, and at most
    MOST statements are drawn; all of a longer one is still found in its passages. `own` are rows
    of the user's attribute table, which go before those of the default one.
    """

    def __init__(self, own: Sequence[Row] = ()) -> None:
        self._own = Table(own)
        self._name = f"rules/4+{digest(self._own)}" if self._own else "rules/4"

    @property
    def name(self) -> str:
        """With a table of the user's own also which one it is."""
        return self._name

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        """For each piece what it states, in the order of the text.

        Only users and documents state anything: what an assistant, a tool or a system prompt says
        is no fact about anybody. Raises InvalidInput for a piece whose zone there is not.
        """
        return [self._one(piece) for piece in pieces]

    def _one(self, piece: Said) -> list[Drawn]:
        if piece.role not in ("user", "document"):
            return []
        thread = Thread()
        if piece.before and _REFERS.search(piece.text, 0, _REFERS_WITHIN):
            self._follow(piece, thread)
        return self._read(piece, thread)

    def _follow(self, piece: Said, thread: Thread) -> None:
        """Gather what the speaker's messages before have left to refer to. What others said there
        is nobody's statement; where they speak of people, `she` may be one of these."""
        for said in piece.before:
            mine = said.role == "user" and said.speaker == piece.speaker
            if (
                said.at < piece.at - BEFORE_US
                or said.at > piece.at
                or len(said.text) > BEFORE_CHARS
            ):
                thread.forget()
            elif mine:
                self._read(said, thread)
            elif said.role in ("user", "assistant"):
                known = {word for name, _ in thread.before.people for word in name.split()}
                known |= thread.before.where.words()
                if _speaks_of_others(said.text, known):
                    thread.before.forget()

    def _read(self, piece: Said, thread: Thread) -> list[Drawn]:
        drawn: list[Drawn] = []
        before = 0  # Statements in front of the last sentence.
        reader = PieceReader(piece, self._own, thread)
        for number, sentence in enumerate(_sentences(piece, reader)):
            taken = takes_back(piece.text[sentence.start : sentence.end])
            if taken and not reader.document:
                del drawn[before:]
                thread.forget()
                continue
            if len(drawn) >= MOST or number >= MOST_SENTENCES:
                break
            before = len(drawn)
            stated = reader.sentence(sentence)
            if reader.replaced is not None and reader.replaced in drawn:
                drawn.remove(reader.replaced)  # A slip of the tongue, put right at once.
                before = len(drawn)
            drawn += stated
        return drawn[:MOST]


def _sentences(piece: Said, reader: PieceReader) -> Iterator[Span]:
    """The sentences of a piece that are its writer's own. The reader forgets who was spoken of
    wherever something else stood between two of them."""
    text, end = piece.text, 0
    for block in prose(text, piece.media, MOST_READ, piece.role == "user"):
        if _WORD.search(text, end, block.start):
            reader.before.forget()
        end = block.end
        spans = sentences(text, block.start, block.end, piece.role == "document")
        yield from spans[:-1] if MOST_READ - 1 <= block.end < len(text) else spans


# More than the mark of a list.
_WORD = re.compile(r"[^\W\d_]{2}")
# Words that a message may refer to an earlier one with.
_REFERS = re.compile(
    r"\b(?:s?he|it|t?here|that|they|them|him|his|her|its|their|(?:s?he|it|they)['’]\w+|no|not"
    r"|sorry|actually"
    r"|oops|wait|correction|final\w*|update|edit|mean|meant|instead|scratch|rather|typo"
    r"|back to|after all)\b",
    re.I,
)
_REFERS_WITHIN = 300


def _speaks_of_others(text: str, known: Collection[str]) -> bool:
    """Whether a text names somebody else than the known ones: a noun for a person, or a name
    inside a sentence."""
    words = words_of(text[:BEFORE_CHARS])
    for place, word in enumerate(words):
        if word.text in known or word.low == "i" or word.low.startswith("i'"):
            continue
        inside = place and text[words[place - 1].end : word.start] == " "
        if gender_of(word.low) or (inside and word.text[0].isupper()):
            return True
    return False
