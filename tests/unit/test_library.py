"""The library: what each call asks for, in the forms that Python callers have at hand."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.inputs import merged, sift
from rewound.memory.library import THREADS, AsyncMemory, AsyncMoment, Memory, Moment
from rewound.memory.reading import Reading

NOW = r.Moment(position=3)
DONE = r.Written(container="c", group=None, position=3, items=())
HIDDEN = r.Forgot(container="c", group=None, position=3, events=(), items=(), count=0)
ANSWERS: dict[type[q.Request], r.Reply] = {
    q.Update: DONE,
    q.Configure: DONE,
    q.RemoveDocument: DONE,
    q.Forget: HIDDEN,
    q.Restore: HIDDEN,
    q.Erase: r.Erased(container="c", position=3, event=None, items=(), bodies=0),
    q.Undo: r.Undid(container="c", position=3, event=None, dropped=()),
    q.Search: r.Found(container="c", query="", hits=(), moment=NOW),
    q.Explain: r.Traced(
        container="c",
        query="",
        limit=1,
        moment=NOW,
        fate=r.Fate(id="x", kind="fact", found=True, told="it is hit 1", place=1),
    ),
    q.Context: r.Packed(container="c", query="", text="", tokens=0, budget=0, lines=(), moment=NOW),
    q.Inquire: r.Responded(
        container="c",
        query="",
        answered=False,
        text="",
        sentences=(),
        used=(),
        given=(),
        moment=NOW,
    ),
    q.List: r.Page(
        container="c", items=(), total=0, limit=1, has_more=False, cursor=None, moment=NOW
    ),
    q.Get: r.Shown(container="c", item=r.View(id="x", kind="fact", text="t"), moment=NOW),
    q.History: r.Versions(container="c", id="x", current=None, versions=(), events=(), moment=NOW),
    q.Events: r.Told(container="c", events=(), next=None, moment=NOW),
    q.Diff: r.Differences(container="c", start=NOW, end=NOW, learned=(), changed=(), gone=()),
    q.Jobs: r.JobList(container="c", pending=0, failed=0, parked=0, jobs=(), moment=NOW),
    q.Containers: r.ContainerList(containers=(), total=0, has_more=False, cursor=None),
    q.Stats: r.Figures(
        container="c", containers=1, info=(), events=0, log_bytes=0, view_bytes=0, views={}
    ),
    q.Verify: r.Verified(
        ok=True, events=0, bodies=0, erased=0, head=None, expected=None, findings=()
    ),
    q.Why: r.Explained(
        container="c",
        item=r.View(id="x", kind="fact", text="t"),
        quotes=(),
        extractor=None,
        confidence=None,
        versions=(),
        verdict=None,
        against=(),
        steps=(),
        moment=NOW,
    ),
    q.Reviews: r.ReviewList(
        container="c", reviews=(), total=0, has_more=False, cursor=None, moment=NOW
    ),
    q.Profile: r.Portrait(
        container="c",
        subject=None,
        text="",
        tokens=0,
        budget=9,
        stable=(),
        recent=(),
        buckets={},
        left_out=0,
        moment=NOW,
    ),
    q.Timeline: r.Chronicle(container="c", subject="s", lines=(), has_more=False, moment=NOW),
    q.Graph: r.Network(
        container="c", entity="e", nodes=(), edges=(), path=(), has_more=False, moment=NOW
    ),
    q.Label: r.Labelled(container="c", group=None, position=1, labels=(), changes=()),
    q.Fit: r.Fitted(
        container="c", position=1, accepted=False, event=None, labels=0, figures={}, flips=()
    ),
    q.Rejudge: r.Rejudged(
        container="c", group=None, position=1, sources=0, learned=(), ended=(), judged=0, flips=()
    ),
    q.Retry: DONE,
    q.Workers: r.Working(
        state="off", extractor=None, embedder=None, pending=0, failed=0, parked=0, unembedded=0
    ),
    q.Rebuild: r.Rebuilt(views={}, events=0, equal=True),
    q.Reembed: r.Reembedding(model=None, embedder=None),
    q.Replay: r.Replayed(at=NOW, events=0, containers=0, rows={}, agrees=True),
}


class Listener:
    """A link that answers anything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.closed = False

    def call(self, request: q.Request) -> r.Reply:
        sifted, refused = sift(request)
        self.asked.append(sifted)
        batch = getattr(sifted, "facts", None) or getattr(sifted, "documents", None)
        batch = batch or getattr(sifted, "messages", ())
        items = tuple(r.Item(status="written", kind="x") for _ in batch or ())
        reply = ANSWERS.get(type(sifted)) or msgspec.structs.replace(DONE, items=items)
        return merged(reply, refused)

    def take_over(self) -> None:
        self.asked.append("take over")

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def link() -> Listener:
    return Listener()


