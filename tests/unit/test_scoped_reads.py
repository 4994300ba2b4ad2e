"""A read within a scope sees what is in it: filters narrow, and the rest is like what is absent."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rewound.eventlog.errors import NotFound
from rewound.eventlog.ids import as_uuid, parse_any
from rewound.memory import requests as q
from rewound.memory.library import AsyncMemory, Memory
from tests.unit.given import Store, open_store

ANN, BOB = q.Scope(user="ann"), q.Scope(user="bob")
NEITHER = "fact_" + "0" * 26
WHATS: tuple[q.What, ...] = ("fact", "passage", "message", "document")


class Both(NamedTuple):
    """A store in which Ann and Bob have one of each sort, and the ids of their items."""

    store: Store
    ann: dict[str, str]
    bob: dict[str, str]

    def ask(self, kind: type[q.Read], scope: q.Scope = ANN, **fields: Any) -> Any:
        return self.store.ask(kind(container=self.store.name, scope=scope, **fields))


def filled(store: Store, scope: q.Scope) -> dict[str, str]:
    name = scope.user
    it: dict[str, Any] = {"container": store.name, "scope": scope}
    text = f"The notes of {name} about tea."
    ids = {
        "fact": q.Remember(facts=(q.NewFact(text=f"{name} likes tea."),), **it),
        "document": q.Ingest(documents=(q.NewDocument(text=text, id="notes"),), **it),
        "message": q.AddMessages(messages=(q.NewMessage(content=f"Tea, says {name}."),), **it),
    }
    made = {what: store.ask(command).items[0].id for what, command in ids.items()}
    passages = store.ask(
        q.List(container=store.name, what="passage", filters=q.Filters(source=made["document"]))
    )
    return {**made, "passage": passages.items[0].id}


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    with open_store(tmp_path) as store:
        store.remember("Nobody's tea.")
        yield Both(store, filled(store, ANN), filled(store, BOB))


def refused(both: Both, kind: type[q.Read], scope: q.Scope = ANN, **fields: Any) -> str:
    """What is said of an item, its id left out."""
    field = "about" if "about" in fields else "id"
    with pytest.raises(NotFound) as caught:
        both.ask(kind, scope, **fields)
    assert caught.value.ids == (fields[field],) and caught.value.field == field
    return caught.value.message.replace(fields[field], "…")


# --- what is found


@pytest.mark.parametrize("what", WHATS)
def test_lists_show_what_is_in_the_scope(both: Both, what: q.What) -> None:
    page = both.ask(q.List, what=what)
    assert [item.id for item in page.items] == [both.ann[what]] and page.total == 1
    assert both.ask(q.List, q.Scope(), what=what).total == (3 if what == "fact" else 2)


def test_search_and_context_find_what_is_in_the_scope(both: Both) -> None:
    for limit in (1, 10):
        hits = both.ask(q.Search, query="tea bob notes", limit=limit).hits
        assert {hit.id for hit in hits} <= set(both.ann.values()) and hits
    packed = both.ask(q.Context, query="tea bob notes")
    assert packed.lines and "bob" not in packed.text
    assert {line.id for line in packed.lines} <= set(both.ann.values())


def test_a_filter_narrows_and_never_widens(both: Both) -> None:
    bobs, open_ = q.Filters(scope=BOB), q.Filters(scope=q.Scope(run="7"))
    for filters in (bobs, open_):
        assert both.ask(q.Search, query="tea", filters=filters).hits == ()
        assert both.ask(q.Context, query="tea", filters=filters).lines == ()
        assert both.ask(q.List, filters=filters).total == 0
    run = q.Scope(user="ann", run="7")
    (fact,) = both.store.remember("Tea in the run.", scope=run)
    assert [item.id for item in both.ask(q.List, filters=open_).items] == [fact]
    assert both.ask(q.List, filters=q.Filters(scope=ANN)).total == 2
    of_bob = q.Filters(source=both.bob["document"])
    assert both.ask(q.Search, query="tea", filters=of_bob).hits == ()


def test_a_cursor_is_of_one_scope(both: Both) -> None:
    both.store.remember("More tea.", scope=ANN)
    cursor = both.ask(q.List, limit=1).cursor
    assert both.ask(q.List, limit=1, cursor=cursor).items[0].text == "More tea."
    with pytest.raises(Exception, match="not from this list"):
        both.ask(q.List, BOB, limit=1, cursor=cursor)


# --- by id


@pytest.mark.parametrize("what", WHATS)
def test_an_item_of_another_is_like_one_that_is_not_there(both: Both, what: q.What) -> None:
    assert both.ask(q.Get, id=both.ann[what]).item.id == both.ann[what]
    assert both.ask(q.History, id=both.ann[what]).versions
    assert both.ask(q.Events, about=both.ann[what]).events
    theirs = both.bob[what]
    raw = parse_any(theirs)[1]
    for shown in (theirs, str(as_uuid(raw))):
        for kind in (q.Get, q.History):
            assert refused(both, kind, id=shown) == refused(both, kind, id=NEITHER)
        assert refused(both, q.Events, about=shown) == refused(both, q.Events, about=NEITHER)
    assert refused(both, q.Get, q.Scope(user="ann", run="7"), id=both.ann[what])


def test_what_became_of_it_is_not_told_either(both: Both) -> None:
    both.store.forget(both.bob["fact"], both.ann["fact"])
    erase = q.Erase(container=both.store.name, ids=(both.bob["message"],), wait=False)
    both.store.ask(erase)
    for what in ("fact", "message"):
        for kind in (q.Get, q.History):
            gone = refused(both, kind, id=both.bob[what], include_forgotten=True)
            assert gone == refused(both, kind, id=NEITHER)
    with pytest.raises(NotFound, match="is forgotten"):
        both.ask(q.Get, id=both.ann["fact"])
    assert both.ask(q.History, id=both.ann["fact"]).events[-1].type == "forgotten"


def test_the_past_is_within_the_scope_too(both: Both) -> None:
    then = both.ask(q.List).moment.position
    remove = q.RemoveDocument(container=both.store.name, id=both.bob["document"])
    both.store.ask(remove)
    for what in ("document", "passage"):
        told = refused(both, q.Get, id=both.bob[what], as_of=f"@{then}")
        assert told == refused(both, q.Get, id=NEITHER)
        assert both.ask(q.Get, BOB, id=both.bob[what], as_of=f"@{then}").item.id
        assert both.ask(q.History, BOB, id=both.bob[what]).events
        assert refused(both, q.History, id=both.bob[what])


# --- what happened


def told(both: Both, scope: q.Scope, **fields: Any) -> list[Any]:
    return list(both.ask(q.Events, scope, limit=1000, **fields).events)


def test_events_are_those_of_the_scope(both: Both) -> None:
    anns, bobs, everyones = (told(both, scope) for scope in (ANN, BOB, q.Scope()))
    assert anns and "bob" not in repr(anns).lower()
    of_ann, of_bob = ({event.id for event in events} for events in (anns, bobs))
    assert not of_ann & of_bob and len(everyones) > len(of_ann | of_bob)
    last = told(both, ANN, newest=True)
    assert last == anns
    newest = both.ask(q.Events, limit=1, newest=True).events
    assert list(newest) == anns[-1:]
    page = both.ask(q.Events, limit=1)
    assert list(both.ask(q.Events, after=page.next, limit=1000).events) == anns[1:]
    theirs = bobs[0].id
    assert refused(both, q.Events, about=theirs) == refused(both, q.Events, about=NEITHER)


def test_events_without_a_scope_are_told_when_all_their_items_are_in_it(both: Both) -> None:
    both.store.forget(both.ann["fact"])
    both.store.forget(both.bob["fact"], reason="bob asked")
    undone = both.store.undo(told(both, BOB)[-1].id)
    types = [event.type for event in told(both, ANN, types=("forgotten", "undone"))]
    assert types == ["forgotten"]
    assert undone.event in {event.id for event in told(both, BOB)}
    both.store.undo(told(both, ANN)[-1].id)
    assert told(both, ANN)[-1].type == "undone"
    assert told(both, q.Scope())[0].type == "container configured"
    assert "container configured" not in {event.type for event in told(both, ANN)}


def test_differences_are_those_of_the_scope(both: Both) -> None:
    found = both.ask(q.Diff, start="@0")
    assert {change.id for change in found.learned} <= set(both.ann.values())
    assert len(found.learned) == 3 and found.notes == ()
    then = f"@{found.end.position}"
    both.store.forget(both.bob["fact"])
    both.store.update(both.ann["fact"], "ann likes coffee.")
    both.store.forget(both.ann["message"])
    found = both.ask(q.Diff, start=then)
    assert [change.text for change in found.learned] == ["ann likes coffee."]
    assert {change.id for change in found.changed} == {both.ann["fact"]}
    assert {change.id for change in found.gone} == {both.ann["message"]}
    assert len(found.notes) == 1 and found.notes[0].startswith("1 ")


# --- how much there is


def test_figures_count_what_is_in_the_scope(both: Both) -> None:
    both.store.forget(both.bob["fact"])
    one = {"documents": 1, "messages": 1, "passages": 1}
    figures = both.ask(q.Stats)
    counted = figures.info[0].counts
    assert counted == {**one, "facts": 1, "versions": 1, "forgotten": 0, "pending": 2}
    assert figures.events == len(told(both, ANN))
    counted = both.ask(q.Stats, BOB).info[0].counts
    assert counted == {**one, "facts": 0, "versions": 0, "forgotten": 1, "pending": 2}
    store = both.ask(q.Stats, store=True)
    assert store.info == figures.info and store.events == figures.events
    assert both.ask(q.Containers).containers == figures.info
    assert both.ask(q.Stats, q.Scope()).info[0].counts["facts"] == 2


def test_jobs_are_those_of_the_scope(both: Both) -> None:
    jobs = both.ask(q.Jobs)
    assert {job.source for job in jobs.jobs} == {both.ann["document"], both.ann["message"]}
    assert jobs.pending == 2
    few = both.ask(q.Jobs, limit=1)
    assert few.has_more and (few.total, len(few.jobs)) == (2, 1)
    rest = both.ask(q.Jobs, cursor=few.cursor)
    assert few.jobs + rest.jobs == jobs.jobs
    assert both.ask(q.Jobs, q.Scope()).pending == 4


# --- handles

READS: dict[str, Callable[[Any, str], Any]] = {
    "search": lambda m, _: m.search("likes tea"),
    "another's search": lambda m, _: m.search("likes tea", scope={"user": "bob"}),
    "context": lambda m, _: m.context("likes tea"),
    "list": lambda m, _: m.list(),
    "another's list": lambda m, _: m.list(scope={"user": "bob"}),
    "get": lambda m, theirs: m.get(theirs),
    "history": lambda m, theirs: m.history(theirs),
    "events": lambda m, _: m.events(),
    "events about": lambda m, theirs: m.events(about=theirs),
    "diff": lambda m, _: m.diff("@0"),
    "stats": lambda m, _: m.stats(),
    "jobs": lambda m, _: m.jobs(),
    "containers": lambda m, _: m.containers(),
    "then": lambda m, theirs: m.as_of("@3").get(theirs),
    "then, all": lambda m, _: m.as_of("@3").list(),
}
"""Each way to ask, of a handle and given the id of a fact that is another's."""

