"""The list of views, and which of their databases are the live ones."""

from collections.abc import Iterable

import msgspec

from rewound.projections.containers import CONTAINERS
from rewound.projections.documents import DOCUMENTS, PASSAGES
from rewound.projections.facts import FACTS
from rewound.projections.hidden import HIDDEN, MASKS
from rewound.projections.jobs import JOBS
from rewound.projections.messages import MESSAGES
from rewound.projections.summaries import SUMMARIES, UNSUMMARISED
from rewound.projections.verdicts import POLICIES, REVIEWS, UNJUDGED, VERDICTS
from rewound.projections.view import View

VIEWS: tuple[View, ...] = (
    CONTAINERS, DOCUMENTS, MESSAGES, PASSAGES, FACTS, HIDDEN, MASKS, JOBS, VERDICTS, REVIEWS,
    UNJUDGED, POLICIES, SUMMARIES, UNSUMMARISED,
)  # fmt: skip
WORDS = "words"
UNDOS = "undos"
VERSIONS = {view.name: view.version for view in VIEWS} | {WORDS: 10, UNDOS: 1}
"""Every view by name, with the version of its code. Raise it when a fold or a row changes."""

PARTS = {
    WORDS: ("postings", "columns", "contents", "vectors", "codes", "unembedded"),
    UNDOS: ("undos", "positions"),
} | {view.name: (view.name, f"{view.name}_waiting") for view in VIEWS if view.waits}
"""Views that are made of several databases (the rest have one of their own name)."""

_TOGETHER = frozenset({"documents", "messages", "passages", "facts", WORDS, "hidden", "masks"})
"""Rows hold numbers of the index, and the index holds what is hidden."""


class Live(msgspec.Struct, array_like=True):
    """The environment's one meta row.

    `sequence` is the log's store-wide sequence folded so far, `writes` numbers write transactions,
    `names` maps a view to (version, generation) of its databases, `last` is the event at
    `sequence`, by which views are known to be of this log, `model` names the embedder whose
    vectors the words view holds ("" before there are any) and `opening` tells, to whoever wrote
    it, how it is opened. `coming` is the model that is to take its place, of which memos are being
    made; those of `leaving` are to be dropped.
    """

    sequence: int = 0
    writes: int = 0
    generation: int = 0
    names: dict[str, tuple[int, int]] = {}
    last: bytes = b""
    model: str = ""
    opening: bytes = b""
    coming: str = ""
    coming_opening: bytes = b""
    leaving: list[str] = []

    def change_to(self, model: str, opening: bytes) -> None:
        """The words view holds vectors of this model from now on."""
        if self.model != model:
            left = [*self.leaving, self.model]
            self.leaving = [each for each in dict.fromkeys(left) if each not in ("", model)]
        self.model, self.opening = model, opening
        if self.coming == model:
            self.coming, self.coming_opening = "", b""

    def begin_change(self, model: str, opening: bytes) -> None:
        """Vectors of this model are to be made, while those that are kept are searched."""
        self.give_up_change()
        self.coming, self.coming_opening = model, opening
        self.leaving = [each for each in self.leaving if each not in (model, self.model)]

    def give_up_change(self) -> None:
        """What was made for the model that was to come is to be dropped."""
        if self.coming:
            self.leaving = list(dict.fromkeys([*self.leaving, self.coming]))
            self.coming, self.coming_opening = "", b""

    def database(self, view: str, part: str | None = None) -> str:
        """A database's name: `facts.v1.3` is version 1, generation 3."""
        version, generation = self.names[view]
        return f"{part or view}.v{version}.{generation}"

    def databases(self) -> list[str]:
        return [
            self.database(view, part)
            for view in sorted(self.names)
            for part in PARTS.get(view, (view,))
        ]


def together(names: Iterable[str]) -> frozenset[str]:
    """The views that must be rebuilt when those named are; all of them when none is named."""
    chosen = frozenset(names)
    unknown = chosen - VERSIONS.keys()
    if unknown:
        raise KeyError(sorted(unknown)[0])
    if not chosen:
        return frozenset(VERSIONS)
    if UNDOS in chosen:
        return frozenset(VERSIONS)  # what holds decides every row
    return chosen | _TOGETHER if chosen & _TOGETHER else chosen
