"""Whether the memory limits of the services hold: `python deploy/check_limits.py [UNIT…]`.

For each unit the limit that its file asks for is held against the one that the kernel enforces on
its process, in its control group and all above it. With `--prove` a throw-away scope is made to
use more than it may: it must be ended. Exit code 0 when everything holds, 1 when something does
not, 2 when it cannot be told. Needs systemd and, for `--prove`, root.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

UNITS = ("rewound", "rewound-embed", "rewound-rerank", "rewound-chat")
GROUPS = Path("/sys/fs/cgroup")
UNLIMITED = 1 << 62
"""What the kernel calls no limit is near the largest number it has."""
PROOF_MIB = 64
_HUNGRY = "held = bytearray({size}); held[::4096] = b'x' * len(held[::4096])"
_SUFFIXES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


class CannotTell(Exception):
    """Something is missing that a check needs; the message says what."""


def size_of(text: str) -> int:
    """Bytes of a size as units write it: `768M`, `1G`, `infinity`. Raises ValueError."""
    if text == "infinity":
        return UNLIMITED
    factor = _SUFFIXES.get(text[-1:], 1)
    return int(text.removesuffix(text[-1:]) if factor > 1 else text) * factor


def asked(unit: str) -> int:
    """The limit that a unit's text asks for, in bytes. Raises CannotTell when it asks for none."""
    found = [line for line in unit.splitlines() if line.startswith("MemoryMax=")]
    if not found:
        raise CannotTell("its file has no MemoryMax")
    return size_of(found[-1].partition("=")[2].strip())


def enforced(group: str, root: Path = GROUPS) -> int:
    """The least limit of a control group and those above it, in bytes.

    Of both hierarchies: `memory.max` (version 2) or `memory.limit_in_bytes` (version 1). Raises
    CannotTell when the kernel shows none.
    """
    limits = list(_limits(group, root))
    if not limits:
        raise CannotTell(f"the kernel shows no memory limit for {group or '/'}")
    return min(limits)


def _limits(group: str, root: Path) -> Iterator[int]:
    for base, name in ((root, "memory.max"), (root / "memory", "memory.limit_in_bytes")):
        place = base / group.lstrip("/")
        for folder in (place, *place.parents):
            if (folder / name).is_file():
                text = (folder / name).read_text().strip()
                yield UNLIMITED if text == "max" else int(text)
            if folder == base:
                break


def shown(unit: str, run: Run) -> Mapping[str, str]:
    """What systemd knows of a unit. Raises CannotTell."""
    names = "LoadState,ActiveState,ControlGroup,FragmentPath"
    done = run(["systemctl", "show", f"{unit}.service", f"--property={names}"])
    if done.returncode:
        raise CannotTell(done.stderr.strip() or "systemctl does not answer")
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def check(unit: str, run: Run, root: Path = GROUPS) -> tuple[bool, str]:
    """Whether one unit's limit holds, and what was found. Raises CannotTell."""
    told = shown(unit, run)
    if told.get("LoadState") != "loaded":
        raise CannotTell("it is not installed")
    wanted = asked(Path(told["FragmentPath"]).read_text(encoding="utf-8"))
    if told.get("ActiveState") != "active":
        raise CannotTell(f"it is {told.get('ActiveState', 'not running')}: start it first")
    found = enforced(told["ControlGroup"], root)
    holds = found <= wanted
    return holds, f"asks for {wanted >> 20} MiB, the kernel enforces {_mib(found)}"


def prove(run: Run) -> tuple[bool, str]:
    """Whether a scope that uses four times its limit is ended. Raises CannotTell."""
    limit = ["--property", f"MemoryMax={PROOF_MIB}M", "--property", "MemorySwapMax=0"]
    scope = ["systemd-run", "--scope", "--quiet", *limit, sys.executable, "-c"]
    modest = run([*scope, _HUNGRY.format(size=1 << 20)])
    if modest.returncode:
        raise CannotTell(modest.stderr.strip() or "systemd-run does not work here")
    hungry = run([*scope, _HUNGRY.format(size=4 * PROOF_MIB << 20)])
    ended = hungry.returncode != 0
    what = "was ended" if ended else "went on"
    return ended, f"a program that took {4 * PROOF_MIB} MiB of {PROOF_MIB} {what}"


def _mib(size: int) -> str:
    return "no limit" if size >= UNLIMITED else f"{size >> 20} MiB"


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotTell(f"{command[0]}: {error}") from error


def main(arguments: Sequence[str] | None = None, run: Run = _run, root: Path = GROUPS) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("unit", nargs="*", default=UNITS)
    parser.add_argument("--prove", action="store_true", help="also break a limit on purpose")
    given = parser.parse_args(arguments)
    checks: list[tuple[str, Callable[[], tuple[bool, str]]]] = [
        (unit, partial(check, unit, run, root)) for unit in given.unit
    ]
    if given.prove:
        checks.append(("proof", partial(prove, run)))
    code = 0
    for name, look in checks:
        try:
            holds, what = look()
        except CannotTell as error:
            print(f"{name}: cannot tell: {error}")
            code = code or 2
            continue
        print(f"{name}: {'holds' if holds else 'DOES NOT HOLD'}: {what}")
        code = code if holds else 1
    return code


if __name__ == "__main__":
    sys.exit(main())
