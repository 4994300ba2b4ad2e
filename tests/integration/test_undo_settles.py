"""What an undo leaves is as if what it took had never been said: what had ended by it, what was
held against it, and what was not compared because it stood between."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from rewound.eventlog.errors import StoreFull
from rewound.memory import Memory, judging, workers
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.integration.stating import stands
from tests.integration.test_dispatching import eventually

RULES = Models(embedder="none", extractor="rules", judge="rules")
State = list[tuple[str, str, str | None]]
_names = count(1)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("undo"), models=RULES) as memory:
        yield memory


def said(store: Memory, texts: list[tuple[int, str]]) -> Memory:
    """A container in which Nina said these, each on its day of March."""
    memory = store.container(f"chain-{next(_names)}")
    for day, text in texts:
        message = {"role": "user", "name": "Nina", "content": text}
        memory.add_messages([{**message, "time": f"2026-03-{day:02}T10:00:00Z"}])
        memory.workers("wait")
    return memory


def state(memory: Memory, as_of: str | None = None) -> State:
    """Every fact, how it stands, and until when it holds."""
    page = memory.list(what="fact", limit=100, include_superseded=True, as_of=as_of)
    return sorted((view.text, stands(view), view.valid_to) for view in page.items)


def asked(memory: Memory) -> list[tuple[str, str]]:
    return sorted((each.text, each.old_text) for each in memory.reviews().reviews)


CHAINS = {
    "three homes": ("I live in Oslo.", "I moved to Bergen.", "I moved to Porto."),
    "a home that is over": ("I live in Oslo.", "I moved to Bergen.", "I no longer live in Bergen."),
    "a job that was quit":
        ("I work at Orbit.", "I now work at Harbor.", "I quit my job at Harbor."),
    "a car that was sold": ("I drive a Volvo.", "I drive a Fiat.", "I sold the Fiat."),
    "liked again": ("I like olives.", "I can't stand olives any more.", "I like olives again."),
    "said twice": ("I live in Oslo.", "I live in Oslo now.", "I moved to Porto."),
    "back home": ("I live in Oslo.", "I moved to Bergen.", "I moved back to Oslo."),
    "one of a list": (
        "I'm allergic to walnuts and pecans.", "I'm no longer allergic to pecans.",
        "I'm allergic to pecans again.",
    ),
    "four numbers": (
        "My phone number is 555-0101.", "My phone number is 555-0102.",
        "My phone number is 555-0103.", "My phone number is 555-0104.",
    ),
}  # fmt: skip


def undone(store: Memory, texts: tuple[str, ...], which: int) -> tuple[Memory, str]:
    """All said, one message taken back, and all settled; and the undoing."""
    memory = said(store, list(enumerate(texts, 1)))
    messages = memory.list(what="message").items
    reply = memory.undo(str(messages[which].event))
    memory.workers("wait")
    assert reply.event is not None
    return memory, reply.event


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS.keys())
def test_what_stands_is_as_if_it_had_never_been_said(store: Memory, chain: tuple[str, ...]) -> None:
    whole = state(said(store, list(enumerate(chain, 1))))
    for which in range(len(chain)):
        memory, undoing = undone(store, chain, which)
        left = [each for n, each in enumerate(enumerate(chain, 1)) if n != which]
        never = said(store, left)
        assert state(memory) == state(never), chain[which]
        assert asked(memory) == asked(never), chain[which]
        (event,) = memory.events(types=["undone"], limit=10).events
        assert state(memory, f"@{event.position - 1}") == whole
        memory.undo(undoing)
        memory.workers("wait")
        assert state(memory) == whole, f"{chain[which]} and back"


def test_a_label_on_what_is_left_goes_on_to_hold(store: Memory) -> None:
    memory = said(store, [(1, "I drive a Volvo."), (2, "I drive a Fiat."), (3, "I sold the Fiat.")])
    volvo, _, sold = memory.list(what="fact", include_superseded=True).items
    memory.label(sold.id, volvo.id, "updates")
    memory.undo(str(memory.list(what="message").items[1].event))
    memory.workers("wait")
    assert [view.text for view in memory.list(what="fact").items] == ["Nina sold the Fiat"]
    memory.label(sold.id, volvo.id, "distinct")
    texts = [view.text for view in memory.list(what="fact").items]
    assert texts == ["Nina drives a Volvo", "Nina sold the Fiat"]


def test_without_the_new_comparison_the_chain_would_stay_ended(
    store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "left_behind", lambda view, recorded: [])
    memory, _ = undone(store, CHAINS["a car that was sold"], 1)
    assert ("Nina drives a Volvo", "superseded") in [each[:2] for each in state(memory)]


def test_what_follows_from_an_undo_is_caused_by_it(store: Memory) -> None:
    memory, undoing = undone(store, CHAINS["a car that was sold"], 1)
    events = memory.events(limit=100).events
    (judged,) = [each for each in events if undoing in each.causes]
    lifted = [each.type for each in events if judged.id in each.causes]
    assert judged.type == "facts judged" and lifted == ["fact reinstated"]


def test_what_could_not_be_recorded_is_settled_once_it_can(
    store: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_RETRY_S", (1e-3, 1e-3))
    texts = CHAINS["three homes"]
    memory = said(store, list(enumerate(texts, 1)))
    assert store.link._store is not None
    engine, failing = store.link._store.engine, True
    submit = engine.submit_record

    def full(found: Any, **more: Any) -> Any:
        nonlocal failing
        if failing and found.causes:
            failing = False
            raise StoreFull("the disk is full")
        return submit(found, **more)

    monkeypatch.setattr(engine, "submit_record", full)
    undoing = memory.undo(str(memory.list(what="message").items[1].event)).event
    eventually(lambda: any(undoing in event.causes for event in judged(memory)))
    assert not failing
    assert state(memory) == state(said(store, [(1, texts[0]), (3, texts[2])]))


def judged(memory: Memory) -> tuple[r.EventView, ...]:
    return memory.events(types=["facts judged"], limit=100).events
