"""Laws 1 and 2 for the views alone: random logs, wilder than commands write, against the oracle.

No engine and no decider takes part: events are appended to a log, folded in slices of random size,
and every row at every position must be what the oracle says.
"""

import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

pytest.importorskip("rewound.projections.views")
pytest.importorskip("rewound.eventlog.memory_log")

from rewound.eventlog.memory_log import MemoryLog
from rewound.projections.views import Views
from tests.conftest import SOAK
from tests.oracle.compare import canonical, same
from tests.oracle.fold import Dump
from tests.oracle.story import CONTAINER, CountedIds, HandClock, Story
from tests.property.choices import Choices, Drawn, Seeded, chance
from tests.property.inventing import Inventor
from tests.property.ruled import dumped, listed
from tests.scratch import IN_MEMORY

EVENTS_MAX = 30
EXAMPLES = 150
LOGS = 20_000 if SOAK == "long" else 100
"""Random logs of the soak."""


class Folded:
    """Views over a log in memory that a story is poured into, in a folder that goes with them."""

    def __init__(self, clock: HandClock, story: Story) -> None:
        self.story = story
        self.folder = Path(tempfile.mkdtemp(dir=IN_MEMORY))
        self.log = MemoryLog(clock=clock, ids=CountedIds())
        self.views = Views(self.folder / "live", self.log)

    def dump(self, at: int | None = None) -> Dump:
        with self.views.reading() as snapshot:
            listed(snapshot)
            return dumped(snapshot.container(CONTAINER), self.story.events, self.story.kept.get, at)

    def anew(self) -> Dump:
        """The same dump from views folded from scratch in one go."""
        views = Views(self.folder / "anew", self.log)
        try:
            views.catch_up()
            with views.reading() as snapshot:
                listed(snapshot)
                return dumped(snapshot.container(CONTAINER), self.story.events, self.story.kept.get)
        finally:
            views.close()

    def close(self) -> None:
        self.views.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def judge(c: Choices, count: int, *, told: bool = True) -> None:
    """Invent a log, fold it as it grows, and compare every position."""
    inventor = Inventor(c)
    for _ in range(count):
        inventor.step()
    if chance(c, 20):
        inventor.erase()
    story = inventor.story
    for recorded in story.events if told else ():
        note(f"{recorded.position} {recorded.event} {recorded.envelope.causes}")
    agree(story, lambda: chance(c, 40))


def agree(story: Story, pause: Callable[[], bool]) -> None:
    """Fold a story as it grows, catching up after an event when `pause` says so."""
    clock = HandClock()
    folded = Folded(clock, story)
    try:
        for _ in story.pour(folded.log, clock):
            if pause():
                folded.views.catch_up()
        folded.views.catch_up()
        same(folded.dump(), canonical(story.dump()), "replay: live views against the oracle")
        for at in range(1, story.next):
            same(folded.dump(at), canonical(story.dump_at(at)), f"time: rows at @{at}")
        same(folded.anew(), folded.dump(), "replay: views from scratch against live ones")
    finally:
        folded.close()


@given(seed=st.integers(0, 1 << 32), count=st.integers(1, EVENTS_MAX))
@settings(max_examples=EXAMPLES)
def test_rows_at_every_position_are_the_oracles(seed: int, count: int) -> None:
    """A seed gives logs more varied than single draws do, and still shrinks by length."""
    judge(Seeded(seed), count)


@given(data=st.data())
@settings(max_examples=EXAMPLES // 5)
def test_rows_of_logs_that_hypothesis_draws(data: st.DataObject) -> None:
    judge(Drawn(data), data.draw(st.integers(1, EVENTS_MAX)))


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_rows_of_many_random_logs() -> None:
    """Fresh logs in every run; the seed of a failure is in its note."""
    first = random.SystemRandom().randrange(1 << 40) if SOAK == "long" else 0
    print(f"seeds {first} to {first + LOGS - 1}")
    for seed in range(first, first + LOGS):
        try:
            judge(Seeded(seed), 1 + seed % EVENTS_MAX, told=False)
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
