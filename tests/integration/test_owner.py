"""One owner, many processes: sockets, hand-overs, kills, forks and long paths."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rewound.eventlog.envelope import Actor
from rewound.eventlog.errors import Conflict, InvalidInput, RewoundError, StoreBusy
from rewound.eventlog.events import HeadsSealed
from rewound.eventlog.ids import UuidV7Source
from rewound.eventlog.lmdb_log import LmdbLog
from rewound.memory import deciding, wire
from rewound.memory import requests as q
from rewound.memory.client import connect
from rewound.memory.host import Host
from rewound.memory.library import Memory
from rewound.memory.link import Link
from rewound.memory.lock import OwnerLock, holder
from rewound.memory.place import Layout, open_layout
from rewound.memory.replies import Figures, Page, Reply, Written
from tests import loaded
from tests.integration.given import HandClock, deciders, fact
from tests.integration.test_dispatching import eventually

ROOT = Path(__file__).resolve().parents[2]


class Other:
    """Another process with a handle on the store."""

    def __init__(self, data: Path, **environment: str) -> None:
        command = [sys.executable, "-m", "tests.integration.worker", str(data)]
        self.process = loaded.Popen[str](
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**os.environ, **environment},
        )  # fmt: skip
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def send(self, *order: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, order)) + "\n")
        self.process.stdin.flush()

    def ask(self, *order: object) -> str:
        self.send(*order)
        return self.line()

    def lines(self) -> list[str]:
        """All that is still to come; the process ends."""
        return self.process.communicate()[0].splitlines()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


Start = Callable[..., Other]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def start(data: Path) -> Iterator[Start]:
    started: list[Other] = []

    def begin(**environment: str) -> Other:
        started.append(Other(data, **environment))
        return started[-1]

    yield begin
    for other in started:
        other.kill()


@pytest.fixture
def memory(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr(deciding, "load", deciders)
    with Memory(data) as opened:
        yield opened


def write(memory: Memory | Link, text: str) -> int:
    reply = memory.call(fact(text))
    assert isinstance(reply, Written)
    return reply.position


def texts(memory: Memory | Link) -> list[str]:
    page = memory.call(q.List(limit=1000))
    assert isinstance(page, Page)
    return sorted(item.text for item in page.items)


# --- reaching the owner


def test_two_processes_share_a_store(start: Start, memory: Memory) -> None:
    other = start()
    assert other.ask("write", "one") == "2"
    assert write(memory, "two") == 3
    assert not memory.link.owns
    assert other.ask("write", "three") == "4"
    assert texts(memory) == ["one", "three", "two"]
    assert other.ask("list") == "one three two"
    told = holder(memory.link.layout.lock)
    assert told is not None
    assert told.pid == other.process.pid


def test_errors_come_through_as_themselves(start: Start, memory: Memory) -> None:
    assert start().ask("write", "one") == "2"
    with pytest.raises(Conflict, match="told to refuse"):
        write(memory, "refuse")
    with pytest.raises(RewoundError, match=r"did not expect \(Bug\)") as caught:
        write(memory, "stumble")
    assert "told to stumble" not in caught.value.message
    with pytest.raises(InvalidInput) as wrong:
        memory.call(q.Get(id="nonsense"))
    assert wrong.value.field == "id"
    assert write(memory, "two") == 3


def test_a_closed_owner_is_followed_at_once(start: Start, memory: Memory) -> None:
    other = start()
    other.ask("write", "one")
    write(memory, "two")
    assert other.ask("close") == "closed"
    assert write(memory, "three") > 3  # the heads were sealed in another container
    assert memory.link.owns
    assert other.ask("write", "four").startswith("StoreBusy: this memory is closed")
    assert texts(memory) == ["one", "three", "two"]


def test_two_handles_in_one_process(data: Path, memory: Memory) -> None:
    write(memory, "one")
    with Memory(data) as second:
        assert write(second, "two") == 3
        assert not second.link.owns
        memory.close()
        assert write(second, "three") == 4
        assert second.link.owns
    with pytest.raises(StoreBusy, match="closed"):
        write(memory, "four")


def test_long_paths_are_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "load", deciders)
    deep = tmp_path.joinpath(*["d" * 200] * 8)
    other = Other(deep)
    try:
        assert other.ask("write", "one") == "2"
        with Memory(deep) as memory:
            assert write(memory, "two") == 3
            assert not memory.link.owns
    finally:
        other.kill()


def test_the_owner_is_found_in_another_runtime_folder(
    start: Start, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as one, tempfile.TemporaryDirectory() as two:
        other = start(XDG_RUNTIME_DIR=one)
        other.ask("write", "one")
        monkeypatch.setenv("XDG_RUNTIME_DIR", two)
        assert write(memory, "two") == 3
        assert not memory.link.owns
        other.kill()


def test_another_version_is_told_what_to_do(
    start: Start, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = start()
    other.ask("write", "one")
    monkeypatch.setattr(wire, "package_version", lambda: "99.1.0")
    with pytest.raises(Conflict, match=r"99\.1\.0.*stop the older one"):
        write(memory, "two")
    monkeypatch.undo()
    assert other.ask("write", "three") == "3"


def test_what_is_too_long_for_the_socket_is_told_so(start: Start, data: Path) -> None:
    other = start()
    other.ask("write", "one")
    link = Link(data, frame_bytes_max=10_000)
    ingest = q.Ingest(documents=(q.NewDocument(text="x" * 20_000),))
    with pytest.raises(InvalidInput, match=r"at most 0\.0 MB go through"):
        link.call(ingest)
    assert texts(link) == ["one"]
    link.close()


def test_an_owner_that_hangs_is_named(start: Start, data: Path) -> None:
    other = start()
    other.ask("write", "one")
    os.kill(other.process.pid, signal.SIGSTOP)
    link = Link(data, wait_s=0.2)
    try:
        begun = time.monotonic()
        with pytest.raises(StoreBusy, match=f"process {other.process.pid}.* holds the store"):
            link.call(q.Stats())
        assert time.monotonic() - begun < 30
    finally:
        os.kill(other.process.pid, signal.SIGCONT)
        link.close()
    link = Link(data)
    assert isinstance(link.call(q.Stats()), Figures)
    link.close()


# --- handing over


def test_the_store_is_handed_over_and_back(start: Start, memory: Memory) -> None:
    other = start()
    other.ask("write", "one")
    memory.own()
    assert memory.link.owns
    assert other.ask("owns") == "no"
    assert other.ask("write", "two") == "3"
    assert other.ask("own") == "yes"
    assert not memory.link.owns
    assert write(memory, "three") == 4
    assert texts(memory) == ["one", "three", "two"]


def test_a_hand_over_loses_nothing_under_load(start: Start, memory: Memory) -> None:
    others = [start(), start()]
    for number, other in enumerate(others):
        other.send("load", f"load{number}", 60)
    with ThreadPoolExecutor(4) as threads:
        ours = [threads.submit(write, memory, f"ours-{number}") for number in range(60)]
        for _ in range(4):
            memory.own()
            second = Link(memory.link.layout.data)
            second.take_over()
            assert isinstance(second.call(q.Stats()), Figures)
            second.close()
        assert len({each.result(60) for each in ours}) == 60
    for other in others:
        while other.line() != "loaded":
            pass
    wanted = [f"{name}-{number}" for name in ("load0", "load1", "ours") for number in range(60)]
    assert texts(memory) == sorted(wanted)


# --- dying


def test_the_owner_dies_and_is_followed(start: Start, memory: Memory) -> None:
    other = start()
    other.ask("write", "one")
    write(memory, "two")
    other.kill()
    assert write(memory, "three") == 4
    assert memory.link.owns
    assert texts(memory) == ["one", "three", "two"]


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(3))
def test_owners_die_under_load_and_nothing_is_lost(
    start: Start, memory: Memory, round_: int
) -> None:
    owner = start()
    owner.ask("write", "first")
    clients = [start() for _ in range(3)]
    said: list[list[str]] = [[] for _ in clients]
    acknowledged = threading.Semaphore(0)

    def listen(number: int) -> None:
        while (line := clients[number].line()) not in ("", "loaded"):
            said[number].append(line)
            acknowledged.release()

    def heirs() -> list[Other]:
        told = holder(memory.link.layout.lock)
        return [each for each in clients if told is not None and each.process.pid == told.pid]

    for number, client in enumerate(clients):
        client.send("load", f"load{number}", 80)
    threads = [threading.Thread(target=listen, args=(n,)) for n in range(len(clients))]
    for thread in threads:
        thread.start()
    for _ in range(20 + 40 * round_):
        assert acknowledged.acquire(timeout=60)
    owner.kill()
    eventually(lambda: heirs() != [])
    (heir,) = heirs()
    heir.process.kill()
    for thread in threads:
        thread.join(120)
    kept = texts(memory)
    assert len(kept) == len(set(kept)), "something was written twice"
    for number, client in enumerate(clients):
        texts_told = {line.split()[0] for line in said[number] if line.startswith("load")}
        assert texts_told <= set(kept), "something acknowledged is lost"
        if client is not heir:
            assert len(texts_told) == 80, said[number][-3:]


def test_a_socket_left_by_a_dead_owner_is_replaced(start: Start, memory: Memory) -> None:
    other = start()
    other.ask("write", "one")
    path = memory.link.layout.socket()
    assert path.exists()
    other.kill()
    assert path.exists()
    write(memory, "two")
    assert not list(path.parent.glob(f"{path.stem}.[0-9]*"))
    third = start()
    assert third.ask("write", "three") == "4"
    assert third.ask("owns") == "no"


def test_a_process_that_ends_without_a_word_still_seals(start: Start, data: Path) -> None:
    other = start()
    other.ask("write", "one")
    other.lines()  # its input ends, and it with it
    assert other.process.returncode == 0
    clock = HandClock()
    log = LmdbLog(data / "log", clock, UuidV7Source(clock), readonly=True)
    with log.reading() as reader:
        *_, (_, last) = reader.all_events()
    assert isinstance(last.event, HeadsSealed)
    log.close()


# --- forks


def test_a_forked_child_is_a_client_of_its_parent(start: Start) -> None:
    other = start()
    assert other.ask("write", "one") == "2"
    assert other.ask("fork", "two") == "no 3 no 4 yes"
    assert other.ask("fork", "three") == "no 5 no 6 yes"
    assert other.ask("list") == "child-three child-two one parent-three parent-two"


def test_a_child_does_not_hold_what_its_dead_parent_owned(start: Start, memory: Memory) -> None:
    other = start()
    assert other.ask("write", "one") == "2"
    child = int(other.ask("child"))
    try:
        other.process.kill()
        other.process.wait()
        assert write(memory, "two") == 3
        assert memory.link.owns
        assert other.ask("write", "three") == "4"
        assert other.ask("owns") == "no"
        memory.close()
        assert other.ask("write", "four") == "5"
        assert other.ask("owns") == "yes"
    finally:
        os.kill(child, signal.SIGKILL)


# --- the host by itself


def _reply(request: q.AnyRequest, actor: Actor, deadline_s: float | None) -> Reply:
    return Written(container=request.container, group=None, position=1, items=())


@pytest.fixture
def sockets() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_a_host_serves_only_so_many(sockets: Path) -> None:
    host = Host(sockets / "a.sock", _reply, lambda: None, connections_max=2)
    clients = [connect([host.path], frame_bytes_max=10_000) for _ in range(2)]
    with pytest.raises(wire.PeerGone, match="2 programs are connected already"):
        connect([host.path], frame_bytes_max=10_000)
    clients[0].close()
    until = time.monotonic() + 60
    while True:
        try:
            again = connect([host.path], frame_bytes_max=10_000)
            break
        except wire.PeerGone:
            assert time.monotonic() < until
    assert isinstance(again.ask(q.Stats(), Actor(), 1.0), Written)
    with pytest.raises(wire.PeerGone, match="being closed"):
        again.hand_over(sockets / "no.lock", 10.0)
    host.stop()
    host.stop()
    assert not host.path.exists()
    with pytest.raises(wire.PeerGone):
        clients[1].ask(q.Stats(), Actor(), 1.0)
    for client in (clients[1], again):
        client.close()


def test_a_stop_lets_what_is_in_hand_be_answered(sockets: Path) -> None:
    asked, answer = threading.Event(), threading.Event()

    def slow(request: q.AnyRequest, actor: Actor, deadline_s: float | None) -> Reply:
        asked.set()
        answer.wait(30)
        return _reply(request, actor, deadline_s)

    host = Host(sockets / "a.sock", slow, lambda: None)
    client = connect([host.path], frame_bytes_max=10_000)
    with ThreadPoolExecutor(2) as threads:
        waiting = threads.submit(client.ask, q.Stats(), Actor(), 30.0)
        asked.wait(30)
        stopping = threads.submit(host.stop)
        time.sleep(0.05)
        assert not stopping.done()
        answer.set()
        assert isinstance(waiting.result(30), Written)
        stopping.result(30)
    client.close()


def test_a_stranger_gets_no_answer_that_hurts(sockets: Path) -> None:
    host = Host(sockets / "a.sock", _reply, lambda: None, frame_bytes_max=1_000)
    for junk in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"\0\0\0\1\xc1",
        b"\0\0\0\0",
        b"\0\0\x10\0" + b"x" * 4096,
    ):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stranger:
            stranger.settimeout(10)
            stranger.connect(str(host.path))
            stranger.sendall(junk)
            stranger.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while stranger.recv(4096):
                    pass
    client = connect([host.path], frame_bytes_max=1_000)
    with pytest.raises(InvalidInput, match="most"):
        client.ask(q.Search(query="x" * 5_000), Actor(), 1.0)
    assert isinstance(client.ask(q.Stats(), Actor(), 1.0), Written)
    client.close()
    host.stop()


def test_a_reply_over_the_limit_is_told_so(sockets: Path) -> None:
    def large(request: q.AnyRequest, actor: Actor, deadline_s: float | None) -> Reply:
        notes = ("x" * 5_000,)
        return Written(container="a", group=None, position=1, items=(), notes=notes)

    host = Host(sockets / "a.sock", large, lambda: None, frame_bytes_max=1_000)
    client = connect([host.path], frame_bytes_max=1_000)
    with pytest.raises(InvalidInput, match="ask for less"):
        client.ask(q.Stats(), Actor(), 1.0)
    client.close()
    host.stop()


def test_the_lock_is_free_after_an_open_that_failed(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = open_layout(data)
    layout.log.write_text("not a folder")
    link = Link(data)
    for _ in range(2):
        with pytest.raises((RewoundError, OSError)):
            link.call(q.Stats())
    lock = OwnerLock.take(layout.lock)
    assert lock is not None
    lock.release()
    link.close()


def test_without_a_place_for_a_socket_the_owner_works_alone(
    data: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(self: Layout) -> Path:
        raise InvalidInput("no folder for sockets")

    monkeypatch.setattr(Layout, "socket", nowhere)
    assert write(memory, "one") == 2
    assert texts(memory) == ["one"]
    monkeypatch.undo()
    second = Link(data, wait_s=0.1)
    with pytest.raises(StoreBusy, match=f"process {os.getpid()}"):
        second.call(q.Stats())
    second.close()
