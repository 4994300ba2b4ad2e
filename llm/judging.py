"""What a judge is: two statements in, how the newer one relates to the older one out.

Evidence is a small map of named numbers, worked out by pure functions (`evidence.py`); a policy
(`policy.py`) turns it into an outcome with a probability. A judge model may add its own opinion,
which is one more piece of evidence and never decides alone.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from rewound.eventlog.enums import FactKind, Outcome


class Claim(NamedTuple):
    """A fact as a judge sees it. Times are UTC µs.

    `said_at` is when it was stated, `valid_from` when it began to hold (`said_at` unless `dated`),
    `valid_to` when it is stated to end, None when open. `said` is what was really said, the
    sentence it was drawn from with its cue words, where that is not the text itself.
    """

    text: str
    said_at: int
    valid_from: int
    valid_to: int | None = None
    dated: bool = False
    kind: FactKind = FactKind.FACT
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    entities: tuple[str, ...] = ()
    said: str | None = None
    conversation: bytes | None = None
    """Which conversation or document it was drawn from, None for one stated directly."""


class Pair(NamedTuple):
    """A newer claim (the one that arrived last) and an older one. `similarity` is the cosine of
    their vectors in thousandths, None where one has no vector; `against` what the vectors tell of
    a contradiction (`probing.Probe`), None also where no probe knows the model."""

    new: Claim
    old: Claim
    similarity: int | None = None
    against: int | None = None


Evidence = dict[str, int]
"""Name -> thousandths (0 or 1000 for yes and no). What is absent is 0."""


class Opinion(NamedTuple):
    """What a judge model answered for a pair; `probability` in thousandths."""

    outcome: Outcome
    probability: int


class JudgeFailed(Exception):
    """A model gave no usable answer; the message says why and holds no text of a memory."""


class Judge(Protocol):
    """A model that gives opinions. Safe for any number of threads.

    `name` tells the model, the version of the prompt and its settings; it is kept with every
    judgement.
    """

    @property
    def name(self) -> str: ...

    def opinions(self, pairs: Sequence[Pair]) -> list[Opinion | None]:
        """One for each pair, None where the model would not say. Raises JudgeFailed."""
        ...

    def close(self) -> None:
        """End the call that is under way, from another thread."""
        ...
