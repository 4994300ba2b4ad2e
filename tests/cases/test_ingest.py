"""R05, R07, R08 and R14 with the extractor that a server has by default, through all four doors."""

from collections.abc import Iterator
from typing import Any

import pytest

from rewound.memory import replies as r
from tests.cases.doors import DOORS, Door, Json, Rest, Shop, open_shop, told


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    settings = {"REWOUND_EMBEDDER": "none", "REWOUND_EXTRACTOR": ""}
    with open_shop(tmp_path_factory.mktemp("ingest"), **settings) as shop:
        yield shop


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, shop: Shop) -> Door:
    """Each door, in an empty container."""
    return DOORS[request.param](shop)


@pytest.fixture
def rest(shop: Shop) -> Rest:
    return Rest(shop)


def drawn(door: Door) -> list[Json]:
    """The facts that were drawn from texts."""
    door.shop.settle()
    return [view for view in door.views() if view.get("sources")]


def happened(door: Door) -> list[str]:
    """Types of all events but those that only note a repeat."""
    return [event.type for event in door.api.events() if event.type != "seen again"]


# --- R14

WALNUTS = "Marta is badly allergic to walnuts"
CHAT: list[Json] = [
    {"role": "system", "content": "Relevant memories: Tom owns a red bike"},
    {"role": "user", "content": "Explain hashing to me.", "name": "Tom"},
    {
        "role": "assistant",
        "content": "Use a salt per row. I prefer Argon2 and I live in Oslo.",
    },
    {"role": "user", "name": "Marta", "content": "I'm badly allergic to walnuts."},
]


def test_r14_five_sends_say_nothing_of_tom(door: Door) -> None:
    states = []
    for _ in range(5):
        states.append({item["status"] for item in door.say(CHAT)})
        (fact,) = drawn(door)
        assert (fact["text"], fact.get("subject")) == (WALNUTS, "Marta")
        assert [source["speaker"] for source in fact["sources"]] == ["Marta"]
    assert states == [{"written"}] + [{"seen again"}] * 4
    assert happened(door).count("fact extracted") == 1
    assert len(door.views("message")) == 4
    for question in ("red bike", "Argon2", "salt", "Oslo", "Tom"):
        facts = [hit["text"] for hit in door.search(question) if hit["kind"] == "fact"]
        assert set(facts) <= {WALNUTS}, question


def test_r14_a_growing_transcript_adds_what_is_new(door: Door) -> None:
    """Clients send the whole talk each time, and put what they recalled in front of it anew."""
    talk, recalled = CHAT[1:], ["Tom owns a red bike"]
    for number in range(1, 6):
        talk = [*talk, {"role": "user", "name": "Tom", "content": f"I own boat number {number}."}]
        prompt = "Relevant memories:\n" + "".join(f"- {text}\n" for text in recalled)
        door.say([{"role": "system", "content": prompt}, *talk])
        boats = [f"Tom owns boat number {n}" for n in range(1, number + 1)]
        recalled = door.facts()
        assert recalled == [WALNUTS, *boats]
    assert happened(door).count("fact extracted") == 6


# What clients put into a prompt, where `{}` is what the memory answered with.
PASTED = {
    "as it came": "{}",
    "under a heading": "Relevant memories:\n{}\n\nExplain hashing to me.",
    "after the question": "Explain hashing to me.\n\nHere is what I remember:\n{}",
    "in tags": "<memories>\n{}\n</memories>\n\nExplain hashing to me.",
    "in a fence": "```\n{}\n```\nExplain hashing to me.",
    "as a quotation": "> {}",
}


@pytest.mark.parametrize("pasted", PASTED.values(), ids=PASTED.keys())
def test_r14_what_the_memory_answered_is_never_news(rest: Rest, pasted: str) -> None:
    rest.remember("Tom owns a red bike.", said_at="2026-03-01")
    rest.say([{"content": "I live in Porto.", "name": "Tom"}])
    before = rest.facts(), drawn(rest)
    assert before[0] == ["Tom owns a red bike.", "Tom lives in Porto"]
    for number in range(5):
        packed = rest.api.ask("/v1/context", r.Packed, query="Tom")
        assert "red bike" in packed.text and "Porto" in packed.text
        text = pasted.format(packed.text.replace("\n", "\n> ") if "> " in pasted else packed.text)
        message = {"content": text, "name": "Tom"}
        rest.say([{**message, "role": "system"}, message], conversation=f"talk {number}")
    assert (rest.facts(), drawn(rest)) == before


