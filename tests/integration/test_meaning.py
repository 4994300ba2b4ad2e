"""Finding by meaning, from the text that waits for its vector to the vector that is erased."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewound.memory import requests as q
from rewound.memory.inbox import Closed
from rewound.memory.vector_making import PORTION
from rewound.projections.memos import memo_key
from tests.integration.thesaurus import Bench, Thesaurus, bench, nearness, ref

PARAPHRASE = "which animal dwells here"
"""Shares no word with `PUPPY`, only meanings."""
PUPPY = "Her puppy resides with us."
OTHERS = ("The server runs Debian.", "Tea is served at four.", "Orbit Labs hired Bob.")


@pytest.fixture(params=["memory", "lmdb"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, durable=request.param == "lmdb") as opened:
        yield opened


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path) as opened:
        yield opened


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, durable=True) as opened:
        yield opened


def model(made: Bench) -> Thesaurus:
    assert isinstance(made.embedder, Thesaurus)
    return made.embedder


# --- waiting, and being found


def test_what_waits_is_counted_and_found_by_its_words(made: Bench) -> None:
    made.remember(PUPPY, *OTHERS)
    assert made.waiting() == (4, 4, 4)
    assert made.found("puppy") == [PUPPY]
    assert made.found(PARAPHRASE) == []
    assert model(made).asked == []  # there is nothing yet to compare a query with
    made.embed()
    assert made.waiting() == (0, 0, 0)


def test_a_paraphrase_finds_what_shares_no_word_with_it(made: Bench) -> None:
    made.remember(PUPPY, *OTHERS)
    made.embed()
    hit = made.search(PARAPHRASE).hits[0]
    assert hit.text == PUPPY
    assert set(nearness(hit)) == {"meaning"} and hit.signals["meaning"] > 0.3
    told = made.ask(q.Context(query=PARAPHRASE))
    assert told.lines[0].id == hit.id


def test_each_text_is_embedded_once(made: Bench) -> None:
    made.remember(PUPPY, *OTHERS)
    assert made.embed() == 1
    assert sorted(model(made).asked) == sorted([PUPPY, *OTHERS])
    made.ask(q.Update(id=made.search("Debian").hits[0].id, add_tags=("ops",)))
    assert made.embed() == 0 and made.waiting() == (0, 0, 0)
    assert made.search("Debian").hits[0].tags == ("ops",)


def test_a_vector_is_there_once_its_worker_goes_on(
    made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told before the views have it, the worker would embed the same texts again."""
    put, commit = made.engine._put, made.engine._writer.upkeep.commit_views
    told: list[Any] = []
    early: list[bool] = []

    def putting(*given: Any) -> Any:
        told.append(put(*given))
        return told[-1]

    def committing(*given: Any) -> None:
        early.append(told[-1].done())
        commit(*given)

    made.remember(PUPPY)
    monkeypatch.setattr(made.engine, "_put", putting)
    monkeypatch.setattr(made.engine._writer.upkeep, "commit_views", committing)
    made.embed()
    assert not any(early)


def test_more_than_a_batch_is_embedded_newest_first(store: Bench) -> None:
    for part in range(3):
        store.remember(*(f"Note {n} is kept" for n in range(part * 50, part * 50 + 50)))
    assert store.embed() == 3
    assert model(store).asked[0] == "Note 149 is kept" and len(model(store).asked) == 150
    assert store.waiting() == (0, 0, 0)


def test_a_batch_is_left_in_the_middle_once_the_store_is_closing(store: Bench) -> None:
    store.remember(*(f"Note {n} is kept" for n in range(50)))
    model(store).before = lambda texts: store.engine.hurry()
    with pytest.raises(Closed):
        store.embed()
    assert len(model(store).asked) == PORTION


def test_containers_take_turns_and_never_see_each_other(store: Bench) -> None:
    for name in ("one", "two"):
        texts = (f"Her puppy resides in {name}, note {n}" for n in range(100))
        store.remember(*texts, container=name)
    assert store.embed() == 4
    batches = model(store).asked[::64]
    assert len({"in one" in text for text in (batches[0], model(store).asked[64])}) == 2
    for name in ("one", "two"):
        hits = store.ask(q.Search(container=name, query=PARAPHRASE, limit=50)).hits
        assert len(hits) == 50 and all(f"in {name}" in hit.text for hit in hits)


def test_a_filter_is_kept_to_by_meaning_too(store: Bench) -> None:
    store.remember(PUPPY, *OTHERS)
    tagged = store.ask(
        q.Remember(facts=(q.NewFact(text="A terrier dwells there.", tags=("farm",)),))
    )
    store.embed()
    found = store.search(PARAPHRASE, filters=q.Filters(tags=("farm",))).hits
    assert [hit.id for hit in found] == [tagged.items[0].id]
    whole = {hit.id: nearness(hit) for hit in store.search(PARAPHRASE).hits}
    assert nearness(found[0]) == whole[found[0].id]


