"""R16, R23, R25, R26, R28, R29, R31, R40 and R46 through the tools of an agent.

Most are asked of the table of tools, as every transport asks it. What a line on standard input can
do of its own is asked of a process. (R17, R43, R44 and R47: test_mcp_load.py. R32 and R34:
tests/mcp/.)
"""

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rewound.http.mcp_calls import called
from rewound.memory import Memory
from tests.cases.doors import Agent, Json, only
from tests.cases.given import at_once, gapless
from tests.mcp.driving import Raw, raw, stdio, tool_call

CLIENTS = 20
TIME = "2026-03-01T10:00:00Z"


class Place:
    """A store, and the tools in each of its containers."""

    def __init__(self, data: Path) -> None:
        self.memory = Memory(data, "s")

    def within(self, container: str) -> Agent:
        return Agent(partial(called, self.memory.link, container))

    def whole(self) -> bool:
        return self.memory.rebuild().equal and self.memory.verify().ok


@pytest.fixture
def place(data: Path) -> Iterator[Place]:
    opened = Place(data)
    yield opened
    opened.memory.close()


@pytest.fixture
def agent(place: Place) -> Agent:
    return place.within("s")


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A store that tests only read from, once they filled a container of their own."""
    opened = Place(tmp_path_factory.mktemp("shelf") / "store")
    yield opened
    opened.memory.close()


# --- R16

BIKE = "My bike is orange.\nIt stands in the yard."
FORMS: dict[str, Callable[[str], tuple[str, Json]]] = {
    "remember": lambda text: ("remember", {"text": text, "said_at": TIME}),
    "add_conversation": lambda text: (
        "add_conversation",
        {"messages": [{"content": text, "name": "Tom"}], "infer": False},
    ),
}
EACH_FORM = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


@EACH_FORM
def test_r16_the_same_from_many_clients_is_one(
    place: Place, agent: Agent, form: Callable[[str], tuple[str, Json]]
) -> None:
    name, arguments = form(BIKE)
    replies = at_once([partial(agent.call, name, **arguments)] * CLIENTS)
    items = [only(reply["items"]) for reply in replies]
    assert len({item["id"] for item in items}) == 1
    assert [item["status"] for item in items].count("written") == 1
    _, twin = form(BIKE.replace("\n", "\r\n") + "\r\n\r\n")
    again = only(agent.call(name, **twin)["items"])
    assert (again["status"], again["id"]) == ("seen again", items[0]["id"])
    assert len(agent.views()) == 1 and len(agent.views(what="message")) <= 1
    assert gapless(place.memory) and place.whole()


@pytest.mark.slow
def test_r16_what_a_killed_server_was_told_is_there_once(data: Path) -> None:
    """The client saw no answer, starts the server anew and sends all again."""
    calls = [form(BIKE) for form in FORMS.values()]
    with raw(stdio(data)) as server:
        server.open()
        answer = server.ask(tool_call(0, *calls[0]))  # the store is open now
        assert answer["result"]["isError"] is False
        server.send(*(tool_call(n, *call) for n, call in enumerate(calls * 5, 1)))
        server.process.kill()
    with raw(stdio(data)) as server:
        again = asked(server)
        ids = [only(again.call(name, **arguments)["items"])["id"] for name, arguments in calls]
        assert len(set(ids)) == 2
        assert again.texts() == [BIKE] * 2, "as a fact, and as what Tom said"
        assert again.texts(what="message") == [BIKE]
        assert server.rest() == []


# --- R23

# What is asked, and a text that holds it; None where there is nothing in it to be found by.
QUESTIONS: dict[str, str | None] = {
    "multi-agent": "The multi-agent run failed.",
    "don't": "Please don't ring the bell.",
    "src/main.py": "The bug is in src/main.py, near the top.",
    '"': None,
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
    # Neighbours: what looks like JSON, or like a field of the call.
    "[1, 2]": "The list [1, 2] is short.",
    '{"query": "x"}': 'The body was {"query": "x"}, no more.',
    "null": "The result was null.",
    "fact_01": "The prefix fact_01 is an example.",
}


@pytest.mark.parametrize("name", ["a-b", str(uuid.UUID(int=0x0123456789ABCDEF)), "main", "a:b/c*"])
def test_r23_any_characters_are_a_question(shelf: Place, name: str) -> None:
    agent = shelf.within(name)
    for text in QUESTIONS.values():
        if text is not None:
            agent.remember(text)
    for question, text in QUESTIONS.items():
        found = agent.found(question, limit=50)
        packed = agent.call("context", query=question)["text"]
        if text is not None:
            assert text in found and text in packed, question
            assert agent.call("forget", query=question, dry_run=True)["count"] == 1
    for tool in ("search", "context", "forget"):
        for blank in ("  ", "\n\t"):
            assert agent.refused(tool, query=blank).startswith("query "), tool
    assert agent.found("x" * 10_000) == []
    assert agent.found("bell " * 2_000) == ["Please don't ring the bell."]
    assert "32,000" in agent.refused("search", query="x" * 40_000)


# --- R25

UNSPACED = {
    "明日は陶芸教室に行く予定です": ["陶芸", "教室"],
    "她最近在学打羽毛球和书法": ["羽毛球", "书法"],
    "주말마다 등산모임에 나간다": ["등산", "모임"],
    "ผมแพ้กุ้งมาก": ["กุ้ง"],
    "新しいiPhoneを買った": ["iphone"],
}


@pytest.mark.parametrize("form", ["remember", "add_conversation"])
def test_r25_words_inside_texts_without_spaces_are_found(agent: Agent, form: str) -> None:
    texts = [*UNSPACED, "The weather was fine.", "Kai went home."]
    if form == "remember":
        for text in texts:
            agent.remember(text)
    else:
        agent.call(form, messages=[{"content": text} for text in texts])
    for text, questions in UNSPACED.items():
        for question in questions:
            assert agent.found(question) == [text], question
            assert text in agent.call("context", query=question)["text"]
    assert "她最近在学打羽毛球和书法" in agent.found("Kai 书法")


# --- R26

OPS = "Payment service root password rotated."


@pytest.fixture(scope="module")
def standups(shelf: Place) -> Agent:
    notes: list[Json] = [
        {"text": f"Weekly standup about the payment service, item {n}.", "said_at": "2026-02-01"}
        for n in range(500)
    ]
    ops = {"text": OPS, "tags": ["ops"], "said_at": "2025-01-02", "kind": "procedure"}
    shelf.memory.container("r26").remember([*notes[:250], ops, *notes[250:]])
    return shelf.within("r26")


@pytest.mark.parametrize("limit", [5, 1])
@pytest.mark.parametrize(
    "which",
    [
        {"tags": ["ops"]},
        {"tags": '["ops"]'},
        {"kinds": ["procedure"]},
        {"since": "2025-01-01", "until": "2025-01-03"},
        {"tags": ["ops"], "since": "2025-01-01", "until": "2025-01-03"},
    ],
)
def test_r26_conditions_are_met_before_the_cut(standups: Agent, which: Json, limit: int) -> None:
    assert standups.found("standup payment service", limit=limit, **which) == [OPS]
    assert standups.texts(limit=limit, **which) == [OPS]
    assert OPS in standups.call("context", query="standup payment", budget=200, **which)["text"]


def test_r26_as_many_as_asked_for_come_back(standups: Agent) -> None:
    for limit in (1, 5, 200, "200"):
        found = standups.found("standup payment service", limit=limit, since="2026-01-01")
        assert len(found) == int(limit) and OPS not in found


# --- R28

LIKE_NORTH = ["north", "north-east", "north/x", "north:x", "North", "north ", "nor"]


def test_r28_a_container_is_its_whole_name(place: Place) -> None:
    for number, name in enumerate(LIKE_NORTH):
        agent = place.within(name)
        agent.remember(f"The secret is marmot-{number}.", caller_id="one", metadata={"space": "x"})
        agent.call("add_conversation", messages=[{"content": f"The word is marmot-{number}."}])
    for number, name in enumerate(LIKE_NORTH):
        agent = place.within(name)
        told = repr([
            agent.views(), agent.views(what="message"), agent.search("secret marmot", limit=1000),
            agent.call("context", query="secret marmot"),
            agent.call("forget", query="marmot", limit=100, dry_run=True),
        ])  # fmt: skip
        assert {n for n in range(len(LIKE_NORTH)) if f"marmot-{n}" in told} == {number}, name


FOREIGN: dict[str, Callable[[str], tuple[str, Json]]] = {
    "history": lambda item: ("history", {"id": item}),
    "forgotten": lambda item: ("history", {"id": item, "include_forgotten": True}),
    "update": lambda item: ("remember", {"text": "Mine now.", "updates": item}),
    "forget": lambda item: ("forget", {"ids": [item]}),
    "forget dry": lambda item: ("forget", {"ids": [item], "dry_run": True}),
    "restore": lambda item: ("restore", {"ids": [item]}),
    "undo": lambda item: ("undo", {"id": item, "cascade": True}),
    "as of": lambda item: ("list", {"as_of": item}),
    "source": lambda item: ("list", {"source": item}),
}


@pytest.mark.parametrize("call", FOREIGN.values(), ids=FOREIGN.keys())
def test_r28_a_foreign_id_is_as_one_that_is_missing(
    place: Place, call: Callable[[str], tuple[str, Json]]
) -> None:
    here, other = place.within("north"), place.within("north-east")
    here.remember("Mine.")
    other.remember("The secret is a marmot.")
    other.call("add_conversation", messages=[{"content": "A word of the marmot."}])
    container = place.memory.container("north-east")
    happened = container.events(limit=100).events
    ids = {item for event in happened for item in event.items} | {each.id for each in happened}
    ids |= {str(each.group) for each in happened}
    assert len(ids) >= 6
    for item in sorted(ids):
        last = "000000" if item[-6:] != "000000" else "000001"
        missing = item[:-6] + last
        said = [json.dumps(here.ask(*call(each))).replace(each, "ID") for each in (item, missing)]
        assert said[0] == said[1] and "marmot" not in said[0], item
    assert container.events(limit=100).events == happened
    assert here.texts() == ["Mine."]


@pytest.mark.parametrize(
    "more",
    [
        {"space": "north"}, {"container": "north"}, {"$or": [{"tags": ["all"]}]},
        {"filters": {"container": "north"}}, {"scope": {"container": "north"}},
        {"containers": ["north"]}, {"scope": {"space": "north"}},
    ],
)  # fmt: skip
def test_r28_no_argument_leads_elsewhere(agent: Agent, more: Json) -> None:
    for tool, arguments in (
        ("search", {"query": "secret"}), ("context", {"query": "secret"}), ("list", {}),
        ("remember", {"text": "A."}), ("forget", {"query": "secret"}),
    ):  # fmt: skip
        said = agent.refused(tool, **arguments, **more)
        assert said.startswith((next(iter(more)), "scope.")), said


# --- R29

HALF, ZERO, ODD = "half \ud83d emoji", "nul \0 byte", "odd \ufffe \u202e \u2028 \u0085 \ufeff end"

PLACES: dict[str, Callable[[str], tuple[str, Json]]] = {
    "text": lambda s: ("remember", {"text": s}),
    "tags": lambda s: ("remember", {"text": "A.", "tags": [s]}),
    "caller_id": lambda s: ("remember", {"text": "A.", "caller_id": s}),
    "subject": lambda s: ("remember", {"text": "A.", "subject": s}),
    "attribute": lambda s: ("remember", {"text": "A.", "attribute": s}),
    "value": lambda s: ("remember", {"text": "A.", "value": s}),
    "metadata": lambda s: ("remember", {"text": "A.", "metadata": {"a": [{s: s}]}}),
    "scope": lambda s: ("remember", {"text": "A.", "scope": {"user": s}}),
    "said_at": lambda s: ("remember", {"text": "A.", "said_at": s}),
    "updates": lambda s: ("remember", {"text": "A.", "updates": s}),
    "content": lambda s: ("add_conversation", {"messages": [{"content": s}]}),
    "name": lambda s: ("add_conversation", {"messages": [{"content": "A.", "name": s}]}),
    "id": lambda s: ("add_conversation", {"messages": [{"content": "A.", "id": s}]}),
    "time": lambda s: ("add_conversation", {"messages": [{"content": "A.", "time": s}]}),
    "conversation": lambda s: (
        "add_conversation", {"messages": [{"content": "A."}], "conversation": s}
    ),
    "query": lambda s: ("search", {"query": s}),
    "query of context": lambda s: ("context", {"query": s}),
    "query of forget": lambda s: ("forget", {"query": s}),
    "reason": lambda s: ("forget", {"query": "first", "reason": s}),
    "source": lambda s: ("list", {"source": s}),
    "cursor": lambda s: ("list", {"cursor": s}),
    "as_of": lambda s: ("search", {"query": "a", "as_of": s}),
    "tags of list": lambda s: ("list", {"tags": [s]}),
    "id of history": lambda s: ("history", {"id": s}),
    "ids": lambda s: ("restore", {"ids": [s]}),
    "id of undo": lambda s: ("undo", {"id": s}),
    "an unknown field": lambda s: ("search", {"query": "a", s: 1}),
    "an unknown tool": lambda s: (s, {}),
}  # fmt: skip


@pytest.mark.parametrize("bad", [HALF, ZERO, "a\ude00\ud83d"], ids=repr)
def test_r29_half_characters_and_zeros_are_refused_everywhere(
    place: Place, agent: Agent, bad: str
) -> None:
    agent.remember("The first fact.")
    before = place.memory.stats(store=True).events
    for where, call in PLACES.items():
        name, arguments = call(bad)
        said = agent.refused(name, **arguments)
        json.dumps(said, ensure_ascii=False).encode()
        if not where.startswith(("an unknown", "id", "updates")):
            assert where.split(" ")[0] in said, said
    assert place.memory.stats(store=True).events == before, "nothing was written, not even by half"
    agent.remember("The normal text.")
    assert agent.found("normal") == ["The normal text."]
    assert place.whole()


@pytest.mark.parametrize("odd", [ODD, "\u2028\u2029 lines", "e\u0301 \U0010ffff \ue000 \U0001f600"])
def test_r29_odd_but_whole_characters_are_kept_as_they_are(agent: Agent, odd: str) -> None:
    fact = agent.remember(odd, caller_id=odd, tags=[odd], metadata={odd: odd}, subject=odd)
    message = {"content": odd, "name": odd, "id": odd}
    agent.call("add_conversation", messages=[message], conversation=odd)
    (view,) = agent.views(tags=[odd], metadata={odd: odd})
    assert (view["id"], view["text"], view["caller_id"], view["tags"]) == (fact, odd, odd, [odd])
    (view,) = agent.views(what="message", source=odd)
    assert (view["text"], view["speaker"], view["conversation"]) == (odd, odd, odd)
    agent.call("forget", ids=[fact], reason=odd)
    assert agent.views() == []


@pytest.mark.slow
def test_r29_on_the_wire(data: Path) -> None:
    """Escapes of half a character, raw bytes that are no text, separators that end no line."""
    with raw(stdio(data)) as server:
        agent = asked(server)
        agent.remember(ODD)
        for escaped in (rb"half \ud83d emoji", rb"nul \u0000 byte", rb"\ude00\ud83d"):
            line = json.dumps(tool_call(7, "remember", {"text": "TEXT"})).encode()
            server.send(line.replace(b"TEXT", escaped))
            result = server.receive()["result"]
            assert result["isError"] is True and result["content"][0]["text"].startswith("text ")
        for number, bytes_ in enumerate(
            (b"a raw \xff byte", b"\xed\xa0\xbd", b"\xc0\x80", b"a\0b")
        ):
            line = json.dumps(tool_call(number, "remember", {"text": "TEXT"})).encode()
            server.send(line.replace(b"TEXT", bytes_))
            assert server.receive()["error"]["code"] == -32700
        escaped_whole = rb"whole \ud83d\ude00 emoji"
        line = json.dumps(tool_call("é\u2028", "remember", {"text": "TEXT"})).encode()
        server.send(line.replace(b"TEXT", escaped_whole))
        assert server.receive()["id"] == "é\u2028"
        assert agent.texts() == [ODD, "whole \U0001f600 emoji"]
        assert server.rest() == []
        assert server.process.returncode == 0


def asked(server: Raw) -> Agent:
    """The tools of a server process, one call after the other."""
    server.open()

    def ask(name: str, arguments: Json) -> Json:
        answer = server.ask(tool_call("call", name, arguments))
        assert answer["id"] == "call" and "result" in answer, answer
        result: Json = answer["result"]
        return result

    return Agent(ask)


# --- R31

FACTS = 1_203


@pytest.fixture
def many(place: Place, agent: Agent) -> Agent:
    texts = [{"text": f"Fact number {number}.", "said_at": TIME} for number in range(FACTS)]
    place.memory.remember(texts)
    return agent


def test_r31_each_once_while_others_write_and_forget(many: Agent) -> None:
    ids = [view["id"] for view in many.views()]
    assert len(ids) == len(set(ids)) == FACTS
    pages = many.pages(limit=200)
    page = next(pages)
    assert (page["total"], page["limit"], page["has_more"]) == (FACTS, 200, True)
    seen = [view["id"] for view in page["items"]]
    forgotten = seen[17]
    many.call("forget", ids=[forgotten])
    walked = threading.Event()

    def write_beside() -> None:
        for number in range(500):
            if walked.is_set():
                return
            many.remember(f"A later fact, number {number}.", said_at=TIME)

    writing = threading.Thread(target=write_beside)
    writing.start()
    try:
        for page in pages:
            seen += [view["id"] for view in page["items"]]
    finally:
        walked.set()
        writing.join()
    assert len(seen) == len(set(seen)), "none twice"
    assert set(seen) >= set(ids), "none left out"
    assert forgotten not in {view["id"] for view in many.views()}


def test_r31_limits_and_cursors(many: Agent) -> None:
    assert many.call("list")["limit"] == len(many.call("list")["items"]) == 20
    assert [len(page["items"]) for page in many.pages(limit=401)] == [401, 401, 401]
    for limit in (0, -1, 100_000, 1_001, "abc", "0", 1.5, True, [5], 10**30):
        for tool, more in (("list", {}), ("search", {"query": "fact"})):
            said = many.refused(tool, limit=limit, **more)
            assert said.startswith("limit must be a whole number from 1 to 1,000"), said
    assert many.call("list", limit="7")["limit"] == 7
    cursor = many.call("list", limit=1000)["cursor"]
    last = many.call("list", limit=1000, cursor=cursor)
    assert (len(last["items"]), last["has_more"], last.get("cursor")) == (203, False, None)
    for bad in (cursor[1:], cursor + "A", cursor[: len(cursor) // 2], "x", "12", cursor.swapcase()):
        assert "cursor" in many.refused("list", limit=1000, cursor=bad), bad
    others: list[Json] = [{"what": "message"}, {"tags": ["x"]}, {"include_superseded": True}]
    for other in others:
        assert "cursor" in many.refused("list", cursor=cursor, **other)
    # Past the end: what the cursor stood before was forgotten meanwhile.
    many.call("forget", ids=[view["id"] for view in last["items"]])
    empty = many.call("list", limit=1000, cursor=cursor)
    assert (empty["items"], empty["has_more"]) == ([], False)
    assert many.call("list")["total"] == 1000


def test_r31_the_text_says_that_there_is_more(many: Agent) -> None:
    """A model that reads only the text must not take a page for all there is."""
    result = many.ask("list", {"limit": 5})
    said = result["content"][0]["text"]
    assert "5 of 1,203 items shown" in said and result["structuredContent"]["cursor"] in said
    assert "cursor" not in many.ask("list", {"tags": ["none"]})["content"][0]["text"]


# --- R40

PATHS = ["../../etc", "..%2f..%2fetc", "..\\..\\x", "/etc/passwd", "~root", "CON", "-rf", "log"]


def test_r40_a_name_is_never_a_path(place: Place, data: Path, tmp_path: Path) -> None:
    for name in PATHS:
        agent = place.within(name)
        agent.remember("A fact.", caller_id=name, tags=[name], scope={"user": name})
        message = {"content": "A word.", "id": name, "name": name}
        agent.call("add_conversation", messages=[message], conversation=name)
        assert agent.views()[0]["caller_id"] == name
        assert agent.views(what="message", source=name)[0]["conversation"] == name
        assert "to_path" in agent.refused("search", query="fact", to_path=name)
    assert list(tmp_path.iterdir()) == [data]
    assert {path.name for path in data.iterdir()} <= {"log", "views", "owner.lock", "clock"}


# --- R46

EMOJI = "\N{GRINNING FACE}"
STEM = "a" * 511
LONG = "n" * 2_000


@pytest.mark.parametrize("tag", ["t" * 600, EMOJI * 200, "t" * 1_000, STEM, STEM + "b"], ids=len)
def test_r46_long_tags_are_kept_and_found(place: Place, agent: Agent, tag: str) -> None:
    fact = agent.remember("A fact with a long tag.", tags=[tag])
    agent.remember("Another fact.", tags=[tag[:-1]])
    assert [view["id"] for view in agent.views(tags=[tag])] == [fact]
    assert [hit["id"] for hit in agent.search("fact", tags=[tag])] == [fact]
    assert place.whole()


def test_r46_tags_alike_in_their_first_bytes_stay_apart(agent: Agent) -> None:
    tags = [STEM + "x", STEM + "y", STEM, STEM + EMOJI, STEM + "x" * 400]
    facts = {tag: agent.remember(f"Fact {n}.", tags=[tag]) for n, tag in enumerate(tags)}
    for tag, fact in facts.items():
        assert [view["id"] for view in agent.views(tags=[tag])] == [fact]


def nested(levels: int) -> Json:
    deep: Json = {}
    for _ in range(levels - 1):
        deep = {"a": deep}
    return deep


TAKEN: dict[str, tuple[Json, Json]] = {
    "caller's id": ({"caller_id": LONG}, {}),
    "entity": ({"subject": "e" * 3_000, "attribute": "f" * 3_000, "value": "v" * 3_000}, {}),
    "scope": ({"scope": {"user": "u" * 1_000}}, {"scope": {"user": "u" * 1_000}}),
    "keys": (
        {"metadata": {"__proto__": 1, "id": 2, "space": 3, "k" * 600: 4}},
        {"metadata": {"__proto__": 1, "id": 2, "space": 3, "k" * 600: 4}},
    ),
    "depth": ({"metadata": {"a": nested(19)}}, {"metadata": {"a": nested(19)}}),
    "many tags": (
        {"tags": [f"{STEM}{n}" for n in range(200)]}, {"tags": [f"{STEM}{n}" for n in range(200)]}
    ),
    "a word": ({"text": f"The {'w' * 9_000} word."}, {}),
}  # fmt: skip


@pytest.mark.parametrize(("sent", "which"), TAKEN.values(), ids=TAKEN.keys())
def test_r46_long_things_are_kept_and_found(agent: Agent, sent: Json, which: Json) -> None:
    fact = agent.remember(**{"text": "A long word.", **sent})
    assert [view["id"] for view in agent.views(**which)] == [fact]
    assert [hit["id"] for hit in agent.search("word", **which)] == [fact]
    again = only(agent.call("remember", **{"text": "A long word.", **sent})["items"])
    assert again["id"] == fact and len(agent.views()) == 1, "sent again, it is the same"


def test_r46_long_names_in_a_conversation(agent: Agent) -> None:
    message = {"content": f"The {'w' * 20_000} word.", "id": EMOJI * 2_000, "name": "s" * 3_000}
    agent.call("add_conversation", messages=[message], conversation=LONG)
    (view,) = agent.views(what="message", source=LONG)
    assert view["caller_id"] == EMOJI * 2_000 and agent.search("word")[0]["id"] == view["id"]


REFUSED: dict[str, tuple[str, str, Json]] = {
    "empty tag": ("tags[0]", "blank", {"tags": [""]}),
    "blank tag": ("tags[1]", "blank", {"tags": ["a", " \u200b"]}),
    "long tag": ("tags[0]", "1,000", {"tags": ["t" * 1_001]}),
    "many tags": ("tags", "200", {"tags": [f"{n}" for n in range(5_000)]}),
    "long id": ("caller_id", "2,000", {"caller_id": "i" * 2_001}),
    "entity": ("subject", "8,000", {"subject": "s" * 8_001}),
    "deep": ("metadata", "20", {"metadata": nested(200)}),
    "2 MB": ("metadata", "65,536", {"metadata": {"a": "x" * 2_000_000}}),
    "many keys": ("metadata", "65,536", {"metadata": {f"k{n}": n for n in range(100_000)}}),
    "huge number": ("metadata", "64 bits", {"metadata": {"a": 1 << 70}}),
    "scope": ("scope", "1,000", {"scope": {"user": "u" * 1_001}}),
    "long text": ("text", "10,000", {"text": "t" * 10_001}),
}


@pytest.mark.parametrize(("field", "words", "sent"), REFUSED.values(), ids=REFUSED.keys())
def test_r46_what_is_too_long_is_refused_with_the_limit(
    place: Place, agent: Agent, field: str, words: str, sent: Json
) -> None:
    agent.remember("First.")
    before = place.memory.stats(store=True).events
    arguments: dict[str, Any] = {"text": "A.", **sent}
    said = agent.refused("remember", **arguments)
    assert field in said and words in said, said
    assert len(said) < 500
    assert place.memory.stats(store=True).events == before
