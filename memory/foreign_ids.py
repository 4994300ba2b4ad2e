"""Ids as programs of other makers show and read them: the bits of ours, as a UUID.

A UUID does not say what it names; every door of the store reads both forms.
"""

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import Kind, as_uuid, parse_any
from rewound.eventlog.instants import show_us

_KINDS = {kind: kind.name.lower() for kind in Kind}


def uuid_of(text: str) -> str:
    """The UUID of a printed id (`fact_…`), or of a UUID in any spelling. Raises InvalidInput."""
    _, raw = parse_any(text)
    return as_uuid(raw)


def kind_of_id(text: str) -> str | None:
    """What a printed id names, such as `fact`; None for a UUID and for a caller's own id."""
    try:
        kind, _ = parse_any(text)
    except InvalidInput:
        return None
    return None if kind is None else _KINDS[kind]


def made_at(text: str) -> str:
    """When the id was made, RFC 3339 in UTC to the millisecond it holds. Raises InvalidInput."""
    _, raw = parse_any(text)
    return show_us(int.from_bytes(raw[:6], "big") * 1000)
