"""Errors that a person or a program reads.

    RewoundError
    ├── InvalidInput        a field of a request is wrong (exit 2, HTTP 400)
    │   └── WrongKind       an id of another kind than asked for
    ├── NotFound            no such item, event or container (404)
    ├── Conflict            the request and the present state disagree (409)
    │   ├── AlreadyUndone   a second undo of one event
    │   ├── HasDependents   undo refused: later commands stand on the event
    │   ├── KeyReused       an idempotency key with another request
    │   └── Stale           "only if nothing happened since" did not hold
    ├── StoreFull           no room on disk or in the map (507)
    ├── StoreBusy           the store cannot answer now, try again (503)
    ├── ReadOnly            the store is open for reading only (503)
    └── Damaged             the log, a body or a view is not what it should be (500)

Every error has a stable `code`, the `field` it is about where there is one, and a message that says
what was wrong and what would be right. It never holds a memory's text or a secret.
"""

from typing import ClassVar


class RewoundError(Exception):
    """Root of the tree. `code` is stable, `field` names the part of the request at fault."""

    code: ClassVar[str] = "error"

    def __init__(
        self, message: str, *, field: str | None = None, ids: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.ids = ids


class InvalidInput(RewoundError):
    code = "invalid_input"


class WrongKind(InvalidInput):
    code = "wrong_kind"


class NotFound(RewoundError):
    code = "not_found"


class Conflict(RewoundError):
    code = "conflict"


class AlreadyUndone(Conflict):
    code = "already_undone"


class HasDependents(Conflict):
    code = "has_dependents"


class KeyReused(Conflict):
    code = "key_reused"


class Stale(Conflict):
    code = "stale"


class StoreFull(RewoundError):
    code = "store_full"


class StoreBusy(RewoundError):
    code = "store_busy"


class ReadOnly(RewoundError):
    code = "read_only"


class Damaged(RewoundError):
    code = "damaged"


def _tree(root: type[RewoundError]) -> dict[str, type[RewoundError]]:
    found = {root.code: root}
    for child in root.__subclasses__():
        found |= _tree(child)
    return found


ERRORS_BY_CODE = _tree(RewoundError)
"""Code -> class, so that an error crosses the socket and is raised again as itself."""
