"""Chat with a real llama.cpp server: its limits, its slots, and what becomes of work under way."""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from eval.models import main as compare
from rewound.eventlog.enums import Why
from rewound.eventlog.instants import parse_instant
from rewound.llm import model_extractor
from rewound.llm.chat import Chat
from rewound.llm.chat_model import Spent
from rewound.llm.judging import Claim, Pair
from rewound.llm.model_judge import ModelJudge
from rewound.llm.replies import ChatFailed
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.llama.serving import CONTEXT, SLOTS, LlamaServer, serving

# One thread computes, and the first test may have to write the model's copy.
pytestmark = [pytest.mark.soak, pytest.mark.timeout(400)]

COLOUR = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "sure": {"type": "boolean"},
    },
    "required": ["colour", "sure"],
    "additionalProperties": False,
}
WORDS = {
    "type": "object",
    "properties": {"words": {"type": "array", "items": {"type": "string"}, "minItems": 500}},
    "required": ["words"],
    "additionalProperties": False,
}


def list_words(chat: Chat) -> dict[str, Any]:
    """What keeps a slot busy for minutes."""
    return chat.answer("You list words.", "Of the sea.", WORDS, 1500)


def in_thread(run: Callable[[], object]) -> tuple[threading.Thread, list[ChatFailed]]:
    """It runs in a thread; the list takes the failure that it ends with."""
    failures: list[ChatFailed] = []

    def work() -> None:
        try:
            run()
        except ChatFailed as failed:
            failures.append(failed)

    thread = threading.Thread(target=work)
    thread.start()
    return thread, failures


def test_what_it_tells_of_itself_is_read(chat_server: LlamaServer) -> None:
    chat = Chat(chat_server.url)
    assert chat.is_ready()
    assert (chat.context_tokens(), chat.slots(), chat.busy_slots()) == (CONTEXT, SLOTS, 0)
    assert not Chat("http://127.0.0.1:9").is_ready()


def test_an_answer_has_the_form_that_was_asked_for(chat_server: LlamaServer) -> None:
    spent: list[Spent] = []
    chat = Chat(chat_server.url, spent=spent.append)
    answer = chat.answer("You name colours.", "What colour is the sky?", COLOUR, 60)
    assert answer["colour"] in ("red", "blue") and isinstance(answer["sure"], bool)
    (one,) = spent
    assert one.read > 10 and one.written > 5


def test_an_answer_that_is_cut_off_is_a_failure(chat_server: LlamaServer) -> None:
    with pytest.raises(ChatFailed) as caught:
        Chat(chat_server.url).answer("You name colours.", "The sky?", COLOUR, 3)
    assert caught.value.why is Why.CUT_OFF and caught.value.smaller_may_help


def test_a_text_beyond_the_context_is_told_to_be(chat_server: LlamaServer) -> None:
    with pytest.raises(ChatFailed) as caught:
        Chat(chat_server.url).answer("You read.", "word " * CONTEXT, COLOUR, 60)
    assert caught.value.too_long
    assert chat_server.busy() == 0


def test_a_call_that_takes_too_long_frees_its_slot(chat_server: LlamaServer) -> None:
    with pytest.raises(ChatFailed, match=r"within 0\.[0-5]\d* s|in time") as caught:
        Chat(chat_server.url).answer("You write.", "Of the sea.", WORDS, 1500, timeout_s=0.5)
    assert caught.value.why is Why.UNREACHABLE
    chat_server.wait_for(busy=0)


def test_calls_run_side_by_side_up_to_the_slots_and_closing_frees_them(
    chat_server: LlamaServer,
) -> None:
    chat = Chat(chat_server.url)
    calls = [in_thread(lambda: list_words(chat)) for _ in range(SLOTS)]
    chat_server.wait_for(busy=SLOTS)
    assert chat.busy_slots() == SLOTS
    more = Chat(chat_server.url)
    waiting, answered = in_thread(lambda: more.answer("You name colours.", "The sky?", COLOUR, 60))
    chat.close()
    waiting.join(60)
    assert not waiting.is_alive() and not answered, "what waited for a slot was answered"
    for thread, failures in calls:
        thread.join(30)
        assert "is not asked any more" in str(failures[0])
    chat_server.wait_for(busy=0)


