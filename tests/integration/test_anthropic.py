"""The client of Anthropic's API, against a scripted server."""

from collections.abc import Iterator
from typing import Any

import pytest

from rewound.eventlog.enums import Why
from rewound.llm.anthropic import CONTEXT_TOKENS, Anthropic
from rewound.llm.chat_model import ChatModel, Spent
from rewound.llm.replies import ChatFailed
from tests.integration.faking import Answer, FakeServer, faking

KEY = "LLM-CANARY-456"
SCHEMA = {"type": "object", "properties": {"ids": {"type": "array"}}, "required": ["ids"]}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with faking() as fake:
        yield fake


def using(given: Any, stop: str = "tool_use") -> Answer:
    """A reply that uses the tool."""
    content = [{"type": "text", "text": "Sure."}, {"type": "tool_use", "input": given}]
    usage = {"input_tokens": 30, "output_tokens": 4}
    return 200, {"type": "message", "content": content, "stop_reason": stop, "usage": usage}


def ask(server: FakeServer, **more: Any) -> dict[str, Any]:
    chat: ChatModel = Anthropic(server.url, "claude", KEY, **more)
    return chat.answer("Do as you are told.", "a secret text", SCHEMA, 100)


def test_what_is_asked(server: FakeServer) -> None:
    server.answer = lambda path, asked: using({"ids": [1]})
    spent: list[Spent] = []
    assert ask(server, spent=spent.append) == {"ids": [1]}
    assert spent == [Spent(30, 4)]
    ((path, asked),) = server.asked
    assert path == "/v1/messages"
    assert asked == {
        "model": "claude",
        "max_tokens": 100,
        "system": "Do as you are told.",
        "messages": [{"role": "user", "content": "a secret text"}],
        "tools": [{"name": "answer", "description": "Give the answer.", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "answer"},
        "temperature": 0,
    }
    headers = server.headers[0]
    assert headers["x-api-key"] == KEY and headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in headers


def test_a_model_that_takes_no_temperature(server: FakeServer) -> None:
    def answer(path: str, asked: Any) -> Answer:
        if "temperature" in asked:
            error = {"type": "invalid_request_error", "message": "temperature: not supported"}
            return 400, {"type": "error", "error": error}
        return using({"ids": []})

    server.answer = answer
    assert ask(server) == {"ids": []}
    assert len(server.asked) == 2


def test_an_answer_in_words_is_read_as_well(server: FakeServer) -> None:
    text = {"type": "text", "text": 'Here: {"ids": [2]}'}
    server.answer = lambda path, asked: (200, {"content": [text], "stop_reason": "end_turn"})
    assert ask(server) == {"ids": [2]}


@pytest.mark.parametrize(
    ("answer", "why", "words"),
    [
        (using({"ids": [1]}, "max_tokens"), Why.CUT_OFF, "cut off"),
        (using({"ids": [1]}, "refusal"), Why.REFUSED, "refused to answer"),
        (using({"names": []}), Why.MALFORMED, "no object of the form"),
        (using("ids"), Why.MALFORMED, "no object of the form"),
        ((200, {"content": [], "stop_reason": "end_turn"}), Why.EMPTY_REPLY, "empty"),
        ((200, {"content": None}), Why.MALFORMED, "no list of contents"),
        ((200, "<html>upstream error</html>"), Why.MALFORMED, "web page"),
        ((200, {"type": "error", "error": {"message": "x"}}), Why.REFUSED, "holds an error"),
        ((529, {"error": {"type": "overloaded_error"}}), Why.UNREACHABLE, "busy"),
        ((401, {"error": {"message": KEY}}), Why.REFUSED, "REWOUND_CHAT_KEY"),
        ((404, {"error": {"message": "model"}}), Why.REFUSED, "REWOUND_CHAT_MODEL"),
        ((400, {"error": {"message": "a secret text"}}), Why.REFUSED, "status 400"),
    ],
)
def test_faults_are_told(server: FakeServer, answer: Answer, why: Why, words: str) -> None:
    server.answer = lambda path, asked: answer
    with pytest.raises(ChatFailed) as caught:
        ask(server)
    assert caught.value.why is why and words in str(caught.value)
    assert "secret" not in str(caught.value) and KEY not in str(caught.value)


def test_a_text_that_is_too_long_is_said_to_be(server: FakeServer) -> None:
    error = {"message": "prompt is too long: 300000 tokens > 200000 maximum"}
    server.answer = lambda path, asked: (400, {"type": "error", "error": error})
    with pytest.raises(ChatFailed) as caught:
        ask(server)
    assert caught.value.too_long


def test_how_much_it_reads(server: FakeServer) -> None:
    assert Anthropic(server.url, "claude").context_tokens() == CONTEXT_TOKENS
    server.told["/v1/models/claude"] = {"id": "claude", "max_input_tokens": 1_000_000}
    assert Anthropic(server.url, "claude").context_tokens() == 1_000_000
