"""More faults of the kinds R07, R17, R22 and R26, as a reader of conversations and contexts meets
them: short answers, long ones, budgets, what is forgotten or over, times in a question."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.replies import Packed
from tests.cases.asking import (
    MEANING,
    WORDS,
    Shelf,
    assistant,
    settled,
    shelf,
    shown,
    user,
)
from tests.cases.doors import Json, Shop, open_shop
from tests.cases.given import Cli, texts
from tests.http.serving import Api


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield from shelf(tmp_path_factory.mktemp("meaning"), MEANING)


@pytest.fixture(scope="module")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield from shelf(tmp_path_factory.mktemp("words"), WORDS)


# --- a long conversation

CHATTER = (
    "We walked along the river and saw two herons.", "The bus was late again this morning.",
    "I finished the report about tiles.", "The soup needs more salt, I think.",
    "Did you see the game last night?", "The printer jammed twice.",
    "My neighbour plays the trumpet.", "It rained all afternoon.",
    "The new chairs arrived.", "Let's talk about the garden later.",
)  # fmt: skip
ANSWERED = {
    "what is the name of the dog?": ("What is the name of your new dog?", "Biscuit."),
    "gate code for the plumber": ("Which gate code should I give the plumber?", "4417"),
    "window or aisle seat": ("Do you want the window seat or the aisle seat?", "Aisle, please."),
    "is the piano tuned?": ("Has the piano been tuned?", "Yes, on Monday."),
}


@pytest.fixture(scope="module")
def long_talk(here: Shelf) -> Memory:
    said = [
        (user if number % 2 else assistant)(
            f"{CHATTER[number % 10]} ({number})",
            f"2026-03-{number // 10 + 1:02}T10:{number % 60:02}:00Z",
        )
        for number in range(120)
    ]
    for place, (question, answer) in zip((40, 60, 80, 100), ANSWERED.values(), strict=True):
        said[place] = said[place] | {"content": question}
        said[place + 1] = said[place + 1] | {"content": answer}
    return here.talk(*said)


@pytest.mark.parametrize(("query", "said"), ANSWERED.items())
def test_r26_a_short_answer_is_found_by_the_question_before_it(
    long_talk: Memory, query: str, said: tuple[str, str]
) -> None:
    found = long_talk.search(query, limit=25)
    assert set(said) <= set(texts(found)), shown(found)
    for budget in (400, 1_200):
        assert f": {said[1]} (" in long_talk.context(query, budget=budget).text, budget


TIPS = "Budget planning for travel is important. " + " ".join(
    f"Tip {number}: a travel budget holds flights, hotels, meals and the budget for museums."
    for number in range(14)
)


def test_r26_an_assistants_long_answer_does_not_crowd_out_what_was_said(here: Shelf) -> None:
    memory = here.talk(
        user("My travel budget for Portugal is 850 euros.", "2026-03-01T10:00:00Z", "Nina"),
        assistant(TIPS, "2026-03-01T10:01:00Z"),
        user("Thanks, that helps.", "2026-03-01T10:02:00Z", "Nina"),
        assistant(f"You're welcome! {TIPS}", "2026-03-01T10:03:00Z"),
    )
    for query in ("what is Nina's travel budget?", "travel budget for Portugal", "travel budget"):
        found = memory.search(query)
        assert "850" in found.hits[0].text, shown(found)
        for budget in (60, 100, 1_200):  # the answer's line has 52 tokens
            lines = memory.context(query, budget=budget).lines
            assert "850" in lines[0].text, (query, budget)


WAYS = {"Ana": "tram", "Ben": "bike", "Caro": "scooter"}


def test_r26_a_speaker_named_in_the_question_is_who_is_meant(here: Shelf) -> None:
    memory = here.talk(
        *(
            user(f"I always take the {way} to work.", f"2026-03-01T10:0{number}:00Z", name)
            for number, (name, way) in enumerate(WAYS.items())
        ),
        user("Ben rides too fast.", "2026-03-01T10:05:00Z", "Ana"),
        user("Ana's tram was late.", "2026-03-01T10:06:00Z", "Ben"),
    )
    for name, way in WAYS.items():
        for query in (f"how does {name} get to work", f"{name}'s way to work", f"{name} work"):
            found = memory.search(query)
            assert way in found.hits[0].text and name in found.hits[0].text, shown(found)
        lower = memory.search(f"how does {name} get to work".lower())
        assert lower.hits[0].text == memory.search(f"how does {name} get to work").hits[0].text
    # Of whom somebody spoke is found as well, though not always first.
    assert "Ana's tram was late" in texts(memory.search("what did Ben say about Ana"))


FULL = {
    "Élodie Martin": ("Élodie", "Martin", "Élodie Martin", "élodie"),
    "Dr. Bo Li": ("Bo", "Li", "Bo Li", "bo li"),
    "van Dijk, Anna": ("Anna", "Dijk", "anna"),
    "Ana": ("Ana", "ana"),
}


def test_r26_a_speaker_is_known_by_a_word_of_the_name(here: Shelf) -> None:
    memory = here.talk(
        *(
            user(f"Number {number} is what I take.", f"2026-03-01T10:0{number}:00Z", name)
            for number, name in enumerate(FULL)
        )
    )

    def named(query: str) -> tuple[str, ...]:
        ranking = memory.search(query, explain=True).ranking
        assert ranking is not None
        return ranking.understood.speakers

    for number, (name, called) in enumerate(FULL.items()):
        for word in called:
            asks = f"what does {word} take" if word == word.lower() else f"What does {word} take?"
            assert named(asks), (name, word)
            found = memory.search(asks)
            assert f"Number {number} is" in found.hits[0].text, shown(found)
    assert named("What does Bo Li take?") == named("what does bo li take") == ("bo", "li")
    for other in ("What does Dr take?", "what does it take", "What does Annabel take?"):
        assert named(other) == (), other


def test_r26_of_two_with_one_first_name_the_full_name_means_one(here: Shelf) -> None:
    memory = here.talk(
        user("I take the tram.", "2026-03-01T10:00:00Z", "Nina Moss"),
        user("I take the bus.", "2026-03-01T10:01:00Z", "Nina Kowalski"),
    )
    ranking = memory.search("What does Nina Moss take?", explain=True).ranking
    assert ranking is not None and ranking.understood.speakers == ("nina moss",)
    assert "tram" in memory.search("What does Nina Moss take?").hits[0].text
    assert "bus" in memory.search("What does Nina Kowalski take?").hits[0].text


# --- R26: the very words


def _notes(*texts: str) -> tuple[Json, ...]:
    return tuple(user(text, f"2026-03-01T10:0{number}:00Z") for number, text in enumerate(texts))


KITES = (
    "A mill, red and old; the kite flew.", "The red kite flew over the old mill.",
    "The old red mill has a kite on the roof.",
)  # fmt: skip


@pytest.mark.parametrize(
    "query", ['"red kite"', "“Red kite”", 'mill and "red kite"', "who saw the „red kite“?"]
)
def test_r26_what_stands_in_quotes_is_first_as_it_stands(here: Shelf, query: str) -> None:
    found = here.talk(*_notes(*KITES)).search(query)
    assert found.hits[0].text.rstrip(".") == KITES[1].rstrip("."), shown(found)


def test_r26_words_that_the_next_message_holds_put_it_first(here: Shelf) -> None:
    said = ("Where is the key?", "I don't know where it is.", "Found it: under the blue pot.")
    found = here.talk(*_notes(*said)).search("blue pot")
    assert found.hits[0].text == said[2], shown(found)


# --- what falls short today


class Short(NamedTuple):
    """What was said, a question, the words of its answer, and what finds it better."""

    said: tuple[Json, ...]
    query: str
    answer: str
    otherwise: str


NOT_FIRST = {
    "an answer that came later": Short(
        _notes(
            "Where did I put the spare key?", "I don't know where your spare key is.",
            "Found it: under the blue pot.",
        ),
        "where is the spare key", "blue pot", "under the blue pot",
    ),
    "what happened in the time asked for": Short(
        (
            user("The dentist pulled one of my teeth.", "2024-03-02T10:00:00Z"),
            user("The dentist polished my teeth.", "2025-03-05T10:00:00Z"),
            user("The dentist took an X-ray of my jaw.", "2026-05-30T10:00:00Z"),
        ),
        "what did the dentist do last week", "X-ray", "X-ray of my jaw",
    ),
    "a sign of no meaning": Short(
        _notes("ผมแพ้กุ้งมาก", "Thumbs 👍🏽 from Tom."), "👍🏿", "Tom", "thumbs from Tom",
    ),
}  # fmt: skip


@pytest.mark.parametrize("given", NOT_FIRST.values(), ids=NOT_FIRST.keys())
def test_r26_what_is_not_first_is_there_all_the_same(here: Shelf, given: Short) -> None:
    memory = here.talk(*given.said)
    found = memory.search(given.query)
    assert any(given.answer in text for text in texts(found)[:5]), shown(found)
    assert given.answer in memory.context(given.query).text
    assert any(given.answer in text for text in texts(memory.search(given.otherwise))[:2])


# --- the part that answers

PAD = [
    f"Paragraph {n} tells of the orchard, its trees and the weather of that season."
    for n in range(60)
]
ITEMS = [f"blue item {number}" for number in range(200)]
ENGLISH = "Bruno charges 45 euros for pruning."
HIDDEN: dict[str, tuple[str, str, str]] = {
    "at the end": (" ".join([*PAD, ENGLISH]), "what does Bruno charge", "45 euros"),
    "inside": (" ".join([*PAD[:30], ENGLISH, *PAD[30:]]), "what does Bruno charge", "45 euros"),
    "lines": ("\n".join([*PAD[:40], "- wifi: osprey-7", *PAD[40:]]), "wifi", "osprey-7"),
    "a table": (
        "\n".join(f"| {'gasket' if n == 211 else f'part {n}'} | {n * 7} |" for n in range(300)),
        "gasket", "| gasket | 1477 |",
    ),
    "code": (
        "\n".join([*(f"def f{n}(x): return x + {n}" for n in range(200)), "def unlock(door): ..."]),
        "unlock door", "def unlock(door)",
    ),
    "no full stop": (
        " ".join([*ITEMS, "the antenna stands in the attic", *ITEMS]),
        "antenna", "stands in the attic",
    ),
    "Japanese": (
        "今日は天気がよかった。" * 60 + "鍵は青い箱の中です。" + "明日も散歩に行きます。" * 60,
        "鍵 青い箱", "青い箱の中",
    ),
    "Chinese without stops": (
        "今天天气很好" * 60 + "钥匙在蓝色的盒子里" + "明天也去散步" * 60, "钥匙", "蓝色的盒子",
    ),
    "Russian": (
        "Сегодня мы гуляли в саду. " * 60 + "Ключ лежит под горшком. " + "Завтра мы гуляем. " * 60,
        "ключ", "под горшком",
    ),
    "Thai": ("วันนี้อากาศดี " * 80 + "ผมแพ้กุ้งมาก " + "พรุ่งนี้ไปเดิน " * 80, "กุ้ง", "แพ้กุ้ง"),
}  # fmt: skip


@pytest.mark.parametrize("how", ["message", "document", "fact"])
@pytest.mark.parametrize("given", HIDDEN.values(), ids=HIDDEN.keys())
def test_r17_a_context_shows_the_part_that_answers(
    by_words: Shelf, given: tuple[str, str, str], how: str
) -> None:
    text, query, answer = given
    memory = kept(by_words, how, text)
    for budget in (120, 200, 1_200):
        packed = memory.context(query, budget=budget)
        assert answer in packed.text, (budget, packed.text)
        within(packed)


def kept(shelf: Shelf, how: str, text: str) -> Memory:
    memory = shelf.empty()
    if how == "message":
        memory.add_messages([user(text)])
    elif how == "document":
        memory.ingest(text, title="Notes")
    else:
        memory.remember(text)
    return settled(memory)


def within(packed: Packed) -> None:
    """A context keeps to its budget, counted anew: four bytes are a token in any script."""
    assert packed.text == "\n".join(line.text for line in packed.lines)
    assert sum(line.tokens for line in packed.lines) == packed.tokens <= packed.budget
    assert len(packed.text.encode()) <= 4 * packed.budget
    assert all("\n" not in line.text and line.id in line.text for line in packed.lines)


@pytest.mark.parametrize("budget", [1, 10, 25, 40, 61, 99, 150, 400, 1_200, 5_000])
def test_r26_a_budget_is_never_exceeded(here: Shelf, budget: int) -> None:
    every = here.facts([text[:900] for text, _, _ in HIDDEN.values()] + ["🎉" * 300, "é" * 500])
    for _, query, _ in HIDDEN.values():
        packed = every.context(query, budget=budget, nearest=True)
        within(packed)
        if not packed.lines:
            assert "did not fit into the budget" in packed.notes[-1]


# --- what is forgotten

SECRET = "My locker PIN is 7391-QUOKKA."
AROUND = f"The bike is red. {SECRET} The shed is green. " + " ".join(PAD[:12])
ASKED = (
    "locker PIN",
    "QUOKKA",
    "7391-QUOKKA",
    "what is the code of my locker",
    "bike shed orchard",
)

FORGETTING: dict[str, Callable[[Memory], Any]] = {
    "the fact": lambda m: m.forget(_with(m, "fact")),
    "the item": lambda m: m.forget([*_with(m, "message"), *_with(m, "document")]),
    "by a question": lambda m: m.forget(query="locker PIN", limit=3),
    "erased": lambda m: m.erase([*_with(m, "fact"), *_with(m, "message"), *_with(m, "document")]),
}


def _with(memory: Memory, what: Any) -> list[str]:
    return [view.id for view in memory.list(what).items if "QUOKKA" in view.text]


@pytest.mark.parametrize("how", ["message", "document"])
@pytest.mark.parametrize("forget", FORGETTING.values(), ids=FORGETTING.keys())
def test_r22_what_is_forgotten_is_in_no_part_of_a_context(
    here: Shelf, forget: Callable[[Memory], Any], how: str
) -> None:
    memory = kept(here, how, AROUND)
    before = memory.stats().events
    assert "QUOKKA" in memory.context("locker PIN").text
    forget(memory)
    settled(memory)
    for query in ASKED:
        for then in (memory, memory.as_of(f"@{before}")):
            for budget in (60, 120, 1_200):
                assert "QUOKKA" not in then.context(query, budget=budget).text.replace(query, "")
            hits = then.search(query, limit=50, explain=True).hits
            assert "QUOKKA" not in json.dumps([repr(hit) for hit in hits]), query
    if forget is FORGETTING["the fact"]:
        assert "bike is red" in memory.context("bike").text, "what is not forgotten is there"


# --- what is over


def test_r07_only_the_current_wording_answers_a_plain_question(here: Shelf) -> None:
    memory = here.empty()
    first = fact = memory.remember("Ines lives in Rome.", said_at="2020-01-01").items[0].id
    for year, town in ((2021, "Oslo"), (2022, "Lima"), (2023, "Bern")):
        assert fact is not None
        fact = memory.update(fact, f"Ines lives in {town}.", said_at=f"{year}-01-01").items[0].id
    settled(memory)
    for query in ("where does Ines live", "Ines Rome", "Ines lives in Rome.", "Oslo"):
        assert texts(memory.search(query)) == ["Ines lives in Bern."], query
        assert "Bern" in memory.context(query).text and "Rome" not in memory.context(query).text
    every = memory.search("where does Ines live", include_superseded=True)
    assert sorted(texts(every)) == sorted(
        f"Ines lives in {t}." for t in ("Rome", "Oslo", "Lima", "Bern")
    )
    current = [hit.text for hit in every.hits if hit.standing.state == "current"]
    assert current == ["Ines lives in Bern."]
    assert texts(memory.search("where did Ines live in 2021")) == ["Ines lives in Oslo."]
    assert texts(memory.search("where does Ines live", valid_at="2020-06-01")) == [
        "Ines lives in Rome."
    ]
    assert first is not None and memory.get(first).item.current == fact


def test_r07_words_that_are_over_are_told_as_such(here: Shelf) -> None:
    """The message stays, since it was said; neither search nor context gives it as the present."""
    memory = here.talk(user("I live in Rome.", "2026-01-01T10:00:00Z", "Tom"))
    (fact,) = memory.list().items
    memory.update(fact.id, "Tom lives in Oslo.", said_at="2026-03-01")
    settled(memory)
    for query in ("where does Tom live", "I live in Rome."):
        stands = {hit.text: hit.standing.state for hit in memory.search(query).hits}
        assert stands == {"Tom lives in Oslo.": "current", "I live in Rome.": "superseded"}
        lines = memory.context(query).lines
        for line in lines:
            over = line.text.startswith("- [2026-01-01, superseded] Tom: I live in Rome.")
            assert over == ("Rome" in line.text), line
    assert "Tom lives in Oslo." in memory.context("where does Tom live").lines[0].text


_BUDGET = "The budget of Atlas is {} euros."
FORMERLY = {
    "What was the previous budget of Atlas?": "previous",
    "What did the budget of Atlas use to be?": "use to",
    "How has the budget of Atlas changed?": "changed",
    "What was the budget of Atlas before?": "before",
    "What was the budget of Atlas originally?": "originally",
    "changes in the budget of Atlas": "changes in",
    "What is no longer the budget of Atlas?": "no longer",
    "It is 55,000. Formerly, what was the budget of Atlas?": "Formerly",
    "WHAT USED TO BE THE BUDGET OF ATLAS": "USED TO",
}
PLAIN = (
    "What is the budget of Atlas?",
    "Who has to get used to the budget of Atlas?",
    "Are there any more budgets of Atlas?",
    "What did you say of the budget of Atlas in the previous conversation?",
    "What is the budget of Atlas for a bridge no longer than 3 km?",
    "What is the budget of Atlas at first glance?",
    "Is Atlas used to the budget?",
    "Did Atlas get the budget before lunch?",
    "Is the budget of Atlas in my book on the history of Rome?",
    "Does Atlas have any more budget?",
    "Did Atlas bring change for the budget?",
    'Is the budget of Atlas in "No Longer Human"?',
    "What is the budget of Atlas for the film Previously in Riga?",
)


def test_r07_what_was_so_before_comes_where_the_question_asks_for_it(here: Shelf) -> None:
    """As history, with its date, in searches, contexts and answers; else only what holds."""
    memory = here.empty()
    fact = memory.remember(_BUDGET.format("30,000"), said_at="2025-12-01").items[0].id
    assert fact is not None
    held = memory.update(fact, _BUDGET.format("45,000"), corrects=True).items[0].id
    assert held is not None
    memory.update(held, _BUDGET.format("55,000"), said_at="2026-06-01")
    settled(memory)
    past, now = _BUDGET.format("45,000"), _BUDGET.format("55,000")
    for query, words in FORMERLY.items():
        found = memory.search(query)
        stands = {hit.text: hit.standing.state for hit in found.hits}
        assert stands == {past: "superseded", now: "current"}, query  # the first one never held
        assert found.moment.window_words == words and found.moment.window is not None
        lines = [line.text.partition(" (")[0] for line in memory.context(query).lines]
        assert f"- [2025-12-01 to 2026-06-01, superseded] {past}" in lines, query
        assert memory.explain(query, id=held).fate.found
        told = {each.text: each.state for each in memory.ask(query).given}
        assert told == {past: "superseded", now: None}, query
        unread = memory.call(q.Context(query=query, read_times=False, container=found.container))
        assert isinstance(unread, Packed) and "45,000" not in unread.text
    for query in PLAIN:
        found = memory.search(query)
        assert texts(found) == [now] and found.moment.window is None, query
        assert "45,000" not in memory.context(query).text


def test_r07_a_fact_whose_time_is_over_is_told_with_its_end(here: Shelf) -> None:
    memory = here.empty()
    memory.remember("Ann lives in Rome.", valid_from="2020-02-01", valid_to="2023-03-01")
    memory.remember("Ann lives in Oslo.", valid_from="2023-03-01")
    settled(memory)
    for query in ("Where did Ann live in 2021?", "Where did Ann live before?"):
        lines = [line.text.partition(" (")[0] for line in memory.context(query).lines]
        assert "- [2020-02-01 to 2023-03-01, ended] Ann lives in Rome." in lines, lines
    assert "Rome" not in memory.context("Where does Ann live?").text


# --- times in a question

TIMED = {
    "whose birthday is on 3 March": "Mum's birthday is on 3 March.",
    "what is on Tuesday": "The review is on Tuesday.",
    "is the pool open on Sunday": "The pool is not open on Sunday.",
    "what is on 5 July": "The sale is on 5 July.",
    "May": "May Holt repairs clocks.",
}


def test_r26_a_fact_that_names_the_time_of_the_question_is_found(here: Shelf) -> None:
    """It says so of all such days, though it began to hold after the one that was read; the reply
    tells the words that were read as a time, and they can be left unread."""
    memory = here.facts(tuple(TIMED.values()))
    for query, answer in TIMED.items():
        found = memory.search(query)
        assert found.hits[0].text == answer, shown(found)
        assert found.moment.window_words is None or found.moment.window_words in query
        plain = memory.call(q.Search(container=found.container, query=query, read_times=False))
        assert isinstance(plain, r.Found) and plain.moment.window is None
        assert plain.hits[0].text == answer, shown(plain)
        for read_times in (True, False):
            asked = q.Context(container=found.container, query=query, read_times=read_times)
            packed = memory.call(asked)
            assert isinstance(packed, Packed) and answer in packed.lines[0].text


def test_r26_other_words_near_a_time_do_not_let_a_fact_past_it(here: Shelf) -> None:
    """Only what names the time itself stays; what is over is not let in by naming it."""
    memory = here.facts(("The pool is not open on Sunday.", "The pool is open until ten."))
    found = memory.search("is the pool open on Sunday")
    assert found.moment.window_words is not None
    assert texts(found) == ["The pool is not open on Sunday."]
    (fact,) = (hit.id for hit in found.hits)
    memory.update(fact, "The pool is open all week.")
    assert texts(memory.search("is the pool open on Sunday")) == []


def test_r26_a_time_that_is_given_is_held_to(here: Shelf) -> None:
    memory = here.empty()
    work = {
        "2024-03-02": "pulled a tooth",
        "2025-03-05": "polished my teeth",
        "2026-05-30": "took an X-ray",
    }
    memory.remember(
        [
            {"text": f"The dentist {what}.", "said_at": day, "kind": "episode"}
            for day, what in work.items()
        ]
    )
    settled(memory)
    asked: dict[tuple[str, str], str] = {
        ("2024-01-01", "2024-12-31"): "pulled", ("2025-03-05", "2025-03-05"): "polished",
        ("2026-05-01", "2026-06-01"): "X-ray",
    }  # fmt: skip
    for (since, until), what in asked.items():
        (only,) = texts(memory.search("what did the dentist do", since=since, until=until))
        assert what in only
        (line,) = memory.context("what did the dentist do", since=since, until=until).lines
        assert what in line.text
    assert memory.search("what did the dentist do in 1990").hits == ()
    assert "“in 1990” was read as a time" in memory.search("dentist in 1990").notes[-1]


# --- the same in every process and through every door

QUERIES = ("who pays the rent", "Raum 七", "zxqw")


def test_r26_every_process_gives_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWOUND_EMBEDDER", MEANING)
    with contextmanager(shelf)(tmp_path, MEANING) as told:
        memory = told.store.container("same")
        memory.remember(
            [f"{name} pays the rent of room {n % 7}." for n, name in enumerate("ABCDEFGHIJ" * 4)]
        )
        memory.add_messages(
            [user("Who pays the rent?"), assistant("Ask J."), user("Raum 七 kostet 七.")]
        )
        settled(memory)
        expected = {query: json.loads(_json(memory.search(query, limit=50))) for query in QUERIES}
        packed = json.loads(_json(memory.context(QUERIES[0])))
        assert memory.rebuild().equal
        for query, found in expected.items():
            assert json.loads(_json(memory.search(query, limit=50)))["hits"] == found["hits"]
    cli = Cli(tmp_path / "store")
    for seed, query in enumerate(QUERIES[:2]):
        monkeypatch.setenv("PYTHONHASHSEED", str(seed))
        code, out, _ = cli.process("-c", "same", "--json", "search", "--limit", "50", query)
        assert code == 0 and json.loads(out)["hits"] == expected[query]["hits"]
    code, out, _ = cli.process("-c", "same", "--json", "context", QUERIES[0])
    assert code == 0 and json.loads(out)["text"] == packed["text"]


def _json(reply: Any) -> bytes:
    return msgspec.json.encode(reply)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with open_shop(tmp_path_factory.mktemp("doors"), REWOUND_EMBEDDER="none") as shop:
        memory = shop.memory.container("packed")
        for name, (text, _, _) in HIDDEN.items():
            memory.ingest(text, id=name)
        yield shop


@pytest.mark.parametrize("budget", [60, 200, 1_200])
def test_r17_a_context_is_the_same_through_every_door(shop: Shop, budget: int) -> None:
    memory, cli = shop.memory.container("packed"), Cli(shop.served.data)
    api = Api(shop.client, "packed")
    for _, query, _ in HIDDEN.values():
        packed = memory.context(query, budget=budget)
        within(packed)
        through = api.ask("/v1/context", r.Packed, query=query, budget=budget)
        assert through.text == packed.text and through.tokens == packed.tokens
        args = ("-c", "packed", "context", "--budget", str(budget), "--", query)
        assert cli.told(*args)["text"] == packed.text
