"""The vocabulary: every event ever written can be read, and knows what it is about."""

import inspect
from itertools import combinations
from pathlib import Path

import msgspec
import pytest

from rewound.eventlog import envelope as envelopes
from rewound.eventlog import events as e
from rewound.eventlog import registry
from rewound.eventlog.bodies import Body
from rewound.eventlog.envelope import PERSON, Actor, Envelope
from rewound.eventlog.errors import Damaged
from rewound.eventlog.ids import ContainerId, EventId, FactId, GroupId, Kind, Ref
from rewound.eventlog.registry import NAMES, UPCASTERS, Upcaster
from tests.golden.make_samples import FOLDER, event_of, file_of, sample

SAMPLES = sorted(FOLDER.glob("*.msgpack"))


# --- samples


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_read_for_ever(path: Path) -> None:
    """When this fails, events that users have stored can no longer be read."""
    name, version = event_of(path)
    event = registry.decode(name, version, path.read_bytes())
    assert type(event) is NAMES[name]
    again = registry.encode(event)
    assert again[:2] == (name, registry.version_of(name))
    assert registry.decode(*again) == event
    fields = [getattr(event, field) for field in event.__struct_fields__]
    assert any(field not in (None, ()) for field in fields)
    assert isinstance(event.creates() + event.refers(), tuple)


@pytest.mark.parametrize("name", NAMES)
def test_every_version_of_every_event_has_a_sample(name: str) -> None:
    for version in range(1, registry.version_of(name) + 1):
        assert file_of(name, version).exists(), "run python -m tests.golden.make_samples"


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_is_of_an_event_that_is_known(path: Path) -> None:
    name, version = event_of(path)
    assert 1 <= version <= registry.version_of(name)
    assert name in NAMES, "names are for ever"


@pytest.mark.parametrize("name", NAMES)
def test_an_event_with_every_field_set_comes_back(name: str) -> None:
    event = sample(NAMES[name])
    assert isinstance(event, e.Event)
    decoded = registry.decode(*registry.encode(event))
    assert decoded == event
    assert (decoded.creates(), decoded.refers()) == (event.creates(), event.refers())
    for ref in (*event.creates(), *event.refers()):
        assert isinstance(ref, Ref)
        assert len(ref.key()) == 17
        assert ref.key()[0] == ref.kind


# --- names and forms


def test_every_event_has_one_name_and_one_line_to_say_what_happened() -> None:
    structs = {
        struct
        for _, struct in inspect.getmembers(e, inspect.isclass)
        if issubclass(struct, e.Event) and struct is not e.Event
    }
    assert set(NAMES.values()) == structs
    assert len(set(NAMES.values())) == len(NAMES)
    for name, struct in NAMES.items():
        assert name == name.lower().strip()
        assert registry.name_of(struct) == name
        first = (struct.__doc__ or "").split("\n")[0]
        assert first.endswith((".", ":")) or ";" in first or "`" in first, struct
        assert first[:1].isupper()
        assert len(first) > 20


@pytest.mark.parametrize("struct", NAMES.values())
def test_an_event_is_frozen_and_array_like(struct: type[e.Event]) -> None:
    assert struct.__struct_config__.frozen
    assert struct.__struct_config__.array_like


# --- growth


class OneField(e.Event, frozen=True):
    """A version that had one field."""

    fact: FactId


class TwoFields(e.Event, frozen=True):
    """Its successor of the same schema version: one more field at the end, with a default."""

    fact: FactId
    weight: int = 7


def test_events_grow_at_the_end() -> None:
    encode = msgspec.msgpack.encode
    old, new = OneField(FactId(b"f" * 16)), TwoFields(FactId(b"f" * 16), 9)
    assert msgspec.msgpack.decode(encode(old), type=TwoFields) == TwoFields(old.fact, 7)
    assert msgspec.msgpack.decode(encode(new), type=OneField) == old


def test_envelopes_grow_at_the_end() -> None:
    class Longer(Envelope, frozen=True, array_like=True):
        more: int = 3

    event_id = EventId(b"e" * 16)
    fields = (1, 1, event_id, 5, ContainerId(b"c" * 16), None, PERSON, (), GroupId(event_id))
    now = Envelope(*fields, "restored", 1, msgspec.Raw(b"\x90"))
    later = Longer(*fields, "restored", 1, msgspec.Raw(b"\x90"), 4)
    assert envelopes.decode(msgspec.msgpack.encode(later)) == now
    grown = msgspec.msgpack.decode(envelopes.encode(now), type=Longer)
    assert grown.more == 3


# --- what is refused


