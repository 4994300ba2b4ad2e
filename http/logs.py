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


_TALKATIVE = ("httpx", "httpcore")
"""Tell of every call at INFO, and of the looks at model servers: several lines a second."""


def log_to_stderr(form: str, *, level: int) -> None:
    """Ours and the libraries' from that level on; libraries' debug logs would hold messages.

    Called again, it changes form and level.
    """
    root = logging.getLogger()
    for handler in root.handlers:
        if isinstance(handler.formatter, Discreet):
            handler.setFormatter(Discreet(form))
            root.setLevel(level)
            return
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
    made = logging.StreamHandler(sys.stderr)
    made.setFormatter(Discreet(form))
    logging.basicConfig(handlers=[made], level=level)
