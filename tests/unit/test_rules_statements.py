"""What instructions settle, what denials end, what is said in one breath, and of what things."""

from datetime import UTC, datetime

import pytest

from rewound.eventlog.instants import to_us
from rewound.llm.attributes import attributes_of
from rewound.llm.endings import ended_by, told_apart
from rewound.llm.entities import entities_of
from rewound.llm.extraction import Drawn, Role, Said
from rewound.llm.fixing import fixed
from rewound.llm.rules import RulesExtractor

MAY = to_us(datetime(2026, 5, 12, 10, tzinfo=UTC))
RULES = RulesExtractor()


def drawn(text: str, role: Role = "user") -> list[Drawn]:
    (facts,) = RULES.extract([Said(text, MAY, "UTC", role, "Nina")])
    return facts


def texts(text: str, role: Role = "user") -> list[str]:
    return [fact.text for fact in drawn(text, role)]


@pytest.mark.parametrize(
    ("said", "fact", "known"),
    [
        ("Book the review for noon.", "The review is at noon", ("review", "time", "noon")),
        ("Move the review to room 7.", "The review is in room 7", ("review", "room", "7")),
        (
            "Can you move the review to Friday at 4 pm?",
            "The review is on 2026-05-15 at 16:00",
            ("review", "date", "2026-05-15 at 16:00"),
        ),
        (
            "Please set the budget to $2,500.",
            "The budget is $2,500",
            ("budget", "value", "$2,500"),
        ),
        ('Call the repo "larch".', "The repo is called larch", ("repo", "name", "larch")),
        ("Rename the branch to trunk.", "The branch is called trunk", ("branch", "name", "trunk")),
        (
            "Assign ticket 88 to Priya.",
            "Ticket 88 is assigned to Priya",
            ("Ticket 88", "assignee", "Priya"),
        ),
        ("Mark ticket 88 as done.", "Ticket 88 is done", ("Ticket 88", "status", "done")),
    ],
)
def test_an_instruction_settles_what_it_sets(
    said: str, fact: str, known: tuple[str, str, str]
) -> None:
    (one,) = drawn(said)
    assert one.text == fact
    assert (one.subject, one.attribute, one.value) == known


@pytest.mark.parametrize(
    "said",
    [
        "Book a table for 7 pm",
        "Set the alarm for 7",
        "Call the plumber tomorrow",
        "Call the team back",
        "Put the milk in the fridge",
        "Move the car to the garage",
        "Find the recipe for lasagna",
    ],
)
def test_an_errand_settles_nothing(said: str) -> None:
    assert fixed(said) is None
    assert texts(f"{said}.") == []


def test_manuals_instruct_and_settle_nothing() -> None:
    (step,) = drawn("Set the timeout to 30 seconds.", "document")
    assert step.text == "Set the timeout to 30 seconds"


@pytest.mark.parametrize(
    ("shown", "parts"),
    [
        (
            "Nina is not from Riga but from Vilnius",
            ["Nina is not from Riga", "Nina is from Vilnius"],
        ),
        ("Nina isn't a nurse but a vet", ["Nina is not a nurse", "Nina is a vet"]),
        ("Nina doesn't eat meat, only fish", ["Nina doesn't eat meat", "Nina eats only fish"]),
        ("The lead is Priya, not Dana", ["The lead is Priya", "The lead is not Dana"]),
        ("Nina is not tired but happy", ["Nina is not tired but happy"]),
        ("Nina didn't call, only to find out", ["Nina didn't call, only to find out"]),
    ],
)
def test_what_is_denied_and_what_holds_instead(shown: str, parts: list[str]) -> None:
    assert told_apart(shown) == parts


