"""What commands log: nothing of what is remembered, nothing of every call, and no line twice."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from rewound.http.cli import main
from rewound.http.logs import Discreet, log_to_stderr


@contextmanager
def bare() -> Iterator[None]:
    """A process in which nobody has set up logs yet."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    talkative = {name: logging.getLogger(name).level for name in ("httpx", "httpcore")}
    root.handlers.clear()
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for name, before in talkative.items():
            logging.getLogger(name).setLevel(before)


MEMORY = "the pond's password is HERON"


def fail() -> None:
    try:
        raise ValueError(MEMORY)
    except ValueError:
        logging.getLogger("rewound.memory.host").exception("a request failed")


def test_an_error_is_told_by_kind_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    with bare():
        log_to_stderr("%(levelname)s %(message)s", level=logging.INFO)
        fail()
    told = capsys.readouterr().err
    assert told.startswith("ERROR a request failed\n") and told.endswith("ValueError\n")
    assert "in fail" in told and "HERON" not in told


def test_calls_to_model_servers_are_not_told_one_by_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with bare():
        log_to_stderr("%(message)s", level=logging.INFO)
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).info("HTTP Request: GET http://10.0.0.2:8080/health")
            logging.getLogger(name).warning("a warning of %s", name)
        logging.getLogger("rewound.llm").info("a node is back")
    assert capsys.readouterr().err.splitlines() == [
        "a warning of httpx", "a warning of httpcore", "a node is back",
    ]  # fmt: skip


def test_set_up_again_it_has_the_later_form_and_level(capsys: pytest.CaptureFixture[str]) -> None:
    with bare():
        log_to_stderr("%(message)s", level=logging.WARNING)
        log_to_stderr("%(levelname)s %(message)s", level=logging.INFO)
        logging.getLogger("rewound.http").info("ready")
    assert capsys.readouterr().err == "INFO ready\n"


def test_every_command_is_discreet(capsys: pytest.CaptureFixture[str]) -> None:
    with bare():
        with pytest.raises(SystemExit):
            main.main(["config"])
        capsys.readouterr()
        assert [type(each.formatter) for each in logging.getLogger().handlers] == [Discreet]
        fail()
    assert "HERON" not in capsys.readouterr().err
