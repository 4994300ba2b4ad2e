"""What `as_of` and `valid_at` mean: which position, which now, which stretch of world time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.eventlog.ids import Kind, as_uuid, parse
from rewound.eventlog.instants import parse_instant, show_us
from rewound.memory import requests as q
from rewound.memory.moments import LAST_US, When, position_since, present, resolve, zone_of
from tests.unit.given import DAY_US, HOUR_US, SECOND_US, START_US, Store, open_store

NOON = "2026-01-01T12:00:00Z"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Made at midnight, and a fact each hour from one o'clock: position n is hour n - 1."""
    with open_store(tmp_path) as store:
        for hour in range(1, 6):
            store.clock.at = START_US + hour * HOUR_US
            store.remember(f"It is {hour} o'clock.")
        store.clock.at = START_US + 12 * HOUR_US
        yield store


def when(store: Store, as_of: str | None = None, valid_at: str | None = None) -> When:
    with store.view() as view:
        return resolve(view, q.Read(as_of=as_of, valid_at=valid_at), store.clock.at)


def us(text: str) -> int:
    return parse_instant(text).at


def test_without_as_of_it_is_now(store: Store) -> None:
    for as_of in (None, "now", " NOW "):
        found = when(store, as_of)
        assert (found.at, found.now_us, found.valid) == (6, us(NOON), None)
        assert found.moment.as_of is None and found.moment.position == 6
        assert found.holding() == (us(NOON), us(NOON) + 1)
    with store.view() as view:
        assert present(view, store.clock.at) == when(store)


@pytest.mark.parametrize(
    ("as_of", "position", "now"),
    [
        ("2026-01-01T02:00:00Z", 3, "2026-01-01T02:00:00.999999Z"),  # a second: its end
        ("2026-01-01T02:00:00.000000Z", 3, "2026-01-01T02:00:00.000000Z"),  # inclusive
        ("2026-01-01T01:59:59.999999Z", 2, "2026-01-01T01:59:59.999999Z"),
        ("2026-01-01T02:00Z", 3, "2026-01-01T02:00:59.999999Z"),
        ("2026-01-01T01:59Z", 2, "2026-01-01T01:59:59.999999Z"),
        ("2026-01-01T07:30:00+05:30", 3, "2026-01-01T02:00:00.999999Z"),
        ("2025-12-31", 0, "2025-12-31T23:59:59.999999Z"),
        ("2026-01-01", 6, "2026-01-01T23:59:59.999999Z"),
        ("2026-01", 6, "2026-01-31T23:59:59.999999Z"),
        ("2025", 0, "2025-12-31T23:59:59.999999Z"),
        ("1969-07-20", 0, "1969-07-20T23:59:59.999999Z"),
        ("9999", 6, show_us(LAST_US)),
        ("9999-12-31T23:59:59.999999Z", 6, show_us(LAST_US)),
    ],
)
def test_a_time_means_the_end_of_what_was_named(
    store: Store, as_of: str, position: int, now: str
) -> None:
    found = when(store, as_of)
    assert (found.at, show_us(found.now_us)) == (position, now)
    assert (found.moment.position, found.moment.as_of) == (position, now)


def test_a_day_is_that_of_the_containers_zone_and_the_reply_names_it(store: Store) -> None:
    """R05: a stamp without an offset follows a rule, and the reply says which."""
    store.configure(zone="America/Los_Angeles")
    found = when(store, "2025-12-31")
    assert show_us(found.now_us) == "2026-01-01T07:59:59.999999Z"
    assert found.at == 6 and found.moment.zone == "America/Los_Angeles"
    found = when(store, "2025-12-31T18:00:00")
    assert found.at == 3 and found.moment.zone == "America/Los_Angeles"
    found = when(store, "2026-01-01T02:00:00Z")
    assert found.at == 3 and found.moment.zone is None
    found = when(store, "@3", "2026-03-01")
    assert found.valid == (us("2026-03-01T08:00:00Z"), us("2026-03-02T08:00:00Z"))
    assert found.moment.zone == "America/Los_Angeles"
    assert when(store, "@3", "2026-03-01T10:00:00+05:30").moment.zone is None


def test_a_day_without_a_zone_is_in_utc_and_the_reply_names_it(store: Store) -> None:
    assert when(store, "2025-12-31").moment.zone == "UTC"


def test_a_day_on_which_the_clock_changes_is_as_long_as_it_is(store: Store) -> None:
    store.configure(zone="Europe/Berlin")
    found = when(store, valid_at="2026-03-29")
    assert found.valid is not None and found.valid[1] - found.valid[0] == 23 * HOUR_US
    assert show_us(when(store, "2026-10-25").now_us) == "2026-10-25T22:59:59.999999Z"


