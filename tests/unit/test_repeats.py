"""Hits that say the same thing are one: which, who leads, and what is read to find out."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewound.eventlog.ids import Kind, Ref, parse_any
from rewound.memory import requests as q
from rewound.projections import repeats
from rewound.projections.repeats import Ranked, Texts, collapsed
from rewound.projections.selection import Criteria
from tests.integration.thesaurus import Bench, bench
from tests.unit.given import Store, open_store

NOW = Criteria(now=0)
ALIKE = (1.0, 5)
"""One likeness for all: only the texts decide."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(tmp_path) as opened:
        yield opened


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path / "meaning") as opened:
        yield opened


def ref(shown: str) -> Ref:
    kind, raw = parse_any(shown)
    assert kind is not None
    return Ref(kind, raw)


def groups(
    store: Store,
    ids: Sequence[str],
    limit: int = 10,
    *,
    likeness: Sequence[tuple[float, int]] = (),
    criteria: Criteria = NOW,
) -> list[list[str]]:
    """The ids in their groups; they are ranked in the order given."""
    kinds = likeness or [ALIKE] * len(ids)
    ranked = [Ranked(ref(each), n, kinds[n]) for n, each in enumerate(ids)]
    with store.view() as view:
        found = collapsed(Texts(view, criteria), ranked, limit)
    return [[str(each.ref) for each in group] for group in found]


def said(store: Store, *contents: str) -> tuple[list[str], list[str]]:
    """Messages kept with a fact each: their ids, and those of the facts."""
    messages = tuple(q.NewMessage(content=content) for content in contents)
    command = q.AddMessages(
        container=store.name, messages=messages, conversation="talk", infer=False
    )
    items = store.ask(command).items
    return [item.id for item in items], [fact for item in items for fact in item.facts]


def drawn(store: Store, source: str, text: str) -> str:
    """A fact with a wording of its own, drawn from the beginning of a message or document."""
    from rewound.eventlog import events as e
    from rewound.eventlog.ids import FactId
    from rewound.eventlog.log import Draft

    bodies, fact = store.writer(), FactId(store.ids.new())
    with store.view() as view:
        row = view.row(ref(source))
        assert row is not None
        state: Any = row.state
        body = state.pieces[0] if ref(source).kind is Kind.DOCUMENT else state.text
        span = e.Span(ref(source), body.place(0), 0, 5)
        cause = next(view.about(ref(source))).envelope.event_id
    event = e.FactExtracted(fact, e.Statement(bodies.piece(text)), (span,))
    store.record([Draft(event, bodies.sealed, (cause,))])
    return str(Ref(Kind.FACT, fact))


# --- the same words


def test_case_punctuation_and_endings_make_no_difference(store: Store) -> None:
    one, two, three, other = store.remember(
        "Ann likes green tea.", "ann LIKES, green tea!", "Ann liked green teas", "Ann likes milk"
    )
    assert groups(store, [one, two, three, other]) == [[one, two, three], [other]]


def test_the_order_of_words_does(store: Store) -> None:
    one, two = store.remember("Ann called Bob", "Bob called Ann")
    assert groups(store, [one, two]) == [[one], [two]]


def test_groups_stand_where_their_best_stands(store: Store) -> None:
    ids = store.remember("Tea is hot", "Milk is cold", "tea is hot!", "milk is cold!")
    assert groups(store, ids) == [[ids[0], ids[2]], [ids[1], ids[3]]]
    assert groups(store, ids[::-1]) == [[ids[3], ids[1]], [ids[2], ids[0]]]


def test_texts_of_another_likeness_are_not_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Ref] = []
    said_of = repeats._said

    def counted(view: Any, item: Ref, state: Any, criteria: Criteria) -> str | None:
        read.append(item)
        return said_of(view, item, state, criteria)

    monkeypatch.setattr(repeats, "_said", counted)
    ids = store.remember("Tea is hot", "tea is hot!", "Milk is cold")
    assert groups(store, ids, likeness=[(1.0, 3), (2.0, 3), (1.0, 4)]) == [[each] for each in ids]
    assert read == []
    assert groups(store, ids, likeness=[(1.0, 3)] * 3) == [ids[:2], ids[2:]]
    assert sorted(map(str, read)) == sorted(ids), "each text is read once"


def test_a_full_list_still_takes_those_that_say_the_same(store: Store) -> None:
    ids = store.remember("Tea is hot", "Milk is cold", "tea is hot!", "milk is cold!")
    assert groups(store, ids, 1) == [[ids[0], ids[2]]]
    assert groups(store, ids, 0) == []
    assert groups(store, []) == []


def test_versions_of_one_item_are_one_hit(store: Store) -> None:
    (one,) = store.remember("Tea is hot")
    assert groups(store, [one, one]) == [[one, one]]


# --- a fact and its source


def test_a_fact_leads_the_message_that_it_repeats(store: Store) -> None:
    (message,), (fact,) = said(store, "Ann likes green tea")
    apart = [(1.0, 4), (2.0, 5)]
    for ids in ([message, fact], [fact, message]):
        assert groups(store, ids, likeness=apart) == [[fact, message]]


