"""What a read may show, worked out from a canonical dump by looking at every row.

`search_visible` is the set of items that a search could return, whatever the query; `listing` the
exact answer of a list. Both take the dump of the moment asked for (`oracle` or `oracle_at`).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec

from rewound.eventlog.events import MessageRecorded
from rewound.eventlog.ids import Kind
from rewound.eventlog.instants import MAX_US, end_of, parse_instant
from rewound.eventlog.log import Recorded
from tests.oracle.docs import content
from tests.oracle.fold import Dump, Row
from tests.oracle.ledger import Ledger

TABLES = {
    "fact": "facts",
    "passage": "passages",
    "message": "messages",
    "document": "documents",
}


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The moment and the filters of a read. Times in µs; `valid_at` is [from, to).

    `recorded` is when each document and message was recorded (`recorded_times`): its own time when
    nobody said one.
    """

    now: int
    valid_at: tuple[int, int] | None = None
    include_forgotten: bool = False
    include_superseded: bool = False
    what: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    scope: dict[str, str] = {}
    source: str | None = None
    since: int | None = None
    until: int | None = None
    recorded: Mapping[str, int] = {}


def recorded_times(events: Sequence[Recorded], position: int | None = None) -> dict[str, int]:
    """When each document and message was recorded as it stands at that position (or now)."""
    ledger = Ledger([r for r in events if position is None or r.position <= position], _no_body)
    found: dict[str, int] = {}
    for item in ledger.named(Kind.DOCUMENT):
        stated = content(ledger, item)
        if stated is not None:
            found[str(item)] = stated.envelope.recorded_at
    for item in ledger.named(Kind.MESSAGE):
        support = ledger.asserting(item, MessageRecorded)
        if support:
            found[str(item)] = ledger.stated(support[0]).envelope.recorded_at
    return found


def _no_body(_place: object) -> None:
    return None


def moment(text: str) -> tuple[int, int]:
    """[from, to) of a time as a person wrote it."""
    instant = parse_instant(text)
    return instant.at, end_of(instant)


def standing(row: Row, now: int) -> str:
    """`current`, or why a fact does not stand.

    One that begins later is current; one whose ending is still to come is, once it has begun.
    """
    over = row["valid_to"] is not None and row["valid_to"] <= now
    if row["ended"]:
        if row["ended"]["corrects"]:
            return "corrected"
        if row["ended"]["repeats"]:
            return "repeated"
        if over or row["valid_from"] > now:
            return "superseded"
    elif over or (row["unsaid_at"] is not None and row["valid_to"] <= row["valid_from"]):
        return "ended"
    return "expired" if expired(row, now) else "current"


def expired(row: Row, now: int) -> bool:
    return row["expires_at"] is not None and row["expires_at"] <= now


def holds_at(row: Row, valid_at: tuple[int, int]) -> bool:
    """Whether [valid_from, valid_to) overlaps; an empty interval overlaps nothing."""
    start, end = row["valid_from"], MAX_US if row["valid_to"] is None else row["valid_to"]
    return bool(start < end and start < valid_at[1] and valid_at[0] < end)


def search_visible(dump: Dump, asked: Asked, erased: Collection[str] = ()) -> set[str]:
    """Ids of all facts, passages and messages that a search may return.

    With `valid_at`, what was said later answers nothing about then; lists show it all the same.
    """
    kinds = [
        what for what in ("fact", "passage", "message") if not asked.what or what in asked.what
    ]
    then = asked
    if asked.valid_at is not None:
        end = asked.valid_at[1]
        until = end if asked.until is None else min(end, asked.until)
        then = msgspec.structs.replace(asked, until=until)
    return {
        item
        for what in kinds
        for item in listing(dump, what, asked if what == "fact" else then, erased)
    }


def listing(dump: Dump, what: str, asked: Asked, erased: Collection[str] = ()) -> list[str]:
    """Ids of one kind that a list shows, oldest first."""
    rows: dict[str, Row] = dump[TABLES[what]]
    return sorted(item for item in rows if _shown(dump, what, item, asked, set(erased)))


def _shown(dump: Dump, what: str, item: str, asked: Asked, erased: set[str]) -> bool:
    row: Row = dump[TABLES[what]][item]
    home = dump["documents"].get(row["document"]) if what == "passage" else row
    holder = row["document"] if what == "passage" else item
    if home is None or {item, holder} & erased:
        return False
    if not asked.include_forgotten and {item, holder} & set(dump["hidden"]):
        return False
    if what == "fact" and not _stands(row, asked):
        return False
    return _fits(dump, what, item, home, asked)


def _stands(row: Row, asked: Asked) -> bool:
    if asked.valid_at is not None:
        gone = expired(row, asked.now) and not asked.include_superseded
        return holds_at(row, asked.valid_at) and not gone
    return asked.include_superseded or standing(row, asked.now) == "current"


def _fits(dump: Dump, what: str, item: str, home: Row, asked: Asked) -> bool:
    """The filters; a passage has its document's tags, metadata, scope and time."""
    if asked.kinds and (what != "fact" or home["kind"] not in asked.kinds):
        return False
    if not set(asked.tags) <= set(home["tags"]):
        return False
    metadata, scope = home["metadata"] or {}, home["scope"] or {}
    if any(key not in metadata or metadata[key] != want for key, want in asked.metadata.items()):
        return False
    if any(scope.get(key) != want for key, want in asked.scope.items()):
        return False
    if asked.source is not None and asked.source not in _origins(dump, what, item):
        return False
    holder = row_holder(dump, what, item)
    time = home["valid_from"] if what == "fact" else home["said_at"]
    if time is None:
        time = asked.recorded.get(holder)
    if asked.since is not None and (time is None or time < asked.since):
        return False
    return asked.until is None or (time is not None and time < asked.until)


def row_holder(dump: Dump, what: str, item: str) -> str:
    """The item itself, or the document of a passage."""
    return str(dump["passages"][item]["document"]) if what == "passage" else item


def _origins(dump: Dump, what: str, item: str) -> set[str]:
    """Everything a `source` filter may name to reach the item."""
    row = dump[TABLES[what]][item]
    if what == "fact":
        origins: set[str] = set()
        for source, *_ in row["sources"]:
            for kind in ("document", "message"):
                if source in dump[TABLES[kind]]:
                    origins |= _origins(dump, kind, source)
        return origins
    if what == "passage":
        document = dump["documents"].get(row["document"])
        return _origins(dump, "document", row["document"]) if document else set()
    origins = {item, row["caller_id"]}
    if what == "message":
        origins |= {row["conversation"], row["conversation_name"]}
    return origins - {None}