def test_asking_for_titles_changes_no_signal_of_a_fact(store: Bench) -> None:
    (fact, *_) = store.remember("Debian is the system of the server.", *OTHERS[1:])
    store.ask(q.Ingest(documents=(q.NewDocument(text="Words.", title="Debian"),)))
    store.embed()
    narrow = store.search("Debian", filters=q.Filters(what=("fact",))).hits
    wide = store.search("Debian", filters=q.Filters(what=("fact", "document"))).hits
    signals = [next(nearness(hit) for hit in hits if hit.id == fact) for hits in (narrow, wide)]
    assert signals[0] == signals[1]


def test_a_question_lends_its_meaning_to_the_answer(made: Bench) -> None:
    replied = made.say(
        q.NewMessage(content="Which pet did you get?", name="Ana"),
        q.NewMessage(content="A small brown one, from the shelter", name="Nina"),
    )
    made.say(q.NewMessage(content="The weather was fine", name="Ana"))
    made.embed()
    hits = made.search("dog").hits
    assert [hit.id for hit in hits[:2]] == [item.id for item in replied.items]
    assert hits[1].signals["previous meaning"] == hits[0].signals["meaning"]
    assert "previous meaning" not in hits[0].signals


def test_a_fact_is_understood_by_the_question_that_its_message_answers(made: Bench) -> None:
    replied = made.say("Which pet did you get?", "A brown one with a doggish tail", infer=False)
    made.say("The weather was fine", infer=False)
    made.embed()
    fact = replied.items[1].facts[0]
    hits = {hit.id: hit for hit in made.search("dog", filters=q.Filters(what=("fact",))).hits}
    assert hits[fact].signals["previous meaning"] > 0.2
    # By a word that belongs to the one that was asked for the question comes first.
    assert [*hits][:2] == [replied.items[0].facts[0], fact]


def test_a_fact_that_repeats_its_message_is_one_hit(made: Bench) -> None:
    item = made.say("The puppy resides with us", "Tea at four", infer=False).items[0]
    made.embed()
    (hit, *_) = made.search(PARAPHRASE).hits
    assert hit.id == item.facts[0] and item.id in hit.also
    assert item.id not in [other.id for other in made.search(PARAPHRASE).hits]


# --- forget and restore


def forget_one(made: Bench) -> tuple[Any, str]:
    """A message with two facts, one of which is forgotten; the reply, and the forgotten id."""
    told = made.say("The puppy resides with us", "The car is red", infer=False)
    made.embed()
    fact = told.items[0].facts[0]
    made.ask(q.Forget(ids=(fact,)))
    return told, fact


def test_forgetting_takes_the_vector_of_the_text_at_once(made: Bench) -> None:
    told, fact = forget_one(made)
    message = ref(told.items[0].id)
    assert made.numbers("The puppy resides with us")  # the text as it was
    assert message not in made.vectors() and ref(told.items[1].id) in made.vectors()
    assert made.waiting()[2] >= 1
    assert fact not in [hit.id for hit in made.search(PARAPHRASE).hits]


def test_what_is_left_of_the_text_is_embedded_anew(made: Bench) -> None:
    told, _ = forget_one(made)
    asked = len(model(made).asked)
    made.embed()
    assert made.waiting() == (0, 0, 0)
    assert all("puppy" not in text for text in model(made).asked[asked:])
    assert made.numbers("The puppy resides with us") not in made.vectors()[ref(told.items[0].id)]
    for hit in made.search(PARAPHRASE, limit=50).hits:
        assert hit.signals.get("meaning", 0.0) < 0.2 and "puppy" not in hit.text


@pytest.mark.parametrize("between", [False, True], ids=["at once", "after embedding"])
def test_restoring_brings_the_meaning_back(made: Bench, between: bool) -> None:
    told = made.say("The puppy resides with us", "The car is red", infer=False)
    made.embed()
    before, held = made.ranking(PARAPHRASE), made.vectors()
    made.ask(q.Forget(ids=(told.items[0].facts[0],)))
    if between:
        made.embed()
    made.ask(q.Restore(ids=(told.items[0].facts[0],)))
    made.embed()
    assert made.waiting() == (0, 0, 0)
    assert made.ranking(PARAPHRASE) == before and made.vectors() == held


