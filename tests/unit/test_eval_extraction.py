"""The set that extractors are measured on, and the scorer that measures them."""

import hashlib
import re
from collections.abc import Callable, Sequence

import msgspec
import pytest

from eval.extraction import ANY_DATE, SET, Case, Expected, cases, dated, fits, holds, score
from rewound.eventlog.events import FactKind
from rewound.eventlog.instants import has_offset, parse_instant, zone_named
from rewound.llm.extraction import Drawn, Said

# Figures are comparable only while this stays: a changed set is a new set under a new name.
SHA256 = "9e103010ad64c4471f2302b488d63e4a8e397457c21f469adb2c739eb30a128c"

CASES = cases()
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


class Fake:
    """An extractor that answers each message of the set by a function of its case."""

    name = "fake"

    def __init__(self, answer: Callable[[Case], list[Drawn]]) -> None:
        self._answer = answer
        self._by_said = {case.said(): case for case in CASES}

    def extract(self, pieces: Sequence[Said]) -> list[list[Drawn]]:
        return [self._answer(self._by_said[piece]) for piece in pieces]


def drawn(expected: Expected, zone: str) -> Drawn:
    """The fact that was wished for, word for word."""
    text = " ".join(word.split("|")[0] for word in expected.about)
    since = None
    if expected.valid_from not in (None, ANY_DATE):
        stamp = expected.valid_from + ("T00:00" + zone if zone[0] in "+-" else "")
        since = parse_instant(stamp, zone=zone_named("UTC" if zone[0] in "+-" else zone))
    kind = FactKind[(expected.kind or "fact").upper()]
    return Drawn(text, 0, 1, kind=kind, valid_from=since)


def test_the_set_is_the_frozen_one() -> None:
    assert hashlib.sha256(SET.read_bytes()).hexdigest() == SHA256


def test_the_set_is_large_and_varied() -> None:
    assert len(CASES) >= 120
    assert len({case.id for case in CASES}) == len(CASES)
    assert len({case.said() for case in CASES}) == len(CASES)
    assert {case.role for case in CASES} == {"user", "assistant", "system", "tool", "document"}
    assert sum(not case.expect for case in CASES) >= 40
    dates = [e.valid_from for case in CASES for e in case.expect]
    assert sum(date not in (None, ANY_DATE) for date in dates) >= 40


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_line_is_well_formed(case: Case) -> None:
    assert has_offset(case.at)
    if not re.fullmatch(r"[+-]\d{2}:\d{2}", case.zone):
        zone_named(case.zone)
    assert case.text and case.note and case.speaker != ""
    for expected in case.expect:
        assert expected.about
        words = [*expected.about, *expected.never]
        assert all(word == word.lower() and word.strip() for word in words)
        assert expected.valid_from in (None, ANY_DATE) or _DATE.fullmatch(expected.valid_from)
        assert fits(drawn(expected, case.zone), expected), "what it must hold it must not hold"
    for forbidden in case.forbid:
        assert forbidden and all(word == word.lower() and word.strip() for word in forbidden)


def test_a_perfect_extractor_scores_one() -> None:
    total = score(Fake(lambda case: [drawn(e, case.zone) for e in case.expect]), CASES)
    assert total.faults == []
    assert (total.recall.value, total.dates.value, total.kinds.value) == (1.0, 1.0, 1.0)
    assert (total.forbidden.value, total.idle.value, total.invented.value) == (0.0, 0.0, 0.0)
    assert total.drawn == total.recall.count


def test_an_extractor_that_draws_nothing_scores_zero() -> None:
    total = score(Fake(lambda case: []), CASES)
    assert (total.recall.value, total.dates.value, total.kinds.value) == (0.0, 0.0, 0.0)
    assert (total.forbidden.value, total.idle.value, total.invented.value) == (0.0, 0.0, 0.0)
    assert len(total.faults) == total.recall.count


def test_an_extractor_that_repeats_all_it_hears_is_found_out() -> None:
    date = parse_instant("1999-12-31")
    total = score(Fake(lambda case: [Drawn(case.text, 0, 1, valid_from=date)]), CASES)
    assert total.idle.value == 1.0
    assert total.forbidden.value > 0.5
    assert total.recall.value < 0.5
    assert total.dates.value == 0.0
    assert total.invented.value == 1.0


@pytest.mark.parametrize(
    ("text", "word", "is_held"),
    [
        ("Nina's cat", "nina", True),
        ("Ninas cat", "nina", False),
        ("I’m here", "i", True),
        ("It is", "i", False),
        ("She does not eat", "not|doesn't", True),
        ("She doesn’t eat", "not|doesn't", True),
        ("She cannot eat", "not|doesn't", False),
        ("release 4.2", "4.2", True),
        ("release 4x2", "4.2", False),
        ("私は東京に住んでいます", "東京", True),
        ("У меня аллергия на орехи", "орех", False),
    ],
)
def test_words_are_held_whole(text: str, word: str, is_held: bool) -> None:
    assert holds(text, word) is is_held


@pytest.mark.parametrize(
    ("given", "wanted", "zone", "is_right"),
    [
        ("2026-03-01", "2026-03-01", "UTC", True),
        ("2026-03-01T09:40:00+09:00", "2026-03-01", "UTC", True),
        ("2026-03-01T23:30:00Z", "2026-03-02", "Asia/Tokyo", False),
        ("2026-03", "2026-03", "UTC", True),
        ("2026-03-01", "2026-03", "UTC", False),
        ("2026-03", "2026-03-01", "UTC", False),
        ("2019", "2019", "UTC", True),
        ("2019-01", "2019", "UTC", False),
    ],
)
def test_a_date_is_right_when_it_is_as_exact_as_it_was_said(
    given: str, wanted: str, zone: str, is_right: bool
) -> None:
    assert dated(Drawn("x", 0, 1, valid_from=parse_instant(given)), wanted, zone) is is_right


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "+09:00"])
def test_a_date_without_an_offset_is_read_in_the_zone_of_the_message(zone: str) -> None:
    evening = parse_instant("2026-03-01T20:00:00Z")
    unplaced = msgspec.structs.replace(evening, offset=None)
    assert dated(Drawn("x", 0, 1, valid_from=unplaced), "2026-03-02", zone)
    assert not dated(Drawn("x", 0, 1, valid_from=unplaced), "2026-03-01", zone)