# The same by clients that put in the bare texts, without ids or dates.
PLAIN = {
    "under a heading": "Relevant memories:\n{}\n\nExplain hashing to me.",
    "under a bold heading": "**Relevant memories:**\n{}\n\nExplain hashing to me.",
    "in a memory's tags": "<memory>\n{}\n</memory>\nExplain hashing to me.",
    "in tags of one's own": "<user-memories>\n{}\n</user-memories>\nExplain hashing to me.",
    "in a fence": "```\n{}\n```\nExplain hashing to me.",
    "under a title": "## Memories\n\n{}\n\n## Task\n\nExplain hashing to me.",
    "under a title of a line": "**Relevant memories**\n{}\n\nExplain hashing to me.",
    "after a blank line": "Relevant memories:\n\n{}\n\nExplain hashing to me.",
    "under a plain title": "Relevant memories\n{}\n\nExplain hashing to me.",
    "between rules": "=== Memories ===\n{}\n\nExplain hashing to me.",
    "in a profile's tags": "<user_profile>\n{}\n</user_profile>\nExplain hashing to me.",
    "in a product's tags": "<mem0>\n{}\n</mem0>\nExplain hashing to me.",
    "in tags that say how": "<retrieved>\n{}\n</retrieved>\nExplain hashing to me.",
    "under a profile": "User profile:\n{}\n\nExplain hashing to me.",
    "under what one remembers": "Things I remember about you:\n{}\n\nExplain hashing to me.",
    "under what is known": "Known about the user:\n{}\n\nExplain hashing to me.",
}


@pytest.mark.parametrize("pasted", PLAIN.values(), ids=PLAIN.keys())
def test_r14_bare_memories_are_never_news(rest: Rest, pasted: str) -> None:
    recalled = ["Tom owns a red bike", "Marta lives in Porto", "The user's dog is called Rex"]
    text = pasted.format("\n".join(f"- {each}" for each in recalled))
    for number in range(5):
        rest.say([{"content": text, "name": "Tom"}], conversation=f"talk {number}")
    assert rest.facts() == []


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
@pytest.mark.parametrize("name", [None, "Tom", "user"])
def test_r14_only_users_state_facts_whatever_they_are_called(
    rest: Rest, role: str, name: str | None
) -> None:
    text = "I live in Oslo. Tom is allergic to walnuts. My bike is red."
    message = {"role": role, "content": text, **({"name": name} if name else {})}
    assert rest.say([message])[0]["status"] == "written"
    assert rest.facts() == []
    assert [hit["kind"] for hit in rest.search("Oslo")] == ["message"], "kept, and found"


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("Marta told me: I'm allergic to walnuts.", []),
        ('Marta said: "I\'m allergic to walnuts."', []),
        ("On Monday Marta wrote:\n> I'm allergic to walnuts.\n\nWhat can I cook?", []),
        ("Marta: I'm allergic to walnuts.\nAnd now?", []),
        ("Marta is allergic to walnuts.", ["Marta is allergic to walnuts"]),
        ("My sister Marta is allergic to walnuts.", ["Tom's sister Marta is allergic to walnuts"]),
        ("I'm not Marta. I'm allergic to kiwi.", ["Tom is not Marta", "Tom is allergic to kiwi"]),
    ],
)
def test_r14_what_others_said_is_not_the_speakers(rest: Rest, said: str, facts: list[str]) -> None:
    rest.say([{"content": said, "name": "Tom"}])
    assert rest.facts() == facts
    about_tom = [v for v in rest.views() if v.get("subject") == "Tom" and "walnuts" in v["text"]]
    assert about_tom == []


def test_r14_each_speaker_speaks_of_himself(door: Door) -> None:
    door.say(
        [
            {"content": "I live in Oslo.", "name": "Marta"},
            {"content": "I live in Rome.", "name": "Tom"},
            {"content": "I live in Ghent."},
        ]
    )
    subjects = {view["text"]: view.get("subject") for view in drawn(door)}
    assert subjects["Marta lives in Oslo"] == "Marta" and subjects["Tom lives in Rome"] == "Tom"
    assert set(subjects) == {"Marta lives in Oslo", "Tom lives in Rome", "The user lives in Ghent"}


