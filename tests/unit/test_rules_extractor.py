"""The extractor by rules: what it draws, from which characters, and what it leaves alone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.events import FactKind
from rewound.eventlog.instants import to_us
from rewound.llm.extraction import Drawn, Extractor, Media, Role, Said
from rewound.llm.rules import MOST, RulesExtractor

AT = to_us(datetime.fromisoformat("2026-03-02T23:30:00-08:00").astimezone(UTC))
RULES: Extractor = RulesExtractor()


def drawn(
    text: str,
    speaker: str | None = "Nina",
    role: Role = "user",
    media: Media = "text",
) -> list[Drawn]:
    (found,) = RULES.extract([Said(text, AT, "-08:00", role, speaker, media)])
    for fact in found:
        assert text[fact.start : fact.end].strip() == text[fact.start : fact.end] != ""
    return found


def texts(text: str, speaker: str | None = "Nina", role: Role = "user") -> list[str]:
    return [fact.text for fact in drawn(text, speaker, role)]


def test_it_has_a_name_of_its_own() -> None:
    assert RULES.name == "rules/1"


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("I am a nurse.", "Nina is a nurse"),
        ("I'm a nurse.", "Nina is a nurse"),
        ("I’m a nurse.", "Nina is a nurse"),
        ("I have two cats.", "Nina has two cats"),
        ("I've seen Rome.", "Nina has seen Rome"),
        ("I like tea.", "Nina likes tea"),
        ("I really like tea.", "Nina really likes tea"),
        ("I never eat meat.", "Nina never eats meat"),
        ("I don't like coffee.", "Nina doesn't like coffee"),
        ("I study law.", "Nina studies law"),
        ("I watch birds.", "Nina watches birds"),
        ("I'll move to Rome.", "Nina will move to Rome"),
        ("I can swim.", "Nina can swim"),
        ("I was a teacher.", "Nina was a teacher"),
        ("I live in Oslo and work at Equinor.", "Nina lives in Oslo and works at Equinor"),
        ("I like to cook and bake bread.", "Nina likes to cook and bake bread"),
        ("I read books every night.", "Nina reads books every night"),
        ("My dog is called Biscuit.", "Nina's dog is called Biscuit"),
        ("The blue bike is mine.", "The blue bike is Nina's"),
        ("Marta gave me a book.", "Marta gave Nina a book"),
        ("I built the shed by myself.", "Nina built the shed alone"),
        ("My wife and I are vegetarians.", "Nina's wife and Nina are vegetarians"),
        ("We adopted a dog.", "Nina and others adopted a dog"),
        ("Our house has a garden.", "Nina's house has a garden"),
        ("Repotted the fern.", "Nina repotted the fern"),
        ("World War I ended in 1918.", "World War I ended in 1918"),
    ],
)
def test_the_first_person_is_the_speaker(said: str, fact: str) -> None:
    assert texts(said) == [fact]


def test_a_speaker_without_a_name_is_the_user() -> None:
    assert texts("I love my dog.", None) == ["The user loves the user's dog"]


def test_yesterday_and_last_week_are_of_the_speakers_own_days() -> None:
    """The moment is 2026-03-03 in UTC: read there, yesterday would be a day late."""
    said = "Yesterday I planted the lemon tree, and last week I sold the van."
    tree, van = drawn(said, None)
    assert tree.text == "The user planted the lemon tree on 2026-03-01"
    assert str(tree.valid_from) == "2026-03-01"
    assert said[tree.start : tree.end] == "Yesterday I planted the lemon tree"
    assert van.text == "The user sold the van in the week of 2026-02-23"
    assert str(van.valid_from) == "2026-02-23"
    assert said[van.start : van.end] == "last week I sold the van"
    assert {tree.kind, van.kind} == {FactKind.EPISODE}
    assert tree.valid_to is None and van.valid_to is None


def test_negation_keeps_its_scope_and_fills_no_attribute() -> None:
    (fact,) = drawn("I'm not allergic to nuts, only to kiwi.")
    assert fact.text == "Nina is not allergic to nuts, only to kiwi"
    assert (fact.subject, fact.attribute, fact.value) == (None, None, None)


def test_words_that_sound_like_a_denial_deny_nothing() -> None:
    assert texts("The notary is never late.") == ["The notary is never late"]
    assert texts("Actually, the notary's office is on Elm Road.") == [
        "The notary's office is on Elm Road"
    ]
    use, forget = drawn(
        "Use the blue valve for the boiler. "
        "Do not forget to open the blue valve for the boiler before six."
    )
    assert use.kind == forget.kind == FactKind.PROCEDURE
    assert use.text == "Use the blue valve for the boiler"


def test_only_users_state_something_and_each_of_himself() -> None:
    pieces = [
        Said("Relevant memories: Tom owns a red bike", AT, role="system"),
        Said("Explain hashing to me.", AT, speaker="Tom"),
        Said("Use a salt per row. I prefer Argon2 and I live in Oslo.", AT, role="assistant"),
        Said("I live in Oslo.", AT, role="tool"),
        Said("I'm badly allergic to walnuts.", AT, speaker="Marta"),
    ]
    *others, marta = RULES.extract(pieces)
    assert others == [[], [], [], []]
    (fact,) = marta
    assert fact.text == "Marta is badly allergic to walnuts"
    assert (fact.subject, fact.attribute, fact.value) == ("Marta", "allergy", "walnuts")


@pytest.mark.parametrize(
    "said",
    [
        "Hi Tom! How are you? Thanks a lot. Sounds great! Wow. That's amazing.",
        "What is the capital of France",
        "Do you know that I am a vegetarian?",
        "Can you help me with my essay?",
        "Explain hashing to me.",
        "Please write me a poem about the sea.",
        "Write a poem about my dog Rex.",
        "If it rains, I take the bus.",
        "I'd love to visit Japan.",
        "I would rather have tea.",
        "I might move to Paris.",
        "Maybe I will move to Paris.",
        "I may move to Paris.",
        "I wish I had a dog.",
        "Tom said that Oslo is cold.",
        "My doctor told me to avoid salt.",
        "According to Tom, the bridge is closed.",
        '"I live in Oslo," said Tom.',
        "You live in Oslo.",
        "Sorry, make that 4 pm.",
        "Final: 4:30 pm, room Teal.",
        "She loves it.",
        "It is red.",
        "I really love it.",
        "Not bad at all.",
        "I hate ███.",
        "I hate ███, and I live in Oslo.",
        "█ I live in Oslo.",
    ],
)
def test_what_states_nothing_is_left_out(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    "pasted",
    [
        "Relevant memories:\n- Tom owns a red bike\n- Tom lives in Rome",
        "Relevant memories: Tom owns a red bike",
        "Here's what I remember about you:\n- Tom owns a red bike",
        "<memory>\nI own a red bike.\n\nI live in Rome.\n</memory>",
        "<relevant_memories>I own a red bike.</relevant_memories>",
        "> I own a red bike.",
        "- [2026-03-01] Tom owns a red bike. (fact_01hzx3abcd)",
        "The user owns a red bike (fact_01hzx3abcd)",
        '[{"text": "I own a red bike."}]',
        '{"facts": ["I own a red bike."]}',
        "```\nI own a red bike.\n```",
        "Assistant: I own a red bike.",
        "Tom: I own a red bike.",
        "2026-03-01T10:00:00Z INFO I own a red bike",
        "ERROR: the disk is full",
        "| I own | a red bike |\n|---|---|\n| I own | a van |",
        "On Monday Tom wrote:\nI own a red bike.",
    ],
)
def test_what_was_pasted_is_not_said_again(pasted: str) -> None:
    assert texts(pasted) == []


def test_own_words_beside_what_was_pasted_count() -> None:
    said = (
        "Relevant memories:\n- Tom owns a red bike\n\nI live in Oslo.\n```\nI = 1\n```\nI like tea."
    )
    assert texts(said) == ["Nina lives in Oslo", "Nina likes tea"]


@pytest.mark.parametrize("media", ["code", "json"])
def test_code_and_data_state_nothing(media: Media) -> None:
    assert drawn("I live in Oslo.", media=media) == []


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("I love hiking, but I hate camping.", ["Nina loves hiking", "Nina hates camping"]),
        (
            "My son plays football and my daughter plays chess.",
            ["Nina's son plays football", "Nina's daughter plays chess"],
        ),
        ("I love tea; Tom hates tea.", ["Nina loves tea", "Tom hates tea"]),
        (
            "When I was young, I lived in Kenya and I had a dog.",
            ["When Nina was young, Nina lived in Kenya and Nina had a dog"],
        ),
        ("I'm allergic to nuts, so what can I eat?", ["Nina is allergic to nuts"]),
        (
            "I met Dr. Smith at 4 p.m. in St. Ives. I paid 3.50 at https://a.b/c?d=e.f now.",
            [
                "Nina met Dr. Smith at 4 p.m. in St. Ives",
                "Nina paid 3.50 at https://a.b/c?d=e.f now",
            ],
        ),
        ("- I have two cats\n- I own a van", ["Nina has two cats", "Nina owns a van"]),
        ("Hi Tom! Well, I moved to Rome :)", ["Nina moved to Rome"]),
        ("Remember that I'm vegan.", ["Nina is vegan"]),
    ],
)
def test_each_independent_clause_is_one_fact(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("My sister Marta lives in Rome. She is a nurse.", "Marta is a nurse"),
        ("My car broke down. It needs an engine.", "Nina's car needs an engine"),
        ("I bought a bike. It has two baskets.", "The bike has two baskets"),
        ("My parents live in Madrid, and they have a cat.", "Nina's parents have a cat"),
    ],
)
def test_a_pronoun_with_one_answer_is_resolved_and_trusted_less(said: str, facts: str) -> None:
    first, second = drawn(said)
    assert second.text == facts
    assert second.confidence < first.confidence


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("I like tea.", FactKind.PREFERENCE),
        ("I can't stand olives.", FactKind.PREFERENCE),
        ("My favourite colour is green.", FactKind.PREFERENCE),
        ("I bought a van.", FactKind.EPISODE),
        ("Marta bought a van yesterday.", FactKind.EPISODE),
        ("I have lived in Oslo since 2020.", FactKind.FACT),
        ("I live in Oslo.", FactKind.FACT),
        ("I'm flying to Rome tomorrow.", FactKind.FACT),
        ("To bleed a radiator, turn the key.", FactKind.PROCEDURE),
        ("Always answer in German.", FactKind.PROCEDURE),
    ],
)
def test_each_fact_has_its_kind(said: str, kind: FactKind) -> None:
    assert [fact.kind for fact in drawn(said)] == [kind]


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("I live in Oslo and work at Equinor.", ("Nina", "home", "Oslo")),
        ("I moved to Bergen in 2019.", ("Nina", "home", "Bergen")),
        ("I work as a data scientist at Spotify.", ("Nina", "occupation", "data scientist")),
        ("I work at Spotify.", ("Nina", "employer", "Spotify")),
        ("Marta is allergic to walnuts.", ("Marta", "allergy", "walnuts")),
        ("My favourite colour is green.", ("Nina", "favourite colour", "green")),
        ("My bike is orange.", ("Nina", "bike", "orange")),
        ("My dog is called Biscuit.", ("Nina", "dog", "Biscuit")),
        ("My locker PIN is 7391-QUOKKA.", ("Nina", "locker PIN", "7391-QUOKKA")),
        ("I was born on 5 May 1990 in Lima.", ("Nina", "birthday", "5 May 1990")),
        ("I no longer live in Oslo.", (None, None, None)),
        ("The weather was fine.", (None, None, None)),
    ],
)
def test_what_is_known_of_whom(said: str, known: tuple[str | None, ...]) -> None:
    (fact,) = drawn(said)
    assert (fact.subject, fact.attribute, fact.value) == known


def test_names_are_listed_in_order_and_common_first_words_are_none() -> None:
    (fact,) = drawn("Yesterday I met Ana Silva and Tom in the Name of the Rose with Ana Silva.")
    assert fact.entities == ("Nina", "Ana Silva", "Tom", "Name of the Rose")
    (fact,) = drawn("The boiler has two valves.", None)
    assert fact.entities == ()


def test_a_document_states_its_prose() -> None:
    text = """# Boiler

