"""R17, R44 and R47 through an MCP server process: large texts, a full disk, many writers."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rewound.memory import Memory
from rewound.memory import replies as r
from tests.cases.doors import Agent, Json, only
from tests.cases.given import at_once
from tests.http.serving import Api, Served, reply_of, serving
from tests.mcp.driving import Raw, raw, stdio, tool_call

MIB = 1 << 20
LONG_WORD = "word" * 15 + " "  # of such words a text of 50 KB has few to index
NO_MODELS = {"REWOUND_EMBEDDER": "none", "REWOUND_EXTRACTOR": "none"}
RULES = {"REWOUND_EMBEDDER": "none", "REWOUND_EXTRACTOR": "rules"}

pytestmark = [pytest.mark.slow, pytest.mark.soak]


def asked(server: Raw) -> Agent:
    """The tools of a server process, one call after the other."""
    server.open()

    def ask(name: str, arguments: Json) -> Json:
        answer = server.ask(tool_call("call", name, arguments))
        assert answer["id"] == "call" and "result" in answer, str(answer)[:500]
        result: Json = answer["result"]
        return result

    return Agent(ask)


# --- R17

LINES = 50_000
UNIQUE = {
    7: "The zebra vault opens at nine.",
    25_000: "The walrus archive lies in Turin.",
    49_993: "The ibex ledger is bound in green.",
}


def line(number: int) -> str:
    filler = f"Line {number}: nothing but filler text, to make up the bulk."
    return UNIQUE.get(number, filler)


def test_r17_a_message_of_three_megabytes(data: Path) -> None:
    text = "\n".join(line(number) for number in range(1, LINES + 1))
    assert len(text) > 2_500_000
    with raw(stdio(data), errors=None, **NO_MODELS) as server:
        agent = asked(server)
        sent: Json = {"messages": [{"content": text, "id": "large"}], "conversation": "papers"}
        first = only(agent.call("add_conversation", **sent)["items"])
        assert first["status"] == "written"
        for unique in UNIQUE.values():
            assert [hit["id"] for hit in agent.search(unique, limit=1)] == [first["id"]]
        packed = agent.call("context", query="where is the walrus archive", budget=100)
        assert packed["tokens"] <= 100 and len(packed["text"]) < 1_000
        again = only(agent.call("add_conversation", **sent)["items"])
        assert (again["status"], again["id"]) == ("seen again", first["id"])
        assert agent.texts(what="message") == [text]
        assert server.rest() == []


TRANSCRIPT = 300
STATED = {7: "The zebra vault opens at nine", 150: "Petra lives in Oslo", 293: "Jonas fears geese"}
CHANGED = "The zebra vault opens at ten"


def test_r17_one_changed_line_of_a_transcript_is_one_message(data: Path) -> None:
    """No fact of the other lines is ended or doubled, and nothing else is read again."""
    sent: list[Json] = [
        {"content": f"{STATED[n]}." if n in STATED else line(n), "name": "Nina"}
        for n in range(1, TRANSCRIPT + 1)
    ]

    def drawn(agent: Agent) -> dict[str, str]:
        told = api.send("POST", "/v1/workers", {"action": "wait", "timeout_s": 60})
        working = reply_of(told, r.Working)
        assert (working.state, working.pending, working.failed) == ("running", 0, 0), working
        return {view["text"]: view["id"] for view in agent.views()}

    with (
        serving(data.parent, **RULES) as served,
        served.client() as client,
        raw(stdio(served.data), XDG_RUNTIME_DIR=str(served.runtime)) as server,
    ):
        api, agent = Api(client, "default"), asked(server)
        agent.call("add_conversation", messages=sent)
        before = drawn(agent)
        assert sorted(before) == sorted(STATED.values())
        sent[6] = {"content": f"{CHANGED}.", "name": "Nina"}
        items = agent.call("add_conversation", messages=sent)["items"]
        states = Counter(item["status"] for item in items)
        assert states == {"seen again": TRANSCRIPT - 1, "written": 1}
        after = drawn(agent)
        assert {text: after[text] for text in before} == before
        assert set(after) == {*before, CHANGED}
        assert server.rest() == []


def test_r17_over_the_limits_is_told_with_the_limits(data: Path) -> None:
    with raw(stdio(data), errors=None, **NO_MODELS) as server:
        agent = asked(server)
        large = "x" * (33 * MIB)
        said = agent.refused("add_conversation", messages=[{"content": large}])
        assert "content" in said and "32 MB" in said
        both: list[Json] = [{"content": "The small one."}, {"content": large}]
        items = agent.call("add_conversation", messages=both)["items"]
        assert [item["status"] for item in items] == ["written", "refused"]
        assert "32 MB" in items[1]["message"]
        said = agent.refused("remember", text="x" * 10_001)
        assert "text" in said and "10,000" in said
        said = agent.refused("add_conversation", messages=[{"content": "x"}] * 10_001)
        assert "messages" in said and "10,000" in said
        server.send(json.dumps(tool_call(1, "remember", {"text": "x" * (65 * MIB)})).encode())
        error = server.receive()["error"]
        assert error["code"] == -32600 and f"{64 * MIB:,} bytes" in error["message"]
        assert agent.texts(what="message") == ["The small one."] and agent.views() == []
        assert server.rest() == []
        assert server.process.returncode == 0


# --- R44


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_r44_a_full_disk_is_a_tool_error_and_nothing_is_lost(disk: Path) -> None:
    ballast = disk / "ballast"
    ballast.write_bytes(b"\1" * (4 * MIB))
    command = stdio(disk / "store")
    with raw(command, errors=None, **NO_MODELS) as server:
        agent = asked(server)
        first = agent.remember("The first fact.")
        kept, said = filled(agent)
        assert "no room left" in said or "full" in said, said
        assert agent.texts(what="message") == kept
        assert agent.found("first fact", limit=1) == ["The first fact."]
        assert agent.call("forget", ids=[first])["count"] == 1, "forgetting works when it is full"
        ballast.unlink()
        agent.remember("With room again.")
        server.process.kill()
    with raw(command, errors=None, **NO_MODELS) as server:
        agent = asked(server)
        assert agent.texts(what="message") == kept
        assert agent.texts() == ["With room again."]
        assert agent.call("restore", ids=[first])["count"] == 1
        assert server.rest() == []
    with Memory(disk / "store") as memory:
        assert memory.verify().ok and memory.rebuild().equal


def filled(agent: Agent) -> tuple[list[str], str]:
    """Messages of 50 KB until one is refused: the texts that were taken, and the refusal."""
    kept: list[str] = []
    while True:
        text = f"Filler {len(kept)}: {LONG_WORD * 820}."
        result = agent.ask("add_conversation", {"messages": [{"content": text}]})
        if result["isError"]:
            return kept, result["content"][0]["text"]
        kept.append(text)
        assert len(kept) < 500, "the disk was never full"


# --- R47

RECORD = "The record that all write to."
BY_REST, BY_MCP, BY_COMMAND = range(25), range(25, 47), range(47, 50)
EVERYONE = range(50)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("r47")) as started:
        yield started


class Writers:
    """REST, MCP and the command line at one store and container, all beginning at once."""

    def __init__(self, served: Served, container: str) -> None:
        self.served = served
        self.container = container

    def run(
        self,
        by_rest: Callable[[Api, int], object],
        by_mcp: Callable[[int], tuple[str, Json]],
        by_command: Callable[[int], list[str]],
    ) -> None:
        """Each number is one door's. A call that fails fails the test."""
        runtime = str(self.served.runtime)
        with (
            self.served.client() as client,
            raw(stdio(self.served.data, "-c", self.container), XDG_RUNTIME_DIR=runtime) as server,
        ):
            asked(server).call("list")  # what is slow at first is done
            calls: list[Callable[[], object]] = [
                partial(by_rest, Api(client, self.container), number) for number in BY_REST
            ]
            calls.append(partial(self._tools, server, by_mcp))
            calls += [partial(self._command, by_command(number)) for number in BY_COMMAND]
            at_once(calls)

    def _tools(self, server: Raw, call: Callable[[int], tuple[str, Json]]) -> None:
        """All calls are sent before any answer is read: the server does many at once."""
        for number in BY_MCP:
            server.send(tool_call(number, *call(number)))
        answers = [server.receive() for _ in BY_MCP]
        assert {answer["id"] for answer in answers} == set(BY_MCP)
        assert not [answer for answer in answers if answer["result"]["isError"]], answers
        assert server.rest() == []

    def _command(self, args: list[str]) -> None:
        words = [sys.executable, "-m", "rewound.http", "--data", str(self.served.data)]
        words += ["-c", self.container, *args]
        env = self.served.environment
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr


