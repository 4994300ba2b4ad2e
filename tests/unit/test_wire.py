"""The socket's protocol: frames, limits, versions, and errors that arrive as themselves."""

import os
import socket
import struct
import threading
from collections.abc import Iterator
from typing import get_args

import msgspec
import pytest

from rewound.eventlog.envelope import WORKER
from rewound.eventlog.errors import (
    ERRORS_BY_CODE,
    Conflict,
    HasDependents,
    InvalidInput,
    RewoundError,
)
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory import wire

Ends = tuple[wire.Connection, wire.Connection]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = socket.socketpair()
    pair = (
        wire.Connection(ours, frame_bytes_max=100_000),
        wire.Connection(theirs, frame_bytes_max=100_000),
    )
    yield pair
    for end in pair:
        end.close()


def test_a_request_and_its_reply_come_through(ends: Ends) -> None:
    request = q.Search(query="wo wohnt Ana? \U0001f375", limit=3, filters=q.Filters(tags=("a",)))
    ends[0].send(wire.ask(7, request, 1.5, WORKER))
    asked = ends[1].receive()
    assert isinstance(asked, wire.Ask)
    assert (asked.id, asked.deadline_s, asked.actor) == (7, 1.5, WORKER)
    assert msgspec.msgpack.decode(asked.request, type=q.AnyRequest) == request
    reply = r.ContainerList(containers=(), total=0, has_more=False, cursor=None)
    ends[1].send(wire.answer(7, reply))
    assert ends[0].receive() == wire.Answer(7, reply)


@pytest.mark.parametrize("kind", get_args(r.AnyReply), ids=lambda kind: kind.__name__)
def test_every_reply_is_told_apart(kind: type[r.Reply]) -> None:
    assert kind.__struct_config__.tag == kind.__name__
    assert kind.__struct_config__.tag_field == "reply"


@pytest.mark.parametrize("code", ERRORS_BY_CODE)
def test_an_error_arrives_as_itself(ends: Ends, code: str) -> None:
    error = ERRORS_BY_CODE[code]("that is wrong", field="tags[0]", ids=("ev_1", "ev_2"))
    ends[1].send(wire.Answer(1, wire.failure_of(error)))
    answer = ends[0].receive()
    assert isinstance(answer, wire.Answer)
    with pytest.raises(RewoundError) as caught:
        wire.raised(answer.reply)
    assert type(caught.value) is type(error)
    assert vars(caught.value) == vars(error)


def test_an_unknown_code_is_an_error_still() -> None:
    with pytest.raises(RewoundError, match="later on"):
        wire.raised(r.Failure(code="invented_later", message="later on"))


def test_what_is_no_error_of_ours_is_named_and_not_quoted() -> None:
    failure = wire.failure_of(KeyError("a secret of Nina"))
    assert failure.code == "error"
    assert "KeyError" in failure.message
    assert "Nina" not in failure.message


def test_a_frame_over_the_limit_is_not_sent(ends: Ends) -> None:
    with pytest.raises(InvalidInput, match=r"0\.2 MB long, but at most 0\.1 MB"):
        ends[0].send(wire.ask(1, q.Search(query="x" * 200_000), None, WORKER))
    ends[0].send(wire.HandOver(2))
    assert ends[1].receive() == wire.HandOver(2)  # nothing of it was on the way


def test_a_frame_over_the_limit_is_read_away(ends: Ends) -> None:
    def send() -> None:
        ends[0].sock.sendall(struct.pack(">I", 1_000_000) + bytes(1_000_000))
        ends[0].send(wire.HandOver(2))

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(wire.Refused) as caught:
        ends[1].receive()
    assert "at most 0.1 MB" in caught.value.error.message
    assert ends[1].receive() == wire.HandOver(2)
    sender.join()


def test_a_length_that_is_none_ends_the_connection(ends: Ends) -> None:
    ends[0].sock.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(wire.PeerGone):
        ends[1].receive()


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x81\xa4type\xa4boom", b"GET / HTTP/1.1\r\n\r\n"])
def test_junk_is_refused(ends: Ends, junk: bytes) -> None:
    ends[0].sock.sendall(struct.pack(">I", len(junk)) + junk)
    with pytest.raises(wire.Refused):
        ends[1].receive()


@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\x05abc"])
def test_an_end_in_the_middle_is_told(ends: Ends, sent: bytes) -> None:
    ends[0].sock.sendall(sent)
    ends[0].close()
    with pytest.raises(wire.PeerGone):
        ends[1].receive()


def test_sending_to_nobody_is_told(ends: Ends) -> None:
    ends[1].close()
    with pytest.raises(wire.PeerGone):
        ends[0].send(wire.HandOver(1))


def test_a_lock_comes_through_as_the_same_open_file(ends: Ends) -> None:
    read, write = os.pipe()
    ends[0].send_lock(write)
    os.close(write)
    got = ends[1].receive_lock()
    assert not os.get_inheritable(got)
    os.write(got, b"here")
    assert os.read(read, 4) == b"here"
    os.close(got)
    os.close(read)


@pytest.mark.parametrize(
    ("protocol", "package", "fits"),
    [
        (wire.PROTOCOL, "0.3.9", True),
        (wire.PROTOCOL, "0.3.0.dev0", True),
        (wire.PROTOCOL, "0.4.0", False),
        (wire.PROTOCOL, "1.3.1", False),
        (wire.PROTOCOL + 1, "0.3.1", False),
    ],
)
def test_versions_are_compared(
    monkeypatch: pytest.MonkeyPatch, protocol: int, package: str, fits: bool
) -> None:
    monkeypatch.setattr(wire, "package_version", lambda: "0.3.1")
    theirs = wire.Hello(protocol, package, 4711)
    if fits:
        wire.check_hello(theirs, "the owner")
        return
    with pytest.raises(Conflict) as caught:
        wire.check_hello(theirs, "the owner")
    for word in ("4711", package, "0.3.1", "stop the older one"):
        assert word in caught.value.message


def test_a_hello_of_a_later_version_can_be_read() -> None:
    """For ever: the map may grow, its three names stay."""
    raw = msgspec.msgpack.encode(
        {"type": "hello", "protocol": 9, "package": "7.1", "pid": 3, "new": [1]}
    )
    assert msgspec.msgpack.decode(raw, type=wire.Frame) == wire.Hello(9, "7.1", 3)


def test_the_same_user_is_let_in(ends: Ends) -> None:
    wire.check_peer(ends[0].sock)


def test_another_user_is_kept_out(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(RewoundError, match="for user 12345 only"):
        wire.check_peer(ends[0].sock)


def test_dependents_keep_their_ids() -> None:
    with pytest.raises(HasDependents) as caught:
        wire.raised(wire.failure_of(HasDependents("they stand on it", ids=("ev_a",))))
    assert caught.value.ids == ("ev_a",)
