"""The two Supermemory v4 calls, in the form that existing clients send and read."""

from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api, check_headers, serving

_numbers = count(1)


@pytest.fixture
def tag() -> str:
    """A container tag that nobody has used."""
    return f"user_{next(_numbers)}"


class V4:
    """The calls as a v4 client makes them."""

    def __init__(self, client: httpx.Client, tag: str) -> None:
        self.client = client
        self.tag = tag

    def add(self, *memories: Any, **more: Any) -> Any:
        sent = [one if isinstance(one, dict) else {"content": one} for one in memories]
        body = {"memories": sent, "containerTag": self.tag, **more.pop("body", {})}
        response = self.client.post("/v4/memories", json=body, **more)
        check_headers(response)
        assert response.is_success, response.text
        told = response.json()
        assert set(told) == {"documentId", "memories"}, told
        for memory in told["memories"]:
            assert set(memory) == {"id", "memory", "isStatic", "createdAt"}, memory
            UUID(memory["id"])
            assert datetime.fromisoformat(memory["createdAt"]).tzinfo is not None
        return told

    def search(self, q: str, **more: Any) -> list[Any]:
        response = self.client.post("/v4/search", json={"q": q, "containerTag": self.tag, **more})
        check_headers(response)
        assert response.is_success, response.text
        told = response.json()
        assert set(told) - {"notes"} == {"results", "timing", "total"}, told
        notes = told.get("notes", ["none"])
        assert notes and all(isinstance(note, str) and note for note in notes), told
        assert told["total"] == len(told["results"])
        assert isinstance(told["timing"], int | float) and told["timing"] >= 0
        for result in told["results"]:
            check_result(result)
        found: list[Any] = told["results"]
        return found

    def texts(self, q: str, **more: Any) -> list[str]:
        return [result.get("memory") or result["chunk"] for result in self.search(q, **more)]


FIELDS = {
    "id", "memory", "chunk", "similarity", "updatedAt", "metadata", "version", "rootMemoryId",
    "isAggregated", "filepath", "chunks", "context", "documents",
}  # fmt: skip


def check_result(result: Any) -> None:
    assert {"id", "similarity", "updatedAt"} <= set(result) <= FIELDS, result
    assert ("memory" in result) != ("chunk" in result), "one of the two"
    assert 0 <= result["similarity"] <= 1
    assert isinstance(result["id"], str) and result["id"]
    assert datetime.fromisoformat(result["updatedAt"]).tzinfo is not None
    assert isinstance(result.get("metadata") or {}, dict)


@pytest.fixture
def v4(client: httpx.Client, tag: str) -> V4:
    return V4(client, tag)


def test_memories_are_written_and_found(v4: V4) -> None:
    told = v4.add(
        {"content": "Nina works at Orbit Labs.", "isStatic": True, "metadata": {"topic": "work"}},
        {"content": "Omar likes tea."},
    )
    assert [memory["memory"] for memory in told["memories"]] == [
        "Nina works at Orbit Labs.",
        "Omar likes tea.",
    ]
    assert [memory["isStatic"] for memory in told["memories"]] == [True, False]
    results = v4.search("where does Nina work")
    assert results[0]["memory"] == "Nina works at Orbit Labs."
    assert results[0]["id"] == told["memories"][0]["id"]
    assert results[0]["metadata"]["topic"] == "work"
    assert results == sorted(results, key=lambda result: -result["similarity"])
    assert len(v4.search("Nina Omar", limit=1)) == 1


def test_the_same_memories_are_seen_by_the_native_api(v4: V4) -> None:
    told = v4.add({"content": "Nina works at Orbit Labs.", "metadata": {"topic": "work"}})
    api = Api(v4.client, v4.tag)
    (fact,) = api.facts()
    assert fact.text == "Nina works at Orbit Labs."
    assert fact.metadata.get("topic") == "work"
    shown = api.read(f"/v1/facts/{told['memories'][0]['id']}", r.Shown)
    assert shown.item.id == fact.id, "both forms of an id name the same"
    added = api.fact("Omar likes tea.")
    assert "Omar likes tea." in v4.texts("tea")
    api.delete(f"/v1/facts/{added}")
    assert "Omar likes tea." not in v4.texts("tea")
    api.write("PATCH", f"/v1/facts/{fact.id}", {"text": "Nina works at Harbor Foods."})
    (result,) = v4.search("where does Nina work")
    assert result["memory"] == "Nina works at Harbor Foods."


