"""Lists of values: each value of what one may have several of is a statement of its own, and a
name or a dish with `and` in it stays one value."""

import pytest

from rewound.eventlog.instants import parse_instant
from rewound.llm.attribute_table import parse
from rewound.llm.extraction import Drawn, Said
from rewound.llm.listing import VALUES_MAX
from rewound.llm.rules import RulesExtractor
from rewound.llm.several import told_singly

AT = parse_instant("2026-03-02T10:00:00Z").at
RULES = RulesExtractor()


def drawn(text: str, speaker: str | None = "Nina") -> list[Drawn]:
    return RULES.extract([Said(text, AT, speaker=speaker)])[0]


def stated(text: str) -> list[tuple[str | None, str | None, str | None]]:
    return [(one.subject, one.attribute, one.value) for one in drawn(text)]


SEVERAL = {
    "I'm allergic to walnuts and pecans.": ("allergy", "walnuts", "pecans"),
    "I'm allergic to walnuts, pecans, and figs.": ("allergy", "walnuts", "pecans", "figs"),
    "I'm allergic to peanuts and tree nuts.": ("allergy", "peanuts", "tree nuts"),
    "I'm severely allergic to latex, penicillin and cats.":
        ("allergy", "latex", "penicillin", "cats"),
    "I'm allergic to both milk and eggs.": ("allergy", "milk", "eggs"),
    "I'm allergic to dust and cat hair.": ("allergy", "dust", "cat hair"),
    "I'm allergic to nuts as well as sesame.": ("allergy", "nuts", "sesame"),
    "I speak Dutch, French and Thai.": ("language", "Dutch", "French", "Thai"),
    "I speak fluent Dutch and a little Thai.": ("language", "Dutch", "Thai"),
    "I speak both Dutch and French fluently.": ("language", "Dutch", "French"),
    "I speak Dutch and French at home.": ("language", "Dutch", "French"),
    "I play the guitar and the piano.": ("instrument", "guitar", "piano"),
    "I play the cello and piano.": ("instrument", "cello", "piano"),
    "I own a bike and a boat.": ("owns", "bike", "boat"),
    "I have a dog and two cats.": ("pet", "dog", "two cats"),
    "I have two cats, Miso and Tofu.": ("pet", "two cats", "Miso", "Tofu"),
    "I have two cats: Miso and Tofu.": ("pet", "two cats", "Miso", "Tofu"),
    "I have two cats called Miso and Tofu.": ("pet", "two cats", "Miso", "Tofu"),
    "I have three old dogs named Ash, Birch and Rex.":
        ("pet", "three old dogs", "Ash", "Birch", "Rex"),
    "I have a dog named Pip and a cat named Miso.": ("pet", "Pip", "Miso"),
    "I work on Apollo and Zephyr.": ("project", "Apollo", "Zephyr"),
    "I'm working on Apollo, Zephyr and Orion.": ("project", "Apollo", "Zephyr", "Orion"),
    "I'm a client of Orbit Labs and Harbor Foods.": ("client of", "Orbit Labs", "Harbor Foods"),
    "I am a customer of Orbit Labs, Harbor Foods, and Fern Mutual.":
        ("customer of", "Orbit Labs", "Harbor Foods", "Fern Mutual"),
    "I'm a member of the chess club and the choir.": ("member of", "chess club", "choir"),
    "I prefer tea and dark chocolate.": ("prefers", "tea", "dark chocolate"),
    "I speak Dutch and French because my mother is from Ghent.": ("language", "Dutch", "French"),
    "I'm a co-founder of Orbit Labs and Larkspur.": ("co-founder of", "Orbit Labs", "Larkspur"),
}  # fmt: skip


@pytest.mark.parametrize("text", SEVERAL)
def test_each_value_is_a_statement_of_its_own(text: str) -> None:
    attribute, *values = SEVERAL[text]
    assert stated(text) == [("Nina", attribute, value) for value in values]


def test_the_words_stay_those_of_the_list() -> None:
    texts = {
        "I'm allergic to walnuts and pecans since childhood.": (
            "Nina is allergic to walnuts since childhood",
            "Nina is allergic to pecans since childhood",
        ),
        "Tom and Ana have two dogs, Ash and Birch.": (
            "Tom and Ana have two dogs, Ash and Birch",
            "Tom and Ana have a dog named Ash",
            "Tom and Ana have a dog named Birch",
        ),
        "I own a bike and an old boat.": ("Nina owns a bike", "Nina owns an old boat"),
        "My kids are Ana and Leo.": ("Nina has a kid named Ana", "Nina has a kid named Leo"),
        "My daughters' names are Ana and Lea.": (
            "Nina has a daughter named Ana", "Nina has a daughter named Lea",
        ),
        "I have two daughters, Ana and Lea.": (
            "Nina has two daughters, Ana and Lea",
            "Nina has a daughter named Ana",
            "Nina has a daughter named Lea",
        ),
        "I like jazz and old films.": ("Nina likes jazz", "Nina likes old films"),
        "I love sushi, ramen and pho.": ("Nina loves sushi", "Nina loves ramen", "Nina loves pho"),
    }  # fmt: skip
    for text, singly in texts.items():
        assert tuple(one.text for one in drawn(text)) == singly


