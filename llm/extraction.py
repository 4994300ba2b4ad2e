"""What an extractor is: texts as they were said in, short dated statements out."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from rewound.eventlog.events import FactKind, Why
from rewound.eventlog.instants import Instant

Role = Literal["user", "assistant", "system", "tool", "document"]
Media = Literal["text", "markdown", "code", "json"]


class Said(NamedTuple):
    """One piece of text: a message, or a part of a document, as a reader may see it.

    `text` holds a `█` for each character that was forgotten. `at` (UTC µs) is when it was said;
    `zone` is the IANA name or the offset (`+05:30`) of the place where its days begin.
    """

    text: str
    at: int
    zone: str = "UTC"
    role: Role = "user"
    speaker: str | None = None
    media: Media = "text"
    before: "tuple[Said, ...]" = ()
    """Earlier messages of the conversation, oldest first: read for what this one refers to (`she`,
    `make that 4 pm`), never drawn from. Those have no `before` of their own."""


class Drawn(NamedTuple):
    """A statement, and the characters [start, end) of the text that it was drawn from."""

    text: str
    start: int
    end: int
    kind: FactKind = FactKind.FACT
    valid_from: Instant | None = None
    valid_to: Instant | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    entities: tuple[str, ...] = ()
    confidence: int = 1000
    """In thousandths."""


class Doubted(list[Drawn]):
    """An answer without a statement about a piece that seems to state something: it is taken, and
    marked as suspect where it is recorded."""


class ExtractionFailed(Exception):
    """A model gave no usable answer; the message says why and holds no text of the source. `reply`
    is what it answered, where it answered at all.

    `asked` is False where no model was asked at all: that is nothing that happened to the source.
    """

    def __init__(
        self,
        message: str,
        why: Why = Why.MALFORMED,
        reply: str | None = None,
        *,
        asked: bool = True,
    ) -> None:
        super().__init__(message)
        self.why = why
        self.reply = reply
        self.asked = asked


class Extractor(Protocol):
    """Draws statements from texts. Safe for any number of threads.

    `name` tells the method and its version; it is kept with everything that was drawn.
    """

    @property
    def name(self) -> str: ...

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        """For each piece what it states, in the order of the text; pieces are of one source and
        in its order. Raises ExtractionFailed (never, for a method without a model)."""
        ...


@runtime_checkable
class Grouped(Protocol):
    """An extractor that reads several messages of one conversation in one go."""

    def extract_each(
        self, sources: Sequence[Sequence[Said]]
    ) -> list[list[list[Drawn]] | ExtractionFailed]:
        """What `extract` says of the pieces of each source, or why it failed on that one. Sources
        are messages of one conversation in its order, of one scope."""
        ...


@runtime_checkable
class Paced(Protocol):
    """An extractor that is slow: it is given less at once, so that what it found is soon kept."""

    @property
    def chars_max(self) -> int:
        """Characters of all sources that it wants to be given in one step of work."""
        ...

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        ...


@runtime_checkable
class Spread(Protocol):
    """What asks a model that may be at several places, each with several slots."""

    @property
    def parallel(self) -> int:
        """How many calls can run at once now; 0 while nobody is there to be asked."""
        ...
