"""POST /v1/ask: whole and in parts, and what becomes of a model whose client goes away."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api, Served, error_of, reply_of, serving
from tests.integration.speaking import SpeakingServer, speaking

ASKED = "where does Nina work"
GOOD = "Nina works at Orbit Labs [1]."
KINDS: dict[str, type[msgspec.Struct]] = {
    "sources": r.SourcesGiven,
    "sentence": r.Sentence,
    "withheld": r.WithheldSentence,
    "done": r.Responded,
}


@pytest.fixture(scope="module")
def speaker() -> Iterator[SpeakingServer]:
    with speaking() as server:
        yield server


@pytest.fixture(autouse=True)
def afresh(speaker: SpeakingServer) -> None:
    speaker.pieces, speaker.mode, speaker.finish = (GOOD,), "ok", "stop"
    for event in (speaker.waits, speaker.go_on, speaker.left):
        event.clear()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, speaker: SpeakingServer) -> Iterator[Served]:
    models = {
        "REWOUND_ANSWERER": "model", "REWOUND_REWRITER": "model", "REWOUND_CHAT_MODEL": "toy",
        "REWOUND_CHAT_URL": speaker.url,
    }  # fmt: skip
    with serving(tmp_path_factory.mktemp("asked"), **models) as started:
        yield started


@pytest.fixture
def remembering(api: Api) -> Api:
    api.fact("Nina works at Orbit Labs.", said_at="2026-03-01")
    return api


def body_of(api: Api, **more: Any) -> dict[str, Any]:
    return {"container": api.container, "query": ASKED, **more}


def events_of(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Each event's name, and its part, which holds what its struct says and nothing else."""
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = line.removeprefix("data: ")
            if name not in KINDS:
                yield name, json.loads(data)
                continue
            part = msgspec.json.decode(data, type=KINDS[name])
            assert json.loads(msgspec.json.encode(part)) == json.loads(data)
            yield name, part


def test_an_answer_as_a_whole(remembering: Api) -> None:
    told = remembering.ask("/v1/ask", r.Responded, query=ASKED)
    assert told.answered and told.text == "Nina works at Orbit Labs. [1]"
    assert told.used == (told.given[0].id,) and told.answering is not None
    same = remembering.ask("/v1/ask", r.Responded, query=ASKED, stream=False)
    assert same.sentences == told.sentences
    none = remembering.ask("/v1/ask", r.Responded, query=ASKED, confidence=1)
    assert not none.answered and none.text == "I don't know." and none.reason


@pytest.mark.parametrize(
    ("more", "headers"),
    [
        ({"stream": True}, {}),
        ({}, {"accept": "text/event-stream"}),
        ({"stream": True}, {"accept": "application/json"}),
    ],
)
def test_an_answer_in_parts(
    remembering: Api, speaker: SpeakingServer, more: dict[str, Any], headers: dict[str, str]
) -> None:
    speaker.pieces = ("Nina works at Orbit Labs [1]. She rests in Paris [1]. Good", " bye.")
    sent = body_of(remembering, **more)
    client = remembering.client
    with client.stream("POST", "/v1/ask", json=sent, headers=headers) as response:
        assert response.status_code == 200 and response.headers["x-request-id"]
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["cache-control"] == "no-store"
        parts = list(events_of(response.iter_lines()))
    assert [name for name, _ in parts] == ["sources", "sentence", "withheld", "withheld", "done"]
    given, sentence, *_, done = (part for _, part in parts)
    assert given.given == done.given and done.sentences == (sentence,)
    assert "Paris" not in str(parts)


def test_accept_without_stream_is_asked_for_the_first_type_only(remembering: Api) -> None:
    accept = {"accept": "application/json, text/event-stream"}
    told = remembering.send("POST", "/v1/ask", body_of(remembering), headers=accept)
    assert reply_of(told, r.Responded).answered
    off = {"accept": "text/event-stream"}
    told = remembering.send("POST", "/v1/ask", body_of(remembering, stream=False), headers=off)
    assert reply_of(told, r.Responded).answered


