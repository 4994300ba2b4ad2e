"""A threshold leaves out what is less likely and says so: by the library, REST and the CLI."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from rewound.eventlog.errors import InvalidInput
from rewound.http.cli import main
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.http.serving import Api, serving

QUERY = "where does Nina work"
TEXTS = (
    "Nina works at Orbit Labs as a botanist.",
    "Nina likes tea.",
    "Work on the harbour begins in May.",
    "The server runs Debian.",
)
MODELS = Models(embedder="none", extractor="none", judge="none")
WRONG = (-0.1, 1.1, float("nan"), float("inf"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds a store at `data`, with facts, a document and a conversation."""
    made = tmp_path_factory.mktemp("threshold")
    with Memory(made / "data", models=MODELS) as memory:
        for text in TEXTS:
            memory.remember(text)
        memory.ingest("Orbit Labs has a garden where Nina and others work. " * 8)
        memory.add_messages(["Where do you work?", "Nina said she works nearby."])
    return made


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    with Memory(folder / "data", models=MODELS) as opened:
        yield opened


def scores(found: r.Found) -> list[float]:
    return [hit.score for hit in found.hits]


def between(found: r.Found, kept: int) -> float:
    """A threshold that so many of the hits reach."""
    falling = sorted(scores(found), reverse=True)
    assert falling[kept - 1] > falling[kept], "the scores of these hits tell them apart"
    return (falling[kept - 1] + falling[kept]) / 2


# --- the library


def test_without_a_threshold_all_are_kept(memory: Memory) -> None:
    found = memory.search(QUERY)
    assert len(found.hits) >= 5 and not found.notes
    assert memory.search(QUERY, threshold=0.0) == found
    assert memory.search(QUERY, threshold=0) == found
    assert all(0.0 <= score <= 1.0 for score in scores(found))


def test_what_is_left_out_is_what_is_less_likely(memory: Memory) -> None:
    whole = memory.search(QUERY)
    for kept in range(1, len(whole.hits)):
        found = memory.search(QUERY, threshold=between(whole, kept))
        assert found.hits == whole.hits[:kept], "the rest keeps its order, scores and signals"
        left = len(whole.hits) - kept
        hits = "hit" if left == 1 else "hits"
        assert found.notes == (f"{left} {hits} less likely than the threshold left out",)


def test_a_hit_that_just_reaches_it_is_kept(memory: Memory) -> None:
    whole = memory.search(QUERY)
    last = whole.hits[2].score
    assert len(memory.search(QUERY, threshold=last).hits) == 3
    assert len(memory.search(QUERY, threshold=math.nextafter(last, 1.0)).hits) == 2


def test_nothing_relevant_is_told(memory: Memory) -> None:
    whole = memory.search(QUERY)
    found = memory.search(QUERY, threshold=1.0)
    assert not found.hits
    (note,) = found.notes
    assert note == (
        f"nothing relevant: {len(whole.hits)} hits less likely than the threshold left out"
    )


def test_where_nothing_was_found_nothing_was_left_out(memory: Memory) -> None:
    plain, strict = memory.search("zebra"), memory.search("zebra", threshold=0.9)
    assert not plain.hits and strict.notes == plain.notes
    assert "threshold" not in "".join(strict.notes)


def test_it_takes_no_more_hits_than_asked_for(memory: Memory) -> None:
    """It is held against the first hits; it does not bring back others."""
    whole = memory.search(QUERY)
    found = memory.search(QUERY, limit=3, threshold=between(whole, 2))
    assert found.hits == whole.hits[:2]
    assert found.notes == ("1 hit less likely than the threshold left out",)


def test_it_is_held_against_what_passes_the_filters(memory: Memory) -> None:
    facts = memory.search(QUERY, what="fact")
    found = memory.search(QUERY, what="fact", threshold=between(facts, 1))
    assert found.hits == facts.hits[:1]
    assert found.notes[-1].startswith(f"{len(facts.hits) - 1} hit")


def test_an_explained_search_keeps_to_it(memory: Memory) -> None:
    whole = memory.search(QUERY)
    threshold = between(whole, 2)
    found = memory.search(QUERY, threshold=threshold, explain=True)
    assert [hit.id for hit in found.hits] == [hit.id for hit in whole.hits[:2]]
    fate = memory.explain(QUERY, id=whole.hits[2].id, threshold=threshold).fate
    assert not fate.found and f"{threshold:g}" in fate.told


# --- context


