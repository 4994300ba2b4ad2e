"""Same store, same query, same order and scores: in every process, after a rebuild, in the past.

Compared are whole explained replies, so that not one feature of one hit may differ.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.instants import show_us
from rewound.llm.hashing import HashingEmbedder
from rewound.memory import Memory, answering, requests
from rewound.memory import replies as r
from rewound.projections.replay import cut, replay
from rewound.projections.vectors import query_of
from rewound.projections.views import Views
from tests import loaded
from tests.integration.recalling import ASKED, QUERIES, Said, answers, fill, opened, shown
from tests.unit.given import START_US, HandClock

ROOT = Path(__file__).parents[2]


class Filled:
    """A closed store, the clock at its end, and what it answered when it was written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = HandClock(START_US)
        with opened(folder, self.clock) as memory:
            self.said: Said = fill(memory, self.clock)
            self.answers = plain(answers(memory))


def plain(found: dict[str, Any]) -> dict[str, Any]:
    """As it comes out of another process."""
    read: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(found))
    return read


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    return Filled(tmp_path_factory.mktemp("same") / "store")


@pytest.fixture
def memory(filled: Filled, tmp_path: Path) -> Iterator[Memory]:
    """A copy, to be written to."""
    shutil.copytree(filled.folder, tmp_path / "store")
    with opened(tmp_path / "store", filled.clock) as copied:
        copied.own()
        yield copied


def elsewhere(folder: Path, clock: HandClock, **settings: str) -> dict[str, Any]:
    """What another process answers."""
    words = [sys.executable, "-m", "tests.integration.recalling", str(folder), str(clock.at)]
    env = {**os.environ, **settings}
    done = loaded.run(words, cwd=ROOT, env=env, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = msgspec.json.decode(done.stdout)
    return found


def same(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert found.keys() == wanted.keys()
    for name, reply in wanted.items():
        assert found[name] == reply, name


def test_the_store_holds_what_a_ranking_looks_at(filled: Filled) -> None:
    """Else the tests below would compare little."""
    hits = [hit for reply in filled.answers.values() for hit in reply["hits"]]
    assert {hit["kind"] for hit in hits} == {"fact", "message", "passage"}
    assert all("meaning" in reply["hits"][0]["signals"] for reply in filled.answers.values())
    seen: dict[str, set[float]] = {}
    for hit in hits:
        for feature in hit["explanation"]["features"]:
            seen.setdefault(feature["name"], set()).add(feature["value"])
    still = {name for name, values in seen.items() if len(values) == 1}
    assert not still, "features that are the same for all"
    assert any(hit["explanation"].get("further") for hit in hits), "units of several entries"


@pytest.mark.parametrize(("hashes", "threads"), [("0", "1"), ("1234", "2")])
def test_another_process_answers_the_same(filled: Filled, hashes: str, threads: str) -> None:
    settings = {"PYTHONHASHSEED": hashes, "OPENBLAS_NUM_THREADS": threads}
    same(elsewhere(filled.folder, filled.clock, **settings), filled.answers)


def test_a_process_that_asks_the_owner_is_told_the_same(
    filled: Filled, memory: Memory, tmp_path: Path
) -> None:
    """The clock of the owner counts."""
    assert memory.link._store is not None, "it is the owner"
    same(elsewhere(tmp_path / "store", HandClock(START_US)), filled.answers)


def test_opened_again_it_answers_the_same(memory: Memory, filled: Filled) -> None:
    same(plain(answers(memory)), filled.answers)
    same(plain(answers(memory)), filled.answers)


def test_rebuilt_it_answers_the_same(memory: Memory, filled: Filled) -> None:
    rebuilt = memory.rebuild()
    assert rebuilt.equal and rebuilt.events > 30
    same(plain(answers(memory)), filled.answers)


def test_views_folded_from_nothing_answer_the_same(filled: Filled, tmp_path: Path) -> None:
    shutil.copytree(filled.folder, tmp_path / "store")
    shutil.rmtree(tmp_path / "store" / "views")
    with opened(tmp_path / "store", filled.clock) as memory:
        memory.own()
        memory.workers("wait")
        same(plain(answers(memory)), filled.answers)


def test_the_first_hits_are_the_same_for_every_limit(memory: Memory) -> None:
    """Place by place the same score and signals. Which of those that say the same leads a hit may
    hang on the limit: a fact that repeats its source may come too late to lead it."""
    for text in ("Nina works at Orbit Labs", "Nina works at Orbit Labs.", "Cats sleep."):
        memory.remember(text)
        memory.add_messages([text], conversation="again")
    memory.workers("wait")
    for query in QUERIES:
        whole = memory.search(query, limit=100).hits
        for limit in (1, 2, 3, 5, 8, 13, 21, 40):
            hits = memory.search(query, limit=limit).hits
            assert len(hits) == min(limit, len(whole))
            told = [(hit.score, hit.signals) for hit in hits]
            assert told == [(hit.score, hit.signals) for hit in whole[:limit]]


# --- the past


def then(folder: Path, memory: Memory, at_us: int) -> dict[str, Any]:
    """What a store answers that was built only up to a time."""
    store = memory.link._store
    assert store is not None
    embedder, found = HashingEmbedder(), {}
    (container,) = (info.name for info in memory.containers().containers)
    views = Views(folder, store._log, model=embedder.name)
    try:
        made = replay(views, store._log, at_us)
        with store.engine.reading() as live, views.reading(cut(views, live.log, made)) as past:
            log = cut(views, live.log, made)
            home = next(iter(past.positions()))
            for query in QUERIES:
                vector = query_of(embedder.embed([query])[0], embedder.name)
                for asked in ASKED:
                    fields = {name: value for name, value in asked.items() if name != "what"}
                    what = (asked["what"],) if "what" in asked else ()
                    question = requests.Search(
                        container=container,
                        query=query,
                        as_of=show_us(at_us),
                        limit=30,
                        explain=True,
                        filters=requests.Filters(what=what),
                        **fields,
                    )
                    now = store.engine.clock.now_us()
                    asking = answering.Asking(log, past, now, container, home, meaning=vector)
                    reply = answering.load()[requests.Search](question, asking)
                    assert isinstance(reply, r.Found)
                    found[f"{query} {asked}"] = shown(reply)
    finally:
        views.close()
    return found


def test_the_past_is_ranked_as_a_store_that_was_built_up_to_then(
    memory: Memory, filled: Filled, tmp_path: Path
) -> None:
    moments = filled.said.moments
    assert len(moments) > 8
    for number, at in enumerate(moments[1::2]):
        live = plain(answers(memory, as_of=show_us(at)))
        same(live, plain(then(tmp_path / f"views{number}", memory, at)))
    replayed = memory.replay(show_us(moments[4]))
    assert replayed.agrees, replayed.differences
