"""Vectors when something goes wrong: the model, the process, the moment."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewound.eventlog import failpoints
from rewound.llm.embedding import EmbeddingFailed, Vectors, checked
from rewound.memory import requests as q
from rewound.memory import workers as working
from rewound.memory.embedding import EmbeddingDuty
from rewound.memory.workers import Workers
from tests.integration.thesaurus import Bench, Thesaurus, bench, ref

PARAPHRASE = "which animal dwells here"
PUPPY = "Her puppy resides with us."
OTHERS = ("The server runs Debian.", "Tea is served at four.")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as opened:
        yield opened


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, durable=True) as opened:
        yield opened
    failpoints.disarm()


def model(made: Bench) -> Thesaurus:
    assert isinstance(made.embedder, Thesaurus)
    return made.embedder


# --- a model that fails


def says_so(texts: Sequence[str]) -> None:
    raise EmbeddingFailed("the model's file is gone")


def breaks(texts: Sequence[str]) -> None:
    raise RuntimeError("a mistake inside the model")


def as_given(vectors: Vectors) -> Vectors:
    return vectors


def holds_nan(vectors: Vectors) -> Vectors:
    return vectors * np.float32("nan")


def of_another_shape(vectors: Vectors) -> Vectors:
    return vectors[:, :-8]


def one_missing(vectors: Vectors) -> Vectors:
    return vectors[1:]


def refused(change: Callable[[Vectors], Vectors], texts: int) -> Callable[[Vectors], Any]:
    """As an embedder of ours would hand it over: looked at first."""

    def after(vectors: Vectors) -> Vectors:
        return checked(change(vectors), len(vectors), vectors.shape[1])

    return after


FAILURES: dict[str, tuple[Callable[[Sequence[str]], None] | None, Callable[[Vectors], Any]]] = {
    "says so": (says_so, as_given),
    "breaks": (breaks, as_given),
    "NaN, checked": (None, refused(holds_nan, 1)),
    "shape, checked": (None, refused(of_another_shape, 1)),
    "NaN": (None, holds_nan),
    "shape": (None, of_another_shape),
    "one missing": (None, one_missing),
}


def fail(embedder: Thesaurus, how: str) -> None:
    before, after = FAILURES[how]
    embedder.before, embedder.after = before or (lambda texts: None), after


def mend(made: Bench) -> None:
    """The model works again, and its pause is over."""
    fail_not = Thesaurus()
    model(made).before, model(made).after = fail_not.before, fail_not.after
    made.engine.meaning.nodes_are_back()


def step(duty: EmbeddingDuty) -> Any:
    """One step; a worker lives on whatever it raises."""
    try:
        return duty.step()
    except Exception as error:
        return error


@pytest.mark.parametrize("how", FAILURES)
def test_a_text_whose_embedding_failed_is_kept_and_tried_again(made: Bench, how: str) -> None:
    made.remember(PUPPY, *OTHERS)
    fail(model(made), how)
    assert step(EmbeddingDuty(made.engine)) != 0.0, "a step that did nothing wants a pause"
    assert made.vectors() == {} and made.waiting() == (3, 3, 3)
    assert made.found("puppy") == [PUPPY]
    mend(made)
    made.embed()
    assert made.waiting() == (0, 0, 0) and made.found(PARAPHRASE)[0] == PUPPY


@pytest.mark.parametrize("how", FAILURES)
def test_a_query_that_cannot_be_embedded_is_answered_by_words(made: Bench, how: str) -> None:
    made.remember(PUPPY, *OTHERS)
    made.embed()
    fail(model(made), how)
    for reply in (made.search("puppy"), made.ask(q.Context(query="puppy shelter"))):
        assert "words" in reply.notes[0] and "embedder" in reply.notes[0]
        assert "puppy" not in "".join(reply.notes)
    assert [hit.text for hit in made.search("puppy").hits] == [PUPPY]
    mend(made)
    assert made.search(PARAPHRASE).notes == () and made.found(PARAPHRASE)[0] == PUPPY


def test_a_store_whose_model_never_worked_says_so(made: Bench) -> None:
    made.remember(PUPPY, *OTHERS)
    fail(model(made), "says so")
    step(EmbeddingDuty(made.engine))
    for reply in (made.search("puppy"), made.ask(q.Context(query="puppy"))):
        assert reply.unembedded == 3
        assert any("the model's file is gone" in note for note in reply.notes)


def test_while_it_fails_the_model_is_left_alone(made: Bench) -> None:
    made.remember(PUPPY, *OTHERS)
    made.embed()
    fail(model(made), "says so")
    asked = len(model(made).asked)
    for _ in range(5):
        made.search("dog")
    assert len(model(made).asked) == asked + 1


class Waiting(Thesaurus):
    """At nodes: keeps how long whoever asked a question waits for its vector."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float | None] = []

    def embed_for(
        self, texts: Sequence[str], lane: str, timeout_s: float | None, *, asked: bool = False
    ) -> Vectors:
        if asked:
            self.waited.append(timeout_s)
        return self.embed(texts)


