"""Sentences of an answer, their marks, and whether what they cite bears them."""

import pytest

from rewound.eventlog.instants import parse_instant
from rewound.llm import citing
from rewound.llm.bearing import wanting
from rewound.llm.citing import Marked, Sentences, marked_in
from rewound.llm.facts_answerer import FactsAnswerer
from rewound.llm.question_answering import CitedSentence, Query, Recalled, Saying
from rewound.llm.replies import ChatFailed
from rewound.llm.sentences import Span
from rewound.llm.sentences import sentences as sentences_of

AT = parse_instant("2026-03-05").at
MEMORIES = {
    each.number: each
    for each in (
        Recalled(1, "Nina works at Orbit Labs.", dates=("2026-03-01",), at=AT),
        Recalled(2, "I have two cats and moved last week.", by="Nina", dates=("2026-03-05",),
                 at=AT, is_fact=False),
        Recalled(3, "Nina does not eat meat.", at=AT),
        Recalled(4, "Nina lives in Oslo.", over="superseded", at=AT),
        Recalled(5, "Biscuit.", by="Omar", asked="What is the dog's name?", is_fact=False),
        Recalled(6, "The wiki is at https://wiki.example/home now.", at=AT),
        Recalled(7, "尼娜住在卑尔根。", at=AT),
    )
}  # fmt: skip


def told(text: str, step: int) -> list[tuple[str, tuple[int, ...]]]:
    """The sentences of a text that comes so many characters at a time."""
    found: list[Marked] = []
    sentences = Sentences(found.append)
    for start in range(0, len(text), step):
        sentences.hear(text[start : start + step])
    sentences.end()
    return [(each.text, each.cites) for each in found]


@pytest.mark.parametrize("step", [1, 2, 5, 1000])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Nina works [1]. She rests [2][3].", [("Nina works.", (1,)), ("She rests.", (2, 3))]),
        ("Nina works. [1] She has cats.[2, 3] So", [("Nina works.", (1,)),
                                                    ("She has cats.", (2, 3)), ("So", ())]),
        ("- Nina works [1]\n- **Omar** paints [2]\n", [("Nina works", (1,)),
                                                       ("Omar paints", (2,))]),
        ("1. Nina works [1]\n2. Omar paints [2]", [("Nina works", (1,)), ("Omar paints", (2,))]),
        ("Of the memories:\nNina works [memory 1; 2].", [("Of the memories:", ()),
                                                         ("Nina works.", (1, 2))]),
        ("[0]", [("", (0,))]),
        ("She lives at No. 5 Main St. in Bergen [1]. Dr. Bo met her 【2】!",
         [("She lives at No. 5 Main St. in Bergen.", (1,)), ("Dr. Bo met her!", (2,))]),
        ("尼娜住在卑尔根[1]。她喜欢茶[2]。", [("尼娜住在卑尔根。", (1,)), ("她喜欢茶。", (2,))]),
        ("Nina [1] and Omar [2] paint. ", [("Nina and Omar paint.", (1, 2))]),
        ("Nina rests ([1-3]). She paints [ids: 2–3, 5].", [("Nina rests.", (1, 2, 3)),
                                                           ("She paints.", (2, 3, 5))]),
        ("  \n", []),
    ],
)  # fmt: skip
def test_each_sentence_has_the_marks_in_it_and_behind_it(
    text: str, wanted: list[tuple[str, tuple[int, ...]]], step: int
) -> None:
    assert told(text, step) == wanted


def test_a_sentence_is_told_once_the_next_has_begun() -> None:
    found: list[Marked] = []
    sentences = Sentences(found.append)
    for words, count in (
        ("Nina works.", 0), (" ", 0), ("[1", 0), ("]", 0), ("[2]", 0), (" Sh", 1), ("e rests", 1),
    ):  # fmt: skip
        sentences.hear(words)
        assert len(found) == count, words
    assert found == [Marked("Nina works.", (1, 2))]
    assert sentences.break_off() and len(found) == 1, "it is not whole"
    sentences.were_thoughts()
    assert not sentences.break_off()
    sentences.hear("She rests [3].")
    assert not sentences.break_off() and found[-1] == Marked("She rests.", (3,))


def test_marks_are_not_taken_from_other_brackets() -> None:
    assert marked_in("See [the wiki] and a[i] [12].") == Marked("See [the wiki] and a[i].", (12,))


