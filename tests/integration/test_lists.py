"""A list tells several values: each has its own period, its own edge and its own end."""

from collections.abc import Iterator
from itertools import count

import pytest

from rewound.memory import Memory
from rewound.memory.models import Models
from tests.integration.stating import stands

RULES = Models(embedder="none", extractor="rules", judge="rules")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("lists"), models=RULES) as memory:
        yield memory


@pytest.fixture
def memory(store: Memory) -> Memory:
    return store.container(f"list-{next(_names)}")


_names = count(1)


def say(memory: Memory, *texts: str) -> None:
    """What Nina says, one message a month."""
    for month, text in enumerate(texts, 1):
        said = {"role": "user", "name": "Nina", "content": text}
        memory.add_messages([{**said, "time": f"2026-{month:02}-01T10:00:00Z"}])
        memory.workers("wait")


def periods(memory: Memory, subject: str, attribute: str) -> dict[str | None, str]:
    """Each value with what stands of it."""
    told = memory.timeline(subject, attribute)
    return {each.value: each.standing.state for line in told.lines for each in line.periods}


def edges(memory: Memory, entity: str) -> set[tuple[str | None, str]]:
    around = memory.graph(entity).edges
    return {(edge.relation, edge.target) for edge in around if edge.kind == "attribute"}


LISTS = {
    "allergies": (
        "I'm allergic to walnuts, pecans and figs.", "I'm no longer allergic to pecans.",
        "allergy", ("walnuts", "figs"), "pecans",
    ),
    "allergies put right": (
        "I'm allergic to walnuts and pecans.", "Turns out I'm not allergic to pecans.",
        "allergy", ("walnuts",), "pecans",
    ),
    "languages": (
        "I speak Dutch, French and Thai.", "I no longer speak Thai.",
        "language", ("Dutch", "French"), "Thai",
    ),
    "projects": (
        "I work on Apollo and Zephyr.", "I no longer work on Zephyr.",
        "project", ("Apollo",), "Zephyr",
    ),
    "projects stopped": (
        "I work on Apollo and Zephyr.", "I stopped working on Apollo.",
        "project", ("Zephyr",), "Apollo",
    ),
    "clients": (
        "I'm a client of Orbit Labs and Harbor Foods.", "I'm no longer a client of Orbit Labs.",
        "client of", ("Harbor Foods",), "Orbit Labs",
    ),
    "pets": (
        "I have two cats, Miso and Tofu.", "I no longer have Miso.", "pet", ("Tofu",), "Miso",
    ),
    "instruments": (
        "I play the cello and piano.", "I gave up the piano.", "instrument", ("cello",), "piano",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LISTS.values(), ids=LISTS.keys())
def test_each_value_has_its_line_and_its_edge_and_ends_by_itself(
    memory: Memory, case: tuple[str, str, str, tuple[str, ...], str]
) -> None:
    told, ended, attribute, left, gone = case
    say(memory, told)
    before = periods(memory, "Nina", attribute)
    assert {value: before[value] for value in (*left, gone)} == dict.fromkeys(
        (*left, gone), "current"
    )
    assert {(attribute, value) for value in (*left, gone)} <= edges(memory, "Nina")
    say(memory, told, ended)
    after = periods(memory, "Nina", attribute)
    assert {value: after[value] for value in left} == dict.fromkeys(left, "current")
    assert after.get(gone) != "current"
    assert (attribute, gone) not in edges(memory, "Nina")
    assert {(attribute, value) for value in left} <= edges(memory, "Nina")


@pytest.mark.parametrize(
    "texts",
    [
        ("I'm allergic to walnuts and pecans.", "I'm allergic to figs too."),
        ("I speak Dutch and French.", "I also speak Thai."),
        ("I like jazz and old films.", "I hate techno."),
        ("I have two daughters, Ana and Lea.",),
        ("I have a dog and two cats.",),
    ],
)
def test_what_holds_beside_is_neither_ended_nor_asked_about(
    memory: Memory, texts: tuple[str, ...]
) -> None:
    say(memory, *texts)
    listed = memory.list(what="fact", include_superseded=True).items
    assert len(listed) > len(texts)
    assert [view.text for view in listed if stands(view) != "current"] == []
    assert memory.reviews().total == 0


@pytest.mark.parametrize(
    ("texts", "attribute", "states"),
    [
        (("I live in Trinidad and Tobago.", "I moved to Oslo."), "home",
         {"Trinidad and Tobago": "superseded", "Oslo": "current"}),
        (("I work at Marks and Spencer.", "I now work at Harbor Foods."), "employer",
         {"Marks and Spencer": "superseded", "Harbor Foods": "current"}),
        (("I speak Dutch and French.", "I speak only Thai."), "language",
         {"Dutch": "superseded", "French": "superseded", "Thai": "current"}),
    ],
)  # fmt: skip
def test_one_value_with_an_and_in_it_ends_as_one(
    memory: Memory, texts: tuple[str, ...], attribute: str, states: dict[str, str]
) -> None:
    say(memory, *texts)
    assert periods(memory, "Nina", attribute) == states


def test_taking_the_message_back_takes_all_its_values(memory: Memory) -> None:
    say(memory, "I'm allergic to walnuts and pecans.")
    (message,) = memory.list(what="message").items
    memory.undo(str(message.event))
    assert memory.list(what="fact").items == ()
