"""R13: the embedder is changed, or gives what is no vector. (A model that fails for a while:
tests/integration/test_meaning_trouble.py.) And R07 by meaning: what an edit ended is not found."""

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewound.eventlog.failpoints import KILLED, VARIABLE
from rewound.llm.embedding import Embedder, EmbeddingFailed, Vectors
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.embedding import EmbeddingDuty
from rewound.memory.models import Models
from tests import loaded
from tests.cases.doors import DOORS, Shop
from tests.cases.given import Cli
from tests.http.serving import Api, reply_of, serving
from tests.integration.thesaurus import Bench, Thesaurus, bench, nearness

FACTS = [f"Her puppy number {number} resides with us." for number in range(20)]
PARAPHRASE = "which animal dwells here"
"""Shares no word with the facts, only meanings."""

OTHERS: dict[str, Callable[[], Thesaurus]] = {
    "another dimension": lambda: Thesaurus("new/1", 768),
    "the same dimension": lambda: Thesaurus("new/1", 384),
    "few dimensions": lambda: Thesaurus("new/1", 8),
    "another version": lambda: Thesaurus("old/2", 384),
}


def old() -> Thesaurus:
    return Thesaurus("old/1", 384)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Bench]:
    """Twenty facts, with the vectors of the old model."""
    with bench(tmp_path, old(), durable=True) as opened:
        opened.remember(*FACTS)
        opened.embed()
        assert opened.waiting() == (0, 0, 0) and len(opened.found(PARAPHRASE)) == 10
        yield opened


def by_meaning(made: Bench) -> int:
    """How many facts are found by meaning alone, of all there are."""
    hits = made.search(PARAPHRASE, limit=100).hits
    return sum(set(nearness(hit)) == {"meaning"} for hit in hits)


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_r13_a_changed_model_is_declared_and_loses_nothing(
    made: Bench, other: Callable[[], Thesaurus], caplog: pytest.LogCaptureFixture
) -> None:
    new, held = other(), made.vectors()
    made.reopen(new)
    for said in (caplog.text, *made.search("puppy").notes[:1]):
        assert "old/1" in said and new.name in said and "`rewound reembed`" in said
    later = "A terrier sleeps in the hall."
    made.remember(later)
    made.embed()
    for reply in (made.search("puppy"), made.ask(q.Context(query="puppy"))):
        assert "`rewound reembed`" in reply.notes[0]
    hits = made.search("puppy", limit=100).hits
    assert len(hits) == 20 and {name for hit in hits for name in nearness(hit)} == {"words"}
    assert made.found("terrier") == [later] and made.found(PARAPHRASE) == []
    assert new.asked == [], "nothing is compared, so nothing is embedded"
    assert made.vectors() == held
    # The old model again: all is as before, and what came meanwhile is embedded.
    made.reopen(old())
    assert made.search("puppy").notes == ()
    made.embed()
    assert by_meaning(made) == 21 and made.waiting() == (0, 0, 0)


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_r13_reembedding_makes_all_vectors_anew(
    made: Bench, other: Callable[[], Thesaurus]
) -> None:
    then = made.ask(q.Stats()).info[0].position
    new = other()
    made.reopen(new)
    told = made.ask(q.Reembed())
    assert (told.model, told.embedder, told.switch) == (new.name, new.name, None)
    assert "old/1" in told.notes[0] and new.name in told.notes[0]
    assert made.waiting() == (20, 20, 20) and len(made.found("puppy", limit=100)) == 20
    assert made.vectors() == {}, "no vector of the old model is kept beside the new ones"
    made.embed()
    assert sorted(text for text in new.asked if text in FACTS) == sorted(FACTS), "each once"
    assert made.waiting() == (0, 0, 0) and made.search("puppy").notes == ()
    assert by_meaning(made) == 20
    assert len(made.found(PARAPHRASE, as_of=f"@{then}", limit=100)) == 20
    assert {len(row) for rows in made.vectors().values() for row in rows} == {new.dimensions}
    assert "already" in made.ask(q.Reembed()).notes[0]
    before, held = made.ranking("puppy"), made.vectors()
    made.reopen(other())
    assert made.ranking("puppy") == before and made.vectors() == held
    # Back to the old one: that is a change too.
    made.reopen(old())
    assert new.name in made.search("puppy").notes[0] and made.found(PARAPHRASE) == []


# --- vectors that are none


def empty(vectors: Vectors) -> Any:
    return []


def nothing(vectors: Vectors) -> Any:
    return None


def not_a_number(vectors: Vectors) -> Any:
    spoiled = vectors.copy()
    spoiled[-1, 0] = np.nan
    return spoiled


