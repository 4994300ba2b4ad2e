"""Reading the public data sets for measuring: gzipped JSON lines, one shape for all.

They are not part of the repository; harnesses take their folder as an argument.
"""

import gzip
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec


class Unit(msgspec.Struct, frozen=True):
    """A turn, message or section. `group` is the container a question about it is asked in."""

    id: str
    group: str
    text: str
    session: str | None = None
    time: str | None = None
    who: str | None = None


class Question(msgspec.Struct, frozen=True):
    """`gold` lists the ids of the units that answer it; `audit` marks a label known to be wrong."""

    id: str
    group: str
    type: str
    text: str
    gold: tuple[str, ...] = ()
    abstain: bool = False
    time: str | None = None
    audit: Any = None


T = TypeVar("T")
_FORMS = ("%I:%M %p on %d %B, %Y", "%Y/%m/%d (%a) %H:%M")


def lines(path: Path, of: type[T]) -> Iterator[T]:
    """The records of one file."""
    decode = msgspec.json.Decoder(of).decode
    with gzip.open(path, "rb") as file:
        for line in file:
            yield decode(line)


def corpus(data: Path, name: str) -> list[Unit]:
    return list(lines(data / name / "corpus.jsonl.gz", Unit))


def questions(data: Path, name: str) -> list[Question]:
    return list(lines(data / name / "queries.jsonl.gz", Question))


def stamp(time: str | None) -> str | None:
    """A data set's way of writing a time, as RFC 3339; None when it has none that we know."""
    for form in _FORMS if time else ():
        try:
            return datetime.strptime(str(time), form).strftime("%Y-%m-%dT%H:%M:00Z")
        except ValueError:
            continue
    return None
