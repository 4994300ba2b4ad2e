"""The v5 façade: a namespace is searched and told in short, in the form that its client reads."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from rewound.http.problems import Problem
from rewound.http.supermemory_hits import similarity
from rewound.http.supermemory_v5_filters import conditions_of
from rewound.memory import requests as q
from rewound.memory.conditions import Where
from rewound.memory.foreign_ids import uuid_of
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.memory.replies import Written
from tests.http.posting import posted


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Link]:
    opened = Link(tmp_path / "store", models=Models(embedder="none", extractor="none"))
    opened.take_over()
    yield opened
    opened.close()


def remember(link: Link, text: str, **more: Any) -> str:
    """The new fact's id."""
    written = link.call(q.Remember(container="nina", facts=(q.NewFact(text=text, **more),)))
    assert isinstance(written, Written)
    return str(written.items[0].id)


def search(query: str, namespace: str = "nina", **more: Any) -> tuple[str, Any]:
    return f"/ns/{namespace}/search", {"query": query, **more}


def found(link: Link, *asked: tuple[str, Any]) -> list[list[Any]]:
    """The results of each search, checked for what must be in them."""
    answers = posted(link, *asked)
    for status, told in answers:
        assert status == 200, told
        assert set(told) - {"notes"} == {"results", "searchTime"} and told["searchTime"] >= 0
        for result in told["results"]:
            check_result(result)
    return [told["results"] for _, told in answers]


def check_result(result: Any) -> None:
    needed = {"id", "metadata", "similarity", "isLatest", "isInference", "system"}
    assert needed <= set(result) <= needed | {"memory", "chunk", "included"}
    assert ("memory" in result) != ("chunk" in result), "one of the two"
    UUID(result["id"])
    assert 0 <= result["similarity"] <= 1 and result["isInference"] is False
    check_stamps(result["system"])


def check_stamps(system: Any) -> None:
    assert set(system) == {"updatedAt", "createdAt"}
    assert all(datetime.fromisoformat(each).tzinfo is not None for each in system.values())


# --- searching


def test_memories_chunks_or_both_are_found(link: Link) -> None:
    fact = remember(link, "Omar likes figs.", metadata={"topic": "food"})
    link.call(
        q.Ingest(container="nina", documents=(q.NewDocument(text="Figs grow.", title="Figs"),))
    )
    memories, chunks, both, one = found(
        link,
        search("figs", searchMode="memories"),
        search("figs", searchMode="chunks", include={"documents": True}),
        search("figs"),
        search("figs", limit=1),
    )
    (memory,) = memories
    assert (memory["memory"], memory["id"]) == ("Omar likes figs.", uuid_of(fact))
    assert memory["metadata"] == {"topic": "food"} and "included" not in memory
    (chunk,) = chunks
    assert (chunk["chunk"], chunk["metadata"]) == ("Figs grow.", {})
    document = chunk["included"]["document"]
    assert (document["title"], document["type"], document["metadata"]) == ("Figs", "text", {})
    check_stamps(document["system"])
    assert len(both) == 2 and one == both[:1]


def test_versions_and_what_is_added_to_are_related(link: Link) -> None:
    old = remember(link, "Nina grows figs.")
    new = link.call(q.Update(container="nina", id=old, text="Nina grows figs and plums."))
    more = remember(link, "Nina grows figs in Porto.")
    link.call(q.Workers(action="wait"))
    current = new.items[0].id  # type: ignore[attr-defined]
    label = q.NewLabel(fact=more, old=current, outcome="extends")
    link.call(q.Label(container="nina", labels=(label,)))
    (plain, told) = found(
        link, search("Nina plums"), search("Nina plums Porto", include={"related": True})
    )
    assert [each["memory"] for each in plain if "plums" in each["memory"]]
    related = {each["memory"]: each["included"]["related"] for each in told}
    (parent,) = related["Nina grows figs and plums."]["parents"]
    assert (parent["id"], parent["version"]) == (uuid_of(old), -1)
    assert (parent["relation"], parent["memory"]) == ("updates", "Nina grows figs.")
    check_stamps(parent["system"])
    (sibling,) = related["Nina grows figs in Porto."]["siblings"]
    assert (sibling["relation"], sibling["id"]) == ("extends", uuid_of(current))
    assert all(set(family) == {"parents", "children", "siblings"} for family in related.values())