@pytest.mark.parametrize(
    ("said", "fact", "attribute"),
    [
        ("I no longer live in Riga.", "Nina no longer lives in Riga", "home"),
        ("I don't work at Orbit anymore.", "Nina doesn't work at Orbit anymore", "employer"),
        ("I stopped working at Orbit.", "Nina stopped working at Orbit", "employer"),
        ("I quit my job at Orbit.", "Nina quit their job at Orbit", "employer"),
        ("I no longer eat meat.", "Nina no longer eats meat", None),
        ("I used to live in Riga.", "Nina used to live in Riga", None),
    ],
)
def test_what_ends_keeps_its_words_and_has_no_value(
    said: str, fact: str, attribute: str | None
) -> None:
    (one,) = drawn(said)
    assert (one.text, one.attribute, one.value) == (fact, attribute, None)
    assert one.subject == ("Nina" if attribute else None)
    assert ended_by(one.text).attribute == attribute


def test_a_taste_is_had_or_not() -> None:
    (loved,) = drawn("I love olives.")
    (over,) = drawn("I can't stand olives any more.")
    assert over.text == "Nina can't stand olives any more"
    assert loved.attribute == over.attribute == "opinion of olives"
    assert (loved.value, over.value) == ("likes", "dislikes")


def test_instead_says_of_what() -> None:
    old, new = drawn("We don't use Jenkins anymore, we use Buildkite instead.")
    assert old.text == "Nina and others don't use Jenkins anymore"
    assert new.text == "Nina and others use Buildkite instead of Jenkins"
    assert new.value == "Buildkite"


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "I moved to Ghent and started at Arcadis.",
            ["Nina moved to Ghent", "Nina started at Arcadis"],
        ),
        (
            "I've moved to Ghent and joined Arcadis.",
            ["Nina has moved to Ghent", "Nina joined Arcadis"],
        ),
        ("I was born in Lima and live in Oslo.", ["Nina was born in Lima", "Nina lives in Oslo"]),
        ("Ana moved to Ghent and works at Orbit.", ["Ana moved to Ghent", "Ana works at Orbit"]),
        (
            "The shop opens at 9 am and closes at 6 pm.",
            ["The shop opens at 9 am", "The shop closes at 6 pm"],
        ),
        ("I like to cook and bake bread.", ["Nina likes to cook and bake bread"]),
        ("I went out and bought bread.", ["Nina went out and bought bread"]),
        ("It's from IKEA and has a nice grip.", []),
    ],
)
def test_two_things_said_in_one_breath(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


def test_each_part_stands_on_its_own_words_and_time() -> None:
    said = "I moved to Ghent in 2019 and joined Arcadis in 2021."
    ghent, arcadis = drawn(said)
    assert said[ghent.start : ghent.end] == "I moved to Ghent in 2019"
    assert said[arcadis.start : arcadis.end] == "joined Arcadis in 2021"
    assert (str(ghent.valid_from), str(arcadis.valid_from)) == ("2019", "2021")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("The checkout service is owned by Priya", ("checkout service", "owner", "Priya")),
        ("The owner of the checkout service is Priya", ("checkout service", "owner", "Priya")),
        ("Ticket 412 is closed now", ("Ticket 412", "status", "closed")),
        ("The invoice is due on 2027-05-03", ("invoice", "due", "2027-05-03")),
        ("The API version is 2.4", ("API", "version", "2.4")),
        ("The deadline for the report is on 2026-06-03", ("report", "deadline", "2026-06-03")),
        ("The wifi password is swordfish", ("wifi", "password", "swordfish")),
        ("The wifi password is fish-9!moon?x", ("wifi", "password", "fish-9!moon?x")),
        (
            "Nina's sister's birthday is on May 4",
            ("Nina's sister", "birthday", "May 4"),
        ),
        ("Nina's sister's wedding is on 2027-01-01", ("Nina's sister", "wedding", "2027-01-01")),
        ("Nina just started as a pastry chef at Tessier", ("Nina", "employer", "Tessier")),
        ("Nina started working for Orbit Labs", ("Nina", "employer", "Orbit Labs")),
        ("Nina got a job at Orbit Labs as a welder", ("Nina", "employer", "Orbit Labs")),
        ("Nina is joining Orbit Labs as a welder", ("Nina", "employer", "Orbit Labs")),
        ("Nina is joining Tom for lunch", (None, None, None)),
        ("Nina started as a waiter at six", (None, None, None)),
        ("The team is on Python 3.12", ("team", "Python version", "3.12")),
        ("The plan costs $12 a month", ("plan", "price", "$12 a month")),
        ("Nina and others use Buildkite for CI", ("Nina and others", "used for CI", "Buildkite")),
        ("Nina and others deploy from main", ("Nina and others", "deploys from", "main")),
        ("Nina prefers Vim for editing", ("Nina", "preferred for editing", "Vim")),
        ("Nina prefers tea to coffee", ("Nina", "choice of coffee or tea", "tea")),
        ("Nina's phone number changed to 555 12", ("Nina", "phone number", "555 12")),
        ("Nina's e-mail is n@x.org", ("Nina", "email", "n@x.org")),
        ("Nina wakes up at 6:30 AM", ("Nina", "wake-up time", "6:30 AM")),
        ("Nina moved the standup to 9:30", ("standup", "time", "9:30")),
        ("Nina moved their shift to 2026-05-15", ("Nina", "shift", "2026-05-15")),
        ("Nina moved the demo to room Oak", ("demo", "room", "Oak")),
        ("Nina switched from Vim to Emacs", ("Nina", "uses instead of Vim", "Emacs")),
        ("Nina changed their name to Ellie", ("Nina", "name", "Ellie")),
        ("Nina lowered the budget to $900", ("budget", "value", "$900")),
        ("Nina got a new phone number: 555 22", ("Nina", "phone number", "555 22")),
        ("Priya is the owner of the billing repo", ("billing repo", "owner", "Priya")),
        ("Nina's budget for the trip is 900 euros", ("trip", "budget", "900 euros")),
        ("Nina's office moved to Elm Road 5", ("Nina", "office", "Elm Road 5")),
        ("Nina is allergic to nuts but not to kiwi", ("Nina", "allergy", "nuts")),
        ("Nina is a vegetarian", ("Nina", "diet", "vegetarian")),
        ("Ticket ABC-123 is assigned to Omar", ("Ticket ABC-123", "assignee", "Omar")),
        ("Nina moved the sofa to the attic", (None, None, None)),
        ("The code is clean", (None, None, None)),
        ("The budget is tight", (None, None, None)),
        ("The party is for 12 people", (None, None, None)),
        ("Tom is done", (None, None, None)),
        ("One question at a time is mandatory", (None, None, None)),
        ("That looks like a blast", (None, None, None)),
        ("Nina loves to hike", (None, None, None)),
        ("Nina doesn't live in Riga", (None, None, None)),
    ],
)
def test_what_is_known_of_people_and_things(text: str, known: tuple[str | None, ...]) -> None:
    assert tuple(attributes_of(text)) == known


