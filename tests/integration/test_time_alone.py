"""Time alone changes what a search may find: nothing is written between two searches here."""

from pathlib import Path

from rewound.memory import Memory
from tests.unit.given import START_US, HandClock

DAY_US = 86_400_000_000


def day(number: int) -> str:
    """A day of June 2030, long after the clock's start."""
    return f"2030-06-{number:02d}T00:00:00Z"


JUNE_US = 1_906_502_400_000_000
"""The first of June 2030."""


def test_what_time_ends_and_begins(tmp_path: Path) -> None:
    clock = HandClock(START_US)
    with Memory(tmp_path / "store", clock=clock) as memory:
        memory.own()
        memory.remember(
            [
                {"text": "Tea is served in the hall.", "expires_at": day(10)},
                {"text": "Tea is served in the garden.", "valid_to": day(20)},
                {"text": "Tea is served on the roof."},
            ]
        )

        def found(at_us: int) -> set[str]:
            clock.at = at_us
            hits = memory.search("where is tea served").hits
            return {hit.text.rstrip(".").rsplit(" ", 1)[1] for hit in hits}

        everywhere = {"hall", "garden", "roof"}
        assert found(START_US + 1) == everywhere
        assert found(JUNE_US + 9 * DAY_US - 1) == everywhere
        assert found(JUNE_US + 9 * DAY_US) == {"garden", "roof"}
        assert found(JUNE_US + 19 * DAY_US - 1) == {"garden", "roof"}
        assert found(JUNE_US + 19 * DAY_US) == {"roof"}
        assert found(JUNE_US) == everywhere, "a clock that was set back is believed"


def test_a_context_has_no_clock_in_it(tmp_path: Path) -> None:
    """So that a cache of prompts knows it again."""
    clock = HandClock(START_US)
    with Memory(tmp_path / "store", clock=clock) as memory:
        memory.own()
        memory.remember([f"Tea is served in the {place}." for place in ("hall", "garden", "attic")])
        first = memory.context("where is tea served")
        assert len(first.lines) == 3
        for days in (1, 400):
            clock.at = START_US + days * DAY_US
            assert memory.context("where is tea served").text == first.text