def test_the_same_again_makes_no_twin(v4: V4) -> None:
    first = v4.add("Omar likes tea.")["memories"][0]["id"]
    assert v4.add("Omar likes tea.")["memories"][0]["id"] == first
    assert v4.texts("tea") == ["Omar likes tea."]


def test_a_retry_under_a_key_is_kept_once(v4: V4) -> None:
    headers = {"idempotency-key": "k-1"}
    first = v4.add("Omar likes tea.", headers=headers)
    assert v4.add("Omar likes tea.", headers=headers) == first
    body = {"memories": [{"content": "Other."}], "containerTag": v4.tag}
    response = v4.client.post("/v4/memories", json=body, headers=headers)
    assert response.status_code == 409 and set(response.json()) <= {"error", "details"}


def test_tags_are_kept_apart(v4: V4) -> None:
    v4.add("The secret is marmot.")
    for other in (f"{v4.tag}-corp", v4.tag.upper(), v4.tag[:-1], f"{v4.tag}:x"):
        there = V4(v4.client, other)
        there.add(f"The secret of {len(other)} is a badger.")
        assert not [text for text in there.texts("secret marmot") if "marmot" in text]
    assert v4.texts("secret") == ["The secret is marmot."]
    assert V4(v4.client, f"{v4.tag}-nobody").search("secret") == [], "a tag nobody used is empty"


@pytest.mark.parametrize("mode", ["memories", "hybrid", "documents"])
def test_the_modes_choose_memories_or_chunks(v4: V4, mode: str) -> None:
    v4.add("The walrus memory.")
    api = Api(v4.client, v4.tag)
    api.write("POST", "/v1/documents", {"text": "The walrus page.", "title": "Walrus", "id": "w"})
    results = v4.search("walrus", searchMode=mode, threshold=0)
    kinds = {"memory" if "memory" in result else "chunk" for result in results}
    assert kinds == {"memories": {"memory"}, "hybrid": {"memory", "chunk"}}.get(mode, {"chunk"})


def test_optional_fields_of_the_contract_are_taken(v4: V4) -> None:
    v4.add("The walrus sleeps.")
    for more in (
        {"threshold": 0}, {"threshold": 0.0, "rerank": False}, {"rewriteQuery": False},
        {"aggregate": False}, {"include": {"documents": True, "summaries": False}},
        {"include": {"relatedMemories": True, "forgottenMemories": False}}, {"limit": 100},
        {"rerank": True}, {"include": {"chunks": True}},
    ):  # fmt: skip
        assert v4.texts("walrus", **more) == ["The walrus sleeps."], more
    assert v4.texts("walrus", threshold=1) in ([], ["The walrus sleeps."])


def test_forgotten_memories_are_shown_only_when_asked_for(v4: V4) -> None:
    memory = v4.add("The walrus sleeps.")["memories"][0]["id"]
    Api(v4.client, v4.tag).delete(f"/v1/facts/{memory}")
    assert v4.texts("walrus") == []
    assert v4.texts("walrus", include={"forgottenMemories": True}) == ["The walrus sleeps."]


def test_a_search_without_a_tag_never_means_everything(v4: V4) -> None:
    v4.add("The secret is marmot.")
    response = v4.client.post("/v4/search", json={"q": "secret marmot"})
    assert "is marmot" not in response.text, response.text
    assert response.status_code in (200, 400)


def test_the_older_list_of_tags_is_understood_or_refused(v4: V4) -> None:
    v4.add("The secret is marmot.")
    body = {"q": "secret", "containerTags": [v4.tag]}
    response = v4.client.post("/v4/search", json=body)
    if response.is_success:
        assert [one["memory"] for one in response.json()["results"]] == ["The secret is marmot."]
    else:
        assert response.status_code == 400 and "containerTag" in response.json()["error"]


# --- filters

NOTES = [
    {
        "content": "Walrus note one.",
        "metadata": {"topic": "sea", "year": 2020, "who": ["ana", "bo"]},
    },
    {"content": "Walrus note two.", "metadata": {"topic": "Sea", "year": 2024, "who": ["bo"]}},
    {"content": "Walrus note three.", "metadata": {"topic": "land"}},
]
ONE, TWO, THREE = (note["content"] for note in NOTES)

