"""What an extractor is: texts as they were said in, short dated statements out."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol

from rewound.eventlog.events import FactKind
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


class ExtractionFailed(Exception):
    """A model gave no usable answer; the message says why and holds no text of the source."""


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
