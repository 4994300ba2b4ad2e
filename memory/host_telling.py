"""Telling the parts of an answer through the store's socket, as long as its other end is there."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rewound.memory.answered_replies import AnswerPart
from rewound.memory.hearing import Asker, asked_by, heard_by


@contextmanager
def telling(sock: socket.socket, send: Callable[[AnswerPart], object]) -> Iterator[None]:
    """What is answered in here is sent part by part; it is given up once the other end closes.

    Nothing else may read from the socket meanwhile: whoever asked says nothing until answered.
    """
    asker = Asker()

    def hear(part: AnswerPart) -> None:
        try:
            if not asker.gone:
                send(part)
        except OSError:
            asker.go()

    with _watching(sock, asker), asked_by(asker), heard_by(hear):
        yield


@contextmanager
def _watching(sock: socket.socket, asker: Asker) -> Iterator[None]:
    """Have the asker go when the socket's other end closes."""
    waker, wakened = socket.socketpair()

    def watch() -> None:
        poll = select.poll()  # `select` knows no file descriptors over 1023
        poll.register(sock, select.POLLIN)
        poll.register(wakened, select.POLLIN)
        ready = {fd for fd, _ in poll.poll()}
        with suppress(OSError):  # it was closed here
            if wakened.fileno() not in ready and not sock.recv(1, socket.MSG_PEEK):
                asker.go()

    thread = threading.Thread(target=watch, name="rewound-watching", daemon=True)
    thread.start()
    try:
        yield
    finally:
        waker.send(b"x")
        thread.join()
        waker.close()
        wakened.close()