def test_no_vector_is_waited_for_longer_than_its_question_may_take(tmp_path: Path) -> None:
    embedder = Waiting()
    with bench(tmp_path, embedder=embedder) as made:
        made.remember(PUPPY)
        made.embed()
        for query in ("an animal", "a pet"):  # the second knows that there are vectors
            made.engine.call(q.Search(query=query), timeout_s=5.0)
    assert len(embedder.waited) == 2
    assert all(waited is not None and 0 < waited <= 5 for waited in embedder.waited)


# --- a process that ends


def crash(made: Bench) -> None:
    """The log has the memos, the views have not."""
    with (
        failpoints.armed("engine.before-views-commit"),
        pytest.raises(failpoints.Crash),
    ):
        for _ in range(9):
            EmbeddingDuty(made.engine).step()
            made.engine._check_alive()


def test_a_memo_whose_views_were_lost_is_used_again(durable: Bench) -> None:
    durable.remember(PUPPY, *OTHERS)
    crash(durable)
    again = Thesaurus()
    durable.reopen(again)
    durable.embed()
    assert durable.waiting() == (0, 0, 0) and set(again.asked) == {"anything"}
    assert durable.found(PARAPHRASE)[0] == PUPPY


def test_a_lost_log_leaves_the_texts_waiting(durable: Bench) -> None:
    durable.remember(PUPPY, *OTHERS)
    with (
        failpoints.armed("engine.before-log-commit"),
        pytest.raises(failpoints.Crash),
    ):
        EmbeddingDuty(durable.engine).step()
    durable.reopen(Thesaurus())
    assert durable.waiting() == (3, 3, 3)
    durable.embed()
    assert durable.waiting() == (0, 0, 0)


def test_a_restart_keeps_the_vectors(durable: Bench) -> None:
    durable.remember(PUPPY, *OTHERS)
    durable.embed()
    before, held = durable.ranking(PARAPHRASE), durable.vectors()
    durable.reopen(Thesaurus())
    assert durable.ranking(PARAPHRASE) == before and durable.vectors() == held


# --- a text that changes while it is with the model


def while_embedding(made: Bench, change: Callable[[], object]) -> None:
    """One step of embedding, with something done while the model works."""

    def meanwhile(texts: Sequence[str]) -> None:
        model(made).before = lambda texts: None
        change()

    model(made).before = meanwhile
    EmbeddingDuty(made.engine).step()


def test_what_is_erased_meanwhile_leaves_nothing(durable: Bench) -> None:
    item, *_ = durable.remember(PUPPY, *OTHERS)
    while_embedding(durable, lambda: durable.ask(q.Erase(ids=(item,))))
    durable.embed()
    numbers = durable.numbers(PUPPY)
    assert ref(item) not in durable.vectors() and len(durable.vectors()) == 2
    durable.log.compact()
    durable.engine.views.compact()
    files = [path for path in durable.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if numbers in path.read_bytes()]
    assert durable.waiting() == (0, 0, 0)


