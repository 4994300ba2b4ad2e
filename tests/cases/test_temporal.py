"""R05, R07 and R08: days and offsets, corrections, and words that look like contradictions."""

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from tests.cases.given import Cli, Clock, id_of, texts

ZONE = "America/Los_Angeles"
LEMON = "Yesterday I planted the lemon tree, and last week I sold the van."


def day(memory: Memory, query: str, first: str, last: str | None = None) -> list[str]:
    """Since when the facts of these days hold, and whether a search finds any."""
    listed = memory.list(since=first, until=last or first).items
    found = memory.search(query, since=first, until=last or first).hits
    assert {hit.id for hit in found} <= {item.id for item in listed}
    assert {*(hit.id for hit in found), *(one for hit in found for one in hit.also)} == {
        item.id for item in listed
    }
    return sorted(item.valid_from or "" for item in listed)


def test_r05_a_stamp_without_offset_is_read_in_the_containers_zone(memory: Memory) -> None:
    memory.configure(zone=ZONE)
    bare = memory.remember("Repotted the fern.", said_at="2026-03-01T10:00:00")
    assert any(ZONE in note for note in bare.notes)
    offset = memory.remember("Repotted the fern.", said_at="2026-03-01T10:00:00+05:30")
    assert offset.notes == () and id_of(offset) != id_of(bare)
    assert memory.get(id_of(bare)).item.said_at == "2026-03-01T10:00:00-08:00"
    # 10:00+05:30 was the evening before in Los Angeles.
    assert day(memory, "fern", "2026-03-01") == ["2026-03-01T10:00:00-08:00"]
    assert day(memory, "fern", "2026-02-28") == ["2026-03-01T10:00:00+05:30"]
    assert len(day(memory, "fern", "2026-02-28", "2026-03-01")) == 2
    # The same instant, written with its offset, is the same fact.
    again = memory.remember("Repotted the fern.", said_at="2026-03-01T18:00:00Z")
    assert (again.items[0].status, again.items[0].id) == ("seen again", bare.items[0].id)


def test_r05_without_a_zone_of_its_own_a_container_reads_utc(memory: Memory) -> None:
    bare = memory.remember("Repotted the fern.", said_at="2026-03-01T10:00:00")
    assert any("UTC" in note for note in bare.notes)
    assert memory.get(id_of(bare)).item.said_at == "2026-03-01T10:00:00Z"


def test_r05_a_message_late_in_the_day_belongs_to_the_speakers_day(
    memory: Memory, clock: Clock
) -> None:
    clock.set("2026-04-20T09:00:00Z")  # sent weeks later
    memory.configure(zone=ZONE)
    memory.add_messages([{"content": LEMON, "time": "2026-03-02T23:30:00-08:00"}])
    assert [hit.kind for hit in memory.search("lemon", since="2026-03-02", until="2026-03-02").hits]
    for other in ("2026-03-01", "2026-03-03", "2026-04-20"):
        assert not memory.search("lemon", since=other, until=other).hits, other
    (message,) = memory.list("message").items
    assert message.said_at == "2026-03-02T23:30:00-08:00"


@pytest.mark.parametrize(
    ("stamp", "read"),
    [
        # The hour that was left out in spring, and the one that came twice in autumn.
        ("2026-03-08T02:30:00", {"2026-03-08T02:30:00-08:00", "2026-03-08T03:30:00-07:00"}),
        ("2026-11-01T01:30:00", {"2026-11-01T01:30:00-07:00"}),
    ],
)
def test_r05_the_hours_of_a_clock_change_are_no_error(
    memory: Memory, stamp: str, read: set[str]
) -> None:
    memory.configure(zone=ZONE)
    fact = id_of(memory.remember("The clock struck.", said_at=stamp))
    assert memory.get(fact).item.said_at in read
    assert len(day(memory, "clock", stamp[:10])) == 1


def test_r05_a_short_day_ends_at_its_own_midnight(memory: Memory) -> None:
    memory.configure(zone=ZONE)
    memory.remember("Last minute.", said_at="2026-03-08T23:59:59.999999-07:00")
    memory.remember("First minute of the next.", said_at="2026-03-09T00:00:00-07:00")
    assert day(memory, "minute", "2026-03-08") == ["2026-03-08T23:59:59.999999-07:00"]
    assert day(memory, "minute", "2026-03-09") == ["2026-03-09T00:00:00-07:00"]


