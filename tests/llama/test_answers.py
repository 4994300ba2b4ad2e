"""Answers by a real llama.cpp server. Its model is far too small to answer well: what counts is the
wire, that nothing is told which what it cites does not bear, and that it stops when told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.llm import model_answerer
from rewound.llm.chat import Chat
from rewound.llm.chat_model import Spent
from rewound.llm.replies import ChatFailed
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.llama.serving import LlamaServer

# One thread computes, and the first test may have to write the model's copy.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

LONG = "Write about the sea, at length."


class Heard:
    """What was told, piece by piece."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def hear(self, words: str) -> None:
        self.pieces.append(words)

    def were_thoughts(self) -> None:
        raise AssertionError("this model does not think")


@pytest.fixture
def memory(
    chat_server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.setattr(model_answerer, "ANSWER_TOKENS", 48)  # more of it tells no more
    models = Models(
        embedder="none", extractor="none", judge="none", answerer="model",
        chat_url=chat_server.url, answer_timeout_s=300,
    )  # fmt: skip
    with Memory(tmp_path, models=models) as opened:
        opened.own()
        opened.remember("Nina works at Orbit Labs.", said_at="2026-03-01")
        yield opened


def test_words_come_one_by_one_and_what_they_took_is_told(chat_server: LlamaServer) -> None:
    spent: list[Spent] = []
    heard = Heard()
    with pytest.raises(ChatFailed, match="cut off"):
        Chat(chat_server.url, spent=spent.append).speak("You write.", LONG, heard, 24)
    assert len(heard.pieces) > 10 and "".join(heard.pieces).strip()
    (one,) = spent
    assert one.read > 10 and one.written == 24


def test_a_question_is_answered_or_the_reason_is_told(memory: Memory) -> None:
    parts = list(memory.ask_stream("where does Nina work"))
    given, *_, told = parts
    assert isinstance(given, r.SourcesGiven) and isinstance(told, r.Responded)
    assert [part for part in parts if isinstance(part, r.Sentence)] == list(told.sentences)
    assert told.answered or told.reason
    for sentence in told.sentences:
        assert sentence.cites == (1,) and sentence.ids == (given.given[0].id,)
        assert "Orbit" in sentence.text or "Nina" in sentence.text or "work" in sentence.text


def test_whoever_goes_frees_the_slot(
    memory: Memory, chat_server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_answerer, "ANSWER_TOKENS", 1000)
    monkeypatch.setattr(model_answerer.ModelAnswerer, "_shown", _endless)
    for _ in memory.ask_stream("where does Nina work"):
        chat_server.wait_for(busy=1)
        break
    chat_server.wait_for(busy=0)


def _endless(*_: object) -> object:
    return model_answerer._Shown(LONG, 1)
