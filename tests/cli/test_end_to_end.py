"""Every command on a real store, and the same answers as the library gives."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from rewound.eventlog.events import Outcome
from rewound.http.chats import Sorter
from rewound.http.cli import COMMANDS, main
from rewound.http.cli_errors import EXITS
from rewound.memory import Memory
from tests.integration import judging
from tests.integration.speaking import speaking

CHAT = [
    {
        "id": "m1",
        "conversation": "planning",
        "role": "user",
        "name": "Nina",
        "content": "The launch moved to May.",
        "time": "2026-03-02T10:00:00Z",
    },
    {"id": "m2", "conversation": "planning", "role": "assistant", "content": "Noted."},
    {"conversation": "garden", "name": "Omar", "content": "The tomatoes need water."},
]

Cli = Callable[..., Result]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def cli(data: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Runs one command on the store; each opens and closes it, as separate processes would."""
    for name in list(os.environ):
        if name.startswith("REWOUND_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    monkeypatch.setenv("REWOUND_DATA", str(data))
    monkeypatch.setenv("REWOUND_EMBEDDER", "none")
    monkeypatch.setenv("REWOUND_EXTRACTOR", "none")
    monkeypatch.setenv("REWOUND_JUDGE", "none")
    monkeypatch.setattr("rewound.http.cli_base.SETTLE_S", 60.0)  # however slow the machine

    def run(*args: str, code: int = 0, **more: Any) -> Result:
        result = CliRunner().invoke(main, [str(arg) for arg in args], **more)
        assert result.exit_code == code, result.output
        if code:
            assert "Traceback" not in result.output
            assert "internal error" not in result.stderr
        return result

    return run


def told(cli: Cli, *args: str, **more: Any) -> Any:
    return json.loads(cli("--json", *args, **more).stdout)


@pytest.fixture
def fact(cli: Cli) -> str:
    written = told(cli, "remember", "Nina works at Harbor Foods.", "--said-at", "2026-03-01")
    return str(written["items"][0]["id"])


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_statement_is_found_corrected_and_looked_back_at(cli: Cli, fact: str) -> None:
    found = told(cli, "search", "where does Nina work")
    assert [hit["text"] for hit in found["hits"]] == ["Nina works at Harbor Foods."]
    updated = told(cli, "update", fact, "Nina works at Orbit Labs.", "--said-at", "2026-05-01")
    event = updated["items"][0]["event"]
    new = told(cli, "search", "where does Nina work")["hits"]
    assert [hit["text"] for hit in new] == ["Nina works at Orbit Labs."]
    before = told(cli, "search", "where does Nina work", "--as-of", f"@{updated['position'] - 1}")
    assert before["hits"][0]["text"] == "Nina works at Harbor Foods."
    then = told(cli, "search", "where does Nina work", "--valid-at", "2026-04-01")["hits"]
    assert [hit["text"] for hit in then] == ["Nina works at Harbor Foods."]
    both = told(cli, "list", "--include-superseded")["items"]
    assert [item["standing"]["state"] for item in both] == ["superseded", "current"]
    history = cli("history", fact).stdout
    assert history.index("Harbor Foods") < history.index("Orbit Labs")
    assert "superseded 2026-05-01" in history
    text = cli("show", fact).stdout
    assert "superseded 2026-05-01 by fact_" in text
    undone = told(cli, "undo", event)
    assert undone["dropped"] == [event]
    assert told(cli, "search", "Nina work")["hits"][0]["text"] == "Nina works at Harbor Foods."
    cli("undo", event, code=3)
    told(cli, "undo", undone["event"])
    assert told(cli, "search", "Nina work")["hits"][0]["text"] == "Nina works at Orbit Labs."


def test_a_question_is_answered_with_what_says_so(
    cli: Cli, fact: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = "where does Nina work"
    answer, _, source, about, named, *_ = cli("ask", asked).stdout.splitlines()
    assert answer == "Nina works at Harbor Foods. [1]"
    assert source.split("]")[0] == "[1" and source.endswith("Nina works at Harbor Foods.")
    assert "2026-03-01" in about and fact in named
    same = told(cli, "ask", asked)
    assert same["text"] == answer and same["used"] == [fact]
    with Memory(data) as memory:
        assert json.loads(msgspec.json.encode(memory.ask(asked))) == same
    unknown = cli("ask", "what is the capital of France").stdout
    assert unknown.startswith("I don't know.\nnothing that is stored fits the question\n")
    assert not told(cli, "ask", asked, "--confidence", "1")["answered"]
    assert "confidence" in cli("ask", asked, "--confidence", "2", code=2).stderr
    cli("ask", asked, "-c", "elsewhere", code=2)
    with speaking() as speaker:
        speaker.pieces = ("Nina works at Harbor Foods [1]. She paints [1].", " Then \x1b[2J [1].")
        monkeypatch.setenv("REWOUND_ANSWERER", "model")
        monkeypatch.setenv("REWOUND_CHAT_URL", speaker.url)
        shown = cli("ask", asked).stdout
    assert shown.count("Nina works at Harbor Foods. [1]\n") == 1, "told once, as it came"
    assert shown.count("withheld a sentence") == 2 and "paints" not in shown
    assert "\x1b" not in shown


def test_facts_are_there_when_a_command_that_wrote_has_ended(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWOUND_EXTRACTOR", "rules")
    file = tmp_path / "chat.jsonl"
    file.write_text(lines(CHAT), encoding="utf-8")
    cli("import", str(file))
    found = told(cli, "list")["items"]
    assert any("May" in fact["text"] and fact["sources"] for fact in found)
    assert told(cli, "jobs")["pending"] == 0
    assert told(cli, "jobs", "--pause")["state"] == "paused"
    written = told(cli, "ingest", "-", input="Nina works at Harbor Foods.")
    assert written["counts"]["written"] == 1
    assert told(cli, "jobs")["pending"] == 1
    assert told(cli, "jobs", "--resume")["state"] == "running"
    waited = told(cli, "jobs", "--wait")
    assert (waited["pending"], waited["extractor"].partition("/")[0]) == (0, "rules")
    assert "Harbor Foods" in cli("search", "where does Nina work", "--what", "fact").stdout
    assert "nothing has failed here" in cli("jobs", "--retry", code=EXITS["not_found"]).stderr
    assert "--retry" in cli("jobs", "not-an-id", code=2).stderr


def test_forgetting_restoring_and_erasing(cli: Cli, fact: str) -> None:
    cli("remember", "Omar likes tea.", "--tag", "drinks")
    cli("remember", "Omar likes cake.", "--tag", "drinks")
    preview = cli("forget", "--tag", "drinks", code=2)
    assert "2 items would be forgotten" in preview.stdout
    assert "add --yes" in preview.stderr
    assert told(cli, "list")["total"] == 3
    assert "2 items forgotten" in cli("forget", "--tag", "drinks", "--yes").stdout
    assert told(cli, "list")["total"] == 1
    assert told(cli, "list", "--include-forgotten")["total"] == 3
    cli("forget", fact)
    assert told(cli, "search", "Nina")["hits"] == []
    assert told(cli, "search", "Nina", "--as-of", "@2")["hits"] == []
    cli("forget", fact, code=3)
    assert "1 item restored" in cli("restore", fact).stdout
    assert len(told(cli, "search", "Nina")["hits"]) == 1
    dry = cli("erase", fact)
    assert "would be erased" in dry.stdout
    assert "nothing was erased" in dry.stderr
    assert len(told(cli, "search", "Nina")["hits"]) == 1
    assert told(cli, "erase", fact, "--yes")["compaction"] == "done"
    assert told(cli, "search", "Nina", "--include-forgotten")["hits"] == []
    cli("verify")


def test_why_and_the_undo_that_it_names(
    cli: Cli, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWOUND_JUDGE", "rules")
    new = told(cli, "remember", "Nina now works at Orbit Labs.", "--said-at", "2026-05-01")
    new_id = new["items"][0]["id"]
    cli("jobs", "--wait")
    why = told(cli, "why", fact)
    assert why["item"]["standing"]["by"] == new_id
    assert [verdict["fact"] for verdict in why["against"]] == [new_id]
    text = cli("why", fact).stdout
    assert "superseded 2026-05-01" in text and "updates" in text
    (step,) = [step for step in why["steps"] if step["type"] == "fact superseded"]
    assert step["undo"] in text
    cli(*step["undo"].split()[1:])
    assert told(cli, "show", fact)["item"]["standing"] == {"state": "current"}
    assert "undone by ev_" in cli("why", fact).stdout
    assert told(cli, "why", fact, "--as-of", "@2")["against"] == []
    refused(cli("why", new["items"][0]["event"], code=2), "an event")


def test_a_review_is_decided_and_the_decision_taken_back(cli: Cli, data: Path, fact: str) -> None:
    told(cli, "remember", "Nina is at Orbit Labs.", "--said-at", "2026-05-01")
    new = told(cli, "list")["items"][1]["id"]
    with judging.opened(data) as store:
        judging.judge(store, new, [(fact, Outcome.REVIEW, 610)])
    (review,) = told(cli, "review")["reviews"]
    assert (review["fact"], review["old"], review["leaning"]) == (new, fact, "updates")
    text = cli("review").stdout
    assert f"rewound label {new} {fact} updates" in text and "cosine 0.80" in text
    labelled = told(cli, "label", new, fact, "--confirm")
    assert labelled["labels"][0]["outcome"] == "updates"
    assert told(cli, "review")["total"] == 0
    assert told(cli, "show", fact)["item"]["standing"]["state"] == "superseded"
    cli("undo", labelled["labels"][0]["event"])
    assert told(cli, "review")["total"] == 1
    assert told(cli, "show", fact)["item"]["standing"]["state"] == "current"
    told(cli, "label", new, fact, "distinct")
    assert told(cli, "list")["total"] == 2
    fitted = told(cli, "fit")
    assert (fitted["accepted"], fitted["labels"]) == (False, 1)
    assert "stays as it is (1 label)" in cli("fit", "--dry-run").stdout
    refused(cli("label", new, new, "updates", code=2), "not compared")


def test_going_over_the_past_again(cli: Cli, fact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told(cli, "remember", "Nina now works at Orbit Labs.", "--said-at", "2026-05-01")
    monkeypatch.setenv("REWOUND_JUDGE", "rules")
    told(cli, "jobs", "--wait")
    before = told(cli, "stats")["events"]
    shown = told(cli, "rejudge", "--dry-run")
    assert (shown["dry_run"], shown["judged"], shown["group"]) == (True, 2, None)
    assert told(cli, "stats")["events"] == before
    assert told(cli, "rejudge", "--judge")["judged"] == 2
    assert told(cli, "show", fact)["item"]["standing"]["state"] == "superseded"


def test_timelines_and_the_graph(cli: Cli) -> None:
    about = ("--subject", "Nina", "--attribute", "employer")
    dated = ("--valid-from", "2026-03-01", "--valid-to", "2026-05-01")
    cli("remember", "Nina works at Harbor Foods.", *about, "--value", "Harbor Foods", *dated)
    cli("remember", "Nina works at Orbit Labs.", *about, "--value", "Orbit Labs")
    (line,) = told(cli, "timeline", "Nina", "employer")["lines"]
    assert [period["value"] for period in line["periods"]] == ["Harbor Foods", "Orbit Labs"]
    assert "2026-03-01 – 2026-05-01" in cli("timeline", "Nina").stdout
    nodes = told(cli, "graph", "Nina", "--valid-at", "2026-04-01")["nodes"]
    assert "Harbor Foods" in [node["name"] for node in nodes]
    path = told(cli, "graph", "Harbor Foods", "--to", "Nina", "--valid-at", "2026-04-01")["path"]
    assert path == ["Harbor Foods", "Nina"]


def test_folders_go_in_change_and_are_pruned(cli: Cli, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "sub").mkdir(parents=True)
    (notes / "a.md").write_text("# Antennas\n\nNina leads the antenna team.\n")
    (notes / "sub/b.txt").write_text("The greenhouse stands behind the barn.\n")
    (notes / "x.png").write_bytes(b"\x89PNG\0")
    (notes / "etc").symlink_to("/etc")
    first = told(cli, "ingest", str(notes))
    assert (first["counts"]["written"], first["counts"]["skipped"]) == (2, 2)
    (hit, *_) = told(cli, "search", "antenna team")["hits"]
    source = hit["sources"][0]
    assert (source["title"], source["caller_id"]) == ("Antennas", "notes/a.md")
    assert "Antennas · chars " in cli("search", "antenna team").stdout
    assert told(cli, "ingest", str(notes))["counts"]["unchanged"] == 2
    (notes / "a.md").write_text("# Antennas\n\nOmar leads the antenna team.\n")
    assert told(cli, "ingest", str(notes))["counts"]["replaced"] == 1
    assert "Omar" in told(cli, "search", "antenna team")["hits"][0]["text"]
    (notes / "sub/b.txt").unlink()
    removed = told(cli, "ingest", str(notes), "--prune")["removed"]
    assert [item["caller_id"] for item in removed] == ["notes/sub/b.txt"]
    assert told(cli, "list", "--what", "document")["total"] == 1
    assert told(cli, "search", "greenhouse")["hits"] == []
    told(cli, "undo", removed[0]["event"])
    assert len(told(cli, "search", "greenhouse")["hits"]) == 1


def test_a_large_file_and_one_changed_line(cli: Cli, tmp_path: Path) -> None:
    """R17: 50,000 lines with three that matter; then a version with only the first one changed."""
    file = tmp_path / "big.txt"
    rows = [f"{number} filler line about nothing" for number in range(1, 20_001)]
    rows[6] = "The code word of the vault is marzipan."
    rows[9_999] = "The dog of the lighthouse is named Biscuit."
    rows[19_992] = "The ferry to Solvik leaves at noon."
    file.write_text("\n".join(rows))
    assert told(cli, "ingest", str(file))["counts"]["written"] == 1
    for query, word in (("vault", "marzipan"), ("lighthouse dog", "Biscuit"), ("Solvik", "noon")):
        assert word in told(cli, "search", query, "--limit", "1")["hits"][0]["text"]
    rows[6] = "The code word of the vault is nougat."
    file.write_text("\n".join(rows))
    assert told(cli, "ingest", str(file))["counts"]["replaced"] == 1
    texts = " ".join(hit["text"] for hit in told(cli, "search", "vault code word")["hits"])
    assert "nougat" in texts
    assert "marzipan" not in texts
    assert len(told(cli, "search", "Solvik")["hits"]) == 1


def test_a_chat_goes_in_once_with_speakers_and_times(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(lines(CHAT))
    assert told(cli, "import", str(file))["counts"]["written"] == 3
    again = told(cli, "import", str(file))
    assert (again["counts"]["written"], again["counts"]["unchanged"]) == (0, 3)
    file.write_text(lines([*CHAT, {"conversation": "garden", "content": "Done."}]))
    assert told(cli, "import", str(file))["counts"]["written"] == 1
    result = cli("search", "launch May")
    assert "Nina, 2026-03-02 in “planning”" in result.stdout
    bad = cli("import", "-", input='{"content": "ok"}\n{"nope": 1}\n', code=2)
    assert "line 2" in bad.stdout
    assert told(cli, "list", "--what", "message")["total"] == 5


def test_a_long_conversation_without_ids_is_not_doubled(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is sent in several batches, and each is recognised when it comes again."""
    monkeypatch.setattr("rewound.http.feeding.Sorter", lambda: Sorter(messages_max=10))
    rows = [{"content": "Yes." if number % 3 else f"Line {number}"} for number in range(47)]
    file = tmp_path / "chat.jsonl"
    file.write_text(lines(rows))
    assert told(cli, "import", str(file))["counts"]["written"] == 47
    assert told(cli, "import", str(file))["counts"]["unchanged"] == 47
    file.write_text(lines([*rows, {"content": "The end."}]))
    counts = told(cli, "import", str(file))["counts"]
    assert (counts["written"], counts["unchanged"]) == (1, 47)


def test_looking_back(cli: Cli, fact: str, tmp_path: Path) -> None:
    cli("update", fact, "Nina works at Orbit Labs.")
    cli("remember", "Omar grows tomatoes.")
    log = cli("log").stdout.splitlines()
    assert [line.split()[0] for line in log] == sorted(
        (line.split()[0] for line in log), key=lambda at: int(at[1:])
    )
    assert any("fact edited" in line and "Orbit Labs" in line for line in log)
    only = told(cli, "log", "--type", "fact edited")["events"]
    assert [event["type"] for event in only] == ["fact edited"]
    about = told(cli, "log", "--about", fact)["events"]
    assert len(about) == 2
    assert told(cli, "log", "--since", "@3", "--limit", "1")["events"][0]["position"] == 3
    diff = told(cli, "diff", "@2", "now")
    assert any("Omar" in (change["text"] or "") for change in diff["learned"])
    assert "learned" in cli("diff", "@2").stdout
    for at in ("@2", "@3", only[0]["id"]):
        assert told(cli, "replay", "--at", at, "--verify")["agrees"] is True
    then = tmp_path / "then"
    assert told(cli, "replay", "--at", "@2", "--to", str(then))["to"] == str(then)
    past = told(cli, "--data", str(then), "search", "Nina")["hits"]
    assert [hit["text"] for hit in past] == ["Nina works at Harbor Foods."]


def test_looking_after_the_store(cli: Cli, fact: str) -> None:
    head = told(cli, "seal")["head"]
    assert told(cli, "verify", "--expect", head)["expected"] is True
    other = head[:-1] + ("0" if head[-1] != "0" else "1")
    assert "NOT in the log" in cli("verify", "--expect", other, code=1).stdout
    refused(cli("verify", "--expect", "nonsense", code=2), "expect")
    assert told(cli, "verify")["ok"] is True
    assert told(cli, "rebuild")["equal"] is True
    assert "no embedder is set" in cli("reembed", code=3).stderr
    assert told(cli, "stats")["container"] == "default"
    assert told(cli, "stats", "--store")["containers"] == 1
    assert told(cli, "jobs")["pending"] == 0
    cli("configure", "-c", "travel", "--zone", "Asia/Tokyo")
    listed = {one["name"]: one["zone"] for one in told(cli, "containers")["containers"]}
    assert listed == {"default": "UTC", "travel": "Asia/Tokyo"}
    assert "travel" in cli("containers").stdout
    cli("configure", "--zone", "Mars/Olympus", code=2)
    assert told(cli, "accept-clock")["reply"] == "Accepted"
    for command in (("seal",), ("rebuild",), ("stats",), ("jobs",), ("verify",), ("config",)):
        assert cli(*command).stdout.strip()
    assert told(cli, "context", "Nina", "--budget", "100")["tokens"] <= 100


def test_the_zone_of_the_settings_goes_to_new_containers(cli: Cli) -> None:
    cli("remember", "x", "-c", "old")
    zone = {"REWOUND_ZONE": "Asia/Tokyo"}
    cli("remember", "y", "-c", "old", env=zone)
    cli("remember", "z", "-c", "new", env=zone)
    listed = {one["name"]: one["zone"] for one in told(cli, "containers")["containers"]}
    assert listed == {"old": "UTC", "new": "Asia/Tokyo"}


def test_a_key_makes_a_retry_safe(cli: Cli) -> None:
    first = told(cli, "remember", "once", "--key", "k1")
    assert told(cli, "remember", "once", "--key", "k1") == first
    cli("remember", "other", "--key", "k1", code=3)
    assert told(cli, "list")["total"] == 1


def test_scopes_narrow_what_is_read(cli: Cli) -> None:
    cli("remember", "Nina likes tea.", "--user", "nina")
    cli("remember", "Omar likes tea.", "--user", "omar")
    assert [hit["text"] for hit in told(cli, "search", "tea", "--user", "nina")["hits"]] == [
        "Nina likes tea."
    ]
    assert told(cli, "list")["total"] == 2


# --- what bad input gets


BLANK = ["", " ", "\n\t"]
LIMITS = ["0", "-1", "1000000", "abc", "1.5", "99999999999999999999999"]
TIMES = ["yesterday", "2026-13-01", "2026-02-30", "25:00", "@", "@x", "@999", "", "2026-03-01T10"]
KINDS = ["event", "document", "nonsense"]


@pytest.fixture
def ids(cli: Cli, fact: str) -> dict[str, str]:
    """Of each kind one id."""
    event = told(cli, "log", "--about", fact)["events"][0]
    document = told(cli, "ingest", "-", input="A page about nothing.\n")["items"][0]["id"]
    cli("import", "-", input=lines(CHAT))
    message = told(cli, "list", "--what", "message")["items"][0]["id"]
    return {
        "fact": fact,
        "event": event["id"],
        "group": event["group"],
        "document": document,
        "message": message,
        "missing": "ev_01jdzy3m8q3v2k7x4w5e6t7y8z",
        "missing fact": "fact_01jdzy3m8q3v2k7x4w5e6t7y8z",
        "nonsense": "nonsense",
        "long": "x" * 2000,
    }


def refused(result: Result, *words: str) -> None:
    """One line that says what is wrong, and nothing on stdout."""
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize("query", BLANK)
def test_a_blank_query(cli: Cli, fact: str, query: str) -> None:
    refused(cli("search", query, code=2), "query")
    refused(cli("context", query, code=2), "query")
    refused(cli("forget", "--query", query, code=2), "query")


@pytest.mark.parametrize("limit", LIMITS)
def test_a_bad_limit(cli: Cli, fact: str, limit: str) -> None:
    for command in (("search", "x"), ("list",), ("log",), ("jobs",), ("containers",)):
        refused(cli(*command, f"--limit={limit}", code=2), "limit")
    refused(cli("context", "x", f"--budget={limit}", code=2), "budget")


@pytest.mark.parametrize("moment", TIMES)
def test_a_malformed_time(cli: Cli, fact: str, moment: str) -> None:
    for option in ("--as-of", "--valid-at", "--since", "--until"):
        refused(cli("search", "x", option, moment, code=2))
    refused(cli("remember", "x", "--said-at", moment, code=2), "said_at")
    refused(cli("replay", "--at", moment, code=2))
    refused(cli("diff", moment, code=2))
    assert told(cli, "list")["total"] == 1


def test_unknown_options_containers_events_and_views(cli: Cli, ids: dict[str, str]) -> None:
    refused(cli("search", "x", "--colour", "red", code=2), "--colour")
    refused(cli("search", "x", "-c", "nowhere", code=2), "nowhere")
    refused(cli("undo", ids["missing"], code=2), ids["missing"])
    refused(cli("show", ids["missing fact"], code=2), ids["missing fact"])
    refused(cli("search", "x", "--as-of", ids["missing"], code=2))
    refused(cli("rebuild", "frobs", code=2), "the views are", "facts")
    refused(cli("log", "--type", "fact forgoten", code=2), "forgotten")


def test_the_wrong_kind_of_id_says_which_kind_it_is(cli: Cli, ids: dict[str, str]) -> None:
    refused(cli("undo", ids["fact"], code=2), "a fact")
    refused(cli("undo", ids["document"], code=2), "a document")
    refused(cli("update", ids["event"], "New text.", code=2), "an event")
    refused(cli("search", "x", "--as-of", ids["message"], code=2), "a message")
    for command in ("show", "history", "undo", "forget", "restore"):
        refused(cli(command, ids["nonsense"], code=2))
        refused(cli(command, ids["long"], code=2))
        assert len(cli(command, ids["long"], code=2).stderr) < 500


def test_texts_that_are_no_text(cli: Cli, fact: str) -> None:
    refused(cli("remember", "half \udcff", code=2), "TEXT")
    refused(cli("search", "half \ud83d", code=2), "QUERY")
    refused(cli("remember", "x", "--tag", "\udcff", code=2), "tag")
    refused(cli("remember", "-", input=b"nul \0 byte", code=2))
    refused(cli("remember", "-", input=b"raw \xff byte", code=2))
    refused(cli("remember", "x", "--id", "a\0b", code=2))
    refused(cli("search", "a\0b", code=2), "query")
    assert told(cli, "list")["total"] == 1
    cli("remember", "odd \ufffe \u202e \u2028 text")
    last = cli("log", "--json").stdout
    assert last.count("\n") == 1
    assert "\u202e" not in cli("list").stdout


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_megabytes_of_one_word(cli: Cli, fact: str) -> None:
    word = "x" * 10_000_000
    refused(cli("remember", "-", input=word, code=2), "max_text_mb")
    env = {"REWOUND_MAX_TEXT_MB": "16"}
    refused(cli("remember", "-", input=word, env=env, code=2), "text", "ingest it")
    assert told(cli, "ingest", "-", input=word, env=env)["counts"]["written"] == 1
    assert len(told(cli, "search", "Nina")["hits"]) == 1
    cli("verify")


def test_very_long_things(cli: Cli, fact: str) -> None:
    cli("remember", "Long id.", "--id", "i" * 2000)
    refused(cli("remember", "Too long.", "--id", "i" * 2001, code=2), "id")
    cli("remember", "Long tag.", "--tag", "t" * 600)
    refused(cli("remember", "Too long.", "--tag", "t" * 1001, code=2), "tag")
    refused(cli("remember", "x", "-c", "c" * 300, code=2), "container")
    refused(cli("search", "y" * 40_000, code=2), "query")
    cli("verify")


@pytest.mark.parametrize(
    "query",
    [
        *("multi-agent", "don't", "src/main.py", '"', "C++", "a:b", "(", "*", "NEAR(", "AND"),
        *("-foo", "col:x", "{a b}", "C:\\tmp\\x", "z" * 10_000),
    ],
)
def test_any_text_is_a_query(cli: Cli, query: str) -> None:
    cli("remember", f"Something with {query[:50]} inside.", "-c", "a-b")
    found = told(cli, "search", "-c", "a-b", "--", query)
    if len(query) < 50 and query not in ('"', "(", "*"):
        assert found["hits"], query


@pytest.mark.parametrize(
    "name", ["../../etc", "..%2f..%2fetc", "..\\..\\x", "/etc/passwd", "a/../../b", "~root", "CON"]
)
def test_names_never_leave_the_data_folder(cli: Cli, data: Path, tmp_path: Path, name: str) -> None:
    cli("remember", "A fact.", "-c", name, "--id", name, "--tag", name)
    assert told(cli, "list", "-c", name)["total"] == 1
    cli("ingest", "-", "-c", name, "--as", name, input="A text.\n")
    assert {path.name for path in tmp_path.iterdir()} == {"store"}
    assert all("etc" not in path.name for path in data.rglob("*"))


def test_a_data_folder_that_cannot_be(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    refused(cli("--data", str(file), "remember", "x", code=2), "folder")
    refused(cli("--data", str(file / "below"), "remember", "x", code=2))
    refused(cli("--data", "/dev/null/x", "stats", code=2))


# --- the same as the library


QUESTIONS: list[tuple[tuple[str, ...], Callable[[Memory], Any]]] = [
    (("search", "Nina work"), lambda m: m.search("Nina work")),
    (("search", "launch", "--limit", "1"), lambda m: m.search("launch", limit=1)),
    (("search", "tea", "--tag", "drinks"), lambda m: m.search("tea", tags=["drinks"])),
    (("context", "Nina", "--budget", "200"), lambda m: m.context("Nina", budget=200)),
    (("list", "--limit", "100"), lambda m: m.list()),
    (("stats",), lambda m: m.stats()),
    (("containers",), lambda m: m.containers()),
    (("diff", "@2", "@4"), lambda m: m.diff("@2", "@4")),
    (("jobs", "--limit", "100"), lambda m: m.jobs()),
    (("review", "--limit", "100"), lambda m: m.reviews()),
    (("timeline", "Nina"), lambda m: m.timeline("Nina")),
    (("graph", "Nina", "--depth", "2"), lambda m: m.graph("Nina", depth=2)),
]


def test_answers_equal_the_librarys_byte_for_byte(cli: Cli, data: Path, fact: str) -> None:
    cli("import", "-", input=lines(CHAT))
    cli("remember", "Omar likes tea.", "--tag", "drinks")
    cli("update", fact, "Nina works at Orbit Labs.")
    ours = [cli(*args, "--json").stdout_bytes for args, _ in QUESTIONS]
    ours += [cli(name, fact, "--json").stdout_bytes for name in ("show", "history", "why")]
    with Memory(data) as memory:
        theirs = [msgspec.json.encode(ask(memory)) + b"\n" for _, ask in QUESTIONS]
        of_one = (memory.get, memory.history, memory.why)
        theirs += [msgspec.json.encode(ask(fact)) + b"\n" for ask in of_one]
        # and through the socket of an owner in another thread of this process
        shared = [cli(*args, "--json").stdout_bytes for args, _ in QUESTIONS]
    assert ours == theirs
    assert shared == theirs[: len(shared)]


# --- as separate processes


def spawn(data: Path, *args: str) -> "subprocess.Popen[str]":
    env = {k: v for k, v in os.environ.items() if not k.startswith("REWOUND_")}
    env |= {"REWOUND_DATA": str(data), "XDG_CONFIG_HOME": "/nowhere", "PYTHONUNBUFFERED": "1"}
    env |= {f"REWOUND_{name}": "none" for name in ("EMBEDDER", "EXTRACTOR", "JUDGE")}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "rewound.http", *args],
        stdout=pipe,
        stderr=pipe,
        env=env,
        text=True,
    )


def first_line(running: "subprocess.Popen[str]") -> str:
    assert running.stdout is not None
    return running.stdout.readline()


@pytest.fixture
def owner(data: Path) -> Iterator["subprocess.Popen[str]"]:
    with spawn(data, "own", "--json") as running:
        yield running
        if running.poll() is None:
            running.kill()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("heeding_interrupts")
def test_an_owner_serves_others_until_it_is_stopped(
    cli: Cli, data: Path, owner: "subprocess.Popen[str]", how: signal.Signals
) -> None:
    said = json.loads(first_line(owner))
    assert said["reply"] == "Owning"
    assert (said["data"], said["pid"]) == (str(data), owner.pid)
    assert Path(said["socket"]).is_socket()
    cli("remember", "Nina works at Orbit Labs.")
    refused(cli("search", "x", "--limit", "0", code=2), "limit")
    owner.send_signal(how)
    assert owner.wait(30) == 0
    assert not Path(said["socket"]).exists()
    assert len(told(cli, "search", "Nina")["hits"]) == 1


@pytest.mark.slow
def test_a_second_owner_takes_over(cli: Cli, data: Path, owner: "subprocess.Popen[str]") -> None:
    first_line(owner)
    with spawn(data, "own") as second:
        assert "holding the store" in first_line(second)
        assert owner.wait(30) == 0
        cli("remember", "Nina works at Orbit Labs.")
        second.terminate()
        assert second.wait(30) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("heeding_interrupts")
def test_following_the_log_of_a_store_in_use(cli: Cli, data: Path) -> None:
    cli("remember", "one")
    with spawn(data, "log", "--follow", "--json", "--type", "fact remembered") as follower:
        assert json.loads(first_line(follower))["texts"]
        cli("remember", "two")
        assert "two" in first_line(follower)
        follower.send_signal(signal.SIGINT)
        assert follower.wait(30) == 130


@pytest.mark.slow
def test_a_reader_that_leaves_early(cli: Cli, data: Path) -> None:
    for number in range(30):
        cli("remember", f"Fact number {number}. " + "word " * 500)
    command = f"{sys.executable} -m rewound.http --data {data} list --all"
    script = f"{command} | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")


@pytest.mark.slow
def test_commands_side_by_side_lose_nothing(data: Path) -> None:
    running = [spawn(data, "remember", f"Fact number {number}.") for number in range(8)]
    for one in running:
        with one:
            _, err = one.communicate(timeout=60)
            assert (one.returncode, err) == (0, "")
    with spawn(data, "list", "--json") as listing:
        out, _ = listing.communicate(timeout=60)
    texts = {item["text"] for item in json.loads(out)["items"]}
    assert texts == {f"Fact number {number}." for number in range(8)}


def test_every_command_was_run_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    run = set(re.findall(r'(?:cli\(|told\(cli, |spawn\(data, |\(\()"([a-z-]+)"', text))
    run |= set(re.findall(r'\("([a-z-]+)",\)', text))
    elsewhere = {
        "show",
        "history",
        "eval",
        "explain",
        "profile",
        "serve",
        "mcp",
        "nodes",
        "health",
        "recent",
    }
    assert set(COMMANDS) - run <= elsewhere, set(COMMANDS) - run
