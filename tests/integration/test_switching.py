"""One model's vectors take the place of another's while the store is used."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import Conflict
from rewound.llm.embedding import EmbeddingFailed
from rewound.llm.hashing import HashingEmbedder
from rewound.memory import requests as q
from rewound.memory import switching
from rewound.memory.deciding import Memoise
from rewound.memory.embedding import EmbeddingDuty
from rewound.projections import rebuild as rebuilding
from rewound.projections.memos import Memo, decode_memo, memo_key, text_digest
from rewound.projections.rebuild import rebuild
from rewound.projections.vectors import quantise
from tests.integration.thesaurus import Bench, Thesaurus, bench, meant, nearness, ref

FACTS = [f"Her puppy number {number} resides with us." for number in range(12)]
PARAPHRASE = "which animal dwells here"
"""Shares no word with the facts, only meanings."""

OLD, NEW = "old/1", "new/1"


class Served(Thesaurus):
    """It is sent what it embeds, over a network."""

    closed = False

    def close(self) -> None:
        self.closed = True


def changed(made: Bench, new: Thesaurus | None = None, *, dimensions: int = 64) -> Thesaurus:
    """Set another model; the one before can be opened again."""
    assert made.embedder is not None
    made.before[made.embedder.name] = Thesaurus(made.embedder.name, made.embedder.dimensions)
    new = new or Thesaurus(NEW, dimensions)
    made.reopen(new)
    return new


@pytest.fixture
def made(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bench]:
    """Twelve facts with vectors of the old model; the new one has fewer dimensions."""
    with bench(tmp_path, Thesaurus(OLD, 256), durable=True) as opened:
        opened.remember(*FACTS)
        opened.embed()
        changed(opened, dimensions=getattr(request, "param", 64))
        yield opened


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small steps: a pass and a rebuild take many of them."""
    monkeypatch.setattr("rewound.memory.embedding.BATCH", 3)
    monkeypatch.setattr(switching, "LOOKED_AT_MAX", 4)
    monkeypatch.setattr(rebuilding, "SLICE", 4)


def model(made: Bench) -> Thesaurus:
    assert isinstance(made.embedder, Thesaurus)
    return made.embedder


def by_meaning(made: Bench, query: str = PARAPHRASE) -> list[str]:
    hits = made.search(query, limit=100).hits
    return sorted(hit.text for hit in hits if "meaning" in nearness(hit))


def kept(made: Bench) -> Any:
    with made.engine.reading() as views:
        return views.index.embeddings.models


def memos(made: Bench, name: str) -> dict[Any, bytes]:
    """What the log keeps of a model, by item."""
    found = {}
    with made.engine.reading() as views, made.log.reading() as log:
        container = made.container()
        columns = views.container(container).columns()
        for kind, item in zip(columns.kind, columns.item, strict=True):
            each = ref_of(int(kind), item.tobytes())
            value = log.memo(container, memo_key(log.key(container), name, each))
            if value is not None:
                found[each] = decode_memo(value).numbers.tobytes()
    return found


def ref_of(kind: int, item: bytes) -> Any:
    from rewound.eventlog.ids import Kind, Ref

    return Ref(Kind(kind), item)


# --- before, meanwhile and after


def test_the_old_model_answers_until_the_change_is_begun_and_says_so(made: Bench) -> None:
    assert by_meaning(made) == sorted(FACTS)
    for reply in (made.search(PARAPHRASE), made.ask(q.Context(query=PARAPHRASE))):
        (note,) = reply.notes
        assert OLD in note and NEW in note and "`rewound reembed`" in note
        assert "goes on answering" in note
    made.remember("A terrier sleeps in the hall.")
    made.embed()
    assert "A terrier sleeps in the hall." in by_meaning(made), "new texts get old vectors"
    assert model(made).asked == [], "nothing is made for a model before it is wanted"
    told = made.ask(q.Reembed(action="status"))
    assert (told.model, told.embedder, told.switch) == (OLD, NEW, None)
    assert "`rewound reembed`" in told.notes[0]
    (hit, *_) = made.search(PARAPHRASE).hits
    explained = made.ask(q.Explain(query=PARAPHRASE, id=hit.id))
    assert not explained.ranking.words_alone
    assert explained.notes == made.search(PARAPHRASE).notes


