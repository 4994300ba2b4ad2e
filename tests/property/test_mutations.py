"""Each law's check catches a mistake of the product, made here on purpose.

    law          the product is changed so that                         caught by
    1 replay     live folds leave out edits of tags                     replay_law
    1 waiting    what has been done stays listed as waiting             replay_law
    1 judging    a repeat counts as a version taken over                replay_law
    1 judging    a repeat cannot be lifted                              replay_law
    1 judging    a word on a judging that was taken back is kept        rows of a hand-made log
    1 judging    a pair waits for a person who has spoken               replay_law
    1 summaries  of summaries that end alike only the newest is kept    replay_law
    2 time       `@position` reads the present                          time_law
    2 time       an answer is drawn from what is known today            time_law
    2 time       BM25 counts entries that were not there yet            time_law
    2 recent     summaries are those of today at every moment           recent_law
    3 undo       an undo re-folds nothing                               BeforeUndo
    3 judging    a fit that was undone is still in force                BeforeUndo
    3 judging    a fact whose judging was undone is not judged again    BeforeUndo
    3 summaries  a summary that was undone is kept beside another       BeforeUndo
    3 due        a summary that was undone is written again             due_law
    4 forget     a forgotten item is shown by its id                    forget_law
    4 forget     an answer is drawn from what was forgotten             forget_law
    4 forget     nothing is blacked out in what a fact came from        forgetting_law
    4 recent     a summary is shown whatever it tells of                forget_law
    4 summaries  what a summary goes on from is not looked at           forget_law
    5 erase      only the first body of each event is destroyed         erase_law
    5 summaries  a summary that goes on from an erased one is kept      erase_law
    6 isolation  a read is answered from another container              stranger_law
    7 durability an idempotency key is not looked up                    the simulator
    7 durability the log says it has committed, and has not             the simulator
    8 honesty    sources whose facts are to come are not told           jobs_law
    8 honesty    only the first document of a request is taken          honesty_law
    9 purity     a fold asks for the time                               the guard
    9 purity     a decider throws dice                                  the guard
    1 vectors    a change of models folds the memos of the old one      text_law
    1 vectors    models are swapped although a vector is missing        vectors before and after
   10 chain      verify keeps what it finds in a container to itself    damage to a copy

Every case runs twice: as the product is, where the check holds, and changed, where it fails.
"""

import itertools
import random
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from rewound.eventlog import events as e
from rewound.eventlog import verify
from rewound.eventlog.errors import NotFound
from rewound.eventlog.lmdb_writer import LmdbWriter
from rewound.memory import (
    answer_items,
    answer_search,
    answering,
    answers,
    applying,
    deciding,
    moments,
    requests,
    switching,
    vector_making,
    withholding,
)
from rewound.memory.transactions import Transactions
from rewound.projections import bm25, embeddings, fold, ranking
from rewound.projections import rebuild as rebuilding
from rewound.projections.columns import OPEN, Columns
from rewound.projections.embeddings import Embeddings
from rewound.projections.index import Index
from rewound.projections.reader import ContainerView
from rewound.projections.rows import OPEN as OPEN_ROW
from rewound.projections.rows import Table
from rewound.projections.selection import Selected
from rewound.projections.views import ViewWriter
from tests.property import checks, judging_mutations, meanings, summing_mutations
from tests.property.driver import Driver
from tests.property.mutating import NAME, Case, Patch, opened, remember
from tests.property.test_chain import damaged
from tests.sim.simulator import Simulator

pytestmark = pytest.mark.slow

# --- what is done, and checked


def replay(folder: Path) -> None:
    with opened(folder) as driver:
        (item,) = remember(driver, "Ann likes teaq0")
        driver.call(requests.Update(container=NAME, id=item.id, add_tags=("tagq1",)))
        checks.replay_law(driver, NAME)


def taken_back(folder: Path) -> None:
    """A fact that waited to be judged."""
    with opened(folder) as driver:
        (item,) = remember(driver, "Ann likes teaq0")
        driver.call(requests.Undo(container=NAME, id=item.event))
        checks.replay_law(driver, NAME)


