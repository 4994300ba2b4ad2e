"""Where the time of one search and of one write goes: `python -m eval.profile [--what search]`.

A server runs in this process, every thread of it under cProfile; one client in another process asks
it over a kept connection. A builtin counts as the package that it belongs to, or else as its
caller; arithmetic on arrays counts as its caller too (cProfile does not see it). What a thread
waits for another, or for the client, is `waiting`. With `--clock cpu` only the processor's time
counts: not the disk, nor other programs on a busy machine, nor who holds the interpreter. cProfile
makes calls of Python seem up to twice as long as they are, and leaves those of C alone: read it for
where to look.
"""

import asyncio
import cProfile
import os
import re
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Literal, NamedTuple

import click
from msgspec.structs import replace

from eval.filling import fill, pause
from eval.loading import Job
from eval.serving import Load
from rewound.http.gatekeeping import doorstep
from rewound.http.limits import Limits
from rewound.http.serving import address_of, bound, serve
from rewound.memory.link import Link

ROOT = Path(__file__).parents[1]
WARM_UP = 20
WAIT_S = 60.0
CONTROLLER = "controller"
OURS = ("http", "memory", "projections", "eventlog", "llm")
PACKAGES = {
    "lmdb": "lmdb", "numpy": "numpy", "numkong": "numkong", "msgspec": "msgspec",
    "aiohttp": "aiohttp", "yarl": "aiohttp", "multidict": "aiohttp", "asyncio": "asyncio",
    "onnxruntime": "the model", "tokenizers": "the model", "concurrent": "threads",
    "threading": "threads",
}  # fmt: skip
"""Packages of others, by the name that they are told under."""

_SHOWN = 20
_WAITING = re.compile(r"'acquire' of '_thread|'poll' of 'select|'get' of '_queue|time\.sleep")
_BELONGS = re.compile(r"<method '\w+' of '([\w.]+)' objects>|<built-in method ([\w.]+)>")
_TYPES = {
    "Transaction": "lmdb", "Cursor": "lmdb", "Environment": "lmdb", "Tokenizer": "the model",
}  # fmt: skip
"""Types of C that do not say which package they are of."""

What = Literal["search", "write"]
Clock = Literal["cpu", "wall"]
Key = tuple[str, str, str]
"""Thread, group and function."""


class Spent(NamedTuple):
    """Seconds of own time and calls so far, by thread, group and function."""

    seconds: Counter[Key]
    calls: Counter[Key]

    def less(self, before: "Spent") -> "Spent":
        return Spent(self.seconds - before.seconds, self.calls - before.calls)


class Profiles:
    """One profile for each thread that begins from now on, and for this one."""

    def __init__(self, clock: Clock) -> None:
        self._timer = time.thread_time if clock == "cpu" else time.perf_counter
        self._made: list[tuple[str, cProfile.Profile]] = []
        threading.setprofile(self._begin)
        self._begin()

    def _begin(self, frame: FrameType | None = None, event: str = "", arg: Any = None) -> None:
        """The first thing that a new thread does: from then on the profile takes over."""
        if threading.current_thread().name == CONTROLLER:
            sys.setprofile(None)
            return
        profile = cProfile.Profile(self._timer)
        self._made.append((threading.current_thread().name, profile))
        profile.enable()

    def spent(self) -> Spent:
        """What all have spent until now; they go on."""
        so_far = Spent(Counter(), Counter())
        for thread, profile in [*self._made]:
            _add(so_far, _role(thread), profile.getstats())
        return so_far


def _add(spent: Spent, thread: str, stats: Iterable[Any]) -> None:
    """Own time of functions, and that of the builtins that they call."""
    for entry in stats:
        if isinstance(entry.code, str):
            continue
        group, name = _place(entry.code)
        _count(spent, (thread, group, name), entry)
        for called in entry.calls or ():
            if isinstance(called.code, str):
                _count(spent, (thread, _builtin(called.code) or group, called.code), called)


def _count(spent: Spent, key: Key, entry: Any) -> None:
    spent.seconds[key] += entry.inlinetime
    spent.calls[key] += entry.callcount


def _role(thread: str) -> str:
    """What a thread is for: the server numbers those that it has several of."""
    for begins, role in (
        ("MainThread", "loop"), ("rewound-http", "reader"), ("rewound-writer", "writer"),
    ):  # fmt: skip
        if thread.startswith(begins):
            return role
    return "others"


def _place(code: CodeType) -> tuple[str, str]:
    """The group of a function of Python, and where it is."""
    file = Path(code.co_filename)
    if file.is_relative_to(ROOT / ".venv") or not file.is_relative_to(ROOT):
        return _package(file), f"{file.parent.name}/{file.name}:{code.co_name}"
    inside = file.relative_to(ROOT)
    group = inside.parts[0] if inside.parts[0] in OURS else "the profile"
    return group, f"{inside}:{code.co_firstlineno} {code.co_name}"


def _package(file: Path) -> str:
    for base in (sysconfig.get_path("platlib"), sysconfig.get_path("stdlib")):
        if file.is_relative_to(base):
            top = file.relative_to(base).parts[0].removesuffix(".py")
            return PACKAGES.get(top, "the rest of Python")
    return "the rest of Python"


