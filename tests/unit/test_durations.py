"""Lengths of time as they are written."""

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory.durations import parse_duration

HOUR = 3_600
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30 days", 30 * DAY), ("1 day", DAY), ("2weeks", 14 * DAY), (" 90 MIN ", 90 * 60),
        ("1 h 30 min", HOUR + 1800), ("1 day, 2 hours and 3 seconds", DAY + 2 * HOUR + 3),
        ("45s", 45), ("0 days 1 s", 1), ("P30D", 30 * DAY), ("p2w", 14 * DAY), ("PT12H", 12 * HOUR),
        ("P1DT2H3M4S", DAY + 2 * HOUR + 184), ("PT90M", 90 * 60),
    ],
)  # fmt: skip
def test_a_length_is_read(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds * 1_000_000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "write it like"), ("soon", "write it like"), ("30", "write it like"),
        ("-1 day", "write it like"), ("1.5 days", "write it like"), ("P", "write it like"),
        ("PT", "write it like"), ("P1H", "write it like"), ("PT1D", "write it like"),
        ("30 days ago", "write it like"), ("2026-03-01", "write it like"),
        ("9" * 10 + " s", "write it like"), ("3 months", "no fixed length"),
        ("P1Y", "no fixed length"), ("P2M", "no fixed length"), ("5 moons", "no unit"),
        ("0 days", "no time"), ("PT0S", "no time"),
    ],
)  # fmt: skip
def test_what_is_no_length_is_refused(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as refused:
        parse_duration(text, "forget_after")
    assert refused.value.field == "forget_after" and refused.value.message.startswith(
        "forget_after"
    )
