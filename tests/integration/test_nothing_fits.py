"""Where nothing stored fits a question the reply says so: by every door, with hits or without."""

import json
from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from rewound.http.cli import main
from rewound.http.mcp_words import NOTHING_FITS, told
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.decomposing import answered_parts
from rewound.memory.evaluating import told_nothing
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.projections.ranker import Ranker, probability
from rewound.projections.relevance import ANYTHING
from tests.http.posting import posted
from tests.http.serving import Api, serving

QUERY = "how much rent does Nina pay for her flat"
TEXTS = ("Nina rides a blue bicycle to work.", "Nina sold her old car in Porto last spring.")
UNLIKELY = -2.0
SHOWN = "nothing relevant: it is 12% likely that anything stored fits the question"


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One to which everything is unlikely to fit, but what says all words."""
    shipped = Ranker.from_json(files("rewound.projections").joinpath("ranker.json").read_bytes())
    weights = (UNLIKELY, *[0.0] * (len(ANYTHING) - 1))
    words = msgspec.structs.replace(shipped.words, anything=weights, floor=0.3)
    path = tmp_path_factory.mktemp("ranker") / "ranker.json"
    path.write_bytes(msgspec.structs.replace(shipped, words=words).to_json())
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, ranker: Path) -> Path:
    made = tmp_path_factory.mktemp("unfit")
    with Memory(made / "data", models=models(ranker)) as memory:
        for text in TEXTS:
            memory.remember(text)
    return made


def models(ranker: Path) -> Models:
    return Models(embedder="none", extractor="none", judge="none", ranker=str(ranker))


@pytest.fixture
def memory(folder: Path, ranker: Path) -> Memory:
    return Memory(folder / "data", models=models(ranker))


def test_a_search_shows_the_nearest_and_says_what_they_are(memory: Memory) -> None:
    with memory:
        found = memory.search(QUERY)
        bare = memory.search(QUERY, nearest=False)
    assert found.fits == bare.fits == probability(UNLIKELY)
    assert len(found.hits) == 2 and found.nothing_relevant and told_nothing(found)
    assert found.notes == (f"{SHOWN}, and these hits are only the nearest",)
    assert not bare.hits and bare.nothing_relevant
    left_out = "the 2 nearest hits are left out, which `nearest` shows"
    assert bare.notes == (f"{SHOWN}; {left_out}",)


def test_a_context_is_empty_unless_the_nearest_are_wanted(memory: Memory) -> None:
    with memory:
        packed = memory.context(QUERY)
        shown = memory.context(QUERY, nearest=True)
    assert (packed.text, packed.lines, packed.tokens) == ("", (), 0)
    assert packed.nothing_relevant and packed.fits == probability(UNLIKELY)
    assert packed.notes[0].startswith(SHOWN)
    assert len(shown.lines) == 2 and shown.nothing_relevant
    assert shown.notes[0].endswith("and these hits are only the nearest")


def test_a_threshold_is_told_of_as_well(memory: Memory) -> None:
    with memory:
        found = memory.search(QUERY, threshold=1.0)
        bare = memory.search(QUERY, threshold=1.0, nearest=False)
    assert not found.hits and found.nothing_relevant
    assert found.notes[1].endswith("2 hits less likely than the threshold left out")
    assert not bare.hits and len(bare.notes) == 1


def test_a_threshold_leaves_nothing_relevant_by_every_door(folder: Path) -> None:
    query = "what did Nina do with her old car"
    with Memory(folder / "data", models=Models(embedder="none", judge="none")) as memory:
        found, packed = memory.search(query, threshold=1.0), memory.context(query, threshold=1.0)
    assert found.nothing_relevant and packed.nothing_relevant
    assert found.notes == packed.notes and found.notes[0].startswith("nothing relevant: 2 hits")


def test_an_answer_names_no_option_that_it_has_not(memory: Memory) -> None:
    with memory:
        told = memory.ask(QUERY)
    assert not told.given and told.reason == "nothing that is stored fits the question"
    assert told.notes[0].endswith("the 2 nearest hits are left out, which a search shows")


def test_what_is_only_nearest_answers_no_part_of_a_question(memory: Memory) -> None:
    def search(asked: q.Search) -> r.Found:
        found = memory.call(asked)
        assert isinstance(found, r.Found)
        return found

    with memory:
        queries, notes = answered_parts(q.Search(query="x"), (QUERY, "Who owns {1}?"), search)
        told, none = answered_parts(q.Search(query="x"), ("blue bicycle", "Who owns {1}?"), search)
    assert queries == (QUERY, "Who owns ?")
    assert notes == ("part 2 was searched without the answer of part 1",)
    assert told[1] == "Who owns Nina rides work?" and not none


def test_what_has_no_room_is_not_told_as_what_does_not_fit(memory: Memory) -> None:
    with memory:
        told, packed = memory.ask("bicycle", budget=3), memory.context("bicycle", budget=3)
    assert told.reason == "the budget has no room for anything that fits the question"
    assert not packed.nothing_relevant and not packed.lines
    assert told.notes == packed.notes == ("1 more hit did not fit into the budget",)


def test_whoever_looks_for_words_finds_them(memory: Memory) -> None:
    """However unlikely all else is."""
    with memory:
        for query in ("bicycle", "Nina car", "“blue bicycle” of somebody"):
            found = memory.search(query, nearest=False)
            assert found.hits and found.fits == 0.5 and not found.nothing_relevant
            assert memory.context(query).lines


def test_where_nothing_is_found_nothing_is_relevant(memory: Memory) -> None:
    with memory:
        found, packed = memory.search("zebra"), memory.context("zebra")
    assert found.nothing_relevant and packed.nothing_relevant
    assert found.fits is None and packed.fits is None
    assert found.notes == packed.notes and "nothing stored holds a word" in found.notes[0]


def test_what_fits_is_not_doubted(folder: Path) -> None:
    """By the weights that ship."""
    with Memory(folder / "data", models=Models(embedder="none", judge="none")) as memory:
        found = memory.search("what did Nina do with her old car")
        packed = memory.context("what did Nina do with her old car")
    assert found.fits is not None and found.fits > 0.5
    assert found.fits == packed.fits and packed.lines
    assert not found.nothing_relevant and not packed.nothing_relevant and not found.notes


def test_a_date_in_the_question_need_not_be_in_the_words(folder: Path) -> None:
    with Memory(folder / "data", models=Models(embedder="none", judge="none")) as memory:
        for when in ("in April 2026", "on 3 April 2026", "on 2026-04-03", "in May"):
            query = f"what did Nina do with her old car {when}"
            found = memory.call(q.Search(query=query, read_times=False))
            assert isinstance(found, r.Found)
            assert found.fits is not None and found.fits > 0.7, when


def test_a_model_that_asks_is_told_so_in_words(memory: Memory) -> None:
    with memory:
        assert told(memory.search(QUERY, nearest=False), "search").startswith(
            f"{NOTHING_FITS}\nnote: {SHOWN}; the 2 nearest"
        )
        shown = told(memory.search(QUERY), "search").splitlines()
        assert shown[0] == NOTHING_FITS and len(shown) == 4
        assert told(memory.context(QUERY), "context").startswith(f"{NOTHING_FITS}\nnote: ")
        assert not told(memory.search("bicycle"), "search").startswith(NOTHING_FITS)


def test_clients_of_other_apis_get_nothing_unless_their_threshold_asks_for_it(
    folder: Path, ranker: Path
) -> None:
    v4, v5 = {"q": QUERY, "containerTag": "default"}, {"query": QUERY}
    opened = Link(folder / "data", models=models(ranker))
    opened.take_over()
    try:
        answers = posted(
            opened,
            ("/v4/search", v4), ("/v4/search", {**v4, "threshold": 0}),
            ("/ns/default/search", v5), ("/ns/default/search", {**v5, "threshold": 0}),
        )  # fmt: skip
    finally:
        opened.close()
    assert [(status, len(body["results"])) for status, body in answers] == [(200, 0), (200, 2)] * 2
    left_out = "the 2 nearest hits are left out, which threshold 0 shows"
    shown = f"{SHOWN}, and these hits are only the nearest"
    assert [body["notes"] for _, body in answers] == [[f"{SHOWN}; {left_out}"], [shown]] * 2


def test_the_other_doors_say_the_same(
    folder: Path, ranker: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    monkeypatch.setenv("REWOUND_RANKER", str(ranker))

    def cli(*args: str) -> dict[str, object]:
        done = CliRunner().invoke(main, [*args, "--json", "--data", str(folder / "data")])
        assert done.exit_code == 0, done.output
        reply: dict[str, object] = json.loads(done.stdout)
        return reply

    assert cli("search", QUERY)["hits"] and not cli("search", QUERY, "--no-nearest")["hits"]
    assert cli("context", QUERY)["nothing_relevant"] is True
    assert not cli("context", QUERY)["lines"] and cli("context", QUERY, "--nearest")["lines"]
    with serving(folder, REWOUND_RANKER=str(ranker)) as served, served.client() as client:
        api = Api(client, "default")
        assert len(api.ask("/v1/search", r.Found, query=QUERY).hits) == 2
        assert not api.read("/v1/search", r.Found, query=QUERY, nearest="false").hits
        assert not api.ask("/v1/context", r.Packed, query=QUERY).lines
        assert api.ask("/v1/context", r.Packed, query=QUERY, nearest=True).nothing_relevant
        body = {"container": "default", "query": QUERY, "nearest": "perhaps"}
        api.refused(400, "invalid_input", "POST", "/v1/search", body, field="nearest")
