"""From words on a command line to requests, and from replies to JSON."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from rewound.http.cli import COMMANDS, main
from rewound.http.cli_base import State
from rewound.memory import requests as q
from rewound.memory.conditions import Where
from rewound.memory.replies import Finding, Reembedding
from tests.cli import fake
from tests.cli.fake import ANSWERED_WITH, SAMPLES, FakeLink, asked, run
from tests.integration.noding import nodes

SCOPE = ("--user", "nina", "--agent", "a", "--run", "r", "--session", "s")
FULL_SCOPE = q.Scope(user="nina", agent="a", run="r", session="s")
MOMENT = ("--as-of", "@7", "--valid-at", "2026", "--include-forgotten", "--at-least", "9")
AT_MOMENT: dict[str, Any] = {
    "as_of": "@7",
    "valid_at": "2026",
    "include_forgotten": True,
    "at_least": 9,
}
NEVER_FORGOTTEN = ("--as-of", "@7", "--valid-at", "2026", "--at-least", "9")
AT_SOME_TIME: dict[str, Any] = {"as_of": "@7", "valid_at": "2026", "at_least": 9}
WRITE = (*SCOPE, "--key", "k", "--unless-after", "5")
WRITING: dict[str, Any] = {"scope": FULL_SCOPE, "key": "k", "unless_after": 5}
FILTER = (
    *("--kind", "fact", "--kind", "episode", "--tag", "a", "--tag", "b", "--source", "guide"),
    *("--meta", "k=v", "--meta", "n:=3", "--since", "2026", "--until", "2027", *SCOPE),
    *("--where", '{"not": {"field": "metadata.n", "op": "in", "value": [1, "a"]}}'),
)
FILTERS = q.Filters(
    kinds=("fact", "episode"),
    tags=("a", "b"),
    source="guide",
    metadata={"k": "v", "n": 3},
    since="2026",
    until="2027",
    where=Where(not_=Where(field="metadata.n", op="in", value=[1, "a"])),
    scope=FULL_SCOPE,
)
WITH_WHAT = msgspec.structs.replace(FILTERS, what=("fact", "passage"))
WHAT = ("--what", "fact", "--what", "passage")
HOLDS = ("--said-at", "a", "--valid-from", "b", "--valid-to", "c", "--expires-at", "d")
TIMES: dict[str, Any] = {"said_at": "a", "valid_from": "b", "valid_to": "c", "expires_at": "d"}


def named(value: object) -> str | None:
    return " ".join(value)[:40] if isinstance(value, tuple) else ""


Case = tuple[tuple[str, ...], q.Request]


def putting_in() -> list[Case]:
    fact = q.NewFact(
        text="Nina",
        kind="preference",
        id="mine",
        subject="s",
        attribute="a",
        value="v",
        tags=("t",),
        metadata={"k": "v"},
        **TIMES,
    )
    told = ("--subject", "s", "--attribute", "a", "--value", "v", "--tag", "t", "--meta", "k=v")
    edits = ("--corrects", "--add-tag", "x", "--remove-tag", "y", "--meta", "k=v", *HOLDS)
    edited: dict[str, Any] = {"corrects": True, "add_tags": ("x",), "remove_tags": ("y",)}
    edited |= {"metadata": {"k": "v"}, **TIMES}
    return [
        (("remember", "Nina"), q.Remember(facts=(q.NewFact(text="Nina"),))),
        (
            ("remember", "Nina", "--kind", "preference", "--id", "mine", *HOLDS, *told, *WRITE),
            q.Remember(facts=(fact,), **WRITING),
        ),
        (("remember", "x", "--infer"), q.Remember(facts=(q.NewFact(text="x"),), infer=True)),
        (("update", "f", "New", *edits, *WRITE), q.Update(id="f", text="New", **edited, **WRITING)),
        (("update", "f", "--add-tag", "x"), q.Update(id="f", add_tags=("x",))),
    ]


def recent() -> list[Case]:
    return [
        (
            ("context", "x", "--conversation", "planning", "--recent-chars", "90"),
            q.Context(query="x", conversation="planning", recent_chars=90),
        ),
        (("recent", "planning"), q.Recent(conversation="planning")),
        (
            ("recent", "planning", "--recent-chars", "90", "--older-chars", "0", "--user", "ann"),
            q.Recent(
                conversation="planning",
                recent_chars=90,
                older_chars=0,
                scope=q.Scope(user="ann"),
            ),
        ),
    ]


def answering() -> list[Case]:
    return [
        (("ask", "x"), q.Inquire(query="x")),
        (
            ("ask", "x", "--rerank", "--no-rewrite", "--decompose"),
            q.Inquire(query="x", rerank=True, rewrite=False, decompose=True),
        ),
        (
            (
                "ask",
                "x",
                "--budget",
                "9",
                "--threshold",
                "0.1",
                "--confidence",
                "0.3",
                "--timeout-s",
                "8",
                *WHAT,
                *FILTER,
                *MOMENT,
            ),
            q.Inquire(
                query="x",
                budget=9,
                threshold=0.1,
                confidence=0.3,
                timeout_s=8,
                filters=WITH_WHAT,
                **AT_MOMENT,
            ),
        ),
    ]


def asking() -> list[Case]:
    return [
        (
            ("search", "x", "--limit", "3", "--include-superseded", *WHAT, *FILTER, *MOMENT),
            q.Search(query="x", limit=3, include_superseded=True, filters=WITH_WHAT, **AT_MOMENT),
        ),
        (
            ("context", "x", "--budget", "9", *WHAT, *FILTER, *MOMENT),
            q.Context(query="x", budget=9, filters=WITH_WHAT, **AT_MOMENT),
        ),
        (("profile",), q.Profile()),
        (
            (
                "profile",
                "--budget",
                "9",
                "--days",
                "3",
                "--subject",
                "Nina",
                "--no-buckets",
                *FILTER,
                *NEVER_FORGOTTEN,
            ),
            q.Profile(
                budget=9, days=3, subject="Nina", buckets={}, filters=FILTERS, **AT_SOME_TIME
            ),
        ),
        (
            (
                "profile",
                "--bucket",
                "food=cooking and food",
                "--bucket",
                "work",
                "--bucket",
                "trips= #trip",
            ),
            q.Profile(
                buckets={
                    "food": q.Bucket(query="cooking and food"),
                    "work": q.Bucket(),
                    "trips": q.Bucket(tags=("trip",)),
                }
            ),
        ),
        (
            ("list", "--what", "message", "--limit", "3", "--cursor", "c", *FILTER, *MOMENT),
            q.List(what="message", limit=3, cursor="c", filters=FILTERS, **AT_MOMENT),
        ),
        (("show", "f", *MOMENT), q.Get(id="f", **AT_MOMENT)),
        (("history", "f", *MOMENT), q.History(id="f", **AT_MOMENT)),
        (("why", "f", *SCOPE, *MOMENT), q.Why(id="f", scope=FULL_SCOPE, **AT_MOMENT)),
        (("timeline", "Nina"), q.Timeline(subject="Nina")),
        (
            ("timeline", "Nina", "works at", "--limit", "3", *SCOPE, *MOMENT),
            q.Timeline(
                subject="Nina", attribute="works at", limit=3, scope=FULL_SCOPE, **AT_MOMENT
            ),
        ),
        (("graph", "Nina"), q.Graph(entity="Nina")),
        (
            ("graph", "Nina", "--to", "Orbit", "--depth", "3", "--limit", "9", *SCOPE, *MOMENT),
            q.Graph(entity="Nina", to="Orbit", depth=3, limit=9, scope=FULL_SCOPE, **AT_MOMENT),
        ),
        (("containers", "--limit", "3", "--cursor", "c"), q.Containers(limit=3, cursor="c")),
    ]


def explaining() -> list[Case]:
    return [
        (("search", "x", "--limit", "3", "--explain"), q.Search(query="x", limit=3, explain=True)),
        (
            ("search", "x", "--rewrite", "--no-rerank"),
            q.Search(query="x", rewrite=True, rerank=False),
        ),
        (
            ("context", "x", "--rerank", "--no-decompose"),
            q.Context(query="x", rerank=True, decompose=False),
        ),
        (
            ("explain", "x", "--id", "f", "--decompose", "--no-rewrite"),
            q.Explain(query="x", id="f", decompose=True, rewrite=False),
        ),
        (
            (
                "explain",
                "x",
                "--id",
                "f",
                "--limit",
                "3",
                "--threshold",
                "0.5",
                "--include-superseded",
                *WHAT,
                *FILTER,
                *MOMENT,
            ),
            q.Explain(
                query="x",
                id="f",
                limit=3,
                threshold=0.5,
                include_superseded=True,
                filters=WITH_WHAT,
                **AT_MOMENT,
            ),
        ),
    ]


def correcting() -> list[Case]:
    return [
        (("forget", "f", "g", "--reason", "r"), q.Forget(ids=("f", "g"), reason="r")),
        (("forget", "f", "--dry-run"), q.Forget(ids=("f",), dry_run=True)),
        (
            ("forget", "--query", "x", "--limit", "3", "--yes", *WHAT, *FILTER),
            q.Forget(query="x", limit=3, filters=WITH_WHAT, scope=FULL_SCOPE),
        ),
        (("forget", "f", "--user", "u"), q.Forget(ids=("f",), scope=q.Scope(user="u"))),
        (("restore", "f", *WRITE), q.Restore(ids=("f",), **WRITING)),
        (("erase", "f", "g", "--yes", *WRITE), q.Erase(ids=("f", "g"), **WRITING)),
        (("erase", "f"), q.Erase(ids=("f",), dry_run=True)),
        (("erase", "f", "--dry-run"), q.Erase(ids=("f",), dry_run=True)),
        (("erase", "f", "-y", "--no-wait"), q.Erase(ids=("f",), wait=False)),
        (("undo", "e"), q.Undo(id="e")),
        (
            ("undo", "e", "--dry-run", "--cascade", *WRITE),
            q.Undo(id="e", dry_run=True, cascade=True, **WRITING),
        ),
    ]


def judging() -> list[Case]:
    def label(**more: Any) -> q.Label:
        return q.Label(labels=(q.NewLabel(fact="f", old="g", **more),))

    of_all = q.Label(labels=(q.NewLabel(fact="f", old="g", outcome="distinct"),), **WRITING)
    rejudging = ("--extractor", "--judge", "--since", "@3", "--dry-run")
    return [
        (("review",), q.Reviews(limit=50)),
        (
            ("review", "--limit", "3", "--cursor", "c", *SCOPE, *MOMENT),
            q.Reviews(limit=3, cursor="c", scope=FULL_SCOPE, **AT_MOMENT),
        ),
        (("label", "f", "g", "updates"), label(outcome="updates")),
        (("label", "f", "g", "distinct", *WRITE), of_all),
        (("label", "f", "g", "--confirm"), label(confirm=True)),
        (("label", "f", "g", "--reject"), label(confirm=False)),
        (("fit",), q.Fit()),
        (("fit", "--dry-run"), q.Fit(dry_run=True)),
        (("rejudge",), q.Rejudge()),
        (
            ("rejudge", *rejudging),
            q.Rejudge(extractor=True, judge=True, since="@3", dry_run=True),
        ),
    ]


def the_rest() -> list[Case]:
    return [
        (("log",), q.Events(limit=50, newest=True)),
        (
            (
                "log",
                "--since",
                "@3",
                "--type",
                "forgotten",
                "--about",
                "f",
                "--limit",
                "3",
                *MOMENT,
            ),
            q.Events(since="@3", types=("forgotten",), about="f", limit=3, **AT_MOMENT),
        ),
        (("log", "--since", "@3", "--newest"), q.Events(since="@3", limit=50, newest=True)),
        (("diff", "@3"), q.Diff(start="@3")),
        (("diff", "@3", "now", *MOMENT), q.Diff(start="@3", **AT_MOMENT)),
        (("diff", "@3", "@5"), q.Diff(start="@3", end="@5")),
        (("replay", "--at", "@3"), q.Replay(at="@3", verify=False)),
        (("replay", "--at", "@3", "--to", "/x/../y", "--verify"), q.Replay(at="@3", to="/y")),
        (("rebuild",), q.Rebuild()),
        (("reembed",), q.Reembed()),
        (("reembed", "--now"), q.Reembed(now=True)),
        (("reembed", "--status"), q.Reembed(action="status")),
        (("reembed", "--cancel"), q.Reembed(action="cancel")),
        (("rebuild", "facts", "words"), q.Rebuild(views=("facts", "words"))),
        (("verify",), q.Verify()),
        (("verify", "--expect", "h"), q.Verify(expect="h")),
        (("seal",), q.Seal()),
        (("jobs", "--limit", "3", *MOMENT), q.Jobs(limit=3, **AT_MOMENT)),
        (("jobs", "--limit", "3", "--cursor", "c"), q.Jobs(limit=3, cursor="c")),
        (("jobs", "--retry"), q.Retry()),
        (
            ("jobs", "--retry", "a", "b", "--user", "nina"),
            q.Retry(ids=("a", "b"), scope=q.Scope(user="nina")),
        ),
        (("jobs", "--pause"), q.Workers(action="pause", timeout_s=3600)),
        (("jobs", "--resume"), q.Workers(action="resume", timeout_s=3600)),
        (("jobs", "--wait"), q.Workers(action="wait", timeout_s=3600)),
        (("stats",), q.Stats()),
        (("stats", "--store"), q.Stats(store=True)),
        (("configure", "--zone", "Europe/Berlin"), q.Configure(zone="Europe/Berlin")),
        (("accept-clock",), q.AcceptClock()),
        (("nodes",), q.Nodes()),
        (
            (
                *("nodes", "add", "gpu", "--host", "gpu.lan", "--chat", "http://gpu.lan:9"),
                *("--lane", "background", "--slots", "4", "--model", "toy"),
            ),
            q.Nodes(
                action="add",
                name="gpu",
                host="gpu.lan",
                chat="http://gpu.lan:9",
                lanes=("background",),
                slots=4,
                model="toy",
            ),
        ),
        (("nodes", "drain", "gpu"), q.Nodes(action="drain", name="gpu")),
        (("nodes", "remove", "gpu"), q.Nodes(action="remove", name="gpu")),
    ]


def cases() -> list[Case]:
    asked = [*asking(), *answering(), *recent(), *explaining()]
    return [*putting_in(), *asked, *correcting(), *judging(), *the_rest()]


@pytest.mark.parametrize(("args", "request_"), cases(), ids=named)
def test_words_become_a_request(args: tuple[str, ...], request_: q.Request) -> None:
    assert asked(*args) == request_
    elsewhere = msgspec.structs.replace(request_, container="work")
    assert asked("-c", "work", *args) == elsewhere
    assert asked(*args, "--container", "work") == elsewhere


@pytest.mark.parametrize(("args", "request_"), cases(), ids=named)
def test_json_is_the_reply_and_nothing_else(args: tuple[str, ...], request_: q.Request) -> None:
    reply = SAMPLES[ANSWERED_WITH[type(request_).__name__]]
    before, after = run("--json", *args), run(*args, "--json")
    assert before.stdout_bytes == after.stdout_bytes == msgspec.json.encode(reply) + b"\n"
    assert before.stderr == ""
    assert before.exit_code == 0


@pytest.mark.parametrize(("args", "request_"), cases(), ids=named)
def test_a_person_is_told_something(args: tuple[str, ...], request_: q.Request) -> None:
    del request_
    result = run(*args)
    assert result.exit_code == 0
    assert result.stdout.strip()
    assert "\x1b" not in result.stdout


def test_who_need_not_wait_for_vectors_is_told_each_note_once() -> None:
    there = Reembedding(
        model="toy/1", embedder="toy/1", switch=None, unembedded=0, notes=("all are there",)
    )
    result = run("reembed", "--wait", link=FakeLink(Reembed=there))
    assert result.stdout.count("all are there") + result.stderr.count("all are there") == 1


def test_every_command_that_asks_something_is_among_the_cases() -> None:
    elsewhere = {"ingest", "import", "config", "eval", "health", "own", "mcp", "serve"}
    assert {args[0] for args, _ in cases()} == set(COMMANDS) - elsewhere


def test_the_group_knows_the_help_of_every_command() -> None:
    ctx = main.make_context("rewound", ["stats"], resilient_parsing=True)
    for name, entry in COMMANDS.items():
        command = main.get_command(ctx, name)
        assert command is not None
        assert command.name == name
        first = (command.help or "").split("\n\n")[0].replace("\n", " ")
        assert first.startswith(entry.help.rstrip(".")), name


def test_help_of_every_command() -> None:
    for name in COMMANDS:
        result = run(name, "--help")
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith(f"Usage: rewound {name} ")


def test_the_key_of_a_node_comes_from_a_file_and_is_shown_nowhere(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("NODE-CANARY\n")
    args = ("nodes", "add", "gpu", "--host", "gpu.lan", "--key-file", str(file))
    assert asked(*args).api_key == "NODE-CANARY"
    assert "CANARY" not in run(*args).output


@pytest.mark.parametrize(
    ("args", "action"), [(("health",), "list"), (("health", "--deep"), "check")]
)
def test_health_tells_what_does_not_work_and_ends_with_one(
    args: tuple[str, ...], action: str
) -> None:
    link = FakeLink()
    well = run(*args, link=link)
    assert well.exit_code == 0 and well.stdout.startswith("ok\n")
    assert link.requests == [q.Nodes(action=action), q.Workers()]  # type: ignore[arg-type]
    assert "gpu" in well.stdout and "chat: ok" in well.stdout
    ill = msgspec.structs.replace(SAMPLES["NodeList"], degraded=("node gpu does not answer",))
    told = run(*args, link=FakeLink(Nodes=ill))
    assert told.exit_code == 1 and "degraded\nnode gpu does not answer\n" in told.stdout
    assert json.loads(run("--json", *args, link=FakeLink(Nodes=ill)).stdout)["degraded"]


def test_model_servers_can_be_looked_at_before_there_is_a_store(tmp_path: Path) -> None:
    place = tmp_path / "none"
    env = {"REWOUND_DATA": str(place), "XDG_CONFIG_HOME": "/nowhere"}
    with nodes(1) as (server,):
        server.good = lambda told: {"fruit": True}
        env["REWOUND_CHAT_URL"] = server.url

        def told(*args: str) -> Any:
            return CliRunner().invoke(main, [*args], obj=State(), env=env)

        assert f"chat  chat  up  {server.url}" in told("nodes").stdout
        deep = told("health", "--deep")
        assert deep.exit_code == 0 and "chat: ok" in deep.stdout
        assert f"there is no store in {place} yet" in deep.output
        assert place.name in json.loads(told("--json", "health").stdout)["notes"][0]
        server.status = 401
        assert told("health", "--deep").exit_code == 1
        refused = told("nodes", "add", "b", "--chat", server.url)
        assert refused.exit_code == 2 and "there is no store in" in refused.output
    assert not place.exists()


def test_texts_from_standard_input() -> None:
    (fact,) = asked("remember", "-", input="Nina works\nat Orbit.\n").facts
    assert fact.text == "Nina works\nat Orbit."
    assert asked("update", "f", "-", input="New\r\n").text == "New"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"caf\xe9", "not UTF-8"),
        (b"a\0b", "binary"),
        (b"", "standard input is empty"),
        (b"x" * (2 << 20), "longer than 1 MiB"),
    ],
)
def test_standard_input_that_is_no_text(raw: bytes, words: str) -> None:
    result = run("remember", "-", input=raw, env={"REWOUND_MAX_TEXT_MB": "1"})
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


def test_all_pages_are_one_document() -> None:
    first = msgspec.structs.replace(SAMPLES["Page"], items=(fake.OLD_VIEW,))
    last = msgspec.structs.replace(first, items=(fake.VIEW,), has_more=False, cursor=None)

    def answer(request: q.List) -> Any:
        return last if request.cursor == "abc" else first

    link = FakeLink(List=answer)
    result = run("list", "--all", "--json", "--tag", "x", link=link)
    told = json.loads(result.stdout)
    assert [item["id"] for item in told["items"]] == [fake.OLD, fake.FACT]
    assert told["has_more"] is False
    assert [(request.cursor, request.limit) for request in link.requests] == [
        (None, 500),
        ("abc", 500),
    ]
    assert all(request.filters.tags == ("x",) for request in link.requests)


class Stop(Exception):
    """Ends a `log --follow`, which otherwise goes on for ever."""


def test_follow_tells_each_event_once_and_one_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewound.http.cli_past.FOLLOW_EVERY_S", 0)
    events = [msgspec.structs.replace(fake.TOLD, position=n) for n in range(1, 6)]

    def answer(request: q.Events) -> Any:
        if request.after >= 5:
            raise KeyboardInterrupt
        told = SAMPLES["Told"]
        if request.newest:
            return msgspec.structs.replace(
                told, events=tuple(events[1:2]), next=None, moment=fake.NOW.__class__(position=2)
            )
        after = request.after
        return msgspec.structs.replace(
            told,
            events=tuple(events[after : after + 2]),
            next=None,
            moment=fake.NOW.__class__(position=min(after + 2, 5)),
        )

    result = run("log", "--follow", "--json", link=FakeLink(Events=answer))
    assert [json.loads(line)["position"] for line in result.stdout.splitlines()] == [2, 3, 4, 5]
    assert result.exit_code == 130
    text = run("log", "--follow", link=FakeLink(Events=answer)).stdout
    assert [line.split()[0] for line in text.splitlines()] == ["@2", "@3", "@4", "@5"]
    assert run("log", "--follow", "--as-of", "@3").exit_code == 2


def test_forgetting_by_query_without_a_person_only_shows() -> None:
    link = FakeLink()
    result = run("forget", "--query", "orbit", "--key", "k", link=link)
    assert result.exit_code == 2
    assert "add --yes" in result.stderr
    (request,) = link.requests
    assert request.dry_run is True
    assert request.key is None
    link = FakeLink()
    result = run("forget", "--tag", "x", "--json", link=link)
    assert json.loads(result.stdout)["count"] == 2
    assert json.loads(result.stderr)["field"] == "yes"


def test_forgetting_one_item_by_query_needs_no_asking() -> None:
    one = msgspec.structs.replace(fake.FORGOT, count=1)
    link = FakeLink(Forget=one)
    assert run("forget", "--query", "orbit", link=link).exit_code == 0
    assert [q.only_tells(request) for request in link.requests] == [True, False]


@pytest.mark.parametrize(("said", "done"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks(monkeypatch: pytest.MonkeyPatch, said: str, done: bool) -> None:
    monkeypatch.setattr(
        "click.testing._NamedTextIOWrapper.isatty", lambda self: True, raising=False
    )
    link = FakeLink()
    result = run("forget", "--tag", "x", link=link, input=said)
    assert "Forget 2 items?" in result.stderr
    assert result.exit_code == (0 if done else 1)
    assert [q.only_tells(request) for request in link.requests] == (
        [True, False] if done else [True]
    )
    if done:  # what is forgotten must be what was shown
        assert link.requests[1].unless_after == fake.FORGOT.position


def test_erasing_without_yes_says_that_nothing_was_done() -> None:
    result = run("erase", fake.FACT)
    assert result.exit_code == 0
    assert "nothing was erased: add --yes" in result.stderr
    assert "nothing was erased" not in run("erase", fake.FACT, "--yes").stderr
    both = run("erase", fake.FACT, "--yes", "--dry-run")
    assert both.exit_code == 2 and "give one of them" in both.stderr


@pytest.mark.parametrize("more", [(), ("updates", "--confirm"), ("updates", "--reject")])
def test_a_label_says_one_thing(more: tuple[str, ...]) -> None:
    link = FakeLink()
    result = run("label", "f", "g", *more, link=link)
    assert result.exit_code == 2
    assert "--confirm or --reject" in result.stderr
    assert link.requests == []
    assert "'replaces'" in run("label", "f", "g", "replaces").stderr


def test_damage_and_disagreement_end_with_1() -> None:
    finding = Finding(container="default", position=3, problem="a flipped bit")
    bad = msgspec.structs.replace(SAMPLES["Verified"], ok=False, findings=(finding,))
    result = run("verify", link=FakeLink(Verify=bad))
    assert result.exit_code == 1
    assert "DAMAGED" in result.stdout
    assert "a flipped bit" in result.stdout
    unexpected = msgspec.structs.replace(SAMPLES["Verified"], expected=False)
    assert run("verify", "--expect", "h", link=FakeLink(Verify=unexpected)).exit_code == 1
    off = msgspec.structs.replace(SAMPLES["Replayed"], agrees=False, differences=("facts: 1",))
    assert run("replay", "--at", "@3", "--verify", link=FakeLink(Replay=off)).exit_code == 1


def test_a_new_container_gets_the_zone_of_the_settings() -> None:
    env: dict[str, str | None] = {"REWOUND_ZONE": "Asia/Tokyo"}
    missing = fake_error("not_found", "there is no container 'default'", field="container")
    link = FakeLink(Stats=missing)
    assert run("remember", "x", link=link, env=env).exit_code == 0
    assert [type(request).__name__ for request in link.requests] == [
        "Stats",
        "Configure",
        "Remember",
    ]
    assert link.requests[1].zone == "Asia/Tokyo"
    link = FakeLink()
    run("remember", "x", link=link, env=env)
    assert [type(request).__name__ for request in link.requests] == ["Stats", "Remember"]
    assert asked("configure", env=env).zone == "Asia/Tokyo"


def fake_error(code: str, message: str, **more: Any) -> Exception:
    from rewound.eventlog.errors import ERRORS_BY_CODE

    return ERRORS_BY_CODE[code](message, **more)


def test_the_link_is_closed_whatever_happens() -> None:
    errors: list[fake.Answer] = [fake_error("damaged", "torn"), ValueError("bug")]
    for answers in ({}, {"Stats": errors[0]}, {"Stats": errors[1]}):
        link = FakeLink(**answers)
        run("stats", link=link)
        assert link.closed


@pytest.mark.parametrize(
    ("args", "settled"),
    [
        (("remember", "x"), True),
        (("ingest", "-"), True),
        (("jobs", "--retry"), True),
        (("search", "x"), False),
        (("forget", "x"), False),
    ],
)
def test_what_was_sent_waits_for_its_facts(args: tuple[str, ...], settled: bool) -> None:
    link = FakeLink()
    assert run(*args, link=link, input="text").exit_code == 0
    assert link.settled is settled
