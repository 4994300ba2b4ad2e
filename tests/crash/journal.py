"""What a writer tried and what it was told, on disk before and after each call.

Each line goes out in one write to a file opened for appending: a killed process leaves whole lines,
and only the last try can be without an answer. The next process of the same writer sends that one
again under the same key.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

Action = Literal["remember", "update", "forget", "undo"]


class Try(msgspec.Struct, frozen=True, tag="try"):
    """A command about to be sent. `fact` is the number of the try that made the fact."""

    number: int
    action: Action
    fact: int
    text: str
    key: str


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """What it was answered with: the fact's present id, the event and the position."""

    number: int
    id: str
    event: str
    position: int


class Fault(msgspec.Struct, frozen=True, tag="fault"):
    """An error that was shown to the caller, or an answer that cannot be."""

    number: int
    message: str


Line = Try | Answer | Fault


class Told:
    """What the lines of a writer come to."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.tries: dict[int, Try] = {}
        self.answers: dict[int, Answer] = {}
        self.faults: list[Fault] = []
        self.facts: dict[int, list[int]] = {}
        """Number of the try that made a fact -> all answered tries about it, in order."""
        for line in lines:
            self.learn(line)

    def learn(self, line: Line) -> None:
        match line:
            case Try():
                self.tries[line.number] = line
            case Answer():
                self.answers[line.number] = line
                self.facts.setdefault(self.tries[line.number].fact, []).append(line.number)
            case Fault():
                self.faults.append(line)

    @property
    def unanswered(self) -> list[Try]:
        return [line for number, line in self.tries.items() if number not in self.answers]


class Journal:
    """The lines of one writer; opening it reads what its earlier processes left."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.told = Told(read(path))
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def add(self, line: Line) -> None:
        self.told.learn(line)
        os.write(self._fd, msgspec.json.encode(line) + b"\n")


def read(path: Path) -> list[Line]:
    if not path.exists():
        return []
    decoder = msgspec.json.Decoder(Line)
    return [decoder.decode(line) for line in path.read_bytes().splitlines()]
