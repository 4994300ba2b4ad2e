"""Every command on a real store, and the same answers as the library gives."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.events import Outcome
from rewound.http.chats import Sorter
from rewound.http.cli import COMMANDS
from rewound.http.cli_errors import EXITS
from rewound.memory import Memory
from tests.cli.running import CHAT, Cli, lines, refused, told
from tests.integration import judging
from tests.integration.speaking import speaking


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


def test_every_command_was_run_here() -> None:
    here = [Path(__file__).with_name(f"test_{name}.py") for name in ("end_to_end", "processes")]
    text = "".join(path.read_text(encoding="utf-8") for path in here)
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
