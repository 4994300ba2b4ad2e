"""Names and versions of events, and how each is read.

A stored event carries a short name and a schema version. Both are looked up here, never derived
from Python paths, so classes may move and be renamed. An old version is decoded into its own struct
and brought up to date by its upcaster, at read time.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.errors import Damaged

NAMES: dict[str, type[e.Event]] = {
    "document ingested": e.DocumentIngested,
    "document replaced": e.DocumentReplaced,
    "document removed": e.DocumentRemoved,
    "message recorded": e.MessageRecorded,
    "seen again": e.SeenAgain,
    "passages cut": e.PassagesCut,
    "fact remembered": e.FactRemembered,
    "fact extracted": e.FactExtracted,
    "extraction finished": e.ExtractionFinished,
    "extraction failed": e.ExtractionFailed,
    "fact edited": e.FactEdited,
    "facts judged": e.FactsJudged,
    "fact superseded": e.FactSuperseded,
    "fact reinstated": e.FactReinstated,
    "facts ended": e.FactsEnded,
    "facts linked": e.FactsLinked,
    "policy fitted": e.PolicyFitted,
    "label given": e.LabelGiven,
    "forgotten": e.Forgotten,
    "restored": e.Restored,
    "undone": e.Undone,
    "content erased": e.ContentErased,
    "relation asserted": e.RelationAsserted,
    "entity merged": e.EntityMerged,
    "entity split": e.EntitySplit,
    "entity renamed": e.EntityRenamed,
    "tags edited": e.TagsEdited,
    "importance set": e.ImportanceSet,
    "profile written": e.ProfileWritten,
    "summary written": e.SummaryWritten,
    "summary failed": e.SummaryFailed,
    "container configured": e.ContainerConfigured,
    "container moved": e.ContainerMoved,
    "container removed": e.ContainerRemoved,
    "import begun": e.ImportBegun,
    "import finished": e.ImportFinished,
    "heads sealed": e.HeadsSealed,
}
"""Stored name -> the struct of its newest version. Names are for ever."""

VERSIONS: dict[str, int] = {}
"""Newest schema version of a name, where it is not 1."""


class Upcaster(NamedTuple):
    """How an old version is decoded, and the pure function that brings it one version up."""

    struct: type[msgspec.Struct]
    up: Callable[[Any], Any]


UPCASTERS: dict[tuple[str, int], Upcaster] = {}
"""(name, old version) -> its upcaster."""

_NAME_OF = {struct: name for name, struct in NAMES.items()}
_encode = msgspec.msgpack.Encoder().encode
_decoders = {name: msgspec.msgpack.Decoder(struct) for name, struct in NAMES.items()}


def name_of(event: e.Event | type[e.Event]) -> str:
    return _NAME_OF[event if isinstance(event, type) else type(event)]


def version_of(name: str) -> int:
    return VERSIONS.get(name, 1)


def encode(event: e.Event) -> tuple[str, int, bytes]:
    """Name, schema version and msgpack payload of an event."""
    name = _NAME_OF[type(event)]
    return name, VERSIONS.get(name, 1), _encode(event)


def encode_many(events: Sequence[e.Event]) -> tuple[list[str], list[int], list[bytes]]:
    """Names, schema versions and payloads of events."""
    names = list(map(_NAME_OF.__getitem__, map(type, events)))
    versions = [VERSIONS.get(name, 1) for name in names] if VERSIONS else [1] * len(names)
    return names, versions, list(map(_encode, events))


def decode(name: str, version: int, payload: bytes | msgspec.Raw) -> e.Event:
    """The event as of today's vocabulary. Raises Damaged for what was never written."""
    newest = VERSIONS.get(name, 1)
    decoder = _decoders.get(name)
    if decoder is None or not 1 <= version <= newest:
        raise Damaged(f"the log holds an event {name!r} version {version}, which is not known here")
    try:
        if version == newest:
            return decoder.decode(payload)
        old: Any = msgspec.msgpack.decode(payload, type=UPCASTERS[name, version].struct)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise Damaged(f"an event {name!r} version {version} cannot be decoded") from error
    for step in range(version, newest):
        old = UPCASTERS[name, step].up(old)
    if not isinstance(old, NAMES[name]):
        raise Damaged(f"the upcaster of {name!r} version {version} gives something else")
    return old
