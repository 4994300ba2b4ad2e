"""What replies of every kind are made of: items as they stand, where they come from, moments."""

from typing import Any, Literal

import msgspec


class Reply(msgspec.Struct, frozen=True, kw_only=True, tag_field="reply", tag=True):
    """Base of all replies."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what replies are made of."""


class Hidden(Part, frozen=True, kw_only=True):
    """One item that a forgetting hides, a restoring shows, or an erasing destroys.

    `score` says how well it fitted what was asked for, when it was chosen by that."""

    id: str
    kind: str
    text: str | None = None
    score: float | None = None


class Change(Part, frozen=True, kw_only=True):
    """One row of a view before and after: what an undo does, or what a diff found."""

    view: str
    id: str
    change: Literal["appears", "disappears", "changes"]
    text: str | None = None
    fields: tuple[str, ...] = ()
    """Names of what changed; of a fact that a diff says was learned, how it stands at the end
    where it holds no more: superseded, corrected, repeated, ended or expired."""


class Source(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Where a text came from. `start` and `end` are characters of the document or message."""

    id: str
    kind: str
    caller_id: str | None = None
    title: str | None = None
    address: str | None = None
    conversation: str | None = None
    role: str | None = None
    speaker: str | None = None
    time: str | None = None
    start: int | None = None
    end: int | None = None


class Standing(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a fact holds: `current`, `upcoming` (it begins at `at`), `superseded` (ended by
    another), `corrected` (was wrong), `repeated` (`by` says the same and stands for both), `ended`
    (its time is over), `expired`, `forgotten`.

    A current one with `by` holds until `at`, when that takes its place. An ended or forgotten one
    names in `by` the event that brought it about, if it was one."""

    state: str
    by: str | None = None
    at: str | None = None


class View(Part, frozen=True, kw_only=True, omit_defaults=True):
    """An item as it stands at the moment asked for."""

    id: str
    kind: str
    text: str
    fact_kind: str | None = None
    standing: Standing | None = None
    root: str | None = None
    current: str | None = None
    supersedes: tuple[str, ...] = ()
    repeated_by: tuple[str, ...] = ()
    """Facts that say the same."""
    extends: tuple[str, ...] = ()
    """Facts that it adds to."""
    valid_from: str | None = None
    valid_to: str | None = None
    expires_at: str | None = None
    said_at: str | None = None
    recorded_at: str | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    title: str | None = None
    address: str | None = None
    media: str | None = None
    conversation: str | None = None
    role: str | None = None
    speaker: str | None = None
    caller_id: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    importance: float | None = None
    """0 to 1: its own, else that of what it is from; left out where nobody said any."""
    scope: dict[str, str] = {}
    sources: tuple[Source, ...] = ()
    status: str | None = None
    """For a document or message: `ready`, `pending`, `waiting` (for a quiet moment in its
    conversation), `failed`, `parked` (deriving of facts)."""
    status_note: str | None = None
    event: str | None = None
    """The event that brought it."""


class Moment(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The moment a read was answered for."""

    position: int
    as_of: str | None = None
    valid_at: str | None = None
    zone: str | None = None
    """Named when a time without an offset was read in the container's zone."""
    window: str | None = None
    """The stretch of world time that the words of a query named: from/to, `..` for an open one."""
    window_words: str | None = None