The boiler has two valves. The blue valve feeds the heating circuit,
and the red valve drains the tank. I live in Oslo.

| part | price |
|------|-------|
| valve | 3 |

1. Open the lid.
- [A link](https://example.com)

```
the code is here
```
"""
    facts = drawn(text, None, "document", "markdown")
    assert [fact.text for fact in facts] == [
        "The boiler has two valves",
        "The blue valve feeds the heating circuit",
        "The red valve drains the tank",
        "The author lives in Oslo",
        "Open the lid",
    ]
    assert facts[-1].kind == FactKind.PROCEDURE


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("我昨天买了一辆自行车。", ["Nina 2026-03-01 买了一辆自行车"]),
        ("明日は陶芸教室に行く予定です", ["2026-03-03 は陶芸教室に行く予定です"]),
        ("ผมแพ้กุ้งมาก", ["Ninaแพ้กุ้งมาก"]),
        ("주말마다 등산모임에 나간다", ["주말마다 등산모임에 나간다"]),
        ("你住在哪里？", []),
        ("谢谢你", []),
        ("请解释一下哈希", []),
    ],
)
def test_other_scripts_are_kept_as_said(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


def test_at_most_eight_and_the_first_ones() -> None:
    facts = texts("\n".join(f"I own {count} bikes." for count in range(20)))
    assert facts == [f"Nina owns {count} bikes" for count in range(MOST)]


def test_the_same_words_give_the_same_facts_and_pieces_do_not_touch() -> None:
    one = Said("My sister Marta lives in Rome.", AT)
    two = Said("She is a nurse.", AT)
    assert RULES.extract([one, two]) == RULES.extract([one, two])
    assert RULES.extract([one, two])[1] == []


WORDS = [
    *"I I'm my me we you he she it and but if because Nina Oslo is are was live lives".split(),
    *"like went have not never yesterday last week on 5 May 2019 the a dog".split(),
    *", . ; : ! ? \" ' ( ) > - # ``` | <memory> █ 我 昨天 。 เมื่อวาน é".split(),
    *"https://a.b/c 3.14 Mr. fact_abcdefgh { } [ ]".split(),
    *["\n", "\n\n", "\ud800", "\u0000", "\u2028"],
]
TEXT = st.lists(st.sampled_from(WORDS) | st.text(max_size=4), max_size=60).map(" ".join)


@given(
    TEXT,
    st.sampled_from(["user", "document"]),
    st.sampled_from(["text", "markdown"]),
    st.none() | st.text(max_size=8),
)
def test_no_text_is_too_odd(text: str, role: Role, media: Media, speaker: str | None) -> None:
    facts = drawn(text, speaker, role, media)
    assert len(facts) <= MOST
    ends = 0
    for fact in facts:
        assert ends <= fact.start < fact.end <= len(text)
        assert "█" not in text[fact.start : fact.end]
        assert fact.text.strip() == fact.text != ""
        assert 0 < fact.confidence <= 1000
        ends = fact.end


@pytest.mark.parametrize(
    "unit", ["a", "I am. ", "\n", '"', "(", "I like it, and ", "我", "- [", "<"]
)
def test_a_long_text_is_read_through(unit: str) -> None:
    text = unit * (200_000 // len(unit)) + "\n\nI live in Oslo."
    facts = drawn(text)
    assert all("\n" not in fact.text for fact in facts)
