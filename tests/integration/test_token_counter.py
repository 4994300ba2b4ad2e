"""Budgets of tokens, counted by an estimate, by the embedder's tokenizer or by one of your own."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import Kind, Ref
from rewound.llm import minilm, tokenizer_counter
from rewound.llm.token_counting import (
    ESTIMATE,
    CountingFailed,
    TokenCounter,
    ready,
)
from rewound.llm.tokenizer_counter import TokenizerCounter
from rewound.memory import Memory
from rewound.memory.answer_search import _fitted
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.memory.replies import Hit, Standing
from rewound.projections.rows import OPEN, Row
from rewound.projections.search import Match

WORDS = (
    "Nina Omar boats figs naïve Zürich слово 日本語 ไทย 🎉 antidisestablishmentarianism 4471-QUOK "
    "on in the a of . , ; (x) it's"
).split(" ")
SECRET = "zanzibarious"


def said(number: int) -> str:
    chosen = random.Random(number)
    return " ".join(chosen.choices(WORDS, k=chosen.randint(3, 60)))


@pytest.fixture(scope="module")
def bpe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer whose words take the blank before them along, and line ends too."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator(["\n".join(said(n) for n in range(40))], trainer)
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    made.save(str(path))
    return path


@pytest.fixture(params=["estimate", "embedder", "file"])
def memory(
    request: pytest.FixtureRequest, tmp_path: Path, bpe: Path
) -> Iterator[tuple[Memory, TokenCounter]]:
    """A store with budgets by each counter, found by words alone."""
    chosen = Models(
        embedder="minilm", extractor="none", judge="none",
        token_counter=str(bpe) if request.param == "file" else request.param,
    )  # fmt: skip
    counter = ready(chosen.make_token_counter())
    with Memory(tmp_path, models=chosen) as made:
        made.own()
        made.workers("pause")
        for number in range(40):
            made.remember(f"Boats {number}: {said(number)}", tags=f"t{number % 3}")
        yield made, counter


def length(counter: TokenCounter, text: str) -> int:
    whole = counter.whole(text)
    if whole is None:
        return sum(map(counter.line, text.splitlines()))
    return whole


def test_budgets_hold_exactly(memory: tuple[Memory, TokenCounter]) -> None:
    store, counter = memory
    for budget in (1, 20, 60, 75, 130, 400, 1_200, 5_000):
        packed = store.context("boats", budget=budget)
        assert packed.counter == counter.name
        assert packed.tokens == length(counter, packed.text) <= budget
        assert packed.lines or budget < 130
        portrait = store.profile(budget=budget)
        assert portrait.counter == counter.name
        assert portrait.tokens == length(counter, portrait.text) <= budget
    assert len(store.context("boats", budget=5_000).lines) > 20


def test_the_lines_add_up(memory: tuple[Memory, TokenCounter]) -> None:
    store, counter = memory
    packed = store.context("boats", budget=900)
    assert [line.tokens for line in packed.lines] == [
        counter.line(line.text) for line in packed.lines
    ]
    assert 900 - 120 < packed.tokens <= sum(line.tokens for line in packed.lines) <= 900


@pytest.mark.parametrize("text", ["", " ", "Yes.", "word " * 400])
def test_no_line_is_longer_than_what_is_left(text: str) -> None:
    counter = TokenizerCounter("toy", minilm.own_tokenizer)
    counter.load()
    state = Standing(state="current")
    hit = Hit(id="fact_1", kind="fact", text=text, score=0.5, signals={}, standing=state)
    row = Row(b"\x01" + bytes(16), 1, OPEN, 0, 0, msgspec.Struct())
    match = Match(Ref(Kind.FACT, bytes(16)), 0.5, 0.5, {}, (), row)
    for left in range(-2, 140):
        for each in (counter, ESTIMATE):
            fitted = _fitted(match, hit, {}, left, 1_200, each)
            assert fitted is None or each.line(fitted.line.text) == fitted.line.tokens <= left


def test_the_embedders_tokens_are_those_of_its_tokenizer() -> None:
    counter = TokenizerCounter("toy", minilm.own_tokenizer)
    counter.load()
    plain = minilm.own_tokenizer()
    plain.no_truncation()
    plain.no_padding()
    lines = (f"- [2026-03-01] {said(n)} (fact_01m8mpjktve00946x3m0s9aj5c)" for n in range(9))
    text = "\n".join(lines).replace("ไทย", "thai").replace("🎉", "!")
    for each in (text, text, "", "\n", " a\u00a0b  c\u2003d\te\x1cf ", "naïve Zürich"):
        found = plain.encode(each, add_special_tokens=False)
        assert "[UNK]" not in found.tokens
        assert counter.whole(each) == counter.line(each) == len(found.tokens)
    assert counter.whole("[SEP]") == 3, "what looks like a mark is text"


def test_a_word_that_is_not_known_counts_by_its_bytes() -> None:
    counter = TokenizerCounter("toy", minilm.own_tokenizer)
    counter.load()
    assert counter.line("ไทย") == 3 and counter.line("🎉" * 20) == 20
    assert counter.line("x" * 4_000) == 1_000, "not one token"


def test_what_cannot_be_loaded_leaves_it_to_the_estimate(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> Tokenizer:
        raise OSError("no such file")

    counter = TokenizerCounter("toy", fail)
    assert ready(counter) is ready(counter) is ESTIMATE
    with pytest.raises(CountingFailed, match="toy cannot be loaded: no such file"):
        counter.load()
    assert caplog.text.count("tokens are estimated: ") == 1


def test_what_could_not_be_loaded_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_counter, "RELOAD_S", (0.0, 0.0))
    missing = [OSError("no such file")] * 2

    def make() -> Tokenizer:
        if missing:
            raise missing.pop()
        return minilm.own_tokenizer()

    counter = TokenizerCounter("toy", make)
    assert [ready(counter) for _ in range(3)] == [ESTIMATE, ESTIMATE, counter]
    assert counter.whole("a plain sentence") == 3


def test_an_erase_lets_go_of_counted_words(tmp_path: Path) -> None:
    chosen = Models(embedder="minilm", extractor="none", judge="none")
    with Memory(tmp_path, models=chosen) as store:
        store.own()
        store.workers("pause")
        fact = store.remember(f"Boats of {SECRET}.").items[0].id
        assert SECRET in store.context("boats").text
        link = store._link
        assert isinstance(link, Link) and link._store is not None
        counter = link._store.engine.counter
        assert isinstance(counter, TokenizerCounter)
        assert any(SECRET in word for word in counter._known or ())
        store.erase(fact)
        assert not any(SECRET in word for word in counter._known or ())


@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_without_a_tokenizer_here_tokens_are_estimated(embedder: str) -> None:
    assert Models(embedder=embedder).make_token_counter() is ESTIMATE  # type: ignore[arg-type]
    assert Models(token_counter="estimate").make_token_counter() is ESTIMATE


def test_a_tokenizer_that_cannot_cut_a_text_leaves_it_to_the_estimate() -> None:
    no_words = Tokenizer(models.WordLevel({}, unk_token="[UNK]"))
    assert ready(TokenizerCounter("none", lambda: no_words)) is ESTIMATE


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path: Path, bpe: Path) -> None:
    wrong = tmp_path / "tokenizer.json"
    wrong.write_text('{"version": 5}')
    panicking = tmp_path / "panicking.json"
    written = json.loads(bpe.read_text())
    written["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": "AAAA"}
    panicking.write_text(json.dumps(written))
    for path in (wrong, panicking, tmp_path / "gone.json"):
        with pytest.raises(InvalidInput) as caught:
            Models.from_environment({"REWOUND_TOKEN_COUNTER": str(path)})
        assert caught.value.field == "REWOUND_TOKEN_COUNTER"
    chosen = Models.from_environment({"REWOUND_TOKEN_COUNTER": str(bpe)})
    assert chosen.make_token_counter().name.startswith("tokenizer.json/")
