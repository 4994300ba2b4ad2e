"""How a request fails: one table from error codes to HTTP statuses, and the body that tells it.

What the client may know is told in full: the code, what was wrong and what would be right, the
field and the ids it is about. What it may not (damage, a mistake of ours) is told as a request id,
under which the server's own log has the rest, itself without any text of a memory.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from rewound.memory import RewoundError

STATUS: Mapping[str, int] = MappingProxyType(
    {
        "invalid_input": 400,
        "wrong_kind": 400,
        "unauthorized": 401,
        "forbidden": 403,
        "not_found": 404,
        "method_not_allowed": 405,
        "timeout": 408,
        "conflict": 409,
        "already_undone": 409,
        "has_dependents": 409,
        "key_reused": 409,
        "stale": 409,
        "too_large": 413,
        "store_busy": 503,
        "read_only": 503,
        "store_full": 507,
        "damaged": 500,
        "internal": 500,
    }
)
"""Code -> status. A code of the store that is not here is told as `internal`."""

JSON_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "content-type": "application/json; charset=utf-8",
        "x-content-type-options": "nosniff",
        "server": "rewound",
    }
)
"""What every answer in JSON says of itself."""

_HEADERS: Mapping[str, Mapping[str, str]] = {
    "store_busy": {"Retry-After": "1"},
    "unauthorized": {"WWW-Authenticate": 'Bearer realm="rewound"'},
    "timeout": {"Connection": "close"},
}
_UNTOLD = frozenset({"damaged", "internal"})

_log = logging.getLogger("rewound.http")


class ErrorDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What was wrong, and what would be right. `field` names the part of the request at fault."""

    code: str
    message: str
    field: str | None = None
    ids: tuple[str, ...] = ()


class Error(msgspec.Struct, frozen=True, kw_only=True):
    """The body of every answer that is not a success."""

    error: ErrorDetail


class Problem(Exception):
    """The server itself says no. `code` is one of `STATUS`."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.field = field
        self.ids: tuple[str, ...] = ()
        self.headers = headers or {}


def invalid(message: str, field: str | None = None) -> Problem:
    """A field of the request is wrong: 400."""
    return Problem("invalid_input", message, field=field)


class Telling(NamedTuple):
    """An error as it leaves: status, what it says, and headers that go with it."""

    status: int
    detail: ErrorDetail
    headers: Mapping[str, str]


def telling_of(error: BaseException, request_id: str) -> Telling:
    """What a client is told about any error. Logs the ones that it is not told."""
    code = getattr(error, "code", "") if isinstance(error, Problem | RewoundError) else ""
    if code not in STATUS or code in _UNTOLD:
        code = code if code in _UNTOLD else "internal"
        _log.error("request %s: %s", request_id, described(error))
        message = f"the server could not answer this request; its log has more under {request_id}"
        return Telling(STATUS[code], ErrorDetail(code=code, message=message), {})
    assert isinstance(error, Problem | RewoundError), "only these have a code"
    message = error.message.encode("utf-8", "backslashreplace").decode()
    detail = ErrorDetail(code=code, message=message, field=_whole(error.field), ids=error.ids)
    more = error.headers if isinstance(error, Problem) else {}
    return Telling(STATUS[code], detail, {**_HEADERS.get(code, {}), **more})


def _whole(field: str | None) -> str | None:
    """A field's name, also when a client made it up of what is no text."""
    return None if field is None else field.encode("utf-8", "backslashreplace").decode()


def described(error: BaseException) -> str:
    """The kind of an error and the lines it went through; its message might hold a memory's text.

    The store's own errors never do, so theirs is shown.
    """
    said = f": {error.message}" if isinstance(error, RewoundError) else ""
    frames = traceback.extract_tb(error.__traceback__)
    path = " < ".join(
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )
    cause = error.__cause__ or error.__context__
    behind = f"; from {type(cause).__name__}" if cause is not None else ""
    return f"{type(error).__name__}{said} at {path or 'nowhere'}{behind}"