def as_of(folder: Path) -> None:
    with opened(folder) as driver:
        remember(driver, "Ann likes teaq0", "Bob likes coffee", "Ann likes teaq0 with milk")
        position = driver.head(NAME).position
        remember(driver, "Ann likes juice", "Ann moved to townq4", "Bob likes teaq0")
        copy = Driver(folder / "copy", durable=False)
        try:
            checks.time_law(driver, NAME, position, copy)
        finally:
            copy.close()


def masked(folder: Path) -> None:
    with opened(folder, meaning=True) as driver:
        forget_one(driver)
        meanings.meaning_law(driver, NAME)
        driver.embed()
        meanings.meaning_law(driver, NAME, drained=True)


def changed(folder: Path) -> None:
    """Another model's vectors take the place of the first one's. The passes overlook a text, once:
    whatever has a vector keeps one all the same."""
    with opened(folder, meaning=True) as driver, pytest.MonkeyPatch.context() as patch:
        remember(driver, "Ann likes teaq0", "Bob likes coffee")
        driver.embed()
        driver.change_model()
        overlooked: list[Any] = []
        whole = vector_making.known_memo

        def once(log: Any, container: Any, model: str, item: Any, text: str, width: Any) -> Any:
            if len(overlooked) < switching.PASSES_MAX - 1 and "coffee" in text:
                overlooked.append(item)
                return "there"
            return whole(log, container, model, item, text, width)

        patch.setattr(switching, "known_memo", once)
        driver.switch()
        assert driver.kept() is not None and overlooked
        held = meanings.vectors(driver, NAME)
        lost = [version for version, each in held.items() if meanings.WAITS in each]
        assert not lost, f"meaning: {lost} lost their vectors in the swap"
        meanings.meaning_law(driver, NAME, drained=True)


def talk(driver: Driver, *texts: str) -> list[Any]:
    messages = tuple(requests.NewMessage(content=text) for text in texts)
    asked = requests.AddMessages(container=NAME, messages=messages, conversation="talk")
    return list(driver.call(asked).items)


def as_of_vectors(folder: Path) -> None:
    """Messages of a talk, of which the first is taken back and one is forgotten in part."""
    with opened(folder, meaning=True) as driver, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "SIEVE_FROM", 4)
        patch.setattr(ranking, "SIEVE_KEPT", 1)
        first, *_ = talk(driver, "Bob likes teapots", "Ann moved to townq4")
        forget_one(driver)
        position = driver.head(NAME).position
        driver.call(requests.Undo(container=NAME, id=first.event, cascade=True))
        remember(driver, *(f"Bob moved to townq{n}" for n in range(5, 10)))
        copy = Driver(folder / "copy", durable=False, meaning=True)
        try:
            checks.time_law(driver, NAME, position, copy)
        finally:
            copy.close()


def undo_vectors(folder: Path) -> None:
    with opened(folder, meaning=True) as driver:
        first, *_ = talk(driver, "Bob likes teapots", "Ann moved to townq4")
        driver.embed()
        checks.undo_twice_law(driver, NAME, first.event)


def undo(folder: Path) -> None:
    with opened(folder) as driver:
        (item,) = remember(driver, "Ann likes teaq0")
        edited = driver.call(requests.Update(container=NAME, id=item.id, text="Ann likes milk"))
        before = checks.BeforeUndo(driver, NAME)
        before.check(driver.call(requests.Undo(container=NAME, id=edited.items[0].event)))


def forget_one(driver: Driver) -> None:
    """A fact drawn from a message, forgotten; the message is not."""
    message = requests.NewMessage(content="Ann likes teaq0")
    reply = driver.call(requests.AddMessages(container=NAME, messages=(message,), infer=False))
    driver.embed()
    driver.call(requests.Forget(container=NAME, ids=reply.items[0].facts))