def test_stamps_with_and_without_offset_can_be_mixed(store: Store) -> None:
    """R05: comparing them never fails."""
    store.configure(zone="Asia/Kolkata")
    plain = when(store, "2026-01-01T07:30:00", "2026-03-01T10:00:00Z")
    aware = when(store, "2026-01-01T07:30:00+05:30", "2026-03-01T15:30:00")
    assert plain.at == aware.at == 3 and plain.valid == aware.valid


def test_a_position_has_the_time_of_its_event(store: Store) -> None:
    found = when(store, "@3")
    assert (found.at, found.now_us) == (3, START_US + 2 * HOUR_US)
    assert found.moment.as_of == "2026-01-01T02:00:00.000000Z"
    assert when(store, "@6").at == 6
    before = when(store, "@0")
    assert (before.at, before.now_us) == (0, START_US - 1)


def test_an_event_is_inclusive_and_read_in_both_forms(store: Store) -> None:
    event = store.events()[2].id
    raw = parse(event, Kind.EVENT)
    for form in (event, event.upper(), as_uuid(raw), raw.hex()):
        assert when(store, form) == when(store, "@3")


def test_a_position_beyond_the_end_is_told_where_the_end_is(store: Store) -> None:
    with pytest.raises(InvalidInput, match="@6") as caught:
        when(store, "@7")
    assert caught.value.field == "as_of"


def test_an_event_of_another_container_is_as_unknown_as_none(store: Store) -> None:
    store.configure(name="beta")
    theirs = store.ask(q.Events(container="beta")).events[0].id
    unknown = "ev_00000000000000000000000000"
    messages = []
    for event in (theirs, unknown):
        with pytest.raises(NotFound) as caught:
            when(store, event)
        assert caught.value.field == "as_of"
        messages.append(caught.value.message.replace(event, "it"))
    assert messages[0] == messages[1]


def test_the_id_of_something_else_is_named(store: Store) -> None:
    fact = store.listed()[0]
    with pytest.raises(WrongKind, match="is a fact"):
        when(store, fact)


@pytest.mark.parametrize(
    "as_of",
    ["", "yesterday", "@", "@-1", "@x", "@1.5", "@²", "2026-13-01", "2026-02-30", "10:00", "1767",
     "20260101", "2026-01-01T25:00:00Z", "2026-01-01T10:00:00+99:00", "ev_short", "x" * 500],
)  # fmt: skip
def test_what_is_no_moment_says_what_would_be_one(store: Store, as_of: str) -> None:
    if as_of == "1767":
        assert when(store, as_of).at == 0  # a year
        return
    with pytest.raises(InvalidInput) as caught:
        when(store, as_of)
    assert caught.value.field == "as_of" and len(caught.value.message) < 300


def test_valid_at_is_half_open_and_as_long_as_what_was_named(store: Store) -> None:
    for text, end in (
        ("2026-03-01", "2026-03-02"),
        ("2026-03", "2026-04"),
        ("2026", "2027"),
        ("2026-03-01T10:00Z", "2026-03-01T10:01Z"),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:01Z"),
    ):
        found = when(store, valid_at=text)
        assert found.valid == (us(text), us(end)) and found.moment.valid_at == text
    found = when(store, valid_at="2026-03-01T10:00:00.5Z")
    start = us("2026-03-01T10:00:00.5Z")
    assert found.valid == (start, start + 1)
    found = when(store, "@3", "now")
    assert found.valid == (found.now_us, found.now_us + 1)


def test_valid_at_wants_a_time(store: Store) -> None:
    for text in ("@3", "never", store.events()[0].id):
        with pytest.raises(InvalidInput) as caught:
            when(store, valid_at=text)
        assert caught.value.field == "valid_at"


def test_the_zone_is_told_when_only_a_filter_was_read_in_it(store: Store) -> None:
    found = when(store, "@3")
    assert found.told().zone is None and found.told(zoned=True).zone == "UTC"


def test_since_takes_in_what_it_names(store: Store) -> None:
    with store.view() as view:
        zone = zone_of(view)

        def before(text: str) -> int:
            return position_since(view, zone, text, "since")[0]

        assert before("@3") == 2 and before("@0") == 0
        assert before(store.events()[2].id) == 2
        assert before("2026-01-01T02:00:00Z") == 2
        assert before("2026-01-01T02:00:00.000001Z") == 3
        assert before("2026-01-01") == 0 and before("2026-01-02") == 6 and before("1960") == 0


def test_a_later_write_does_not_move_a_moment(store: Store) -> None:
    asked = ("@3", "2026-01-01T02:00:00Z", store.events()[2].id)
    before = [when(store, as_of) for as_of in asked]
    store.clock.at += DAY_US + SECOND_US
    store.remember("Later.")
    assert [when(store, as_of) for as_of in asked] == before