def test_what_is_forgotten_is_found_only_when_asked_for(link: Link) -> None:
    link.call(q.Forget(container="nina", ids=(remember(link, "A secret cat."),)))
    answers = found(link, search("cat"), search("cat", include={"forgotten": True}))
    assert [len(results) for results in answers] == [0, 1]


def test_a_threshold_counts_as_a_similarity(link: Link) -> None:
    for text in ("Figs, figs and figs.", "One fig among many other words, none of them about it."):
        remember(link, text)
    hits = link.call(q.Search(container="nina", query="figs")).hits  # type: ignore[attr-defined]
    first, second = (similarity(hit.score) for hit in hits)
    (kept,) = found(link, search("figs", threshold=(first + second) / 2))
    assert [each["similarity"] for each in kept] == [first] and first > second


def test_a_namespace_that_nobody_used_is_empty(link: Link) -> None:
    asked = search("figs", namespace="nobody")
    (_, searched), (status, told) = posted(link, asked, ("/ns/nobody/profile", {}))
    assert searched["results"] == [] and "nobody" in searched["notes"][0]
    assert (status, told["profile"]["static"], told["profile"]["dynamic"]) == (200, [], [])


def test_the_same_is_under_v5(link: Link) -> None:
    remember(link, "Omar likes figs.")
    path, body = search("figs")
    (_, here), (status, there) = posted(link, (path, body), (f"/v5{path}", body))
    assert status == 200 and there["results"] == here["results"]


def test_what_is_done_without_is_told(link: Link) -> None:
    remember(link, "Omar likes figs.")
    ((_, told),) = posted(link, search("figs", rerank="order", rewriteQuery=True))
    assert [note.partition(":")[0] for note in told["notes"]] == ["not rewritten", "not reranked"]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"query": ""}, "query"),
        ({"query": None}, "query"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"threshold": 1.5}, "threshold"),
        ({"searchMode": "documents"}, "searchMode"),
        ({"rerank": "aggregate"}, "rerank"),
        ({"rerank": True}, "rerank"),
        ({"q": "figs"}, "q"),
        ({"include": {"summaries": True}}, "include.summaries"),
        ({"filter": {"operator": "and", "operands": []}}, "filter.operands"),
        ({"filter": []}, "filter"),
    ],
)
def test_what_is_not_done_is_refused_by_name(link: Link, more: dict[str, Any], named: str) -> None:
    path, body = search("figs")
    ((status, error),) = posted(link, (path, body | more))
    assert status == 400
    assert named in error["details"] and set(error) == {"error", "details"}


def test_errors_name_the_namespace(link: Link) -> None:
    answers = posted(link, search("figs", namespace="%20"), ("/ns/%20/profile", {}))
    for status, error in answers:
        assert status == 400
        assert error["details"] == "namespace" and error["error"].startswith("namespace is blank")


# --- profiles


def test_a_profile_has_memories_with_ids(link: Link) -> None:
    fact = remember(link, "Nina likes tea.", kind="preference", metadata={"n": 1})
    remember(link, "Nina owns a bicycle.")
    two = {"field": "n", "operator": "lt", "value": 2}
    answers = posted(
        link,
        ("/ns/nina/profile", {}),
        ("/ns/nina/profile", {"buckets": ["preferences"], "filter": two}),
    )
    told, narrowed = (body["profile"] for _, body in answers)
    tea = {"id": uuid_of(fact), "memory": "Nina likes tea."}
    assert tea in told["static"] and len(told["static"]) == 2
    assert set(told["buckets"]) == {"preferences", "people", "work", "procedures", "plans"}
    assert narrowed == {"static": [tea], "dynamic": [], "buckets": {"preferences": [tea]}}


def test_a_profile_comes_as_markdown_where_that_is_asked_for(link: Link) -> None:
    remember(link, "Nina likes tea.")
    (status, text), (_, error) = posted(
        link,
        ("/ns/nina/profile", {}),
        ("/ns/nina/profile", {"buckets": ["food"]}),
        accept="text/markdown",
    )
    assert status == 200 and text.startswith("# What is known") and "Nina likes tea." in text
    assert error["details"] == "buckets[0]"


# --- filters


def leaf(field: str, operator: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"field": field, "operator": operator, "value": value, **more}