def test_a_verb_that_looks_alike_in_the_past_is_told_of_the_past() -> None:
    (fact,) = drawn("I quit smoking in March.")
    assert (fact.text, str(fact.valid_from)) == ("Nina quit smoking in March 2026", "2026-03")


def test_who_was_just_named_is_she() -> None:
    assert texts("My wife's name is Elena and she works at Siemens.") == [
        "Nina's wife's name is Elena",
        "Elena works at Siemens",
    ]


def test_a_request_before_a_statement_leaves_that_alone() -> None:
    assert texts("Can you make this more polite? I live in Madrid.") == ["Nina lives in Madrid"]
    assert texts("Paul said he lives in Lyon.") == []
    assert texts("If I lived in Rome I would be happy.") == []


@pytest.mark.parametrize(
    ("text", "things"),
    [
        ("Ticket 412 blocks the checkout service", ("Ticket 412", "checkout service")),
        ("Nina works on acme/larch", ("Nina", "acme/larch")),
        ('The bot is called "Mr Toast"', ("Mr Toast",)),
        ("Nina's locker PIN is 7391", ("Nina",)),
        ("Nina reads and/or writes", ("Nina",)),
        ("The new service is fast", ()),
    ],
)
def test_things_are_entities_too(text: str, things: tuple[str, ...]) -> None:
    assert entities_of(text, text.startswith("Nina")) == things
