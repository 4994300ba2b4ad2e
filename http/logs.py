"""Logs of the processes that serve: to standard error, and never a word of what is remembered."""

import logging
import sys
import traceback
from types import TracebackType


class Discreet(logging.Formatter):
    """Errors are told by type and place: what an error says may quote a memory."""

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        kind, _, trace = ei
        if kind is None:
            return ""
        return "".join([*traceback.format_tb(trace), kind.__name__])


def log_to_stderr(form: str, *, level: int) -> None:
    """Ours and the libraries' from that level on; libraries' debug logs would hold messages."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Discreet(form))
    logging.basicConfig(handlers=[handler], level=level)
