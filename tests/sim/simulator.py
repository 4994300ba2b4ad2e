"""A seeded simulator: thousands of commands on a durable store, with crashes at named points.

One `random.Random(seed)` decides everything. A crash leaves the files as they lie; the store is
opened from a copy of them, the command is sent again under its idempotency key, and what was
acknowledged must be there exactly once.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rewound.eventlog import failpoints
from rewound.eventlog.errors import Conflict, InvalidInput, NotFound, RewoundError
from rewound.eventlog.events import ContentErased, Forgotten
from rewound.memory import replies, requests
from tests.oracle.compare import same
from tests.property import checks, working, world
from tests.property.choices import Seeded, one
from tests.property.driver import NAMES, Driver
from tests.property.world import Known, Moment

REFUSALS = (Conflict, InvalidInput, NotFound)
ALWAYS_PASSED = (
    failpoints.LOG.before_commit,
    failpoints.LOG.after_commit,
    failpoints.LOG_BETWEEN_TABLES,
    failpoints.VIEWS.before_commit,
    failpoints.VIEWS.after_commit,
    failpoints.LOG.before_rename,
    failpoints.LOG.after_rename,
)
"""Points that any long run comes by; the rest lie on rarer paths."""


class Promise(msgspec.Struct):
    """An acknowledged command, its answer and how much it appended."""

    request: requests.Write
    reply: bytes


def all_refused(reply: Any) -> bool:
    return isinstance(reply, replies.Written) and reply.refused == len(reply.items)


def without_words(reply: bytes) -> Any:
    """A reply less what a person wrote; a compaction may be over by the second answer."""

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            left = value.keys() - {"text", "caller_id", "compaction"}
            return {name: stripped(value[name]) for name in left}
        return [stripped(part) for part in value] if isinstance(value, list) else value

    return stripped(msgspec.json.decode(reply))


class Simulator:
    """A store under a long random load."""

    def __init__(self, folder: Path, seed: int, *, crash_every: int = 10) -> None:
        self.folder = folder
        self.choices = Seeded(seed)
        self.driver = Driver(folder / "store-0", durable=True, guarded=False)
        self.known: dict[str, Known] = {name: Known(name) for name in NAMES}
        self.promises: list[Promise] = []
        self.heads: dict[str, int] = dict.fromkeys(NAMES, 0)
        self.tries = dict.fromkeys(failpoints.NAMES, 0)
        self.crashes = dict.fromkeys(failpoints.NAMES, 0)
        self.armed = ""
        self.crash_every = crash_every
        self.commands = 0
        for name in NAMES:
            self.command(requests.Configure(container=name, key=f"begin-{name}"))

    # --- one step

    def step(self) -> None:
        name = one(self.choices, NAMES)
        self.driver.clock.at += self.choices.below(20_000_000)
        if self.choices.below(5 if self.heads[name] < 500 else 25) == 0:
            self.work(name)  # which looks at the whole log each time
            return
        moment = Moment(self.driver.clock.at)
        request = world.command(self.choices, self.known[name], moment)
        key = f"key-{self.commands}"
        self.command(msgspec.structs.replace(request, key=key))

    def work(self, name: str) -> None:
        job = one(self.choices, working.JOBS)
        drafts = job(self.choices, working.Desk(self.driver, name))
        if not drafts:
            return
        try:
            recorded = self.driver.record(name, drafts)
        except REFUSALS:
            return  # what it is about was forgotten or taken back meanwhile
        except failpoints.Crash:
            self.recover()
            self.agree_often()
            recorded = self.driver.events(name)[self.heads[name] :]
            assert len(recorded) in (0, len(drafts)), "a worker's group was torn"
        self.heads[name] = self.driver.head(name).position
        self.known[name].events += [checks.event_name(r) for r in recorded[:1]]

    def command(self, request: requests.Write) -> None:
        """Send a command, through a crash perhaps, and keep what was promised."""
        if self.commands % self.crash_every == self.crash_every - 1:
            self.arm_next()
        self.commands += 1
        try:
            reply = self.ask(request)
        except failpoints.Crash:
            self.recover()
            reply = self.ask(request)
            self.agree_often()
        self.keep(request, reply)

    def arm_next(self) -> None:
        """Arm the point tried least often, in place of one that nothing passed by meanwhile."""
        failpoints.disarm()
        self.armed = min(self.tries, key=lambda name: self.tries[name])
        self.tries[self.armed] += 1
        failpoints.arm(self.armed, hit=1 + self.choices.below(3))

    def ask(self, request: requests.Write) -> Any:
        try:
            return self.driver.call(request)
        except REFUSALS as error:
            return error

    def recover(self) -> None:
        failpoints.disarm()
        self.crashes[self.armed] += 1
        self.driver.crash(self.folder / f"store-{sum(self.crashes.values())}")

    def keep(self, request: requests.Write, reply: Any) -> None:
        name = request.container
        head = self.driver.head(name).position
        if isinstance(reply, RewoundError):
            assert head == self.heads[name], f"a refused command appended: {request}"
            return
        dry = getattr(request, "dry_run", False) or all_refused(reply)
        assert (head == self.heads[name]) == dry, f"{request} appended {head - self.heads[name]}"
        assert reply.position == head, f"the reply says {reply.position}, the log {head}"
        self.once(request, reply)
        self.heads[name] = head
        self.known[name].learn(reply)
        if not dry:
            self.promises.append(Promise(request, msgspec.json.encode(reply)))

    def once(self, request: requests.Write, reply: Any) -> None:
        """All that the command appended is one group: it was done once."""
        events = self.driver.events(request.container, self.heads[request.container])
        groups = {r.envelope.group for r in events}
        assert len(groups) <= 1, f"{request} was done {len(groups)} times"

    # --- checks

    def agree_often(self) -> None:
        """After each crash while the log is short, then after every eighth."""
        crashes = sum(self.crashes.values())
        if crashes <= 60 or crashes % 8 == 0:
            self.agree()

    def agree(self) -> None:
        """Log and views agree, the log is whole, and old promises hold."""
        for name in self.driver.names():
            same(
                self.driver.dump(name),
                self.driver.oracle(name, by_tag=True),
                "durability: views against the oracle",
            )
        checks.chain_law(self.driver)
        for _ in range(min(5, len(self.promises))):
            self.repeat(one(self.choices, self.promises))

    def repeat(self, promise: Promise) -> None:
        """The same key and request give the same answer and append nothing.

        After a forgetting or an erasure in the container what a person wrote may be missing from
        the answer. After an erasure a write of new things is refused besides: whether it is the
        same can no longer be told.
        """
        name = promise.request.container
        before = self.driver.head(name)
        try:
            again = msgspec.json.encode(self.driver.call(promise.request))
        except Conflict as error:
            assert self.erased(name) and error.field == "key", error
            return
        same_answer = again == promise.reply or (
            self.withheld(name) and without_words(again) == without_words(promise.reply)
        )
        assert same_answer, f"another answer to {promise.request}: {again!r}"
        assert self.driver.head(name) == before, f"a repeated key appended: {promise.request}"

    def withheld(self, name: str) -> bool:
        hiding = (Forgotten, ContentErased)
        return any(isinstance(r.event, hiding) for r in self.driver.events(name))

    def erased(self, name: str) -> bool:
        return any(isinstance(r.event, ContentErased) for r in self.driver.events(name))

    def run(self, commands: int) -> None:
        for _ in range(commands):
            self.step()
            if self.commands % 500 == 0:
                self.agree()
        self.driver.reopen()
        self.agree()
        for name in self.driver.names():
            events = self.driver.events(name)
            assert [r.position for r in events] == list(range(1, len(events) + 1))
        missing = [name for name in ALWAYS_PASSED if not self.crashes[name]]
        assert commands < 1000 or not missing, f"never crashed at {missing}"

    def close(self) -> None:
        failpoints.disarm()
        with suppress(RewoundError):
            self.driver.close()
