"""`verify` finds what was changed behind the log's back, and says where."""

import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from rewound.eventlog import envelope as envelopes
from rewound.eventlog.bodies import SALT_BYTES, Body, Place
from rewound.eventlog.envelope import GENESIS, SYSTEM
from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.events import ContentErased, HeadsSealed, ImportBegun
from rewound.eventlog.ids import STORE, ContainerId
from rewound.eventlog.log import Draft, Log, Writer
from rewound.eventlog.tables import BODIES, EVENT_IDS, EVENTS, POSITIONS, TAGS, number, pack8
from rewound.eventlog.verify import Finding, Report, head_token, heads_digest, verify
from tests.contract.damage import changed, flip, report, rows
from tests.contract.damage import put as put_rows
from tests.contract.given import Given, OnDisk, container, fact, fact_ref, message, put, write

A, B = container(1), container(2)
ERASED = Place(3, 0)


def seal(log: Log) -> None:
    def change(writer: Writer) -> None:
        digest, count = heads_digest(writer)
        writer.append(STORE, [Draft(HeadsSealed(digest, count))], actor=SYSTEM)

    write(log, change)


def erase(log: Log, owner: ContainerId, place: Place) -> None:
    def change(writer: Writer) -> None:
        writer.append(owner, [Draft(ContentErased((fact_ref(1),), (place,)))])
        writer.erase(owner, [place], [fact_ref(1)])

    write(log, change)


def fill(log: Log) -> None:
    """Two containers, an erased body, two seals and a tail after them."""
    put(log, A, message(log, "first"), message(log, "second"), fact(log, "third", 1))
    put(log, B, message(log, "of b"))
    seal(log)
    put(log, B, *(message(log, f"more of b {number}") for number in range(4)))
    erase(log, A, ERASED)
    seal(log)
    put(log, A, message(log, "after"))


def places(found: Report) -> set[tuple[ContainerId | None, int]]:
    return {(finding.container, finding.position) for finding in found.findings}


# --- on both logs


def test_a_whole_log_has_no_findings(given: Given) -> None:
    with given.log.reading() as reader:
        found = verify(reader)
    assert found.ok
    assert (found.events, found.bodies, found.expected) == (0, 0, None)
    assert found.head == f"head_0_{GENESIS.hex()}"
    fill(given.log)
    with given.reopen().reading() as reader:
        found = verify(reader)
        assert found.head == head_token(reader)
    assert found.findings == ()
    assert (found.events, found.bodies, found.erased) == (12, 16, 1)
    assert found.notes


def test_a_head_that_was_kept_is_found_again(given: Given) -> None:
    heads: list[str] = []
    for _ in range(3):
        put(given.log, A, message(given.log))
        seal(given.log)
        with given.log.reading() as reader:
            heads.append(head_token(reader))
    with given.log.reading() as reader:
        for head in (f"head_0_{GENESIS.hex()}", *heads, f" {heads[0]}\n"):
            found = verify(reader, expect=head)
            assert (found.ok, found.expected, found.notes) == (True, True, ())
        for head in (
            f"head_4_{GENESIS.hex()}",
            heads[0].replace("head_1", "head_2"),
            f"head_0_{'1' * 64}",
        ):
            found = verify(reader, expect=head)
            assert (found.ok, found.expected, found.findings) == (False, False, ())
        for text in ("", "head_1", heads[0][:-1], heads[0] + "0", heads[0].upper()):
            with pytest.raises(InvalidInput):
                verify(reader, expect=text)


def test_a_body_that_is_gone_without_an_erasure_is_missed(given: Given) -> None:
    fill(given.log)
    write(given.log, lambda writer: writer.erase(B, [Place(2, 1)], []))
    with given.log.reading() as reader:
        found = verify(reader)
    assert found.findings == (Finding(B, 2, "body 1 of event 2 is missing"),)


def test_a_body_that_should_be_gone_is_found(given: Given) -> None:
    fill(given.log)
    put(given.log, B, Draft(ContentErased((), (Place(4, 0),))))
    with given.log.reading() as reader:
        found = verify(reader)
    assert places(found) == {(B, 4)}
    assert "still there" in found.findings[0].problem