def test_a_forgotten_fact_has_no_say_in_how_others_rank(made: Bench) -> None:
    """As if it had never been there, but for what the forgetting itself names."""
    made.remember(*OTHERS)
    made.embed()
    before = made.ranking(PARAPHRASE)
    (fact,) = made.remember(PUPPY)
    made.embed()
    assert made.ranking(PARAPHRASE) != before
    made.ask(q.Forget(ids=(fact,)))
    assert made.ranking(PARAPHRASE) == before
    again = made.ranking(PARAPHRASE, include_forgotten=True)
    assert again[0][0] == fact


# --- erase


def raw(made: Bench) -> dict[str, bytes]:
    files = (path for path in sorted(made.folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(made.folder)): path.read_bytes() for path in files}


def erased_case(made: Bench, what: str) -> tuple[str, str]:
    """Put something there; its id, and the text that its vector is of."""
    if what == "fact":
        return made.remember(PUPPY)[0], PUPPY
    if what == "message":
        return made.say(PUPPY).items[0].id, PUPPY
    told = made.ask(q.Ingest(documents=(q.NewDocument(text=PUPPY),)))
    return told.items[0].id, PUPPY


@pytest.mark.parametrize("what", ["fact", "message", "document"])
def test_erasing_leaves_no_byte_of_a_vector(durable: Bench, what: str) -> None:
    made = durable
    made.remember(*OTHERS)
    item, text = erased_case(made, what)
    made.embed()
    numbers, kept = made.numbers(text), made.numbers(OTHERS[0])
    code = np.packbits(np.frombuffer(numbers, np.int8) > 0).tobytes()
    assert [name for name, held in raw(made).items() if numbers in held]
    made.search(PARAPHRASE)
    assert made.ask(q.Erase(ids=(item,))).compaction == "done"
    for name, held in raw(made).items():
        assert numbers not in held, f"{name} holds the vector"
        assert numbers[:64] not in held and numbers[-64:] not in held, f"{name} holds a part"
        assert code not in held, f"{name} holds its bits"
    assert any(kept in held for held in raw(made).values())
    assert ref(item) not in made.vectors() and numbers not in made.all_numbers()
    made.embed()
    assert made.waiting() == (0, 0, 0) and PUPPY not in made.found(PARAPHRASE)


def test_erasing_takes_the_memo(durable: Bench) -> None:
    (item,) = durable.remember(PUPPY)
    durable.embed()
    with durable.log.reading() as log:
        key = memo_key(log.key(durable.container()), model(durable).name, ref(item))
        assert log.memo(durable.container(), key) is not None
    durable.ask(q.Erase(ids=(item,)))
    with durable.log.reading() as log:
        assert log.memo(durable.container(), key) is None


def test_erasing_lets_go_of_remembered_queries(store: Bench) -> None:
    """A query may be the very words that were erased."""
    item, *_ = store.remember(PUPPY, *OTHERS)
    store.embed()
    store.search(PUPPY)
    assert store.engine.meaning._kept
    store.ask(q.Erase(ids=(item,)))
    assert not store.engine.meaning._kept


def test_erasing_a_part_of_a_message_leaves_the_rest(durable: Bench) -> None:
    told = durable.say("The puppy resides with us", "The car is red", infer=False)
    durable.embed()
    durable.ask(q.Erase(ids=(told.items[0].facts[0],)))
    durable.embed()
    assert durable.numbers("The puppy resides with us") not in b"".join(raw(durable).values())
    assert ref(told.items[1].id) in durable.vectors() and durable.waiting() == (0, 0, 0)


# --- the past, and views folded anew


def test_undo_and_back_keep_the_ranking(made: Bench) -> None:
    made.remember(PUPPY, *OTHERS)
    told = made.say("Which pet is it?", "A small brown one", infer=False)
    made.embed()
    before = made.ranking(PARAPHRASE)
    for event in (told.items[0].event, told.group):
        undone = made.ask(q.Undo(id=event, cascade=True))
        assert made.ranking(PARAPHRASE) != before
        made.ask(q.Undo(id=undone.event))
        assert made.waiting() == (0, 0, 0), "what comes back has its vector still"
        assert made.ranking(PARAPHRASE) == before
    assert made.embed() == 0


def test_the_past_ranks_as_it_did(made: Bench) -> None:
    """What came later, what was ended and what was taken back change nothing of then."""
    made.remember(PUPPY, *OTHERS)
    told = made.say("Which pet is it?", "A small brown one")
    made.embed()
    then = made.ask(q.Stats()).info[0].position
    before = made.ranking(PARAPHRASE)
    made.remember("A terrier dwells there.", "An animal lives here.")
    made.ask(q.Undo(id=told.items[0].event, cascade=True))
    made.ask(q.Update(id=made.search("Debian").hits[0].id, text="The server runs Alpine."))
    made.embed()
    assert made.ranking(PARAPHRASE) != before
    assert made.ranking(PARAPHRASE, as_of=f"@{then}") == before


