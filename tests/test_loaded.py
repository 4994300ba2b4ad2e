"""A process that is forked from the nursery is like one that a Python has started."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests import loaded

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there all are started by Python")

ABOUT = """
import json, os, sys
told = sys.stdin.read()
about = {
    "pid": os.getpid(), "parent": os.getppid(), "folder": os.getcwd(), "path": sys.path[0],
    "argv": sys.argv, "name": os.environ["NINA"], "names": len(os.environ), "told": told,
    "main": __name__, "forked": "tests.nursery" in sys.orig_argv,
}
print(json.dumps(about))
print("a warning", file=sys.stderr)
"""


def about(folder: Path, start: type["subprocess.Popen[str]"], **more: str) -> dict[str, object]:
    words = [sys.executable, "-c", ABOUT, "one", "zwei ü"]
    pipe = subprocess.PIPE
    env = {"NINA": "Nina ü", **more}
    with start(
        words, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        out, err = process.communicate("What it is told.", timeout=60)
        assert (err, process.returncode) == ("a warning\n", 0)
        told: dict[str, object] = json.loads(out)
        assert told.pop("pid") == process.pid
        return told


def test_it_is_what_a_python_would_be(tmp_path: Path) -> None:
    forked = about(tmp_path, loaded.Popen[str])
    started = about(tmp_path, subprocess.Popen[str])
    assert forked.pop("forked") and not started.pop("forked")
    del forked["names"], started["names"]  # a Python in no locale adds one
    assert forked == started
    assert forked["parent"] == os.getpid()


def test_what_a_python_heeds_when_it_starts_starts_one(tmp_path: Path) -> None:
    assert not about(tmp_path, loaded.Popen[str], PYTHONHASHSEED="7")["forked"]


@pytest.mark.parametrize("options", [("-I", "-c"), ("-B", "-m"), ()])
def test_options_and_files_are_for_a_python(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "asked.py"
    file.write_text('import sys; print("tests.nursery" in sys.orig_argv)')
    what = {"-c": file.read_text(), "-m": "asked"}.get(options[-1] if options else "", str(file))
    done = loaded.run([sys.executable, *options, what], cwd=tmp_path, timeout=60, text=True)
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("pass", 0, ""),
        ("raise SystemExit(7)", 7, ""),
        ("raise SystemExit('no')", 1, "no\n"),
        ("import atexit, sys; atexit.register(sys.stderr.write, 'late')", 0, "late"),
        ("import sys, threading; threading.Timer(0.01, sys.stderr.write, 'z').start()", 0, "z"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ""),
    ],
)
def test_it_ends_as_a_python_does(code: str, status: int, said: str) -> None:
    done = loaded.run([sys.executable, "-c", code], timeout=60, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", said)


def test_a_mistake_is_told() -> None:
    done = loaded.run([sys.executable, "-c", "1 / 0"], timeout=60, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


@pytest.mark.usefixtures("heeding_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_signals_reach_it(number: signal.Signals) -> None:
    code = "import sys, time; print('here', flush=True); time.sleep(60)"
    words = [sys.executable, "-c", code]
    with loaded.Popen[str](
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "here\n"
        process.send_signal(number)
        assert process.wait(60) == -number


def test_who_goes_away_while_asking_does_no_harm() -> None:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(loaded.address())
        asking.sendall(b"half")
    assert loaded.run([sys.executable, "-c", "pass"], timeout=60).returncode == 0


def test_orphans_are_nobodys_but_when_one_is_born() -> None:
    """Else the processes that a killed server leaves would stay, as zombies of this one."""
    assert loaded.run([sys.executable, "-c", "pass"], timeout=60).returncode == 0
    code = "import os; print(os.getppid(), flush=True); os.read(0, 1); print(os.getppid())"
    shell = f'"{sys.executable}" -c "{code}" <&3 & echo started'
    begins, goes_on = os.pipe()
    with subprocess.Popen(
        ["bash", "-c", f"exec 3<&{begins}; {shell}"],
        pass_fds=(begins,), stdout=subprocess.PIPE, text=True,
    ) as shelled:  # fmt: skip
        os.close(begins)
        shelled.wait(60)
        os.close(goes_on)
        assert shelled.stdout is not None
        *_, last = shelled.stdout.read().split()
    assert int(last) != os.getpid()


def test_the_program_for_shells(tmp_path: Path) -> None:
    loaded.command(tmp_path)
    script = (
        "rewound --version; rewound nonsense; echo $?\n"
        "echo A fact. | rewound --data store remember - > /dev/null; rewound --data store list\n"
        "rewound own --data store > told & until grep -q holding told; do sleep 0.01; done\n"
        "kill $!; wait $!; echo $?; rewound own --data store > told2 &\n"
        "until grep -q holding told2; do sleep 0.01; done\n"
        "kill -9 $(sed -n 's/^process \\([0-9]*\\),.*/\\1/p' told2); wait $!; echo $?"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    env["PATH"] = f"{tmp_path}:{env['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=100
    )
    version, usage, listed, count, ended, killed = done.stdout.splitlines()
    assert version.startswith("rewound ") and usage == "2" and "A fact." in listed
    assert count.startswith("1 of 1") and (ended, killed) == ("0", "137")