@pytest.mark.parametrize("doing", [q.Forget, q.Erase])
def test_what_is_masked_meanwhile_is_embedded_as_it_is_then(
    durable: Bench, doing: type[q.Forget] | type[q.Erase]
) -> None:
    told = durable.say("The puppy resides with us", "The car is red", infer=False)
    fact = told.items[0].facts[0]
    while_embedding(durable, lambda: durable.ask(doing(ids=(fact,))))
    whole = durable.numbers("The puppy resides with us")
    assert ref(told.items[0].id) not in durable.vectors()
    assert ref(told.items[1].id) in durable.vectors()
    durable.embed()
    assert whole not in durable.vectors().get(ref(told.items[0].id), ())
    assert fact not in [hit.id for hit in durable.search(PARAPHRASE).hits]


class ServedThesaurus(Thesaurus):
    """One that is asked over the network."""

    def close(self) -> None:
        pass


@pytest.mark.parametrize("kind", ["fact", "message", "document"])
def test_what_was_forgotten_is_sent_to_no_server_until_it_is_restored(
    tmp_path: Path, kind: str
) -> None:
    with closing(Bench(tmp_path, ServedThesaurus(), durable=False)) as made:
        if kind == "document":
            given = q.Ingest(documents=(q.NewDocument(text=PUPPY),))
            item = made.ask(given).items[0].id
        else:
            item = made.remember(PUPPY)[0] if kind == "fact" else made.say(PUPPY).items[0].id
        made.remember(*OTHERS)
        made.ask(q.Forget(ids=(item,)))
        made.embed()
        assert sorted(model(made).asked) == sorted(OTHERS) and made.embed() == 0
        assert made.waiting()[2] > 0
        made.ask(q.Restore(ids=(item,)))
        made.embed()
        assert PUPPY in model(made).asked and made.waiting() == (0, 0, 0)
        assert PUPPY in made.found(PARAPHRASE)


def test_what_is_undone_meanwhile_is_not_found(made: Bench) -> None:
    told = made.say(PUPPY)
    made.remember(*OTHERS)
    while_embedding(made, lambda: made.ask(q.Undo(id=told.items[0].event)))
    made.embed()
    assert PUPPY not in made.found(PARAPHRASE) and made.waiting() == (0, 0, 0)


def test_what_is_edited_meanwhile_is_embedded_in_both_wordings(made: Bench) -> None:
    item, *_ = made.remember(PUPPY, *OTHERS)
    then = made.ask(q.Stats()).info[0].position
    while_embedding(made, lambda: made.ask(q.Update(id=item, text="The terrier sleeps.")))
    made.embed()
    assert made.waiting() == (0, 0, 0)
    assert made.found(PARAPHRASE)[0] == "The terrier sleeps."
    assert made.found(PARAPHRASE, as_of=f"@{then}")[0] == PUPPY


def test_a_model_that_was_changed_meanwhile_gives_nothing(made: Bench) -> None:
    """Reembedding takes the name away from under a worker."""
    made.remember(PUPPY)

    def other_model() -> None:
        from rewound.projections.rebuild import NewModel, rebuild

        rebuild(made.engine.views, ["words"], model=NewModel("another/1"))

    while_embedding(made, other_model)
    assert made.vectors() == {}


# --- closing


def test_closing_does_not_wait_for_the_model(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is with the model, and stays there until all is closed."""
    monkeypatch.setattr(working, "END_S", 0.01)
    monkeypatch.setattr(working, "SHORT_END_S", 0.01)
    entered, closed = threading.Event(), threading.Event()

    def stay(texts: Sequence[str]) -> None:
        entered.set()
        assert closed.wait(60)

    model(made).before = stay
    workers = Workers(made.engine, [EmbeddingDuty(made.engine)])
    made.engine.workers = workers
    made.remember(PUPPY)
    assert entered.wait(60)
    workers.stop()
    made.engine.close()
    closed.set()
    (crew,) = workers._crews
    thread = crew.thread
    assert thread is not None
    thread.join(60)
    assert not thread.is_alive()
    made.reopen(Thesaurus())
    assert made.waiting() == (1, 1, 1)


def test_workers_embed_what_was_written(made: Bench) -> None:
    workers = Workers(made.engine, [EmbeddingDuty(made.engine)])
    made.engine.workers = workers
    try:
        made.remember(PUPPY, *OTHERS)
        assert workers.run_until_idle(60)
        assert made.waiting() == (0, 0, 0) and made.found(PARAPHRASE)[0] == PUPPY
    finally:
        workers.stop()