def test_what_was_never_written_is_damage() -> None:
    payload = registry.encode(e.ImportBegun())[2]
    for name, version in (
        ("no such event", 1),
        ("import begun", 0),
        ("import begun", 2),
        ("import begun", -1),
        ("Import Begun", 1),
    ):
        with pytest.raises(Damaged):
            registry.decode(name, version, payload)
    for rubbish in (b"", b"\xc1", b"\x91", b"\x91\x05", payload + b"\x00", b"\x80"):
        with pytest.raises(Damaged):
            registry.decode("import begun", 1, rubbish)


# --- old versions


class Verdict1(msgspec.Struct, frozen=True, array_like=True):
    """A made-up first version: the outcome was a text."""

    fact: bytes
    old: bytes
    outcome: str


class Verdict2(msgspec.Struct, frozen=True, array_like=True):
    """A made-up second version: the outcome is a number."""

    fact: bytes
    old: bytes
    outcome: int


def two_from_one(old: Verdict1) -> Verdict2:
    return Verdict2(old.fact, old.old, e.Outcome[old.outcome.upper()].value)


def three_from_two(old: Verdict2) -> e.FactsLinked:
    return e.FactsLinked(FactId(old.fact), FactId(old.old), e.Outcome(old.outcome))


def test_old_versions_are_brought_up_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.VERSIONS, "facts linked", 3)
    monkeypatch.setitem(UPCASTERS, ("facts linked", 1), Upcaster(Verdict1, two_from_one))
    monkeypatch.setitem(UPCASTERS, ("facts linked", 2), Upcaster(Verdict2, three_from_two))
    a, b = b"a" * 16, b"b" * 16
    newest = e.FactsLinked(FactId(a), FactId(b), e.Outcome.UPDATES)
    for version, stored in (
        (1, Verdict1(a, b, "updates")),
        (2, Verdict2(a, b, 2)),
        (3, newest),
    ):
        payload = msgspec.msgpack.encode(stored)
        assert registry.decode("facts linked", version, payload) == newest
    assert registry.encode(newest)[:2] == ("facts linked", 3)
    with pytest.raises(Damaged):
        registry.decode("facts linked", 4, b"\x90")
    with pytest.raises(Damaged):
        registry.decode("facts linked", 1, msgspec.msgpack.encode([1, 2, 3]))


def test_an_upcaster_must_give_the_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.VERSIONS, "facts linked", 2)
    wrong = Upcaster(Verdict1, lambda old: old)
    monkeypatch.setitem(UPCASTERS, ("facts linked", 1), wrong)
    with pytest.raises(Damaged):
        registry.decode(
            "facts linked", 1, msgspec.msgpack.encode(Verdict1(b"a" * 16, b"b" * 16, "updates"))
        )


# --- tags


def test_tags_name_items_causes_and_the_group_once() -> None:
    first, cause = EventId(b"1" * 16), EventId(b"2" * 16)
    body = Body(0, bytes(32))
    event = e.FactEdited(FactId(b"f" * 16), (FactId(b"g" * 16),) * 2, e.Statement(body))
    name, schema, payload = registry.encode(event)

    def tags(event_id: EventId, causes: tuple[EventId, ...]) -> list[bytes]:
        envelope = Envelope(
            1,
            1,
            event_id,
            5,
            ContainerId(b"c" * 16),
            None,
            Actor(),
            causes,
            GroupId(first),
            name,
            schema,
            msgspec.Raw(payload),
        )
        return envelopes.tags_of(envelope, event.creates(), event.refers())

    items = [bytes((Kind.FACT,)) + b"f" * 16, bytes((Kind.FACT,)) + b"g" * 16]
    assert tags(first, ()) == items
    assert tags(EventId(b"3" * 16), (cause, cause)) == [
        *items,
        bytes((Kind.EVENT,)) + cause,
        bytes((Kind.GROUP,)) + first,
    ]


def test_kinds_and_enums_keep_their_numbers() -> None:
    """They are stored: a number that changes its meaning changes the past."""
    stored = [Kind, e.Role, e.FactKind, e.Media, e.Outcome, e.Why]
    for enum in stored:
        values = [member.value for member in enum]
        assert values == list(range(1, len(values) + 1)), enum
    assert all(a is not b for a, b in combinations(stored, 2))
    assert [kind.name for kind in Kind][:10] == [
        "EVENT",
        "GROUP",
        "CONTAINER",
        "DOCUMENT",
        "MESSAGE",
        "PASSAGE",
        "FACT",
        "CONVERSATION",
        "ENTITY",
        "KEY",
    ]
