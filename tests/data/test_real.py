"""A whole real conversation and real documentation, through the command line and the library.

The data sets are not part of the repository: without them these tests skip.
"""

import json
import os
import random
import sys
from pathlib import Path

import msgspec
import pytest

from eval.corpora import Question, Unit, corpus, questions, stamp
from rewound.memory import Memory
from tests import loaded

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("REWOUND_TEST_DATA", ROOT.parent / "shared" / "data"))
MOMENTS = 50 if os.environ.get("REWOUND_SOAK") == "long" else 5
_QUESTIONS = 25

pytestmark = pytest.mark.skipif(
    not (DATA / "locomo").is_dir(), reason="the data sets are not here: set REWOUND_TEST_DATA"
)


def rewound(store: Path, *words: str) -> str:
    """One command in a process of its own."""
    command = [sys.executable, "-m", "rewound.http", "--data", str(store), *words]
    done = loaded.run(command, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    said: str = done.stdout
    return said


def conversation() -> tuple[list[Unit], list[Question]]:
    units = corpus(DATA, "locomo")
    group = units[0].group
    asked = [q for q in questions(DATA, "locomo") if q.group == group and q.gold]
    return [unit for unit in units if unit.group == group], asked


def as_line(unit: Unit) -> dict[str, str | None]:
    return {
        "id": unit.id,
        "conversation": unit.session or "",
        "role": "user",
        "name": unit.who,
        "content": unit.text,
        "time": stamp(unit.time),
    }


@pytest.mark.slow
def test_a_conversation_through_both_doors(tmp_path: Path) -> None:
    units, asked = conversation()
    chat = tmp_path / "chat.jsonl"
    chat.write_text("\n".join(json.dumps(as_line(unit)) for unit in units), encoding="utf-8")
    rewound(tmp_path / "cli", "-c", "talk", "import", str(chat))
    with Memory(tmp_path / "lib", container="talk") as memory:
        for session in dict.fromkeys(unit.session for unit in units):
            part = [as_line(unit) for unit in units if unit.session == session]
            for line in part:
                del line["conversation"]
            memory.add_messages(part, conversation=session or "")
        with Memory(tmp_path / "cli", container="talk") as other:
            assert other.list(what="message", limit=1).total == len(units)
            cited = 0
            for question in asked[:_QUESTIONS]:
                one = memory.search(question.text, limit=5).hits
                two = other.search(question.text, limit=5).hits
                told = [(h.text, h.score, h.sources[0].caller_id, h.sources[0].time) for h in one]
                assert told == [
                    (h.text, h.score, h.sources[0].caller_id, h.sources[0].time) for h in two
                ]
                cited += any(h.sources[0].caller_id in question.gold for h in one)
            assert cited >= _QUESTIONS // 3
        first = asked[0].text
        in_library = msgspec.json.encode(memory.search(first))
        printed = rewound(tmp_path / "lib", "-c", "talk", "search", first, "--json")
        assert printed.encode().strip() == in_library


@pytest.mark.slow
def test_documentation_is_found_with_its_place(tmp_path: Path) -> None:
    sections = corpus(DATA, "docs_claude")
    folder = tmp_path / "docs"
    folder.mkdir()
    for number, section in enumerate(sections):
        (folder / f"{number:03}.md").write_text(section.text, encoding="utf-8")
    store = tmp_path / "store"
    rewound(store, "ingest", str(folder))
    asked = [q for q in questions(DATA, "docs_claude") if q.gold][:10]
    number_of = {section.id: number for number, section in enumerate(sections)}
    found = 0
    with Memory(store) as memory:
        assert memory.list(what="document", limit=1).total == len({s.text for s in sections})
        for question in asked:
            for hit in memory.search(question.text, limit=8).hits:
                source = hit.sources[0]
                number = int(str(source.caller_id).rsplit("/", 1)[-1].removesuffix(".md"))
                assert sections[number].text[source.start : source.end] == hit.text
                found += number in {number_of[gold] for gold in question.gold}
        assert found >= len(asked)
        assert memory.verify().ok


@pytest.mark.soak
def test_any_moment_can_be_replayed(tmp_path: Path) -> None:
    """Byte for byte: rows, lists, searches and contexts of the replayed store and of `as_of`."""
    units, _ = conversation()
    rng = random.Random(2026)
    with Memory(tmp_path / "store") as memory:
        ids: list[str] = []
        for start in range(0, len(units), 20):
            part = [as_line(unit) for unit in units[start : start + 20]]
            for line in part:
                del line["conversation"]
            written = memory.add_messages(part, conversation="talk", infer=False)
            ids += [item.id for item in written.items if item.id]
            fact = written.items[0].facts[0]
            memory.update(fact, f"What was said at {start} was put differently.")
            if start % 60 == 0:
                memory.forget(rng.choice(ids[-20:]))
            if start % 80 == 0:
                event = memory.remember(f"Remark {start} is taken back.").items[0].event
                assert event is not None
                memory.undo(event)
        last = memory.stats().info[0].position
        for moment in rng.sample(range(1, last + 1), min(MOMENTS, last)):
            replayed = memory.replay(f"@{moment}")
            assert replayed.agrees, (moment, replayed.differences)
