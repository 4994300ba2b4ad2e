"""The state machine: random commands on two containers, and the laws after each step.

One machine runs the laws that every step must keep; the costly ones (a copy of the store at an
earlier position, a rebuild, files after compaction) come at the end of each run.
"""

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from rewound.eventlog.envelope import PERSON
from rewound.eventlog.errors import Conflict, InvalidInput, NotFound, RewoundError
from rewound.eventlog.log import Recorded
from rewound.memory import replies, requests
from tests.property import chains, checks, judging, meanings, recents, ruling, working, world
from tests.property.choices import Choices, Drawn, Seeded, one
from tests.property.desk import Desk
from tests.property.driver import DIMENSIONS, MINUTE_US, NAMES, Driver
from tests.property.world import Known, Moment
from tests.scratch import IN_MEMORY

REFUSALS = (Conflict, InvalidInput, NotFound)
"""What a random command may be refused with; anything else is a fault of the product."""

COMMANDS = [maker for weight, maker in world.MAKERS for _ in range(weight) if maker != world.undo]
BEGINNINGS = (world.remember, world.remember, world.add_messages, world.ingest)

ACTS = {
    "command": 8,
    "undo": 3,
    "undo_and_back": 1,
    "work": 4,
    "judge": 4,
    "label": 2,
    "label_wildly": 1,
    "fit": 1,
}
"""What a step may be, and how often it is."""
WHEEL = [act for act, weight in ACTS.items() for _ in range(weight)]
AT_ONCE = 4


class Laws(RuleBasedStateMachine):
    """Commands through an engine; `durable` picks the log in LMDB instead of memory, `meaning` an
    engine that gives texts vectors."""

    durable = False
    meaning = False

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.driver = Driver(self.folder / "store", durable=self.durable, meaning=self.meaning)
        self.known = {name: Known(name) for name in NAMES}
        self.kept = checks.Kept()
        self.changed = True
        self.steps = 0

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        """Both containers hold something before anything is drawn."""
        c = Seeded(seed)
        for name in NAMES:
            self.ask(requests.Configure(container=name, zone="UTC"))
        for name in NAMES:
            for _ in range(c.below(5)):
                self.ask(one(c, BEGINNINGS)(c, self.known[name], self.moment()))

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

    @rule(data=st.data(), act=st.sampled_from(WHEEL), name=st.sampled_from(NAMES))
    def step(self, data: st.DataObject, act: str, name: str) -> None:
        getattr(self, act)(Drawn(data), name)

    @rule(seed=st.integers(0, 1 << 32), name=st.sampled_from(NAMES))
    def several(self, seed: int, name: str) -> None:
        """Steps of one seed: more varied than single draws are."""
        c = Seeded(seed)
        for _ in range(AT_ONCE):
            getattr(self, one(c, WHEEL))(c, name)

    def command(self, c: Choices, name: str) -> None:
        request = one(c, COMMANDS)(c, self.known[name], self.moment())
        if request is not None:
            self.ask(request)

    def undo(self, c: Choices, name: str) -> None:
        request = world.undo(c, self.known[name], self.moment())
        if request is not None:
            before = checks.BeforeUndo(self.driver, name)
            reply = self.ask(request)
            if reply is not None:
                before.check(reply)

    def undo_and_back(self, c: Choices, name: str) -> None:
        request = world.undo(c, self.known[name], self.moment())
        if isinstance(request, requests.Undo):
            try:
                checks.undo_twice_law(self.driver, name, request.id)
            except REFUSALS:
                pass  # already undone, or not to be undone
            self.changed = True

    def work(self, c: Choices, name: str) -> None:
        drafts = one(c, working.JOBS)(c, Desk(self.driver, name))
        if drafts:
            self._append(name, lambda: self.driver.record(name, drafts))

    def judge(self, c: Choices, name: str) -> None:
        verdict = ruling.judge(c, Desk(self.driver, name))
        if verdict is not None:
            self._append(name, lambda: self.driver.judge(verdict))

    def label(self, c: Choices, name: str) -> None:
        request = ruling.label(c, Desk(self.driver, name))
        if request is not None:
            self.ask(request)

    def label_wildly(self, c: Choices, name: str) -> None:
        drafts = judging.label(c, Desk(self.driver, name))
        if drafts:
            self._append(name, lambda: self.driver.record(name, drafts, PERSON))

    def fit(self, c: Choices, name: str) -> None:
        found = ruling.fit(c, Desk(self.driver, name))
        if found is not None:
            policy, turned = found
            self._append(name, lambda: self.driver.record(name, [policy], PERSON))
            for verdict in turned:
                self._append(name, partial(self.driver.judge, verdict, PERSON))

    def _append(self, name: str, append: Callable[[], list[Recorded]]) -> None:
        try:
            recorded = append()
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
                chains.held_up_law(self.driver, name)
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
            driver.switch()
            driver.embed()
            for name in driver.names():
                meanings.meaning_law(driver, name, drained=True)
        for name in driver.names():
            checks.replay_law(driver, name)
            checks.jobs_law(driver, name)
            checks.reads_law(driver, name)
            checks.counts_law(driver, name)
            recents.recent_law(driver, name)
            recents.due_law(driver, name)
            chains.chain_law(driver, name)
            chains.standing_law(driver, name)
            chains.reviews_law(driver, name)
            position = 1 + self.steps * 7 % driver.head(name).position
            checks.reads_law(driver, name, position=position)
            recents.recent_law(driver, name, position)
            chains.chain_law(driver, name, position)
            chains.reviews_law(driver, name, position)
            checks.forget_law(driver, name, [position])
            checks.forgetting_law(driver, name)
            folder = self.folder / f"copy-{name}"
            model = driver.kept()
            dimensions = DIMENSIONS if model is None else model.dimensions
            copy = Driver(folder, durable=False, meaning=self.meaning, dimensions=dimensions)
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
    """Texts get their vectors now and then, a few at a time, and of one model after the other."""

    meaning = True

    @rule(batches=st.integers(1, 4))
    def embed(self, batches: int) -> None:
        self.driver.embed(batches)
        self.changed = True

    @rule(back=st.booleans(), steps=st.integers(0, 6))
    def change_model(self, back: bool, steps: int) -> None:
        self.driver.change_model(back=back)
        self.driver.switch(steps)
        self.changed = True

    @rule(steps=st.integers(1, 30))
    def switch(self, steps: int) -> None:
        self.driver.switch(steps)
        self.changed = True

    @invariant()
    def vectors_are_of_the_texts(self) -> None:
        for name in self.driver.names():
            meanings.text_law(self.driver, name)


class DurableMeaningLaws(MeaningLaws):
    durable = True
