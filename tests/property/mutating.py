"""What the mutation tests share: a store to try, and how a change of the product is caught."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rewound.memory import requests
from tests.property.driver import Driver

Patch = pytest.MonkeyPatch
NAME = "alpha"


class Case(NamedTuple):
    """A change of the product, and the check that has to catch it."""

    change: Callable[[Patch], None]
    check: Callable[[Path], None]
    told: str
    """How the failed check begins."""


@contextmanager
def opened(folder: Path, *, durable: bool = False, meaning: bool = False) -> Iterator[Driver]:
    driver = Driver(folder / "store", durable=durable, meaning=meaning)
    try:
        yield driver
    finally:
        driver.close()


def remember(driver: Driver, *texts: str, name: str = NAME, **fields: Any) -> list[Any]:
    facts = tuple(requests.NewFact(text=text, **fields) for text in texts)
    return list(driver.call(requests.Remember(container=name, facts=facts)).items)