@pytest.fixture
def memory(link: Listener) -> Memory:
    return Memory(container="nina", scope={"user": "nina"}, link=link)  # type: ignore[arg-type]


NINA = q.Scope(user="nina")
W: dict[str, Any] = {"container": "nina", "scope": NINA}
F = q.Filters(scope=NINA)
R: dict[str, Any] = {"container": "nina", "scope": NINA}

CALLS: list[tuple[Callable[[Any], Any], q.Request]] = [
    (
        lambda m: m.remember(
            "Nina likes tea.", kind="preference", id="a", said_at=date(2026, 3, 1), tags="tea",
            valid_from=datetime(2026, 3, 1, tzinfo=UTC), metadata={"n": 1}, key="k",
        ),
        q.Remember(
            facts=(
                q.NewFact(
                    text="Nina likes tea.", kind="preference", id="a", said_at="2026-03-01",
                    tags=("tea",), valid_from="2026-03-01T00:00:00.000000+00:00",
                    metadata={"n": 1},
                ),
            ),
            key="k", **W,
        ),
    ),
    (
        lambda m: m.remember(["one", {"text": "two", "tags": ["a"]}, q.NewFact(text="3")]),
        q.Remember(
            facts=(q.NewFact(text="one"), q.NewFact(text="two", tags=("a",)), q.NewFact(text="3")),
            **W,
        ),
    ),
    (
        lambda m: m.remember({"text": "one", "said_at": 0}, infer=True, scope={"run": "7"}),
        q.Remember(
            facts=(q.NewFact(text="one", said_at="1970-01-01T00:00:00.000000Z"),), infer=True,
            container="nina", scope=q.Scope(user="nina", run="7"),
        ),
    ),
    (
        lambda m: m.ingest("text", id="wiki/home", media="markdown", unless_after=4),
        q.Ingest(
            documents=(q.NewDocument(text="text", id="wiki/home", media="markdown"),),
            unless_after=4, **W,
        ),
    ),
    (
        lambda m: m.add_messages(
            [{"role": "assistant", "content": "Hi.", "time": date(2026, 3, 1)}, "Hello."],
            conversation="chat",
        ),
        q.AddMessages(
            messages=(
                q.NewMessage(role="assistant", content="Hi.", time="2026-03-01"),
                q.NewMessage(content="Hello."),
            ),
            conversation="chat", **W,
        ),
    ),
    (
        lambda m: m.update("fact_1", "new", corrects=True, add_tags="a", remove_tags=["b"]),
        q.Update(
            id="fact_1", text="new", corrects=True, add_tags=("a",), remove_tags=("b",), **W
        ),
    ),
    (
        lambda m: m.update("fact_1", "new", metadata={}, valid_to=date(2026, 3, 1)),
        q.Update(id="fact_1", text="new", metadata={}, valid_to="2026-03-01", **W),
    ),
    (lambda m: m.forget("fact_1"), q.Forget(ids=("fact_1",), **W)),
    (
        lambda m: m.forget(["a", "b"], reason="asked", dry_run=True),
        q.Forget(ids=("a", "b"), reason="asked", dry_run=True, **W),
    ),
    (
        lambda m: m.forget(query="old", limit=5),
        q.Forget(query="old", limit=5, filters=F, **W),
    ),
    (
        lambda m: m.forget(source="chat", what="message"),
        q.Forget(filters=q.Filters(source="chat", what=("message",), scope=NINA), **W),
    ),
    (
        lambda m: m.forget(scope={"user": "bob"}),
        q.Forget(filters=q.Filters(scope=q.Scope(user="bob")), container="nina",
                 scope=q.Scope(user="bob")),
    ),
    (lambda m: m.restore("fact_1"), q.Restore(ids=("fact_1",), **W)),
    (lambda m: m.erase(["a", "b"], wait=False), q.Erase(ids=("a", "b"), wait=False, **W)),
    (
        lambda m: m.undo("ev_" + "0" * 26, cascade=True),
        q.Undo(id="ev_" + "0" * 26, cascade=True, **W),
    ),
    (lambda m: m.configure(zone="Europe/Berlin"), q.Configure(zone="Europe/Berlin", **W)),
    (lambda m: m.remove_document("wiki/home"), q.RemoveDocument(id="wiki/home", **W)),
    (lambda m: m.search("tea"), q.Search(query="tea", **R)),
    (
        lambda m: m.search(
            "tea", limit=3, what=["fact"], kinds="preference", tags=("a", "b"),
            metadata={"n": 1}, scope={"agent": "x"}, source="chat", since=date(2026, 1, 1),
            until="2026-02", as_of=12, valid_at=date(2026, 1, 5), include_forgotten=True,
            at_least=3, include_superseded=True,
        ),
        q.Search(
            query="tea", limit=3, **R, as_of="@12", valid_at="2026-01-05",
            include_forgotten=True, at_least=3, include_superseded=True,
            filters=q.Filters(
                what=("fact",), kinds=("preference",), tags=("a", "b"), metadata={"n": 1},
                scope=q.Scope(agent="x"), source="chat", since="2026-01-01",
                until="2026-02",
            ),
        ),
    ),
    (lambda m: m.search("tea", explain=True), q.Search(query="tea", explain=True, **R)),
    (
        lambda m: m.explain(
            "tea", id="f", limit=3, threshold=0.5, include_superseded=True, tags="a", as_of=12
        ),
        q.Explain(
            query="tea", id="f", limit=3, threshold=0.5, include_superseded=True, as_of="@12",
            filters=q.Filters(tags=("a",)), **R,
        ),
    ),
    (lambda m: m.context("tea", budget=500), q.Context(query="tea", budget=500, **R)),
    (lambda m: m.ask("tea"), q.Inquire(query="tea", **R)),
    (
        lambda m: list(m.ask_stream(
            "tea", budget=500, threshold=0.1, confidence=0.3, timeout_s=9, tags="a", as_of=12
        ))[-1],
        q.Inquire(
            query="tea", budget=500, threshold=0.1, confidence=0.3, timeout_s=9, as_of="@12",
            filters=q.Filters(tags=("a",)), **R,
        ),
    ),
    (
        lambda m: m.list("document", cursor="x", tags="a"),
        q.List(
            what="document", cursor="x", **R,
            filters=q.Filters(tags=("a",)),
        ),
    ),
    (lambda m: m.get("x", as_of="2026-03-01"), q.Get(id="x", as_of="2026-03-01", **R)),
    (lambda m: m.history("x"), q.History(id="x", **R)),
    (
        lambda m: m.events(since=4, types="undone", about="x", limit=5, newest=True),
        q.Events(since="@4", types=("undone",), about="x", limit=5, newest=True, **R),
    ),
    (lambda m: m.diff(3, "@9"), q.Diff(start="@3", end="@9", **R)),
    (lambda m: m.why("x", as_of=4), q.Why(id="x", as_of="@4", **R)),
    (lambda m: m.reviews(limit=5, cursor="c"), q.Reviews(limit=5, cursor="c", **R)),
    (
        lambda m: m.profile(budget=500, days=7, subject="Nina", buckets="work", kinds="fact"),
        q.Profile(
            budget=500, days=7, subject="Nina", buckets={"work": q.Bucket()}, **R,
            filters=q.Filters(kinds=("fact",)),
        ),
    ),
    (
        lambda m: m.profile(buckets={"a": "tea", "b": {"tags": "x"}, "c": q.Bucket(query="y")}),
        q.Profile(
            buckets={"a": q.Bucket(query="tea"), "b": q.Bucket(tags=("x",)),
                     "c": q.Bucket(query="y")}, **R,
        ),
    ),
    (lambda m: m.profile(as_of=4), q.Profile(as_of="@4", **R)),
    (
        lambda m: m.timeline("Nina", "works at", valid_at="2026"),
        q.Timeline(subject="Nina", attribute="works at", valid_at="2026", **R),
    ),
    (
        lambda m: m.graph("Nina", to="Orbit", depth=3, limit=5),
        q.Graph(entity="Nina", to="Orbit", depth=3, limit=5, **R),
    ),
    (
        lambda m: m.label("a", "b", "distinct", key="k"),
        q.Label(labels=(q.NewLabel(fact="a", old="b", outcome="distinct"),), key="k", **W),
    ),
    (
        lambda m: m.label([{"fact": "a", "old": "b", "confirm": False}]),
        q.Label(labels=(q.NewLabel(fact="a", old="b", confirm=False),), **W),
    ),
    (lambda m: m.fit(dry_run=True), q.Fit(dry_run=True, container="nina")),
    (
        lambda m: m.rejudge(judge=True, since=7),
        q.Rejudge(judge=True, since="@7", container="nina"),
    ),
    (lambda m: m.stats(store=True), q.Stats(store=True, **R)),
    (lambda m: m.jobs(limit=3, cursor="c"), q.Jobs(limit=3, cursor="c", **R)),
    (lambda m: m.containers(), q.Containers(**R)),
    (lambda m: m.retry(), q.Retry(**W)),
    (lambda m: m.retry("x", key="k"), q.Retry(ids=("x",), key="k", **W)),
    (lambda m: m.workers(), q.Workers(container="nina")),
    (
        lambda m: m.workers("wait", timeout_s=5),
        q.Workers(action="wait", timeout_s=5, container="nina"),
    ),
    (lambda m: m.verify(expect="h"), q.Verify(expect="h", container="nina")),
    (lambda m: m.reembed(), q.Reembed(container="nina")),
    (
        lambda m: m.reembed("status", now=True),
        q.Reembed(container="nina", action="status", now=True),
    ),
    (lambda m: m.rebuild("facts"), q.Rebuild(views=("facts",), container="nina")),
    (lambda m: m.replay(9, verify=False), q.Replay(at="@9", verify=False, container="nina")),
    (lambda m: m.as_of(5).search("tea"), q.Search(query="tea", as_of="@5", **R)),
    (
        lambda m: m.as_of("2026-03-01").stats(),
        q.Stats(as_of="2026-03-01", **R),
    ),
    (
        lambda m: m.container("bob").remember("x"),
        q.Remember(facts=(q.NewFact(text="x"),), container="bob"),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("ask", "wanted"), CALLS, ids=range(len(CALLS)))
def test_each_call_makes_its_request(
    memory: Memory, link: Listener, ask: Callable[[Memory], Any], wanted: q.Request
) -> None:
    ask(memory)
    assert link.asked == [wanted]


WRONG: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda m: m.remember(" "), "text", "blank"),
    (lambda m: m.remember(None), "facts", "not nothing"),
    (lambda m: m.remember(b"bytes"), "facts", "not bytes"),
    (lambda m: m.remember(["a"], tags=["b"]), "tags", "single text"),
    (lambda m: m.remember("a", said_at="soon"), "said_at", "not a time"),
    (lambda m: m.remember({"txt": "a"}), "txt", "use text, kind"),
    (lambda m: m.remember({"kind": "fact"}), "text", "missing"),
    (lambda m: m.remember({"text": "a", "tag": "b"}), "tag", "use text, kind"),
    (lambda m: m.remember("a", kind="opinion"), "kind", "preference"),
    (lambda m: m.remember([{}, 3]), "facts", "none of the 2 facts"),
    (lambda m: m.remember([" ", 3]), "text", "blank"),
    (lambda m: m.search("tea", limit="abc"), "limit", "whole number"),
    (lambda m: m.search("tea", spce="A"), "spce", "not a field"),
    (lambda m: m.search("tea", tags=3), "tags", "a list of it"),
    (lambda m: m.get("x", tags="a"), "tags", "not something to ask get with"),
    (lambda m: m.forget(), "ids", "nothing named"),
    (lambda m: m.forget(tags=[]), "filters", "everything"),
    (lambda m: m.forget(tags=(), metadata={}), "filters", "everything"),
    (lambda m: m.forget(scope={}), "filters", "everything"),
    (lambda m: m.forget(scope={"user": None}), "filters", "everything"),
    (lambda m: m.forget(query="tea", tags=[]), "filters", "everything"),
    (lambda m: m.forget(scope={"user": ""}), "scope.user", "blank"),
    (lambda m: m.forget({"spce": "A"}), "ids", "must be text"),
    (lambda m: m.label("a"), "old", "missing"),
    (lambda m: m.label("a", "b"), "labels[0].outcome", "either an outcome or confirm"),
    (lambda m: m.label("a", "b", "updates", confirm=True), "labels[0].outcome", "either"),
    (lambda m: m.label("a", "b", "replaces"), "outcome", "duplicate, updates"),
    (
        lambda m: m.label([{"fact": "a", "old": "b", "confirm": True}, {"fact": "a"}]),
        "old",
        "missing",
    ),
    (lambda m: m.label([]), "labels", "at least one"),
    (lambda m: m.graph("x", depth=9), "depth", "from 1 to 6"),
    (lambda m: m.rejudge(since="soon"), "since", "not a time"),
    (lambda m: m.as_of(None), "as_of", "needs a moment"),
    (lambda m: m.as_of(5).search("tea", as_of=6), "as_of", "this handle answers as of @5"),
    (lambda m: m.search("tea", scope={"usr": "a"}), "scope.usr", "user, agent"),
]


