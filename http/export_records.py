"""Records of other memories, read as statements, messages and documents of ours.

Each name is taken where it lies: a text under `memory`, `content` or `text`, a time under
`created_at`, `createdAt` or `system`, lists and objects as they are or as JSON in a text. Ids go
along, so that an export that is imported again adds only what is new.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec

from rewound.memory import RewoundError, fields
from rewound.memory.inputs import as_time
from rewound.memory.requests import FactKindName, NewDocument, NewFact, NewMessage, Scope

FACT_CHARS_MAX: Final = 10_000

New = NewFact | NewMessage | NewDocument
Record = dict[str, Any]

_KINDS: dict[str, FactKindName] = {
    "episodic": "episode",
    "episode": "episode",
    "procedural": "procedure",
    "procedure": "procedure",
    "preference": "preference",
}
_UNSAID_IMPORTANCE: Final = 0.5
"""What memry writes where nobody said any."""
_ROLES: Final = ("user", "assistant", "system", "tool")


class Read(NamedTuple):
    """What a record is here, and whose; or why there is nothing of it: it is `left_out`, as what is
    not to be kept, or something is `wrong` with it."""

    new: New | None = None
    scope: Scope = Scope()
    conversation: str = "default"
    left_out: str | None = None
    wrong: str | None = None


Reader = Callable[[Record], Read]


def fact(record: Record) -> Read:
    """A memory: a statement, or a document where it is longer than one may be."""
    text = text_of(record, "memory", "content", "text")
    if text is None:
        return Read(wrong="it has no text")
    if _is_forgotten(record):
        return Read(left_out="forgotten there")
    if record.get("isLatest") is False:
        return Read(left_out="an older version")
    try:
        said_at = _time(record)
        scope = _scope(record)
        given = _given(record, said_at)
        if len(text) > FACT_CHARS_MAX:
            return Read(NewDocument(text=text, **given), scope)
        kind = _KINDS.get(str(record.get("memory_type")), "fact")
        valid_from = text_of(record, "valid_from")
        valid_to = text_of(record, "invalid_at")
        if valid_to is not None and valid_to in (valid_from, said_at):
            return Read(left_out="replaced as soon as it was said")
        new = NewFact(text=text, kind=kind, valid_from=valid_from, valid_to=valid_to, **given)
        return Read(new, scope)
    except RewoundError as error:
        return Read(wrong=error.message)


def document(record: Record) -> Read:
    """A document of which the export holds the text."""
    text = text_of(record, "content", "raw")
    if text is None:
        return Read(left_out="a document without its text (list them with their content)")
    try:
        new = NewDocument(
            text=text,
            title=text_of(record, "title"),
            address=text_of(record, "url"),
            **_given(record, _time(record)),
        )
    except RewoundError as error:
        return Read(wrong=error.message)
    return Read(new)


def episode(record: Record) -> Read:
    """A message as MemMachine lists them."""
    text = text_of(record, "content")
    if text is None:
        return Read(wrong="it has no text")
    role: Any = record.get("producer_role")
    try:
        new = NewMessage(
            content=text,
            role=role if role in _ROLES else "user",
            id=text_of(record, "uid"),
            name=text_of(record, "producer_id"),
            time=_time(record),
            metadata=_metadata(record.get("metadata") or record.get("filterable_metadata")),
        )
    except RewoundError as error:
        return Read(wrong=error.message)
    return Read(new, conversation=text_of(record, "session_key") or "default")


def feature(record: Record) -> Read:
    """What MemMachine holds of somebody: a value under a name, a tag and a category."""
    name, value = text_of(record, "feature_name"), text_of(record, "value")
    if name is None or value is None:
        return Read(wrong="it has no feature_name or no value")
    tags = tuple(filter(None, (text_of(record, "category"), text_of(record, "tag"))))
    metadata = _metadata(record.get("metadata"))
    number = metadata.pop("id", None)
    new = NewFact(
        text=f"{name.replace('_', ' ')}: {value}",
        id=None if number is None else f"feature {number}",
        tags=tags,
        metadata=metadata,
    )
    return Read(new)


# --- parts of a record


def text_of(record: Record, *names: str) -> str | None:
    """The first of the names that holds a text which is not blank."""
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value.strip():
            return value
    return None


def _is_forgotten(record: Record) -> bool:
    """What memry ended without anything in its place was forgotten."""
    ended = text_of(record, "invalid_at") is not None and text_of(record, "superseded_by") is None
    return record.get("isForgotten") is True or ended


def _given(record: Record, said_at: str | None) -> dict[str, Any]:
    """What statements and documents have in common."""
    tags = _list(record.get("tags") or record.get("categories"))
    if record.get("isStatic") is True:
        tags = (*tags, "static")
    metadata = _metadata(record.get("metadata"))
    for name in ("memory_type", "store"):
        kept = text_of(record, name)
        if kept is not None and kept not in ("default", "semantic", *_KINDS):
            metadata.setdefault(name, kept)
    importance = record.get("importance")
    is_share = isinstance(importance, int | float) and not isinstance(importance, bool)
    said = is_share and importance != _UNSAID_IMPORTANCE
    return {
        "id": text_of(record, "customId", "id", "content_hash"),
        "said_at": said_at,
        "tags": tuple(dict.fromkeys(tags)),
        "metadata": metadata,
        "importance": importance if said else None,
    }


def _time(record: Record) -> str | None:
    system = record.get("system")
    inside = system if isinstance(system, dict) else {}
    for where, name in ((record, "created_at"), (record, "createdAt"), (inside, "createdAt")):
        if where.get(name) not in (None, ""):
            return as_time(where[name], name)
    return None


def _scope(record: Record) -> Scope:
    """Raises RewoundError: a request of a wrong scope would be refused with all that it holds."""
    scope = Scope(
        user=text_of(record, "user_id"),
        agent=text_of(record, "agent_id"),
        run=text_of(record, "run_id"),
    )
    fields.scope(scope, "scope")
    return scope


def _list(value: Any) -> tuple[str, ...]:
    """Texts of a list, also of one that is JSON in a text, or parted by commas."""
    if isinstance(value, str):
        read = _from_text(value)
        value = read if isinstance(read, list) else value.split(",")
    if not isinstance(value, list):
        return ()
    return tuple(each.strip() for each in value if isinstance(each, str) and each.strip())


def _metadata(value: Any) -> dict[str, Any]:
    read = _from_text(value) if isinstance(value, str) else value
    return dict(read) if isinstance(read, dict) else {}


def _from_text(text: str) -> Any:
    """What a text holds that is JSON; None for another."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
