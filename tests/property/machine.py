"""The state machine: random commands on two containers, and the laws after each step.

One machine runs the laws that every step must keep; the costly ones (a copy of the store at an
earlier position, a rebuild, files after compaction) come at the end of each run.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rewound.eventlog.envelope import PERSON, WORKER
from rewound.eventlog.errors import Conflict, InvalidInput, NotFound, RewoundError
from rewound.memory import replies, requests
from tests.property import checks, meanings, working, world
from tests.property.choices import Drawn
from tests.property.driver import MINUTE_US, NAMES, Driver
from tests.property.world import Known, Moment

REFUSALS = (Conflict, InvalidInput, NotFound)
"""What a random command may be refused with; anything else is a fault of the product."""

COMMANDS = st.sampled_from(
    [maker for weight, maker in world.MAKERS for _ in range(weight) if maker is not world.undo]
)


class Laws(RuleBasedStateMachine):
    """Commands through an engine; `durable` picks the log in LMDB instead of memory, `meaning` an
    engine that gives texts vectors."""

    durable = False
    meaning = False

    def __init__(self) -> None:
        super().__init__()
        shm = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(dir=shm if shm.is_dir() else None))
        self.driver = Driver(self.folder / "store", durable=self.durable, meaning=self.meaning)
        self.known = {name: Known(name) for name in NAMES}
        self.kept = checks.Kept()
        self.changed = True
        self.steps = 0

    @initialize()
    def begin(self) -> None:
        for name in NAMES:
            self.ask(requests.Configure(container=name, zone="UTC"))

    # --- steps

    def ask(self, request: requests.Write) -> Any:
        """The reply, or None when refused. Nothing of the other container may change."""
        others = [name for name in NAMES if name != request.container]
        watch = self.steps % 4 == 3 and not isinstance(request, requests.Configure)
        elsewhere = [checks.Elsewhere(self.driver, name) for name in others if watch]
        self.steps += 1
        try:
            reply = self.driver.call(request)
        except REFUSALS as error:
            assert error.message and isinstance(error, RewoundError)
            reply = None
        for other in elsewhere:
            other.check()
        if reply is not None:
            self.known[request.container].learn(reply)
            if isinstance(reply, replies.Written):
                checks.honesty_law(request, reply, self.driver)
        self.changed = True
        return reply

    def moment(self) -> Moment:
        return Moment(self.driver.clock.at)

    @rule(data=st.data(), maker=COMMANDS, name=st.sampled_from(NAMES))
    def command(self, data: st.DataObject, maker: world.Maker, name: str) -> None:
        request = maker(Drawn(data), self.known[name], self.moment())
        if request is not None:
            self.ask(request)

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def undo(self, data: st.DataObject, name: str) -> None:
        request = world.undo(Drawn(data), self.known[name], self.moment())
        if request is not None:
            before = checks.BeforeUndo(self.driver, name)
            reply = self.ask(request)
            if reply is not None:
                before.check(reply)

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def undo_and_back(self, data: st.DataObject, name: str) -> None:
        request = world.undo(Drawn(data), self.known[name], self.moment())
        if isinstance(request, requests.Undo):
            try:
                checks.undo_twice_law(self.driver, name, request.id)
            except REFUSALS:
                pass  # already undone, or not to be undone
            self.changed = True

    @rule(data=st.data(), job=st.sampled_from(working.JOBS), name=st.sampled_from(NAMES))
    def work(self, data: st.DataObject, job: working.Job, name: str) -> None:
        self._work(data, job, name, WORKER)

    @rule(data=st.data(), name=st.sampled_from(NAMES))
    def label(self, data: st.DataObject, name: str) -> None:
        self._work(data, working.label, name, PERSON)

    def _work(self, data: st.DataObject, job: working.Job, name: str, actor: Any) -> None:
        drafts = job(Drawn(data), working.Desk(self.driver, name))
        if drafts:
            try:
                recorded = self.driver.record(name, drafts, actor)
            except REFUSALS:
                return  # what it is about was forgotten or taken back meanwhile
            self.known[name].events += [checks.event_name(r) for r in recorded]
            self.changed = True

    @rule(minutes=st.integers(1, 3))
    def pass_time(self, minutes: int) -> None:
        self.driver.clock.at += minutes * MINUTE_US

    @rule()
    def restart(self) -> None:
        before = [self.driver.dump(name) for name in NAMES]
        self.driver.reopen()
        after = [self.driver.dump(name) for name in NAMES]
        assert before == after, "durability: a restart changed rows"

    # --- laws after each step

    @invariant()
    @precondition(lambda self: self.changed)
    def live_views_equal_the_oracle(self) -> None:
        for name in NAMES:
            if name in self.driver.names():
                checks.replay_law(self.driver, name, anew=False)
                self.kept.look(self.driver, name)
        self.changed = False

    # --- laws at the end of a run

    def teardown(self) -> None:
        try:
            self._last_checks()
        finally:
            self.driver.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _last_checks(self) -> None:
        driver = self.driver
        if self.meaning:
            for name in driver.names():
                meanings.meaning_law(driver, name)
            driver.embed()
            for name in driver.names():
                meanings.meaning_law(driver, name, drained=True)
        for name in driver.names():
            checks.replay_law(driver, name)
            checks.jobs_law(driver, name)
            checks.reads_law(driver, name)
            checks.counts_law(driver, name)
            position = 1 + self.steps * 7 % driver.head(name).position
            checks.reads_law(driver, name, position=position)
            checks.forget_law(driver, name, [position])
            checks.forgetting_law(driver, name)
            folder = self.folder / f"copy-{name}"
            copy = Driver(folder, durable=False, meaning=self.meaning)
            try:
                checks.time_law(driver, name, position, copy)
            finally:
                copy.close()
            checks.clock_law(driver, name, position)
            checks.rebuilt_past_law(driver, name, position)
            if self.durable:
                checks.erase_law(driver, name, self.kept)
        if len(driver.names()) == 2:
            checks.stranger_law(driver, *driver.names())
            checks.rebuild_law(driver, NAMES[0])
        checks.chain_law(driver)


class DurableLaws(Laws):
    durable = True


class MeaningLaws(Laws):
    """Texts get their vectors now and then, a few at a time."""

    meaning = True

    @rule(batches=st.integers(1, 4))
    def embed(self, batches: int) -> None:
        self.driver.embed(batches)
        self.changed = True

    @invariant()
    def vectors_are_of_the_texts(self) -> None:
        for name in self.driver.names():
            meanings.text_law(self.driver, name)


class DurableMeaningLaws(MeaningLaws):
    durable = True