def lines(packed: r.Packed) -> set[str]:
    return {line.id for line in packed.lines}


def test_a_context_leaves_out_the_same(memory: Memory) -> None:
    whole = memory.search(QUERY, limit=60)
    plain = memory.context(QUERY, budget=4_000)
    assert memory.context(QUERY, budget=4_000, threshold=0.0) == plain
    for kept in range(1, len(whole.hits)):
        threshold = between(whole, kept)
        packed = memory.context(QUERY, budget=4_000, threshold=threshold)
        assert lines(packed) == lines(plain) & {hit.id for hit in whole.hits[:kept]}
        assert "less likely than the threshold left out" in packed.notes[0]
    empty = memory.context(QUERY, budget=4_000, threshold=1.0)
    assert (empty.text, empty.lines, empty.tokens) == ("", (), 0)
    assert empty.notes[0].startswith(f"nothing relevant: {len(whole.hits)} hits")


# --- refused


@pytest.mark.parametrize("value", [*WRONG, True, "0.5", None])
def test_what_is_no_share_is_refused(memory: Memory, value: Any) -> None:
    right = "from 0 to 1" if value in WRONG else "not (text|nothing|true or false)"
    for ask in (memory.search, memory.context):
        with pytest.raises(InvalidInput, match=f"threshold must be a number.* ?{right}") as refused:
            ask(QUERY, threshold=value)
        assert refused.value.field == "threshold"


# --- the other doors


def cli(folder: Path, *args: str, code: int = 0) -> Result:
    done = CliRunner().invoke(main, [*args, "--json", "--data", str(folder / "data")])
    assert done.exit_code == code, done.output
    return done


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")


@pytest.fixture
def expected(folder: Path) -> dict[str, Any]:
    """What the library says, its threshold too, without the moment of asking."""
    with Memory(folder / "data", models=MODELS) as memory:
        threshold = between(memory.search(QUERY), 2)
        return {
            "threshold": threshold,
            "search": plain(memory.search(QUERY, threshold=threshold)),
            "context": plain(memory.context(QUERY, threshold=threshold)),
        }


def plain(reply: Any) -> Any:
    """Less the moment of asking."""
    told = msgspec.to_builtins(reply)
    told.pop("moment", None)
    return told


def test_the_command_says_the_same(folder: Path, expected: dict[str, Any]) -> None:
    for command in ("search", "context"):
        told = cli(folder, command, QUERY, "--threshold", repr(expected["threshold"]))
        found = json.loads(told.stdout)
        found.pop("moment")
        assert found == json.loads(json.dumps(expected[command]))
    words = CliRunner().invoke(
        main, ["search", QUERY, "--threshold", "1", "--data", str(folder / "data")]
    )
    assert "nothing relevant: " in words.stdout, "a person is told"


@pytest.mark.parametrize("command", ["search", "context"])
@pytest.mark.parametrize("value", ["-0.1", "1.1", "nan", "much"])
def test_the_command_refuses_what_is_no_share(folder: Path, command: str, value: str) -> None:
    refused = cli(folder, command, QUERY, f"--threshold={value}", code=2)
    assert "threshold" in refused.stderr and "Traceback" not in refused.stderr


def test_the_server_says_the_same(folder: Path, expected: dict[str, Any]) -> None:
    asked = {"query": QUERY, "threshold": expected["threshold"]}
    with serving(folder) as served, served.client() as client:
        api = Api(client, "default")
        assert plain(api.ask("/v1/search", r.Found, **asked)) == expected["search"]
        assert plain(api.read("/v1/search", r.Found, **asked)) == expected["search"]
        assert plain(api.ask("/v1/context", r.Packed, **asked)) == expected["context"]
        kept = api.ask("/v1/search", r.Found, query=QUERY, threshold=0)
        assert kept.hits == api.ask("/v1/search", r.Found, query=QUERY).hits
        none = api.ask("/v1/search", r.Found, query=QUERY, threshold=1)
        assert not none.hits and none.notes[0].startswith("nothing relevant: ")
        for path in ("/v1/search", "/v1/context"):
            for value in (-0.1, 1.1, "much", None, True):
                body = {"container": "default", "query": QUERY, "threshold": value}
                api.refused(400, "invalid_input", "POST", path, body, field="threshold")
        given = {"container": "default", "query": QUERY, "threshold": "nan"}
        error = api.refused(400, "invalid_input", "GET", "/v1/search", params=given)
        assert "threshold" in json.dumps(error)