FILTERED: list[tuple[dict[str, Any], list[Any]]] = [
    ({"AND": [{"key": "topic", "value": "sea"}]}, [ONE]),
    ({"OR": [{"key": "topic", "value": "sea"}, {"key": "topic", "value": "land"}]}, [ONE, THREE]),
    ({"AND": [{"key": "topic", "value": "sea"}, {"key": "topic", "value": "land"}]}, []),
    ({"AND": [{"key": "topic", "value": "sea", "ignoreCase": True}]}, [ONE, TWO]),
    ({"AND": [{"key": "topic", "value": "land", "negate": True}]}, [ONE, TWO]),
    (
        {
            "AND": [
                {"key": "year", "value": "2021", "filterType": "numeric", "numericOperator": ">"}
            ]
        },
        [TWO],
    ),
    (
        {
            "AND": [
                {"key": "year", "value": "2020", "filterType": "numeric", "numericOperator": "="}
            ]
        },
        [ONE],
    ),
    ({"AND": [{"key": "who", "value": "ana", "filterType": "array_contains"}]}, [ONE]),
    ({"AND": [{"key": "topic", "value": "an", "filterType": "string_contains"}]}, [THREE]),
    (
        {
            "AND": [
                {"key": "who", "value": "bo", "filterType": "array_contains"},
                {"OR": [{"key": "topic", "value": "land"}, {"key": "topic", "value": "Sea"}]},
            ]
        },
        [TWO],
    ),
]


@pytest.mark.parametrize(("filters", "texts"), FILTERED)
def test_filters_are_met_or_refused_never_ignored(
    v4: V4, filters: dict[str, Any], texts: list[str]
) -> None:
    v4.add(*NOTES)
    body = {"q": "walrus note", "containerTag": v4.tag, "filters": filters}
    response = v4.client.post("/v4/search", json=body)
    if response.status_code == 400:
        assert "filters" in response.json()["error"], response.text
        assert filters != FILTERED[0][0], "the plainest filter is no extra"
        return
    assert sorted(v4.texts("walrus note", filters=filters)) == sorted(texts)


@pytest.mark.parametrize(
    "filters",
    [
        {"XOR": []}, {"topic": "sea"}, {"AND": [{"key": "topic"}]}, {"AND": {"key": "a"}}, [],
        "sea", {"AND": [{"key": "topic", "value": "sea", "filterType": "magic"}]}, {"AND": [5]},
    ],
)  # fmt: skip
def test_filters_of_another_form_are_refused(v4: V4, filters: Any) -> None:
    v4.add(*NOTES)
    refused(
        v4.client, "/v4/search", {"q": "a", "containerTag": v4.tag, "filters": filters}, "filters"
    )


# --- errors


