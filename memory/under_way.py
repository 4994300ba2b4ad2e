"""Work that goes on side by side, whose results are taken in the order in which it was begun.

What is begun first in a container is taken first there, however long it takes; containers do not
wait for each other. So what is recorded of a container stands in the same order whether one node
works on it or ten.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

from rewound.eventlog.ids import ContainerId, Ref

E = TypeVar("E")
T = TypeVar("T")
Key = tuple[ContainerId, Ref]


class _Piece(NamedTuple, Generic[E, T]):
    keys: Sequence[Key]
    about: E
    chars: int
    done: Future[T]


class UnderWay(Generic[E, T]):
    """Of one thread, which begins and takes. `notify` is called by others when a piece is done."""

    def __init__(self, notify: Callable[[], object]) -> None:
        self._notify = notify
        self._pieces: list[_Piece[E, T]] = []

    def __len__(self) -> int:
        return len(self._pieces)

    def __contains__(self, key: Key) -> bool:
        return any(key in piece.keys for piece in self._pieces)

    @property
    def unfinished(self) -> int:
        return sum(not piece.done.done() for piece in self._pieces)

    @property
    def chars(self) -> int:
        """Characters of what is still being worked on."""
        return sum(piece.chars for piece in self._pieces if not piece.done.done())

    def begin(self, keys: Sequence[Key], about: E, chars: int, work: Callable[[], T]) -> None:
        """Do it in a thread of its own; it is given back with what it was `about`. The keys are of
        one container."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:  # it belongs to the one who takes it
                done.set_exception(error)
            self._notify()

        self._pieces.append(_Piece(keys, about, chars, done))
        threading.Thread(target=run, name="rewound-drawing", daemon=True).start()

    def take(self) -> list[tuple[E, T]]:
        """What is done, without what was begun after something of its container that is not.

        Raises what the work raised; that piece is given up then, and all others stay.
        """
        taken: list[_Piece[E, T]] = []
        left: list[_Piece[E, T]] = []
        held: set[ContainerId] = set()
        for piece in self._pieces:
            if piece.keys[0][0] in held or not piece.done.done():
                held.add(piece.keys[0][0])
                left.append(piece)
            else:
                taken.append(piece)
        failed = next((n for n, p in enumerate(taken) if p.done.exception() is not None), None)
        if failed is not None:  # told by itself, once what is before it was taken
            taken, left = taken[: max(failed, 1)], [*taken[max(failed, 1) :], *left]
        self._pieces = left
        return [(piece.about, piece.done.result()) for piece in taken]