def ours(field: str, op: Any, value: Any, **more: Any) -> Where:
    return Where(field=f"metadata.{field}", op=op, value=value, **more)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (None, None),
        ({}, None),
        (leaf("a", "eq", "x"), ours("a", "eq", "x")),
        (leaf("a", "neq", True), ours("a", "neq", True)),
        (leaf("a.b", "eq", 3), ours("a.b", "eq", 3)),
        (leaf("a", "eq", "x", caseSensitive=False), ours("a", "eq", "x", ignore_case=True)),
        (leaf("a", "neq", "x", caseSensitive=True), ours("a", "neq", "x")),
        *[(leaf("n", op, 3.5), ours("n", op, 3.5)) for op in ("gt", "gte", "lt", "lte")],
        (leaf("a", "contains", "x"), ours("a", "contains", "x")),
        (
            leaf("a", "notContains", "x", caseSensitive=False),
            Where(not_=ours("a", "contains", "x", ignore_case=True)),
        ),
        (leaf("a", "arrayContains", "x"), ours("a", "array_contains", "x")),
        (leaf("a", "arrayNotContains", "x"), Where(not_=ours("a", "array_contains", "x"))),
        (
            {"operator": "or", "operands": [leaf("a", "eq", "x"), leaf("b", "lt", 2)]},
            Where(or_=(ours("a", "eq", "x"), ours("b", "lt", 2))),
        ),
        (
            {
                "operator": "and",
                "operands": [{"operator": "or", "operands": [leaf("a", "eq", "x")]}],
            },
            Where(and_=(Where(or_=(ours("a", "eq", "x"),)),)),
        ),
    ],
)
def test_the_whole_grammar_becomes_a_tree_of_ours(tree: Any, expected: Where | None) -> None:
    assert conditions_of(tree) == expected


def deep(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = leaf("a", "eq", "x")
    for _ in range(levels):
        node = {"operator": "and", "operands": [node]}
    return node


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        ({"operator": "xor", "operands": [leaf("a", "eq", "x")]}, "filter.operator"),
        ({"operator": "and"}, "filter.operands"),
        ({"operator": "and", "operands": leaf("a", "eq", "x")}, "filter.operands"),
        ({"operator": "and", "operands": ["a"]}, "filter.operands[0]"),
        ({"AND": [leaf("a", "eq", "x")]}, "filter"),
        ({"operator": "and", "operands": [leaf(" ", "eq", "x")]}, "filter.operands[0].field"),
        (leaf("a", "like", "x"), "filter.operator"),
        (leaf("a", "eq", None), "filter.value"),
        (leaf("a", "eq", ["x"]), "filter.value"),
        (leaf("a", "gt", "3"), "filter.value"),
        (leaf("a", "lt", True), "filter.value"),
        (leaf("a", "contains", 3), "filter.value"),
        (leaf("a", "contains", ""), "filter.value"),
        (leaf("a", "arrayContains", 3), "filter.value"),
        (leaf("a", "gt", 3, caseSensitive=False), "filter.caseSensitive"),
        (leaf("a", "eq", 3, caseSensitive=True), "filter.caseSensitive"),
        (leaf("a", "arrayContains", "x", caseSensitive=False), "filter.caseSensitive"),
        (leaf("a", "eq", "x", caseSensitive="no"), "filter.caseSensitive"),
        (leaf("a", "eq", "x", negate=True), "filter"),
        (deep(20), "filter"),
        (deep(500), "filter"),
        ({"operator": "or", "operands": [leaf("a", "eq", "x")] * 1_001}, "filter"),
    ],
)
def test_other_filters_are_refused_by_their_place(tree: Any, place: str) -> None:
    with pytest.raises(Problem) as caught:
        conditions_of(tree)
    assert (caught.value.code, caught.value.field) == ("invalid_input", place)
    assert "filter" in caught.value.message and "where" not in caught.value.message


def test_a_filter_narrows_what_a_search_finds(link: Link) -> None:
    remember(link, "A fig of old.", metadata={"year": 1999, "who": ["ana"]})
    remember(link, "A fig of the sea.", metadata={"topic": "Sea", "year": 2021})
    remember(link, "A fig of nowhere.")
    sea = leaf("topic", "eq", "sea", caseSensitive=False)
    answers = found(
        link,
        *(
            search("fig", filter=tree, threshold=0)
            for tree in (
                sea,
                leaf("topic", "neq", "Sea"),
                leaf("who", "arrayNotContains", "ana"),
                {"operator": "or", "operands": [sea, leaf("year", "lt", 2000)]},
            )
        ),
    )
    texts = [{each["memory"].removeprefix("A fig of ") for each in results} for results in answers]
    assert texts == [
        {"the sea."}, {"old.", "nowhere."}, {"the sea.", "nowhere."}, {"the sea.", "old."}
    ]  # fmt: skip
