"""Codes, names and addresses that read like a time (R05, R23): they are found as they were written,
are told as they were said, and date nothing."""

from pathlib import Path

import pytest

from rewound.eventlog.instants import parse_instant
from rewound.llm.time_expressions import find
from rewound.llm.time_windows import window_of
from rewound.memory import Memory
from rewound.memory.models import Models
from tests.cases.given import Clock, texts

NOW = parse_instant("2026-05-20T10:00:00Z").at

CODES = (
    "H2SO4",
    "what about H1N1",
    "H2O",
    "Q1W2E3",
    "h2database",
    "INV-2024-05-17",
    "is inv-2024-05-17/3 paid?",
    "v2024.1",
    "monday.com",
    "https://example.org/2024/05/17/post",
    "sun@may.example.org",
)
NAMES = (
    "May Lin",
    "what does Jan Novak play",
    "April Smith",
    "the Sunday Times",
    "who is called Friday",
    "the song “Yesterday”",
    "17 June Street",
)
TIMES = (
    "in May",
    "(May 2026)",
    "last Monday.Then nothing",
    "date=2026-05-17",
    "due:2026-05-17",
    "2026-05-17T10:00:00Z",
    "what Nina did in May",
    "on Monday Nina called",
    "mid-May",
    "it broke—yesterday",
    "yesterday's call",
    "pre-2020",
    "2019-ish",
    "12 May/unpaid",
    "last Friday@5pm",
    "**2026-05-17**",
    "[2026-05-17](notes)",
    "2024年",
)


@pytest.mark.parametrize("query", [*CODES, *NAMES])
def test_r23_what_only_looks_like_a_time_narrows_no_search(query: str) -> None:
    assert window_of(query, NOW, "UTC") is None


@pytest.mark.parametrize("query", TIMES)
def test_r05_a_time_stays_one_whatever_stands_beside_it(query: str) -> None:
    assert window_of(query, NOW, "UTC") is not None


@pytest.mark.parametrize(
    "text",
    [
        *(f"I wrote {code} on the box." for code in CODES),
        "My dog is called Friday.",
        "I read the Sunday Times.",
        "I like Yesterday by the Beatles.",
        "I live at 5 May Road.",
        "I set the PIN of the locker to 2024.",
        "My phone number is 2024-05-17.",
    ],
)
def test_r05_a_name_or_a_number_dates_nothing(text: str) -> None:
    assert find(text, NOW) == []


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("I met Nina on Friday.", "2026-05-15"),
        ("The number is due on 2026-05-17.", "2026-05-17"),
        ("My dog died yesterday.", "2026-05-19"),
        ("We were in Rome from 5 May to 8 May.", "2026-05-05"),
    ],
)
def test_r05_a_time_beside_such_words_is_read(text: str, meant: str) -> None:
    assert f"{find(text, NOW)[0].first:%Y-%m-%d}" == meant


def test_r05_a_fact_keeps_a_name_as_it_was_said(tmp_path: Path) -> None:
    models = Models(embedder="none", extractor="rules", judge="none")
    with Memory(tmp_path / "store", models=models, clock=Clock()) as memory:
        memory.own()
        memory.add_messages(
            [
                {"content": "My dog is called Friday. The strain is H1N1."},
                {"content": "I live at 5 May Road."},
            ]
        )
        assert memory.workers("wait", timeout_s=240).pending == 0
        told = [view.text.rstrip(".") for view in memory.list().items]
        assert "The user's dog is called Friday" in told
        assert "The user lives at 5 May Road" in told
        assert "The strain is H1N1" in texts(memory.search("H1N1"))
