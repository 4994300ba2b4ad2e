"""A guard under which nothing may ask for the time, for randomness or for the network.

The clock and the ids of an engine are injected, so all of it can run under the guard: projectors
and deciders with it.
"""

import os
import random
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

GUARDED: list[tuple[Any, str]] = [
    (time, "time"),
    (time, "time_ns"),
    (time, "localtime"),
    (time, "gmtime"),
    (os, "urandom"),
    (os, "getrandom"),
    (random, "random"),
    (random, "randrange"),
    (random, "randint"),
    (random, "choice"),
    (random, "shuffle"),
    (random, "getrandbits"),
    (uuid, "uuid1"),
    (uuid, "uuid4"),
    (socket, "socket"),
    (socket, "create_connection"),
    (socket, "getaddrinfo"),
]


class Impure(AssertionError):
    """Something asked for what it must be given."""


def _refuse(name: str) -> Any:
    def refused(*args: object, **kwargs: object) -> NoReturn:
        raise Impure(f"{name} was called where only injected sources may be used")

    return refused


_REFUSALS = [(owner, name, _refuse(f"{owner.__name__}.{name}")) for owner, name in GUARDED]


@contextmanager
def pure(guarded: bool = True) -> Iterator[None]:
    """Law 9: what runs inside may use no clock, randomness or network of its own.

    Entered for each call of the laws, tens of thousands, and so without `mock.patch`: it is slow.
    """
    refusals = _REFUSALS if guarded else []
    whole = [(owner, name, getattr(owner, name)) for owner, name, _ in refusals]
    try:
        for owner, name, refused in refusals:
            setattr(owner, name, refused)
        yield
    finally:
        for owner, name, function in whole:
            setattr(owner, name, function)
