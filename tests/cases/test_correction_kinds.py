"""More faults of the kinds R07, R08, R14 and R19 with other words, names and orders, with the
extractor and the judge that come by default."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from rewound.memory import Memory
from tests.cases.doors import Json
from tests.cases.given import events
from tests.cases.over_time import Life
from tests.cases.talking import Talk, owned, said


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    yield from owned(tmp_path_factory.mktemp("corrections"))


@pytest.fixture
def talk(store: Memory) -> Talk:
    return Talk(store)


def minutes(texts: tuple[str, ...], name: str | None = None) -> list[Json]:
    """Said half a minute apart."""
    return [
        said(text, f"2026-03-02T10:0{number // 2}:{number % 2 * 3}0Z", name)
        for number, text in enumerate(texts)
    ]


REQUESTS = pytest.mark.parametrize("requests", ["one", "several"])


def sent(talk: Talk, messages: list[Json], requests: str) -> Life:
    return talk.say(*messages) if requests == "one" else talk.each(*messages)


# --- R07: what is put right in a talk


class Corrected(NamedTuple):
    """What is said, what holds at last, what holds no more, a question."""

    texts: tuple[str, ...]
    last: str
    over: str
    question: str


CORRECTED = {
    "dinner": Corrected(
        ("Dinner is at 7 pm.", "Sorry, I meant 8 pm."), "8 pm", "7 pm", "when is dinner",
    ),
    "an address": Corrected(
        ("Nina lives at 4 Elm Road.", "Correction: 14 Elm Road."), "14 Elm", r"\b4 Elm",
        "where does Nina live",
    ),
    "a weekday": Corrected(
        (
            "The review is on Tuesday.", "No wait, on Wednesday.",
            "Actually it's on Thursday, in room Blue.",
        ),
        "Thursday|2026-03-05", "Tuesday|Wednesday|2026-03-0[34]", "when is the review",
    ),
    "a number": Corrected(
        ("My phone number is 555-0101.", "Oops, 555-0110."), "555-0110", "555-0101",
        "phone number",
    ),
    "a sum": Corrected(
        ("The budget is 3,000 euros.", "Make that 3,500 euros."), "3,500", "3,000",
        "what is the budget",
    ),
    "a name": Corrected(
        ("My dentist is Dr. Falk.", "I mean Dr. Fuchs."), "Fuchs", "Falk", "who is my dentist",
    ),
    "moved": Corrected(
        ("The demo is on 5 March at 3 pm.", "The demo was moved to 4 pm."), "4 pm", "3 pm",
        "when is the demo",
    ),
}  # fmt: skip


@REQUESTS
@pytest.mark.parametrize("given", CORRECTED.values(), ids=CORRECTED.keys())
def test_r07_the_last_word_is_the_only_current_one(
    talk: Talk, given: Corrected, requests: str
) -> None:
    life = sent(talk, minutes(given.texts), requests)
    life.one(given.last)
    assert [v for v in life.having(given.over, "current") if not _says(v, given.last)] == [], str(
        life
    )
    found = talk.found(given.question)
    assert found and re.search(given.last, found[0]), f"{found}\n{life}"
    assert not [text for text in found if not re.search(given.last, text)], f"{found}\n{life}"


def _says(view: Json, words: str) -> bool:
    return re.search(words, view["text"]) is not None


class Undecided(NamedTuple):
    """A correction that leaves what it puts right current; words of what was said first and of what
    was meant; and the like of another matter, told before."""

    texts: tuple[str, str]
    first: str
    meant: str
    other: str


NOT_DECIDED = {
    "guests": Undecided(
        ("The table is booked for four.", "Sorry, for five."), "four", "five",
        "The boat is booked for four.",
    ),
    "in full": Undecided(
        ("The train leaves at 9:10.", "I was wrong: the train leaves at 9:40."), "9:10", "9:40",
        "The ferry leaves at 9:10.",
    ),
    "not but": Undecided(
        ("The demo is in room Teal.", "Not Teal, room Ochre."), "Teal", "Ochre",
        "The workshop is in room Teal.",
    ),
}  # fmt: skip


@REQUESTS
@pytest.mark.parametrize("given", NOT_DECIDED.values(), ids=NOT_DECIDED.keys())
def test_r07_what_is_not_decided_loses_nothing(talk: Talk, given: Undecided, requests: str) -> None:
    (other,) = talk.write(given.other, "2020-01-01").views
    life = sent(talk, minutes(given.texts), requests)
    assert other in life.views, f"another's is another now in\n{life}"
    own = [view for view in life.views if view["id"] != other["id"]]
    # what was said first is there, over only by an event and only for what was meant
    (first,) = [view for view in own if _says(view, given.first) and not _says(view, given.meant)]
    meant = [view for view in own if _says(view, given.meant)]
    assert len(own) == 1 + len(meant) <= 2, str(life)
    assert all(view["standing"]["state"] == "current" for view in meant), str(life)
    ended = [
        event
        for event in events(talk.memory)
        if event.type == "fact superseded" and event.undone_by is None
    ]
    if first["standing"]["state"] == "current":
        assert ended == [] and not first.get("valid_to"), str(life)
    else:
        assert first["standing"]["by"] == meant[0]["id"], str(life)
        assert [first["id"] in event.items for event in ended] == [True], str(life)
    # and both texts are kept word for word
    assert [view.text for view in talk.memory.list("message").items] == list(given.texts)


@REQUESTS
def test_r07_what_was_said_first_is_history_in_order(talk: Talk, requests: str) -> None:
    texts = ("The gala is at 6 pm.", "Sorry, make that 7 pm.", "No, 8 pm.", "Final: 8:30 pm.")
    last = sent(talk, minutes(texts), requests).one("gala")
    versions = talk.memory.history(last["id"]).versions
    times = [re.findall(r"(\d[\d:]*) pm", version.text) for version in versions]
    assert times == [["6"], ["7"], ["8"], ["8:30"]]


@REQUESTS
def test_r07_another_speaker_puts_it_right(talk: Talk, requests: str) -> None:
    messages = [
        said("The workshop starts at 9 am.", "2026-03-02T10:00:00Z", "Ana"),
        said("No, the workshop was moved to 10 am.", "2026-03-02T10:00:30Z", "Ben"),
    ]
    life = sent(talk, messages, requests)
    assert "10 am" in life.one("workshop")["text"]


class Apart(NamedTuple):
    """Messages after which all of these hold, and perhaps some no more."""

    messages: tuple[Json, ...]
    now: tuple[str, ...]
    over: str = "^$"


START = "2026-03-02T10:00:00Z"
LATER = "2026-03-02T10:00:30Z"
LAST = "2026-03-02T10:01:00Z"
APART = {
    "each his own train": Apart(
        (
            said("My train leaves at 3 pm.", START, "Ana"),
            said("My train leaves at 4 pm.", LATER, "Ben"),
        ),
        ("3 pm", "4 pm"),
    ),
    "each his own home": Apart(
        (
            said("I live in Rome.", START, "Ana"),
            said("Actually, I live in Oslo.", LATER, "Ben"),
        ),
        ("Ana.*Rome", "Ben.*Oslo"),
    ),
    "the other matter": Apart(
        (
            said("The demo is at 3 pm.", START), said("Dinner is at 7 pm.", LATER),
            said("Sorry, dinner is at 8 pm.", LAST),
        ),
        ("demo.*3 pm", "[Dd]inner.*8 pm"), "7 pm",
    ),
    "his own number": Apart(
        (
            said("Nina's phone number is 555-0101.", START),
            said("Tom's phone number is 555-0202.", LATER),
            said("Correction: Tom's phone number is 555-0303.", LAST),
        ),
        ("Nina.*0101", "Tom.*0303"), "0202",
    ),
    "sorry for being late": Apart(
        (said("The demo is at 3 pm.", START), said("Sorry, I was in a meeting until 4 pm.", LATER)),
        ("demo.*3 pm",),
    ),
    "actually more": Apart(
        (said("Nina speaks Danish.", START), said("Actually, Nina speaks Thai as well.", LATER)),
        ("Danish", "Thai"),
    ),
    "a thank you": Apart(
        (said("The demo is at 3 pm.", START), said("Right, that is correct. Thanks!", LATER)),
        ("demo.*3 pm",),
    ),
    "a question": Apart(
        (said("The demo is at 3 pm.", START), said("Or should we make that 4 pm?", LATER)),
        ("demo.*3 pm",),
    ),
    "another week's": Apart(
        (
            said("The demo on 5 March is at 3 pm.", START),
            said("The demo on 12 March is at 4 pm.", LATER),
        ),
        ("3 pm", "4 pm"),
    ),
}  # fmt: skip


@REQUESTS
@pytest.mark.parametrize("given", APART.values(), ids=APART.keys())
def test_r07_what_puts_nothing_else_right(talk: Talk, given: Apart, requests: str) -> None:
    life = sent(talk, list(given.messages), requests)
    for words in given.now:
        life.one(words)
    over = {view["text"] for view in life.having(given.over)}
    ended = {view["text"] for view in life.views if view["standing"]["state"] != "current"}
    assert ended <= over and not life.having(given.over, "current"), str(life)


UPDATES = {
    "gala": ("The gala is at 8 pm.", "The gala is at 9 pm.", ("when is the gala", "8 pm")),
    "colour": (
        "Nina's bike is red.", "Nina's bike is blue.", ("what colour is Nina's bike", "red bike"),
    ),
    "other words": (
        "Tom keeps the spare key under the fern.", "Look for the key with the neighbour.",
        ("spare key of Tom", "under the fern", "fern"),
    ),
    "a denial": (
        "Ana is allergic to walnuts.", "Ana is not allergic to walnuts.", ("Ana walnuts allergic",),
    ),
    "longer": (
        "Eva works at Arvo.", "Eva works at Arvo as a nurse.", ("where does Eva work", "Arvo"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("first", "text", "asked"), UPDATES.values(), ids=UPDATES.keys())
def test_r07_after_an_update_the_old_text_is_not_found(
    talk: Talk, first: str, text: str, asked: tuple[str, ...]
) -> None:
    (old,) = talk.say(first).views
    new = talk.memory.update(old["id"], text).items[0].id
    life = talk.life()
    assert [view["id"] for view in life.views if view["standing"]["state"] == "current"] == [new]
    for question in (*asked, first, text):
        assert talk.found(question) in ([text], []), question
    assert talk.found(text) == [text]
    assert [version.id for version in talk.memory.history(old["id"]).versions] == [old["id"], new]
    # the same message again does not bring it back
    assert talk.say(first).having("", "current") == life.having("", "current")


# --- R08: what sounds like a denial and is none


class Sounds(NamedTuple):
    """What holds, and texts that contradict none of it."""

    facts: tuple[str, ...]
    texts: tuple[str, ...]


SOUNDS = {
    "do not forget": Sounds(
        ("The red pill box belongs in the travel bag.",),
        (
            "Never forget the red pill box.", "Don't leave without the red pill box.",
            "Avoid heat: the red pill box melts.",
        ),
    ),
    "the fern": Sounds(
        ("The fern gets water on Mondays.",),
        (
            "Don't forget to water the fern on Mondays before noon.", "The fern never flowers.",
            "The fern does not need light.",
        ),
    ),
    "substrings": Sounds(
        ("The Notting Hill flat has two rooms.", "Norah keeps the flat's keys."),
        (
            "The notable Nottingham flat was nothing for Norah.", "Another note: the knot is tied.",
            "Nevermore is the name of Norah's raven.",
        ),
    ),
    "the motorway": Sounds(
        ("The A7 is the fastest road to Kiel.",),
        ("Avoid the A7 on Fridays.", "The A7 is never empty.", "Don't take the B4 to Kiel."),
    ),
    "the backup": Sounds(
        ("The backup runs at night.",),
        ("The backup never fails.", "The backup does not run on the old host.", "Not a backup."),
    ),
    "nobody but": Sounds(
        ("Ana has the key to the archive.",), ("Nobody but Ana has the key to the archive.",),
    ),
    "not only": Sounds(("Nina lives in Rome.",), ("Not only Nina lives in Rome.",)),
    "a condition": Sounds(
        ("Nina works at Orbit Labs.",),
        (
            "If Nina no longer worked at Orbit Labs, who would run it?",
            "Unless Nina leaves Orbit Labs, nothing changes.",
        ),
    ),
    "has not left": Sounds(
        ("Nina works at Orbit Labs.",),
        ("Nina has not left Orbit Labs.", "Nina will never leave Orbit Labs."),
    ),
    "a question": Sounds(
        ("Nina works at Orbit Labs.",),
        ("Is Nina no longer at Orbit Labs?", "Doesn't Nina work at Orbit Labs any more?"),
    ),
    "no to another": Sounds(
        ("Tom plays the cello.",),
        ("Tom does not play the viola.", "Eva doesn't play the cello."),
    ),
    "double denial": Sounds(
        ("Eva drinks coffee.",),
        ("Eva never says no to coffee.", "It's not true that Eva hates coffee."),
    ),
    "a rule": Sounds(
        ("Dogs are allowed on the beach.",), ("Never leave dogs alone on the beach.",),
    ),
    "what was read last": Sounds(
        ("Use the blue valve for the boiler.", "The notary is never late."),
        ("Actually, the baker's shop is on Mill Street.", "Wrong number, sorry."),
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", ["message", "document"])
@pytest.mark.parametrize("given", SOUNDS.values(), ids=SOUNDS.keys())
def test_r08_what_sounds_like_a_denial_ends_nothing(talk: Talk, given: Sounds, how: str) -> None:
    tell = talk.say if how == "message" else talk.write
    for text in given.facts:
        tell(text)
    before = talk.life()
    assert len(before.views) == len(given.facts), f"not all was drawn\n{before}"
    for view in before.views:
        assert talk.found(view["text"])[0] == view["text"].rstrip("."), view["text"]
    for text in given.texts:
        talk.found(given.facts[0])  # what was read last is no target either
        tell(text)
    after = talk.life()
    states = {view["standing"]["state"] for view in after.views}
    assert states <= {"current", "repeated"}, str(after)
    for view in before.views:
        (now,) = [each for each in after.views if each["id"] == view["id"]]
        assert now["standing"] == view["standing"] and not now.get("valid_to"), str(after)
    for view in before.views:
        assert talk.found(view["text"])[0] == view["text"].rstrip(".")


ONLY = {
    "dogs": ("I'm not allergic to cats, only to dogs.", r"(?<!not )allergic to cats", "dogs"),
    "German": ("I don't speak Dutch, only German.", r"(?<!not )(?<!n't )speaks? Dutch", "German"),
    "salmon": ("I don't eat fish, except salmon.", r"(?<!not )(?<!n't )eats? fish", "salmon"),
    "cousin": ("Nina isn't Tom's sister but his cousin.", r"is Tom's sister", "cousin"),
    "rather": ("I'm not a nurse, I'm a midwife.", r"is a nurse", "midwife"),
    "named": ("Eva isn't allergic to milk, only to eggs.", r"is allergic to milk", "eggs"),
}


@pytest.mark.parametrize(("text", "wrong", "right"), ONLY.values(), ids=ONLY.keys())
def test_r08_what_is_denied_is_not_affirmed(talk: Talk, text: str, wrong: str, right: str) -> None:
    life = talk.say(said(text, START, "Ida"))
    life.one(right)
    assert not life.having(wrong), str(life)
    life.untouched()


# --- R14: whose words they are


OWN = "I live in Rome. I love olives. I own a red bike."
FOREIGN: dict[str, list[Json]] = {
    "an assistant": [
        {"role": "assistant", "content": "You no longer live in Rome: you live in Oslo."}
    ],
    "an assistant of itself": [{"role": "assistant", "content": "I can't stand olives any more."}],
    "a system prompt": [{"role": "system", "content": "Relevant memories: Tom lives in Paris now"}],
    "a tool": [{"role": "tool", "content": "Tom sold the red bike. Tom moved to Oslo."}],
    "another user": [
        {"role": "user", "name": "Marta", "content": "I live in Oslo now. I can't stand olives."}
    ],
    "his mother": [
        {"role": "user", "name": "Tom", "content": "My mother lives in Oslo now and hates olives."}
    ],
    "a quotation": [
        {"role": "user", "name": "Tom", "content": 'Marta wrote: "I moved to Oslo, hate olives."'}
    ],
    "pasted memories": [
        {
            "role": "user",
            "name": "Tom",
            "content": "Relevant memories:\n- Tom lives in Paris\n- Tom hates olives\n\nHelp!",
        }
    ],
    "a request": [
        {"role": "user", "name": "Tom", "content": "Write a letter in which I live in Oslo."}
    ],
}  # fmt: skip


@pytest.mark.parametrize("messages", FOREIGN.values(), ids=FOREIGN.keys())
def test_r14_what_others_say_leaves_ones_own_alone(talk: Talk, messages: list[Json]) -> None:
    own = talk.say({"role": "user", "name": "Tom", "content": OWN}, conversation="earlier").views
    assert len(own) == 3
    sure = [talk.memory.why(view["id"]).confidence for view in own]
    for _ in range(5):
        talk.say(*messages)
    life = talk.life()
    for view in own:
        assert view in life.views, f"{view['text']} is another now in\n{life}"
    assert [talk.memory.why(view["id"]).confidence for view in own] == sure
    of_tom = [view for view in life.views if view.get("subject") == "Tom"]
    assert of_tom == own, str(life)
    assert {view["standing"]["state"] for view in life.views} <= {"current", "repeated"}, str(life)


@pytest.mark.parametrize("talks", ["the same", "one each"])
def test_r14_the_same_said_five_times_is_one_fact(talk: Talk, talks: str) -> None:
    for number in range(5):
        conversation = "chat" if talks == "the same" else f"chat {number}"
        life = talk.say(
            {"role": "user", "name": "Tom", "content": "I own a red bike."},
            {"role": "user", "name": "Marta", "content": "I'm badly allergic to walnuts."},
            conversation=conversation,
        )
        assert life.one("red bike")["subject"] == "Tom"
        assert life.one("walnuts")["subject"] == "Marta"
        assert {view["standing"]["state"] for view in life.views} <= {"current", "repeated"}


# --- R19 and R22: what is forgotten or undone is compared with nothing


@pytest.mark.parametrize("again", ["Tom lives in Rome.", "Tom lives in Oslo now."])
def test_r19_what_was_forgotten_ends_and_repeats_nothing(talk: Talk, again: str) -> None:
    first = talk.say("Tom lives in Rome.").one("Rome")
    talk.memory.forget(first["id"])
    fact = talk.say(again, conversation="another").one("Tom")
    verdict = talk.memory.why(fact["id"]).verdict
    assert verdict is not None and not verdict.pairs
    assert len(talk.life().views) == 1


def test_r19_forgetting_the_newer_does_not_bring_back_the_older(talk: Talk) -> None:
    talk.say(said("Tom lives in Rome.", "2024-05-01"))
    life = talk.say(said("Tom moved to Oslo.", "2025-05-01"))
    assert life.past("Rome")
    talk.memory.forget(life.one("Oslo")["id"])
    assert talk.life().having("", "current") == []
    talk.memory.rejudge()
    assert talk.life().having("", "current") == []


def test_r19_undoing_the_newer_brings_back_the_older(talk: Talk) -> None:
    first = talk.say(said("Tom lives in Rome.", "2024-05-01")).one("Rome")
    newer = talk.say(said("Tom moved to Oslo.", "2025-05-01")).one("Oslo")
    undone = talk.memory.undo(newer["event"]).event
    assert talk.life().one("Tom") == first
    talk.memory.rejudge()
    assert talk.life().one("Tom") == first
    assert undone is not None
    talk.memory.undo(undone)
    assert talk.life().one("Tom")["id"] == newer["id"]
