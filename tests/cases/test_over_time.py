"""R01, R02, R04, R05, R07, R08 and R14 as they were reported, with the extractor and the judge that
a server has by default, through the library, the command line and REST."""

import re
from collections.abc import Iterator

import pytest

from tests.cases.doors import Json, Shop, open_shop
from tests.cases.over_time import TELLERS, WAYS, Life, Teller, at, endings, grounds


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    settings = {"REWOUND_EMBEDDER": "hashing", "REWOUND_EXTRACTOR": "", "REWOUND_JUDGE": ""}
    with open_shop(tmp_path_factory.mktemp("time"), **settings) as shop:
        yield shop


@pytest.fixture(params=TELLERS)
def door(request: pytest.FixtureRequest, shop: Shop) -> Teller:
    """Each door, in an empty container."""
    return TELLERS[request.param](shop)


EACH_WAY = pytest.mark.parametrize("how", WAYS)

# --- R01

RELATIONS = {
    "Alder service publishes to the Birch queue.": "publishes to the Birch queue",
    "Birch queue keeps its state in the Cedar database.": "keeps its state in the Cedar",
    "We built a page that reads from the Cedar database.": "reads from the Cedar",
}


def relations(door: Teller, how: str) -> None:
    for text in RELATIONS:
        door.tell(how, text)


@EACH_WAY
def test_r01_twenty_mentions_end_nothing(door: Teller, how: str) -> None:
    relations(door, how)
    before = {words: door.past().one(words) for words in RELATIONS.values()}
    for number in range(20):
        text = f"Looked at Cedar again today, note {number}"
        if how == "message":
            door.say([{"content": text}])
        elif how == "document":
            door.keep(text, f"note {number}")
        else:
            door.remember(text)
    door.shop.settle()
    life = door.past()
    for words, fact in before.items():
        assert life.one(words) == fact, "neither its standing nor its time has changed"
    life.untouched()
    assert endings(door) == []


@EACH_WAY
def test_r01_every_ending_names_its_event_and_goes_with_it(door: Teller, how: str) -> None:
    relations(door, how)
    door.tell(how, "Birch queue no longer keeps its state in the Cedar database.")
    life = door.past()
    kept, ended = RELATIONS.values(), "Birch queue keeps its state in the Cedar"
    for words in kept:
        if not ended.endswith(words):
            life.one(words)
    old = life.past(ended)
    (ending,) = endings(door)
    assert old["id"] in ending.items
    # what ended it was a verdict, and that was about the text that said so
    types = [event.type for event in grounds(door, ending)]
    assert types[1] == "facts judged"
    assert {"fact extracted", "fact remembered"} & set(types)
    assert any(step["event"] == ending.id for step in door.why(old["id"])["steps"])
    new = life.having("no longer keeps")
    assert len(new) == 1 and old["standing"]["by"] == new[0]["id"]
    for cause in grounds(door, ending)[:3]:
        undone = door.undo(cause.id)
        assert door.past().one(ended)["id"] == old["id"], f"{cause.type} taken back"
        assert not door.past().one(ended).get("valid_to")
        door.undo(undone["event"])
        assert door.past().past(ended)["id"] == old["id"]


# --- R02


@EACH_WAY
def test_r02_a_reversed_preference_leaves_one(door: Teller, how: str) -> None:
    door.tell(how, "I love olives.")
    first = door.past().one("love.* olives")
    door.tell(how, "I can't stand olives any more.")
    life = door.past()
    new = life.one("olives")
    assert "can't stand" in new["text"]
    old = life.past("loves? olives")
    assert old["id"] == first["id"] and old["standing"]["by"] == new["id"]
    # ended when the second was told, not wrong from the start
    assert at(old["valid_from"]) < at(old["valid_to"]) == at(new["valid_from"])
    assert door.hits("olives") == [new["text"]]
    assert [version["id"] for version in door.versions(new["id"])] == [old["id"], new["id"]]
    before = door.views(valid_at=first["valid_from"])
    assert [view["id"] for view in before] == [old["id"]]


# --- R04

ORBIT, HARBOR = "Nina works at Orbit Labs", "Nina works at Harbor Foods"
ARRIVALS = {"newer first": (ORBIT, HARBOR), "older first": (HARBOR, ORBIT)}
SAID = {ORBIT: "2025-06-01", HARBOR: "2023-01-10"}


def told_of(door: Teller, how: str, texts: tuple[str, ...]) -> None:
    for text in texts:
        door.tell(how, f"{text}.", SAID[text])


