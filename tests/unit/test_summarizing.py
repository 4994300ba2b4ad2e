"""The text of a summary, what a model is shown for one, and which conversations are looked at."""

import json
from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.enums import Role, Why
from rewound.eventlog.ids import ContainerId, ConversationId, MessageId
from rewound.llm.model_summarizer import ModelSummarizer
from rewound.llm.replies import ChatFailed
from rewound.llm.summarizing import (
    Gist,
    NotSummarised,
    Uttered,
    gists_of,
    plain,
    written,
)
from rewound.memory.conversations_due import ConversationsDue, Talk

HOME = ContainerId(bytes(15) + b"\x07")
TALK = Talk(HOME, ConversationId(bytes(15) + b"\x01"))


# --- the text


def test_marks_number_what_is_cited_in_the_order_of_citing() -> None:
    said = [Gist("One.", (7, 3)), Gist("Two."), Gist("Three.", (3, 9))]
    text, cites = written(said)
    assert text == "One. [1][2]\nTwo.\nThree. [2][3]" and cites == (7, 3, 9)
    again = tuple(gists_of(text))
    assert again == (Gist("One.", (1, 2)), Gist("Two."), Gist("Three.", (2, 3)))
    assert written(again) == (text, (1, 2, 3))


def test_a_sentence_is_one_line_and_marks_nothing_itself() -> None:
    assert plain("It is\n[3]\x00 said.") == "It is (3) said."


# --- the model


class Scripted:
    """A chat model that reads so many tokens, and answers what `say` makes of what it is told."""

    model = "toy"

    def __init__(self, context: int, say: Any) -> None:
        self.context = context
        self.say = say
        self.told: list[dict[str, Any]] = []

    def answer(self, system: str, user: str, *given: Any, **more: Any) -> dict[str, Any]:
        told = json.loads(user.split("\n", 1)[1].rsplit("\n", 2)[0])
        self.told.append(told)
        answer: dict[str, Any] = self.say(told)
        return answer

    def context_tokens(self, timeout_s: float | None = None) -> int:
        return self.context

    def close(self) -> None:
        """Nothing is under way."""


def short(told: dict[str, Any]) -> dict[str, Any]:
    return {"sentences": [{"text": "It went on.", "sources": [told["messages"][-1]["n"]]}]}


def uttered(*texts: str) -> list[Uttered]:
    return [Uttered(text, 0, "UTC", "Ann") for text in texts]


def test_as_many_messages_are_taken_as_the_model_reads_at_once() -> None:
    chat = Scripted(2_000, short)
    summed = ModelSummarizer(chat).summarise((), 0, uttered(*["word " * 100] * 20))
    assert 1 < summed.taken < 20 and len(chat.told) == 1
    assert len(chat.told[0]["messages"]) == summed.taken
    assert summed.sentences == (Gist("It went on.", (summed.taken,)),)


def test_a_message_that_is_too_long_is_read_in_parts_one_after_the_other() -> None:
    chat = Scripted(2_000, short)
    before = (Gist("It began.", (1,)),)
    summed = ModelSummarizer(chat).summarise(before, 1, uttered("word " * 2_000, "more"))
    assert summed.taken == 1 and len(chat.told) > 2
    assert {each["n"] for told in chat.told for each in told["messages"]} == {2}
    assert [told["summary"][0]["text"] for told in chat.told[:2]] == ["It began.", "It went on."]


def test_what_cannot_be_used_is_tried_once_more_in_halves() -> None:
    def choosy(told: dict[str, Any]) -> dict[str, Any]:
        if len(told["messages"]) > 2:
            raise ChatFailed("the reply is cut off", Why.CUT_OFF, smaller_may_help=True)
        return short(told)

    chat = Scripted(4_000, choosy)
    summed = ModelSummarizer(chat).summarise((), 0, uttered(*"abcd"))
    assert [len(told["messages"]) for told in chat.told] == [4, 2, 2] and summed.taken == 4
    chat = Scripted(4_000, choosy)
    with pytest.raises(NotSummarised) as caught:
        ModelSummarizer(chat).summarise((), 0, uttered(*"abcdefgh"))
    assert caught.value.why is Why.CUT_OFF and len(chat.told) == 2


def test_a_model_that_reads_too_little_is_a_failure_that_says_so() -> None:
    with pytest.raises(NotSummarised, match="reads only 600 tokens at once"):
        ModelSummarizer(Scripted(600, short)).summarise((), 0, uttered("a"))


@pytest.mark.parametrize("text", ["", " \n", "█", "…"])
def test_sentences_that_say_nothing_are_no_summary(text: str) -> None:
    chat = Scripted(4_000, lambda told: {"sentences": [{"text": text, "sources": [1]}]})
    with pytest.raises(NotSummarised, match="holds no sentence") as caught:
        ModelSummarizer(chat).summarise((), 0, uttered("a"))
    assert caught.value.why is Why.EMPTY_REPLY


# --- which conversations are looked at


class Views:
    """As much of a snapshot: one container at a position, with one conversation."""

    def __init__(self, position: int) -> None:
        self._position = position

    def positions(self) -> dict[ContainerId, int]:
        return {HOME: self._position}

    def position(self, home: ContainerId) -> int:
        return self._position

    def container(self, home: ContainerId) -> "Views":
        return self

    def talks(self) -> list[ConversationId]:
        return [TALK.id]


class Happened:
    """As much of what is recorded."""

    def __init__(self, event: e.Event, position: int) -> None:
        self.event, self.position, self.container = event, position, HOME


def said(position: int, chars: int = 10) -> Any:
    text = Body(0, b"", chars)
    message = MessageId(position.to_bytes(16, "big"))
    return Happened(e.MessageRecorded(message, TALK.id, position, Role.USER, text), position)


def opened(position: int = 9) -> tuple[ConversationsDue, Any]:
    """With the conversation that was there looked at already."""
    due, views = ConversationsDue(), Views(position)
    views_: Any = views
    due.look(views_)
    assert due.batch(5, views_, 0) == [TALK] and due.rest_s(0) is None
    return due, views_


def test_a_conversation_is_looked_at_when_it_may_have_outgrown_its_room() -> None:
    due, views = opened()
    due.rests(TALK, 25)
    assert not due.notice([said(10)]) and not due.notice([said(11)])
    assert due.notice([said(12)]) and due.rest_s(0) == 0.0
    assert due.batch(5, views, 0) == [], "the snapshot is from before"
    assert due.batch(5, Views(12), 0) == [TALK]  # type: ignore[arg-type]


def test_what_is_said_while_it_is_looked_at_is_not_missed() -> None:
    due, _ = opened()
    due.notice([said(10)])
    later: Any = Views(10)
    assert due.batch(5, later, 0) == [TALK]
    due.notice([said(11)])
    due.rests(TALK, 1_000)
    assert due.rest_s(0) == 0.0, "it came after what was looked at"


def test_what_is_put_off_comes_at_its_time_or_when_it_is_hurried() -> None:
    due, views = opened()
    due.again(TALK, 2_000_000)
    assert due.rest_s(500_000) == 1.5 and due.batch(5, views, 0) == []
    assert due.batch(5, views, 2_000_000) == [TALK]
    due.again(TALK, 9_000_000)
    due.hurry()
    assert due.batch(5, views, 0) == [TALK]
