"""What is asked for by one word and told by another that belongs to it, by words alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.memory.reading import Reading
from rewound.projections.related import related
from rewound.projections.tokens import query_terms

NAME = "related words said"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    models = Models(embedder="none", extractor="none", judge="none")
    with Memory(tmp_path / "store", models=models) as opened:
        yield opened


def told(memory: Reading, query: str) -> dict[str, float]:
    """By text, how much of the query is said by related words."""
    found = memory.search(query, explain=True)
    values = {}
    for hit in found.hits:
        assert hit.explanation is not None
        features = {each.name: each.value for each in hit.explanation.features}
        values[hit.text] = features[NAME]
    return values


def test_a_related_word_lifts_what_says_it(memory: Memory) -> None:
    texts = ["Nina pays the rent in March.", "Nina has a dog of four years.", "Nina swims at noon."]
    for text in texts:
        memory.remember(text)
    values = told(memory, "which pets does Nina keep")
    assert max(values, key=lambda text: values[text]) == texts[1]
    assert values[texts[1]] > 0.0 == values[texts[0]] == values[texts[2]]
    assert memory.search("which pets does Nina keep").hits[0].text == texts[1]


def test_what_says_the_word_itself_needs_no_other(memory: Memory) -> None:
    memory.remember("The pet of Nina is a dog.")
    assert told(memory, "pets of Nina") == {"The pet of Nina is a dog.": 0.0}


def test_what_was_forgotten_says_nothing(memory: Memory) -> None:
    """A dog that is forgotten makes dogs no more common than they are."""
    kept = memory.remember("Nina walks the dog.").items[0].id
    assert kept is not None
    memory.remember("Nina swims at noon.")
    before = told(memory, "pets of Nina")
    gone = memory.remember("Nina fed the dog of a friend.").items[0].id
    assert gone is not None and told(memory, "pets of Nina") != before
    memory.forget(gone)
    assert told(memory, "pets of Nina") == before


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("what happened in April 2024", "Much happened, and more in May."),
        ("who rang Nina", "Natalie rang."),
    ],
)
def test_names_and_dates_mean_themselves(memory: Memory, query: str, said: str) -> None:
    asked = [set(related(term).terms) for term in query_terms(query)]
    assert set.union(*asked) & set(query_terms(said))
    memory.remember(said, valid_from="2024-04-10T09:00:00Z")
    assert told(memory, query) == {said: 0.0}


@pytest.mark.parametrize("query", ["what does nina keep", "Nina keeps what?"])
def test_a_speaker_means_just_himself_without_a_capital_too(memory: Memory, query: str) -> None:
    """Not before she has spoken: until then nobody knows that it is a name."""
    assert "natali" in related("nina").terms
    said = "Natalie keeps a boat."
    memory.remember(said)
    before = memory.remember("Omar sings.").items[0].event
    assert before is not None
    memory.add_messages([{"role": "user", "name": "Nina", "content": "Bees."}])
    assert told(memory, query)[said] == 0.0
    assert told(memory.as_of(before), query)[said] > 0.0
