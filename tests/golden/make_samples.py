"""Write a binary sample of every event type that has none: `python -m tests.golden.make_samples`.

A sample is an event's payload as the log stores it. Once released it is never written again: it
proves that the events of that version are readable for ever. Until 0.1.0 is tagged the form may
change, and `--anew` writes all samples of today's versions again.
"""

import argparse
import enum
import types
import typing
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import msgspec

from rewound.eventlog import registry
from rewound.eventlog.events import Event

FOLDER = Path(__file__).parent / "events"


def file_of(name: str, version: int) -> Path:
    return FOLDER / f"{name.replace(' ', '-')}.v{version}.msgpack"


def event_of(path: Path) -> tuple[str, int]:
    """Name and version of the event in a sample file."""
    name, version, _ = path.name.split(".")
    return name.replace("-", " "), int(version.removeprefix("v"))


def sample(struct: type[msgspec.Struct]) -> msgspec.Struct:
    """An instance with every field set, no two alike."""
    numbers = count(1)
    return _struct(struct, numbers)


def _struct(struct: type[msgspec.Struct], numbers: Iterator[int]) -> msgspec.Struct:
    hints = typing.get_type_hints(struct)
    return struct(*(_value(hints[field], numbers) for field in struct.__struct_fields__))


def _value(hint: typing.Any, numbers: Iterator[int]) -> object:
    """Something of the type; of several possible types the first."""
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        return _value(typing.get_args(hint)[0], numbers)
    if origin is tuple:
        return tuple(_value(typing.get_args(hint)[0], numbers) for _ in range(2))
    hint = getattr(hint, "__supertype__", hint)
    if issubclass(hint, msgspec.Struct):
        return _struct(hint, numbers)
    if issubclass(hint, enum.Enum):
        members = list(hint)
        return members[next(numbers) % len(members)]
    if hint is bool:
        return next(numbers) % 2 == 0
    if hint is int:
        return next(numbers) * 1000
    if hint is bytes:
        return bytes((next(numbers), 0)) * 8
    raise TypeError(f"no sample value for {hint}")


def write(*, anew: bool) -> list[Path]:
    """Write the samples that are missing, or all; which ones."""
    FOLDER.mkdir(exist_ok=True)
    written: list[Path] = []
    for name, struct in registry.NAMES.items():
        path = file_of(name, registry.version_of(name))
        if anew or not path.exists():
            made = sample(struct)
            assert isinstance(made, Event)
            path.write_bytes(registry.encode(made)[2])
            written.append(path)
    return written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anew", action="store_true", help="write all of today's versions again")
    for path in write(anew=parser.parse_args().anew):
        print(path.name)


if __name__ == "__main__":
    main()
