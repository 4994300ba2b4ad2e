"""Questions and facts in scripts that the embedding model does not know (R23, R25): what says
something else is not near, nothing repeats what it does not say, and what is written alike is
found."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.llm.embedding import Vectors
from rewound.llm.minilm import MiniLM
from rewound.llm.unknown_words import written_vector
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.cases.asking import MEANING, UNSURE, Shelf, settled, shelf, shown
from tests.cases.given import Clock

# What is kept, and a question that some of it answers.
KEPT = {
    "Thai": (("ผมแพ้กุ้งมาก", "แมวของฉันชื่อมะลิ"), "กุ้ง"),
    "Khmer": (("ខ្ញុំចូលចិត្តបាយ", "ឆ្កែខ្លាចភ្លៀង"), "បាយ"),
    "Russian": (("Собака боится грозы", "Пароль от вайфая на холодильнике"), "пароли вайфай"),
    "Greek": (("Ο σκύλος φοβάται τη βροχή", "Η Μαρία μένει στην Αθήνα"), "που μένει η Μαρία"),
    "Korean": (("비밀번호는 냉장고에 있어요", "우리 강아지는 비를 무서워해요"), "비밀번호"),
    "Chinese": (("密码在冰箱上", "我对花生过敏"), "花生过敏的人"),
    "Armenian": (("Իմ կատուն սպիտակ է", "Քույրս բժիշկ է"), "բժիշկներ"),
    "emoji": (("🦊🦊", "🍕"), "🍕"),
}
STRANGE = ("🐙", "ඔබ කොහෙද", "அம்மா", "трактор", "τρακτέρ", "拖拉机", "トラクター", "트랙터")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield from shelf(tmp_path_factory.mktemp("scripts"), MEANING)


def everything() -> tuple[str, ...]:
    return tuple(text for texts, _ in KEPT.values() for text in texts)


@pytest.mark.parametrize("query", STRANGE)
def test_r23_what_the_model_cannot_read_is_answered_by_nothing(here: Shelf, query: str) -> None:
    found = here.facts(everything()).search(query)
    assert found.nothing_relevant, shown(found)
    assert all(hit.score < UNSURE for hit in found.hits), shown(found)


@pytest.mark.parametrize(("texts", "query"), KEPT.values(), ids=KEPT.keys())
def test_r25_what_is_written_alike_is_found(
    here: Shelf, texts: tuple[str, ...], query: str
) -> None:
    found = here.facts(everything()).search(query)
    assert found.hits[0].text in texts and not found.nothing_relevant, shown(found)
    wrong = [hit for hit in found.hits if hit.text not in texts and hit.score >= UNSURE]
    assert wrong == [], shown(found)


def test_r25_no_fact_repeats_another_that_the_model_cannot_read(tmp_path: Path) -> None:
    models = Models(embedder=MEANING, extractor="rules", judge="rules")
    with Memory(tmp_path / "store", models=models, clock=Clock()) as memory:
        memory.own()
        memory.remember(list(everything()))
        page = settled(memory).list(include_superseded=True, limit=1000)
    assert [view.text for view in page.items] == list(everything())
    assert {view.standing and view.standing.state for view in page.items} == {"current"}


def near(vectors: Vectors) -> float:
    return float(vectors[0] @ vectors[1])


def test_r25_a_text_has_the_same_vector_whatever_it_came_with() -> None:
    model = MiniLM(threads=1)
    texts = ["ผมแพ้กุ้งมาก", "My dog is red.", "Собака боится грозы", "", "🍕"]
    together = model.embed(texts)
    for text, row in zip(texts, together, strict=True):
        assert (model.embed([text])[0] == row).all()
    assert near(model.embed(["собаки", "Собака боится грозы"])) > 0.3
    assert abs(near(model.embed(["🍕", "🦊"]))) < 0.2


@pytest.mark.parametrize("text", ["", "...", "\ud83d", "a" * 9_000, "\u0301" * 300])
def test_r29_any_text_has_a_written_vector(text: str) -> None:
    assert (written_vector(text, 384) != 0).any()