def test_sentences_are_out_before_the_model_has_ended(
    remembering: Api, speaker: SpeakingServer
) -> None:
    speaker.pieces = ("Nina works at Orbit Labs [1]. She ", None, "is there [1].")
    sent = body_of(remembering, stream=True)
    with remembering.client.stream("POST", "/v1/ask", json=sent) as response:
        parts = events_of(response.iter_lines())
        assert [next(parts)[0], next(parts)[0]] == ["sources", "sentence"]
        assert not speaker.go_on.is_set()
        speaker.go_on.set()
        assert [name for name, _ in parts][-1] == "done"


def test_a_client_that_goes_away_stops_the_model(
    remembering: Api, speaker: SpeakingServer, served: Served
) -> None:
    speaker.pieces = ("Nina works at Orbit Labs [1]. She ", None, "is there [1].")
    with served.client() as client:
        sent = body_of(remembering, stream=True)
        with client.stream("POST", "/v1/ask", json=sent) as response:
            parts = events_of(response.iter_lines())
            assert [next(parts)[0], next(parts)[0]] == ["sources", "sentence"]
    assert speaker.left.wait(30), "the model was not stopped"
    speaker.pieces = (GOOD,)
    assert not remembering.ask("/v1/ask", r.Responded, query=ASKED).notes, "it is asked again"


@pytest.mark.parametrize(("path", "more"), [("/v1/ask", {}), ("/v1/search", {"rewrite": True})])
def test_one_that_waits_for_all_of_it_stops_the_model_too(
    remembering: Api, speaker: SpeakingServer, served: Served, path: str, more: dict[str, Any]
) -> None:
    speaker.pieces = (None, GOOD)
    content = json.dumps(body_of(remembering, **more)).encode()
    with served.connect() as opened:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(content)}\r\n\r\n"
        opened.sendall(head.encode() + content)
        assert speaker.waits.wait(30)
        opened.shutdown(socket.SHUT_RDWR)
    assert speaker.left.wait(30), "the model was not stopped"


@pytest.mark.parametrize("stream", [True, False])
def test_what_fails_before_anything_is_told_is_an_error_as_everywhere(
    remembering: Api, stream: bool
) -> None:
    api = remembering.within("nowhere")
    refused = api.refused(404, "not_found", "POST", "/v1/ask", body_of(api, stream=stream))
    assert refused["field"] == "container"
    wrong = body_of(remembering, stream=stream, confidence=2)
    remembering.refused(400, "invalid_input", "POST", "/v1/ask", wrong, field="confidence")
    wrong = body_of(remembering, stream="perhaps")
    remembering.refused(400, "invalid_input", "POST", "/v1/ask", wrong, field="stream")


def test_a_model_that_fails_is_no_error(remembering: Api, speaker: SpeakingServer) -> None:
    for speaker.mode in ("key", "html", "error", "broken", "quits"):
        told = remembering.ask("/v1/ask", r.Responded, query=ASKED)
        assert told.answered
    speaker.mode = "html"
    sent = body_of(remembering, stream=True)
    with remembering.client.stream("POST", "/v1/ask", json=sent) as response:
        parts = dict(events_of(response.iter_lines()))
    assert parts["done"].text == "Nina works at Orbit Labs. [1]"
    assert "answered by what was found alone" in parts["done"].notes[0]


def test_it_wants_the_key_and_a_post(tmp_path: Path, api: Api) -> None:
    api.refused(405, "method_not_allowed", "GET", "/v1/ask")
    with serving(tmp_path, REWOUND_API_KEY="k" * 32) as served, served.client() as client:
        answer = client.post("/v1/ask", json={"query": ASKED, "stream": True})
        assert answer.status_code == 401 and error_of(answer)["code"] == "unauthorized"
        assert isinstance(answer, httpx.Response)