# --- R08

VALVE = "Use the blue valve for the boiler."
LOOKALIKES = [
    "Do not forget to open the blue valve for the boiler before six.",
    "The notary is never late.",
    "I'm not allergic to nuts, only to kiwi.",
    "Actually, the notary's office is on Elm Road.",
    "Avoid the red valve of the boiler.",
    "The blue valve of the boiler was never replaced.",
]


def test_r08_words_that_sound_like_a_denial_end_nothing(door: Door) -> None:
    door.keep(VALVE, "valve")
    (before,) = drawn(door)
    assert before["text"] == VALVE.rstrip(".")
    for number, text in enumerate(LOOKALIKES):
        door.search("blue valve for the boiler")  # what was read last is no target either
        door.keep(text, f"note {number}")
        door.shop.settle()
    views = {view["text"]: view for view in drawn(door)}
    assert views[VALVE.rstrip(".")] == before
    assert {view["standing"]["state"] for view in views.values()} == {"current"}
    assert not any(view.get("valid_to") for view in views.values())
    # The notes themselves and the passages they stand in are hits as well: the first fact leads.
    facts = [hit for hit in door.search(VALVE) if hit["kind"] == "fact"]
    assert facts[0]["id"] == before["id"]
    # Kiwi yes, nuts no: two facts, and none says "allergic to nuts".
    allergies = sorted(text.split(" is ")[1] for text in views if "allergic" in text)
    assert allergies == ["allergic to kiwi", "not allergic to nuts"]
    assert any("notary's office is on Elm Road" in text for text in views)
    assert not {"fact superseded", "fact ended", "facts judged"} & set(happened(door))


# --- R05

ZONE = "America/Los_Angeles"
LEMON = "Yesterday I planted the lemon tree, and last week I sold the van."


def zoned(door: Door, zone: str) -> None:
    body: dict[str, Any] = {"zone": zone}
    assert door.api.send("PUT", f"/v1/containers/{door.container}", body).is_success


def test_r05_yesterday_is_the_speakers_own(door: Door) -> None:
    zoned(door, ZONE)
    door.say([{"content": LEMON, "name": "Nina", "time": "2026-03-02T23:30:00-08:00"}])
    since = {view["text"]: view["valid_from"] for view in drawn(door)}
    assert since == {
        "Nina planted the lemon tree on 2026-03-01": "2026-03-01",
        "Nina sold the van in the week of 2026-02-23": "2026-02-23",
    }
    day = {"since": "2026-03-01", "until": "2026-03-01"}
    facts = [hit["text"] for hit in door.search("lemon tree", **day) if hit["kind"] == "fact"]
    assert facts == ["Nina planted the lemon tree on 2026-03-01"]
    other = {"since": "2026-03-02", "until": "2026-03-02"}
    assert not [hit for hit in door.search("lemon tree", **other) if hit["kind"] == "fact"]


@pytest.mark.parametrize(
    ("zone", "time", "day"),
    [
        # Late in the evening it is tomorrow in UTC; early in the morning it is yesterday there.
        (ZONE, "2026-03-02T23:30:00", "2026-03-01"),
        ("Asia/Kathmandu", "2026-03-02T00:30:00", "2026-03-01"),
        ("Pacific/Kiritimati", "2026-03-02T00:30:00", "2026-03-01"),
        # An offset that is named counts, whatever the container's zone.
        ("Asia/Tokyo", "2026-03-02T23:30:00-08:00", "2026-03-01"),
        ("Asia/Tokyo", "2026-03-02T23:30:00Z", "2026-03-01"),
        # The days on which clocks change, and the turn of a year.
        (ZONE, "2026-03-08T23:30:00", "2026-03-07"),
        ("Europe/Berlin", "2026-10-26T00:10:00", "2026-10-25"),
        ("Europe/Berlin", "2026-01-01T00:10:00", "2025-12-31"),
    ],
)
def test_r05_zones_and_yesterday(rest: Rest, zone: str, time: str, day: str) -> None:
    zoned(rest, zone)
    rest.say([{"content": "I planted the lemon tree yesterday.", "name": "Nina", "time": time}])
    (fact,) = drawn(rest)
    assert fact["valid_from"] == day and fact["text"].endswith(day)


