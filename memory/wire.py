"""The protocol of a store's socket: length-prefixed msgpack frames, one request at a time.

    client                       owner
    Hello(protocol, package)  →
                              ←  Hello, or a Failure when the versions do not fit
    Ask(id, request, …)       →
                              ←  Heard(id, …)          of a question: each part of its answer
                              ←  Answer(id, reply)     the reply may be a Failure
    HandOver(id)              →
                              ←  Answer(id, None), then one byte that carries the owner lock
    LookOn(id)                →
                              ←  Answer(id, None), then, whenever files or nodes were replaced:
                              ←  Renew(number, nodes)
    Renewed(number)           →

A frame is a 4-byte big-endian length and one msgpack map. `Hello` must stay readable for ever: it
is what two versions that have nothing else in common say to each other.
"""

import os
import socket
import struct
from contextlib import suppress
from typing import cast

import msgspec

from rewound.eventlog.envelope import PERSON, Actor
from rewound.eventlog.errors import (
    ERRORS_BY_CODE,
    Conflict,
    InvalidInput,
    ReadOnly,
    RewoundError,
)
from rewound.llm.nodes import Enlisted
from rewound.memory.release import VERSION
from rewound.memory.replies import (
    AnswerPart,
    AnyReply,
    Failure,
    Reply,
    Sentence,
    SourcesGiven,
    WithheldSentence,
)
from rewound.memory.requests import Request

PROTOCOL = 1
FRAME_BYTES_MAX = 64 * 1024 * 1024
_LENGTH = struct.Struct(">I")
_DRAINED_FRAMES_MAX = 16  # an oversized frame is read away up to this many times the limit


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """Who speaks: the protocol and package versions, and the process for people."""

    protocol: int
    package: str
    pid: int = 0


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """A request; `deadline_s` is how many seconds the client still waits, None for ever."""

    id: int
    request: msgspec.Raw
    deadline_s: float | None = None
    actor: Actor = PERSON


class Heard(msgspec.Struct, frozen=True, tag="heard", omit_defaults=True):
    """A part of the answer to request `id`: one of these."""

    id: int
    sources: SourcesGiven | None = None
    sentence: Sentence | None = None
    withheld: WithheldSentence | None = None


class HandOver(msgspec.Struct, frozen=True, tag="hand over"):
    """The client wants to own the store from now on."""

    id: int


class LookOn(msgspec.Struct, frozen=True, tag="look on"):
    """The client will read the store's files itself, as long as this connection lasts."""

    id: int


class Renew(msgspec.Struct, frozen=True, tag="renew"):
    """To an onlooker: let go of what was read before, open the files that are there now, and send
    work to these `nodes` (None: to those of its settings)."""

    number: int
    nodes: tuple[Enlisted, ...] | None = None


class Renewed(msgspec.Struct, frozen=True, tag="renewed"):
    """It has."""

    number: int


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """What became of request `id`; no reply for a hand-over or a looking on that was granted."""

    id: int
    reply: AnyReply | None


Frame = Hello | Ask | Heard | HandOver | LookOn | Renew | Renewed | Answer

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Frame).decode


class PeerGone(ConnectionError):
    """The other side closed the connection, or died, before a whole frame had come."""


class Refused(Exception):
    """A frame that cannot be taken, with the error to answer; the connection is still in step."""

    def __init__(self, error: RewoundError) -> None:
        super().__init__(error.message)
        self.error = error


def package_version() -> str:
    return VERSION


