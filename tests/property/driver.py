"""The product as the law tests see it: the one place that knows how an engine is built and asked.

Everything else in these tests speaks requests, replies and events.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

from rewound.eventlog.bodies import BodyWriter, Place, keyed_digest
from rewound.eventlog.envelope import WORKER, Actor
from rewound.eventlog.ids import STORE, ContainerId, Kind, Ref
from rewound.eventlog.log import Draft, Head, Log, Recorded
from rewound.llm.hashing import HashingEmbedder
from rewound.memory import embedding, replies, requests, switching
from rewound.memory.deciding import Judge
from rewound.memory.embedding import EmbeddingDuty
from rewound.memory.switching import SwitchDuty
from tests.oracle.compare import canonical
from tests.oracle.fold import Dump, oracle, oracle_at
from tests.oracle.story import CountedIds, HandClock
from tests.property.purity import pure
from tests.property.ruled import dumped, listed

START_US = 1_750_000_000_000_000
MINUTE_US = 60_000_000
NAMES = ("alpha", "beta")
"""The containers that these tests play with."""

DIMENSIONS = 64
BOTH = (DIMENSIONS, 40)
"""Of the two models that a store changes between."""

BATCH = 5
STEPS_MAX = 100
"""Batches after which embedding has to have come to an end: these stores are small."""


def named(model: str) -> HashingEmbedder:
    """The model of a name."""
    return HashingEmbedder(int(model.split("/")[1]))


class Driver:
    """An engine over a log, with injected clock and ids; it can be closed, opened and copied.

    `durable` keeps the log in LMDB under `folder`; without it the log lives in memory and survives
    a restart of the engine only. With `meaning` texts have vectors, once `embed` was called, of a
    model of so many dimensions.
    """

    def __init__(
        self,
        folder: Path,
        *,
        durable: bool,
        guarded: bool = True,
        meaning: bool = False,
        dimensions: int = DIMENSIONS,
    ) -> None:
        self.folder = folder
        self.durable = durable
        self.embedder = HashingEmbedder(dimensions) if meaning else None
        self.guarded = guarded
        self.clock = HandClock(START_US)
        self.ids = CountedIds()
        self.log: Log
        self.engine: Any
        self._memory: Log | None = None
        self._views = 0
        self._worked_out: dict[tuple[str, str], tuple[object, Dump]] = {}
        self.open()

    # --- life

    def open(self) -> None:
        from rewound.memory.engine import Engine

        self.log = self._open_log()
        self.engine = Engine(
            self.log,
            self.folder / "views",
            clock=self.clock,
            ids=self.ids,
            embedder=self.embedder,
            reopen=lambda model, opening: named(model),
        )

    def _open_log(self) -> Log:
        if self.durable:
            from rewound.eventlog.lmdb_log import LmdbLog

            return LmdbLog(self.folder / "log", clock=self.clock, ids=self.ids)
        if self._memory is None:
            from rewound.eventlog.memory_log import MemoryLog

            self._memory = MemoryLog(clock=self.clock, ids=self.ids)
        return self._memory

    def close(self) -> None:
        self.engine.close()
        if self.durable:
            self.log.close()

    def reopen(self) -> None:
        self.close()
        self.open()

    def crash(self, folder: Path) -> None:
        """Go on with the files as they lie now, as after a kill; the old engine is let go of."""
        shutil.copytree(self.folder, folder)
        old, log = self.engine, self.log
        self.folder = folder
        self.open()
        for left in (old, log):
            with suppress(Exception):
                left.close()

    def adopt(self, name: str, container: ContainerId) -> None:
        """Make a container that was copied into the log known by its name, and fold it."""
        with self.log.writing() as writer:
            digest = keyed_digest(writer.key(STORE), b"container", name.encode())
            writer.file(STORE, digest, Ref(Kind.CONTAINER, container))
        self.reopen()

    # --- asking

    def call(self, request: requests.Request) -> Any:
        """The reply; raises RewoundError. Runs without clock, randomness and network."""
        with pure(self.guarded):
            return self.engine.call(request)

    def bytes_of(self, request: requests.Request, *, log: bool = True) -> bytes:
        """A reply as JSON, or the error's; what belongs to the moment of asking is left out, and
        without `log` the events that are told beside what stands."""
        from rewound.eventlog.errors import RewoundError

        try:
            reply = self.call(request)
        except RewoundError as error:
            return msgspec.json.encode([error.code, error.field, error.message])
        plain = without_moment(reply)
        if isinstance(reply, replies.Explained) and not log:
            del plain["steps"]
        return msgspec.json.encode(plain)

    def record(self, name: str, drafts: Sequence[Draft], actor: Actor = WORKER) -> list[Recorded]:
        """Append what a worker found out; raises RewoundError when it came too late."""
        with pure(self.guarded):
            return list(self.engine.record(name, drafts, actor=actor))

    def judge(self, verdict: Judge, actor: Actor = WORKER) -> list[Recorded]:
        """Append a verdict with what follows from it; raises as `record` does."""
        with pure(self.guarded):
            applied = self.engine.submit_record(verdict, actor=actor).result()
        return list(applied.recorded)

    def embed(self, steps: int = STEPS_MAX) -> None:
        """Give texts that wait their vectors: some batches, or all. Without `meaning`, nothing."""
        duty = EmbeddingDuty(self.engine)
        for _ in range(steps):
            with pure(self.guarded), mock.patch.object(embedding, "BATCH", BATCH):
                if duty.step() != 0.0:
                    return
        assert steps < STEPS_MAX, "embedding comes to no end"

    def kept(self) -> HashingEmbedder | None:
        """The model whose vectors are kept; it may not be the one that is set."""
        return None if self.embedder is None else named(self.engine.views.model)

    def change_model(self, *, back: bool = False) -> None:
        """Set another model, and begin to put its vectors in the place of those that are kept; or
        set the kept one again, which gives that up."""
        kept = self.kept()
        assert kept is not None
        self.embedder = kept if back else HashingEmbedder(sum(BOTH) - kept.dimensions)
        self.reopen()
        self.call(requests.Reembed())

    def switch(self, steps: int = STEPS_MAX) -> None:
        """Go on with that: some steps, or to the end. With no change under way, nothing."""
        duty = SwitchDuty(self.engine)
        for _ in range(steps):
            with (
                pure(self.guarded),
                mock.patch.object(embedding, "BATCH", BATCH),
                mock.patch.object(switching, "LOOKED_AT_MAX", 2 * BATCH),
            ):
                told = duty.step()
                duty.wait()
            if told is None:
                return
        assert steps < STEPS_MAX, "the switch comes to no end"

    def writer(self) -> BodyWriter:
        return BodyWriter(self.ids)

    # --- looking inside

    def container(self, name: str) -> ContainerId:
        from rewound.memory.deciding import container_named

        with self.log.reading() as reader:
            found = container_named(reader, name)
        if found is None:
            raise KeyError(name)
        return found

    def names(self) -> list[str]:
        """Those of `NAMES` that have a container."""
        from rewound.memory.deciding import container_named

        with self.log.reading() as reader:
            return [name for name in NAMES if container_named(reader, name) is not None]

    def now_us(self) -> int:
        """The now of a read: the clock may stand while recorded times rise."""
        with self.log.reading() as reader:
            return max(self.clock.at, reader.last_recorded_at())

    def events(self, name: str, after: int = 0) -> list[Recorded]:
        container = self.container(name)
        with self.log.reading() as reader:
            return list(reader.events(container, after))

    def bodies(self, name: str) -> "Bodies":
        return Bodies(self.log, self.container(name))

    def head(self, name: str) -> Head:
        container = self.container(name)
        with self.log.reading() as reader:
            return reader.head(container)

    def dump(self, name: str, at: int | None = None) -> Dump:
        """The rows open now, or at a position, from the live views."""
        container, events, bodies = self.container(name), self.events(name), self.bodies(name)
        with self.engine.reading() as snapshot:
            listed(snapshot)
            return dumped(snapshot.container(container), events, bodies, at)

    def oracle(self, name: str, *, by_tag: bool = False) -> Dump:
        """The rows that the events come to now."""
        return self._for_the_head(
            ("by tag" if by_tag else "now", name),
            lambda: oracle(self.events(name), self.bodies(name), by_tag=by_tag),
        )

    def oracle_at(self, name: str, position: int) -> Dump:
        """The rows that they came to at a position."""
        return self._for_the_head(
            (f"@{position}", name),
            lambda: oracle_at(self.events(name), self.bodies(name), position),
        )

    def _for_the_head(self, key: tuple[str, str], make: Callable[[], Dump]) -> Dump:
        """What the events of a container come to is worked out once while its chain stands."""
        _, name = key
        end = (self.container(name), self.head(name))
        known, dump = self._worked_out.get(key, (None, {}))
        if known != end:
            dump = canonical(make())
            self._worked_out[key] = (end, dump)
        return dump

    @contextmanager
    def beside(self) -> Iterator["Driver"]:
        """Another engine over the same log whose views are folded from scratch."""
        from rewound.memory.engine import Engine

        self._views += 1
        other = object.__new__(Driver)
        other.__dict__.update(self.__dict__)
        other.engine = Engine(
            self.log,
            self.folder / f"anew-{self._views}",
            clock=self.clock,
            ids=self.ids,
            embedder=self.kept(),
        )
        try:
            yield other
        finally:
            other.engine.close()


class Bodies:
    """The bodies of one container by place, read from the log each time."""

    def __init__(self, log: Log, container: ContainerId) -> None:
        self._log = log
        self._container = container
        self._seen: dict[Place, bytes | None] = {}

    def __call__(self, place: Place) -> bytes | None:
        if place not in self._seen:
            with self._log.reading() as reader:
                self._seen[place] = reader.body(self._container, place)
        return self._seen[place]


def without_moment(reply: replies.Reply) -> Any:
    """A reply as plain data, less what names the moment it was asked for."""
    plain = msgspec.to_builtins(reply)
    if isinstance(plain, dict):
        plain.pop("moment", None)
    return plain
