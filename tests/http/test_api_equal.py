"""The same question gets the same answer from the library, the command line and the API."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest
from click.testing import CliRunner

from rewound.http.cli import main
from rewound.memory import Memory, RewoundError
from rewound.memory import replies as r
from tests.http.serving import Api, Served, serving

CHAT: list[dict[str, Any]] = [
    {"id": "m1", "role": "user", "name": "Nina", "content": "The launch moved to May.",
     "time": "2026-03-02T10:00:00Z", "metadata": {"channel": 7}},
    {"id": "m2", "role": "assistant", "content": "Noted, the launch is in May."},
    {"content": "明日は陶芸教室に行く予定です"},
]  # fmt: skip


class Doors:
    """The three doors of one store, which the server owns, in one container of it."""

    def __init__(self, data: Path, api: Api, memory: Memory) -> None:
        self.data = data
        self.api = api
        self.memory = memory
        self.container = api.container

    def within(self, container: str) -> "Doors":
        return Doors(self.data, self.api.within(container), self.memory.container(container))

    def cli(self, *args: str) -> Any:
        words = ["--data", str(self.data), f"--container={self.container}", "--json", *args]
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    def rest(self, path: str, **params: Any) -> Any:
        given = {"container": self.container, **params}
        return self.api.send("GET", path, params=given).json()

    def asked(self, path: str, **body: Any) -> Any:
        return self.api.send("POST", path, {"container": self.container, **body}).json()

    def library(self, reply: msgspec.Struct) -> Any:
        return json.loads(msgspec.json.encode(reply))


@pytest.fixture(scope="module", params=["words", "meaning"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """By words alone, and with the embedder and extractor that a server has by default."""
    settings = {"REWOUND_EMBEDDER": "", "REWOUND_EXTRACTOR": ""}
    more = settings if request.param == "meaning" else {}
    with serving(tmp_path_factory.mktemp("served"), **more) as started:
        yield started


@pytest.fixture(scope="module")
def doors(served: Served, client: httpx.Client) -> Iterator[Doors]:
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if "REWOUND" in name:
                patch.delenv(name)
        patch.setenv("XDG_RUNTIME_DIR", str(served.runtime))
        patch.setenv("XDG_CONFIG_HOME", "/nowhere")
        with Memory(served.data, "equal") as memory:
            fill(memory)
            waited = client.post("/v1/workers", json={"action": "wait", "timeout_s": 60})
            assert waited.json()["pending"] == 0 or waited.json()["state"] == "off", waited.text
            yield Doors(served.data, Api(client, "equal"), memory)


def fill(memory: Memory) -> None:
    job = memory.remember(
        "Nina works at Harbor Foods.", id="job", tags=["work"], said_at="2026-03-01"
    ).items[0]
    assert job.id is not None
    memory.update(job.id, "Nina works at Orbit Labs.", valid_from="2026-05-01")
    memory.ingest("The antenna stands on the roof.\n\nIt is tall.", id="wiki/a", title="Antenna")
    memory.add_messages(CHAT, conversation="planning")
    memory.remember(
        [
            {"text": "Omar likes tea.", "kind": "preference", "tags": ["drinks", "work"]},
            {"text": "Omar is 31.", "metadata": {"n": 1, "odd \u2028": [1.5, None]}},
            {"text": "Omar fears geese."},
        ]
    )
    gone = memory.search("geese", limit=1).hits[0].id
    memory.forget(gone, reason="asked")
    undone = memory.remember("A slip of the pen.").items[0].event
    assert undone is not None
    memory.undo(undone)


class Question(NamedTuple):
    library: Callable[[Memory], r.Reply]
    args: tuple[str, ...]
    path: str
    params: dict[str, Any]
    body: dict[str, Any] | None = None


def search(query: str, **more: Any) -> Question:
    args = ["search", "--limit", "10", query]
    for name, value in more.items():
        args += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    told = {name: str(value).lower() if value is True else value for name, value in more.items()}
    return Question(
        lambda memory: memory.search(query, limit=10, **more),
        tuple(args),
        "/v1/search",
        {"query": query, "limit": 10, **told},
        {"query": query, "limit": 10, **more},
    )


def listing(what: Any, **more: Any) -> Question:
    args = ["list", "--what", what, "--limit", "100"]
    for name, value in more.items():
        args += [f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    told = {name: str(value).lower() if value is True else value for name, value in more.items()}
    return Question(
        lambda memory: memory.list(what, limit=100, **more),
        tuple(args),
        f"/v1/{what}s",
        {"limit": 100, **told},
    )


QUESTIONS = [
    search("where does Nina work"),
    search("launch in May"),
    search("陶芸"),
    search("nothing like that"),
    search('C:\\tmp "x" (y)'),
    search("where does Nina work", as_of="@2"),
    search("where does Nina work", valid_at="2026-04-01"),
    search("Nina work", include_superseded=True),
    search("Omar", include_forgotten=True),
    search("where does Nina work", explain=True),
    search("where does Nina work", explain=True, as_of="@2", include_superseded=True),
    *(listing(what) for what in ("fact", "document", "message", "passage")),
    listing("fact", as_of="@2"),
    listing("fact", include_superseded=True),
    listing("fact", include_forgotten=True),
    listing("fact", since="2026-01-01"),
    Question(
        lambda m: m.list(tags=["drinks", "work"], limit=100),
        ("list", "--limit", "100", "--tag", "drinks", "--tag", "work"),
        "/v1/facts",
        {"tags": ["drinks", "work"], "limit": 100},
    ),
    Question(
        lambda m: m.list(metadata={"n": 1}, limit=100),
        ("list", "--limit", "100", "--meta", "n:=1"),
        "/v1/facts",
        {"metadata": '{"n": 1}', "limit": 100},
    ),
    Question(
        lambda m: m.context("what does Nina do", budget=500),
        ("context", "--budget", "500", "what does Nina do"),
        "",
        {},
        {"query": "what does Nina do", "budget": 500},
    ),
    Question(
        lambda m: m.events(limit=100), ("log", "--limit", "100"), "/v1/events", {"limit": 100}
    ),
    Question(
        lambda m: m.events(types="fact edited", limit=100),
        ("log", "--type", "fact edited", "--limit", "100"),
        "/v1/events",
        {"types": "fact edited", "limit": 100},
    ),
    Question(
        lambda m: m.diff("@2", "@6"), ("diff", "@2", "@6"), "/v1/diff", {"start": "@2", "end": "@6"}
    ),
    Question(lambda m: m.jobs(limit=100), ("jobs", "--limit", "100"), "/v1/jobs", {"limit": 100}),
    Question(
        lambda m: m.reviews(limit=100), ("review", "--limit", "100"), "/v1/reviews", {"limit": 100}
    ),
    Question(lambda m: m.profile(), ("profile",), "/v1/profile", {}),
    Question(
        lambda m: m.profile(
            budget=300,
            days=900,
            subject="Nina",
            as_of="@6",
            buckets={"tea": {"query": "tea"}, "drinks": {"tags": ["drinks"]}, "work": {}},
        ),
        (
            "profile",
            "--budget",
            "300",
            "--days",
            "900",
            "--subject",
            "Nina",
            "--as-of",
            "@6",
            "--bucket",
            "tea=tea",
            "--bucket",
            "drinks=#drinks",
            "--bucket",
            "work",
        ),
        "/v1/profile",
        {
            "budget": 300,
            "days": 900,
            "subject": "Nina",
            "as_of": "@6",
            "buckets": '{"tea": {"query": "tea"}, "drinks": {"tags": ["drinks"]}, "work": {}}',
        },
    ),
    Question(
        lambda m: m.timeline("Nina"), ("timeline", "Nina"), "/v1/timeline", {"subject": "Nina"}
    ),
    Question(
        lambda m: m.graph("Nina", depth=2, valid_at="2026-04-01"),
        ("graph", "Nina", "--depth", "2", "--valid-at", "2026-04-01"),
        "/v1/graph",
        {"entity": "Nina", "depth": 2, "valid_at": "2026-04-01"},
    ),
    Question(lambda m: m.stats(), ("stats",), "/v1/stats", {}),
    Question(lambda m: m.stats(store=True), ("stats", "--store"), "/v1/stats", {"store": "true"}),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: " ".join(question.args))
def test_a_question_is_answered_alike(doors: Doors, question: Question) -> None:
    told = doors.library(question.library(doors.memory))
    assert doors.cli(*question.args) == told
    if question.path:
        assert doors.rest(question.path, **question.params) == told
    if question.body is not None:
        path = question.path or "/v1/context"
        assert doors.asked(path, **question.body) == told


def test_items_and_their_lives_are_told_alike(doors: Doors) -> None:
    for what in ("fact", "document", "message", "passage"):
        for view in doors.memory.list(what, include_superseded=True).items:
            shown = doors.library(doors.memory.get(view.id))
            assert doors.cli("show", view.id) == shown
            assert doors.rest(f"/v1/items/{view.id}") == shown
            life = doors.library(doors.memory.history(view.id))
            assert doors.cli("history", view.id) == life
            assert doors.rest(f"/v1/items/{view.id}/history") == life
            fate = doors.library(doors.memory.explain("Nina in May", id=view.id))
            assert doors.cli("explain", "Nina in May", "--id", view.id, "--limit", "10") == fate
            assert doors.rest("/v1/explain", query="Nina in May", id=view.id) == fate
            if what == "fact":
                why = doors.library(doors.memory.why(view.id))
                assert doors.cli("why", view.id) == why
                assert doors.rest(f"/v1/facts/{view.id}/why") == why


def test_containers_are_told_alike(doors: Doors) -> None:
    told = doors.library(doors.memory.containers())
    assert doors.cli("containers") == told
    assert doors.api.send("GET", "/v1/containers").json() == told


def test_meaning_finds_what_words_do_not(doors: Doors, request: pytest.FixtureRequest) -> None:
    question = "which company employs her?"
    told = doors.library(doors.memory.search(question, limit=3))
    assert doors.asked("/v1/search", query=question, limit=3) == told
    assert doors.cli("search", "--limit", "3", question) == told
    if "[meaning]" in request.node.name:
        assert "Nina works at Orbit Labs." in [hit["text"] for hit in told["hits"]]
        assert told["unembedded"] == 0


def test_pages_of_one_door_go_on_at_another(doors: Doors) -> None:
    first = doors.rest("/v1/messages", limit=2)
    told = doors.library(doors.memory.list("message", limit=2, cursor=first["cursor"]))
    args = ("list", "--what", "message", "--limit", "2", "--cursor", first["cursor"])
    assert doors.cli(*args) == told
    assert doors.rest("/v1/messages", limit=2, cursor=first["cursor"]) == told
    assert len(first["items"]) + len(told["items"]) == len(CHAT)


def test_previews_are_told_alike(doors: Doors) -> None:
    fact = doors.memory.list(tags="drinks").items[0]
    assert fact.event is not None
    undo = doors.library(doors.memory.undo(fact.event, dry_run=True))
    assert doors.asked("/v1/undo", id=fact.event, dry_run=True) == undo
    assert doors.asked(f"/v1/events/{fact.event}/undo", dry_run=True) == undo
    assert doors.cli("undo", fact.event, "--dry-run") == undo
    forget = doors.library(doors.memory.forget(fact.id, dry_run=True))
    assert doors.asked("/v1/forget", ids=[fact.id], dry_run=True) == forget
    assert doors.cli("forget", fact.id, "--dry-run") == forget
    erase = doors.library(doors.memory.erase(fact.id, dry_run=True))
    assert doors.asked("/v1/erase", ids=[fact.id], dry_run=True) == erase


def test_the_store_is_checked_alike(doors: Doors) -> None:
    told = doors.library(doors.memory.verify())
    assert doors.asked("/v1/verify") == told
    assert doors.cli("verify") == told
    replayed = doors.library(doors.memory.replay("@3"))
    assert doors.asked("/v1/replay", at="@3") == replayed
    assert doors.cli("replay", "--at", "@3", "--verify") == replayed


FAILING: list[tuple[Callable[[Memory], Any], tuple[str, str, dict[str, Any]]]] = [
    (lambda m: m.search("  "), ("POST", "/v1/search", {"query": "  "})),
    (lambda m: m.search("a", limit=0), ("POST", "/v1/search", {"query": "a", "limit": 0})),
    (lambda m: m.search("a", limit=5_000), ("GET", "/v1/search?query=a&limit=5000", {})),
    (lambda m: m.search("a", since="soon"),
     ("POST", "/v1/search", {"query": "a", "filters": {"since": "soon"}})),
    (lambda m: m.get("nonsense"), ("GET", "/v1/items/nonsense", {})),
    (lambda m: m.undo("ev_nonsense"), ("POST", "/v1/undo", {"id": "ev_nonsense"})),
    (lambda m: m.forget(tags="nobody"), ("POST", "/v1/forget", {"filters": {"tags": ["nobody"]}})),
    (lambda m: m.forget(), ("POST", "/v1/forget", {})),
    (lambda m: m.remember("A.", tags=[""]), ("POST", "/v1/facts", {"text": "A.", "tags": [""]})),
    (lambda m: m.remember("x" * 11_000), ("POST", "/v1/facts", {"text": "x" * 11_000})),
    (lambda m: m.remember("A.", said_at="x"),
     ("POST", "/v1/facts", {"text": "A.", "said_at": "x"})),
    (lambda m: m.restore("fact_01jqz3v5x8e9q7m4n2k6h0w1ar"),
     ("POST", "/v1/restore", {"ids": ["fact_01jqz3v5x8e9q7m4n2k6h0w1ar"]})),
    (lambda m: m.diff("@99999999"), ("GET", "/v1/diff?start=@99999999", {})),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "request_"), FAILING, ids=[f"{path} {body}"[:60] for _, (_, path, body) in FAILING]
)
def test_a_failure_is_told_alike(
    doors: Doors, call: Callable[[Memory], Any], request_: tuple[str, str, dict[str, Any]]
) -> None:
    with pytest.raises(RewoundError) as raised:
        call(doors.memory)
    method, path, body = request_
    where = {"container": doors.container}
    if method == "GET":
        mark = "&" if "?" in path else "?"
        response = doors.api.send(method, f"{path}{mark}container={doors.container}")
    else:
        response = doors.api.send(method, path, {**where, **body})
    error = response.json()["error"]
    expected = raised.value
    assert error["code"] == expected.code
    assert error["message"] == expected.message
    assert (error["field"] or "").rpartition(".")[2] == (expected.field or "").rpartition(".")[2]
    assert error["ids"] == list(expected.ids)


def test_what_one_door_writes_the_others_know(doors: Doors) -> None:
    here = doors.within("equal-writes")
    sent = {"text": "Ana lives in Rome.", "id": "ana", "said_at": "2026-03-01T10:00:00Z"}
    by_rest = here.api.write("POST", "/v1/facts", sent).items[0]
    by_library = here.memory.remember(sent["text"], id="ana", said_at=sent["said_at"])
    by_cli = here.cli("remember", sent["text"], "--id", "ana", "--said-at", sent["said_at"])
    assert by_rest.status == "written"
    assert by_library.items[0].id == by_cli["items"][0]["id"] == by_rest.id
    told = {by_library.items[0].status, by_cli["items"][0]["status"]}
    assert told <= {"unchanged", "seen again"} and len(told) == 1
    assert len(here.api.facts()) == 1
