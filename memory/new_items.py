"""What may be sent to be kept: statements, documents and messages."""

from typing import Any

import msgspec

from rewound.memory.request_parts import FactKindName, MediaName, RoleName


class NewFact(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A statement to be remembered word for word.

    From `expires_at` on it is no longer shown; `forget_after` (`30 days`, `P30D`) says instead how
    long after it was said. `importance` (0 to 1) says how much a search is to lift it.
    """

    text: str
    kind: FactKindName = "fact"
    id: str | None = None
    said_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    expires_at: str | None = None
    forget_after: str | None = None
    subject: str | None = None
    attribute: str | None = None
    value: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    importance: float | None = None


class NewDocument(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A text to be kept verbatim. `id` is the caller's own: sent again, it replaces. Facts drawn
    from it have its `importance` (0 to 1) unless they have their own."""

    text: str
    id: str | None = None
    title: str | None = None
    address: str | None = None
    media: MediaName = "text"
    said_at: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    importance: float | None = None


class NewMessage(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """One message. `time` is when it was said; `name` the speaker's. Facts drawn from it have its
    `importance` (0 to 1) unless they have their own."""

    content: str
    role: RoleName = "user"
    id: str | None = None
    name: str | None = None
    time: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    importance: float | None = None
