"""The reply to a question that was answered, and the parts that it is told in as they come.
`replies.py` has them too, with all others.
"""

from __future__ import annotations

from rewound.memory.reply_parts import Moment, Part, Reply
from rewound.memory.reranked_replies import Decomposing, Reranking, Rewriting, Searched


class GivenLine(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What an answer may be drawn from: an item under its `number`, with the part of its text that
    fits the question best, likeliest first.

    `score` is how likely it answers, 0 to 1. `date` is when it holds from, or when it was said;
    `until` when it ends. `by` is who said it, or where it stands. `asked` is the question that a
    short text answers. `state` is that of a fact which holds no more.
    """

    number: int
    id: str
    kind: str
    text: str
    score: float
    date: str | None = None
    until: str | None = None
    by: str | None = None
    asked: str | None = None
    state: str | None = None


class SourcesGiven(Part, frozen=True, kw_only=True):
    """The first part: what the answer is drawn from."""

    query: str
    given: tuple[GivenLine, ...]
    moment: Moment


class Sentence(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A sentence of an answer, the numbers of what it cites, and their ids. `dropped` are numbers
    that a model cited beside these though nothing was given under them."""

    text: str
    cites: tuple[int, ...]
    ids: tuple[str, ...]
    dropped: tuple[int, ...] = ()


class WithheldSentence(Part, frozen=True, kw_only=True):
    """A sentence of a model that is not told, since it is not borne by what it cites; `reason` says
    what of it is not."""

    reason: str
    cites: tuple[int, ...] = ()


class Answering(Part, frozen=True, kw_only=True):
    """What gave the answer, and what it took: `calls` of a model, the `tokens` that it counts, and
    milliseconds (none where no model was asked)."""

    answerer: str
    calls: int = 0
    tokens: int = 0
    ms: float | None = None


class Responded(Reply, frozen=True, kw_only=True):
    """An answer, each sentence cited. `text` is all of it in one, with marks ([1]) that are the
    numbers in `given`; `used` are the ids of what it cites.

    Where it is not `answered`, the text says that it is not known, and `reason` why. `withheld` are
    sentences of a model that did not stand. What its stages took is told as in `Found`. This is the
    last part of an answer that is told in parts.
    """

    container: str
    query: str
    answered: bool
    text: str
    sentences: tuple[Sentence, ...]
    used: tuple[str, ...]
    given: tuple[GivenLine, ...]
    moment: Moment
    reason: str | None = None
    withheld: tuple[WithheldSentence, ...] = ()
    answering: Answering | None = None
    unembedded: int = 0
    reranking: Reranking | None = None
    rewriting: Rewriting | None = None
    decomposing: Decomposing | None = None
    searched: tuple[Searched, ...] = ()
    notes: tuple[str, ...] = ()


AnswerPart = SourcesGiven | Sentence | WithheldSentence
"""What comes before the whole answer, in the order of its coming."""

ToldPart = AnswerPart | Responded
"""All parts of an answer that is told in parts."""
