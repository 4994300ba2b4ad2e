"""The v4 façade: its words in ours, and ours in its own."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.http.problems import Problem
from rewound.http.supermemory_filters import conditions
from rewound.http.supermemory_hits import similarity
from rewound.memory import requests as q
from rewound.memory.conditions import Where
from rewound.memory.foreign_ids import kind_of_id, made_at, uuid_of
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.memory.replies import Page, Reply, Shown, Written
from tests.http.posting import posted
from tests.integration.faking import faking

FACT = "fact_01m8mhpgnme00b5bajg62mjkf3"


@pytest.fixture
def link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Link]:
    monkeypatch.setenv("REWOUND_EMBEDDER", "none")
    monkeypatch.setenv("REWOUND_EXTRACTOR", "none")
    opened = Link(tmp_path / "store")
    opened.take_over()
    yield opened
    opened.close()


def add(*contents: str, tag: str = "nina", **more: Any) -> tuple[str, Any]:
    memories = [{"content": content, **more} for content in contents]
    return "/v4/memories", {"memories": memories, "containerTag": tag}


def search(query: str, tag: str = "nina", **more: Any) -> tuple[str, Any]:
    return "/v4/search", {"q": query, "containerTag": tag, **more}


def test_what_is_added_is_a_fact_of_the_container_under_the_same_bits(
    link: Link, tmp_path: Path
) -> None:
    ((status, added),) = posted(
        link, add("Nina works at Orbit Labs.", isStatic=True, metadata={"n": 3})
    )
    assert status == 200
    (memory,) = added["memories"]
    assert memory["memory"] == "Nina works at Orbit Labs." and memory["isStatic"] is True
    again = Link(tmp_path / "store")
    try:
        shown = again.call(q.Get(container="nina", id=memory["id"]))
        assert isinstance(shown, Shown)
        assert uuid_of(shown.item.id) == memory["id"]
        assert (shown.item.tags, shown.item.metadata) == (("static",), {"n": 3})
        assert shown.item.fact_kind == "fact"
        again.call(q.Undo(container="nina", id=added["documentId"]))
        left = again.call(q.List(container="nina"))
        assert isinstance(left, Page) and left.items == ()
    finally:
        again.close()


def test_one_bad_memory_keeps_all_out(link: Link) -> None:
    answers = posted(link, add("Good.", " "), add("Good."), search("good"))
    (status, error), (_, added), (_, found) = answers
    assert status == 400
    assert set(error) == {"error", "details"}
    assert error["details"] == "memories[1].content"
    assert [each["memory"] for each in found["results"]] == ["Good."]
    assert len(added["memories"]) == 1


def test_results_are_memories_chunks_or_both(link: Link) -> None:
    link.call(
        q.Ingest(container="nina", documents=(q.NewDocument(text="Figs grow.", title="Figs"),))
    )
    answers = posted(
        link,
        add("Omar likes figs."),
        search("figs"),
        search("figs", searchMode="documents", include={"documents": True, "chunks": True}),
        search("figs", searchMode="hybrid"),
        search("figs", searchMode="hybrid", limit=1),
    )
    _, memories, chunks, hybrid, one = (body for _, body in answers)
    assert [each["memory"] for each in memories["results"]] == ["Omar likes figs."]
    (chunk,) = chunks["results"]
    assert "memory" not in chunk and chunk["chunk"] == "Figs grow."
    (document,) = chunk["documents"]
    assert document["title"] == "Figs"
    assert [each["content"] for each in chunk["chunks"]] == ["Figs grow."]
    assert chunk["chunks"][0]["documentId"] == document["id"]
    assert hybrid["total"] == len(hybrid["results"]) == 2
    assert one["results"] == hybrid["results"][:1]


def test_versions_are_told_and_their_relatives_when_asked(link: Link) -> None:
    first = link.call(
        q.Remember(container="nina", facts=(q.NewFact(text="Nina works at Orbit Labs."),))
    )
    old = first.items[0].id  # type: ignore[attr-defined]
    link.call(q.Update(container="nina", id=old, text="Nina works at Harbor Foods."))
    answers = posted(
        link,
        search("Nina works"),
        search("Nina works", include={"relatedMemories": True, "summaries": True}),
    )
    (_, plain), (_, told) = answers
    (result,) = plain["results"]
    assert result["memory"] == "Nina works at Harbor Foods."
    assert (result["version"], result["rootMemoryId"]) == (2, uuid_of(old))
    assert "context" not in result
    (parent,) = told["results"][0]["context"]["parents"]
    assert (parent["memory"], parent["version"]) == ("Nina works at Orbit Labs.", -1)
    assert told["results"][0]["context"]["children"] == []


def test_only_what_has_other_versions_is_asked_for_its_history(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = (q.NewFact(text="Nina likes figs."), q.NewFact(text="Omar likes figs."))
    written = link.call(q.Remember(container="nina", facts=facts))
    assert isinstance(written, Written)
    first = str(written.items[0].id)
    link.call(q.Update(container="nina", id=first, text="Nina likes figs and plums."))
    asked: list[q.Request] = []

    def call(request: q.Request) -> Reply:
        asked.append(request)
        return heard(request)

    heard = link.call
    monkeypatch.setattr(link, "call", call)
    ((_, told),) = posted(link, search("figs", include={"relatedMemories": True}))
    assert {each["version"] for each in told["results"]} == {1, 2}
    assert sum(isinstance(request, q.History) for request in asked) == 1


def test_what_a_memory_adds_to_is_related(tmp_path: Path) -> None:
    opened = Link(tmp_path / "other", models=Models(embedder="none", extractor="none"))
    opened.take_over()
    try:
        facts = (q.NewFact(text="Nina grows figs."), q.NewFact(text="Nina grows figs in Porto."))
        written = opened.call(q.Remember(container="nina", facts=facts))
        assert isinstance(written, Written)
        old, fact = (str(item.id) for item in written.items)
        opened.call(q.Workers(action="wait"))
        label = q.NewLabel(fact=fact, old=old, outcome="extends")
        opened.call(q.Label(container="nina", labels=(label,)))
        ((_, told),) = posted(opened, search("Porto", include={"relatedMemories": True}))
    finally:
        opened.close()
    (result,) = told["results"]
    (related,) = result["context"]["related"]
    assert (related["memory"], related["relation"]) == ("Nina grows figs.", "extends")
    assert "version" not in related and result["context"]["parents"] == []


def test_what_is_done_without_is_told(link: Link) -> None:
    asked = search("figs", rerank=True, rewriteQuery=True, include={"summaries": True})
    _, (_, plain), (_, told) = posted(link, add("Omar likes figs."), search("figs"), asked)
    assert "notes" not in plain
    assert [note.partition(":")[0] for note in told["notes"]] == [
        "not rewritten",
        "not reranked",
        "summaries are left out",
    ]


def test_what_is_forgotten_is_found_only_when_asked_for(link: Link) -> None:
    written = link.call(q.Remember(container="nina", facts=(q.NewFact(text="A secret cat."),)))
    link.call(q.Forget(container="nina", ids=(written.items[0].id,)))  # type: ignore[attr-defined]
    answers = posted(link, search("cat"), search("cat", include={"forgottenMemories": True}))
    assert [len(body["results"]) for _, body in answers] == [0, 1]


def test_the_threshold_is_held(link: Link) -> None:
    answers = posted(
        link, add("Figs, figs and figs.", "One fig among many other words."), search("figs")
    )
    results = answers[1][1]["results"]
    similarities = [each["similarity"] for each in results]
    assert similarities == sorted(similarities, reverse=True)
    assert len(set(similarities)) == 2 and all(0 <= each <= 1 for each in similarities)


def test_a_tag_nobody_used_finds_nothing(link: Link) -> None:
    ((status, found),) = posted(link, search("figs", tag="nobody"))
    assert (status, found["results"], found["total"]) == (200, [], 0)


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"threshold": 1.5}, "threshold"),
        ({"searchMode": "all"}, "searchMode"),
        ({"aggregate": True}, "aggregate"),
        ({"filepath": "/a"}, "filepath"),
        ({"containerTag": None}, "containerTag"),
        ({"containerTags": ["other"]}, "containerTag"),
        ({"unheard": 1}, "unheard"),
        ({"include": {"profile": True}}, "include.profile"),
    ],
)
def test_what_is_not_done_is_refused_by_name(link: Link, more: dict[str, Any], named: str) -> None:
    path, body = search("figs")
    ((status, error),) = posted(link, (path, body | more))
    assert status == 400
    assert named in error["details"] and set(error) == {"error", "details"}


def test_errors_name_the_fields_of_this_api(link: Link) -> None:
    blank = search(" ")
    long = {"q": "figs", "containerTag": "c" * 201}
    answers = posted(
        link, blank, ("/v4/search", long), ("/v4/profile", long), ("/v3/search", blank[1])
    )
    assert [(status, error["details"]) for status, error in answers] == [
        (400, "q"), (400, "containerTag"), (400, "containerTag"), (400, "q")
    ]  # fmt: skip
    assert all(error["error"].startswith(error["details"] + " ") for _, error in answers)


def test_what_changes_nothing_is_taken(link: Link) -> None:
    path, body = search("figs", rerank=True, rewriteQuery=True, containerTags=["nina"])
    ((status, _),) = posted(link, (path, body))
    assert status == 200


def test_the_query_is_rewritten_where_that_is_asked_for(tmp_path: Path) -> None:
    content = '{"query": "spaniel dog"}'
    choices = [{"finish_reason": "stop", "message": {"content": content}}]
    with faking() as server:
        server.answer = lambda path, asked: (200, {"choices": choices})
        models = Models(
            embedder="none", extractor="none", judge="none", rewriter="model", rewrite="always",
            chat_url=server.url, chat_model="toy",
        )  # fmt: skip
        opened = Link(tmp_path / "other", models=models)
        opened.take_over()
        try:
            asked = (search("pet"), search("pet", rewriteQuery=True))
            _, plain, found = posted(opened, add("Nina has a spaniel."), *asked)
        finally:
            opened.close()
    assert plain[1]["results"] == [] and len(server.asked) == 1
    assert [each["memory"] for each in found[1]["results"]] == ["Nina has a spaniel."]


# --- filters


def eq(key: str, *values: Any, **more: Any) -> Where:
    return Where(field=f"metadata.{key}", op="in", value=values, **more)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (None, None),
        ({}, None),
        ("", None),
        ({"AND": []}, None),
        (
            {"AND": [{"key": "a", "value": "x"}, {"key": "b", "value": True}]},
            Where(and_=(eq("a", "x"), eq("b", True))),
        ),
        ({"OR": [{"key": "a", "value": "x", "negate": False}]}, Where(or_=(eq("a", "x"),))),
        (
            {"AND": [{"key": "a", "value": "x"}], "OR": [{"key": "b", "value": "y"}]},
            Where(and_=(Where(and_=(eq("a", "x"),)), Where(or_=(eq("b", "y"),)))),
        ),
        ('{"key": "a", "value": "x"}', eq("a", "x")),
        ({"key": "n", "value": "3"}, eq("n", "3", 3)),
        ({"key": "n", "value": "3.50"}, eq("n", "3.50")),
        ({"key": "n", "value": "true"}, eq("n", "true", True)),
        ({"key": "a", "value": "x", "negate": "true"}, Where(not_=eq("a", "x"))),
        ({"key": "a", "value": "x", "negate": "false"}, eq("a", "x")),
        ({"key": "a", "value": "x", "ignoreCase": True}, eq("a", "x", ignore_case=True)),
        (
            {"key": "n", "value": "3.5", "filterType": "numeric", "numericOperator": "<="},
            Where(field="metadata.n", op="lte", value=3.5),
        ),
        (
            {"key": "n", "value": 3, "filterType": "numeric"},
            Where(field="metadata.n", op="eq", value=3),
        ),
        (
            {"key": "a", "value": "x", "filterType": "string_contains", "ignoreCase": "true"},
            Where(field="metadata.a", op="contains", value="x", ignore_case=True),
        ),
        (
            {"key": "a", "value": "x", "filterType": "array_contains"},
            Where(field="metadata.a", op="array_contains", value="x"),
        ),
        (
            {"key": "a", "value": "3", "filterType": "array_contains", "negate": True},
            Where(
                not_=Where(
                    or_=(
                        Where(field="metadata.a", op="array_contains", value="3"),
                        Where(field="metadata.a", op="array_contains", value=3),
                    )
                )
            ),
        ),
    ],
)
def test_the_whole_grammar_becomes_a_tree_of_ours(filters: Any, expected: Where | None) -> None:
    assert conditions(filters) == expected


def deep(levels: int) -> dict[str, Any]:
    node: dict[str, Any] = {"key": "a", "value": "x"}
    for _ in range(levels):
        node = {"AND": [node]}
    return node


@pytest.mark.parametrize(
    ("filters", "place"),
    [
        ({"AND": [{"key": "a", "value": "x", "negate": 3}]}, "filters.AND[0].negate"),
        ({"AND": [{"key": "a", "value": "x", "ignoreCase": "no"}]}, "filters.AND[0].ignoreCase"),
        (
            {"AND": [{"key": "a", "value": "x", "filterType": "magic"}]},
            "filters.AND[0].filterType",
        ),
        (
            {"AND": [{"key": "a", "value": "1", "filterType": "numeric", "numericOperator": "!="}]},
            "filters.AND[0].numericOperator",
        ),
        ({"AND": [{"key": "a", "value": "x", "filterType": "numeric"}]}, "filters.AND[0].value"),
        ({"AND": [{"key": "a", "value": True, "filterType": "numeric"}]}, "filters.AND[0].value"),
        (
            {"OR": [{"key": "a", "value": "", "filterType": "string_contains"}]},
            "filters.OR[0].value",
        ),
        ({"AND": [{"key": "a"}]}, "filters.AND[0]"),
        ({"AND": [{"key": " ", "value": "x"}]}, "filters.AND[0].key"),
        ({"AND": [{"OR": []}]}, "filters.AND[0].OR"),
        ({"OR": []}, "filters.OR"),
        ({"OR": [{}]}, "filters.OR[0]"),
        ({"AND": ["a"]}, "filters.AND[0]"),
        ({"AND": {"key": "a", "value": "x"}}, "filters"),
        ({"XOR": []}, "filters"),
        ({"AND": [{"key": "a", "value": "x", "boost": 2}]}, "filters.AND[0]"),
        ("no JSON", "filters"),
        ("[]", "filters"),
        (deep(20), "filters"),
        (deep(500), "filters"),
        ({"OR": [{"key": "a", "value": "x"}] * 1_001}, "filters"),
        ({"key": "a", "value": "9" * 30, "filterType": "numeric"}, "filters"),
    ],
)
def test_other_filters_are_refused_by_their_place(filters: Any, place: str) -> None:
    with pytest.raises(Problem) as caught:
        conditions(filters)
    assert (caught.value.code, caught.value.field) == ("invalid_input", place)
    assert "filters" in caught.value.message and "where" not in caught.value.message


def test_filters_narrow_what_a_search_finds(link: Link) -> None:
    old = {"key": "year", "value": "2020", "filterType": "numeric", "numericOperator": "<"}
    asked = [{"OR": [old, {"key": "topic", "value": "sea"}]}, {"AND": [{**old, "negate": True}]}]
    answers = posted(
        link,
        add("A fig of old.", metadata={"year": 1999}),
        add("A fig of the sea.", metadata={"topic": "sea", "year": 2021}),
        add("A fig of nowhere."),
        *(search("fig", filters=filters) for filters in (*asked, json.dumps(asked[0]))),
    )
    found = [{each["memory"] for each in body["results"]} for _, body in answers[3:]]
    both = {"A fig of old.", "A fig of the sea."}
    assert found == [both, {"A fig of the sea.", "A fig of nowhere."}, both]


# --- small things


def test_similarity_keeps_the_order_between_0_and_1() -> None:
    scores = [-1.0, 0.0, 0.2, 0.21, 0.9, 1.0, 1.2]
    found = [similarity(score) for score in scores]
    assert found == sorted(found)
    assert found[0] == 0.0 and found[-1] == 1.0 and found[2] < found[3]


def test_ids_have_two_spellings_of_the_same_bits() -> None:
    shown = uuid_of(FACT)
    assert uuid.UUID(shown).version == 7
    assert uuid_of(shown) == uuid_of(shown.upper()) == shown
    assert kind_of_id(FACT) == "fact" and kind_of_id(shown) is None
    assert kind_of_id("my-notes.md") is None
    assert made_at(FACT) == made_at(shown) == "2026-11-29T20:59:42.132000Z"