def forget(folder: Path) -> None:
    with opened(folder) as driver:
        forget_one(driver)
        checks.forget_law(driver, NAME, range(1, driver.head(NAME).position + 1))


def forget_found(folder: Path) -> None:
    """What is asked for finds it, and it says more than that."""
    with opened(folder) as driver:
        (item,) = remember(driver, "Ann likes teaq0 and figsq9")
        driver.embed()
        driver.call(requests.Forget(container=NAME, ids=(item.id,)))
        checks.forget_law(driver, NAME)


def forgetting(folder: Path) -> None:
    with opened(folder) as driver:
        forget_one(driver)
        checks.forgetting_law(driver, NAME)


def erase(folder: Path) -> None:
    with opened(folder, durable=True) as driver:
        (item,) = remember(
            driver, "Ann likes teaq0", id="callerq1", tags=("tagq1",), metadata={"noteq1": "metaq1"}
        )
        remember(driver, "Bob likes teaq3")
        kept = checks.Kept()
        kept.look(driver, NAME)
        driver.call(requests.Erase(container=NAME, ids=(item.id,)))
        assert kept.gone(driver, NAME) >= {"teaq0", "callerq1", "tagq1", "metaq1"}
        checks.erase_law(driver, NAME, kept)


def isolation(folder: Path) -> None:
    with opened(folder) as driver:
        remember(driver, "Ann likes teaq0")
        remember(driver, "Bob likes teaq3", name="beta")
        checks.stranger_law(driver, NAME, "beta")


def durability(folder: Path) -> None:
    simulator = Simulator(folder, 5, crash_every=4)
    try:
        simulator.run(60)
    finally:
        simulator.close()


def jobs(folder: Path) -> None:
    with opened(folder) as driver:
        document = requests.NewDocument(text="Ann likes teaq0")
        driver.call(requests.Ingest(container=NAME, documents=(document,)))
        checks.jobs_law(driver, NAME)


def honesty(folder: Path) -> None:
    with opened(folder) as driver:
        documents = tuple(requests.NewDocument(text=f"Ann likes teaq{n}") for n in range(2))
        request = requests.Ingest(container=NAME, documents=documents)
        checks.honesty_law(request, driver.call(request), driver)


def purity(folder: Path) -> None:
    with opened(folder) as driver:
        remember(driver, "Ann likes teaq0")


def chain(folder: Path) -> None:
    with opened(folder, durable=True) as driver:
        remember(driver, *(f"Ann likes teaq{n}" for n in range(9)))
    for seed in range(12):
        assert damaged(folder / "store", folder / f"copy-{seed}", seed), "chain: a flipped bit"


# --- how the product is changed


def folds_without_tag_edits(patch: Patch) -> None:
    whole = ViewWriter.fold

    def lossy(self: ViewWriter, recorded: Iterable[Any], log: Any, **more: Any) -> Any:
        kept = [r for r in recorded if not isinstance(r.event, e.TagsEdited)]
        return whole(self, kept, log, **more)

    patch.setattr(ViewWriter, "fold", lossy)


def lists_what_is_done(patch: Patch) -> None:
    whole = Table.put

    def put(self: Table[Any], txn: Any, container: bytes, row: Any) -> None:
        with patch.context() as inner:
            if row.closed != OPEN_ROW:
                inner.setattr(self, "_waiting", None)
            whole(self, txn, container, row)

    patch.setattr(Table, "put", put)


def positions_are_now(patch: Patch) -> None:
    def head(view: ContainerView, text: str, now_us: int, field: str) -> moments.Point:
        return moments.Point(view.position, now_us)

    patch.setattr(moments, "_at_position", head)


def counts_everything(patch: Patch) -> None:
    counted = bm25.statistics
    patch.setattr(bm25, "statistics", lambda length, mask: counted(length, np.ones_like(mask)))


def masks_keep_vectors(patch: Patch) -> None:
    patch.setattr(Index, "_drop_vectors", lambda *_: None)


