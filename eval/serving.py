"""Processes of a benchmark: a server on 127.0.0.1, a process that puts load on it, and fresh ones.

None of them takes settings from the environment but those given here, nor any from a file.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx
import msgspec

from eval.loading import Job, Taken

WAIT_S = 60.0

_PORT = re.compile(r"http://127\.0\.0\.1:(\d+)")
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REWOUND_")}
    return {**kept, "REWOUND_CONFIG": os.devnull}


class Resident(NamedTuple):
    """Megabytes of a process: `own` is not backed by a file, `mapped` is (and the kernel's)."""

    own: float
    mapped: float

    def __str__(self) -> str:
        return f"{self.own:.0f} MB of its own, {self.mapped:.0f} MB mapped"


class Server:
    """`rewound serve` on a free port, all its processes answering. `started_s` is how long its
    first answer took."""

    def __init__(self, data: Path, workers: int = 1) -> None:
        words = [sys.executable, "-m", "rewound.http", "serve", "--port", "0", "--data", str(data)]
        words += ["--workers", str(workers)]
        self.data = data
        begun = time.perf_counter()
        self._process = subprocess.Popen(
            words, env=environment(), stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None, "it was asked for"
        told = self._process.stdout.readline()
        found = _PORT.search(told)
        if found is None:
            raise RuntimeError(f"the server did not start: it said {told!r}")
        self.port = int(found[1])
        address = f"http://127.0.0.1:{self.port}"
        self._client = httpx.Client(base_url=address, timeout=WAIT_S, trust_env=False)
        self.get("/v1/containers")
        self.started_s = time.perf_counter() - begun
        if workers > 1:
            self._wait_for_readers(begun + WAIT_S)

    def _wait_for_readers(self, until: float) -> None:
        while {each["state"] for each in self.get("/health")["parts"]["processes"]} != {"ready"}:
            if time.perf_counter() > until:
                raise RuntimeError("the readers of the server did not start")
            time.sleep(0.05)

    def get(self, path: str, **query: str) -> Any:
        return self._client.get(path, params=query).raise_for_status().json()

    def post(self, path: str, fields: dict[str, object]) -> Any:
        return self._client.post(path, json=fields).raise_for_status().json()

    def work(self, action: str) -> None:
        """Pause the workers that embed, let them go on, or wait for them."""
        self.post("/v1/workers", {"action": action})

    def resident(self) -> Resident:
        told = Path(f"/proc/{self._process.pid}/status").read_text()
        held = {name: int(kilobytes) for name, kilobytes in re.findall(r"(\w+):\s+(\d+) kB", told)}
        return Resident(held["RssAnon"] / 1024, held["RssFile"] / 1024)

    def cpu_s(self) -> float:
        """Processor time of all its threads so far."""
        told = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(told[11]) + int(told[12])) * _TICK_S

    def close(self) -> None:
        self._client.close()
        self._process.terminate()
        self._process.wait(WAIT_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Loaded(NamedTuple):
    """What came of a job, and the seconds of processor that the server took for it."""

    taken: Taken
    cpu_s: float


class Load:
    """A process of `eval.loading`. Those with other seeds write other facts."""

    def __init__(self, seed: int, server: Server | None = None) -> None:
        self._server = server
        self._process = subprocess.Popen(
            [sys.executable, "-m", "eval.loading", str(seed)],
            env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, job: Job) -> Loaded:
        assert self._process.stdin is not None and self._process.stdout is not None
        before = self._server.cpu_s() if self._server is not None else 0.0
        self._process.stdin.write(msgspec.json.encode(job).decode() + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the load ended in the middle of {job}")
        after = self._server.cpu_s() if self._server is not None else 0.0
        return Loaded(msgspec.json.decode(line, type=Taken), after - before)

    def close(self) -> None:
        self._process.communicate()  # its input ends, and so does it
        if self._process.returncode:
            raise RuntimeError(f"the load ended with status {self._process.returncode}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def fresh_s(code: str) -> float:
    """Seconds that a new interpreter takes for some code, its start and end included."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=environment(), check=True)
    return time.perf_counter() - begun


def mcp_s(data: Path) -> float:
    """Seconds from the start of `rewound mcp` to its list of tools."""
    begun = time.perf_counter()
    words = [sys.executable, "-m", "rewound.http", "mcp", "--data", str(data)]
    with subprocess.Popen(
        words, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        _say(process, [{"id": 1, "method": "initialize", "params": _INITIALIZE}])
        _heard(process, 1)
        asked = {"id": 2, "method": "tools/list"}
        _say(process, [{"method": "notifications/initialized"}, asked])
        tools = _heard(process, 2)["result"]["tools"]
        taken = time.perf_counter() - begun
        process.communicate()
    if not tools:
        raise RuntimeError("rewound mcp listed no tools")
    return taken


def _say(process: "subprocess.Popen[str]", messages: Sequence[dict[str, object]]) -> None:
    assert process.stdin is not None
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    process.stdin.flush()


def _heard(process: "subprocess.Popen[str]", number: int) -> Any:
    """The answer to one request."""
    assert process.stdout is not None
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == number:
            return message
    raise RuntimeError("rewound mcp ended before it answered")
