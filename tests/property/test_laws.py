"""Section 8 of the design as a Hypothesis state machine; `checks.py` has one check for each law."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.conftest import SOAK
from tests.property.machine import DurableLaws, DurableMeaningLaws, Laws, MeaningLaws

QUICK = (6, 2, 2, 1)
SOAKED = (2500, 500, 1000, 200) if SOAK == "long" else (22, 7, 7, 3)
"""Runs of 25 steps: with the log in memory, and in LMDB; the same again with vectors."""


def judge(machine: type[Laws], runs: int) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=runs, stateful_step_count=25))


@pytest.mark.timeout(400)
def test_laws() -> None:
    judge(Laws, QUICK[0])


@pytest.mark.timeout(400)
def test_durable_laws() -> None:
    judge(DurableLaws, QUICK[1])


@pytest.mark.timeout(400)
def test_laws_with_vectors() -> None:
    judge(MeaningLaws, QUICK[2])


@pytest.mark.timeout(400)
def test_durable_laws_with_vectors() -> None:
    judge(DurableMeaningLaws, QUICK[3])


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_laws_long() -> None:
    judge(Laws, SOAKED[0])


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_durable_laws_long() -> None:
    judge(DurableLaws, SOAKED[1])


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_laws_with_vectors_long() -> None:
    judge(MeaningLaws, SOAKED[2])


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_durable_laws_with_vectors_long() -> None:
    judge(DurableMeaningLaws, SOAKED[3])