def bare(texts: list[str]) -> list[str]:
    return [text.rstrip(".") for text in texts]


@EACH_WAY
@pytest.mark.parametrize("arrival", ARRIVALS.values(), ids=ARRIVALS.keys())
def test_r04_what_was_told_late_finds_its_place(
    door: Teller, how: str, arrival: tuple[str, ...]
) -> None:
    told_of(door, how, arrival)
    question = "where does Nina work"
    assert bare(door.hits(question)) == [ORBIT]
    assert bare(door.hits(question, valid_at="2023-05-01")) == [HARBOR]
    assert bare(door.hits(question, valid_at="2022-01-01")) == []
    for day, texts in (
        ("2026-01-01", [ORBIT]), ("2025-06-01", [ORBIT]), ("2025-05-31", [HARBOR]),
        ("2023-01-10", [HARBOR]), ("2023-01-09", []),
    ):  # fmt: skip
        assert bare([view["text"] for view in door.views(valid_at=day)]) == texts, day
    life = door.past()
    orbit, harbor = life.one(ORBIT), life.past(HARBOR)
    assert orbit["valid_from"] == "2025-06-01" and not orbit.get("valid_to")
    assert harbor["valid_from"] == "2023-01-10"
    assert at(harbor["valid_to"]) == at("2025-06-01T00:00:00Z")
    assert harbor["standing"]["by"] == orbit["id"]
    order = [version["id"] for version in door.versions(orbit["id"])]
    assert order == [harbor["id"], orbit["id"]]


@EACH_WAY
def test_r04_both_times_are_kept_and_asked_for(door: Teller, how: str) -> None:
    door.tell(how, f"{ORBIT}.", SAID[ORBIT])
    then = door.api.events()[-1].position
    door.tell(how, f"{HARBOR}.", SAID[HARBOR])
    for view in door.past().views:
        assert view["recorded_at"] > "2026-06" and view["valid_from"] in SAID.values()
    known = {"as_of": f"@{then}"}
    # what was known before the older one was told, and what is known now, of the same days
    assert bare([v["text"] for v in door.views(valid_at="2023-05-01", **known)]) == []
    assert bare([v["text"] for v in door.views(valid_at="2025-07-01", **known)]) == [ORBIT]
    assert bare([v["text"] for v in door.views(valid_at="2023-05-01")]) == [HARBOR]
    assert bare(door.hits("where does Nina work", **known)) == [ORBIT]


@EACH_WAY
def test_r04_before_anything_was_true_nothing_at_all_is_found(door: Teller, how: str) -> None:
    """The sources too: what was said in 2023 is no answer about 2022."""
    told_of(door, how, ARRIVALS["newer first"])
    assert door.search("where does Nina work", valid_at="2022-01-01") == []


# --- R05


def test_r05_days_are_the_speakers_and_both_stay(door: Teller) -> None:
    zone = {"zone": "America/Los_Angeles"}
    assert door.api.send("PUT", f"/v1/containers/{door.container}", zone).is_success
    text = "Yesterday I planted the lemon tree, and last week I sold the van."
    door.tell("message", text, "2026-03-02T23:30:00-08:00")
    for stamp in ("2026-03-01T10:00:00", "2026-03-01T10:00:00+05:30"):
        door.tell("document", "Repotted the fern.", stamp)
        door.tell("fact", "Repotted the fern.", stamp)
    life = door.past()
    life.untouched()
    assert life.one("lemon tree")["valid_from"] == "2026-03-01"
    assert life.one("van")["valid_from"] == "2026-02-23"
    day = {"since": "2026-03-01", "until": "2026-03-01"}
    found = {view["valid_from"] for view in door.views(**day)}
    assert found == {"2026-03-01", "2026-03-01T10:00:00-08:00"}
    assert any("lemon tree" in text for text in door.hits("lemon tree", **day))


# --- R07

DEMO = (
    ("Book the demo for 3 pm.", "2026-03-02T10:00:00Z"),
    ("Sorry, make that 4 pm.", "2026-03-02T10:00:30Z"),
    ("Final: 4:30 pm, room Teal.", "2026-03-02T10:01:00Z"),
)
ASKED = (
    "when is the demo",
    "at what time does the demo start",
    "4:30 pm",
    "demo room Teal",
    "3 pm",
)


def booked(door: Teller, requests: str) -> None:
    messages: list[Json] = [{"content": text, "time": time} for text, time in DEMO]
    for sent in [messages] if requests == "one" else [[each] for each in messages]:
        door.say(sent)
        door.shop.settle()


