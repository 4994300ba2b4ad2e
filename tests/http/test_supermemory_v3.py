"""The v3 façade: documents are found by their chunks, in the form that its client reads."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from rewound.memory import requests as q
from rewound.memory.foreign_ids import uuid_of
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.memory.replies import Written
from tests.http.posting import posted

WORDS = ("walls", "roses", "figs", "pond", "gate")
GARDEN = "\n\n".join(f"About the {word}. " + f"More of the {word} follows. " * 40 for word in WORDS)


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Link]:
    opened = Link(tmp_path / "store", models=Models(embedder="none", extractor="none"))
    opened.take_over()
    yield opened
    opened.close()


def ingest(link: Link, text: str, **more: Any) -> str:
    """The new document's id."""
    document = q.NewDocument(text=text, **more)
    written = link.call(q.Ingest(container="nina", documents=(document,)))
    assert isinstance(written, Written)
    return str(written.items[0].id)


def search(query: str, tag: str = "nina", **more: Any) -> tuple[str, Any]:
    return "/v3/search", {"q": query, "containerTag": tag, **more}


def found(link: Link, *asked: tuple[str, Any]) -> list[list[Any]]:
    """The results of each search, checked for what must be in them."""
    answers = posted(link, *asked)
    for status, told in answers:
        assert status == 200, told
        assert set(told) - {"notes"} == {"results", "timing", "total"}
        assert told["total"] == len(told["results"]) and told["timing"] >= 0
        for result in told["results"]:
            check_result(result)
    return [told["results"] for _, told in answers]


def check_result(result: Any) -> None:
    needed = {"documentId", "score", "createdAt", "updatedAt", "chunks"}
    assert needed <= set(result) <= needed | {"title", "type", "metadata", "content"}
    UUID(result["documentId"])
    for stamp in (result["createdAt"], result["updatedAt"]):
        assert datetime.fromisoformat(stamp).tzinfo is not None
    for chunk in result["chunks"]:
        assert set(chunk) == {"content", "isRelevant", "position", "score"}
        assert 0 <= chunk["score"] <= result["score"] <= 1


def test_a_document_is_found_by_its_chunks_with_those_around(link: Link) -> None:
    garden = ingest(link, GARDEN, title="Garden", metadata={"topic": "home"})
    ((whole,), (alone,)) = found(
        link,
        search("figs"),
        search("figs", onlyMatchingChunks=True, includeFullDocs=True),
    )
    assert (whole["documentId"], whole["title"]) == (uuid_of(garden), "Garden")
    assert (whole["type"], whole["metadata"]) == ("text", {"topic": "home"})
    chunks = [(chunk["position"], chunk["isRelevant"]) for chunk in whole["chunks"]]
    assert chunks == [(1, False), (2, True), (3, False)]
    (chunk,) = alone["chunks"]
    assert chunk["position"] == 2 and chunk["score"] == alone["score"] > 0
    assert chunk["content"].startswith("About the figs.")
    assert alone["content"] == GARDEN and "content" not in whole


def test_documents_are_counted_and_not_their_chunks(link: Link) -> None:
    for number in range(3):
        text = GARDEN.replace("walls", "walls by the figs").replace("gate", f"gate {number}")
        ingest(link, text.replace("About", f"In garden {number}, about"), title=f"{number}")
    several, one = found(link, search("figs"), search("figs", limit=1))
    assert len(several) == 3 and len(one) == 1
    relevant = [chunk["position"] for chunk in one[0]["chunks"] if chunk["isRelevant"]]
    assert len(relevant) > 1, "as many chunks as match"


def test_a_message_is_a_document_of_its_own(link: Link) -> None:
    message = q.NewMessage(content="I moved to Lisbon.", name="Nina")
    link.call(q.AddMessages(container="nina", conversation="chat", messages=(message,)))
    ((result,),) = found(link, search("Lisbon"))
    assert result["title"] == "chat"
    (chunk,) = result["chunks"]
    assert (chunk["content"], chunk["isRelevant"], chunk["position"]) == (
        "I moved to Lisbon.", True, 0
    )  # fmt: skip


def test_a_search_within_one_document(link: Link) -> None:
    garden = ingest(link, GARDEN, id="garden.md")
    ingest(link, "Figs want sun.")
    answers = found(
        link,
        search("figs"),
        search("figs", docId="garden.md"),
        search("figs", docId=uuid_of(garden)),
        search("figs", docId="nowhere.md"),
    )
    assert [len(results) for results in answers] == [2, 1, 1, 0]
    assert answers[1] == answers[2] and answers[1][0]["documentId"] == uuid_of(garden)


def test_filters_and_the_threshold_narrow(link: Link) -> None:
    ingest(link, "Figs want sun.", metadata={"topic": "garden"})
    ingest(link, "Figs and honey.", metadata={"topic": "food"})
    food = {"AND": [{"key": "topic", "value": "food"}]}
    by_filter, by_threshold = found(
        link, search("figs", filters=food), search("figs", chunkThreshold=1)
    )
    assert [each["metadata"] for each in by_filter] == [{"topic": "food"}]
    assert all(each["score"] == 1 for each in by_threshold)


def test_what_is_done_without_is_told(link: Link) -> None:
    ingest(link, "Figs want sun.")
    asked = search("figs", rerank=True, rewriteQuery=True, includeSummary=True)
    (_, told), (_, nobody) = posted(link, asked, search("figs", tag="nobody"))
    assert [note.partition(":")[0] for note in told["notes"]] == [
        "not rewritten",
        "not reranked",
        "summaries are left out",
    ]
    assert nobody["results"] == [] and "nobody" in nobody["notes"][0]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"q": " "}, "q"),
        ({"limit": 0}, "limit"),
        ({"limit": 101}, "limit"),
        ({"chunkThreshold": 2}, "chunkThreshold"),
        ({"filepath": "/a"}, "filepath"),
        ({"categoriesFilter": ["a"]}, "categoriesFilter"),
        ({"containerTag": None}, "containerTag"),
        ({"containerTags": ["other"]}, "containerTag"),
        ({"filters": {"XOR": []}}, "filters"),
        ({"unheard": 1}, "unheard"),
    ],
)
def test_what_is_not_done_is_refused_by_name(link: Link, more: dict[str, Any], named: str) -> None:
    path, body = search("figs")
    ((status, error),) = posted(link, (path, body | more))
    assert status == 400
    assert named in error["details"] and set(error) == {"error", "details"}
