"""Law 2 for searches by meaning: the past as it is asked about, and as it is built again.

Random histories of one store; its own `replay` builds the views of a moment from the log.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.errors import Conflict, InvalidInput, NotFound
from rewound.eventlog.instants import show_us
from rewound.memory import answering, requests
from rewound.projections import ranking
from rewound.projections.replay import cut, replay
from rewound.projections.vectors import Query, query_of
from rewound.projections.views import Views
from tests.property import world
from tests.property.choices import Seeded
from tests.property.driver import Driver, without_moment
from tests.property.meanings import NO_WORDS
from tests.property.world import Known, Moment
from tests.scratch import IN_MEMORY

NAME = "alpha"
QUERIES = (NO_WORDS, "Ann likes teaq0", "townq4")
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"include_superseded": True},
    {"include_forgotten": True},
    {"valid_at": "2024-05-01T00:00:00Z"},
)
STEPS = 30


def history(driver: Driver, seed: int) -> None:
    """Random commands in one container, with some batches of embedding between them."""
    choices, known = Seeded(seed), Known(NAME)
    driver.call(requests.Configure(container=NAME, zone="UTC"))
    for _ in range(STEPS):
        command = world.command(choices, known, Moment(driver.clock.at))
        try:
            known.learn(driver.call(command))
        except (Conflict, InvalidInput, NotFound):
            continue
        if choices.below(3) == 0:
            driver.embed(1)
        driver.clock.at += 1_000_000
    driver.embed()


@contextmanager
def told(folder: Path, seed: int) -> Iterator[Driver]:
    driver = Driver(folder / "store", durable=False, meaning=True)
    try:
        history(driver, seed)
        yield driver
    finally:
        driver.close()


def query(driver: Driver, text: str) -> Query:
    assert driver.embedder is not None
    return query_of(driver.embedder.embed([text])[0], driver.embedder.name)


def answer(driver: Driver, asked: requests.Search, snapshot: Any, log: Any) -> bytes:
    """A reply from one snapshot, the query's vector included."""
    asking = answering.Asking(
        log,
        snapshot,
        driver.now_us(),
        NAME,
        driver.container(NAME),
        meaning=query(driver, asked.query),
    )
    return msgspec.json.encode(without_moment(answering.load()[requests.Search](asked, asking)))


def differences(driver: Driver, at_us: int) -> list[str]:
    """Searches that the store built anew answers otherwise than the live one asked about then."""
    found = []
    assert driver.embedder is not None
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder:
        views = Views(Path(folder), driver.log, model=driver.embedder.name)
        try:
            made = replay(views, driver.log, at_us)
            with driver.engine.reading() as live:
                log = cut(views, live.log, made)
                with views.reading(log) as then:
                    for text in QUERIES:
                        for more in ASKED:
                            asked = requests.Search(
                                container=NAME, query=text, as_of=show_us(at_us), limit=50, **more
                            )
                            old = answer(driver, asked, live, live.log)
                            if old != answer(driver, asked, then, log):
                                found.append(f"{text} {more} at {show_us(at_us)}: {old!r}")
        finally:
            views.close()
    return found


@pytest.mark.parametrize("sieved", [False, True], ids=["exact", "sieve"])
@pytest.mark.parametrize("seed", range(4))
def test_the_past_is_ranked_as_a_store_built_anew_ranks_it(
    tmp_path: Path, seed: int, sieved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sieved:
        monkeypatch.setattr(ranking, "SIEVE_FROM", 3)
        monkeypatch.setattr(ranking, "SIEVE_KEPT", 2)
    with told(tmp_path, seed) as driver:
        events = driver.events(NAME)
        for recorded in events[:: max(1, len(events) // 5)]:
            assert not differences(driver, recorded.envelope.recorded_at)
        found = driver.call(requests.Search(container=NAME, query=NO_WORDS))
        assert found.hits and "meaning" in found.hits[0].signals, "nothing was found by meaning"


@pytest.mark.parametrize("seed", [7, 8])
def test_replay_itself_finds_that_they_agree(tmp_path: Path, seed: int) -> None:
    with told(tmp_path, seed) as driver:
        for recorded in driver.events(NAME)[5::9]:
            at = show_us(recorded.envelope.recorded_at)
            replayed = driver.call(requests.Replay(container=NAME, at=at, verify=True))
            assert replayed.agrees, replayed.differences


def test_replay_looks_at_what_meaning_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ranking by meaning that hangs on today would be told."""
    whole = ranking.previous

    def lopsided(columns: Any, counted: Any) -> Any:
        """Numbers the entries by how many there are today."""
        found = whole(columns, counted)
        return found if columns.n % 2 else found[::-1].copy()

    with told(tmp_path, 9) as driver:
        events = driver.events(NAME)
        moments = [recorded.envelope.recorded_at for recorded in events[5::3]]
        monkeypatch.setattr(ranking, "previous", lopsided)
        monkeypatch.setattr(ranking, "BEFORE_WORDS", 0.0)
        replays = [
            driver.call(requests.Replay(container=NAME, at=show_us(at), verify=True))
            for at in moments
        ]
        assert not all(replayed.agrees for replayed in replays)
