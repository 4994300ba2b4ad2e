"""Inputs: every field has a check, and what is refused is named with what would be right."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Annotated, Any, get_args

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput, RewoundError, WrongKind
from rewound.eventlog.ids import Kind, show
from rewound.memory import checks
from rewound.memory import requests as q
from rewound.memory.fields import BATCH_MAX, FACT_CHARS_MAX, TEXT_BYTES_MAX
from rewound.memory.inputs import (
    as_moment,
    as_scope,
    as_time,
    check,
    convert,
    merged,
    sift,
    translated,
)
from rewound.memory.replies import Item, Written

EVENT = show(Kind.EVENT, bytes(range(16)))
FACT = show(Kind.FACT, bytes(range(16)))
loose: Any = q
"""The requests, for what no type checker would let pass."""
HALF = "half \ud83d emoji"


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    assert isinstance(value, dict)
    return value


def fact(**fields: Any) -> q.Remember:
    return q.Remember(facts=(q.NewFact(**{"text": "Nina likes tea.", **fields}),))


# --- nothing is forgotten


@pytest.mark.parametrize("kind", get_args(q.AnyRequest), ids=lambda kind: kind.__name__)
def test_every_field_of_every_request_has_a_check(kind: type[q.Request]) -> None:
    assert set(checks.REQUESTS[kind]) == set(kind.__struct_fields__)


@pytest.mark.parametrize("kind", [q.NewFact, q.NewDocument, q.NewMessage])
def test_every_field_of_every_item_has_a_check(kind: type[msgspec.Struct]) -> None:
    assert set(checks.ITEMS[kind]) == set(kind.__struct_fields__)


def test_every_filter_has_a_check() -> None:
    assert set(checks.FILTERS) == set(q.Filters.__struct_fields__)


def test_there_is_no_check_for_what_is_no_request() -> None:
    assert set(checks.REQUESTS) == set(get_args(q.AnyRequest))
    with pytest.raises(InvalidInput, match="not a request"):
        check(q.Request())


# --- what passes

GOOD: list[q.Request] = [
    fact(),
    fact(text="x" * FACT_CHARS_MAX),
    fact(text="\ufffe \u202e \u2028 \U0001f375 fine"),
    fact(tags=("t" * 600, "\U0001f375" * 200, *(f"tag {n}" for n in range(198)))),
    fact(id="x" * 2000, subject="s" * 3000, metadata={"__proto__": 1, "id": "x", "space": None}),
    fact(metadata=nested(20), said_at="2026-03", valid_from="2026-03-01", valid_to="2026-03-02"),
    fact(valid_from="2026-03-02T00:00:00Z", valid_to="2026-03-01"),  # zones may differ
    q.Remember(facts=(q.NewFact(text="x" * (FACT_CHARS_MAX + 1)),), infer=True),
    q.Ingest(documents=(q.NewDocument(text="a" * 100_000, address="https://" + "a" * 4000),)),
    q.AddMessages(messages=(q.NewMessage(content="Yes."), q.NewMessage(content="Yes."))),
    q.Forget(ids=(FACT,)),
    q.Forget(filters=q.Filters(tags=("a",))),
    q.Forget(query="tea"),
    q.Forget(text="tea", filters=q.Filters(what=("message",))),
    q.Forget(similar="tea"),
    q.Forget(similar="tea", limit=100, dry_run=False, batch="0" * 32),
    q.Search(query="tea", as_of="@12", valid_at="2026", limit=1000),
    q.Search(query="tea", as_of=EVENT),
    q.Search(query="tea", as_of="now", valid_at="now"),
    q.Search(query="tea", as_of="01234567-89ab-7def-8000-0123456789ab"),
    q.Undo(id=EVENT),
    q.Undo(id=show(Kind.GROUP, bytes(16))),
    *(q.Stats(container=name) for name in ("../../etc", "north ", "CON", "a\nb", "x" * 200)),
]  # fmt: skip


@pytest.mark.parametrize("request_", GOOD, ids=range(len(GOOD)))
def test_what_is_right_passes_unchanged(request_: q.Request) -> None:
    checked, refused = sift(request_)
    assert checked is request_
    assert refused == []


# --- what does not

BAD: list[tuple[q.Request, str, str]] = [
    (fact(text=""), "text", "blank"),
    (fact(text=" \n\t\u200b\u00ad"), "text", "blank"),
    (fact(text=HALF), "text", "lone surrogate"),
    (fact(text="nul \0 byte"), "text", "zero character"),
    (fact(text=7), "text", "must be text, not a number"),
    (fact(text="x" * (FACT_CHARS_MAX + 1)), "text", "ingest it as a document"),
    (fact(kind="opinion"), "kind", "fact, preference, episode or procedure"),
    (fact(tags=("",)), "tags[0]", "blank"),
    (fact(tags=("a", HALF)), "tags[1]", "lone surrogate"),
    (fact(tags=("a\0b",)), "tags[0]", "zero character"),
    (fact(tags=("t" * 1001,)), "tags[0]", "at most 1,000"),
    (fact(tags=tuple(map(str, range(5000)))), "tags", "5,000 entries, at most 200"),
    (fact(tags="work"), "tags", "must be a list, not text"),
    (fact(id=HALF), "id", "lone surrogate"),
    (fact(id="x" * 2001), "id", "at most 2,000"),
    (fact(metadata=nested(21)), "metadata" + ".a" * 20, "20 levels"),
    (fact(metadata={"a": "x" * 70_000}), "metadata", "at most 65,536"),
    (fact(metadata={"a": math.nan}), "metadata.a", "nan, which JSON does not have"),
    (fact(metadata={"a": [1, math.inf]}), "metadata.a[1]", "inf"),
    (fact(metadata={"a": 1 << 64}), "metadata.a", "64 bits"),
    (fact(metadata={"a": {1, 2}}), "metadata.a", "a set"),
    (fact(metadata={"a": datetime.now(UTC)}), "metadata.a", "a datetime"),
    (fact(metadata={1: "a"}), "a key of metadata", "must be text"),
    (fact(metadata={"a": HALF}), "metadata.a", "lone surrogate"),
    (fact(metadata=[1]), "metadata", "must be an object"),
    (fact(said_at="yesterday"), "said_at", "2026-03-01T10:00:00Z"),
    (fact(valid_from="2026-03-01", valid_to="2026-03-01"), "valid_to", "later than valid_from"),
    (fact(expires_at=12), "expires_at", "must be text"),
    (q.Remember(facts=()), "facts", "empty"),
    (q.Remember(facts=tuple([q.NewFact(text="a")] * (BATCH_MAX + 1))), "facts", "at most 10,000"),
    (loose.Remember(facts=("a",)), "", "must be a fact"),
    (q.Ingest(documents=(q.NewDocument(text="é" * (TEXT_BYTES_MAX // 2 + 1)),)), "text", "32 MB"),
    (q.Ingest(documents=(q.NewDocument(text="a" * 10_001),), infer=False), "text", "one fact"),
    (loose.AddMessages(messages=(loose.NewMessage(content="a", role="bot"),)), "role", "assistant"),
    (q.Update(id=FACT), "text", "nothing to change"),
    (q.Update(id=FACT, add_tags=("a",), remove_tags=("a",)), "remove_tags", "both"),
    (q.Forget(), "ids", "nothing named"),
    (q.Forget(filters=q.Filters()), "filters", "everything"),
    (q.Forget(query="tea", filters=q.Filters()), "filters", "everything"),
    (q.Forget(ids=(FACT,), query="tea"), "query", "cannot be given together"),
    (q.Forget(text="tea", similar="tea"), "similar", "cannot be given together"),
    (q.Forget(ids=(FACT,), filters=q.Filters(tags=("a",))), "ids", "not both"),
    (q.Forget(text=" \n"), "text", "blank"),
    (q.Forget(text="tea", filters=q.Filters()), "filters", "everything"),
    (q.Forget(similar=""), "similar", "blank"),
    (q.Forget(similar="tea", limit=101), "limit", "up to 100 at a time"),
    (q.Forget(similar="tea", dry_run=False), "batch", "looked at first"),
    (q.Forget(similar="tea", dry_run=False, batch=" "), "batch", "blank"),
    (q.Forget(query="tea", batch="0" * 32), "batch", "belongs to similar"),
    (q.Forget(filters=q.Filters(scope=q.Scope(user=""))), "filters.scope.user", "blank"),
    (q.Restore(ids=()), "ids", "empty"),
    (q.Erase(ids=()), "ids", "empty"),
    (q.Undo(id="nonsense"), "id", "not an id"),
    (q.Search(query=" "), "query", "blank"),
    (q.Search(query=HALF), "query", "lone surrogate"),
    (q.Search(query="a\0"), "query", "zero character"),
    (q.Search(query="tea", limit=0), "limit", "from 1 to 1,000"),
    (q.Search(query="tea", limit=-1), "limit", "from 1 to 1,000"),
    (q.Search(query="tea", limit=10**6), "limit", "from 1 to 1,000"),
    (loose.Search(query="tea", limit="abc"), "limit", "a whole number from 1 to 1,000, not text"),
    (q.Search(query="tea", limit=True), "limit", "a whole number"),
    (q.Search(query="tea", as_of="@x"), "as_of", "@123"),
    (q.Search(query="tea", as_of="soon"), "as_of", "@123"),
    (q.Search(query="tea", valid_at="@5"), "valid_at", "not a time"),
    (q.Search(query="tea", filters=q.Filters(since="x")), "filters.since", "not a time"),
    (
        loose.Search(query="tea", filters=loose.Filters(what=("facts",))),
        "filters.what[0]",
        "passage",
    ),
    (q.Search(query="tea", at_least=-1), "at_least", "0 or more"),
    (loose.Search(query="tea", include_forgotten=1), "include_forgotten", "true or false"),
    (q.Context(query="tea", budget=0), "budget", "from 1"),
    (q.Inquire(query="tea", confidence=2.0), "confidence", "from 0 to 1"),
    (q.Inquire(query="tea", timeout_s=601), "timeout_s", "from 1 to 600"),
    (q.Get(id=""), "id", "blank"),
    (q.Stats(container=""), "container", "blank"),
    (q.Stats(container=" "), "container", "blank"),
    (q.Stats(container="a\0b"), "container", "zero character"),
    (q.Stats(container=HALF), "container", "lone surrogate"),
    (q.Stats(container="x" * 300), "container", "at most 200"),
    (loose.Stats(container=None), "container", "must be text, not nothing"),
    (fact().__class__(facts=fact().facts, key=""), "key", "blank"),
    (loose.Remember(facts=fact().facts, scope={"user": "a"}), "scope", "must be a scope"),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "field", "words"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_named(request_: q.Request, field: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        sift(request_)
    assert caught.value.field == (field or None)
    assert words in caught.value.message
    assert HALF not in caught.value.message


def test_an_id_of_another_kind_is_named_as_such() -> None:
    with pytest.raises(WrongKind, match="a fact, but id wants an event"):
        sift(q.Undo(id=FACT))
    with pytest.raises(WrongKind, match="a fact, but as_of wants an event"):
        sift(q.Search(query="tea", as_of=FACT))


# --- batches


def test_of_a_batch_only_the_bad_items_are_refused() -> None:
    batch = ("tea", HALF, "coffee", " ", "x" * 11_000)
    remember = q.Remember(facts=tuple(q.NewFact(text=text, id=text[:3]) for text in batch))
    sifted, refused = sift(remember)
    assert [new.text for new in sifted.facts] == ["tea", "coffee"]
    assert [(r.number, r.item.field, r.item.code) for r in refused] == [
        (1, "text", "invalid_input"),
        (3, "id", "invalid_input"),
        (4, "text", "invalid_input"),
    ]
    written = tuple(Item(status="written", kind="fact", id=n) for n in "ab")
    reply = merged(Written(container="c", group=None, position=2, items=written), refused)
    statuses = [item.status for item in reply.items]
    assert statuses == ["written", "refused", "written", "refused", "refused"]
    assert reply.refused == 3


def test_a_batch_of_which_nothing_is_left_raises() -> None:
    with pytest.raises(InvalidInput, match="none of the 2 facts") as caught:
        sift(q.Remember(facts=(q.NewFact(text=" "), q.NewFact(text=""))))
    assert caught.value.field == "facts[0].text"


def test_a_strict_check_names_the_place_in_the_batch() -> None:
    with pytest.raises(InvalidInput) as caught:
        check(q.Remember(facts=(q.NewFact(text="a"), q.NewFact(text=" "))))
    assert caught.value.field == "facts[1].text"


# --- conversions


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, None),
        ("2026-03", "2026-03"),
        (date(2026, 3, 1), "2026-03-01"),
        (datetime(2026, 3, 1, 10), "2026-03-01T10:00:00.000000"),
        (datetime(2026, 3, 1, 10, tzinfo=UTC), "2026-03-01T10:00:00.000000+00:00"),
        (
            datetime(2026, 3, 1, 10, tzinfo=timezone(timedelta(hours=5, minutes=30))),
            "2026-03-01T10:00:00.000000+05:30",
        ),
        (
            datetime(1880, 1, 1, tzinfo=timezone(timedelta(minutes=53, seconds=28))),
            "1879-12-31T23:06:32.000000+00:00",
        ),
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_750_000_000.25, "2025-06-15T15:06:40.250000Z"),
    ],
)
def test_times_are_taken_as_python_has_them(given: Any, wanted: str | None) -> None:
    assert as_time(given, "said_at") == wanted
    if wanted is not None:
        check(fact(said_at=wanted))


@pytest.mark.parametrize("given", [True, 1_750_000_000_000, [], math.nan, math.inf, -(10**11) + 1])
def test_what_is_no_time_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        as_time(given, "said_at")
    assert caught.value.field == "said_at"


def test_a_number_is_a_position_where_a_moment_is_asked_for() -> None:
    assert as_moment(12, "as_of") == "@12"
    assert as_moment("@12", "as_of") == "@12"
    assert as_moment(date(2026, 3, 1), "as_of") == "2026-03-01"


def test_a_scope_is_made_from_a_mapping() -> None:
    assert as_scope({"user": "nina", "run": None}) == q.Scope(user="nina")
    assert as_scope(None) == q.Scope()
    with pytest.raises(InvalidInput) as caught:
        as_scope({"usr": "nina"})
    assert caught.value.field == "scope.usr"
    assert "user, agent, run or session" in caught.value.message


@pytest.mark.parametrize(
    ("kind", "given", "field", "words"),
    [
        (q.Search, {"query": "a", "limit": "abc"}, "limit", "a whole number, not text"),
        (q.Search, {"query": "a", "limt": 3}, "limt", "not a field here: use"),
        (q.Search, {}, "query", "missing"),
        (q.Search, {"query": None}, "query", "must be text, not nothing"),
        (q.Search, {"query": "a", "filters": {"spce": "A"}}, "filters.spce", "not a field"),
        (q.NewFact, {"text": "a", "tags": "b"}, "tags", "must be a list, not text"),
        (q.NewFact, {"text": "a", "kind": "x"}, "kind", "preference"),
        (q.NewFact, {"text": "a", "metadata": 3}, "metadata", "must be an object, not a whole"),
        (q.NewMessage, {"content": [1]}, "content", "must be text, not a list"),
        (q.Undo, {"id": "a", "dry_run": "yes"}, "dry_run", "true or false, not text"),
        (q.NewFact, {"text": "a", "id": 3}, "id", "text or nothing"),
    ],
)
def test_what_msgspec_finds_is_told_in_our_words(
    kind: type[msgspec.Struct], given: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        convert(kind, given)
    assert caught.value.field == field
    assert words in caught.value.message
    assert field in caught.value.message


def test_json_is_told_in_our_words_too() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"query": "a", "limit": []}', type=q.Search)
    error: RewoundError = translated(caught.value, q.Search)
    assert (error.field, error.message) == ("limit", "limit must be a whole number, not a list")


class Bounded(msgspec.Struct):
    """A form as a façade has them."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    memories: Annotated[tuple[str, ...], msgspec.Meta(min_length=1, max_length=2)] = ("a",)
    name: Annotated[str, msgspec.Meta(max_length=2)] = ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"limit": 0}, "limit must be a whole number of at least 1"),
        ({"limit": 101}, "limit must be a whole number of at most 100"),
        ({"threshold": -1.5}, "threshold must be a number of at least 0"),
        ({"threshold": 1.5}, "threshold must be a number of at most 1"),
        ({"memories": []}, "memories must be a list of at least 1 entries"),
        ({"memories": ["a"] * 3}, "memories must be a list of at most 2 entries"),
        ({"name": "abc"}, "name must be text of at most 2 characters"),
    ],
)
def test_a_value_out_of_bounds_is_told_the_bound(given: dict[str, Any], words: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(given, Bounded)
    error: RewoundError = translated(caught.value, Bounded)
    assert (error.field, error.message) == (next(iter(given)), words)
