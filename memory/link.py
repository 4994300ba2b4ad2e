"""A link to a store: this process owns it, or reaches the owner by socket, whichever it can.

Whoever gets the owner lock opens the store and serves the others. When an owner ends, hands over or
is killed, its clients ask again under their idempotency key, and one of them takes the lock. A
caller sees nothing of it but the time it takes.
"""

from __future__ import annotations

import atexit
import logging
import os
import secrets
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

import msgspec

from rewound.eventlog.clock import Clock, SystemClock
from rewound.eventlog.envelope import PERSON, Actor
from rewound.eventlog.errors import RewoundError, StoreBusy
from rewound.eventlog.ids import IdSource, UuidV7Source
from rewound.llm.native_runs import RUNS
from rewound.memory import requests as q
from rewound.memory import wire
from rewound.memory.client import LATE_S, Client, connect
from rewound.memory.hearing import Told, asker_here
from rewound.memory.host import Host
from rewound.memory.inbox import Closed
from rewound.memory.inputs import merged, sift
from rewound.memory.lock import OwnerLock, described, holder
from rewound.memory.models import Models
from rewound.memory.place import Layout, open_layout
from rewound.memory.replies import Reply

if TYPE_CHECKING:
    from rewound.memory.store import Store

WAIT_S = 30.0
FACTS = "drawing facts"
VERDICTS = "judging facts"
"""The duties that `settle` waits for (in modules that a mere client does not import)."""

_PAUSE_S = (0.005, 0.1)  # between two tries to find an owner: at first, and at most
_GREETING_S = 5.0  # an owner that lives says hello at once
_BYTES_PER_S = 100_000  # a request of that size may take a second longer
_ASKERS = 16  # threads that wait for the owner's answers to what was submitted

_log = logging.getLogger(__name__)
_LINKS: weakref.WeakSet[Link] = weakref.WeakSet()
_ABANDONED: list[object] = []
"""What a forked child inherited from its parent: kept, so that nothing of it closes by itself."""

R = TypeVar("R", bound=q.Request)