def _builtin(described: str) -> str | None:
    """The group of a builtin; None when it has none of its own."""
    if _WAITING.search(described):
        return "waiting"
    found = _BELONGS.fullmatch(described)
    if found is None:
        return None
    parts = (found[1] or found[2]).split(".")
    return _TYPES.get(parts[-1]) or PACKAGES.get(parts[0].lower())


# --- a server under it


class Controller:
    """What happens beside the loop: warm up, measure, stop the server."""

    def __init__(self, job: Job, calls: int, profiles: Profiles) -> None:
        self._job = job
        self._calls = calls
        self._profiles = profiles
        self.spent = Spent(Counter(), Counter())
        self.answered = 0
        self.failed: Exception | None = None

    def run(self) -> None:
        try:
            with Load(1) as load:
                load.run(replace(self._job, answers=WARM_UP))
                before = self._profiles.spent()
                self.answered = len(load.run(replace(self._job, answers=self._calls)).taken.each_ms)
                self.spent = self._profiles.spent().less(before)
        except Exception as error:
            self.failed = error
        finally:
            os.kill(os.getpid(), signal.SIGTERM)


def profiled(data: Path, what: What, calls: int, clock: Clock) -> Controller:
    """The profile of so many requests to a server in this process. To be called by `main` only."""
    profiles = Profiles(clock)
    limits = Limits()
    sockets = bound("127.0.0.1", 0, limits)
    link = Link(data)
    link.take_over()
    port = address_of(sockets, "127.0.0.1").port
    controller = Controller(Job(door="rest", what=what, port=port, seconds=WAIT_S), calls, profiles)
    thread = threading.Thread(target=controller.run, name=CONTROLLER)
    door = doorstep("127.0.0.1", None, None)
    asyncio.run(serve(link, sockets, door, limits, id_prefix="profile", answering=thread.start))
    thread.join()
    threading.setprofile(None)
    if controller.failed is not None:
        raise controller.failed
    return controller


def table(spent: Spent, calls: int) -> Iterator[str]:
    """Milliseconds a call: a row for each group, a column for each kind of thread."""
    own: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (thread, group, _), seconds in spent.seconds.items():
        own[(thread, group)] += seconds * 1000 / calls
    threads = sorted({thread for thread, _ in own})
    totals: defaultdict[str, float] = defaultdict(float)
    for (_, group), milliseconds in own.items():
        totals[group] += milliseconds
    waiting = totals.pop("waiting", 0.0)
    yield f"{'ms a call':<20}" + "".join(f"{name:>10}" for name in (*threads, "all"))
    for group, total in [
        *sorted(totals.items(), key=itemgetter(1), reverse=True),
        ("waiting", waiting),
    ]:
        row = [*(own[(thread, group)] for thread in threads), total]
        yield f"{group:<20}" + "".join(f"{each:>10.3f}" if each else f"{'':>10}" for each in row)
    row = [sum(own[(thread, group)] for group in totals) for thread in threads]
    yield f"{'but for waiting':<20}" + "".join(f"{each:>10.3f}" for each in (*row, sum(row)))


def dearest(spent: Spent, calls: int) -> Iterator[str]:
    """The functions with the most time of their own."""
    seconds: Counter[tuple[str, str]] = Counter()
    counts: Counter[tuple[str, str]] = Counter()
    for (_, group, name), own in spent.seconds.items():
        if group != "waiting":
            seconds[(group, name)] += own
    for (_, group, name), count in spent.calls.items():
        counts[(group, name)] += count
    yield f"{'ms a call':>10}{'times':>8}  where"
    for (group, name), own in seconds.most_common(_SHOWN):
        times = counts[(group, name)] / calls
        yield f"{own * 1000 / calls:>10.3f}{times:>8.1f}  {group}: {name}"


@click.command()
@click.option("--what", type=click.Choice(["search", "write"]), help="One of them; else both.")
@click.option("--calls", default=300, help="Requests that are profiled.")
@click.option("--facts", "count", default=10_000, help="Facts in the store.")
@click.option("--clock", type=click.Choice(["cpu", "wall"]), default="wall", help="What counts.")
def main(what: What | None, calls: int, count: int, clock: Clock) -> None:
    """Print the time of one request by package and thread, and the dearest functions."""
    if sys.version_info >= (3, 12):
        raise click.ClickException("only up to Python 3.11 can each thread have its own cProfile")
    if what is None:  # a process for each: its threads are profiled from their beginning
        more = ["--calls", str(calls), "--facts", str(count), "--clock", clock]
        for each in ("search", "write"):
            one = [sys.executable, "-m", "eval.profile", "--what", each, *more]
            subprocess.run(one, check=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        fill(data, count)
        if what == "write":
            pause(data)  # embedding has the processor to itself for long after each write
        done = profiled(data, what, calls, clock)
    told = f"{what} over REST, {count} facts, {done.answered} calls by one client, {clock} time"
    click.echo(told)
    for line in (*table(done.spent, done.answered), "", *dearest(done.spent, done.answered)):
        click.echo(line)


if __name__ == "__main__":
    main()