def infinite(vectors: Vectors) -> Any:
    return vectors * np.float32("inf")


def one_fewer(vectors: Vectors) -> Any:
    return vectors[:-1]


def one_more(vectors: Vectors) -> Any:
    return np.concatenate([vectors, vectors[:1]])


def no_direction(vectors: Vectors) -> Any:
    return vectors * 0


def other_shape(vectors: Vectors) -> Any:
    return vectors[:, :-1]


def flat(vectors: Vectors) -> Any:
    return vectors.reshape(-1)


def refuses(vectors: Vectors) -> Any:
    raise EmbeddingFailed("the model is gone")


BAD = [
    empty, nothing, not_a_number, infinite, one_fewer, one_more, no_direction, other_shape, flat,
    refuses,
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_r13_bad_vectors_are_refused_and_the_texts_kept(
    made: Bench, bad: Callable[[Vectors], Any]
) -> None:
    """While a model is new to the store: none of its vectors is kept, and words find all."""
    new = Thesaurus("new/1", 768)
    new.after = bad
    made.reopen(new)
    made.ask(q.Reembed())
    assert EmbeddingDuty(made.engine).step() != 0.0
    made.remember("A terrier sleeps in the hall.")
    assert made.vectors() == {} and made.ask(q.Jobs()).unembedded == 21
    reply = made.search("puppy", limit=100)
    assert len(reply.hits) == 20 and reply.unembedded == 21
    assert any("embedder" in note for note in reply.notes)
    assert not any(np.isnan(hit.score) for hit in reply.hits)
    assert made.found("terrier") == ["A terrier sleeps in the hall."]
    made.reopen(Thesaurus("new/1", 768))
    made.embed()
    assert made.waiting() == (0, 0, 0) and by_meaning(made) == 21


# --- a kill while all is made anew


class Faked(Models, frozen=True, kw_only=True):
    """Models whose embedder is one of ours."""

    model: Any = None

    def make_embedder(self, nodes: Any = None) -> Embedder | None:
        made: Embedder | None = self.model
        return made


REEMBED = """
import sys
from rewound.memory import Memory
with Memory(sys.argv[1], "s") as memory:
    memory.own()
    memory.reembed()
    assert memory.workers("wait", timeout_s=240).unembedded == 0
"""


@pytest.mark.parametrize(
    "point",
    [
        "views.before-commit:1", "views.after-commit:1", "views.before-commit:2",
        "views.after-commit:2", "views.before-commit:3", "log.before-commit:1",
        "log.after-commit:1", "engine.before-views-commit:1",
    ],
)  # fmt: skip
def test_r13_reembedding_survives_a_kill(data: Path, point: str) -> None:
    with Memory(data, "s", models=Faked(extractor="none", model=old())) as memory:
        memory.remember(FACTS)
        assert memory.workers("wait", timeout_s=240).unembedded == 0
    env = {**os.environ, "REWOUND_EMBEDDER": "hashing", "REWOUND_EXTRACTOR": "none"}
    child = [sys.executable, "-c", REEMBED, str(data)]
    killed = loaded.run(child, env={**env, VARIABLE: point}, timeout=60)
    assert killed.returncode == KILLED, killed.stderr[-500:]
    models = Models(embedder="hashing", extractor="none")
    with Memory(data, "s", models=models) as memory:
        found = memory.search("puppy", limit=100)
        assert len(found.hits) == 20
        if any("`rewound reembed`" in note for note in found.notes):
            memory.reembed()  # it was killed before the old vectors had gone
        assert memory.workers("wait", timeout_s=240).unembedded == 0
        found = memory.search("puppy resides", limit=100)
        assert found.notes == () and len(found.hits) == 20
        assert all("meaning" in hit.signals for hit in found.hits)
        assert memory.verify().ok and memory.rebuild().equal


SWITCH = """
import sys
from rewound.memory import Memory
from tests.cases.test_embedders import switched
with Memory(sys.argv[1], "s", models=switched()) as memory:
    memory.own()
    memory.reembed()
    assert memory.workers("wait", timeout_s=240).switch is None
"""


def switched() -> Models:
    return Faked(extractor="none", judge="none", model=Thesaurus("new/1", 64))


@pytest.mark.parametrize(
    "point",
    [
        # to begin, to make vectors, to swap, to drop what is left
        "views.before-commit:1", "views.after-commit:1", "log.after-commit:1",
        "engine.before-views-commit:1", "views.before-commit:3", "views.before-commit:4",
        "views.after-commit:4", "log.before-commit:2",
    ],
)  # fmt: skip
def test_r13_a_change_in_the_background_survives_a_kill(data: Path, point: str) -> None:
    """Both models can be opened: whenever it is killed, all is found by the meaning of one."""
    old_models = Models(embedder="hashing", extractor="none", judge="none")
    with Memory(data, "s", models=old_models) as memory:
        memory.remember(FACTS)
        assert memory.workers("wait", timeout_s=240).unembedded == 0
    child = [sys.executable, "-c", SWITCH, str(data)]
    env = {**os.environ, VARIABLE: point}
    killed = loaded.run(child, env=env, timeout=60)
    assert killed.returncode == KILLED, killed.stderr[-500:]
    with Memory(data, "s", models=switched()) as memory:
        memory.own()
        found = memory.search("puppy resides", limit=100)
        assert len(found.hits) == 20 and all("meaning" in hit.signals for hit in found.hits)
        if found.notes:
            assert "`rewound reembed`" in found.notes[0]
            memory.reembed()  # it was killed before the change was begun
        assert memory.workers("wait", timeout_s=240).switch is None
        told = memory.reembed("status")
        assert (told.model, told.switch, told.unembedded) == ("new/1", None, 0)
        found = memory.search("puppy resides", limit=100)
        assert found.notes == () and len(found.hits) == 20
        assert all("meaning" in hit.signals for hit in found.hits)
        assert len(memory.search(PARAPHRASE, limit=100).hits) == 20, "only the new model knows it"
        assert memory.verify().ok and memory.rebuild().equal


# --- through the doors


@pytest.mark.slow
def test_r13_every_door_names_both_models(tmp_path: Path) -> None:
    """Two models of one dimension, as the settings have them."""
    fact = "Nina works at Orbit Labs."
    with serving(tmp_path, REWOUND_EMBEDDER="hashing") as served, served.client() as client:
        api = Api(client, "s")
        api.fact(fact)
        api.fact("The greenhouse stands behind the barn.")
        assert wait(api).unembedded == 0
    with serving(tmp_path, REWOUND_EMBEDDER="minilm") as served, served.client() as client:
        api = Api(client, "s")
        told = re.compile(r"hashing/384/1, which goes on.*MiniLM.*`rewound reembed`", re.S)
        assert told.search(served.printed), served.printed
        assert told.search(api.ask("/v1/search", r.Found, query="Nina").notes[0])
        health = client.get("/health").json()
        assert health["status"] == "degraded" and health["parts"]["embedder"]["state"] == "old"
        with Memory(served.data, "s") as memory:
            shop = Shop(served, client, memory)
            assert told.search(memory.search("Nina").notes[0])
            for door in DOORS.values():
                hit, *_ = door(shop, "s").search("Nina")
                assert hit["text"] == fact and {"words", "meaning"} <= set(hit["signals"])
        assert told.search(Cli(served.data).run("-c", "s", "search", "Nina").output)
        cli = Cli(served.data)
        assert "`rewound reembed`" in cli.run("reembed", "--status").output
        done = cli.run("reembed", "--wait").output
        assert "hashing/384/1" in done and "MiniLM" in done
        status = reply_of(api.send("POST", "/v1/reembed", {"action": "status"}), r.Reembedding)
        assert status.switch is None and status.model == status.embedder
        assert "no change is under way" in cli.run("reembed", "--cancel", code=3).output
        assert wait(api).unembedded == 0
        assert client.get("/health").json()["status"] == "ok"
        found = api.ask("/v1/search", r.Found, query="which company employs her?", limit=1)
        assert [hit.text for hit in found.hits] == [fact] and found.notes == ()


def wait(api: Api) -> r.Working:
    asked = {"action": "wait", "timeout_s": 60}
    return reply_of(api.send("POST", "/v1/workers", asked), r.Working)


# --- R07


@pytest.mark.parametrize("corrects", [False, True])
def test_r07_an_edited_text_is_not_current_by_meaning(made: Bench, corrects: bool) -> None:
    other, question = "The server runs Debian.", "what is her job"
    (first,) = made.remember("She is employed by Orbit Labs.")
    made.remember(other)
    made.embed()
    assert made.found(question)[0] == "She is employed by Orbit Labs."
    new = "She works for Harbor Foods."
    made.ask(q.Update(id=first, text=new, corrects=corrects))
    for _ in ("before its vector", "with it"):
        for asked in (question, "employed by Orbit Labs", "She is employed by Orbit Labs."):
            assert "She is employed by Orbit Labs." not in made.found(asked, limit=100), asked
            told = made.ask(q.Context(query=asked))
            assert "Orbit" not in told.text, asked
        made.embed()
    assert made.found(question)[0] == new
    both = made.found(question, limit=100, include_superseded=True)
    assert {new, "She is employed by Orbit Labs."} <= set(both)
