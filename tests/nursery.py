"""The process that `tests.loaded` forks others from: `python -m tests.nursery LISTENER LIFE`.

Both arguments are descriptors: of the socket where it is asked, and of a pipe that closes when
whoever started it is gone. A request is one `marshal` after its length in 4 bytes; with it come the
descriptors of the three streams. What is answered is the new process's id, a line, and of an
attached one, when it has ended, its exit code, as `subprocess` has it: another line.
"""

import atexit
import gc
import importlib
import marshal
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import types
import warnings
from contextlib import suppress
from typing import Any, NamedTuple, Never

from rewound.eventlog import failpoints

LENGTH = struct.Struct("<I")

_PACKAGES = ("eventlog", "projections", "llm", "memory", "http")


class Asked(NamedTuple):
    """What to run, and as what."""

    words: list[str]
    """Of a Python: `-m module ...` or `-c code ...`."""
    folder: str
    environment: dict[str, str]
    heeding: bool
    """Whether it heeds SIGINT."""
    attached: bool
    """Whoever asked is told of its end. Another is an orphan at once, so that it becomes the child
    of the nearest process above that takes in orphans."""


def load() -> None:
    """Every module of the package, and with them what they load at once."""
    for name in _PACKAGES:
        package = importlib.import_module(f"rewound.{name}")
        for module in pkgutil.iter_modules(package.__path__, f"rewound.{name}."):
            if not module.name.endswith(".__main__"):
                importlib.import_module(module.name)


def serve(listener: socket.socket, life: int) -> Asked | None:
    """Fork for whoever asks. Returns in each new process, and with None when life is over."""
    while True:
        ready, _, _ = select.select([listener.fileno(), life], [], [])
        if life in ready:
            return None
        connection, _ = listener.accept()
        received = _receive(connection)
        if received is None:
            connection.close()
            continue
        asked, streams = received
        begins, settled = os.pipe()
        between = os.fork()
        if between == 0:
            os.close(settled)
            listener.close()
            os.close(life)
            child = os.fork()
            if child:
                _tell(connection, child, asked.attached)
                os._exit(0)
            os.read(begins, 1)  # until the parent is the one that it stays
            os.close(begins)
            connection.close()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
                os.close(stream)
            return asked
        for descriptor in (begins, *streams):
            os.close(descriptor)
        if not asked.attached:
            os.waitpid(between, 0)
        os.close(settled)
        connection.close()
        _forget_the_ended()


def _receive(connection: socket.socket) -> tuple[Asked, list[int]] | None:
    """A request with its streams; None when whoever asked has gone before it was whole."""
    data, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while len(data) < LENGTH.size or len(data) < LENGTH.size + LENGTH.unpack_from(data)[0]:
        more = connection.recv(1 << 16)
        if not more:
            for stream in streams:
                os.close(stream)
            return None
        data += more
    return Asked(*marshal.loads(data[LENGTH.size :])), streams


def _tell(connection: socket.socket, child: int, attached: bool) -> None:
    with suppress(BrokenPipeError):  # whoever asked may have been killed meanwhile
        connection.sendall(b"%d\n" % child)
        if attached:
            _, status = os.waitpid(child, 0)
            connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _forget_the_ended() -> None:
    """Those that stood between an attached process and this one."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return  # there are none


def become(asked: Asked) -> None:
    """Run it as a Python that has just been started would."""
    signal.signal(signal.SIGINT, signal.default_int_handler if asked.heeding else signal.SIG_IGN)
    os.chdir(asked.folder)
    os.environ.clear()
    os.environ.update(asked.environment)
    failpoints.arm_to_exit(asked.environment.get(failpoints.VARIABLE, ""))
    _open_streams()
    if asked.environment.get("PYTHONWARNINGS") == "default":
        warnings.simplefilter("default")
    kind, what, *rest = asked.words
    sys.argv = [kind, *rest]
    if kind == "-m":
        sys.path[0] = asked.folder
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = ""
        sys.modules["__main__"] = main = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), main.__dict__)


def leave(code: object) -> Never:
    """End as a Python does, but for taking apart all that was loaded: that copies every page."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def _open_streams() -> None:
    """Anew, for what they lead to is neither read nor sought in as the nursery's own."""
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    told: dict[str, Any] = {"encoding": encoding, "newline": "\n", "closefd": False}
    streams = {
        "stdin": open(0, errors=errors, **told),
        "stdout": open(1, "w", errors=errors, **told),
        "stderr": open(2, "w", 1, errors="backslashreplace", **told),
    }
    for name, stream in streams.items():
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted run closes the pipe
    load()
    gc.collect()
    gc.freeze()  # what nobody touches stays shared
    to_be = serve(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
    if to_be is not None:
        try:
            become(to_be)
        except SystemExit as end:
            leave(end.code)
        leave(None)