def follows_what_stands_today(patch: Patch) -> None:
    whole = ranking.previous

    def today(columns: Columns, counted: Any) -> Any:
        return whole(columns, counted & (columns.closed == OPEN))

    patch.setattr(ranking, "previous", today)


def counts_vectors_of_today(patch: Patch) -> None:
    whole = ranking.compare

    def today(txn: Any, store: Any, home: Any, selected: Selected, *more: Any) -> Any:
        everything = selected._replace(counted=np.ones_like(selected.counted))
        return whole(txn, store, home, everything, *more)

    patch.setattr(ranking, "compare", today)


def memos_fit_any_text(patch: Patch) -> None:
    for module in (embeddings, vector_making, applying):
        patch.setattr(module, "text_digest", lambda *_: bytes(16))


def folds_pass_over_memos(patch: Patch) -> None:
    """Only the worker's own thread brings vectors; what opens later waits."""
    whole = Embeddings.opened

    def forgetful(self: Embeddings, container: Any, worded: Any) -> int:
        with patch.context() as inner:
            if sys._getframe(1).f_code.co_name != "embed":
                inner.setattr(type(self._log), "memo", lambda *_: None)
            return whole(self, container, worded)

    patch.setattr(Embeddings, "opened", forgetful)


def swaps_without_a_look(patch: Patch) -> None:
    patch.setattr(switching, "is_complete", lambda *_: True)


def swaps_the_name_alone(patch: Patch) -> None:
    whole = rebuilding._begin

    def old(writer: Any, chosen: Any, model: Any) -> Any:
        fresh = whole(writer, chosen, model)
        fresh.model = writer.handles.live.model
        return fresh

    patch.setattr(rebuilding, "_begin", old)
    swaps_without_a_look(patch)


def undo_refolds_nothing(patch: Patch) -> None:
    patch.setattr(fold, "flipped", lambda *_: [])


def shows_what_is_forgotten(patch: Patch) -> None:
    patch.setattr(answer_items, "_check_shown", lambda *_: None)


def answers_from_what_is_forgotten(patch: Patch) -> None:
    _gathers(patch, include_forgotten=True)


def answers_from_today(patch: Patch) -> None:
    _gathers(patch, as_of=None)


def _gathers(patch: Patch, **otherwise: Any) -> None:
    whole = answer_search.picked

    def picked(question: Any, asking: Any) -> Any:
        return whole(msgspec.structs.replace(question, **otherwise), asking)

    patch.setattr("rewound.memory.answer_ask.picked", picked)


def masks_nothing(patch: Patch) -> None:
    patch.setattr(withholding, "sources", lambda *_: ())


def destroys_first_bodies_only(patch: Patch) -> None:
    whole = LmdbWriter.erase

    def sparing(self: LmdbWriter, container: Any, places: Iterable[Any], items: Any) -> int:
        return whole(self, container, [place for place in places if place.slot == 0], items)

    patch.setattr(LmdbWriter, "erase", sparing)


def reads_another_container(patch: Patch) -> None:
    def home(self: answering.Asking) -> Any:
        found = deciding.container_named(self.log, "beta") or self.container
        if found is None:
            raise NotFound("none")
        return found

    patch.setattr(answering.Asking, "home", home)


def forgets_keys(patch: Patch) -> None:
    patch.setattr(answers, "find", lambda *_: None)


def commits_nothing(patch: Patch) -> None:
    """Every fifth time."""
    times = itertools.count(1)
    commit_log, commit_views = Transactions.commit_log, Transactions.commit_views

    def pretended(self: Transactions) -> None:
        if next(times) % 5:
            commit_log(self)
        else:
            self._roll_back(NotFound("nothing to keep"))

    def unless_pretended(self: Transactions) -> None:
        if self._folding is not None:
            commit_views(self)

    patch.setattr(Transactions, "commit_log", pretended)
    patch.setattr(Transactions, "commit_views", unless_pretended)


def tells_no_jobs(patch: Patch) -> None:
    patch.setattr(ContainerView, "jobs", lambda self, at=None: iter(()))
    patch.setattr(ContainerView, "all_jobs", lambda self, at=None: iter(()))


