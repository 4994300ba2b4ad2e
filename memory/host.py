"""The owner's side of the socket: an accept loop and a thread for each connection.

All threads here only carry requests to the engine and replies back. A stop lets every request that
is being answered finish, and ends the connections that are waiting for one.
"""

import logging
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from rewound.eventlog.envelope import Actor
from rewound.eventlog.errors import InvalidInput, RewoundError, StoreBusy
from rewound.memory import wire
from rewound.memory.conversions import translated
from rewound.memory.host_telling import telling
from rewound.memory.lock import OwnerLock
from rewound.memory.onlookers import Onlookers
from rewound.memory.replies import Reply
from rewound.memory.requests import AnyRequest, Inquire

CONNECTIONS_MAX = 256
_HELLO_S = 10.0  # who has not said hello by then is not a client
_TURN_AWAY_S = 0.5  # and who is to be turned away has to say it sooner, as others wait meanwhile
_GRACE_S = 10.0  # how long a stop waits for a reply to be taken

_log = logging.getLogger(__name__)
_decode_request = msgspec.msgpack.Decoder(AnyRequest).decode

Call = Callable[[AnyRequest, Actor, float | None], Reply]
"""Answer a request of an actor who waits so many seconds (None: for ever)."""


class Host:
    """Serves a store at a socket until it is stopped, or asked to hand the store over.

    `hand_over` is called on a connection's thread: it stops this host and gives the owner lock to
    be passed on, or None when there is nothing to give. `onlookers` are who read the files beside
    us; without it nobody may.
    """

    def __init__(
        self,
        path: Path,
        call: Call,
        hand_over: Callable[[], OwnerLock | None],
        *,
        onlookers: Onlookers | None = None,
        connections_max: int = CONNECTIONS_MAX,
        frame_bytes_max: int = wire.FRAME_BYTES_MAX,
    ) -> None:
        self.path = path
        self._call = call
        self._hand_over = hand_over
        self._onlookers = onlookers
        self._looking_on: set[wire.Connection] = set()
        self._connections_max = connections_max
        self._frame_bytes_max = frame_bytes_max
        self._guard = threading.Lock()
        self._connections: dict[wire.Connection, threading.Thread] = {}
        self._busy: set[wire.Connection] = set()
        self._stopping = False
        self._socket = _listen(path)
        self._waker, self._wakened = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="rewound-host", daemon=True)
        self._thread.start()

    # --- accepting

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, selectors.EVENT_READ)
            selector.register(self._wakened, selectors.EVENT_READ)
            while not self._stopping:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._socket in ready and not self._stopping:
                    self._take()

    def _take(self) -> None:
        try:
            sock, _ = self._socket.accept()
        except OSError as error:  # the client gave up, or we are out of file descriptors
            _log.warning("a connection could not be accepted: %s", error)
            return
        connection = wire.Connection(sock, frame_bytes_max=self._frame_bytes_max)
        thread = threading.Thread(
            target=self._serve, args=(connection,), name="rewound-connection", daemon=True
        )
        with self._guard:
            full = len(self._connections) >= self._connections_max
            if not full:
                self._connections[connection] = thread
        if full:
            self._turn_away(connection)
        else:
            thread.start()

    def _turn_away(self, connection: wire.Connection) -> None:
        error = StoreBusy(f"{self._connections_max} programs are connected already: try again")
        try:
            connection.sock.settimeout(_TURN_AWAY_S)
            connection.receive()  # its hello: left unread, it would take our answer with it
            connection.send(wire.Answer(0, wire.failure_of(error)))
        except (wire.PeerGone, wire.Refused, OSError) as gone:
            _log.debug("a client left before it could be turned away: %s", gone)
        finally:
            connection.close()

    # --- serving

    def _serve(self, connection: wire.Connection) -> None:
        try:
            if self._greet(connection):
                while self._serve_one(connection):
                    pass
        except (wire.PeerGone, OSError) as gone:
            _log.debug("a client left: %s", gone)
        finally:
            with self._guard:
                self._connections.pop(connection, None)
                self._busy.discard(connection)
                self._looking_on.discard(connection)
            connection.close()

    def _greet(self, connection: wire.Connection) -> bool:
        connection.sock.settimeout(_HELLO_S)
        try:
            wire.check_peer(connection.sock)
            theirs = connection.receive()
            if not isinstance(theirs, wire.Hello):
                raise InvalidInput("say hello first")
            wire.check_hello(theirs, "the other program")
        except wire.Refused as refused:
            connection.send(wire.Answer(0, wire.failure_of(refused.error)))
            return False
        except RewoundError as error:
            connection.send(wire.Answer(0, wire.failure_of(error)))
            return False
        connection.send(wire.hello())
        connection.sock.settimeout(None)
        return True

    def _serve_one(self, connection: wire.Connection) -> bool:
        """Answer one frame; False when the connection is to end."""
        try:
            frame = connection.receive()
        except wire.Refused as refused:
            connection.send(wire.Answer(0, wire.failure_of(refused.error)))
            return True
        with self._guard:
            if self._stopping:
                return False  # unanswered: the client asks the next owner under the same key
            self._busy.add(connection)
            if isinstance(frame, wire.LookOn) and self._onlookers is not None:
                self._looking_on.add(connection)
        try:
            if isinstance(frame, wire.LookOn) and self._onlookers is not None:
                answer = wire.Answer(frame.id, None)
                self._onlookers.attend(connection, lambda: connection.send(answer))
                return False
            if isinstance(frame, wire.HandOver):
                return self._give(connection, frame)
            if not isinstance(frame, wire.Ask):
                return False
            self._send(connection, frame.id, self._reply(connection, frame))
            return not self._stopping
        finally:
            with self._guard:
                self._busy.discard(connection)

    def _reply(self, connection: wire.Connection, ask: wire.Ask) -> Reply:
        try:
            request = _decode_request(ask.request)
            if not isinstance(request, Inquire):
                return self._call(request, ask.actor, ask.deadline_s)
            with telling(connection.sock, lambda part: connection.send(wire.heard(ask.id, part))):
                return self._call(request, ask.actor, ask.deadline_s)
        except msgspec.ValidationError as error:
            return wire.failure_of(translated(error))
        except RewoundError as error:
            return wire.failure_of(error)
        except Exception as error:
            _log.exception("a request failed in a way that it should not")
            return wire.failure_of(error)

    def _send(self, connection: wire.Connection, number: int, reply: Reply) -> None:
        try:
            connection.send(wire.answer(number, reply))
        except InvalidInput as error:  # the reply is over the frame's limit
            connection.send(wire.Answer(number, wire.failure_of(error)))
        except UnicodeEncodeError as error:  # unanswered, it would be asked again and again
            _log.error("a reply holds what is no text")
            connection.send(wire.Answer(number, wire.failure_of(error)))

    def _give(self, connection: wire.Connection, frame: wire.HandOver) -> bool:
        with self._guard:
            self._busy.discard(connection)
            self._connections.pop(connection, None)  # so that the stop does not wait for us
        lock = self._hand_over()
        if lock is None:
            error = StoreBusy("the store is being closed here: try again")
            connection.send(wire.Answer(frame.id, wire.failure_of(error)))
            return False
        try:
            connection.send(wire.Answer(frame.id, None))
            connection.send_lock(lock.fileno())
        finally:
            lock.release()
        return False

    # --- stopping

    def stop(self) -> None:
        """Take no more requests, let those in hand be answered, and remove the socket."""
        with self._guard:
            if self._stopping:
                return
            self._stopping = True
        self._waker.send(b"x")
        self._thread.join()
        self._socket.close()
        self.path.unlink(missing_ok=True)
        self._end_connections()
        self._waker.close()
        self._wakened.close()

    def _end_connections(self) -> None:
        with self._guard:
            threads = dict(self._connections)
            idle = [connection for connection in threads if connection not in self._busy]
            looking_on = [*self._looking_on]
        for connection in idle:
            _shut(connection.sock, socket.SHUT_RD)
        for connection in looking_on:  # each closes its files, then its end
            _shut(connection.sock, socket.SHUT_WR)
        until = time.monotonic() + _GRACE_S
        for connection, thread in threads.items():
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():  # a client that does not read its reply, or a long request
                _shut(connection.sock, socket.SHUT_RDWR)
                thread.join()

    def drop_in_child(self) -> None:
        """In a forked child: close the parent's sockets here, or they would outlive it."""
        held = [self._socket, self._waker, self._wakened, *(c.sock for c in self._connections)]
        for sock in held:
            fd = sock.detach()
            if fd >= 0:
                os.close(fd)


def _listen(path: Path) -> socket.socket:
    """A listening socket at `path`. It gets its name last, so that nobody finds it unready."""
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(os.fspath(fresh))
        os.chmod(fresh, 0o600)
        listening.listen(128)
        fresh.replace(path)
    except OSError:
        listening.close()
        raise
    return listening


def _shut(sock: socket.socket, how: int) -> None:
    try:
        sock.shutdown(how)
    except OSError as error:  # it ended by itself meanwhile
        _log.debug("a connection had ended: %s", error)
