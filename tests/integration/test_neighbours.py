"""A short answer comes with the question that it answers, where that may be seen."""

from collections.abc import Iterator
from typing import Any

import pytest

from rewound.http.render import render
from rewound.http.render_parts import Look
from rewound.memory import Memory
from rewound.memory import requests as q
from rewound.memory.models import NO_MODELS
from rewound.memory.replies import Asked

QUESTION = "What is the name of your new dog?"
ANSWER = "Biscuit, of course."


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("neighbours"), models=NO_MODELS) as memory:
        yield memory


@pytest.fixture
def memory(store: Memory, request: pytest.FixtureRequest) -> Memory:
    return store.container(request.node.name[:60])


def talk(memory: Memory, *texts: str, **fields: Any) -> list[str]:
    said = [
        {
            "content": text,
            "name": "Ana" if number % 2 else "Ben",
            "time": f"2026-03-01T10:0{number}Z",
        }
        for number, text in enumerate(texts)
    ]
    return [str(item.id) for item in memory.add_messages(said, **fields).items]


def answers(memory: Memory, query: str = "Biscuit", **fields: Any) -> list[Asked | None]:
    found = memory.search(query, **fields)
    return [hit.answers for hit in found.hits if hit.text.startswith("Biscuit")]


def test_a_short_answer_comes_with_its_question(memory: Memory) -> None:
    question, _ = talk(memory, QUESTION, ANSWER)
    assert answers(memory) == [Asked(id=question, text=QUESTION, speaker="Ben")]
    found = memory.search("Biscuit")
    assert f"answers: {QUESTION}" in render(found, Look())


def test_of_a_long_message_the_sentence_that_asks_is_told(memory: Memory) -> None:
    talk(memory, f"The garden was lovely. We stayed long. {QUESTION}", ANSWER)
    (asked,) = answers(memory)
    assert asked is not None and asked.text == QUESTION


@pytest.mark.parametrize(
    "texts",
    [
        ("I like your new dog.", ANSWER),
        (QUESTION, "Well, let me see.", ANSWER),
        (QUESTION, "Biscuit " + "and all that comes with a dog of that size " * 3),
    ],
    ids=["no question", "not the message before", "a long answer"],
)
def test_what_says_enough_comes_alone(memory: Memory, texts: tuple[str, ...]) -> None:
    talk(memory, *texts)
    assert answers(memory) == [None]


def test_a_question_out_of_reach_does_not_come_along(memory: Memory) -> None:
    ann, ben = q.Scope(user="ann"), q.Scope(user="ben")
    talk(memory, QUESTION, conversation="c", scope=ann)
    memory.add_messages(
        [{"content": QUESTION, "time": "2026-03-01T10:00Z"}, {"content": ANSWER, "tags": ["dog"]}],
        conversation="d",
        scope=ben,
    )
    assert [asked is not None for asked in answers(memory)] == [True]
    assert answers(memory, tags="dog") == [None]
    assert answers(memory, scope=ann) == []


def test_a_forgotten_question_does_not_come_along_at_any_moment(memory: Memory) -> None:
    question, _ = talk(memory, QUESTION, ANSWER)
    before = memory.events().events[-1].position
    memory.forget(question)
    assert answers(memory) == [None]
    assert answers(memory, as_of=f"@{before}") == [None]
    memory.restore(question)
    assert [asked is not None for asked in answers(memory)] == [True]


def test_a_context_tells_the_question_once_and_keeps_to_its_budget(memory: Memory) -> None:
    talk(memory, QUESTION, ANSWER)
    (line,) = memory.context("Biscuit").lines
    assert f"(asked: {QUESTION}) Ana: {ANSWER} (" in line.text
    both = memory.context("what is the name of your new dog")
    assert QUESTION in both.lines[0].text and both.text.count(QUESTION) == 1
    for budget in range(1, 60):
        packed = memory.context("Biscuit", budget=budget)
        assert len(packed.text.encode()) <= 4 * budget


def test_a_fact_and_a_passage_come_alone(memory: Memory) -> None:
    memory.remember("Biscuit is a dog.")
    memory.ingest("Biscuit is a brown dog.", title="Dogs")
    assert answers(memory) == [None, None]