class Connection:
    """One end of a socket that speaks frames."""

    def __init__(self, sock: socket.socket, *, frame_bytes_max: int = FRAME_BYTES_MAX) -> None:
        self.sock = sock
        self._frame_bytes_max = frame_bytes_max

    def send(self, frame: Frame) -> None:
        """Raises InvalidInput, with nothing sent, when the frame is over the limit."""
        payload = _encode(frame)
        if len(payload) > self._frame_bytes_max:
            raise over_limit("this", len(payload), self._frame_bytes_max)
        try:
            self.sock.sendall(_LENGTH.pack(len(payload)))
            self.sock.sendall(payload)
        except (BrokenPipeError, ConnectionError) as error:
            raise PeerGone(str(error)) from error

    def receive(self) -> Frame:
        """The next frame. Raises PeerGone at its end, Refused for a frame it cannot take."""
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
        if length > self._frame_bytes_max:
            self._drain(length)
            raise Refused(over_limit("this", length, self._frame_bytes_max))
        payload = self._exactly(length)
        try:
            return _decode(payload)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise Refused(InvalidInput(f"not a frame of this protocol: {error}")) from error

    def send_lock(self, fd: int) -> None:
        socket.send_fds(self.sock, [b"L"], [fd])

    def receive_lock(self) -> int:
        """The file descriptor of the lock that the owner gave away."""
        data, fds, _, _ = socket.recv_fds(self.sock, 1, 1)
        if not data or not fds:
            raise PeerGone("the owner left while handing over")
        os.set_inheritable(fds[0], False)
        return fds[0]

    def end(self) -> None:
        """Whoever waits here for a frame gets PeerGone; the other side notices nothing yet."""
        with suppress(OSError):  # it has ended by itself
            self.sock.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        self.sock.close()

    def _exactly(self, size: int) -> bytearray:
        buffer = bytearray(size)
        view = memoryview(buffer)
        while view:
            try:
                got = self.sock.recv_into(view)
            except ConnectionError as error:
                raise PeerGone(str(error)) from error
            if not got:
                raise PeerGone("the connection was closed")
            view = view[got:]
        return buffer

    def _drain(self, length: int) -> None:
        """Read a frame away, so that the answer to it can be read by who is still sending it."""
        if length > self._frame_bytes_max * _DRAINED_FRAMES_MAX:
            raise PeerGone("the frame is far too long to be one")
        chunk = min(length, 1 << 20)
        while length:
            length -= len(self._exactly(min(chunk, length)))


def over_limit(what: str, size: int, limit: int) -> InvalidInput:
    return InvalidInput(
        f"{what} is {size / 1e6:.1f} MB long, but at most {limit / 1e6:.1f} MB go through the "
        "store's socket at once: send or ask for less at a time"
    )


def check_peer(sock: socket.socket) -> None:
    """Refuse a peer that runs as another user. Raises ReadOnly."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return  # not Linux: the runtime folder, closed to others, is the guard
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, option, size))
    if uid != os.getuid():
        raise ReadOnly(f"the store's socket is for user {os.getuid()} only, not for user {uid}")


def hello() -> Hello:
    return Hello(PROTOCOL, package_version(), os.getpid())


def check_hello(theirs: Hello, who: str) -> None:
    """Raises Conflict, saying what to do, when the other side's version does not fit ours."""
    ours = hello()
    if theirs.protocol == ours.protocol and _series(theirs.package) == _series(ours.package):
        return
    raise Conflict(
        f"{who} (process {theirs.pid}) runs rewound {theirs.package} with socket protocol "
        f"{theirs.protocol}, this is rewound {ours.package} with protocol {ours.protocol}: stop "
        "the older one and start it again after the upgrade"
    )


def _series(package: str) -> list[str]:
    """Before 1.0 requests may change with each minor version, later with each major one."""
    parts = package.split(".")
    return parts[:2] if parts[0] == "0" else parts[:1]


def failure_of(error: BaseException) -> Failure:
    """An error as it crosses the socket. What is no RewoundError is named, never quoted."""
    if isinstance(error, RewoundError):
        return Failure(code=error.code, message=error.message, field=error.field, ids=error.ids)
    name = type(error).__name__
    return Failure(
        code=RewoundError.code,
        message=f"the store met an error it did not expect ({name}); its log has the details",
    )


def raised(reply: Reply | None) -> Reply:
    """The reply, unless it is a failure: that is raised as the error it was on the other side."""
    if isinstance(reply, Failure):
        error = ERRORS_BY_CODE.get(reply.code, RewoundError)
        raise error(reply.message, field=reply.field, ids=reply.ids)
    assert reply is not None, "an answer without a reply"
    return reply


def ask(number: int, request: Request, deadline_s: float | None, actor: Actor) -> Ask:
    return Ask(number, msgspec.Raw(_encode(request)), deadline_s, actor)


def heard(number: int, part: AnswerPart) -> Heard:
    match part:
        case SourcesGiven():
            return Heard(number, sources=part)
        case Sentence():
            return Heard(number, sentence=part)
        case WithheldSentence():
            return Heard(number, withheld=part)


def part_of(frame: Heard) -> AnswerPart | None:
    """The part that a frame holds; None of one that holds nothing we know."""
    return frame.sources or frame.sentence or frame.withheld


def answer(number: int, reply: Reply) -> Answer:
    return Answer(number, cast("AnyReply", reply))