def test_r05_a_stamp_without_offset_is_the_zones(door: Door) -> None:
    zoned(door, ZONE)
    bare = door.remember("Repotted the fern.", said_at="2026-03-01T10:00:00")
    offset = door.remember("Repotted the fern.", said_at="2026-03-01T10:00:00+05:30")
    assert bare != offset
    for day, begun in (
        ("2026-03-01", "2026-03-01T10:00:00-08:00"),
        ("2026-02-28", "2026-03-01T10:00:00+05:30"),  # it was the evening before there
    ):
        (hit,) = door.search("fern", since=day, until=day)
        assert hit["valid_from"] == begun
        assert [view["valid_from"] for view in door.views(since=day, until=day)] == [begun]
    assert len(door.search("fern", since="2026-02-28", until="2026-03-01")[0]["also"]) == 1


@pytest.mark.parametrize(
    "stamp", ["2026-03-01 25:00", "2026-02-30", "yesterday", "10:00", "2026-03-01T10:00:00+99:00"]
)
def test_r05_a_stamp_that_is_none_is_refused(rest: Rest, stamp: str) -> None:
    fact = {"container": rest.container, "text": "Repotted the fern.", "said_at": stamp}
    error = rest.api.refused(400, "invalid_input", "POST", "/v1/facts", fact)
    assert error["field"] == "said_at" and "use 2026-03-01T10:00:00Z" in error["message"]
    message = {"content": "Repotted the fern.", "time": stamp}
    body = {"container": rest.container, "messages": [message]}
    error = rest.api.refused(400, "invalid_input", "POST", "/v1/messages", body)
    assert error["field"] == "time" and "use 2026-03-01T10:00:00Z" in error["message"]
    params = {"container": rest.container}
    rest.api.refused(404, "not_found", "GET", "/v1/events", params=params, field="container")


# --- R07: without a judge a correction in a talk is no edit; what an edit ended is not current


def test_r07_an_edit_is_the_only_current_wording(door: Door) -> None:
    door.say([{"content": "The demo takes place at 4:30 pm in room Teal.", "name": "Ana"}])
    (old,) = drawn(door)
    new = door.reword(old["id"], "The demo takes place at 5 pm in room Teal.")
    door.shop.settle()
    for question in ("when does the demo take place", "4:30 pm", "the demo at 4:30 pm"):
        facts = [hit for hit in door.search(question) if hit["kind"] == "fact"]
        assert [hit["id"] for hit in facts] == [new], question
    assert [view["id"] for view in door.views()] == [new]
    life = told(door.api.read(f"/v1/facts/{old['id']}/history", r.Versions))
    assert [version["id"] for version in life["versions"]] == [old["id"], new]
    states = [version["standing"]["state"] for version in life["versions"]]
    assert states == ["superseded", "current"]
    # The same talk sent again does not bring the old wording back.
    door.say([{"content": "The demo takes place at 4:30 pm in room Teal.", "name": "Ana"}])
    assert door.facts() == ["The demo takes place at 5 pm in room Teal."]


def test_r07_without_a_judge_all_that_was_said_stays_side_by_side(door: Door) -> None:
    """What is half said is understood from what came before, and nothing decides between them."""
    talk = ["Book the demo for 3 pm.", "Sorry, make that 4 pm.", "Final: 4:30 pm, room Teal."]
    times = ("2026-03-02T10:00:00Z", "2026-03-02T10:00:30Z", "2026-03-02T10:01:00Z")
    door.say([{"content": text, "time": time} for text, time in zip(talk, times, strict=True)])
    assert door.facts() == [
        "The demo is at 3 pm",
        "The demo is at 4 pm",
        "The demo is at 4:30 pm, in room Teal",
    ]
    views = drawn(door)
    assert [view["valid_from"] for view in views] == list(times)
    assert {view["standing"]["state"] for view in views} == {"current"}
    assert not {"fact superseded", "fact ended", "facts judged"} & set(happened(door))
    assert [view["text"] for view in door.views("message")] == talk