@pytest.mark.parametrize(("ask", "field", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_before_anything_is_asked(
    memory: Memory, link: Listener, ask: Callable[[Memory], Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        ask(memory)
    assert caught.value.field == field
    assert words in caught.value.message
    assert link.asked == []


def test_items_of_a_wrong_form_are_refused_by_themselves(memory: Memory, link: Listener) -> None:
    sent = ["one", {"txt": 1}, "two", " ", {"content": [1]}, "three"]
    reply = memory.add_messages(sent)  # type: ignore[arg-type]
    statuses = [item.status for item in reply.items]
    assert statuses == ["written", "refused", "written", "refused", "refused", "written"]
    fields = [item.field for item in reply.items]
    assert fields == [None, "txt", None, "content", "content", None]
    assert reply.refused == 3
    assert [message.content for message in link.asked[0].messages] == ["one", "two", "three"]


def test_only_the_handle_that_opened_the_link_closes_it(link: Listener, tmp_path: Any) -> None:
    with Memory(link=link) as memory:  # type: ignore[arg-type]
        memory.own()
        with memory.container("other"):
            pass
    assert not link.closed
    opened = Memory(tmp_path)
    opened.link = link  # type: ignore[assignment]
    opened.close()
    assert link.closed


def _public(kind: type) -> dict[str, Any]:
    names = (name for name in dir(kind) if not name.startswith("_"))
    return {name: getattr(kind, name) for name in names if callable(getattr(kind, name))}


@pytest.mark.parametrize(("sync", "awaited"), [(Memory, AsyncMemory), (Moment, AsyncMoment)])
def test_both_libraries_have_the_same_surface(sync: type, awaited: type) -> None:
    assert _public(sync).keys() == _public(awaited).keys()
    for name, method in _public(awaited).items():
        assert method.__doc__, f"{name} says nothing about itself"
        awaited_later = name in ("container", "as_of", "ask_stream")  # handles, and an iterator
        assert inspect.iscoroutinefunction(method) != awaited_later, name
    assert _public(Reading).keys() == _public(Moment).keys()


def test_the_awaited_library_asks_the_same(link: Listener) -> None:
    async def ask() -> None:
        memory = AsyncMemory(container="nina", scope={"user": "nina"})
        memory._memory._link = link
        async with memory:
            replies = await asyncio.gather(*(memory.search(f"tea {n}") for n in range(40)))
            assert len(replies) == 40
            await memory.as_of(5).search("then")
            other = memory.container("bob")
            other._memory._link = link
            await other.remember("x")
            await other.close()
            with pytest.raises(InvalidInput):
                await memory.remember(" ")

    asyncio.run(ask())
    assert len(link.asked) == 42
    assert link.asked[-2] == q.Search(query="then", as_of="@5", **R)


def test_a_cancelled_await_does_not_undo_what_was_sent(
    link: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no thread was free for it yet."""
    go_on = threading.Event()
    call, count = link.call, THREADS + 3

    def held(request: q.Request) -> r.Reply:
        assert go_on.wait(60)
        return call(request)

    monkeypatch.setattr(link, "call", held)

    async def ask() -> None:
        memory = AsyncMemory(container="nina")
        memory._memory._link = link
        tasks = [asyncio.create_task(memory.remember(f"{n}")) for n in range(count)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in ended)
        go_on.set()
        async with asyncio.timeout(60):
            while len(link.asked) < count:
                await asyncio.sleep(0.001)
        await memory.close()

    asyncio.run(ask())
    assert len(link.asked) == count
