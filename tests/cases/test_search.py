"""R23, R25 and R26: any text is a question, words without spaces, conditions before the cut."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from rewound.projections import repeats
from rewound.projections.tokens import tokenize
from tests.cases.given import Cli, Clock, texts

# What is asked, and a text that holds it; None where there is nothing in it to be found by.
QUESTIONS: dict[str, str | None] = {
    "multi-agent": "The multi-agent run failed.",
    "don't": "Please don't ring the bell.",
    "src/main.py": "The bug is in src/main.py, near the top.",
    '"': None,
    '"unbalanced': "An unbalanced quote.",
    "C++": "The parser is written in C++ and some glue.",
    "a:b": "The ratio a:b is two.",
    "(": None,
    "*": None,
    "NEAR(": "We sat near the stove.",
    "AND": "Salt and pepper.",
    "-foo": "The flag -foo turns it on.",
    "col:x": "Set col:x before the import.",
    "{a b}": "The set {a b} has two members.",
    r"C:\tmp\x": r"The dump lies in C:\tmp\x on the old machine.",
    # Neighbours of ours.
    "NOT OR": "It is not this or that.",
    "^start": "The anchor ^start begins a line.",
    "50%": "The tank is at 50% today.",
    "under_score": "The variable under_score is unused.",
    "mail@example.org": "Write to mail@example.org instead.",
    "#42": "See issue #42 for the reason.",
    "'; DROP TABLE facts; --": "A joke about DROP TABLE facts.",
    "\N{FULLWIDTH LATIN CAPITAL LETTER A}BC": "The ABC of cooking.",
    "naïve": "A naïve approach.",
}
NAMES = ["a-b", str(uuid.UUID(int=0x0123456789ABCDEF)), "main", "a:b/c*", "s p", "данные", "NOT"]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory(tmp_path_factory.mktemp("r23") / "store", clock=Clock()) as memory:
        for name in NAMES:
            memory.container(name).remember([text for text in QUESTIONS.values() if text])
        yield memory


@pytest.mark.parametrize("name", NAMES)
def test_r23_any_characters_are_a_question(filled: Memory, name: str) -> None:
    here = filled.container(name)
    for question, text in QUESTIONS.items():
        found = here.search(question, limit=50)
        if text is not None:
            assert text in texts(found), question
            # Within another sentence, and in the pack for a model, it is found too.
            assert text in texts(here.search(f"what about {question} then", limit=50)), question
            assert here.context(question).lines, question
    for blank in ("  ", "", "\n\t"):
        with pytest.raises(InvalidInput) as refused:
            here.search(blank)
        assert refused.value.field == "query"
    assert here.search("x" * 10_000).hits == ()
    assert texts(here.search("bell " * 2_000)) == ["Please don't ring the bell."]


def test_r23_beyond_the_limit_of_a_question_is_told(filled: Memory) -> None:
    with pytest.raises(InvalidInput) as refused:
        filled.container("main").search("x" * 40_000)
    assert refused.value.field == "query" and "32,000" in refused.value.message


@pytest.mark.parametrize("name", ["a-b", "-foo", str(uuid.UUID(int=7)), 'he said "no"'])
def test_r23_on_the_command_line(cli: Cli, name: str) -> None:
    cli.run(f"--container={name}", "remember", "--", "-foo is in src/main.py, don't (ever) move it")
    for question in ("-foo", "src/main.py", "don't", "(ever)", '"', "*", "NEAR("):
        found = cli.told(f"--container={name}", "search", "--", question)
        if any(character.isalpha() for character in question) and question != "NEAR(":
            assert len(found["hits"]) == 1, question
    cli.run(f"--container={name}", "search", "  ", code=2)


# --- R25

UNSPACED = {
    "明日は陶芸教室に行く予定です": ["陶芸", "教室", "Kai 陶芸"],
    "她最近在学打羽毛球和书法": ["羽毛球", "书法", "Kai 书法", "书法吗?"],
    "주말마다 등산모임에 나간다": ["등산", "모임", "등산 모임"],
    "ผมแพ้กุ้งมาก": ["กุ้ง", "แพ้กุ้ง"],
    # Neighbours: Lao, Khmer, Burmese, kana, old Han beyond the basic plane, mixed with letters.
    "ຂ້ອຍມັກກິນເຂົ້າ": ["ເຂົ້າ"],
    "ខ្ញុំចូលចិត្តអានសៀវភៅ": ["សៀវភៅ"],
    "ကျွန်တော်စာအုပ်ဖတ်တယ်": ["စာအုပ်"],
    "コーヒーよりカプチーノが好きだった": ["カプチーノ"],
    "𠮷野家で牛丼を食べた": ["𠮷野家", "牛丼"],
    "新しいiPhoneを買った": ["iPhone", "iphone 買った"],
}


@pytest.mark.parametrize("door", ["remember", "message", "document"])
def test_r25_words_inside_texts_without_spaces_are_found(memory: Memory, door: str) -> None:
    for text in [*UNSPACED, "The weather was fine.", "Kai went home."]:
        if door == "remember":
            memory.remember(text)
        elif door == "message":
            memory.add_messages([{"content": text}], conversation=text)
        else:
            memory.ingest(text)
    for text, questions in UNSPACED.items():
        for question in questions:
            found = texts(memory.search(question))
            if "Kai" in question:
                assert text in found, question
            else:
                assert found[0] == text, (question, found)
    assert texts(memory.search("金属")) == []


def test_r25_words_of_other_scripts_are_not_torn(memory: Memory) -> None:
    memory.remember(
        ["Привет из Москвы", "καλημέρα κόσμε", "שלום עולם", "مرحبا بالعالم", "नमस्ते दुनिया"]
    )
    words = {
        "москвы": "Привет из Москвы",
        "ΚΑΛΗΜΈΡΑ": "καλημέρα κόσμε",
        "עולם": "שלום עולם",
        "مرحبا": "مرحبا بالعالم",
        "दुनिया": "नमस्ते दुनिया",
    }
    memory.remember(list(words.values()))
    for question, text in words.items():
        assert texts(memory.search(question)) == [text], question


def test_r25_on_the_command_line(cli: Cli) -> None:
    for text in UNSPACED:
        cli.run("remember", text)
    for question, text in {
        "书法": "她最近在学打羽毛球和书法",
        "등산": "주말마다 등산모임에 나간다",
    }.items():
        assert [hit["text"] for hit in cli.told("search", question)["hits"]] == [text]


# --- R26

OPS = "Payment service root password rotated"


@pytest.fixture(scope="module")
def standups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """500 notes that fit the question better than the one that passes the filter."""
    with Memory(tmp_path_factory.mktemp("r26") / "store", clock=Clock()) as memory:
        notes = [
            {
                "text": f"Weekly standup about the payment service, item {number}",
                "said_at": f"2025-03-{number % 28 + 1:02}",
                "tags": ["weekly", f"n{number % 100}"],
                "metadata": {"n": number % 100},
            }
            for number in range(500)
        ]
        memory.remember([*notes[:250], {
            "text": OPS, "said_at": "2025-01-02", "tags": ["ops"], "kind": "procedure",
            "metadata": {"team": "ops"},
        }, *notes[250:]])  # fmt: skip
        memory.add_messages([{"content": f"{OPS}, said Ana", "time": "2025-01-02T09:00:00Z"}])
        yield memory


QUERY = "standup payment service"


def test_r26_conditions_are_met_before_the_best_are_cut(standups: Memory) -> None:
    days = {"since": "2025-01-01", "until": "2025-01-03"}
    narrow: list[dict[str, Any]] = [
        {"tags": "ops"}, {"kinds": "procedure"}, {"metadata": {"team": "ops"}},
        {"tags": "ops", **days}, {"what": "fact", **days},
    ]  # fmt: skip
    for which in narrow:
        for limit in (5, 1):
            found = standups.search(QUERY, limit=limit, **which)
            assert texts(found) == [OPS], which
    assert OPS in texts(standups.search(QUERY, limit=5, since="2025-01-01", until="2025-01-03"))
    assert texts(standups.search(QUERY, limit=1, what="message")) == [f"{OPS}, said Ana"]
    assert texts(standups.search(QUERY, limit=3, source="default")) == [f"{OPS}, said Ana"]


@pytest.mark.parametrize("limit", [1, 4, 5])
def test_r26_as_many_as_asked_for_come_back(standups: Memory, limit: int) -> None:
    """Five notes each carry a number; a hit stands for its near-duplicates, which it names."""
    for number in (0, 37, 99):
        narrow: list[dict[str, Any]] = [{"tags": f"n{number}"}, {"metadata": {"n": number}}]
        for which in narrow:
            found = standups.search(QUERY, limit=limit, **which)
            assert len(found.hits) == limit, which
            assert all(f"n{number}" in hit.tags for hit in found.hits)


def test_r26_near_duplicates_do_not_fill_the_limit(
    standups: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are all compared with all: each of 500 texts of equal score is read once a try."""
    read: list[str] = []

    def counting(text: str) -> list[str]:
        read.append(text)
        return tokenize(text)

    monkeypatch.setattr(repeats, "tokenize", counting)
    assert len(standups.search(QUERY, limit=300).hits) == 300
    assert len(read) <= 3 * 500


def test_r26_moments_are_conditions_too(standups: Memory) -> None:
    assert texts(standups.search(QUERY, limit=1, valid_at="2025-01-15")) == [OPS]
    position = standups.search(QUERY, limit=1, tags="ops").hits[0]
    event = standups.get(position.id).item.event
    assert event is not None
    then = standups.as_of(event)
    assert texts(then.search(QUERY, limit=1, tags="ops")) == [OPS]
    assert len(then.search(QUERY, limit=200, tags="weekly").hits) == 200
