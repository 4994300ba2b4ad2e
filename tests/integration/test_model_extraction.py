"""Facts drawn by a chat model, through a real store and over the wire of a scripted server."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rewound.eventlog.enums import Why
from rewound.eventlog.errors import InvalidInput
from rewound.llm import breaking
from rewound.memory import Memory, extracting
from rewound.memory.models import Models
from tests.integration.chatting import MODES, ChatServer, chatting

SAID = "My bike is orange."
BIKE = "The user's bike is orange"
KEY = "LLM-CANARY-456"


def bike(told: str) -> Any:
    """The answer to a text that tells of the bike."""
    fact: dict[str, Any] = {
        "quote": "My bike is orange", "text": f"{BIKE}.", "kind": "fact", "subject": "user's bike",
        "attribute": "colour", "value": "orange", "entities": [], "valid_from": None,
        "valid_to": None, "confidence": 0.9,
    }  # fmt: skip
    return {"facts": [fact] if SAID in told else []}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chatting() as chat:
        chat.good = bike
        chat.props = {"default_generation_settings": {"n_ctx": 4096}}
        yield chat


def remembering(folder: Path, server: ChatServer) -> Memory:
    models = Models(
        embedder="none", extractor="model", judge="none", chat_url=server.url, chat_model="toy",
        chat_key=KEY, quiet=0,
    )  # fmt: skip
    memory = Memory(folder, models=models)
    memory.own()
    return memory


def facts(memory: Memory) -> list[str]:
    return sorted(item.text for item in memory.list("fact", limit=1000).items)


@pytest.mark.parametrize(
    "mode", ["ok", "fence", "chatty", "think", "reason", "comma", "array", "nan"]
)
def test_a_reply_that_can_be_read_gives_the_same_fact(
    tmp_path: Path, server: ChatServer, mode: str
) -> None:
    assert mode in MODES
    server.mode = mode
    with remembering(tmp_path, server) as memory:
        memory.add_messages(SAID)
        assert memory.workers("wait").extractor == "model/2 toy"
        assert facts(memory) == [BIKE]
        (item,) = memory.list("fact").items
        (source,) = item.sources
        assert (source.start, source.end) == (0, len(SAID) - 1)
        (finished,) = memory.events(types=["extraction finished"]).events
        assert finished.data["why"] == "done" and not finished.data.get("suspect")
        assert not memory.search("draft").hits
        assert memory.jobs().failed == 0


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("cut", "cut off"), ("budget", "cut off"), ("empty", "empty reply"),
        ("null", "empty reply"), ("html", "malformed"), ("error", "refused"),
        ("other", "malformed"), ("prose", "malformed"),
        ("away", "unreachable"), ("key", "refused"),
    ],
)  # fmt: skip
def test_any_other_is_a_failure_that_is_seen_and_tried_again(
    tmp_path: Path, server: ChatServer, mode: str, why: str
) -> None:
    server.mode = mode
    with remembering(tmp_path, server) as memory:
        (message,) = memory.add_messages(SAID).items
        memory.workers("wait")
        assert facts(memory) == []
        (hit,) = memory.search("orange bike").hits
        assert hit.text == SAID
        (job,) = memory.jobs().jobs
        assert (job.source, job.state, job.attempts, job.why) == (message.id, "failed", 1, why)
        assert job.retry_at is not None
        (failed,) = memory.events(types=["extraction failed"]).events
        assert failed.data["why"] == why and KEY not in str(failed)
        kept = failed.texts.get("reply")
        assert (kept is None) == (mode in ("away", "key")), "what was answered is kept"
        assert mode != "html" or kept == "<html>upstream error</html>"
        assert len(server.asked) == 1, "what is short is not asked again unchanged"
        server.mode = "ok"
        memory.retry()
        memory.workers("wait")
        assert facts(memory) == [BIKE] and not memory.jobs().jobs


def test_a_reply_that_was_kept_goes_with_what_it_tells(tmp_path: Path, server: ChatServer) -> None:
    """It may quote the words of its source: then it is told and kept no longer than these."""
    server.mode = "cut"
    with remembering(tmp_path, server) as memory:
        (message,) = memory.add_messages(SAID).items
        memory.workers("wait")
        server.mode = "ok"
        memory.retry()
        memory.workers("wait")

        def told() -> list[str]:
            events = memory.events(types=["extraction failed"], about=message.id).events
            return [event.texts.get("reply", "") for event in events]

        assert "orange" in told()[0]
        (fact,) = memory.list("fact").items
        memory.forget(fact.id or "")
        assert told() == [""]
        memory.restore(fact.id or "")
        assert "orange" in told()[0]
        memory.erase(message.id or "")
        assert "orange" not in str(told())
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"orange" not in file.read_bytes(), file


def test_a_key_in_a_reply_is_not_kept(tmp_path: Path, server: ChatServer) -> None:
    server.mode = "error"
    server.error = f"bad key {KEY}"
    with remembering(tmp_path, server) as memory:
        memory.add_messages(SAID)
        memory.workers("wait")
        (failed,) = memory.events(types=["extraction failed"]).events
        assert "bad key …" in failed.texts["reply"] and KEY not in str(failed)


@pytest.mark.parametrize(("mode", "state"), [("empty", "parked"), ("away", "failed")])
def test_after_five_tries_it_is_parked_unless_nobody_was_there(
    tmp_path: Path, server: ChatServer, mode: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extracting, "RETRY_S", (1e-6, 1e-6))  # from one second on it is waited for
    monkeypatch.setattr(breaking, "PACE", breaking.Pace(failures=1000))  # nor is anybody spared
    server.mode = mode
    with remembering(tmp_path, server) as memory:
        memory.add_messages(SAID)
        memory.workers("wait")
        (job,) = memory.jobs().jobs
        assert job.state == state and (job.retry_at is None) == (state == "parked")
        assert (job.attempts > extracting.TRIES_MAX) == (state == "failed")


@pytest.mark.parametrize("chance", [0, 255])
def test_it_is_tried_again_ever_later_and_not_all_at_once(chance: int) -> None:
    engine: Any = SimpleNamespace(
        clock=SimpleNamespace(now_us=lambda: 0), ids=SimpleNamespace(salt=lambda: bytes([chance]))
    )
    duty = extracting.Extracting(engine, lambda: None)
    spread = 1 + chance / 1024
    delays_s = [10, 40, 160, 640]
    due = [duty._retry_at(attempt, Why.MALFORMED) for attempt in range(1, 6)]
    assert due == [*(round(delay * spread * 1_000_000) for delay in delays_s), None]
    away = [duty._retry_at(attempt, Why.UNREACHABLE) or 0 for attempt in range(1, 40)]
    assert max(away) == round(3_600 * spread * 1_000_000), "it is never given up"


def test_no_facts_from_a_text_that_states_some_is_suspect(
    tmp_path: Path, server: ChatServer
) -> None:
    server.good = lambda told: {"facts": []}
    with remembering(tmp_path, server) as memory:
        memory.add_messages(["I live in Rome.", "Thanks a lot!"])
        memory.workers("wait")
        events = memory.events(types=["extraction finished"]).events
        assert sorted(bool(event.data.get("suspect")) for event in events) == [False, True]
        assert {event.data["why"] for event in events} == {"nothing stated"}
        assert not memory.jobs().jobs


def test_a_long_document_is_read_to_its_end(tmp_path: Path, server: ChatServer) -> None:
    numbers = iter(range(10_000))
    one, two, three, four = (
        " ".join(f"Sentence {next(numbers)} says that all is well." for _ in range(500))
        for _ in range(4)
    )
    marks = ("ZX-ALPHA-1", "ZX-MID-2", "ZX-OMEGA-3")
    first, middle, last = (f"The code {mark} opens the door." for mark in marks)
    word = "".join(f"x{number}" for number in range(4_000))
    text = f"{first} {one}\n\n{two} {middle} {three}\n\n{word} {four}\n\n{last}"

    def stating(told: str) -> Any:
        quotes = [f"The code {mark} opens the door" for mark in marks]
        blank = bike(SAID)["facts"][0] | {"subject": None, "attribute": None, "value": None}
        return {"facts": [blank | {"quote": q, "text": q} for q in quotes if q in told]}

    server.good = stating
    server.context = 9_000  # less than was told: it must find out
    with remembering(tmp_path, server) as memory:
        (document,) = memory.ingest(text).items
        memory.workers("wait")
        while memory.jobs().pending:
            memory.workers("wait")
        assert not memory.jobs().jobs
        assert facts(memory) == [f"The code {mark} opens the door" for mark in sorted(marks)]
        for mark in marks:
            assert mark in memory.search(mark).hits[0].text
        assert memory.get(document.id or "").item.status == "ready"
    bodies = [json.dumps(asked) for asked in server.asked]
    assert len(set(bodies)) == len(bodies), "nothing is asked twice"


def test_closing_a_store_does_not_count_as_a_failure(tmp_path: Path, server: ChatServer) -> None:
    server.mode = "slow"
    memory = remembering(tmp_path, server)
    memory.add_messages(SAID)
    assert server.begun.wait(30)
    memory.close()
    server.go_on.set()
    server.mode = "ok"
    with remembering(tmp_path, server) as again:
        again.workers("wait")
        assert facts(again) == [BIKE]
        assert not again.events(types=["extraction failed"]).events


def test_the_key_is_in_no_file_and_no_log(
    tmp_path: Path, server: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.mode = "key"
    with caplog.at_level("DEBUG"), remembering(tmp_path, server) as memory:
        memory.add_messages(SAID)
        memory.workers("wait")
        assert memory.jobs().failed == 1
    assert server.keys == [f"Bearer {KEY}"]
    assert KEY not in caplog.text and "orange" not in caplog.text
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


# --- settings


def test_models_by_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\n")
    env = {
        "REWOUND_EXTRACTOR": "model", "REWOUND_JUDGE": "model",
        "REWOUND_CHAT_URL": "http://127.0.0.1:9", "REWOUND_CHAT_MODEL": "toy",
        "REWOUND_CHAT_KEY_FILE": str(file),
    }  # fmt: skip
    models = Models.from_environment(env)
    assert (models.extractor, models.judge, models.chat_key) == ("model", "model", KEY)
    assert KEY not in repr(models)
    extractor, judge = models.make_extractor(), models.make_judge()
    assert extractor is not None and judge is not None
    assert (extractor.name, judge.name) == ("model/2 toy", "model/1 toy")
    assert Models.from_environment(env | {"REWOUND_CHAT_KEY": "other"}).chat_key == "other"
    assert Models().make_judge() is None and Models(judge="none").make_judge() is None


@pytest.mark.parametrize(
    ("env", "field", "words"),
    [
        ({"REWOUND_EXTRACTOR": "model"}, "REWOUND_CHAT_URL", "extractor is model"),
        ({"REWOUND_JUDGE": "model"}, "REWOUND_CHAT_URL", "judge is model"),
        ({"REWOUND_JUDGE": "gpt"}, "REWOUND_JUDGE", "rules, model, none"),
        ({"REWOUND_CHAT_URL": "127.0.0.1:8080"}, "REWOUND_CHAT_URL", "an address such as"),
        ({"REWOUND_CHAT_URL": "ftp://x"}, "REWOUND_CHAT_URL", "an address such as"),
        ({"REWOUND_CHAT_URL": "http://x:port"}, "REWOUND_CHAT_URL", "an address such as"),
        ({"REWOUND_CHAT_URL": "http://[x"}, "REWOUND_CHAT_URL", "an address such as"),
        ({"REWOUND_CHAT_URL": f"http://x?key={KEY}"}, "REWOUND_CHAT_URL", "an address such as"),
        ({"REWOUND_CHAT_URL": f"http://u:{KEY}@x:port"}, "REWOUND_CHAT_URL", "an address such as"),
        (
            {"REWOUND_CHAT_URL": f"http://u:{KEY}@x"}, "REWOUND_CHAT_URL",
            "holds a user or a password",
        ),
        ({"REWOUND_CHAT_KEY": f"{KEY}\nx"}, "REWOUND_CHAT_KEY", "cannot have"),
        ({"REWOUND_CHAT_KEY": f"{KEY}ü"}, "REWOUND_CHAT_KEY", "cannot have"),
        ({"REWOUND_CHAT_KEY_FILE": "/nowhere/key"}, "REWOUND_CHAT_KEY_FILE", "No such file"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(env: dict[str, str], field: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Models.from_environment(env)
    assert caught.value.field == field and words in caught.value.message
    assert KEY not in caught.value.message