class Link:
    """A link to the store in a data folder. Safe for any number of threads, and after a fork.

    `models` are what this process works with while it owns the store, by default what the
    environment says (REWOUND_EMBEDDER, REWOUND_EXTRACTOR, REWOUND_THREADS).
    `wait_s` is how long a call looks for somebody who answers before it gives up with StoreBusy;
    while this process owns the store, also how long a read waits for a position (`at_least`).
    A link that may not own (`may_own`) only ever asks an owner.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        *,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        models: Models | None = None,
        wait_s: float = WAIT_S,
        frame_bytes_max: int = wire.FRAME_BYTES_MAX,
        may_own: bool = True,
    ) -> None:
        self.layout: Layout = open_layout(data)
        self._clock = clock or SystemClock()
        self._ids = ids or UuidV7Source(self._clock)
        self._models = models or Models.from_environment(os.environ)
        self._wait_s = wait_s
        self._frame_bytes_max = frame_bytes_max
        self._may_own = may_own
        self._closed = False
        self._begin()
        _LINKS.add(self)

    def _begin(self) -> None:
        """What belongs to this process alone; a forked child begins anew."""
        self._pid = os.getpid()
        self._guard = threading.RLock()
        self._store: Store | None = None
        self._host: Host | None = None
        self._lock: OwnerLock | None = None
        self._idle: list[Client] = []
        self._askers = ThreadPoolExecutor(_ASKERS, thread_name_prefix="rewound-asking")

    # --- asking

    def call(self, request: q.Request, actor: Actor = PERSON) -> Reply:
        """The reply to any request. Raises RewoundError; StoreBusy when nobody answers, or when an
        owner ends in the middle of an answer that is told in parts."""
        request, refused = sift(request)
        tries = _Tries(self)
        told = Told()
        while True:
            try:
                store = self._owned(tries)
                if store is not None:
                    return merged(store.engine.call(request, actor), refused)
                request = _keyed(request)
                with told.hearing():
                    return merged(self._ask(request, actor, tries), refused)
            except Closed:
                pass  # handed over, or closed: the next round tells which
            except wire.PeerGone as gone:
                tries.gone = gone
            if asker_here().gone:
                raise StoreBusy("whoever asked this has gone") from None
            if told.any:
                raise StoreBusy("the owner of the store ended while it answered: ask again")
            tries.pause()

    def submit(self, request: q.Write, actor: Actor = PERSON) -> Future[Reply]:
        """A command whose reply is waited for elsewhere (an event loop): it never waits itself.

        Raises RewoundError for what is seen at once, StoreBusy when too many commands wait; what
        comes later is the future's. A command that was taken in cannot be cancelled.
        """
        store = self._store if self._pid == os.getpid() else None
        if store is not None:
            try:
                return store.engine.submit(request, actor)
            except Closed:
                pass  # handed over, or closed, and not taken in: a call finds out which
        try:
            return self._askers.submit(self.call, request, actor)
        except RuntimeError:
            raise StoreBusy("this memory is closed: open it anew") from None

    def take_over(self) -> None:
        """Own the store in this process, asking the present owner to hand it over if need be."""
        tries = _Tries(self)
        while self._owned(tries) is None:
            try:
                client = self._connect(tries)
                try:
                    lock = client.hand_over(self.layout.lock, tries.left_s())
                finally:
                    client.close()
                with self._guard:
                    self._open(lock)
            except wire.PeerGone as gone:
                tries.gone = gone
                tries.pause()

    def look_on(self) -> wire.Connection:
        """A connection to the owner that lets this process read the store's files.

        Raises PeerGone when nobody owns the store, or the owner lets nobody; Conflict, ReadOnly.
        """
        client = self._connect(_Tries(self))
        try:
            return client.look_on()
        except BaseException:
            client.close()
            raise

    def settle(self, timeout_s: float) -> bool:
        """Wait until facts are drawn from all that was sent and compared with those before them,
        while this process owns the store.

        False when they are not by then. With an owner elsewhere nothing is waited for: it goes on
        by itself.
        """
        store = self._store if self._pid == os.getpid() else None
        return store is None or store.workers.run_until_idle(timeout_s, only=(FACTS, VERDICTS))

    @property
    def owns(self) -> bool:
        """Whether this process owns the store now."""
        return self._store is not None and self._pid == os.getpid()

    # --- owning

    def _owned(self, tries: _Tries) -> Store | None:
        """The store, opened if nobody else has it; None when somebody has."""
        if self._pid != os.getpid():
            self.begin_in_child()
        with self._guard:
            if self._closed:
                raise StoreBusy("this memory is closed: open it anew")
            if self._store is None and self._may_own and not (self._idle and tries.first):
                lock = OwnerLock.take(self.layout.lock)
                if lock is not None:
                    self._open(lock)
            return self._store

    def _open(self, lock: OwnerLock) -> None:
        """Open the store whose lock we hold, and serve it."""
        from rewound.memory.store import Store  # brings LMDB and numpy: not for mere clients

        with ExitStack() as opened:
            opened.callback(lock.release)
            store = Store(
                self.layout,
                clock=self._clock,
                ids=self._ids,
                models=self._models,
                wait_s=self._wait_s,
            )
            opened.callback(store.close)
            host = self._serve(store)
            if host is not None:
                opened.callback(host.stop)
            lock.tell(host.path if host is not None else None)
            opened.pop_all()
        self._store, self._host, self._lock = store, host, lock
        self._drop_clients()

    def _serve(self, store: Store) -> Host | None:
        """Let other processes in; where there is no place for a socket, we work alone."""
        try:
            path, call = self.layout.socket(), store.engine.call
            return Host(
                path, call, self._surrender, onlookers=store.engine.onlookers,
                frame_bytes_max=self._frame_bytes_max,
            )  # fmt: skip
        except (OSError, RewoundError) as error:
            _log.warning("no other process can reach the store while this one has it: %s", error)
            return None

    def _surrender(self) -> OwnerLock | None:
        """Stop owning; the lock, still held, goes to whoever asked for the store."""
        with self._guard:
            store, host, lock = self._store, self._host, self._lock
            self._store = self._host = self._lock = None
        if store is None or lock is None:
            return None
        try:
            store.engine.hurry()
            if host is not None:
                host.stop()
            store.close()
        except BaseException:
            lock.release()
            raise
        return lock

    def close(self) -> None:
        """Finish what is under way and let go of the store. Idempotent."""
        if self._pid != os.getpid():
            self.begin_in_child()
        with self._guard:
            self._closed = True
            self._drop_clients()
        self._askers.shutdown()  # what was submitted is answered, or fails with StoreBusy
        lock = self._surrender()
        if lock is not None:
            lock.release()

    # --- asking the owner

    def _ask(self, request: q.Request, actor: Actor, tries: _Tries) -> Reply:
        client = self._client(tries)
        try:
            deadline_s = _deadline_s(request, self._wait_s)
            return client.ask(request, actor, deadline_s, LATE_S + _answering_s(request))
        except wire.PeerGone as gone:
            with self._guard:
                self._drop_clients()  # of the same owner
            if isinstance(request, q.Replay) and request.to is not None:
                raise StoreBusy(
                    "the owner of the store ended before it answered: look what lies in "
                    f"{request.to} before you ask again"
                ) from gone
            raise
        finally:
            with self._guard:
                if client.broken or self._closed or self._store is not None:
                    client.close()
                else:
                    self._idle.append(client)

    def _client(self, tries: _Tries) -> Client:
        with self._guard:
            if self._idle:
                return self._idle.pop()
        return self._connect(tries)

    def _connect(self, tries: _Tries) -> Client:
        told = holder(self.layout.lock)
        paths = [told.socket] if told is not None and told.socket is not None else []
        return connect(
            [*paths, self.layout.socket()],
            frame_bytes_max=self._frame_bytes_max,
            timeout_s=min(_GREETING_S, tries.left_s()),
        )

    def _drop_clients(self) -> None:
        idle, self._idle = self._idle, []
        for client in idle:
            client.close()

    # --- forks

    def begin_in_child(self) -> None:
        """In a forked child: the store stays the parent's, and we are its client."""
        if self._store is not None:
            self._store.drop_in_child()
        _ABANDONED.append((self._store, self._host, self._lock, self._guard, self._askers))
        if self._host is not None:
            self._host.drop_in_child()
        if self._lock is not None:
            self._lock.release()
        self._drop_clients()
        self._begin()


