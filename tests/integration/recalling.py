"""A store with everything that a ranking looks at, and what searches of it answer, to the last bit.

python -m tests.integration.recalling DATA CLOCK    asks in a process of its own, prints JSON
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.unit.given import DAY_US, HandClock

QUERIES = (
    "where does Nina work",
    "What did you recommend to Omar?",
    "when did I go to Bergen in January",
    "how many cats do we have",
    "any ideas for my garden",
    "Vera likes the harbour",
    "teapot townhall",
    'who said "keeps a garden" or "two cats"',
)
ASKED: tuple[dict[str, Any], ...] = (
    {},
    {"include_superseded": True},
    {"include_forgotten": True},
    {"what": "fact"},
)
MODELS = Models(embedder="hashing", extractor="rules", judge="rules")

TALKS: dict[str, list[tuple[str, str | None, str]]] = {
    "work": [
        ("user", "Nina", "I work at Orbit Labs as a botanist. I have two cats."),
        ("assistant", None, "Where is Orbit Labs? I recommend a bicycle for the way."),
        ("user", "Nina", "In Bergen, near the harbour."),
        ("user", "Omar", "I live in Bergen. My garden is small."),
        ("assistant", None, "You could grow tea in it, Omar."),
        ("user", "Nina", "When did we see the harbour?"),
        ("user", "Omar", "Last week, I went there with three friends."),
    ],
    "garden": [
        ("user", "Omar", "My favourite plant is the fern."),
        ("assistant", None, "I suggest ferns for a garden in the shade."),
        ("user", "Omar", "I like tea and I usually walk to the harbour."),
    ],
}
DOCUMENT = "".join(
    f"Part {n}. Orbit Labs keeps a garden at the harbour of Bergen. The work is done by {n} people "
    f"who like ferns, and cats are not allowed in room {n}. {'The weather is mild. ' * 25}\n\n"
    for n in range(6)
)


class Said:
    """Ids of what was written, by what it is."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.moments: list[int] = []
        """Positions between the writes."""


def fill(memory: Memory, clock: HandClock) -> Said:
    """Talks with facts drawn from them, a document and its second version, facts; some of it
    edited, forgotten, undone and erased. Every text has its vector at the end."""
    said = Said()

    def done() -> None:
        memory.workers("wait")
        clock.at += DAY_US
        said.moments.append(clock.at - DAY_US // 2)

    for conversation, lines in TALKS.items():
        for role, name, content in lines:
            sent = [{"role": role, "content": content, "name": name}]
            reply = memory.add_messages(sent, conversation=conversation)
            said.messages += [item.id for item in reply.items if item.id]
        done()
    memory.ingest(DOCUMENT, id="guide", importance=0.6)
    done()
    memory.ingest("The harbour of Rome has no garden. " * 60, id="other")
    done()
    memory.ingest(DOCUMENT.replace("Part 2.", "A new part about teapots."), id="guide")
    done()
    tea = memory.remember("Nina likes tea.").items[0].id or ""
    memory.remember("Cats sleep in the townhall.", valid_from="2026-01-03")
    done()
    memory.update(tea, "Nina likes green tea.", importance=0.9)
    done()
    memory.update(said.messages[1], importance=0.4)
    done()
    memory.forget([said.messages[3], said.messages[7]])
    done()
    event = memory.remember("Omar works at the harbour.").items[0].event or ""
    done()
    memory.undo(event)
    done()
    later = [{"role": "user", "content": "Vera here: the harbour is closed.", "name": "Vera"}]
    memory.add_messages(later, conversation="work")
    done()
    memory.erase([said.messages[0]])
    done()
    return said


def answers(memory: Memory, **more: Any) -> dict[str, Any]:
    """Hits with every feature of theirs, by the question; what names the moment is left out."""
    found = {}
    for query in QUERIES:
        for asked in ASKED:
            reply = memory.search(query, limit=30, explain=True, **{**asked, **more})
            found[f"{query} {asked}"] = shown(reply)
    return found


def shown(reply: r.Found) -> dict[str, Any]:
    """All but the question and what names the moment of asking."""
    plain: dict[str, Any] = msgspec.to_builtins(reply)
    return {name: plain[name] for name in plain.keys() - {"moment", "filters"}}


@contextmanager
def opened(folder: Path, clock: HandClock) -> Iterator[Memory]:
    with Memory(folder, clock=clock, models=MODELS) as memory:
        yield memory


def main() -> None:
    with opened(Path(sys.argv[1]), HandClock(int(sys.argv[2]))) as memory:
        sys.stdout.buffer.write(msgspec.json.encode(answers(memory)))


if __name__ == "__main__":
    main()