@pytest.mark.parametrize("made", [256, 64], indirect=True)
def test_search_goes_on_with_the_old_vectors_and_all_are_swapped_at_once(
    made: Bench, quick: None
) -> None:
    then = made.ask(q.Stats()).info[0].position
    before, held = made.ranking(PARAPHRASE), made.vectors()
    told = made.ask(q.Reembed())
    assert told.switch is not None and (told.switch.old, told.switch.new) == (OLD, NEW)
    assert (told.model, told.unembedded) == (OLD, 0)
    swapped = 0
    for _ in made.switching():
        if kept(made).model == OLD:
            assert made.ranking(PARAPHRASE) == before and made.vectors() == held
            assert made.search(PARAPHRASE).notes == ()
            switch = made.ask(q.Stats(store=True)).switch
            assert switch.old == OLD and switch.done <= switch.total
        else:
            swapped += 1
            assert made.waiting() == (0, 0, 0) and by_meaning(made) == sorted(FACTS)
            assert made.ask(q.Stats(store=True)).switch is None
    assert swapped and kept(made) == (NEW, NEW.encode(), "", ())
    assert made.search(PARAPHRASE).notes == ()
    assert sorted(text for text in model(made).asked if text in FACTS) == sorted(FACTS), "once"
    assert {len(row) for rows in made.vectors().values() for row in rows} == {
        model(made).dimensions
    }
    assert len(made.found(PARAPHRASE, as_of=f"@{then}", limit=100)) == len(FACTS)
    assert memos(made, OLD) == {} and len(memos(made, NEW)) == len(FACTS)
    assert made.ask(q.Verify()).ok
    # A rebuild gives the same, to the bit.
    after, held = made.ranking(PARAPHRASE), made.vectors()
    assert made.ask(q.Rebuild()).equal
    assert made.ranking(PARAPHRASE) == after and made.vectors() == held
    assert "already" in made.ask(q.Reembed()).notes[0]


