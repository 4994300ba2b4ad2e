"""Who hears an answer while it comes.

A listener stands in the context of a call, as whoever asks does (`llm/askers.py`): between a door
and the stage that answers lie layers that hand on one request and one reply, and none of them need
know of parts. Where nobody listens the parts are all in the reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rewound.llm.askers import Asker as Asker
from rewound.llm.askers import asked_by as asked_by
from rewound.llm.askers import asker_here as asker_here
from rewound.memory.answered_replies import AnswerPart

Listener = Callable[[AnswerPart], object]
"""Told of each part in the thread that answers; it must be quick and raise nothing."""

_listener: ContextVar[Listener | None] = ContextVar("_listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """What is answered in here, in this context, is told part by part as well."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def listener_here() -> Listener:
    """Who hears the parts of an answer in this context; one that does nothing when nobody does."""
    return _listener.get() or _nobody


class Told:
    """Whether whoever hears an answer in this context was told a part of it in here. Asked anew,
    it would be told from its beginning."""

    def __init__(self) -> None:
        self.any = False

    @contextmanager
    def hearing(self) -> Iterator[None]:
        if not is_heard():
            yield
            return
        listener = listener_here()

        def hear(part: AnswerPart) -> None:
            self.any = True
            listener(part)

        with heard_by(hear):
            yield


def is_heard() -> bool:
    """Whether anybody wants the parts of an answer in this context."""
    return _listener.get() is not None


def _nobody(part: AnswerPart) -> None:
    del part