def test_all_are_drawn_from_the_same_words() -> None:
    (one, other) = drawn("Hello! I'm allergic to walnuts and pecans.")
    assert (one.start, one.end) == (other.start, other.end) == (7, 41)
    assert (one.kind, one.confidence) == (other.kind, other.confidence)


ONE = {
    "I work at Marks and Spencer.": ("employer", "Marks and Spencer"),
    "I work for Johnson and Johnson.": ("employer", "Johnson and Johnson"),
    "I live in Trinidad and Tobago.": ("home", "Trinidad and Tobago"),
    "I moved to Antigua and Barbuda last year.": ("home", "Antigua and Barbuda"),
    "I was born in Bosnia and Herzegovina.": ("birthplace", "Bosnia and Herzegovina"),
    "My favourite seasoning is salt and pepper.": ("favourite seasoning", "salt and pepper"),
    "My favourite snack is mac and cheese.": ("favourite snack", "mac and cheese"),
    "My favourite book is War and Peace.": ("favourite book", "War and Peace"),
    "My favourite colours are blue and green.": ("favourite colours", "blue and green"),
    "I study physics and maths.": ("study", "physics and maths"),
    "I work at Ernst & Young.": ("employer", "Ernst & Young"),
    "I'm a client of Marks and Spencer.": ("client of", "Marks and Spencer"),
    "I'm a client of Smith and Sons.": ("client of", "Smith and Sons"),
    "I'm a member of the Bed and Breakfast Association.":
        ("member of", "Bed and Breakfast Association"),
    "I own a bar and grill.": ("owns", "bar and grill"),
    "I'm allergic to bee and wasp stings.": ("allergy", "bee and wasp stings"),
    "I'm allergic to salt and pepper.": ("allergy", "salt and pepper"),
    "I love fish and chips.": ("opinion of fish and chips", "likes"),
    "I like Tom and Jerry.": ("opinion of Tom and Jerry", "likes"),
}  # fmt: skip


@pytest.mark.parametrize("text", ONE)
def test_what_is_one_stays_one(text: str) -> None:
    attribute, value = ONE[text]
    assert stated(text) == [("Nina", attribute, value)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("I live in Oslo and I work in Bergen.", ["Oslo"]),
        ("I live in Oslo and Tom lives in Bergen.", ["Oslo", "Bergen"]),
        ("I work at Orbit and love it.", ["Orbit"]),
        ("I speak Dutch and live in Oslo.", ["Dutch", "Oslo"]),
        ("I'm allergic to nuts and carry a pen for it.", ["nuts"]),
        ("My favourite sport is tennis and my wife's is golf.", ["tennis"]),
        ("I own a bike and never use it.", ["bike"]),
        ("I'm not allergic to nuts and eggs.", []),
        ("I'm no longer allergic to nuts and eggs.", []),
    ],
)  # fmt: skip
def test_what_is_behind_and_may_be_another_thought(text: str, values: list[str]) -> None:
    assert [one.value for one in drawn(text) if one.value is not None] == values


def test_a_list_too_long_to_be_told_singly_stays_whole() -> None:
    names = ["Dutch", "French", "Thai", "Hindi", "Greek", "Irish", "Welsh", "Danish"]
    assert len(names) > VALUES_MAX
    most, over = names[:VALUES_MAX], names[: VALUES_MAX + 1]
    assert len(told_singly(f"Nina speaks {', '.join(most[:-1])} and {most[-1]}")) == VALUES_MAX
    whole = f"Nina speaks {', '.join(over[:-1])} and {over[-1]}"
    assert told_singly(whole) == [whole]


def test_rows_of_the_user_tell_whether_several_values_are_held() -> None:
    rows = parse(
        '[{"attribute": "mentors", "verbs": ["mentors"], "single": false},'
        ' {"attribute": "badge", "verbs": ["wears badge"]}]'
    )
    assert told_singly("Nina mentors Ana and Leo", rows) == ["Nina mentors Ana", "Nina mentors Leo"]
    assert told_singly("Nina wears badge A and B", rows) == ["Nina wears badge A and B"]


def test_a_statement_without_a_list_is_left_alone() -> None:
    for text in (
        "Nina is allergic to walnuts",
        "Nina and Tom speak Dutch",
        "It rained, and hailed",
    ):
        assert told_singly(text) == [text]
