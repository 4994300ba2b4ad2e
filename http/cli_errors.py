"""How a command fails: one line on stderr that says what would be right, and an exit code.

With `--json` the line is a JSON object with `code`, `message` and `field`, and `ids` if there are
any.
"""

import errno
import traceback
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import click
import msgspec

from rewound.http.config import BadSetting
from rewound.http.words import one_line

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
EXITS = {
    "invalid_input": 2,
    "wrong_kind": 2,
    "not_found": 2,
    "conflict": 3,
    "already_undone": 3,
    "has_dependents": 3,
    "key_reused": 3,
    "stale": 3,
    "store_full": 4,
    "store_busy": 4,
    "read_only": 4,
    "damaged": 1,
}
"""Code of an error -> how the command ends. What is not here ends with 1."""


@runtime_checkable
class Told(Protocol):
    """An error of the layers below, known by its shape: a stable code and a message to show."""

    code: str
    message: str
    field: str | None
    ids: tuple[str, ...]


class Refusal(click.ClickException):
    """The command line itself says no, in the words and with the exit codes of the store."""

    def __init__(self, message: str, *, code: str = "invalid_input", field: str | None = None):
        super().__init__(message)
        self.code = code
        self.field = field


class Ending(NamedTuple):
    """How a failed command ends: its exit code, and what it says."""

    exit: int
    code: str
    message: str
    field: str | None = None
    ids: tuple[str, ...] = ()


def ending_of(error: BaseException) -> Ending:
    """Exit code and words for any error that can reach the top."""
    match error:
        case Refusal() | BadSetting():
            code = getattr(error, "code", "invalid_input")
            return Ending(EXITS.get(code, 1), code, error.message, error.field)
        case click.UsageError():
            param = getattr(error, "param", None)
            where = f" (see {error.ctx.command_path} --help)" if error.ctx else ""
            message = error.format_message().rstrip(".") + where
            return Ending(2, "invalid_input", message, param.name if param else None)
        case click.ClickException():
            return Ending(error.exit_code, "error", error.format_message())
        case click.Abort() | KeyboardInterrupt():
            return Ending(EXIT_INTERRUPTED, "interrupted", "interrupted")
        case Told():
            exit_code = EXITS.get(error.code, 1)
            return Ending(exit_code, error.code, error.message, error.field, error.ids)
        case OSError():
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            about = f"{error.filename}: " if error.filename else ""
            message = f"{about}{error.strerror or type(error).__name__}"
            return Ending(4 if full else 1, "store_full" if full else "error", message)
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" at {Path(frame[0].filename).name}:{frame[0].lineno}" if frame else ""
    return Ending(1, "error", f"internal error: {type(error).__name__}{where}; please report it")


def _naming_field(end: Ending) -> str:
    """The message, with the field before it unless it names it itself."""
    name = (end.field or "").rpartition(".")[2].partition("[")[0]
    named = name.replace("_", " ") in end.message.lower().replace("_", " ").replace("-", " ")
    return end.message if named else f"{end.field}: {end.message}"


def report(error: BaseException, *, as_json: bool) -> int:
    """Say on stderr, in one line, what went wrong. Returns the exit code."""
    end = ending_of(error)
    if as_json:
        told: dict[str, Any] = {"code": end.code, "message": end.message, "field": end.field}
        if end.ids:
            told["ids"] = end.ids
        click.echo(_encode_safely(told), err=True)
    elif end.exit == EXIT_INTERRUPTED:
        click.echo("interrupted", err=True)
    else:
        from_store = isinstance(error, Told) and end.code == "invalid_input"
        message = _naming_field(end) if from_store else end.message
        click.echo(f"error: {one_line(message)}", err=True)
    return end.exit


def _encode_safely(told: dict[str, Any]) -> bytes:
    """As JSON, also when the message quotes something that is no text."""
    message = told["message"].encode("utf-8", "backslashreplace").decode()
    return msgspec.json.encode(told | {"message": message})