class _Tries:
    """How often and how long one call has looked for somebody who answers."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._until = time.monotonic() + link._wait_s
        self._pause_s = _PAUSE_S[0]
        self.first = True
        self.gone: Exception | None = None

    def left_s(self) -> float:
        return max(0.1, self._until - time.monotonic())

    def pause(self) -> None:
        """Wait a little, longer each time. Raises StoreBusy when it has been too long."""
        if time.monotonic() >= self._until:
            layout = self._link.layout
            raise StoreBusy(
                f"{described(layout.lock)} holds the store in {layout.data}, but did not answer "
                f"within {self._link._wait_s:g} seconds ({self.gone}): try again, or end that "
                "process"
            ) from self.gone
        if not self.first:
            time.sleep(self._pause_s)
            self._pause_s = min(self._pause_s * 2, _PAUSE_S[1])
        self.first = False


def _keyed(request: R) -> R:
    """A write gets an idempotency key before it crosses the socket: the owner may die."""
    if not isinstance(request, q.Write) or request.key is not None:
        return request
    return msgspec.structs.replace(request, key=f"auto-{secrets.token_hex(16)}")


def _deadline_s(request: q.Request, wait_s: float) -> float | None:
    """How long a reply may take; None for work on the whole store, which takes what it takes."""
    if isinstance(request, q.Write):
        if isinstance(request, q.Erase) and request.wait:
            return None
        size = sum(len(text) for text in _texts(request))
        return wait_s + size / _BYTES_PER_S
    return wait_s if isinstance(request, q.Read) else None


def _answering_s(request: q.Request) -> float:
    """How long an answerer may take beside the read that it is part of."""
    if not isinstance(request, q.Inquire):
        return 0.0
    return request.timeout_s or q.ANSWER_TIMEOUT_S_MAX  # the owner's setting is not known here


def _texts(request: q.Write) -> list[str]:
    match request:
        case q.Remember(facts=facts):
            return [fact.text for fact in facts]
        case q.Ingest(documents=documents):
            return [document.text for document in documents]
        case q.AddMessages(messages=messages):
            return [message.content for message in messages]
    return []


def _after_fork() -> None:
    for link in list(_LINKS):
        link.begin_in_child()


def _at_exit() -> None:
    for link in list(_LINKS):
        link.close()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
RUNS.closed_by(_at_exit)  # a model's library ends earlier than this module would