def refused(client: httpx.Client, path: str, body: Any, names: str, status: int = 400) -> None:
    response = client.post(path, json=body)
    check_headers(response)
    assert response.status_code == status, (body, response.status_code, response.text[:500])
    told = response.json()
    assert {"error"} <= set(told) <= {"error", "details"}, told
    assert isinstance(told["error"], str) and isinstance(told.get("details", ""), str)
    assert names in told["error"] + told.get("details", ""), told


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"memories": None}, "memories"), ({"memories": []}, "memories"),
        ({"memories": [{"content": "A."}] * 101}, "memories"), ({"memories": "A."}, "memories"),
        ({"memories": [{"content": ""}]}, "content"), ({"memories": [{}]}, "content"),
        ({"memories": [{"content": "x" * 10_001}]}, "content"), ({"memories": ["A."]}, "memories"),
        ({"memories": [{"content": 5}]}, "content"), ({"memories": [{"content": "\0"}]}, "content"),
        ({"memories": [{"content": "A.", "isStatic": "so"}]}, "isStatic"),
        ({"memories": [{"content": "A.", "metadata": [1]}]}, "metadata"),
        ({"containerTag": None}, "containerTag"), ({"containerTag": ""}, "containerTag"),
        ({"containerTag": 5}, "containerTag"), ({"containerTag": "a\0b"}, "containerTag"),
        ({"containerTag": "c" * 201}, "containerTag"), ({"containerTag": ["a"]}, "containerTag"),
    ],
)  # fmt: skip
def test_memories_of_another_form_are_refused(v4: V4, more: dict[str, Any], names: str) -> None:
    body = {"memories": [{"content": "A."}], "containerTag": v4.tag, **more}
    refused(v4.client, "/v4/memories", body, names)
    Api(v4.client, v4.tag).refused(
        404, "not_found", "GET", "/v1/facts", params={"container": v4.tag}
    )


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"q": None}, "q"), ({"q": ""}, "q"), ({"q": "  "}, "q"), ({"q": 5}, "q"),
        ({"limit": 0}, "limit"), ({"limit": 101}, "limit"), ({"limit": -1}, "limit"),
        ({"limit": "many"}, "limit"), ({"limit": 0.5}, "limit"),
        ({"searchMode": "all"}, "searchMode"),
        ({"threshold": 2}, "threshold"), ({"threshold": "high"}, "threshold"),
        ({"threshold": -0.1}, "threshold"), ({"include": []}, "include"), ({"rerank": 5}, "rerank"),
        ({"containerTag": ""}, "containerTag"), ({"containerTag": {}}, "containerTag"),
    ],
)  # fmt: skip
def test_a_search_of_another_form_is_refused(v4: V4, more: dict[str, Any], names: str) -> None:
    v4.add("A memory.")
    refused(v4.client, "/v4/search", {"q": "a", "containerTag": v4.tag, **more}, names)


def test_a_missing_field_is_named(v4: V4) -> None:
    refused(v4.client, "/v4/memories", {"containerTag": v4.tag}, "memories")
    refused(v4.client, "/v4/memories", {"memories": [{"content": "A."}]}, "containerTag")
    refused(v4.client, "/v4/search", {"containerTag": v4.tag}, "q")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b'{"q": "\\ud83d"}', b'{"q": "\xff"}', b"[" * 100_000]
)
def test_what_is_no_request_is_refused_in_the_same_form(
    client: httpx.Client, content: bytes
) -> None:
    for path in ("/v4/memories", "/v4/search"):
        response = client.post(path, content=content, headers={"content-type": "application/json"})
        assert response.status_code == 400, (path, content[:20], response.text)
        assert isinstance(response.json()["error"], str)


def test_a_wrong_method_is_refused_in_the_same_form(client: httpx.Client) -> None:
    response = client.get("/v4/search")
    assert response.status_code == 405 and "POST" in response.headers["allow"]
    assert isinstance(response.json()["error"], str)


def test_the_longest_memory_of_the_contract_is_taken(v4: V4) -> None:
    text = ("The walrus sleeps by the sea. " * 400)[:10_000]
    assert len(v4.add(text)["memories"]) == 1
    found = v4.search("walrus sea")
    assert found and (found[0].get("memory") or found[0]["chunk"]).startswith("The walrus")


def test_a_hundred_memories_go_in_at_once(v4: V4) -> None:
    told = v4.add(*(f"The walrus number {n}." for n in range(100)))
    assert len({memory["id"] for memory in told["memories"]}) == 100
    assert len(v4.search("walrus", limit=100)) == 100


def test_the_key_and_the_limit_hold_here_too(tmp_path: Path) -> None:
    settings = {"REWOUND_API_KEY": "secret-7", "REWOUND_MAX_BODY_MB": "1"}
    with serving(tmp_path, **settings) as started, started.client() as client:
        body = {"q": "a", "containerTag": "t"}
        for headers in ({}, {"authorization": "Bearer wrong"}):
            response = client.post("/v4/search", json=body, headers=headers)
            assert response.status_code == 401 and isinstance(response.json()["error"], str)
        headers = {"authorization": "Bearer secret-7"}
        added = {"memories": [{"content": "A walrus."}], "containerTag": "t"}
        assert client.post("/v4/memories", json=added, headers=headers).is_success
        assert client.post("/v4/search", json=body, headers=headers).is_success
        large = {**body, "q": "x" * 1_100_000}
        response = client.post("/v4/search", json=large, headers=headers)
        assert response.status_code == 413 and isinstance(response.json()["error"], str)
