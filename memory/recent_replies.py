"""What is told of a conversation's recent part: its last messages, what stands for older ones."""

from typing import Literal

import msgspec

from rewound.memory.reply_parts import Moment, Part, Reply

ToldBy = Literal["summary", "facts", "both", "nothing"]


class Turn(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A message as it is. `text` is cut only where a context has no room for it (`cut`)."""

    id: str
    role: str
    text: str
    time: str
    speaker: str | None = None
    scope: dict[str, str] = msgspec.field(default_factory=dict)
    cut: bool = False


class Summary(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A summary of the messages from `first` to `last`, `count` in all, which are of one scope.

    `[n]` in `text` cites the n-th message of `cites`. `id` is of the event that wrote it: undo it
    to take it back. Where a context has no room for all of it, its first sentences are told, and
    it is `cut`.
    """

    id: str
    text: str
    cites: tuple[str, ...]
    first: str
    last: str
    count: int
    since: str
    until: str
    scope: dict[str, str] = msgspec.field(default_factory=dict)
    summarizer: str | None = None
    cut: bool = False


class OlderFact(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A fact that stands for the older messages that it was drawn from."""

    id: str
    text: str
    messages: tuple[str, ...]
    since: str | None = None


class ShortTerm(Part, frozen=True, kw_only=True):
    """The recent part of a conversation.

    `older` messages come before those in `messages`; `summed` of them are told by `summaries`, of
    the rest `facts` tell, and `left_out` facts found no room. `told_by` says which of the two there
    is. `conversations` are the ids that the name stands for: one for each scope. `text` is ready to
    be put before a model.
    """

    conversation: str
    conversations: tuple[str, ...]
    messages: tuple[Turn, ...]
    summaries: tuple[Summary, ...]
    facts: tuple[OlderFact, ...]
    told_by: ToldBy
    older: int
    summed: int
    left_out: int
    chars: int
    """Of the texts of the messages."""
    tokens: int
    """Of the text, as `counter` counts them."""
    counter: str
    text: str


class Recounted(Reply, frozen=True, kw_only=True):
    container: str
    recent: ShortTerm
    moment: Moment
    notes: tuple[str, ...] = ()