def test_a_text_that_came_before_its_vector_is_found_then_by_meaning(store: Bench) -> None:
    """Vectors are of today: the past is asked with them."""
    store.remember(PUPPY, *OTHERS)
    then = store.ask(q.Stats()).info[0].position
    store.remember("More.")
    store.embed()
    assert store.found(PARAPHRASE, as_of=f"@{then}")[0] == PUPPY


def test_a_rebuild_finds_the_same_and_embeds_nothing(made: Bench) -> None:
    told, _ = forget_one(made)
    (gone, *_) = made.remember(PUPPY, *OTHERS)
    undone = made.say("A terrier dwells there")
    made.ask(q.Undo(id=undone.group))
    made.embed()
    made.ask(q.Erase(ids=(gone,)))
    made.embed()
    asked, held = len(model(made).asked), made.vectors()
    queries = (PARAPHRASE, "car", "server", told.items[1].id)
    before = [made.ranking(query) for query in queries]
    made.ask(q.Rebuild())
    assert made.vectors() == held and made.waiting() == (0, 0, 0)
    assert [made.ranking(query) for query in queries] == before
    assert made.embed() == 0 and set(model(made).asked[asked:]) <= set(queries) | {"anything"}


def test_what_waits_is_waiting_after_a_rebuild(made: Bench) -> None:
    made.remember(PUPPY)
    made.embed()
    made.remember(*OTHERS)
    made.ask(q.Rebuild())
    assert made.waiting() == (3, 3, 3)
    made.reopen(made.embedder)
    assert made.waiting() == (3, 3, 3) and made.found(PARAPHRASE)[0] == PUPPY


# --- one store, one model


@pytest.mark.parametrize("kind", ["memory", "lmdb"])
def test_a_store_that_never_had_a_model(tmp_path: Path, kind: str) -> None:
    made = Bench(tmp_path, None, durable=kind == "lmdb")
    made.remember(PUPPY, *OTHERS)
    assert made.waiting() == (0, 0, 0) and made.found(PARAPHRASE) == []
    made.reopen(Thesaurus())
    try:
        assert made.waiting() == (4, 4, 4)
        made.embed()
        assert made.found(PARAPHRASE)[0] == PUPPY
    finally:
        made.close()


def test_another_model_is_not_compared_and_the_reply_names_both(made: Bench) -> None:
    made.remember(PUPPY, *OTHERS)
    made.embed()
    held = made.vectors()
    other = Thesaurus("thesaurus/2")
    made.reopen(other)
    made.remember("A terrier sleeps there.")
    assert made.embed() == 0 and other.asked == []
    for reply in (made.search("puppy"), made.ask(q.Context(query="puppy"))):
        assert "thesaurus/1" in reply.notes[0] and "thesaurus/2" in reply.notes[0]
        assert "rewound reembed" in reply.notes[0]
    (hit,) = made.search("puppy").hits
    assert set(hit.signals) == {"words"} and made.found(PARAPHRASE) == []
    assert other.asked == [] and made.vectors() == held
    assert made.ask(q.Jobs()).unembedded == 1
    made.reopen(Thesaurus())
    made.embed()
    assert made.search(PARAPHRASE).notes == () and made.waiting() == (0, 0, 0)
    assert set(made.found(PARAPHRASE)[:2]) == {"A terrier sleeps there.", PUPPY}


# --- odd texts


def test_texts_of_all_kinds(made: Bench) -> None:
    odd = ["!!!", "…", "🙂🙂", "é" * 3, "日本語の文です", "مرحبا بالعالم"]
    for text in odd:
        made.remember(text)
    made.say(*odd)
    made.say(q.NewMessage(content="?", name="🙂"))
    made.ask(q.Ingest(documents=(q.NewDocument(text="\n\n".join(odd)),)))
    made.embed()
    assert made.waiting() == (0, 0, 0)
    assert made.found("日本語の文です")[0] == "日本語の文です"
    for query in ("🙂", "!", "日本", "x" * 5_000):
        assert made.search(query).unembedded == 0


def test_a_long_text_is_embedded_by_its_beginning(made: Bench) -> None:
    made.say("The puppy resides with us. " + "Lorem ipsum dolor. " * 55_000)
    made.ask(q.Ingest(documents=(q.NewDocument(text="Tea is served.\n\n" * 30_000),)))
    made.embed()
    assert max(map(len, model(made).asked)) <= 8_000
    assert made.waiting() == (0, 0, 0)


def test_a_query_without_words_says_what_waits(store: Bench) -> None:
    store.remember(PUPPY, *OTHERS)
    assert store.search("🙂").unembedded == 4