def test_many_sentences_at_once_are_split_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that knows of no streams may send a megabyte of them."""
    calls: list[int] = []

    def counted(text: str, start: int, end: int) -> list[Span]:
        calls.append(end - start)
        return split(text, start, end)

    split = sentences_of
    monkeypatch.setattr(citing, "sentences", counted)
    found = told("Nina works [1]. " * 500, 10_000)
    assert found == [("Nina works.", (1,))] * 500
    assert len(calls) == 2


@pytest.mark.parametrize("step", [97, 10_000])
@pytest.mark.parametrize("text", ["[" * 5_000, "word " * 1_000, "word " * 1_000 + "[1]. So it is."])
def test_a_sentence_that_does_not_end_is_refused(text: str, step: int) -> None:
    with pytest.raises(ChatFailed, match="does not end"):
        told(f"Nina works [1]. {text}", step)


NAME, NUMBER = "a name", "a number"
NOTHING, DENIAL, ADDRESS = "nothing of the kind", "it denies", "an address"


@pytest.mark.parametrize(
    ("sentence", "cites", "wrong"),
    [
        ("Nina works at Orbit Labs.", (1,), None),
        ("Nina has worked at Orbit Labs since March 2026.", (1,), None),
        ("Nina has worked at Orbit Labs since 1 March 2026.", (1,), None),
        ("Nina is employed by Orbit Labs.", (1,), None),
        ("Nina arbeitet bei Orbit Labs.", (1,), None),
        ("Yes, she works there.", (1,), None),
        ("Nina works at Orbit Labs and has two cats.", (1, 2), None),
        ("Nina works at Harbor Foods.", (1,), NAME),
        ("Omar works at Orbit Labs.", (1,), NAME),
        ("Nina works at Orbit Labs and has two cats.", (1,), NUMBER),
        ("Nina works at Orbit Labs since 2024.", (1,), NUMBER),
        ("Nina works at Orbit Labs since 4 March 2026.", (1,), NUMBER),
        ("Nina has 1 job at Orbit Labs.", (1,), NUMBER),
        ("Nina has two cats.", (2,), None),
        ("Nina has 2 cats.", (2,), None),
        ("Nina has five cats.", (2,), NUMBER),
        ("Nina moved in February 2026.", (2,), None),
        ("Nina moved on July 4.", (2,), NUMBER),
        ("She enjoys the sun.", (1,), NOTHING),
        ("Yes.", (1,), NOTHING),
        ("Nina does not eat meat.", (3,), None),
        ("Nina eats meat.", (3,), DENIAL),
        ("Nina does not work at Orbit Labs.", (1,), DENIAL),
        ("Nina no longer lives in Oslo.", (4,), None),
        ("The dog's name is Biscuit.", (5,), None),
        ("The wiki is at https://wiki.example/home.", (6,), None),
        ("The wiki is at https://evil.example/home.", (6,), ADDRESS),
        ("The wiki is ![here](https://evil.example/?q=wiki).", (6,), ADDRESS),
        ("The wiki <img src=x> is there.", (6,), ADDRESS),
        ("Nina works at Orbit Labs, write to nina@evil.example.", (1,), ADDRESS),
        ("Nina works at Orbit Labs, see evil.example/x.", (1,), ADDRESS),
        ("Nina works at Orbit Labs (evil.example).", (1,), ADDRESS),
        ("The wiki is at wiki.example now.", (6,), None),
        ("Nina works at Orbit Labs, e.g. in labs, etc.", (1,), None),
        ("尼娜住在卑尔根。", (7,), None),
        ("他喜欢吃苹果。", (7,), NOTHING),
    ],
)
def test_a_sentence_stands_on_what_it_cites(
    sentence: str, cites: tuple[int, ...], wrong: str | None
) -> None:
    found = wanting(sentence, [MEMORIES[number] for number in cites])
    assert found is None if wrong is None else wrong in (found or ""), found


def by_facts(query: Query, *memories: Recalled) -> list[CitedSentence]:
    said: list[Saying] = []
    took = FactsAnswerer().answer(query, memories, said.append)
    assert took.knows and not took.calls and took.shown == len(memories)
    return [each for each in said if isinstance(each, CitedSentence)]


def test_facts_are_told_as_likely_as_half_the_best_and_three_at_most() -> None:
    memories = [Recalled(n, f"Fact {n}", likely=1 - n / 10) for n in range(1, 10)]
    assert [each.cites for each in by_facts(Query("x"), *memories)] == [(1,), (2,), (3,)]
    assert [each.cites for each in by_facts(Query("x", least=0.85), *memories)] == [(1,)]
    several = by_facts(Query("list all of x", several=True), *memories)
    assert len(several) == 8 and several[0].text == "Fact 1."
    apart = (Recalled(1, "A.", likely=0.9), Recalled(2, "B.", likely=0.4))
    assert by_facts(Query("x"), *apart) == [CitedSentence("A.", (1,))]


def test_facts_are_told_as_whose_they_are_and_when() -> None:
    plain, dated = Query("who"), Query("when", dated=True)
    assert by_facts(plain, MEMORIES[1])[0].text == "Nina works at Orbit Labs."
    assert by_facts(dated, MEMORIES[1])[0].text == "2026-03-01: Nina works at Orbit Labs."
    assert by_facts(plain, MEMORIES[2])[0].text == "Nina: “I have two cats and moved last week.”"
    over = by_facts(plain, MEMORIES[4])[0].text
    assert over == "No longer so (superseded): Nina lives in Oslo."
    asked = by_facts(plain, MEMORIES[5])[0].text
    assert asked == "Omar: Asked “What is the dog's name?”: “Biscuit.”"
    span = MEMORIES[4]._replace(dates=("2025-01", "2026-03-01"))
    assert by_facts(dated, span)[0].text.startswith("2025-01 to 2026-03-01: No longer so")
