"""The extractor by rules: what it draws, from which characters, and what it leaves alone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.eventlog.events import FactKind
from rewound.eventlog.instants import to_us
from rewound.llm.extraction import Drawn, Extractor, Media, Role, Said
from rewound.llm.rules import MOST, MOST_READ, MOST_SENTENCES, RulesExtractor

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
    assert RULES.name == "rules/4"


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
        ("I sing in a choir and walk to work.", "Nina sings in a choir and walks to work"),
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
    assert texts("I love my dog.", None) == ["The user loves their dog"]


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
    nuts, kiwi = drawn("I'm not allergic to nuts, only to kiwi.")
    assert nuts.text == "Nina is not allergic to nuts"
    assert (nuts.subject, nuts.attribute, nuts.value) == (None, None, None)
    assert kiwi.text == "Nina is allergic to kiwi"
    assert (kiwi.subject, kiwi.attribute, kiwi.value) == ("Nina", "allergy", "kiwi")


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
        "## Memories\n\nTom owns a red bike.\nTom owns a van.",
        "=== Memories ===\nTom owns a red bike.",
        "**Facts about Tom**\n\nTom owns a red bike.",
        "User profile\nTom owns a red bike.",
        "Things I remember about you:\nTom owns a red bike.",
        "Known about the user:\n\nTom owns a red bike.",
        "<user_profile>\nTom owns a red bike.\n</user_profile>",
        "<mem0>Tom owns a red bike.</mem0>",
        "[1] Tom owns a red bike.\n[2] Tom owns a van.",
        "Memory 1: Tom owns a red bike.\n- Memory 2: Tom owns a van.",
        "Tom owns a red bike (msg_01hzx3abcd)",
        "Tom owns a red bike [3f2504e0-4f89-11d3-9a0c-0305e82c3301].",
        "Tom owns a red bike.\nfact_01hzx3abcd",
        "Tom owns a red bike.\n  id: 3f2504e0-4f89-11d3-9a0c-0305e82c3301\n",
        "Tom owns a red bike — msg_01hzx3abcd",
        "Tom owns a red bike\n`fact_01hzx3abcd`",
        "* Memory #1 - Tom owns a red bike",
        "[1]Tom owns a red bike",
        "What I remember about you\n- Tom owns a red bike",
        "## What I know about Tom\n\nTom owns a red bike",
        "Known about the user\n- Tom owns a red bike",
        "User info:\nTom owns a red bike",
        "User preferences:\n\n- Tom likes tea",
        "About the user\nTom owns a red bike",
        "As of 2026, Nina owns a red bike",
        "On 2026-01-01, the user bought a red bike.",
        "In 2020 Nina moved to Oslo",
        "Nina owns a red bike.",
        "- Nina's bike is red",
        "[hobby] Nina owns a red bike",
        "The user owns a red bike.",
        "User's bike is red.",
    ],
)
def test_what_was_pasted_is_not_said_again(pasted: str) -> None:
    assert texts(pasted) == []


def test_own_words_beside_what_was_pasted_count() -> None:
    said = (
        "Relevant memories:\n- Tom owns a red bike\n\nI live in Oslo.\n```\nI = 1\n```\nI like tea."
    )
    assert texts(said) == ["Nina lives in Oslo", "Nina likes tea"]


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("The user interface has two tabs.", ["The user interface has two tabs"]),
        ("Ninas are rare birds.", ["Ninas are rare birds"]),
        ("The context of my thesis is Rome.", ["The context of Nina's thesis is Rome"]),
        ("(1) I own a van.\n(2) I own a bike.", ["Nina owns a van", "Nina owns a bike"]),
        ("I own a van.\nmy_own_van", ["Nina owns a van"]),
        ("What I know about Rome is old news. I own a van.", ["Nina owns a van"]),
        ("In 2020 I moved to Nina Street.", ["In 2020 Nina moved to Nina Street"]),
        ("I sent Tom a van.", ["Nina sent Tom a van"]),
        ("Relevant memories\n\nTom has a van.\n\nI own a bike.", ["Nina owns a bike"]),
    ],
)
def test_what_only_looks_like_a_memory_is_read(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


@pytest.mark.parametrize(
    "said",
    [
        "Translate to French: My name is Anna and I live in Berlin.",
        "Translate to French: My name is Anna. I live in Berlin.",
        "Write an email that says I am sick and I can't come to work.",
        "Could you write that I am sick and I live in Rome.",
        "I want you to write a letter that says I am sick and I live in Rome.",
        "Please proofread this:\n\nI live in Madrid and I am a nurse.",
        "Hi! I need some help. Can you proofread this:\nI live in Madrid.",
        "Check my homework:\nI live in Madrid.\nI am a nurse.",
        "Here is what my friend sent me:\nI live in Madrid.",
        "My boss wrote:\n\n- I live in Madrid.",
        "The sign says:\nI live in Madrid.",
        "Bob:\nI live in Madrid.",
        "**Bob Miller:**\nI live in Madrid.",
        "[10:02] Bob:\nI live in Madrid.",
        "Here's a draft of the letter:\nI live in Madrid.",
        "I live in Madrid, he said.",
        "I live in Madrid, my boss wrote, and I own a van.",
        "My friend sent me this: I live in Madrid.",
        "I live in Madrid - said my boss.",
        "Let's roleplay: I am a pirate and I live on a ship.",
        "Let's roleplay: I am a pirate. I live on a ship.",
        "I live in Paris. Just kidding!",
        "I live in Paris. Haha, no, I'm joking.",
        "I live in Paris, just kidding.",
        "I live in Paris. JK",
        "Were I rich, I own a yacht.",
        "Had my boss paid, I own a yacht.",
        "Assuming I get the job, I live in Oslo.",
        "I refuse to believe that Tom lives in Oslo.",
    ],
)
def test_words_of_others_and_jests_state_nothing(said: str) -> None:
    assert texts(said) == []


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("Please proofread this:\n\nI live in Rome.\n\nI own a van.", ["Nina owns a van"]),
        ("Please remember this:\nI own a van.", ["Nina owns a van"]),
        ("About me:\nI own a van.", ["Nina owns a van"]),
        ("Preferences:\n- I like tea", ["Nina likes tea"]),
        ("Update:\nI own a van.", ["Nina owns a van"]),
        ("Hi Bob:\nI own a van.", ["Nina owns a van"]),
        ("I wrote a book, and it says hello. I own a van.", ["Nina owns a van"]),
        ("I own a van. I like tea. Just kidding!", ["Nina owns a van"]),
        ("Just kidding! I own a van.", ["Nina owns a van"]),
        ("I had a dog, and I own a van.", ["Nina had a dog", "Nina owns a van"]),
        ("Call me Ellie. I own a van.", ["Nina goes by Ellie", "Nina owns a van"]),
        ("Had lunch with Tom. I own a van.", ["Nina owns a van"]),
        ("I met Tom, who said hello, and I own a van.", ["Nina owns a van"]),
        ("Work is fun and I own a van.", ["Work is fun", "Nina owns a van"]),
    ],
)
def test_own_words_near_those_of_others_count(said: str, facts: list[str]) -> None:
    assert texts(said)[-len(facts) :] == facts
    assert "Nina lives in Rome" not in texts(said)


def test_a_document_may_name_what_stands_below() -> None:
    said = "Check the valve:\nThe boiler has two valves."
    assert texts(said, None, "document")[-1] == "The boiler has two valves"


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
        ("I live in Oslo with Tom.", ("Nina", "home", "Oslo")),
        ("I moved to Bergen in 2019.", ("Nina", "home", "Bergen")),
        ("I work as a data scientist at Spotify.", ("Nina", "occupation", "data scientist")),
        ("I work at Spotify.", ("Nina", "employer", "Spotify")),
        ("Marta is allergic to walnuts.", ("Marta", "allergy", "walnuts")),
        ("My favourite colour is green.", ("Nina", "favourite colour", "green")),
        ("My bike is orange.", ("Nina", "bike", "orange")),
        ("My dog is called Biscuit.", ("Nina", "dog", "Biscuit")),
        ("My locker PIN is 7391-QUOKKA.", ("Nina", "locker PIN", "7391-QUOKKA")),
        ("I was born on 5 May 1990 in Lima.", ("Nina", "birthday", "5 May 1990")),
        ("I no longer live in Oslo.", ("Nina", "home", None)),
        ("The soup was fine.", (None, None, None)),
        ("The party moved to Sunday.", ("party", "date", "2026-03-08")),
        ("My exam moved to Room 4.", ("Nina's exam", "room", "4")),
        ("My parents moved to Spain.", ("Nina's parents", "home", "Spain")),
        ("My exam is next Tuesday.", ("Nina", "exam", "2026-03-10")),
        ("My exam is in May.", ("Nina", "exam", "May 2026")),
        ("My wife is pregnant, due in October.", (None, None, None)),
        ("Nobody lives in Oslo.", (None, None, None)),
        ("Nobody's bike is orange.", (None, None, None)),
        ("None of us lives in Oslo.", (None, None, None)),
        ("Neither Tom nor Ana lives in Oslo.", (None, None, None)),
        ("Few people live in Oslo.", (None, None, None)),
        ("I know Tom lives in Oslo.", (None, None, None)),
        ("I heard Tom's bike is orange.", (None, None, None)),
        ("I know Tom's favourite colour is green.", (None, None, None)),
        ("Mark Will lives in Oslo.", ("Mark Will", "home", "Oslo")),
        ("My work friend Tom lives in Oslo.", ("Nina's work friend Tom", "home", "Oslo")),
        ("I live in Oslo these days.", ("Nina", "home", "Oslo")),
        ("I live in Oslo at the moment.", ("Nina", "home", "Oslo")),
        ("I live in Oslo this summer.", ("Nina", "home", "Oslo")),
        ("I work at Spotify in the mornings.", ("Nina", "employer", "Spotify")),
        ("I play the violin every Tuesday.", ("Nina", "instrument", "violin")),
        ("I own a bike again.", ("Nina", "owns", "bike")),
        ("I live in Summer Hill.", ("Nina", "home", "Summer Hill")),
        ("I own a Nova Every Day.", ("Nina", "owns", "Nova Every Day")),
        ("My exam is next Tuesday at 10 am.", ("Nina", "exam", "2026-03-10 at 10:00")),
        ("My dog is sick.", (None, None, None)),
        ("My boss is Anna.", ("Nina", "boss", "Anna")),
        ("My rent is due on Friday.", ("Nina's rent", "due", "2026-03-06")),
        ("My birthday is next Saturday.", (None, None, None)),
        ("My new phone number is 12345.", ("Nina", "phone number", "12345")),
        (
            "My new address is Lindenstr. 5, 10969 Berlin.",
            ("Nina", "address", "Lindenstr. 5, 10969 Berlin"),
        ),
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


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        (
            "Also, I'm allergic to peanuts, so please keep that in mind when you suggest recipes.",
            ["Nina is allergic to peanuts"],
        ),
        ("I'm vegan, please remember that.", ["Nina is vegan"]),
        ("I'm vegetarian, can you suggest a dinner?", ["Nina is vegetarian"]),
        ("I work nights, so don't suggest morning meetings.", ["Nina works nights"]),
        ("I have a nut allergy, so you should avoid nuts.", ["Nina has a nut allergy"]),
        ("Please suggest a recipe, I'm allergic to nuts.", ["Nina is allergic to nuts"]),
        ("Can you find a book because I love crime novels?", ["Nina loves crime novels"]),
        ("I live in Berlin, as you know.", ["Nina lives in Berlin"]),
        ("As I told you before, my dog is old.", ["Nina's dog is old"]),
        ("I own a car, as you know, and I love tea.", ["Nina owns a car", "Nina loves tea"]),
        ("You should know that I am diabetic.", ["Nina is diabetic"]),
        ("I'd like you to know that I have a twin.", ["Nina has a twin"]),
        ("For your information, my office is upstairs.", ["Nina's office is upstairs"]),
        ("I'm calm and don't use sugar.", ["Nina is calm and doesn't use sugar"]),
        ("I am vegan so no cheese please", ["Nina is vegan"]),
        ("I prefer short answers please.", ["Nina prefers short answers"]),
        ("Like my brother, I have a dog.", []),
        ("I told Anna to please be quiet.", ["Nina told Anna to please be quiet"]),
        ("You should know how to cook.", []),
        ("You know what I like.", []),
        ("Can you translate this, I am a pirate?", []),
        ("Please pretend I'm a nurse, I work nights.", []),
        ("Imagine my brother is king, I own a castle.", []),
        ("Tom said I should rest, please.", []),
        ("If I move to Rome, please tell me.", []),
        ("Do you know that I am old, please?", []),
    ],
)
def test_a_request_or_an_aside_does_not_take_the_statement_with_it(
    said: str, facts: list[str]
) -> None:
    assert texts(said) == facts


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("I fly on 12 June and come back on the 21st.", ["2026-06-12", "2026-06-21"]),
        ("I fly on 12 June and I'm coming back on the 3rd.", ["2026-06-12", "2026-07-03"]),
        ("I'm away from 5 to 9 June and I'm back on the 15th.", ["2026-06-05", "2026-06-15"]),
        ("I was in Rome on 3 January and I left on the 9th.", ["2026-01-03", "2026-01-09"]),
        ("I fly on the 21st.", ["2026-03-21"]),
        ("I fly on 12 June. I come back on the 21st.", ["2026-06-12", "the 21st"]),
        ("My office is on the 3rd floor.", ["the 3rd"]),
    ],
)
def test_a_day_without_a_month_follows_the_day_that_was_named(said: str, days: list[str]) -> None:
    told = " ".join(texts(said))
    assert all(day in told for day in days), told
    assert len(days) > 1 or "2026" not in told or days[0] in told


@pytest.mark.parametrize(
    ("said", "second"),
    [
        ("My brother Jonas is a nurse. He works night shifts.", "Jonas works night shifts"),
        ("My sister Agnes lives in Rome. She is a lawyer.", "Agnes is a lawyer"),
        ("My boss is strict. She wants reports.", "Nina's boss wants reports"),
        ("My bus is red. It is number 7.", "Nina's bus is number 7"),
        ("My cats are lazy. They sleep all day.", "Nina's cats sleep all day"),
        ("We got a dog! His name is Rufus.", "Nina's dog's name is Rufus"),
        ("We got a puppy yesterday! She is shy.", "Nina's puppy is shy"),
        ("My sister has a son. His name is Leo.", "Nina's sister's son's name is Leo"),
        ("I have a sister. Her name is Ana.", "Nina's sister's name is Ana"),
        ("Tom is a friend. He lives in Rome.", "Tom lives in Rome"),
    ],
)
def test_who_is_meant_after_a_name_or_a_newcomer(said: str, second: str) -> None:
    assert texts(said)[1:] == [second]


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("My cat's name isn't Biskit, it's Biscuit.", ("Nina", "cat", "Biscuit")),
        ("My shoe size is not 42. It is 43.", ("Nina", "shoe size", "43")),
        ("My cat's name isn't Biskit. It's Biscuit.", ("Nina", "cat", "Biscuit")),
        ("My desk broke. It's old.", (None, None, None)),
    ],
)
def test_what_it_is_instead_is_known_of_it(said: str, known: tuple[str | None, ...]) -> None:
    fact = drawn(said)[-1]
    assert (fact.subject, fact.attribute, fact.value) == known


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("Dad works at Siemens.", ["Nina's dad works at Siemens"]),
        ("Mom's name is Eve.", ["Nina's mom's name is Eve"]),
        ("I gave Grandma a watch.", ["Nina gave Nina's grandma a watch"]),
        (
            "Mum lives in Leeds. She is a nurse.",
            ["Nina's mum lives in Leeds", "Nina's mum is a nurse"],
        ),
        ("Grandma Olga is a nurse.", ["Grandma Olga is a nurse"]),
        ("Tom's Dad is a pilot.", ["Tom's Dad is a pilot"]),
        ("My Dad is a pilot.", ["Nina's Dad is a pilot"]),
    ],
)
def test_a_relative_named_as_such_is_the_speakers(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


@pytest.mark.parametrize(
    ("said", "second"),
    [
        ("My lucky colour was red but now it's teal.", "Nina's lucky colour is now teal"),
        ("My car used to be a Polo, now it's a Golf.", "Nina's car is now a Golf"),
        ("My office was in Kista but now it is in Solna.", "Nina's office is now in Solna"),
        ("My gym was in Leith. Now it's been moved.", "Nina's gym has now been moved"),
        ("My manager used to be Tom but now it's Ana.", "Nina's manager is now Ana"),
        ("My brother lived in Rome, now he lives in Oslo.", "Nina's brother now lives in Oslo"),
        ("My sister was a nurse. Now she's a lawyer.", "Nina's sister is now a lawyer"),
        ("My parents lived in Rome, now they're in Oslo.", "Nina's parents are now in Oslo"),
    ],
)
def test_what_something_is_now_is_said_of_it(said: str, second: str) -> None:
    assert texts(said)[1:] == [second]


@pytest.mark.parametrize(
    "second",
    ["now it's raining", "now it's great", "now it's time to sell it", "then he's in Oslo"],
)
def test_a_second_pronoun_that_is_nothing_known_is_left_out(second: str) -> None:
    assert texts(f"My car is old and {second}.")[1:] == []


@pytest.mark.parametrize(
    "said",
    [
        "My friend Tom has a son. He is a nurse.",
        "I have a dog and a cat. She is shy.",
        "Nobody has touched it since Marco left.",
        "Marco fixed it yesterday.",
    ],
)
def test_a_pronoun_that_may_be_two_or_nothing_is_left_out(said: str) -> None:
    assert all(" is a nurse" not in text and " shy" not in text for text in texts(said))
    assert not any(" it" in text for text in texts(said))


CARLA = "My aunt Carla is old, and every word of it is long, " * 13


@pytest.mark.parametrize(
    "between",
    [
        " Have you met my aunt Carla? ",
        " Thanks to my aunt Carla! ",
        " Write a poem about my aunt Carla. ",
        f" {CARLA} ",
        "\nAssistant: how is your aunt Carla?\n",
        "\n> My aunt Carla is old.\n\n",
        ' "My aunt Carla is old," said Tom. ',
        " My aunt Carla ███. ",
        "\n```\nCarla\n```\n",
        "\n# Carla\n",
        "\n卡拉是我的阿姨。\n",
        " Then she met my aunt Carla. ",
        " I own a van, can you call my aunt Carla? ",
    ],
)
def test_what_is_passed_over_leaves_nobody_to_be_she(between: str) -> None:
    said = f"My sister Maria lives in Oslo.{between}She has cancer."
    assert texts(said)[0] == "Nina's sister Maria lives in Oslo"
    assert not any("cancer" in text for text in texts(said))


@pytest.mark.parametrize("between", [" ", "\n", "\n\n", "\n- ", "\n2. "])
def test_white_space_and_marks_of_a_list_leave_who_was_meant(between: str) -> None:
    said = f"My sister Maria lives in Oslo.{between}She has cancer."
    assert texts(said) == ["Nina's sister Maria lives in Oslo", "Maria has cancer"]


def test_the_name_of_a_pet_is_what_is_known_of_the_pet() -> None:
    _, named = drawn("We got a dog! His name is Rufus.")
    assert (named.subject, named.attribute, named.value) == ("Nina", "dog", "Rufus")


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("My flat is in Hauptstr. 12 in Bonn.", ["Nina's flat is in Hauptstr. 12 in Bonn"]),
        ("I live in Apt. 3 of the house.", ["Nina lives in Apt. 3 of the house"]),
        ("My flat is No. 7. My gym is big.", ["Nina's flat is No. 7", "Nina's gym is big"]),
        ("I live at 12 St. James St. in Rye.", ["Nina lives at 12 St. James St. in Rye"]),
        (
            "I live on James St. My cat is old.",
            ["Nina lives on James St", "Nina's cat is old"],
        ),
        ("Do I smoke? No. I run every day.", ["Nina runs every day"]),
    ],
)
def test_an_abbreviation_before_a_number_ends_no_sentence(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("I started my new job.", ["Nina started their new job"]),
        ("I moved to Rome in my van.", ["Nina moved to Rome in their van"]),
        ("Sold my car.", ["Nina sold their car"]),
        ("Lost my keys at the gym.", ["Nina lost their keys at the gym"]),
        ("My sister painted my room.", ["Nina's sister painted Nina's room"]),
        ("I gave Tom my book.", ["Nina gave Tom Nina's book"]),
        ("Marta and I sold my car.", ["Marta and Nina sold Nina's car"]),
        ("I think my dog is old.", ["Nina thinks Nina's dog is old"]),
        ("FYI I moved to Rome.", ["Nina moved to Rome"]),
        ("Btw my dog is big.", ["Nina's dog is big"]),
        ("Ok so basically the thing is I hate meetings.", ["Nina hates meetings"]),
        ("so yeah I quit smoking", ["Nina quit smoking"]),
        ("Ok Computer is my favourite album.", ["Ok Computer is Nina's favourite album"]),
        ("I have lived here since about 2023 now.", ["Nina has lived here since about 2023"]),
        ("I've known Tom for three years now.", ["Nina has known Tom since about 2023"]),
        ("I have two jobs now.", ["Nina has two jobs now"]),
        ("I'm Nina, a data engineer from Berlin.", ["Nina is a data engineer from Berlin"]),
        ("I'm Nina from Berlin.", ["Nina is from Berlin"]),
        ("I'm Nina and I'm 34.", ["Nina is 34"]),
        ("I am Nina Ruiz.", ["Nina's full name is Nina Ruiz"]),
        ("My name is Nina.", []),
        ("Got promoted to lead today.", ["Nina got promoted to lead on 2026-03-02"]),
        ("Went hiking and saw a bear.", ["Nina went hiking and saw a bear"]),
        ("Promoted to lead on Monday.", ["Nina was promoted to lead on 2026-02-23"]),
        ("Visited Rome with Anna.", ["Nina visited Rome with Anna"]),
        ("Rose moved to Rome.", ["Rose moved to Rome"]),
        ("Will has a dog.", ["Will has a dog"]),
        ("Fried rice is cheap food.", ["Fried rice is cheap food"]),
        ("Must have been a cold night.", []),
        ("Bet it felt great.", []),
        ("Hope my team wins.", []),
        ("I think I left my keys at the office.", []),
        ("I probably left my keys at work.", []),
        ("I think Berlin is too loud.", ["Nina thinks Berlin is too loud"]),
        ("Call me Ellie.", ["Nina goes by Ellie"]),
        ("You can call me AJ.", ["Nina goes by AJ"]),
        ("Everyone calls me Ellie.", ["Nina goes by Ellie"]),
        ("From now on, call me Max.", ["Nina goes by Max"]),
        ("Call me later.", []),
        ("Call me Monday.", []),
        ("My flight lands at 14:35 tomorrow.", ["Nina's flight lands on 2026-03-03 at 14:35"]),
        ("My train departs on 5 March.", ["Nina's train departs on 2026-03-05"]),
    ],
)
def test_how_a_fact_is_worded(said: str, facts: list[str]) -> None:
    assert texts(said) == facts


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("It's raining.", False),
        ("It is snowing in Oslo today.", False),
        ("It snowed in Oslo on 3 January.", True),
        ("I'm tired today.", False),
        ("I'm so hungry and cold.", False),
        ("I'm tired of meetings.", True),
        ("I'm free on Friday.", True),
        ("I need to buy milk.", False),
        ("I have to call Tom tonight.", False),
        ("I need to call Tom tomorrow.", True),
        ("I need to water the fern every day.", True),
        ("I need to take insulin.", True),
        ("I have to leave early because of my heart.", True),
        ("I have to walk on Mondays.", True),
        ("I have to do the dishes.", False),
        ("I must go home now.", False),
        ("It rained all day.", False),
        ("It is hotter in Rome than in Oslo.", True),
    ],
)
def test_what_is_over_by_tomorrow_is_left_out(said: str, kept: bool) -> None:
    assert bool(texts(said)) is kept


def test_what_used_to_be_is_over() -> None:
    fact, end = drawn("I used to smoke, but I stopped in 2020.")
    assert (fact.text, fact.kind) == ("Nina used to smoke", FactKind.EPISODE)
    assert end.text == "Nina stopped smoking in 2020"
    assert (fact.subject, fact.valid_from, fact.valid_to) == (None, None, None)
    (fact,) = drawn("I used to live in Madrid.")
    assert (fact.kind, fact.attribute) == (FactKind.EPISODE, None)
    (fact,) = drawn("I'm used to the cold.")
    assert fact.kind == FactKind.FACT


def test_a_time_of_something_else_does_not_date_the_statement() -> None:
    for said in (
        "My wife is pregnant, due in October.",
        "My wife is pregnant and due in October.",
        "My bike is red, bought in 2020.",
        "I have a contract, ending in June.",
    ):
        assert drawn(said)[0].valid_from is None
    (fact,) = drawn("The baby came in October.")
    assert str(fact.valid_from) == "2025-10"
    (fact,) = drawn("The baby is due in October.")
    assert (fact.attribute, fact.value, fact.valid_from) == ("due", "October 2026", None)


def test_a_birthday_of_this_year_is_a_day() -> None:
    (fact,) = drawn("Mia's birthday is next Saturday.")
    assert fact.text == "Mia's birthday is on 2026-03-14"
    assert str(fact.valid_from) == "2026-03-14"
    (fact,) = drawn("My mom's birthday is on 5 May.")
    assert fact.valid_from is None and "5 May" in fact.text


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("The **blue** valve feeds the `main` loop.", ["The blue valve feeds the main loop"]),
        (
            "**The valve feeds the loop.** It is red.",
            ["The valve feeds the loop", "The valve is red"],
        ),
        ("The valve **feeds the loop. And** more.", ["The valve feeds the loop"]),
        ("The `**kw` mark is _never_ free.", ["The **kw mark is never free"]),
        ("`log.py` is the main module.", ["log.py is the main module"]),
        ("The rule 2 * 3 * 4 is old.", ["The rule 2 * 3 * 4 is old"]),
        ("The snake_case_name is old.", ["The snake_case_name is old"]),
        ("The **pump** is old. It needs oil.", ["The pump is old", "The pump needs oil"]),
        (
            "The log that holds the events and the texts is on disk.",
            ["The log that holds the events and the texts is on disk"],
        ),
        (
            "The list that `search` reads and the log are rebuilt.",
            ["The list that search reads and the log are rebuilt"],
        ),
        (
            "The pump feeds the loop, and the valve drains the tank.",
            ["The pump feeds the loop", "The valve drains the tank"],
        ),
        (
            "The server answers a retry from its cache, and a new `Idempotency`\n"
            "Key is refused when the table is full.",
            [
                "The server answers a retry from its cache",
                "A new Idempotency Key is refused when the table is full",
            ],
        ),
        ("The workers rest, `clock` once a minute.", []),
        ("*We* is the author and others.", []),
        ("What the view holds.", []),
        ("Last edited by Elena on 3 May 2026.", []),
        ("Created by Marco on 2 May 2026.", []),
        ("Status: the draft is old.", []),
        ("Published in 2020, the book is long.", ["Published in 2020, the book is long"]),
        ("Version 3 adds undo.", ["Version 3 adds undo"]),
        ("The pump was edited by Elena in 2024.", ["The pump was edited by Elena in 2024"]),
    ],
)
def test_a_document_comes_without_marks_and_without_scraps(said: str, facts: list[str]) -> None:
    assert texts(said, None, "document") == facts


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
    "unit",
    [
        "a",
        "I am. ",
        "**a",
        "*a* ",
        "`",
        "St. 5 ",
        "so please ",
        "_a ",
        "my ",
        "\n",
        '"',
        "(",
        "I like it, and ",
        "我",
        "- [",
        "<",
    ],
)
def test_a_long_text_is_read_through(unit: str) -> None:
    text = unit * (200_000 // len(unit)) + "\n\nI live in Oslo."
    facts = drawn(text)
    assert all("\n" not in fact.text for fact in facts)


@pytest.mark.parametrize("filler", [". ", "Why? ", "我？", "a\n", "a ", "\n", "- b\n", "> c\n"])
def test_only_the_beginning_of_a_long_text_is_read(filler: str) -> None:
    text = f"I live in Oslo.\n\n{filler * 1_000_000}\n\nI own a van."
    assert texts(text) == ["Nina lives in Oslo"]


def test_a_sentence_that_is_cut_off_is_not_read() -> None:
    for shift in range(30):
        text = " " * (MOST_READ - shift) + "I live in Oslo with Tom."
        assert texts(text) in ([], ["Nina lives in Oslo with Tom"])
    assert texts("Why? " * (MOST_SENTENCES - 1) + "I own a van.") == ["Nina owns a van"]
    assert texts("Why? " * MOST_SENTENCES + "I own a van.") == []
