"""What a command says to what it cannot use: one line that helps, and no change."""

from pathlib import Path

import pytest

from tests.cli.running import CHAT, Cli, lines, refused, told

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
