"""Trees of conditions: what is refused and how it is told, and what the plain cases find."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.eventlog.ids import ContainerId
from rewound.memory import requests as q
from rewound.memory.condition_checks import (
    DEPTH_MAX,
    OPS,
    PARTS_MAX,
    VALUES_MAX,
    check,
    may_want_nothing,
    read,
)
from rewound.memory.conditions import FIELDS, METADATA, Where
from rewound.memory.inputs import sift
from rewound.memory.library import Memory
from rewound.projections import values
from rewound.projections.labels import LabelCache, Labels
from rewound.projections.measures import measure_term, stretch, time_of
from tests.unit.given import DAY_US, Store, open_store

Json = Any
RED = {"field": "tag", "op": "eq", "value": "red"}
FACT = "fact_01m8mhpgnme00b5bajg62mjkf3"
LABELS = Labels(b"", (), 0, None, None, None, (), None)


def nested(levels: int, name: str = "not") -> Json:
    tree: Json = RED
    for _ in range(levels - 1):
        tree = {name: [tree] if name != "not" else tree}
    return tree


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


def found(store: Store, tree: Json, what: q.What = "fact", **fields: Any) -> list[str]:
    filters = q.Filters(where=read(tree))
    page = store.ask(q.List(container=store.name, what=what, filters=filters, **fields))
    return [item.text for item in page.items]


# --- what can be asked


def test_every_field_has_its_ops() -> None:
    assert set(OPS) == {*FIELDS, METADATA}


BAD: list[tuple[Json, str, str]] = [
    ({}, "", "is empty: give and, or or not"),
    ({"and": []}, "and", "give at least one condition"),
    ({"or": []}, "or", "give at least one condition"),
    ({"not": {}}, "not", "is empty"),
    ({"not": {"or": []}}, "not.or", "give at least one"),
    ({"and": [RED], "or": [RED]}, "or", "beside and: join the two"),
    ({"and": [RED], **RED}, "field", "beside and: join the two"),
    ({"op": "eq", "value": 1}, "op", "without a field"),
    ({"value": 1}, "value", "without a field"),
    ({"not": RED, "ignore_case": True}, "ignore_case", "without a field"),
    ({"and": [RED, {"field": "tags", "op": "eq", "value": "a"}]}, "and[1].field", "mean tag?"),
    ({"field": "metadata", "op": "eq", "value": "a"}, "field", "metadata.NAME"),
    ({"field": "metadata.", "op": "eq", "value": "a"}, "field", "blank"),
    ({"field": "metadata." + "a." * 20 + "a", "op": "exists"}, "field", "21 keys, at most 20"),
    ({"field": "scope.user", "op": "eq", "value": "ann"}, "field", "must be tag, kind"),
    ({"field": "tag"}, "op", "is missing: tag takes eq"),
    ({"or": [RED, {"field": "tag", "op": "near"}]}, "or[1].op", "must be eq, neq"),
    ({"field": "tag", "op": "gt", "value": "a"}, "op", "is gt, but tag takes eq"),
    ({"field": "kind", "op": "contains", "value": "f"}, "op", "kind takes eq, neq, in or exists"),
    ({"field": "conversation", "op": "exists"}, "op", "conversation takes eq, neq or in"),
    ({"field": "tag", "op": "eq"}, "value", "is missing: say what eq compares with"),
    ({"field": "tag", "op": "eq", "value": 5}, "value", "must be text, not a number"),
    ({"field": "tag", "op": "eq", "value": None}, "value", "must be text, not nothing"),
    ({"field": "tag", "op": "eq", "value": " "}, "value", "blank"),
    ({"field": "tag", "op": "in", "value": "red"}, "value", "must be a list, not text"),
    ({"field": "tag", "op": "in", "value": []}, "value", "is empty"),
    ({"field": "tag", "op": "in", "value": ["a", 1]}, "value[1]", "must be text"),
    ({"field": "kind", "op": "eq", "value": "opinion"}, "value", "must be fact, preference"),
    ({"field": "what", "op": "in", "value": ["facts"]}, "value[0]", "must be fact, passage"),
    ({"field": "valid_from", "op": "gt", "value": "soon"}, "value", "not a time"),
    ({"field": "recorded_at", "op": "gt", "value": 5}, "value", "must be text"),
    ({"field": "tag", "op": "exists", "value": "yes"}, "value", "true or false"),
    ({"field": "metadata.n", "op": "gt", "value": True}, "value", "a number or text for gt"),
    ({"field": "metadata.n", "op": "gt", "value": None}, "value", "a number or text for gt"),
    ({"field": "metadata.n", "op": "lt", "value": [1]}, "value", "a number or text for lt"),
    ({"field": "metadata.n", "op": "contains", "value": 5}, "value", "must be text"),
    ({"field": "metadata.n", "op": "contains", "value": ""}, "value", "every text contains"),
    ({"field": "metadata.n", "op": "array_contains", "value": ["a"]}, "value", "must be text"),
    ({"field": "metadata.n", "op": "eq", "value": 1 << 64}, "value", "64 bits"),
    ({"field": "metadata.n", "op": "eq", "value": "a\0"}, "value", "zero character"),
    ({"field": "metadata.n", "op": "in", "value": [1, float("nan")]}, "value[1]", "nan"),
    ({"field": "metadata.n", "op": "gt", "value": 1, "ignore_case": True}, "ignore_case", "equal"),
    ({"field": "kind", "op": "eq", "value": "fact", "ignore_case": True}, "ignore_case", "equal"),
    ({"and": [RED, {"feild": "tag"}]}, "and[1].feild", "use and, or, not, field, op"),
    ({"$or": [RED]}, "$or", "use and, or, not, field, op"),
    ({"and": RED}, "and", "a list"),
    ({"and": ["red"]}, "and[0]", "an object, not text"),
    ({"not": [RED]}, "not", "an object"),
]


@pytest.mark.parametrize(("tree", "part", "words"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_named_by_its_place(tree: Json, part: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        read(tree)
    place = ".".join(["filters.where", *filter(None, [part])])
    assert caught.value.field == place
    assert words in caught.value.message
    assert place in caught.value.message or words == "not a time"


@pytest.mark.parametrize("value", [[], "red", 5, [RED], None])
def test_a_tree_is_an_object(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"filters\.where must be an object such as"):
        read(value)


@pytest.mark.parametrize("name", ["not", "and", "or"])
def test_a_tree_is_bounded(name: str) -> None:
    read(nested(DEPTH_MAX, name))
    for levels in (DEPTH_MAX + 1, 300, 100_000):
        with pytest.raises(InvalidInput, match="nested too deep"):
            read(nested(levels, name))
    read({"or": [RED] * (PARTS_MAX - 1)})
    for wide in ({"or": [RED] * PARTS_MAX}, {"or": [{"and": [RED] * 600}] * 2}):
        with pytest.raises(InvalidInput, match=r"at most 1,000|one condition too many"):
            read(wide)
    with pytest.raises(InvalidInput, match="at most 1,000"):
        read({"field": "tag", "op": "in", "value": ["a"] * (VALUES_MAX + 1)})


def test_requests_are_checked_with_their_trees() -> None:
    filters = q.Filters(where=Where(and_=(Where(field="tag"),)))
    requests: list[q.Request] = [
        q.Search(query="a", filters=filters),
        q.Context(query="a", filters=filters),
        q.List(filters=filters),
        q.Profile(filters=filters),
        q.Forget(filters=filters),
    ]
    for request in requests:
        with pytest.raises(InvalidInput) as caught:
            sift(request)
        assert caught.value.field == "filters.where.and[0].op"
    loose: Any = q
    with pytest.raises(InvalidInput, match="must be a condition, not an object"):
        sift(loose.Search(query="a", filters=loose.Filters(where=RED)))


def test_a_tree_goes_through_json_and_msgpack_unchanged() -> None:
    tree = read({"and": [{"field": "metadata.a", "op": "eq", "value": None}, {"not": RED}]})
    request = q.Search(query="a", filters=q.Filters(where=tree))
    for module in (msgspec.json, msgspec.msgpack):
        again = module.decode(module.encode(request), type=q.AnyRequest)
        assert again == request
        check(again.filters.where, "where")


# --- what it means


def test_a_leaf_asks_for_what_is_there_and_neq_and_not_for_the_rest(store: Store) -> None:
    store.remember("One.", metadata={"n": 1})
    store.remember("Two.", metadata={"n": 2})
    store.remember("None.")
    field = {"field": "metadata.n"}
    assert found(store, {**field, "op": "neq", "value": 1}) == ["Two.", "None."]
    assert found(store, {"not": {**field, "op": "eq", "value": 1}}) == ["Two.", "None."]
    assert found(store, {**field, "op": "lt", "value": 9}) == ["One.", "Two."]
    assert found(store, {"not": {**field, "op": "lt", "value": 2}}) == ["Two.", "None."]
    assert found(store, {**field, "op": "exists"}) == ["One.", "Two."]
    assert found(store, {**field, "op": "exists", "value": False}) == ["None."]


def test_numbers_are_numbers_and_texts_are_texts(store: Store) -> None:
    for n in (5, 5.0, "5", True, 2**53, 2**53 + 1, -0.0):
        store.remember(f"{n!r}.", metadata={"n": n})
    field = {"field": "metadata.n"}
    assert found(store, {**field, "op": "eq", "value": 5.0}) == ["5.", "5.0."]
    assert found(store, {**field, "op": "eq", "value": 0}) == ["-0.0."]
    assert found(store, {**field, "op": "eq", "value": 1}) == []
    assert found(store, {**field, "op": "gt", "value": 2**53}) == [f"{2**53 + 1}."]
    assert found(store, {**field, "op": "gte", "value": "4"}) == ["'5'."]


def test_times_are_times_whatever_their_offset(store: Store) -> None:
    for at in ("2026-03-01T10:00:00Z", "2026-03-01T12:30:00+02:00", "later", "2026-03-01"):
        store.remember(f"At {at}.", metadata={"at": at})
    field = {"field": "metadata.at"}
    same = {**field, "op": "eq", "value": "2026-03-01T11:00:00+01:00"}
    assert found(store, same) == ["At 2026-03-01T10:00:00Z."]
    after = {**field, "op": "gt", "value": "2026-03-01T10:15:00Z"}
    assert found(store, after) == ["At 2026-03-01T12:30:00+02:00.", "At later."]


def test_a_path_leads_into_objects_and_a_key_may_hold_dots(store: Store) -> None:
    store.remember("Nested.", metadata={"a": {"b": {"c": 1}}})
    store.remember("Dotted.", metadata={"a.b": {"c": 1}})
    store.remember("Flat.", metadata={"a.b.c": 1})
    store.remember("Both.", metadata={"a": {"b": 7}, "a.b.c": 2})
    assert found(store, {"field": "metadata.a.b.c", "op": "eq", "value": 1}) == [
        "Nested.", "Dotted.", "Flat.",
    ]  # fmt: skip
    assert found(store, {"field": "metadata.a.b", "op": "eq", "value": 7}) == ["Both."]
    assert found(store, {"field": "metadata.a.b.c.d", "op": "exists"}) == []


def test_a_day_is_the_whole_of_it_in_the_container_s_zone(store: Store) -> None:
    store.configure("Asia/Tokyo")
    store.remember("Eve.", valid_from="2026-02-28T14:59:59Z")
    store.remember("Morning.", valid_from="2026-02-28T15:00:00Z")
    store.remember("Next.", valid_from="2026-03-01T15:00:00Z")

    def on(op: str) -> list[str]:
        return found(
            store, {"field": "valid_from", "op": op, "value": "2026-03-01"}, valid_at="2026"
        )

    assert (on("eq"), on("gt"), on("lt")) == (["Morning."], ["Next."], ["Eve."])
    assert (on("gte"), on("lte")) == (["Morning.", "Next."], ["Eve.", "Morning."])
    filters = q.Filters(where=read({"not": {"field": "said_at", "op": "gt", "value": "2026"}}))
    page = store.ask(q.List(container=store.name, filters=filters))
    assert page.moment.zone == "Asia/Tokyo"


def test_who_said_it_holds_for_messages_and_for_facts_from_them(store: Store) -> None:
    said = q.AddMessages(
        container=store.name,
        messages=(
            q.NewMessage(content="I like tea.", name="Nina"),
            q.NewMessage(content="I like figs.", name="Omar"),
            q.NewMessage(content="I like rain."),
        ),
        infer=False,
    )
    store.ask(said)
    store.ingest("Nina likes the sea.", infer=False)
    for what in ("message", "fact"):
        assert found(store, {"field": "speaker", "op": "eq", "value": "nina"}, what) == [
            "I like tea."
        ]
        assert found(store, {"field": "speaker", "op": "contains", "value": "OMA"}, what) == [
            "I like figs."
        ]
        assert "I like rain." in found(store, {"field": "speaker", "op": "neq", "value": "x"}, what)
        assert len(found(store, {"field": "speaker", "op": "exists"}, what)) == 2


def test_a_hidden_message_tells_nobody_who_said_it(store: Store) -> None:
    first = q.NewMessage(content="I like tea.", name="Nina", id="1")
    again = q.NewMessage(content="I like tea.", name="Omar", id="2")
    command = q.AddMessages(container=store.name, messages=(first, again), infer=False)
    items = store.ask(command).items
    by_nina = {"field": "speaker", "op": "eq", "value": "Nina"}
    assert found(store, by_nina, "message") == found(store, by_nina) == ["I like tea."]
    message = next(item.id for item in items if item.id.startswith("msg_"))
    store.forget(message)
    assert found(store, by_nina, "message") == []
    assert found(store, by_nina) == []
    assert found(store, {"field": "speaker", "op": "eq", "value": "Omar"}) == ["I like tea."]
    assert found(store, by_nina, "message", include_forgotten=True) == ["I like tea."]


def test_sources_and_conversations_by_id_and_name(store: Store) -> None:
    store.say("Hello.", conversation="first")
    store.say("Bye.", conversation="second")
    page = store.ingest("A page.", id="page")
    for field in ("source", "conversation"):
        one = {"field": field, "op": "eq", "value": "first"}
        assert found(store, one, "message") == ["Hello."]
        assert found(store, {**one, "op": "neq"}, "message") == ["Bye."]
        both = {**one, "op": "in", "value": ["first", "second", "third"]}
        assert found(store, both, "message") == ["Hello.", "Bye."]
    for named in ("page", page):
        assert found(store, {"field": "source", "op": "eq", "value": named}, "passage")
    with pytest.raises(WrongKind) as caught:
        found(store, {"not": {"field": "source", "op": "eq", "value": FACT}})
    assert caught.value.field == "filters.where.not.value"
    with pytest.raises(WrongKind, match="wants a conversation"):
        found(store, {"field": "conversation", "op": "in", "value": [page]})


def test_a_passage_is_met_by_the_labels_of_its_document(store: Store) -> None:
    store.ingest("Red page.", tags=("red",), metadata={"n": [1, 2]})
    store.ingest("Blue page.", said_at="2020-01-01")
    for what in ("passage", "document"):
        assert found(store, RED, what) == ["Red page."]
        holds = {"field": "metadata.n", "op": "array_contains", "value": 2.0}
        assert found(store, holds, what) == ["Red page."]
        old = {"field": "said_at", "op": "lt", "value": "2021"}
        assert found(store, old, what) == ["Blue page."]
    assert found(store, {"field": "valid_from", "op": "exists"}, "passage") == []


def test_the_past_has_the_labels_it_had(store: Store) -> None:
    (fact,) = store.remember("Nina likes tea.", metadata={"n": 1, "l": ["a"]}, tags=("red",))
    then = store.ask(q.List(container=store.name)).moment.position
    store.clock.at += DAY_US
    store.update(fact, "Nina likes coffee.", metadata={"n": 2, "l": ["b"]})
    trees = [
        RED,
        {"field": "metadata.n", "op": "lt", "value": 2},
        {"field": "metadata.l", "op": "array_contains", "value": "a"},
        {"field": "recorded_at", "op": "lte", "value": "2026-01-01"},
    ]
    for tree in trees[1:]:
        assert found(store, tree, as_of=f"@{then}") == ["Nina likes tea."], tree
        assert found(store, tree) == [], tree
        assert found(store, tree, include_superseded=True) == ["Nina likes tea."], tree
    assert found(store, RED, as_of=f"@{then}") == ["Nina likes tea."]


def test_a_search_narrows_before_it_ranks(store: Store) -> None:
    for number in range(40):
        store.remember(f"Weekly standup about the payment service, item {number}.")
    store.remember("Payment service root password rotated.", metadata={"n": {"x": 3}})
    where = read({"field": "metadata.n.x", "op": "gte", "value": 3})
    for limit in (1, 5):
        asked = q.Search(
            container=store.name,
            query="standup payment",
            limit=limit,
            filters=q.Filters(where=where),
        )
        hits = store.ask(asked).hits
        assert [hit.text for hit in hits] == ["Payment service root password rotated."]
    packed = store.ask(
        q.Context(container=store.name, query="standup", filters=q.Filters(where=where))
    )
    assert "standup" not in packed.text


def test_a_scope_only_narrows(store: Store) -> None:
    ann, bob = q.Scope(user="ann"), q.Scope(user="bob")
    store.remember("Ann's.", tags=("red",), scope=ann)
    store.remember("Bob's.", tags=("red",), scope=bob)
    for tree in (RED, {"or": [RED, {"not": RED}]}, {"field": "what", "op": "eq", "value": "fact"}):
        assert found(store, tree, scope=ann) == ["Ann's."]
        filters = q.Filters(where=read(tree), scope=bob)
        assert store.ask(q.List(container=store.name, scope=ann, filters=filters)).total == 0


def test_a_cursor_is_of_one_tree(store: Store) -> None:
    store.remember("One.", "Two.", tags=("red",))
    filters = q.Filters(where=read(RED))
    asked = q.List(container=store.name, limit=1, filters=filters)
    cursor = store.ask(asked).cursor
    following = msgspec.structs.replace(asked, cursor=cursor)
    assert [item.text for item in store.ask(following).items] == ["Two."]
    other = q.Filters(where=read({"not": RED}))
    with pytest.raises(InvalidInput, match="not from this list"):
        store.ask(msgspec.structs.replace(following, filters=other))


@pytest.mark.parametrize(
    ("tree", "read_"),
    [
        (RED, True),
        ({"field": "valid_from", "op": "lt", "value": "2030"}, False),
        ({"or": [RED, {"not": {"field": "recorded_at", "op": "gt", "value": "2030"}}]}, False),
    ],
)
def test_a_tree_that_names_times_leaves_those_of_the_words_alone(
    store: Store, tree: Json, read_: bool
) -> None:
    store.remember("Nina likes tea.", tags=("red",))
    filters = q.Filters(where=read(tree))
    asked = q.Search(container=store.name, query="tea in March 2020", filters=filters)
    reply = store.ask(asked)
    assert (reply.moment.window is not None) is read_


# --- forgetting

EVERYTHING: list[Json] = [
    {"not": {"field": "tag", "op": "eq", "value": "keeep"}},
    {"field": "tag", "op": "neq", "value": "keeep"},
    {"field": "metadata.x", "op": "exists", "value": False},
    {"or": [RED, {"not": RED}]},
    {"and": [{"not": {"field": "metadata.x", "op": "gt", "value": 1}}]},
    {"field": "recorded_at", "op": "gt", "value": "1970-01-02"},
    {"not": {"field": "recorded_at", "op": "lt", "value": "1970-01-02"}},
    {"field": "what", "op": "in", "value": ["fact", "message", "document"]},
]


@pytest.mark.parametrize("tree", EVERYTHING, ids=range(len(EVERYTHING)))
def test_what_leaves_nothing_out_forgets_nothing(store: Store, tree: Json) -> None:
    store.remember("Red.", tags=("red",))
    store.remember("Other.")
    store.say("Hello.")
    store.ingest("A page.")
    before = store.ask(q.List(container=store.name)).moment.position
    for scope in (q.Scope(), q.Scope(user="ann")):
        if scope.user:
            store.remember("Ann's.", scope=scope)
            before += 1
        with pytest.raises(InvalidInput, match="leaves nothing out") as caught:
            store.ask(
                q.Forget(container=store.name, filters=q.Filters(where=read(tree), scope=scope))
            )
        assert caught.value.field == "filters.where"
    assert store.ask(q.List(container=store.name)).moment.position == before


def test_what_names_something_is_forgotten(store: Store) -> None:
    store.remember("Red.", tags=("red",))
    only_red = q.Forget(container=store.name, filters=q.Filters(where=read(RED)))
    dry = store.ask(msgspec.structs.replace(only_red, dry_run=True))
    assert dry.count == 1 and store.listed()
    assert store.ask(only_red).count == 1 and not store.listed()
    with pytest.raises(NotFound):
        store.ask(only_red)
    store.remember("Blue.", tags=("blue",))
    store.remember("Kept.", tags=("keep",))
    kept = {"field": "tag", "op": "neq", "value": "keep"}
    store.ask(q.Forget(container=store.name, filters=q.Filters(where=read(kept))))
    assert found(store, {"field": "what", "op": "eq", "value": "fact"}) == ["Kept."]


def test_a_query_is_narrowed_by_a_tree(store: Store) -> None:
    store.remember("Red tea.", tags=("red",))
    store.remember("Green tea.")
    filters = q.Filters(where=read({"not": RED}))
    store.ask(q.Forget(container=store.name, query="tea", filters=filters))
    assert found(store, {"field": "what", "op": "eq", "value": "fact"}) == ["Red tea."]


@pytest.mark.parametrize(
    ("tree", "wanted"),
    [
        (RED, False), ({"not": RED}, True), ({"not": {"not": RED}}, False),
        ({"and": [{"not": RED}, RED]}, False), ({"or": [{"not": RED}, RED]}, True),
        ({"field": "what", "op": "eq", "value": "fact"}, True),
        ({"and": [RED, {"field": "what", "op": "eq", "value": "fact"}]}, False),
        ({"field": "tag", "op": "exists"}, False),
        ({"field": "tag", "op": "exists", "value": True}, False),
        ({"field": "tag", "op": "exists", "value": False}, True),
    ],
)  # fmt: skip
def test_what_may_want_nothing(tree: Json, wanted: bool) -> None:
    assert may_want_nothing(read(tree)) is wanted


# --- nothing erased stays


def test_labels_that_were_read_go_with_an_erasing(tmp_path: Path) -> None:
    secret = {"field": "metadata.word", "op": "contains", "value": "xyl"}
    with Memory(tmp_path / "store", "c") as memory:
        fact = memory.remember("A word.", metadata={"word": "xylophone"}).items[0].id
        kept = memory.remember("Another.", metadata={"word": "zither"}).items[0].id
        assert [item.id for item in memory.list(where=secret).items] == [fact]
        assert memory.list(where={**secret, "value": "it"}).items[0].id == kept
        assert "xylophone" in repr(_cached(memory))
        memory.erase(str(fact))
        assert "xylophone" not in repr(_cached(memory))
        assert memory.list(where=secret, include_forgotten=True).items == ()
        assert memory.list(where={**secret, "value": "it"}).items[0].id == kept
    for file in (tmp_path / "store").rglob("*"):
        assert file.is_dir() or b"xylophone" not in file.read_bytes(), file


def _cached(memory: Any) -> list[Any]:
    """What the process that owns the store keeps of labels."""
    caches = memory._link._store.engine.views._labels.values()
    return [cache._kept for cache in caches]


def test_a_label_read_before_an_erasing_is_not_kept_after_it() -> None:
    cache, container = LabelCache(), ContainerId(bytes(16))
    cache.keep(container, {1: LABELS}, 100, sequence=4)
    assert cache.of(container) == {1: LABELS}
    cache.clear(5)
    assert cache.of(container) == {} and cache.size_bytes == 0
    cache.keep(container, {1: LABELS}, 100, sequence=4)
    assert cache.of(container) == {}
    cache.keep(container, {2: LABELS}, 100, sequence=5)
    assert cache.of(container) == {2: LABELS}


def test_the_cache_of_labels_is_bounded() -> None:
    cache = LabelCache(size_bytes_max=250)
    ids = [ContainerId(bytes([n] * 16)) for n in range(4)]
    for number, container in enumerate(ids[:3]):
        cache.keep(container, {number: LABELS}, 100, sequence=1)
    assert cache.of(ids[0]) == {} and cache.of(ids[2]) and cache.size_bytes == 200
    cache.of(ids[1])
    cache.keep(ids[3], {3: LABELS}, 100, sequence=1)
    assert cache.of(ids[1]) and not cache.of(ids[2])
    cache.keep(ids[1], dict.fromkeys(range(10, 19), LABELS), 900, sequence=1)
    assert set(cache.of(ids[1])) == {1, 10} and cache.size_bytes <= 250
    cache.keep(ids[0], dict.fromkeys(range(9), LABELS), 900, sequence=1)
    assert set(cache.of(ids[0])) == {0, 1} and cache.size_bytes <= 250


# --- values


def test_terms_of_numbers_stand_in_their_order() -> None:
    rng = np.random.default_rng(7)
    numbers: list[Any] = [0, -0.0, 1, 1.5, -1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1, 1e300, 5e-324]
    numbers += [int(n) for n in rng.integers(-(2**63), 2**63 - 1, 300)]
    numbers += [n + d for n in numbers[11:] for d in (-513, -1, 1, 513) if abs(n) < 2**62]
    numbers += [float(n) for n in numbers]
    terms = [measure_term(b"k", "a", n) for n in numbers]
    ranked = sorted(zip(terms, numbers, strict=True), key=lambda pair: pair[0])
    for (term, number), (later, other) in pairwise(ranked):
        assert number == other if term == later else number < other
    for op in ("eq", "gt", "gte", "lt", "lte"):
        low, high = stretch(b"k", "a", op, 1.5)
        held = {"eq": "==", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[op]
        for term, number in ranked:
            assert (low <= term < high) == eval(f"number {held} 1.5"), (op, number)


@pytest.mark.parametrize(
    "text",
    ["2026", "2026-03-01", "2026-03-01T10:00:00", "2026-03-01 10:00:00Z", "2026-02-30T10:00:00Z",
     "x2026-03-01T10:00:00Z", "2026-03-01T25:00:00Z", "٢٠٢٦-03-01T10:00:00Z", ""],
)  # fmt: skip
def test_what_is_no_full_time_is_text(text: str) -> None:
    assert time_of(text) is None


def test_times_are_read_to_the_microsecond() -> None:
    assert time_of("1970-01-01t00:00:00.5z") == 500_000
    assert time_of("1970-01-01T01:00:00+01:00") == 0
    assert time_of("1969-12-31T23:59:59.999999Z") == -1


def test_missing_is_not_null() -> None:
    assert values.at({"a": None}, "a") is None
    assert values.at({"a": None}, "a.b") is values.MISSING
    assert values.at({}, "a") is values.MISSING
    assert values.at({"": {"x": 1}}, ".x") is values.MISSING
