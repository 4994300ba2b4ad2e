"""How commands fail: one line, the right code, never a trace."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import ERRORS_BY_CODE, HasDependents, NotFound, RewoundError
from rewound.http import cli_habits
from rewound.http.cli import COMMANDS
from rewound.http.cli_errors import EXITS
from tests import loaded
from tests.cli.fake import FakeLink, run

CODES = {
    "error": 1,
    "damaged": 1,
    "invalid_input": 2,
    "wrong_kind": 2,
    "not_found": 2,
    "conflict": 3,
    "already_undone": 3,
    "has_dependents": 3,
    "key_reused": 3,
    "stale": 3,
    "store_full": 4,
    "store_busy": 4,
    "read_only": 4,
}


def test_every_error_has_its_exit_code() -> None:
    assert set(CODES) == set(ERRORS_BY_CODE)
    assert set(EXITS) == set(ERRORS_BY_CODE) - {"error"}


@pytest.mark.parametrize("code", ERRORS_BY_CODE)
def test_an_error_is_one_line_and_an_exit_code(code: str) -> None:
    error = ERRORS_BY_CODE[code]("something was\nwrong \x1b[31m", field="limit")
    result = run("stats", link=FakeLink(Stats=error))
    assert result.exit_code == CODES[code]
    field = "limit: " if code == "invalid_input" else ""
    assert result.stderr == f"error: {field}something was wrong \\x1b[31m\n"
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("message", "field", "said"),
    [
        ("limit must be 1 or more", "limit", "limit must be 1 or more"),
        ("'x' is not a time", "said_at", "said_at: 'x' is not a time"),
        ("said at what?", "facts[0].said_at", "said at what?"),
        ("'x' is not an id", "ids[0]", "ids[0]: 'x' is not an id"),
        ("no room", None, "no room"),
    ],
)
def test_the_field_is_named_once(message: str, field: str | None, said: str) -> None:
    error = ERRORS_BY_CODE["invalid_input"](message, field=field)
    assert run("stats", link=FakeLink(Stats=error)).stderr == f"error: {said}\n"


def test_with_json_the_error_is_an_object_on_stderr() -> None:
    link = FakeLink(Stats=NotFound("there is no \ud83d container", field="container"))
    result = run("stats", "--json", link=link)
    assert json.loads(result.stderr) == {
        "code": "not_found",
        "message": "there is no \\ud83d container",
        "field": "container",
    }
    assert result.stdout == ""
    link = FakeLink(Undo=HasDependents("stands on", field="id", ids=("ev_1", "ev_2")))
    assert json.loads(run("undo", "x", "--json", link=link).stderr)["ids"] == ["ev_1", "ev_2"]


@pytest.mark.parametrize(
    ("args", "words", "field"),
    [
        (("search",), "Missing argument 'QUERY'", "query"),
        (("search", "x", "--limit", "abc"), "'abc' is not a valid integer", "limit"),
        (("search", "x", "--limt", "3"), "'--limit'", None),
        (("search", "x", "y"), "unexpected extra argument (y): put the words into quotes", None),
        (("ask", "who", "is", "it"), "(is it): put the words into quotes (see", None),
        (("show", "x", "y"), "unexpected extra argument (y) (see", None),
        (("search", "x", "--what", "dog"), "'fact', 'passage'", "whats"),
        (("search", "x", "--meta", "novalue"), "is not K=V", "metadata"),
        (("search", "x", "--meta", "=v"), "is not K=V", "metadata"),
        (("search", "x", "--meta", "n:={"), "is no JSON", "metadata"),
        (("search", "x", "--where", "{"), "is no JSON", "where"),
        (("search", "x", "--where", "[]"), "must be an object such as", "filters.where"),
        (("list", "--where", '{"and":[]}'), "give at least one", "filters.where.and"),
        (("forget", "--where", "{}"), "is empty", "filters.where"),
        (("serach", "x"), "did you mean search or", None),
        (("frob",), "there is no command 'frob' (see", None),
        (("add", "x"), "there is no command 'add': did you mean remember?", None),
        (("recall", "x"), "did you mean search?", None),
        (("snapshot",), "`rewound replay --at now --to FOLDER` builds a copy", None),
        (("forget",), "nothing named", None),
        (("forget", "f", "--query", "x"), "not both", None),
        (("restore",), "Missing argument", "ids"),
        (("replay",), "Missing option '--at'", "at"),
        (("ingest", "/no/such/file"), "No such file", "paths"),
        (("ingest", "a", "b", "--as", "x"), "--as goes with one PATH", None),
        (("import", "/no/such/file"), "No such file", "file"),
        (("--color", "blue", "stats"), "'auto', 'always', 'never'", "color"),
        (("search", "caf\udce9"), "not UTF-8", "query"),
        (("search", "x", "--tag", "caf\udce9"), "not UTF-8", "tags"),
        (("-c", "caf\udce9", "stats"), "not UTF-8", "container"),
        (("--data", "", "stats"), "expected the path of a folder", "data"),
    ],
)
def test_a_wrong_command_line(args: tuple[str, ...], words: str, field: str | None) -> None:
    link = FakeLink()
    result = run(*args, link=link)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert result.stdout == ""
    assert link.requests == []
    told = json.loads(run("--json", *args).stderr)
    assert told["code"] in ("invalid_input", "not_found")
    assert told["field"] == field


def test_a_bug_is_named_and_nothing_is_quoted() -> None:
    def broken(request: Any) -> Any:
        raise KeyError("a memory's own text")

    result = run("stats", link=FakeLink(Stats=broken))
    assert result.exit_code == 1
    assert result.stderr.startswith("error: internal error: KeyError at test_errors.py:")
    assert "memory's own text" not in result.output
    assert "Traceback" not in result.output


def test_errors_of_the_system() -> None:
    gone = FileNotFoundError(2, "No such file or directory", "/x/log")
    result = run("stats", link=FakeLink(Stats=gone))
    assert (result.exit_code, result.stderr) == (1, "error: /x/log: No such file or directory\n")
    full = run("stats", link=FakeLink(Stats=OSError(28, "No space left on device")))
    assert full.exit_code == 4


def test_no_words_at_all_show_the_help() -> None:
    result = run()
    assert result.exit_code == 0
    assert result.stdout.startswith("Usage: rewound ")


def test_an_interrupt_ends_with_130() -> None:
    def interrupted(request: Any) -> Any:
        raise KeyboardInterrupt

    result = run("stats", link=FakeLink(Stats=interrupted))
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")


def test_nothing_is_made_by_asking(tmp_path: Path) -> None:
    """A mistyped --data must not become an empty store that answers `nothing found`."""
    from click.testing import CliRunner

    from rewound.http.cli import main

    folder = tmp_path / "mistyped"
    for args in (["stats"], ["search", "x"], ["forget", "f"], ["undo", "e"], ["verify"]):
        result = CliRunner().invoke(main, ["--data", str(folder), *args])
        assert result.exit_code == 2
        assert "there is no store in" in result.stderr
        assert "REWOUND_DATA" in result.stderr
    assert not folder.exists()


# --- real processes


@pytest.mark.parametrize(
    ("line", "expected"),
    [("rewound se", ["search", "seal"]), ("rewound search --inc", ["--include-"])],
)
def test_the_shell_completes_commands_and_options(line: str, expected: list[str]) -> None:
    env = os.environ | {"_REWOUND_COMPLETE": "bash_complete", "COMP_WORDS": line}
    env["COMP_CWORD"] = str(line.count(" "))
    words = [sys.executable, "-m", "rewound.http"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    for word in expected:
        assert word in done.stdout


def test_closed_standard_input() -> None:
    words = f"{sys.executable} -m rewound.http remember - <&-"
    done = subprocess.run(["bash", "-c", words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: standard input is closed\n")


def process(
    *args: str, env: dict[str, str] | None = None, stdin: int | None = None
) -> "subprocess.Popen[bytes]":
    clean = {k: v for k, v in os.environ.items() if not k.startswith("REWOUND_")}
    pipe = subprocess.PIPE
    words = [sys.executable, "-m", "rewound.http", *args]
    return loaded.Popen[bytes](
        words, stdin=stdin, stdout=pipe, stderr=pipe, env=clean | (env or {})
    )


@pytest.mark.parametrize("args", [("--help",), ("--version",), ()])
def test_help_and_version_load_neither_the_store_nor_numpy(args: tuple[str, ...]) -> None:
    code = (
        "import sys\n"
        "from rewound.http.cli import main\n"
        f"try: main({list(args)!r})\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'numpy', 'lmdb', 'rich', 'httpx', 'aiohttp', 'rewound.memory'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "rewound" in done.stdout


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_any_locale_will_do(encoding: str, tmp_path: Path) -> None:
    env = {"PYTHONIOENCODING": encoding, "REWOUND_CONTAINER": "日本 🙂", "PYTHONUTF8": "0"}
    env["REWOUND_CONFIG"] = ""
    out, err = process("config", env=env).communicate(timeout=60)
    assert b"Traceback" not in err
    assert b"container" in out
    out, err = process("config", "--json", env=env).communicate(timeout=60)
    assert "日本 🙂" in json.loads(out)["settings"][1]["value"]
    running = process("--data", str(tmp_path / "日本"), "stats", env=env)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 2
    assert err.startswith(b"error: there is no store in ")


def test_a_closed_pipe_is_no_error() -> None:
    with process("search", "--help") as running:
        assert running.stdout is not None
        running.stdout.close()
        assert running.stderr is not None
        assert running.stderr.read() == b""
    assert running.returncode in (0, 141)


def unread(pipe: int) -> int:
    """Bytes in a pipe that its reader has not taken yet."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


@pytest.mark.usefixtures("heeding_interrupts")
def test_ctrl_c_while_waiting_for_input() -> None:
    running = process("remember", "-", stdin=subprocess.PIPE)
    assert running.stdin is not None
    running.stdin.write(b"a beginning")
    running.stdin.flush()
    until = time.monotonic() + 60
    while unread(running.stdin.fileno()):  # read, so it now waits for more
        assert time.monotonic() < until and running.poll() is None
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert err.strip() == b"interrupted"


def test_the_root_of_the_tree_is_what_the_store_raises() -> None:
    """The command line knows our errors by their shape; this is that shape."""
    from rewound.http.cli_errors import Told

    assert isinstance(RewoundError("x"), Told)
    assert not isinstance(ValueError("x"), Told)


def test_names_of_other_memories_lead_to_commands_that_are_there() -> None:
    for theirs, ours in cli_habits.HERE.items():
        assert ours in COMMANDS and theirs not in COMMANDS, theirs
    assert not cli_habits.TOLD.keys() & COMMANDS.keys()