def test_r47_fifty_adds_and_fifty_updates_through_all_doors(served: Served) -> None:
    with served.client() as client:
        api = Api(client, "adds")
        record = api.fact(RECORD)

    def by_rest(api: Api, number: int) -> None:
        api.fact(f"Added fact {number}.")
        api.write("PATCH", f"/v1/facts/{record}", {"add_tags": [f"tag-{number}"]})

    def by_mcp(number: int) -> tuple[str, Json]:
        return "remember", {"text": f"Added fact {number}."}

    def retag(number: int) -> tuple[str, Json]:
        return "remember", {"text": RECORD, "updates": record, "tags": [f"tag-{number}"]}

    def by_command(number: int) -> list[str]:
        return ["remember", f"Added fact {number}."]

    def retag_by_command(number: int) -> list[str]:
        return ["update", record, "--add-tag", f"tag-{number}"]

    writers = Writers(served, "adds")
    with ThreadPoolExecutor(2) as both:
        for done in [
            both.submit(writers.run, by_rest, by_mcp, by_command),
            both.submit(writers.run, lambda api, number: None, retag, retag_by_command),
        ]:
            done.result()
    with served.client() as client:
        api = Api(client, "adds")
        views = api.facts(limit=1000)
        added = [f"Added fact {number}." for number in EVERYONE]
        assert sorted(view.text for view in views) == sorted([RECORD, *added])
        tags = next(set(view.tags) for view in views if view.text == RECORD)
        assert tags == {f"tag-{number}" for number in EVERYONE}
        whole(api)