def test_a_body_referred_to_later_is_checked_there_too(given: Given) -> None:
    (told,) = put(given.log, A, message(given.log, "the text"))
    text = getattr(told.event, "text", None)
    assert isinstance(text, Body)
    put(given.log, A, Draft(ImportBegun(text.seen_from(1))))
    with given.log.reading() as reader:
        assert verify(reader).ok
    wrong = Body(text.slot, bytes(32), text.chars, 1)
    put(given.log, A, Draft(ImportBegun(wrong)), Draft(ImportBegun(Body(7, bytes(32), 1, 1))))
    with given.log.reading() as reader:
        assert places(verify(reader)) == {(A, 3), (A, 4)}


def test_a_seal_that_does_not_fit_is_found(given: Given) -> None:
    fill(given.log)
    put(given.log, STORE, Draft(HeadsSealed(b"s" * 32, 2)))
    with given.log.reading() as reader:
        digest, count = heads_digest(reader)
        assert count == 2
        assert verify(reader).findings == (
            Finding(STORE, 3, "the heads sealed are not those of that moment"),
        )
    put(given.log, STORE, Draft(HeadsSealed(digest, 3)))
    with given.log.reading() as reader:
        assert places(verify(reader)) == {(STORE, 3), (STORE, 4)}


# --- behind the log's back


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed log without damage."""
    folder = tmp_path_factory.mktemp("verify") / "log"
    disk = OnDisk(folder)
    fill(disk.log)
    disk.log.compact()
    disk.log.close()
    return folder


@pytest.fixture
def log(whole: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy to be damaged."""
    copy = tmp_path / "log"
    shutil.copytree(whole, copy)
    yield copy


def owner_of(log: Path, sequence: bytes) -> tuple[ContainerId, int]:
    """Which event has a sequence."""
    found = [key for key, value in rows(log, POSITIONS) if value.startswith(sequence)]
    return ContainerId(found[0][:16]), number(found[0][16:])


def test_a_copy_is_whole(log: Path) -> None:
    assert report(log).ok


def test_every_flipped_byte_of_an_event_is_found(log: Path) -> None:
    for key, value in rows(log, EVENTS):
        where = owner_of(log, key)
        for at in range(0, len(value), 7):
            with changed(log, EVENTS, (key, flip(value, at))):
                found = report(log)
            assert where in places(found), f"byte {at} of the event at {where}"
    assert report(log).ok


@pytest.mark.parametrize("at", [0, SALT_BYTES - 1, SALT_BYTES, -1])
def test_a_flipped_byte_of_a_salt_or_body_is_found(log: Path, at: int) -> None:
    for key, value in rows(log, BODIES):
        with changed(log, BODIES, (key, flip(value, at % len(value)))):
            found = report(log)
        assert places(found) == {owner_of(log, key[:8])}


def test_a_dropped_body_is_found(log: Path) -> None:
    for key, _ in rows(log, BODIES):
        with changed(log, BODIES, (key, None)):
            assert places(report(log)) == {owner_of(log, key[:8])}


def test_swapped_bodies_are_found(log: Path) -> None:
    (first, one), (second, other), *_ = rows(log, BODIES)
    put_rows(log, BODIES, (first, other), (second, one))
    assert owner_of(log, first[:8]) in places(report(log))


def test_a_body_too_many_is_found(log: Path) -> None:
    key, value = rows(log, BODIES)[0]
    put_rows(log, BODIES, (key[:8] + b"\0\x09", value))
    assert "bodies" in report(log).findings[0].problem


def test_a_dropped_event_is_found(log: Path) -> None:
    for key, _ in rows(log, EVENTS):
        where = owner_of(log, key)
        with changed(log, EVENTS, (key, None)):
            assert where in places(report(log))


def test_swapped_events_are_found(log: Path) -> None:
    events = rows(log, EVENTS)
    for (first, one), (second, other) in pairwise(events):
        with changed(log, EVENTS, (first, other), (second, one)):
            found = places(report(log))
        assert {owner_of(log, first), owner_of(log, second)} <= found