BY_ID = frozenset({"get", "history", "events about", "then"})


def test_a_handle_reads_within_its_scope(tmp_path: Path) -> None:
    with Memory(tmp_path, "c") as memory:
        theirs = str(memory.remember("Bob likes tea.", scope={"user": "bob"}).items[0].id)
        memory.ingest("Bob's notes.", scope={"user": "bob"})
        handle = memory.container("c", scope={"user": "ann"})
        own = str(handle.remember("Ann likes tea.").items[0].id)
        for name, ask in READS.items():
            if name in BY_ID:
                with pytest.raises(NotFound):
                    ask(handle, theirs)
                continue
            assert "Bob" not in repr(ask(handle, theirs)), name
        assert handle.get(own).item.text == "Ann likes tea."
        assert handle.list(scope={"user": "bob"}).total == 0
        assert handle.stats().info[0].counts["facts"] == 1 and handle.jobs().pending == 0


def test_an_awaited_handle_reads_within_its_scope(tmp_path: Path) -> None:
    async def ask() -> None:
        async with AsyncMemory(tmp_path, "c") as memory:
            written = await memory.remember("Bob likes tea.", scope={"user": "bob"})
            theirs = str(written.items[0].id)
            await memory.ingest("Bob's notes.", scope={"user": "bob"})
            handle = memory.container("c", scope={"user": "ann"})
            await handle.remember("Ann likes tea.")
            for name, read in READS.items():
                if name in BY_ID:
                    with pytest.raises(NotFound):
                        await read(handle, theirs)
                    continue
                assert "Bob" not in repr(await read(handle, theirs)), name

    asyncio.run(ask())