def test_r47_fifty_wordings_through_all_doors_are_one_chain(served: Served) -> None:
    with served.client() as client:
        record = Api(client, "wordings").fact("Wording -1.")

    def reword(number: int) -> tuple[str, Json]:
        return "remember", {"text": f"Wording {number}.", "updates": record}

    def by_rest(api: Api, number: int) -> None:
        api.write("PATCH", f"/v1/facts/{record}", {"text": f"Wording {number}."})

    def by_command(number: int) -> list[str]:
        return ["update", record, f"Wording {number}."]

    Writers(served, "wordings").run(by_rest, reword, by_command)
    with served.client() as client:
        api = Api(client, "wordings")
        life = api.read(f"/v1/facts/{record}/history", r.Versions)
        assert Counter(version.text for version in life.versions) == Counter(
            f"Wording {number}." for number in range(-1, 50)
        )
        states = [version.standing.state for version in life.versions if version.standing]
        assert states == ["superseded"] * 50 + ["current"]
        assert [view.id for view in api.facts()] == [life.versions[-1].id]
        whole(api)


def whole(api: Api) -> None:
    """Positions without gap or repeat; the log is sound and the views are its own."""
    assert api.gapless()
    ids = [event.id for event in api.events()]
    assert len(ids) == len(set(ids))
    body: dict[str, Any] = {}
    assert reply_of(api.send("POST", "/v1/verify", body), r.Verified).ok
    assert reply_of(api.send("POST", "/v1/rebuild", body), r.Rebuilt).equal