def test_a_fact_that_leaves_much_unsaid_stands_alone(store: Store) -> None:
    (message,), _ = said(store, "Ann likes green tea and Bob bought seven red bicycles")
    little = drawn(store, message, "Ann likes green tea")
    much = drawn(store, message, "Ann likes green tea, Bob bought seven red bicycles")
    apart = [(1.0, 4), (2.0, 5), (3.0, 6)]
    assert groups(store, [message, little, much], likeness=apart) == [[much, message], [little]]


@pytest.mark.parametrize(("said_words", "one"), [(3, True), (2, False)])
def test_three_quarters_of_the_telling_words_are_enough(
    store: Store, said_words: int, one: bool
) -> None:
    words = ["zebras", "quartz", "violins", "harbour"]
    (message,), _ = said(store, " ".join(words))
    fact = drawn(store, message, "The " + " and the ".join(words[:said_words]))
    found = groups(store, [message, fact], likeness=[(1.0, 4), (2.0, 5)])
    assert found == ([[fact, message]] if one else [[message], [fact]])


def test_a_fact_of_another_message_stands_alone(store: Store) -> None:
    messages, facts = said(store, "Ann likes green tea", "Ann drinks green tea")
    ids = [messages[0], facts[1]]
    assert groups(store, ids, likeness=[(1.0, 4), (2.0, 4)]) == [[ids[0]], [ids[1]]]


def test_the_same_message_twice_takes_both_facts(store: Store) -> None:
    messages, facts = said(store, "Yes, tea please", "No, milk please", "Yes, tea please")
    found = groups(store, [messages[0], messages[2], facts[0]])
    assert len(found) == 1 and found[0][0] == facts[0] and len(found[0]) == 3


def test_a_fact_meets_the_passage_that_it_repeats_and_no_other(store: Store) -> None:
    texts = ("Ann likes green tea. " * 30, "Bob bought seven bicycles. " * 30)
    documents = (q.NewDocument(text="\n\n".join(texts)),)
    store.ask(q.Ingest(container=store.name, documents=documents, infer=True))
    passages = sorted(store.listed(what="passage"))
    (document,) = store.listed(what="document")
    said_of = {each: store.get(each).text for each in passages}
    assert len(passages) > 1
    first = next(each for each in passages if "Bob" not in said_of[each])
    fact = drawn(store, document, "Ann likes green tea")
    ids = [*passages, fact]
    found = groups(store, ids, likeness=[(float(n), n) for n in range(len(ids))])
    assert [fact, first] in found
    assert [[each] for each in passages if "Ann" not in said_of[each]] == [
        group for group in found if fact not in group
    ]


def test_a_masked_word_counts_no_more(store: Store) -> None:
    """What is compared is what may be seen."""
    (message,), (fact,) = said(store, "Ann likes green tea")
    other = drawn(store, message, "Ann likes green tea")
    store.forget(fact)
    masked = groups(store, [message, other], likeness=[(1.0, 4), (2.0, 5)])
    told = groups(
        store,
        [message, other],
        likeness=[(1.0, 4), (2.0, 5)],
        criteria=Criteria(now=0, forgotten=True),
    )
    assert told == [[other, message]]
    assert {each for group in masked for each in group} == {message, other}


def test_texts_are_those_of_the_moment(store: Store) -> None:
    """A fact that did not stand yet has no text then, and repeats nothing."""
    (one,) = store.remember("Tea is hot")
    with store.view() as view:
        then = view.position
    store.update(one, "Milk is cold")
    (two,) = store.remember("tea is hot!")
    assert groups(store, [one, two]) == [[one, two]]
    at = Criteria(now=0, at=then)
    assert groups(store, [one], criteria=at) == [[one]]


# --- any list


TEXTS = ("Tea is hot", "tea is HOT!", "Milk is cold", "Hot is tea", "milk is cold?", "Rain")


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=40,
)
@given(st.permutations(range(6)), st.integers(0, 7))
def test_a_longer_list_begins_as_a_shorter_one(store: Store, order: list[int], limit: int) -> None:
    ids = sorted(store.listed()) or sorted(store.remember(*TEXTS))
    ranked = [ids[n] for n in order]
    whole, some = groups(store, ranked), groups(store, ranked, limit)
    assert some == whole[:limit]
    assert sorted(each for group in whole for each in group) == ids
    assert all(group == sorted(group, key=ranked.index) for group in whole)


# --- in a search


def test_near_duplicates_found_by_meaning_alone_are_one_hit(made: Bench) -> None:
    """Their vectors may differ in the punctuation; their words do not."""
    made.remember("The puppy resides with Nina.", "The server runs Debian.")
    made.say("The puppy RESIDES with Nina!", "the puppies resided with Nina")
    made.embed()
    hits = made.search("which animal dwells here").hits
    alike = [hit for hit in hits if "Nina" in hit.text]
    assert len(alike) == 1 and len(alike[0].also) == 2


def test_a_group_has_the_score_of_its_best(made: Bench) -> None:
    reply: Any = made.say("The puppy resides with us", "Tea at four", infer=False)
    made.embed()
    (hit, *_) = made.search("puppy").hits
    item = reply.items[0]
    scores = []
    for what in ("fact", "message"):
        (alone, *_) = made.search("puppy", filters=q.Filters(what=(what,))).hits
        scores.append(alone.score)
    assert hit.id == item.facts[0] and hit.also == (item.id,)
    assert hit.score == max(scores)