@pytest.mark.parametrize("requests", ["one", "three"])
def test_r07_the_last_correction_is_the_only_current_time(door: Teller, requests: str) -> None:
    booked(door, requests)
    life = door.past()
    last = life.one("demo")
    assert "4:30 pm" in last["text"] and "Teal" in last["text"]
    assert len(life.having("", "current")) == 1, str(life)
    for question in ASKED:
        assert set(door.hits(question)) <= {last["text"]}, question
    assert door.hits("when is the demo") == [last["text"]]
    versions = door.versions(last["id"])
    times = [re.findall(r"(\d[\d:]*) pm", version["text"]) for version in versions]
    assert times == [["3"], ["4"], ["4:30"]]
    # and then the explicit word
    new = door.reword(last["id"], "The demo is at 5 pm, in room Teal")
    door.shop.settle()
    assert [view["id"] for view in door.views()] == [new]
    for question in (*ASKED, last["text"], "5 pm"):
        assert set(door.hits(question)) <= {"The demo is at 5 pm, in room Teal"}, question
    assert door.hits("when is the demo") == ["The demo is at 5 pm, in room Teal"]
    assert [version["id"] for version in door.versions(new)][-2:] == [last["id"], new]
    assert [version["standing"]["state"] for version in door.versions(new)][-1] == "current"


@pytest.mark.parametrize("requests", ["one", "three"])
def test_r07_no_source_is_shown_as_the_current_time_either(door: Teller, requests: str) -> None:
    booked(door, requests)
    found = [
        hit["text"]
        for hit in door.search("when is the demo")
        if hit["standing"]["state"] == "current" and re.search(r"\b[34] pm", hit["text"])
    ]
    assert found == []


# --- R08

VALVE = "Use the blue valve for the boiler"
HELPFUL = (
    "Do not forget to open the blue valve for the boiler before six.",
    "The notary is never late.",
    "I'm not allergic to nuts, only to kiwi.",
)
OFFICE = "Actually, the notary's office is on Elm Road."


@EACH_WAY
def test_r08_words_that_sound_like_a_denial_end_nothing(door: Teller, how: str) -> None:
    door.tell(how, f"{VALVE}.")
    before = door.past().one(f"^{VALVE}")
    for text in HELPFUL:
        door.tell(how, text)
    life = door.past()
    assert life.one(f"^{VALVE}") == before
    assert any(VALVE in text for text in door.hits(VALVE)[:1]), "it keeps its rank"
    life.one("notary is never late")
    _allergies(life)
    # what was read last is no target of the next
    assert door.hits("blue valve for the boiler")
    assert door.why(before["id"])["item"]["standing"]["state"] == "current"
    door.tell(how, OFFICE)
    life = door.past()
    assert life.one(f"^{VALVE}") == before
    life.one("office is on Elm Road")
    life.one("notary is never late")
    _allergies(life)
    life.untouched()
    assert endings(door) == []


def _allergies(life: Life) -> None:
    life.one("kiwi")
    assert not [view for view in life.views if view.get("value") == "nuts"], str(life)
    assert not life.having(r"(?<!not )allergic to nuts"), str(life)
    life.one("not allergic to nuts")


# --- R14

CHAT: list[Json] = [
    {"role": "system", "content": "Relevant memories: Tom owns a red bike"},
    {"role": "user", "content": "Explain hashing to me.", "name": "Tom"},
    {"role": "assistant", "content": "Use a salt per row. I prefer Argon2 and I live in Oslo."},
    {"role": "user", "name": "Marta", "content": "I'm badly allergic to walnuts."},
]


def test_r14_five_sends_change_nothing(door: Teller) -> None:
    door.say([{"content": "I own a red bike. I live in Rome.", "name": "Tom"}], "earlier")
    door.shop.settle()
    own = door.past()
    bike, home = own.one("red bike"), own.one("Rome")
    sure = door.why(bike["id"])["confidence"]
    for _ in range(5):
        door.say(CHAT)
        door.shop.settle()
        life = door.past()
        assert (life.one("red bike"), life.one("Rome")) == (bike, home)
        explained = door.why(bike["id"])
        assert explained["confidence"] == sure and len(explained["item"]["sources"]) == 1
        assert len(life.having("bike")) == 1 and not life.having("salt|Argon2|Oslo")
        assert life.one("walnuts|allergic")["subject"] == "Marta"
        assert len(life.views) == 3, str(life)
        life.untouched()
    assert endings(door) == []