def test_what_is_written_meanwhile_is_found_by_meaning_before_and_after(
    made: Bench, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while the words are folded anew beside the live ones."""
    written: list[str] = []

    def write() -> None:
        text = f"An animal called {len(written)} dwells there."
        made.remember(text)
        made.embed()
        written.append(text)
        assert set(by_meaning(made)) == {*FACTS, *written}

    def slow(views: Any, names: Any, **given: Any) -> Any:
        return rebuild(views, names, lambda folded: write() if len(written) < 30 else None, **given)

    monkeypatch.setattr(switching, "rebuild", slow)
    made.ask(q.Reembed())
    for _ in made.switching():
        if len(written) < 30:
            write()
        assert set(by_meaning(made)) == {*FACTS, *written}
    assert len(written) == 30 and kept(made).model == NEW
    assert made.waiting() == (0, 0, 0)
    assert made.ask(q.Rebuild()).equal and set(by_meaning(made)) == {*FACTS, *written}


def test_nothing_is_swapped_that_would_leave_a_gap(
    made: Bench, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text that the new model had no time for when it was written, during the rebuild."""
    late = "The terrier came late."
    tried: list[str] = []

    def fails(texts: Sequence[str]) -> None:
        raise EmbeddingFailed("busy elsewhere")

    def between(folded: int) -> None:
        if late not in made.found(late):
            model(made).before = fails
            made.remember(late)
            made.embed()
            model(made).before = lambda texts: None
            made.engine.meaning.nodes_are_back()

    def slow(views: Any, names: Any, **given: Any) -> Any:
        done = rebuild(views, names, between, **given)
        tried.append("swapped" if done.equal is not None else "not yet")
        return done

    monkeypatch.setattr(switching, "rebuild", slow)
    made.ask(q.Reembed())
    for _ in made.switching():
        assert set(FACTS) <= set(by_meaning(made))
        assert late not in made.found(late) or late in by_meaning(made)
    assert tried == ["not yet", "swapped"] and made.waiting() == (0, 0, 0)
    assert set(by_meaning(made)) == {*FACTS, late}


def test_what_the_new_model_refuses_keeps_nothing_back(made: Bench) -> None:
    def picky(texts: Sequence[str]) -> None:
        if FACTS[3] in texts:
            raise EmbeddingFailed("not this one")

    model(made).before = picky
    made.ask(q.Reembed())
    made.switch()
    assert kept(made).model == NEW
    assert set(by_meaning(made)) == {*FACTS} - {FACTS[3]} and made.waiting()[2] == 1
    assert FACTS[3] in made.found("number 3", limit=100)


def test_a_new_model_that_fails_changes_nothing(made: Bench) -> None:
    def fails(texts: Sequence[str]) -> None:
        raise EmbeddingFailed("gone")

    model(made).before = fails
    made.ask(q.Reembed())
    made.switch()
    made.remember("A terrier sleeps in the hall.")
    made.embed()
    assert kept(made).coming == NEW and len(by_meaning(made)) == len(FACTS) + 1
    assert made.search(PARAPHRASE).notes == ()
    model(made).before = lambda texts: None
    made.engine.meaning.nodes_are_back()
    made.switch()
    assert kept(made).model == NEW and len(by_meaning(made)) == len(FACTS) + 1


@pytest.mark.parametrize("again", [True, False])
def test_a_new_model_that_another_takes_the_place_of_is_made_of_one(
    made: Bench, quick: None, again: bool
) -> None:
    """A server has another model by then, of other dimensions, under the same name."""
    made.ask(q.Reembed())
    for _ in made.switching():
        if len(memos(made, NEW)) > 4:
            break
    other = Thesaurus(NEW, 32)
    if again:
        made.reopen(other)
    else:
        made.engine.meaning.embedder = other
    made.switch()
    assert kept(made).model == NEW and by_meaning(made) == sorted(FACTS)
    assert {len(numbers) for numbers in memos(made, NEW).values()} == {32}


def test_what_is_left_of_another_model_of_that_name_is_made_anew(made: Bench) -> None:
    made.ask(q.Reembed())
    for _ in made.switching():
        if len(memos(made, NEW)) == len(FACTS):
            break
    short = HashingEmbedder(32)
    with made.engine.reading() as views:
        secret, home = views.log.key(made.container()), made.container()
        for each in list(memos(made, NEW))[:5]:
            text = views.index.worded(home, each)[0].text or ""
            numbers, scales = quantise(short.embed([text]))
            memo = Memo(text_digest(secret, text), float(scales[0]), numbers[0])
            made.engine.memoise(Memoise(home, NEW, [(each, memo)]))
    made.reopen(Thesaurus(NEW, 64))
    made.switch()
    assert kept(made).model == NEW and by_meaning(made) == sorted(FACTS)
    assert {len(numbers) for numbers in memos(made, NEW).values()} == {64}


# --- by whom it is gone on with


def test_another_owner_goes_on_where_one_was(made: Bench, quick: None) -> None:
    made.ask(q.Reembed())
    steps = made.switching()
    for _ in range(3):
        next(steps)
    done = len(memos(made, NEW))
    assert 0 < done < len(FACTS)
    made.reopen(Thesaurus(NEW, model(made).dimensions))
    assert made.ask(q.Reembed(action="status")).switch.state == "making"
    made.switch()
    assert kept(made).model == NEW and by_meaning(made) == sorted(FACTS)
    assert len([text for text in model(made).asked if text in FACTS]) == len(FACTS) - done


def test_a_third_model_halts_it_and_may_take_its_place(made: Bench, quick: None) -> None:
    made.ask(q.Reembed())
    next(made.switching())
    third = Thesaurus("third/1", 128)
    made.reopen(third)
    told = made.ask(q.Reembed(action="status"))
    assert told.switch.state == "halted" and told.switch.new == NEW
    assert OLD in told.notes[0] and "third/1" in told.notes[0]
    made.switch()
    assert third.asked == [] and by_meaning(made) == sorted(FACTS)
    made.ask(q.Reembed())
    made.switch()
    assert kept(made).model == "third/1" and kept(made).leaving == ()
    assert memos(made, NEW) == memos(made, OLD) == {} and by_meaning(made) == sorted(FACTS)


def test_back_to_the_old_one_gives_the_change_up(made: Bench, quick: None) -> None:
    made.ask(q.Reembed())
    next(made.switching())
    made.reopen(Thesaurus(OLD, 256))
    assert "given up" in made.ask(q.Reembed()).notes[0]
    made.switch()
    assert kept(made) == (OLD, OLD.encode(), "", ()) and memos(made, NEW) == {}
    assert by_meaning(made) == sorted(FACTS) and len(memos(made, OLD)) == len(FACTS)


def test_it_is_cancelled(made: Bench, quick: None) -> None:
    with pytest.raises(Conflict, match="no change is under way"):
        made.ask(q.Reembed(action="cancel"))
    made.ask(q.Reembed())
    steps = made.switching()
    for _ in range(3):
        next(steps)
    assert memos(made, NEW)
    told = made.ask(q.Reembed(action="cancel"))
    assert told.switch is None and told.model == OLD and "given up" in told.notes[0]
    made.switch()
    assert memos(made, NEW) == {} and kept(made) == (OLD, OLD.encode(), "", ())
    assert by_meaning(made) == sorted(FACTS)
    assert made.ask(q.Reembed()).switch is not None, "it can be begun again"
    made.switch()
    assert kept(made).model == NEW and by_meaning(made) == sorted(FACTS)


def test_whenever_it_is_cancelled_nothing_is_left_of_it(made: Bench, quick: None) -> None:
    """Also the second time, by the duty that dropped what was made the first time."""
    duty = switching.SwitchDuty(made.engine)
    for _ in range(2):
        made.ask(q.Reembed())
        while len(memos(made, NEW)) < 6:
            assert duty.step() == 0.0
        made.ask(q.Reembed(action="cancel"))
        while duty.step() is not None:
            pass
        assert memos(made, NEW) == {} and kept(made) == (OLD, OLD.encode(), "", ())
    # One that is begun again while what was made before is still being dropped.
    made.ask(q.Reembed())
    while len(memos(made, NEW)) < 6:
        assert duty.step() == 0.0
    made.ask(q.Reembed(action="cancel"))
    while len(memos(made, NEW)) > 3:
        assert duty.step() == 0.0
    made.ask(q.Reembed())
    while len(memos(made, NEW)) < 6:
        assert duty.step() == 0.0
    made.ask(q.Reembed(action="cancel"))
    while duty.step() is not None:
        pass
    assert memos(made, NEW) == {}


def test_a_change_that_is_cancelled_at_the_last_moment_swaps_nothing(
    made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(views: Any, names: Any, **given: Any) -> Any:
        made.ask(q.Reembed(action="cancel"))
        return rebuild(views, names, **given)

    monkeypatch.setattr(switching, "rebuild", cancelled)
    held = made.vectors()
    made.ask(q.Reembed())
    made.switch()
    assert kept(made) == (OLD, OLD.encode(), "", ()) and made.vectors() == held
    assert by_meaning(made) == sorted(FACTS)


def test_a_model_that_cannot_be_opened_any_more_is_replaced_at_once(made: Bench) -> None:
    made.before.clear()
    made.reopen(model(made))
    (note,) = made.search("puppy").notes
    assert OLD in note and NEW in note and "`rewound reembed`" in note and "it has gone" in note
    assert by_meaning(made) == []
    told = made.ask(q.Reembed())
    assert (told.model, told.switch, told.unembedded) == (NEW, None, len(FACTS))
    made.embed()
    made.switch()
    assert by_meaning(made) == sorted(FACTS) and memos(made, OLD) == {}


def test_a_model_that_goes_in_mid_change_leaves_words(made: Bench, quick: None) -> None:
    made.ask(q.Reembed())
    next(made.switching())
    made.before.clear()
    made.reopen(model(made))
    (note,) = made.search("puppy").notes
    assert OLD in note and NEW in note and "--status" in note
    late = "The terrier came late."
    made.remember(late)
    made.embed()
    assert made.found(late)[0] == late and by_meaning(made) == []
    made.switch()
    assert set(by_meaning(made)) == {*FACTS, late} and made.waiting() == (0, 0, 0)


def test_the_old_vectors_can_be_dropped_at_once(made: Bench) -> None:
    told = made.ask(q.Reembed(now=True))
    assert told.model == NEW and made.vectors() == {}
    before = made.before[OLD]
    assert isinstance(before, Thesaurus) and before.asked == []
    made.embed()
    made.switch()
    assert by_meaning(made) == sorted(FACTS) and memos(made, OLD) == {}


def test_with_no_embedder_set_nobody_is_asked(made: Bench) -> None:
    made.reopen(None)
    assert by_meaning(made) == [] and made.search("puppy").notes == ()
    with pytest.raises(Conflict, match="no embedder is set"):
        made.ask(q.Reembed())
    told = made.ask(q.Reembed(action="status"))
    assert (told.model, told.notes) == (OLD, ("no embedder is set: words alone find",))


# --- what is taken back meanwhile


@pytest.fixture
def mixed(tmp_path: Path) -> Iterator[Bench]:
    """One message, with the old model's vectors; the new one is a server."""
    with closing(Bench(tmp_path, Thesaurus(OLD, 256), durable=True)) as opened:
        opened.remember(*FACTS)
        opened.embed()
        changed(opened, Served(NEW, 64))
        yield opened


@pytest.mark.parametrize("when", ["before", "in the middle"])
def test_what_is_forgotten_is_sent_to_no_server_until_it_is_restored(
    mixed: Bench, quick: None, when: str
) -> None:
    made = mixed
    secret = "Her pet is a secret of hers."
    (item,) = made.remember(secret)
    made.embed()
    if when == "before":
        made.ask(q.Forget(ids=(item,)))
    made.ask(q.Reembed())
    steps = made.switching()
    next(steps)
    if when == "in the middle":
        made.ask(q.Forget(ids=(item,)))
    for _ in steps:
        assert secret not in made.found(PARAPHRASE, limit=100)
    assert kept(made).model == NEW and secret not in model(made).asked
    assert by_meaning(made) == sorted(FACTS)
    made.ask(q.Restore(ids=(item,)))
    made.embed()
    assert secret in model(made).asked and secret in by_meaning(made)


def test_what_is_restored_meanwhile_is_found_before_and_after(mixed: Bench, quick: None) -> None:
    made = mixed
    secret = "Her pet is a secret of hers."
    (item,) = made.remember(secret)
    made.embed()
    made.ask(q.Forget(ids=(item,)))
    made.ask(q.Reembed())
    steps = made.switching()
    for _ in range(6):
        next(steps)
    made.ask(q.Restore(ids=(item,)))
    assert secret in by_meaning(made), "its old vector is there still"
    for _ in steps:
        assert secret in by_meaning(made)
    assert kept(made).model == NEW


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_what_is_erased_vanishes_from_both_sets(mixed: Bench, quick: None, steps: int) -> None:
    made = mixed
    secret = "Her pet is a secret of hers."
    (item,) = made.remember(secret)
    made.embed()
    made.ask(q.Reembed())
    going = made.switching()
    for _ in range(steps):
        next(going)
    made.ask(q.Erase(ids=(item,)))
    assert ref(item) not in memos(made, OLD) and ref(item) not in memos(made, NEW)
    for _ in going:
        assert secret not in made.found(PARAPHRASE, limit=100)
        assert ref(item) not in memos(made, OLD) and ref(item) not in memos(made, NEW)
    assert kept(made).model == NEW and by_meaning(made) == sorted(FACTS)
    assert made.numbers(secret) not in made.all_numbers()
    assert made.ask(q.Verify()).ok and made.ask(q.Rebuild()).equal


def test_what_is_erased_while_it_is_embedded_is_kept_of_no_model(mixed: Bench) -> None:
    made = mixed
    secret = "Her pet is a secret of hers."
    (item,) = made.remember(secret)
    made.embed()
    erased: list[str] = []

    def erase(texts: Sequence[str]) -> None:
        if secret in texts and not erased:
            erased.append(item)
            made.ask(q.Erase(ids=(item,)))

    model(made).before = erase
    made.ask(q.Reembed())
    made.switch()
    assert erased and ref(item) not in memos(made, NEW) and kept(made).model == NEW
    assert made.numbers(secret) not in made.all_numbers()


SECRET = "A secret puppy called zebra42 dwells."


def left_of_the_secret(made: Bench) -> list[bytes]:
    """What of its words and of its vectors stands in any file."""
    sizes = (model(made).dimensions, 256)
    numbers = [quantise(HashingEmbedder(d).embed([meant(SECRET)]))[0].tobytes() for d in sizes]
    files = [file.read_bytes() for file in made.folder.rglob("*") if file.is_file()]
    return [each for each in (b"zebra42", *numbers) if any(each in file for file in files)]


@pytest.mark.parametrize("slices", [2, 4, 5, 6])
@pytest.mark.parametrize("what", ["switch", "rebuild", "broken off"])
def test_what_is_erased_while_views_are_built_beside_is_in_no_file(
    made: Bench, quick: None, monkeypatch: pytest.MonkeyPatch, what: str, slices: int
) -> None:
    """Neither in what a rebuild has folded so far, nor in what one that was killed has left."""
    secret = tuple(made.remember(SECRET))
    made.remember(*(f"another thing {number}" for number in range(8)))
    made.embed()
    folded: list[int] = []
    erased: list[str] = []

    def erase() -> None:
        assert left_of_the_secret(made)
        erased.append(made.ask(q.Erase(ids=secret)).compaction)
        assert left_of_the_secret(made) == []

    def between(count: int) -> None:
        folded.append(count)
        if len(folded) == slices:
            if what == "broken off":
                raise KeyboardInterrupt
            erase()

    def slow(views: Any, names: Any, **given: Any) -> Any:
        return rebuild(views, names, between, **given)

    monkeypatch.setattr(switching, "rebuild", slow)
    monkeypatch.setattr("rewound.memory.store_requests.rebuild_views", slow)
    if what == "switch":
        made.ask(q.Reembed())
        made.switch()
        assert kept(made).model == NEW
    elif what == "rebuild":
        assert made.ask(q.Rebuild()).equal
    else:
        with pytest.raises(KeyboardInterrupt):
            made.ask(q.Rebuild())
        made.reopen(made.embedder)
        erase()
    assert erased == ["done"]
    assert made.ask(q.Rebuild()).equal
    assert set(FACTS) < set(by_meaning(made)) and SECRET not in by_meaning(made)


@pytest.mark.parametrize("doing", [q.Forget, q.Erase])
@pytest.mark.parametrize("steps", [0, 1, 6])
def test_blacked_out_words_are_in_no_new_vector(
    tmp_path: Path, quick: None, steps: int, doing: type[q.Forget] | type[q.Erase]
) -> None:
    """A message whose fact is forgotten is found by what is left of it."""
    with closing(Bench(tmp_path, Thesaurus(OLD, 256), durable=True)) as made:
        told = made.say("The puppy resides with us", "The car is red", infer=False)
        made.remember(*FACTS[:6])
        message, fact = told.items[0].id, told.items[0].facts[0]
        made.embed()
        changed(made)
        made.ask(q.Reembed())
        going = made.switching()
        for _ in range(steps):
            next(going)
        made.ask(doing(ids=(fact,)))
        made.embed()
        for _ in going:
            assert fact not in [hit.id for hit in made.search(PARAPHRASE).hits]
        whole = made.numbers("The puppy resides with us")
        assert kept(made).model == NEW and made.waiting()[0] == 0
        assert whole not in made.vectors().get(ref(message), ())
        assert ref(told.items[1].id) in made.vectors()


# --- at once with others


def test_a_rebuild_beside_it_waits_its_turn(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rebuilds would drop each other's databases."""
    others: list[threading.Thread] = []
    equal: list[bool] = []

    def beside(folded: int) -> None:
        if not others:
            thread = threading.Thread(target=lambda: equal.append(made.ask(q.Rebuild()).equal))
            others.append(thread)
            thread.start()

    def together(views: Any, names: Any, **given: Any) -> Any:
        return rebuild(views, names, beside, **given)

    monkeypatch.setattr(rebuilding, "SLICE", 4)
    monkeypatch.setattr(switching, "rebuild", together)
    made.ask(q.Reembed())
    made.switch()
    (thread,) = others
    thread.join(60)
    assert equal == [True] and kept(made).model == NEW and by_meaning(made) == sorted(FACTS)


def test_closing_in_mid_swap_leaves_all_as_it_was(
    made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuilding, "SLICE", 4)

    def hurried(views: Any, names: Any, **given: Any) -> Any:
        return rebuild(views, names, lambda folded: made.engine.hurry(), **given)

    monkeypatch.setattr(switching, "rebuild", hurried)
    held = made.vectors()
    made.ask(q.Reembed())
    steps = made.switching()
    while kept(made).model == OLD and not made.engine.closing:
        next(steps)
    assert made.vectors() == held
    monkeypatch.setattr(switching, "rebuild", rebuild)
    made.reopen(Thesaurus(NEW, model(made).dimensions))
    assert kept(made).coming == NEW
    made.switch()
    assert kept(made).model == NEW and by_meaning(made) == sorted(FACTS)
    assert [text for text in model(made).asked if text in FACTS] == [], "its memos were there"


def test_replay_to_a_moment_before_ranks_as_the_store_does(made: Bench, quick: None) -> None:
    then = made.ask(q.Stats()).info[0].position
    made.ask(q.Reembed())
    going = made.switching()
    next(going)
    made.remember("A terrier sleeps in the hall.")
    assert made.ask(q.Replay(at=f"@{then}")).agrees
    for _ in going:
        pass
    made.embed()
    assert made.ask(q.Replay(at=f"@{then}")).agrees


Question = Callable[[Bench], Any]


@pytest.mark.parametrize(
    "ask",
    [
        lambda made: made.ask(q.Context(query=PARAPHRASE)).text,
        lambda made: made.ask(q.Forget(similar=PARAPHRASE, dry_run=True)).notes,
        lambda made: made.search(PARAPHRASE, filters=q.Filters(kinds=("fact",))).hits,
    ],
)
def test_other_questions_go_on_too(made: Bench, ask: Question) -> None:
    made.reopen(Thesaurus(OLD, 256))
    before = ask(made)
    made.reopen(Thesaurus(NEW, 64))
    made.ask(q.Reembed())
    assert ask(made) == before


def test_all_queries_of_a_question_are_embedded_by_the_model_that_is_searched(made: Bench) -> None:
    meaning, asked = made.engine.meaning, q.Search(query=PARAPHRASE)
    made.search(PARAPHRASE)
    meant = meaning.besides(meaning.asked(asked), ("a terrier", "a vehicle"), 60.0)
    assert [query.model for query in meant.queries.values()] == [OLD] * 3
    made.ask(q.Reembed())
    made.switch()
    made.search(PARAPHRASE)
    assert meaning.besides(meant, ("a pet",), 60.0) == meant, "they are of another model now"
    meant = meaning.besides(meaning.asked(asked), ("a terrier", "a vehicle"), 60.0)
    assert [query.model for query in meant.queries.values()] == [NEW] * 3


def test_new_texts_are_embedded_by_the_new_model_first(made: Bench) -> None:
    """So that what has an old vector has a new one to come."""
    made.ask(q.Reembed())
    late = "The terrier came late."
    (item,) = made.remember(late)
    order: list[str] = []
    model(made).before = lambda texts: order.append(NEW)
    before = made.before[OLD]
    assert isinstance(before, Thesaurus)
    before.before = lambda texts: order.append(OLD)
    EmbeddingDuty(made.engine).step()
    assert order == [NEW, OLD] and ref(item) in memos(made, NEW)