def test_an_event_too_many_is_found(log: Path) -> None:
    key, value = rows(log, EVENTS)[-1]
    put_rows(log, EVENTS, (pack8(number(key) + 1), value))
    assert not report(log).ok


def test_a_dropped_position_is_found(log: Path) -> None:
    for key, _ in rows(log, POSITIONS):
        with changed(log, POSITIONS, (key, None)):
            assert not report(log).ok


def test_every_flipped_byte_of_a_position_is_found(log: Path) -> None:
    for key, value in rows(log, POSITIONS):
        for at in range(len(value)):
            with changed(log, POSITIONS, (key, flip(value, at))):
                found = places(report(log))
            assert (ContainerId(key[:16]), number(key[16:])) in found


def test_a_wrong_event_id_is_found(log: Path) -> None:
    for key, value in rows(log, EVENT_IDS):
        for change in ((key, None), (key, flip(value, 7))):
            with changed(log, EVENT_IDS, change):
                assert places(report(log)) == {owner_of(log, value)}
    put_rows(log, EVENT_IDS, (b"another event id", pack8(1)))
    assert "event_ids" in report(log).findings[0].problem


def test_a_wrong_tag_is_found(log: Path) -> None:
    for key, value in rows(log, TAGS):
        where = (ContainerId(key[:16]), number(key[33:]))
        with changed(log, TAGS, (key, None)):
            assert where in places(report(log))
        if value:
            with changed(log, TAGS, (key, flip(value, len(value) - 1))):
                assert not report(log).ok
            with changed(log, TAGS, (key, value + pack8(9))):
                assert not report(log).ok
    first, _ = rows(log, TAGS)[0]
    put_rows(log, TAGS, (first[:33] + pack8(99), b""))
    assert "tags" in report(log).findings[0].problem


def test_a_rewritten_history_is_found_by_its_seals(log: Path) -> None:
    """Envelope, position and all links after it changed so that the chain itself fits."""
    head = report(log).head
    rewrite(log, B, 1)
    found = report(log)
    assert places(found) == {(STORE, 1), (STORE, 2)}
    assert report(log, head).expected is True, "the store's own chain was left alone"


def test_a_rewritten_store_is_found_by_a_head_kept_elsewhere(log: Path) -> None:
    head = report(log).head
    rewrite(log, STORE, 1)
    found = report(log, head)
    assert (found.ok, found.expected) == (False, False)


def test_a_cut_end_is_found_by_a_head_kept_elsewhere(log: Path) -> None:
    head = report(log).head
    cut(log, 2)
    assert report(log).ok, "nothing in the store itself tells"
    found = report(log, head)
    assert (found.ok, found.expected) == (False, False)


def rewrite(log: Path, owner: ContainerId, position: int) -> None:
    """Move an event's time by one, and chain it and what follows anew."""
    link = GENESIS
    for key, value in rows(log, POSITIONS):
        if key[:16] != owner:
            continue
        (raw,) = [row for sequence, row in rows(log, EVENTS) if sequence == value[:8]]
        if number(key[16:]) == position:
            old = envelopes.decode(raw)
            fields = [getattr(old, name) for name in old.__struct_fields__]
            fields[3] -= 1
            raw = envelopes.encode(envelopes.Envelope(*fields))
            put_rows(log, EVENTS, (value[:8], raw))
        link = envelopes.chain(link, raw)
        put_rows(log, POSITIONS, (key, value[:8] + link))


def cut(log: Path, events: int) -> None:
    """Take the last events away, with all their rows."""
    gone = [key for key, _ in rows(log, EVENTS)][-events:]
    places = {owner_of(log, sequence) for sequence in gone}
    for table in (EVENTS, BODIES):
        put_rows(log, table, *((key, None) for key, _ in rows(log, table) if key[:8] in gone))
    for table in (EVENT_IDS, POSITIONS):
        put_rows(log, table, *((key, None) for key, v in rows(log, table) if v[:8] in gone))
    for key, value in rows(log, TAGS):
        assert not value or not places & {(ContainerId(key[:16]), 0)}
        if (ContainerId(key[:16]), number(key[33:])) in places:
            put_rows(log, TAGS, (key, None))
