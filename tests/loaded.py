"""Processes of this Python that have the package loaded when they begin.

To load the package takes a third of a second of a processor, with the MCP SDK a whole one, and the
tests start hundreds of processes. So one process for each of pytest's, the nursery, loads it once,
and what tests start is forked from there: processes like any others, with their own arguments,
environment, folder and streams, which are waited for and killed as ever. A test that is about the
loading itself, or the options of a Python, starts one with `subprocess`. So does `Popen` here where
a system cannot do it, or the environment is one that a Python heeds only when it starts.
"""

import atexit
import ctypes
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, AnyStr

from tests.nursery import LENGTH, Asked

ROOT = Path(__file__).resolve().parent.parent

_PR_SET_CHILD_SUBREAPER = 36
_FIRST_ONLY = ("PYTHON", "LC_", "LANG", "OPENBLAS_")
"""Beginnings of the names of settings that are heeded only when a Python starts."""
_ENVIRONMENT = dict(os.environ)
"""The nursery's, whatever the test that comes first has changed."""
_lock = threading.Lock()


class Popen(subprocess.Popen[AnyStr]):
    """`subprocess.Popen` for this Python with `-m` or `-c`: it begins at once."""

    def _execute_child(self, *given: Any) -> None:
        words, executable, before, _, passed, folder, environment, _, _, shell, *more = given
        pipes: list[int] = more[:6]
        identity: list[Any] = more[7:]
        odd = executable or before or passed or shell or {*identity} - {None, -1, False}
        words = [os.fsdecode(word) for word in words]
        environment = _as_text(os.environ if environment is None else environment)
        ours = words[0] == sys.executable and words[1:2] in (["-m"], ["-c"])
        if odd or not ours or not _heeded_late(environment):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        streams = [own if end == -1 else end for own, end in enumerate((pipes[0], *pipes[3::2]))]
        asked = Asked(
            words[1:],
            os.fsdecode(folder or os.getcwd()),
            environment,
            heeding=signal.getsignal(signal.SIGINT) is not signal.SIG_IGN,
            attached=False,
        )
        self.pid = _born(asked, streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def run(
    words: Sequence[str | bytes], *, timeout: float, told: AnyStr | None = None, **more: Any
) -> "subprocess.CompletedProcess[Any]":
    """`subprocess.run`, where `told` is its input, with what it said on both streams."""
    stdin = subprocess.DEVNULL if told is None else subprocess.PIPE
    pipe = subprocess.PIPE
    with Popen[Any](words, stdin=stdin, stdout=pipe, stderr=pipe, **more) as process:
        try:
            out, err = process.communicate(told, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def command(folder: Path) -> Path:
    """A program `rewound` in this folder, for shells. It ends when what it started has ended."""
    made = folder / "rewound"
    made.write_text(
        _COMMAND.format(python=sys.executable, address=address())
        if _can_fork()
        else f'#!/bin/sh\nexec "{sys.executable}" -m rewound.http "$@"\n'
    )
    made.chmod(0o755)
    return made


_COMMAND = """#!{python} -ISE
import _signal, _socket, marshal, os, sys
asked = marshal.dumps(
    (["-m", "rewound.http", *sys.argv[1:]], os.getcwd(), dict(os.environ), True, True)
)
asked = len(asked).to_bytes(4, "little") + asked
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
nursery = _socket.socket(_socket.AF_UNIX)
nursery.connect({address!r})
sent = nursery.sendmsg([asked], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
nursery.sendall(asked[sent:])
told = b""
while told.count(b"\\n") < 2:
    part = nursery.recv(64)
    if not part:
        sys.exit("the nursery is gone")
    told += part
    if b"\\n" in told:
        child = int(told.split(b"\\n")[0])
        for each in (_signal.SIGTERM, _signal.SIGINT):
            _signal.signal(each, lambda number, frame: os.kill(child, number))
code = int(told.split(b"\\n")[1])
if code < 0:
    if -code != _signal.SIGKILL:
        _signal.signal(-code, _signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


def _as_text(environment: Mapping[Any, Any]) -> dict[str, str]:
    return {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}


def _heeded_late(environment: Mapping[str, str]) -> bool:
    """Whether a process that has begun already can do as this environment says."""
    if not _can_fork():
        return False
    first = {
        name: value
        for name, value in environment.items()
        if name.startswith(_FIRST_ONLY) and (name, value) != ("PYTHONWARNINGS", "default")
    }
    return all(_ENVIRONMENT.get(name) == value for name, value in first.items())


@cache
def _can_fork() -> bool:
    return sys.platform == "linux"


@cache
def address() -> bytes:
    """Where the nursery of this process is asked; it ends with this process."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("")  # a name that no other has, and no file
    listener.listen(64)
    life, held = os.pipe()
    nursery = subprocess.Popen(
        [sys.executable, "-m", "tests.nursery", str(listener.fileno()), str(life)],
        cwd=ROOT, env=_ENVIRONMENT, pass_fds=(listener.fileno(), life),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(life)
    found: bytes = listener.getsockname()
    listener.close()
    atexit.register(_close, held, nursery)
    return found


def _close(held: int, nursery: "subprocess.Popen[bytes]") -> None:
    os.close(held)
    nursery.wait()


def _born(asked: Asked, streams: Sequence[int]) -> int:
    """The id of a new child of this process."""
    data = marshal.dumps(tuple(asked))
    data = LENGTH.pack(len(data)) + data
    nursery_address = address()
    with _lock, socket.socket(socket.AF_UNIX) as nursery:
        nursery.connect(nursery_address)
        _take_in_orphans(True)
        try:
            sent = socket.send_fds(nursery, [data], streams)
            nursery.sendall(data[sent:])
            told = b""
            while part := nursery.recv(64):  # to its end: the child is ours by then
                told += part
        finally:
            _take_in_orphans(False)
    assert told, "the nursery is gone"
    return int(told)


def _take_in_orphans(whether: bool) -> None:
    """What outlives its parent below this process becomes its child."""
    if _libc().prctl(_PR_SET_CHILD_SUBREAPER, int(whether), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
