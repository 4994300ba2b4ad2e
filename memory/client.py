"""The client's side of the socket: a connection to the owner of a store, for one call at a time."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path

from rewound.eventlog.envelope import Actor
from rewound.eventlog.errors import Conflict, InvalidInput, StoreBusy
from rewound.memory import wire
from rewound.memory.hearing import asker_here, listener_here
from rewound.memory.lock import OwnerLock
from rewound.memory.replies import Reply
from rewound.memory.requests import Request

LATE_S = 5.0  # how much longer a client waits than it tells: the owner's own error comes first


class Client:
    """A connection that has been greeted. `broken` once it may not be used again."""

    def __init__(self, connection: wire.Connection) -> None:
        self._connection = connection
        self._number = 0
        self.broken = False

    def ask(
        self, request: Request, actor: Actor, deadline_s: float | None, later_s: float = LATE_S
    ) -> Reply:
        """The owner's reply, or its error raised; the parts of an answer are told to whoever
        listens. `later_s` is how much longer than `deadline_s` is waited for it. Raises PeerGone
        when the owner ended meanwhile, or whoever asked has gone.
        """
        self._number += 1
        self.broken = True  # until the answer has come
        self._connection.sock.settimeout(None if deadline_s is None else deadline_s + later_s)
        asker = asker_here()
        try:
            with asker.telling(self._connection.end):
                if asker.gone:
                    raise wire.PeerGone("whoever asked has gone")
                self._connection.send(wire.ask(self._number, request, deadline_s, actor))
                answer = self._answer()
        except InvalidInput:
            self.broken = False  # nothing was sent
            raise
        except TimeoutError:
            raise StoreBusy(
                f"the owner of the store did not answer within {(deadline_s or 0) + later_s:.0f} "
                "seconds; a write may still happen"
            ) from None
        self.broken = False
        return wire.raised(answer.reply)

    def hand_over(self, lock: Path, timeout_s: float) -> OwnerLock:
        """Ask for the store, which the owner gives once it has finished what it is doing.

        Raises PeerGone when it is not to be had from this owner, or not in time.
        """
        self._number += 1
        self.broken = True
        self._connection.sock.settimeout(timeout_s)
        try:
            self._connection.send(wire.HandOver(self._number))
            answer = self._receive()
        except TimeoutError:
            raise wire.PeerGone("it did not hand the store over in time") from None
        if answer.reply is not None:
            try:
                wire.raised(answer.reply)
            except StoreBusy as busy:
                raise wire.PeerGone(busy.message) from None
        taken = OwnerLock.adopt(lock, self._connection.receive_lock())
        if taken is None:
            raise Conflict(f"the lock that was handed over is not that of {lock.parent}")
        return taken

    def look_on(self) -> wire.Connection:
        """Ask to read the store's files; the connection on which the owner then tells of them.

        Raises PeerGone when the owner lets nobody.
        """
        self._number += 1
        self.broken = True
        self._connection.send(wire.LookOn(self._number))
        answer = self._receive()
        if answer.reply is not None:
            raise wire.PeerGone("the owner lets nobody look on")
        self._connection.sock.settimeout(None)
        return self._connection

    def close(self) -> None:
        self._connection.close()

    def _answer(self) -> wire.Answer:
        """The answer, once its parts were told."""
        listener = listener_here()
        while isinstance(frame := self._frame(), wire.Heard):
            if (part := wire.part_of(frame)) is not None:
                listener(part)
        return _checked(frame)

    def _receive(self) -> wire.Answer:
        return _checked(self._frame())

    def _frame(self) -> wire.Frame:
        try:
            return self._connection.receive()
        except wire.Refused as refused:
            raise refused.error from None


def _checked(frame: wire.Frame) -> wire.Answer:
    """Raises PeerGone for what is no answer."""
    if not isinstance(frame, wire.Answer):
        raise wire.PeerGone("the owner says what no owner should")
    return frame


def connect(paths: Iterable[Path], *, frame_bytes_max: int, timeout_s: float = 5.0) -> Client:
    """A greeted connection to whoever listens at the first of the paths that answers.

    Raises PeerGone when nobody does or has room for us, Conflict when its version does not fit,
    ReadOnly when it is another user.
    """
    gone = wire.PeerGone("nobody listens")
    for path in dict.fromkeys(paths):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(timeout_s)
        try:
            sock.connect(os.fspath(path))
            return _greeted(wire.Connection(sock, frame_bytes_max=frame_bytes_max))
        except wire.PeerGone as error:
            sock.close()
            gone = error
        except OSError as error:  # no such socket, nobody behind it, or it is stuck
            sock.close()
            gone = wire.PeerGone(str(error))
        except BaseException:
            sock.close()
            raise
    raise gone


def _greeted(connection: wire.Connection) -> Client:
    wire.check_peer(connection.sock)
    connection.send(wire.hello())
    try:
        frame = connection.receive()
    except wire.Refused as refused:
        raise refused.error from None
    if isinstance(frame, wire.Answer):
        try:
            wire.raised(frame.reply)
        except StoreBusy as busy:  # turned away for now
            raise wire.PeerGone(busy.message) from None
    if not isinstance(frame, wire.Hello):
        raise wire.PeerGone("the owner says what no owner should")
    wire.check_hello(frame, "the owner of the store")
    return Client(connection)
