"""Replies that come word by word, read without trust."""

import json
from typing import Any

import pytest

from rewound.eventlog.enums import Why
from rewound.llm.chat_model import Spent
from rewound.llm.chat_streams import Reply, anthropic_piece, openai_piece
from rewound.llm.replies import ChatFailed, answer_in


class Heard:
    def __init__(self) -> None:
        self.words = ""
        self.dropped = ""

    def hear(self, words: str) -> None:
        self.words += words

    def were_thoughts(self) -> None:
        self.dropped, self.words = self.dropped + self.words, ""


def delta(content: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    choice = {"delta": {"content": content, **more}, "finish_reason": finish}
    return {"choices": [choice]}


def read(*events: Any, piece_in: Any = openai_piece, done: bool = True) -> tuple[Heard, Reply]:
    """What is heard of events, each an object or a line as it is."""
    heard = Heard()
    reply = Reply(heard, piece_in, answer_in)
    lines = [each if isinstance(each, str) else f"data: {json.dumps(each)}" for each in events]
    lines += ["", "data: [DONE]"] if done else []
    for line in lines:
        reply.line(line.encode())
    reply.end("\n".join(lines).encode())
    return heard, reply


def failing(*events: Any, **more: Any) -> Why:
    with pytest.raises(ChatFailed) as caught:
        read(*events, **more)
    assert "secret" not in str(caught.value)
    return caught.value.why


def test_words_are_heard_as_they_come_and_what_they_took_is_told() -> None:
    usage = {"choices": [], "usage": {"prompt_tokens": 30, "completion_tokens": 4}}
    heard, reply = read(
        ": a comment", "event: message", delta("Nina "), delta("", role="assistant"),
        delta(None), delta("works."), delta(None, "stop"), usage, "id: 7", "data:",
    )  # fmt: skip
    assert heard.words == "Nina works." and not reply.thought
    assert reply.spent == Spent(30, 4)


@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>secret</think>It is."], ["<th", "ink>sec", "ret</thi", "nk>It is."],
        ["\n <thinking>secret</thinking>", "<think>secret</think>It is."],
        ["secret", " and so on</think>", "It is."], ["secret</", "think>It", " is."],
    ],
)  # fmt: skip
def test_thoughts_are_not_heard(pieces: list[str]) -> None:
    heard, reply = read(*map(delta, pieces), delta(None, "stop"))
    assert heard.words.strip() == "It is." and reply.thought
    heard, reply = read(delta(None, reasoning_content="secret"), delta("It is.", "stop"))
    assert heard.words == "It is." and reply.thought


def test_what_only_begins_like_a_thought_is_heard() -> None:
    for text in ("<b>5 < 6</b> <", "<", "<thorn> is a letter", "a </b"):
        heard, _ = read(*map(delta, text), delta(None, "stop"))
        assert heard.words == text


@pytest.mark.parametrize(
    ("events", "done", "why"),
    [
        ([delta("secret", "length")], True, Why.CUT_OFF),
        ([delta("secret")], False, Why.CUT_OFF),
        ([delta("<think>secret", "stop")], True, Why.EMPTY_REPLY),
        ([delta(None, "stop", reasoning="secret")], True, Why.EMPTY_REPLY),
        ([delta(" \n", "stop")], True, Why.EMPTY_REPLY),
        ([], True, Why.EMPTY_REPLY),
        ([delta("secret", "content_filter")], True, Why.REFUSED),
        ([delta(None, "stop", refusal="secret")], True, Why.REFUSED),
        ([delta("a"), {"error": {"message": "secret"}}], True, Why.REFUSED),
        (['error: {"message": "secret"}'], True, Why.REFUSED),
        (['data: {"choices": [secret'], True, Why.MALFORMED),
        (['data: [1, "secret"]'], True, Why.MALFORMED),
        (["<html>secret</html>"], False, Why.MALFORMED),
        (['{"error": "secret"}'], False, Why.REFUSED),
        (["secret"], False, Why.MALFORMED),
        ([""], False, Why.EMPTY_REPLY),
    ],
)
def test_what_is_no_answer_fails_with_its_reason(events: list[Any], done: bool, why: Why) -> None:
    assert failing(*events, done=done) is why


@pytest.mark.parametrize(
    "event", [{"choices": None}, {"choices": [7]}, {"choices": [{"delta": 7}]}, {"usage": 7}, {}]
)
def test_events_of_another_form_say_nothing(event: Any) -> None:
    heard, _ = read(event, delta("It is.", "stop"), delta([{"text": "no"}]))
    assert heard.words == "It is."


def test_a_reply_that_is_no_stream_is_read_whole() -> None:
    message = {"content": "<think>secret</think>It is."}
    usage = {"prompt_tokens": 3}
    body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})
    heard, reply = read(body, done=False)
    assert heard.words == "It is." and reply.thought
    cut = json.dumps({"choices": [{"message": message, "finish_reason": "length"}]})
    assert failing(cut, done=False) is Why.CUT_OFF


def test_events_of_anthropics_api() -> None:
    started = {"type": "message_start", "message": {"usage": {"input_tokens": 30}}}
    thinking = {"type": "content_block_delta", "delta": {"thinking": "secret"}}
    text = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "It is."}}
    usage = {"output_tokens": 4}
    ended = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    heard, reply = read(
        started, {"type": "ping"}, thinking, text, ended, piece_in=anthropic_piece, done=False
    )
    assert heard.words == "It is." and reply.spent == Spent(30, 4) and reply.thought
    for stop, why in (("max_tokens", Why.CUT_OFF), ("refusal", Why.REFUSED)):
        last = {"type": "message_delta", "delta": {"stop_reason": stop}}
        assert failing(text, last, piece_in=anthropic_piece, done=False) is why
    trouble = {"type": "error", "error": {"type": "overloaded_error", "message": "secret"}}
    assert failing(text, trouble, piece_in=anthropic_piece, done=False) is Why.REFUSED
