"""How a command is decided: what a decider is given, and what it answers with.

A decider is a pure function `(command, Deciding) -> Plan`. It reads the open log and the open
views, takes ids and the time from what it is given, and raises a `RewoundError` when something is
wrong. It appends nothing itself: the engine appends the plan's drafts, files its digests, folds,
and only then asks the plan for the reply. Each `decide_*` module says what it decides with
`@decides(...)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from rewound.eventlog.bodies import keyed_digest
from rewound.eventlog.envelope import PERSON, Actor
from rewound.eventlog.errors import NotFound
from rewound.eventlog.ids import STORE, ContainerId, EventId, FactId, GroupId, IdSource, Ref
from rewound.eventlog.log import Draft, Reader, Recorded, Writer
from rewound.memory import requests as q
from rewound.memory.replies import Reply

if TYPE_CHECKING:
    from rewound.llm.judging import Evidence
    from rewound.llm.policy import Ruling
    from rewound.projections.fold import Folded
    from rewound.projections.memos import Memo
    from rewound.projections.vectors import Query
    from rewound.projections.views import ViewWriter


@dataclass(frozen=True, slots=True)
class Record:
    """What a worker found out, to be appended as its events. Never comes from outside.

    It is refused when one of its causes no longer holds, or what it was drawn from has been
    forgotten, erased or removed meanwhile: a model call may take minutes. A draft without causes
    of its own gets those of the record.
    """

    container: str | ContainerId
    drafts: Sequence[Draft]
    causes: tuple[EventId, ...] = ()
    group: GroupId | None = None
    again: bool = False
    """What it was drawn from has been read before, and is read anew on purpose."""


class Ruled(NamedTuple):
    """What was found of a new fact and an older one."""

    old: FactId
    ruling: Ruling
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Judge:
    """A new fact was compared with older ones. Never comes from outside.

    What follows is decided against the open views. `again` replaces an earlier verdict; `causes`
    are besides the event that states the fact, `group` and `event_id` as in a draft. `held` is the
    position at which it was compared, where it counts what has come back since.
    """

    container: ContainerId
    fact: FactId
    pairs: Sequence[Ruled]
    judge: str
    policy: EventId | None = None
    again: bool = False
    causes: tuple[EventId, ...] = ()
    group: GroupId | None = None
    event_id: EventId | None = None
    held: int | None = None


@dataclass(frozen=True, slots=True)
class Memoise:
    """Vectors that a worker had made of texts, to be kept beside the log. Never from outside.

    It appends no event. A vector of a text that is no longer as it was is left out; one of a model
    that is neither kept nor coming as well. None drops what is kept of a model that has left.
    """

    container: ContainerId
    model: str
    memos: Sequence[tuple[Ref, Memo | None]]


class Likeness(NamedTuple):
    """What a command that chooses by meaning is decided with: the vector of what it names, or why
    words alone choose."""

    query: Query | None
    why_not: str


@dataclass(frozen=True, slots=True)
class Deciding:
    """All that a decider may look at.

    `container` is None when no container has the name `name`; the engine makes it beforehand for
    the commands in `MAKES_CONTAINER`. `now_us` is never before the log's last recorded time.
    `extractor` names what derives facts from texts here, None when nothing does.
    """

    log: Writer
    views: ViewWriter
    ids: IdSource
    now_us: int
    name: str
    container: ContainerId | None
    actor: Actor = PERSON
    extractor: str | None = None
    likeness: Likeness | None = None
    """For a command that chooses by meaning, what it means."""
    folded: tuple[Folded, ...] = ()
    """What the folds of this command did; set when the aftermath and the reply are asked for."""
    erased: int = 0
    """How many bodies this command destroyed; set likewise."""

    def home(self) -> ContainerId:
        """The container, for a command that makes none. Raises NotFound."""
        if self.container is None:
            raise no_container(self.name)
        return self.container

    def after(self, folded: Folded, erased: int) -> Deciding:
        """The same, once the plan has been appended and folded."""
        return replace(self, folded=(*self.folded, folded), erased=self.erased + erased)


ReplyOf = Callable[[list[Recorded], Deciding], Reply]


@dataclass(frozen=True, slots=True)
class Plan:
    """What follows from a command.

    `files` go into the container's rows of known digests. `reply` is given everything that was
    recorded, once it is folded; `aftermath`, asked before it, may give a further plan of the same
    group, whose own reply (if it has one) comes in place of this one's. With `dry_run` all is
    rolled back and only the reply is kept. With `tell` the folds say which rows they touched.
    """

    drafts: Sequence[Draft]
    reply: ReplyOf | None = None
    files: Sequence[tuple[bytes, Ref]] = ()
    aftermath: Callable[[list[Recorded], Deciding], Plan | None] | None = None
    dry_run: bool = False
    tell: bool = False


MAKES_CONTAINER: tuple[type[q.Write], ...] = (q.Remember, q.Ingest, q.AddMessages, q.Configure)
"""Commands for which a container that is not known yet is made. The rest finds none to work in."""

Decider = Callable[[Any, Deciding], Plan]
C = TypeVar("C", bound=q.Write)

MODULES = (
    "decide_container",
    "decide_documents",
    "decide_erase",
    "decide_forget",
    "decide_label",
    "decide_messages",
    "decide_remember",
    "decide_restore",
    "decide_retry",
    "decide_undo",
    "decide_update",
)
"""Modules of this folder that enter deciders."""

DECIDERS: dict[type[q.Write], Decider] = {}
"""Command -> its decider; filled by `load`."""


def decides(
    command: type[C],
) -> Callable[[Callable[[C, Deciding], Plan]], Callable[[C, Deciding], Plan]]:
    """Enter a function as the decider of a command."""

    def enter(decider: Callable[[C, Deciding], Plan]) -> Callable[[C, Deciding], Plan]:
        assert command not in DECIDERS, f"{command.__name__} has a decider already"
        DECIDERS[command] = decider
        return decider

    return enter


def load() -> dict[type[q.Write], Decider]:
    """The whole table. Here rather than at import: the decide_* modules import this one."""
    for module in MODULES:
        import_module(f"rewound.memory.{module}")
    return DECIDERS


def container_digest(log: Reader, name: str) -> bytes:
    """Under what a container's name is filed in the store's own container."""
    return keyed_digest(log.key(STORE), b"container", name.encode())


def container_named(log: Reader, name: str) -> ContainerId | None:
    """The container that has this very name: no folding of case, no trimming, no prefixes."""
    try:
        digest = container_digest(log, name)
    except NotFound:  # nothing has ever been written into this store
        return None
    found = log.known(STORE, digest)
    return ContainerId(found[-1].id) if found else None


def no_container(name: str) -> NotFound:
    shown = name if len(name) <= 40 else name[:37] + "…"
    return NotFound(
        f"there is no container {shown!r}: it is made by the first thing written into it",
        field="container",
    )
