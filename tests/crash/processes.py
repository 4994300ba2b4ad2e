"""Real processes on one store, started by a test and killed by it, each by its own id."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLI = Path(sys.executable).parent / "rewound"
WAIT_S = 60.0


class Place:
    """The folders of one run: the store, the journals and what the processes print."""

    def __init__(self, folder: Path, runtime: Path) -> None:
        self.data = folder / "data"
        self.prints = folder / "prints"
        self.journals = folder / "journals"
        for made in (self.data, self.prints, self.journals):
            made.mkdir(parents=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if "REWOUND" not in name},
            "REWOUND_EMBEDDER": "none",
            "REWOUND_EXTRACTOR": "none",
            "XDG_RUNTIME_DIR": str(runtime),
            "PYTHONPATH": os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", ""))),
            "PYTHONWARNINGS": "default",
        }

    def python(self, module: str, *args: object) -> "Process":
        words = [sys.executable, "-m", module, *map(str, args)]
        return Process(words, self.prints / f"{module.rsplit('.', 1)[-1]}.txt", self.environment)

    def writer(self, name: str, seed: object) -> "Process":
        journal = self.journals / f"{name}.jsonl"
        return self.python("tests.crash.writer", self.data, journal, seed)

    def cli(self, *args: object) -> "Process":
        words = [str(CLI), "--data", str(self.data), "--json", *map(str, args)]
        return Process(words, self.prints / f"cli-{args[0]}.txt", self.environment)

    def printed(self) -> dict[str, str]:
        """What all processes wrote to their standard error."""
        found = {path.name: path.read_text() for path in sorted(self.prints.iterdir())}
        return {name: text for name, text in found.items() if text}


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    """Sockets get a short runtime folder of their own, which goes with the run."""
    runtime = Path(tempfile.mkdtemp(prefix="rw-"))
    try:
        yield Place(folder, runtime)
    finally:
        shutil.rmtree(runtime, ignore_errors=True)


class Process:
    """A child whose standard error is appended to a file."""

    def __init__(self, words: list[str], prints: Path, environment: dict[str, str]) -> None:
        with prints.open("ab") as errors:
            self._child = subprocess.Popen(
                words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors
            )

    def send(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def status(self) -> int | None:
        return self._child.poll()

    def end(self, timeout_s: float = WAIT_S) -> tuple[int, bytes]:
        """Exit status (negative: the signal that killed it) and standard output.

        A process that does not end is killed, and that is a failure.
        """
        try:
            output, _ = self._child.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.communicate()
            raise AssertionError(f"{self._child.args!r} did not end in {timeout_s} s") from None
        return self._child.returncode, output

    def kill(self) -> int:
        self._child.kill()
        return self.end()[0]


@contextmanager
def all_ended(processes: list[Process]) -> Iterator[None]:
    """Nothing that the test started outlives it."""
    try:
        yield
    finally:
        for process in processes:
            process.kill()