def test_r05_stamps_with_and_without_offset_are_compared(memory: Memory) -> None:
    memory.configure(zone=ZONE)
    kept = memory.remember(
        "The van was away.", valid_from="2026-03-01T10:00:00", valid_to="2026-03-01T19:00:00Z"
    )
    assert memory.search("van", valid_at="2026-03-01T10:30:00", include_superseded=True).hits
    assert not memory.search("van", valid_at="2026-03-01T11:00:00").hits
    with pytest.raises(InvalidInput) as refused:  # ends at 10:00 in Los Angeles, as it begins
        memory.remember(
            "The van was gone.", valid_from="2026-03-01T10:00:00", valid_to="2026-03-01T18:00:00Z"
        )
    assert refused.value.field == "valid_to"
    assert memory.stats().events == kept.position


def test_r05_on_the_command_line(cli: Cli) -> None:
    cli.run("configure", "-c", "s", "--zone", ZONE)
    for stamp in ("2026-03-01T10:00:00", "2026-03-01T10:00:00+05:30"):
        cli.run("-c", "s", "remember", "Repotted the fern.", "--said-at", stamp)
    found = cli.told("-c", "s", "search", "fern", "--since", "2026-03-01", "--until", "2026-03-01")
    assert [hit["valid_from"] for hit in found["hits"]] == ["2026-03-01T10:00:00-08:00"]
    assert found["moment"]["zone"] == ZONE


# --- R07


@pytest.mark.parametrize("how", ["update", "corrects", "own id", "update of an old version"])
def test_r07_a_corrected_text_is_not_current_by_word(memory: Memory, how: str) -> None:
    old = id_of(memory.remember("The demo is at 4:30 pm, room Teal.", id="demo"))
    if how == "own id":
        new = id_of(memory.remember("The demo is at 5 pm, room Teal.", id="demo"))
    elif how == "update of an old version":
        memory.update(old, "The demo is at 4:45 pm, room Teal.")
        new = id_of(memory.update(old, "The demo is at 5 pm, room Teal."))
    else:
        correcting = how == "corrects"
        new = id_of(memory.update(old, "The demo is at 5 pm, room Teal.", corrects=correcting))
    for query in ("when is the demo", "4:30 pm", "Teal", "The demo is at 4:30 pm, room Teal."):
        assert texts(memory.search(query)) == ["The demo is at 5 pm, room Teal."], query
    assert "4:30" not in memory.context("4:30 pm demo").text
    assert [item.id for item in memory.list().items] == [new]
    versions = memory.history(old).versions
    assert [version.text for version in versions][:: len(versions) - 1] == [
        "The demo is at 4:30 pm, room Teal.",
        "The demo is at 5 pm, room Teal.",
    ]
    states = [version.standing.state for version in versions if version.standing]
    assert states[-1] == "current" and states.count("current") == 1
    assert memory.get(old).item.current == new


def test_r07_a_correction_back_to_the_first_wording_leaves_one(memory: Memory) -> None:
    first = id_of(memory.remember("The demo is at 3 pm."))
    memory.update(first, "The demo is at 4 pm.")
    memory.update(first, "The demo is at 3 pm.")
    assert texts(memory.search("demo", include_superseded=False)) == ["The demo is at 3 pm."]
    history = [version.text for version in memory.history(first).versions]
    assert history == ["The demo is at 3 pm.", "The demo is at 4 pm.", "The demo is at 3 pm."]


# --- R08

VALVE = "Use the blue valve for the boiler."
LOOKALIKES = [
    "Do not forget to open the blue valve for the boiler before six.",
    "The notary is never late.",
    "I'm not allergic to nuts, only to kiwi.",
    "Actually, the notary's office is on Elm Road.",
    "Avoid the red valve; never, ever use it instead of the blue valve.",
    "Correction of exams: the blue valve is no longer mentioned in chapter two.",
]


@pytest.mark.parametrize("door", ["remember", "messages", "documents"])
def test_r08_words_that_look_like_a_contradiction_end_nothing(memory: Memory, door: str) -> None:
    valve = id_of(memory.remember(VALVE))
    before = memory.get(valve).item
    for text in LOOKALIKES:
        if door == "remember":
            memory.remember(text)
        elif door == "messages":
            memory.add_messages([{"content": text}], infer=False)
        else:
            memory.ingest(text, infer=False)
    assert memory.get(valve).item == before
    facts = {item.text: item for item in memory.list().items}
    assert set(facts) == {VALVE, *LOOKALIKES}
    for item in facts.values():
        assert item.standing is not None and item.standing.state == "current", item.text
        assert item.valid_to is None
    assert memory.search(VALVE).hits[0].id == valve
    ended = memory.events(types=["fact superseded", "fact edited", "facts judged"]).events
    assert ended == ()