def test_a_server_that_ends_in_mid_work_and_comes_back(tmp_path: Path) -> None:
    with serving(tmp_path / "log") as server:
        chat = Chat(server.url)
        thread, failures = in_thread(lambda: list_words(chat))
        server.wait_for(busy=1)
        server.kill()
        thread.join(30)
        assert [failed.why for failed in failures] == [Why.UNREACHABLE]
        assert not chat.is_ready()
        server.start()
        assert chat.is_ready()
        answer = chat.answer("You name colours.", "What colour is the sky?", COLOUR, 60)
        assert answer.keys() == {"colour", "sure"}


def test_the_judge_gets_an_opinion(chat_server: LlamaServer) -> None:
    new, old = parse_instant("2026-03-02T10:00:00Z").at, parse_instant("2024-01-01T10:00:00Z").at
    pair = Pair(Claim("Nina lives in Oslo", new, new), Claim("Nina lives in Rome", old, old))
    (opinion,) = ModelJudge(Chat(chat_server.url)).opinions([pair])
    assert opinion is not None and 0 <= opinion.probability <= 1000


def test_a_text_goes_through_the_extractor_to_its_end(
    chat_server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model may find nothing or write nonsense: what counts is that the text is accounted for
    and found, and that nothing was taken that its words do not bear."""
    said = "My bike is orange."
    monkeypatch.setattr(model_extractor, "ANSWER_TOKENS", 24)  # more of it tells no more
    models = Models(embedder="none", extractor="model", judge="none", chat_url=chat_server.url)
    with Memory(tmp_path, models=models) as memory:
        memory.own()
        (message,) = memory.add_messages(said).items
        memory.workers("wait", timeout_s=300)
        ended = memory.events(types=["extraction finished", "extraction failed"]).events
        (event,) = ended
        if event.type == "extraction failed":
            (job,) = memory.jobs().jobs
            assert (job.source, job.state) == (message.id, "failed")
            assert event.data["why"] in ("cut off", "malformed", "empty reply")
        for fact in memory.list("fact").items:
            assert "bike" in fact.text or "orange" in fact.text
        assert memory.search("orange bike").hits


def test_models_are_compared(
    chat_server: LlamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The small model is far too small: each message and pair is accounted for, right or wrong."""
    monkeypatch.setattr(model_extractor, "ANSWER_TOKENS", 24)
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    asked = ["--limit", "1", "--chat", f"{chat_server.url}=SmolLM2", "--price", "SmolLM2=0.1/0.4"]
    done = CliRunner().invoke(compare, asked, env=environment)
    assert done.exit_code == 0, done.output
    told = re.findall(r"^\| tokens read / written \| 0 / 0 \| (\d+) / (\d+) \|$", done.output, re.M)
    assert len(told) == 2 and all(int(read) > 100 and int(wrote) > 5 for read, wrote in told)


def test_a_conversation_is_summed_up(chat_server: LlamaServer, tmp_path: Path) -> None:
    """The model is too small to do it well: what counts is that every call fits its context, and
    that each attempt ends as a summary or as a failure that is seen."""
    models = Models(
        embedder="none", extractor="none", judge="none", summarizer="model", recent_chars=200,
        chat_url=chat_server.url,
    )  # fmt: skip
    said = [f"Day {day}: we painted wall {day} of the house orange." for day in range(12)]
    with Memory(tmp_path, models=models) as memory:
        memory.own()
        memory.add_messages([{"content": text} for text in said], conversation="house")
        memory.workers("wait", timeout_s=300)
        told = memory.events(types=["summary written", "summary failed"]).events
        assert told
        for event in told:
            if event.type == "summary failed":
                assert event.data["why"] in ("cut off", "malformed", "empty reply")
                assert [job.kind for job in memory.jobs().jobs if job.kind == "summary"]
            else:
                assert event.texts["text"]
                assert {*event.data.get("cites", ())} <= {*event.data["messages"]}
        recent = memory.recent("house").recent
        assert recent.older and recent.told_by in ("summary", "nothing")
