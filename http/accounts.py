"""What the command line itself answers with, beside the store's replies."""

import msgspec

from rewound.http.chats import BadLine
from rewound.http.files import Skip
from rewound.memory.replies import Item, LaneQueue, NodeShown, Reply, VectorSwitch

UNCHANGED = frozenset({"seen again", "unchanged"})
"""Statuses of an item that was there already."""


class Ingested(Reply, frozen=True, kw_only=True):
    """What `ingest` did: a result for each file, what was skipped, what `--prune` removed.

    `counts` has written, replaced, unchanged, refused, skipped and removed. `groups` can be undone.
    """

    container: str
    groups: tuple[str, ...]
    position: int
    counts: dict[str, int]
    items: tuple[Item, ...]
    skipped: tuple[Skip, ...]
    removed: tuple[Item, ...] = ()
    pending: int = 0
    notes: tuple[str, ...] = ()


class Imported(Reply, frozen=True, kw_only=True):
    """What `import` did. `counts` has lines, written, unchanged, refused and bad.

    `source` is what was read: `lines` of a chat, or whose export, of which the records count as
    lines. `bad` lists the lines that were left out, refused ones included, at most 1,000 of them.
    """

    container: str
    groups: tuple[str, ...]
    position: int
    counts: dict[str, int]
    conversations: int
    bad: tuple[BadLine, ...]
    source: str = "lines"
    pending: int = 0
    notes: tuple[str, ...] = ()


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A setting's value, and where it came from."""

    name: str
    value: str
    origin: str
    variable: str


class Configuration(Reply, frozen=True, kw_only=True):
    """Every setting. `file` is where the settings file is, or would be."""

    file: str
    found: bool
    settings: tuple[Setting, ...]


class Owning(Reply, frozen=True, kw_only=True):
    """This process holds the store, and answers other programs at the socket."""

    data: str
    socket: str
    pid: int


class Healthy(Reply, frozen=True, kw_only=True):
    """What `health` found. `status` is `ok` or `degraded`; `degraded` says what is not as it should
    be, in words."""

    status: str
    degraded: tuple[str, ...]
    extractor: str | None
    embedder: str | None
    judge: str | None
    pending: int
    failed: int
    parked: int
    unembedded: int
    unjudged: int
    nodes: tuple[NodeShown, ...]
    queues: dict[str, LaneQueue]
    """What waits for a model server, by lane."""
    switch: VectorSwitch | None = None
    """Set while another model's vectors are being made."""
    notes: tuple[str, ...] = ()