def takes_the_first_document(patch: Patch) -> None:
    table: dict[Any, Any] = deciding.load()
    whole = table[requests.Ingest]

    def first(command: requests.Ingest, given: deciding.Deciding) -> Any:
        less = requests.Ingest(container=command.container, documents=command.documents[:1])
        return whole(less, given)

    patch.setitem(table, requests.Ingest, first)


def fold_asks_the_time(patch: Patch) -> None:
    whole = ViewWriter.fold

    def timed(self: ViewWriter, *given: Any, **more: Any) -> Any:
        time.time()
        return whole(self, *given, **more)

    patch.setattr(ViewWriter, "fold", timed)


def decider_throws_dice(patch: Patch) -> None:
    table: dict[Any, Any] = deciding.load()
    whole = table[requests.Remember]

    def thrown(command: Any, given: deciding.Deciding) -> Any:
        random.random()
        return whole(command, given)

    patch.setitem(table, requests.Remember, thrown)


def verify_keeps_silent(patch: Patch) -> None:
    patch.setattr(verify._Container, "_found", lambda *_: None)
    patch.setattr(verify._Verification, "found", lambda *_: None)


CASES = {
    "1 replay": Case(folds_without_tag_edits, replay, "replay: "),
    "1 waiting": Case(lists_what_is_done, taken_back, "replay: rows of unjudged"),
    **judging_mutations.CASES,
    **summing_mutations.CASES,
    "2 time": Case(positions_are_now, as_of, "time: "),
    "2 time, answers": Case(answers_from_today, as_of, "time: "),
    "2 time, ranking": Case(counts_everything, as_of, "time: "),
    "1 vectors, masks": Case(masks_keep_vectors, masked, "meaning: "),
    "1 vectors, memos": Case(folds_pass_over_memos, masked, "meaning: "),
    "2 vectors, previous": Case(follows_what_stands_today, as_of_vectors, "time: "),
    "2 vectors, count": Case(counts_vectors_of_today, as_of_vectors, "time: "),
    "2 vectors, digest": Case(memos_fit_any_text, as_of_vectors, "time: "),
    "1 vectors, gap": Case(swaps_without_a_look, changed, "meaning: "),
    "1 vectors, model": Case(swaps_the_name_alone, changed, "meaning: "),
    "3 vectors": Case(folds_pass_over_memos, undo_vectors, "undo: "),
    "3 undo": Case(undo_refolds_nothing, undo, "undo: "),
    "4 forget": Case(shows_what_is_forgotten, forget, "forget: "),
    "4 forget, answers": Case(answers_from_what_is_forgotten, forget_found, "forget: "),
    "4 forget, masks": Case(masks_nothing, forgetting, "forget: "),
    "5 erase": Case(destroys_first_bodies_only, erase, "erase: "),
    "6 isolation": Case(reads_another_container, isolation, "isolation: "),
    "7 durability, once": Case(forgets_keys, durability, ""),
    "7 durability, commit": Case(commits_nothing, durability, ""),
    "8 honesty, jobs": Case(tells_no_jobs, jobs, "honesty: "),
    "8 honesty, items": Case(takes_the_first_document, honesty, "honesty: "),
    "9 purity, folds": Case(fold_asks_the_time, purity, "time.time "),
    "9 purity, deciders": Case(decider_throws_dice, purity, "random.random "),
    "10 chain": Case(verify_keeps_silent, chain, "chain: "),
}
CHECKS = {case.check.__name__: case.check for case in CASES.values()}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_the_product_as_it_is_keeps_the_law(check: Callable[[Path], None], tmp_path: Path) -> None:
    check(tmp_path)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_change_of_the_product_is_caught(case: Case, tmp_path: Path, monkeypatch: Patch) -> None:
    case.change(monkeypatch)
    with pytest.raises(AssertionError) as caught:
        case.check(tmp_path)
    assert str(caught.value).startswith(case.told), str(caught.value)
