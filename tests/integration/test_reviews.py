"""Pairs that were not decided are listed until a person has decided them."""

from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.events import Outcome
from rewound.memory import replies as r
from rewound.memory import requests as q
from tests.integration import judging
from tests.unit.given import Store, open_store

OLD, NEW = "Nina works at Orbit Labs.", "Nina is at Harbor Foods."


def reviews(store: Store, **fields: Any) -> r.ReviewList:
    reply = store.ask(q.Reviews(container=store.name, **fields))
    assert isinstance(reply, r.ReviewList)
    return reply


def pairs(store: Store, **fields: Any) -> list[tuple[str, str]]:
    return [(each.fact, each.old) for each in reviews(store, **fields).reviews]


def unsure(store: Store, **fields: Any) -> tuple[str, str, str]:
    """The later fact, the one before it, and the judging event of an undecided pair."""
    (old,) = store.remember(OLD, said_at="2025-03-01T00:00:00Z", **fields)
    (new,) = store.remember(NEW, said_at="2025-06-01T00:00:00Z", **fields)
    return new, old, judging.judge(store, new, [(old, Outcome.REVIEW, 610)])


def test_an_undecided_pair_is_told_with_all_that_helps_to_decide_it(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        _, _old, judged = unsure(store)
        told = reviews(store)
        assert (told.total, told.has_more, told.cursor) == (1, False, None)
        (review,) = told.reviews
        assert (review.text, review.old_text) == (NEW, OLD)
        assert (review.leaning, review.probability, review.judged) == ("updates", 0.61, judged)
        assert review.evidence == {"cosine": 0.8, "words": 0.5}
        assert review.standing == review.old_standing == r.Standing(state="current")
        assert review.valid_from is not None and review.valid_from.startswith("2025-06-01")
        assert review.old_valid_from is not None and review.old_valid_from.startswith("2025-03")


def test_what_was_decided_is_not_listed(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        old, other = store.remember(OLD, "Ben likes tea.")
        (new,) = store.remember(NEW)
        judging.judge(store, new, [(old, Outcome.UPDATES, 930), (other, Outcome.DISTINCT, 990)])
        assert pairs(store) == []


def test_a_label_takes_a_pair_off_the_list_and_its_undo_puts_it_back(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        new, old, judged = unsure(store)
        before = store.events()[-1].position
        given = judging.label(store, judged, new, old, Outcome.DISTINCT)
        assert pairs(store) == []
        assert pairs(store, as_of=f"@{before}") == [(new, old)]
        store.undo(given)
        assert pairs(store) == [(new, old)]


def test_a_pair_with_a_forgotten_fact_is_left_out(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        new, old, _ = unsure(store)
        for fact in (new, old):
            forgotten = store.forget(fact)
            told = reviews(store)
            assert (told.total, told.reviews) == (0, ())
            assert pairs(store, include_forgotten=True) == [(new, old)]
            store.undo(forgotten.events[0])
        assert pairs(store) == [(new, old)]
        store.undo(store.get(old).event, cascade=True)
        assert pairs(store) == []


def test_a_pair_with_a_fact_that_is_over_is_left_out(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        new, old, _ = unsure(store)
        before = store.events()[-1].position
        (later,) = store.remember("Nina is at Birch Mills.", said_at="2025-06-02T00:00:00Z")
        ended = judging.judge(store, later, [(new, Outcome.UPDATES, 930)])
        assert store.get(new).standing.state == "superseded"
        assert pairs(store) == [] and reviews(store).total == 0
        assert pairs(store, as_of=f"@{before}") == [(new, old)]
        store.undo(ended)
        assert pairs(store) == [(new, old)]


@pytest.mark.parametrize("field", ["valid_to", "expires_at"])
def test_a_pair_with_a_fact_whose_time_is_over_is_left_out(tmp_path: Path, field: str) -> None:
    with open_store(tmp_path) as store:
        over: dict[str, Any] = {field: "2026-01-02T00:00:00Z"}
        (old,) = store.remember(OLD, **over)
        (new,) = store.remember(NEW)
        judging.judge(store, new, [(old, Outcome.REVIEW, 610)])
        assert pairs(store) == [(new, old)]
        store.clock.at += 2 * 86_400_000_000
        assert pairs(store) == []


def test_a_scope_lists_only_pairs_that_lie_in_it(tmp_path: Path) -> None:
    ann, ben = q.Scope(user="ann"), q.Scope(user="ben")
    with open_store(tmp_path) as store:
        new, old, _ = unsure(store, scope=ann)
        (other,) = store.remember("Nina left Harbor Foods.", scope=ben)
        judging.judge(store, other, [(new, Outcome.REVIEW, 600)])
        assert pairs(store, scope=ann) == [(new, old)]
        assert reviews(store, scope=ben).total == 0
        assert pairs(store) == [(new, old), (other, new)]


def test_jobs_count_what_is_still_to_be_compared(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:

        def unjudged(**fields: Any) -> int:
            found: int = store.ask(q.Jobs(container=store.name, **fields)).unjudged
            return found

        ann = q.Scope(user="ann")
        first, _ = store.remember(OLD, NEW)
        (of_ann,) = store.remember("Ann likes tea.", scope=ann)
        before = store.events()[-1].position
        assert (unjudged(), unjudged(scope=ann)) == (3, 1)
        judging.judge(store, of_ann, [])
        assert (unjudged(), unjudged(scope=ann)) == (2, 0)
        store.forget(first)
        assert unjudged() == 1
        assert unjudged(as_of=f"@{before}") == 2


def test_valid_at_narrows_to_pairs_of_what_held_then(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        new, old, _ = unsure(store)
        assert pairs(store, valid_at="2025-04-01") == []
        assert pairs(store, valid_at="2025-07-01") == [(new, old)]


def test_pages_show_each_pair_once_also_within_one_fact(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        olds = store.remember(*(f"Nina works at place {number}." for number in range(5)))
        newer = store.remember("Nina is somewhere.", "Nina is nowhere.")
        for new in newer:
            judging.judge(store, new, [(old, Outcome.REVIEW, 600) for old in reversed(olds)])
        whole = pairs(store)
        assert sorted(whole) == sorted((new, old) for new in newer for old in olds)
        found: list[tuple[str, str]] = []
        cursor = None
        while True:
            page = reviews(store, limit=3, cursor=cursor)
            assert page.total == 10
            found += [(each.fact, each.old) for each in page.reviews]
            cursor = page.cursor
            if not page.has_more:
                break
        assert found == whole and cursor is None


def test_the_likeliest_ending_is_listed_first_on_every_page(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        first, second, third = store.remember(*(f"Nina works at place {n}." for n in range(3)))
        loose, sure = store.remember("Nina is somewhere.", "Nina is nowhere.")
        asked = [(first, Outcome.REVIEW, 520), (second, Outcome.REVIEW, 910)]
        judging.judge(store, loose, [*asked, (third, Outcome.REVIEW, 730)], Outcome.DISTINCT)
        judging.judge(store, sure, [*asked, (third, Outcome.REVIEW, 640)])
        right = [(sure, second), (sure, third), (sure, first)]
        right += [(loose, first), (loose, third), (loose, second)]
        assert pairs(store) == right
        cursor, found = None, []
        for _ in right:
            page = reviews(store, limit=1, cursor=cursor)
            found += [(each.fact, each.old) for each in page.reviews]
            cursor = page.cursor
        assert found == right and cursor is None


def test_later_pages_show_the_moment_of_the_first(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        olds = store.remember(*(f"Nina works at place {number}." for number in range(3)))
        (new,) = store.remember("Nina is somewhere.")
        judged = judging.judge(store, new, [(old, Outcome.REVIEW, 600) for old in olds])
        first = reviews(store, limit=1)
        judging.label(store, judged, new, first.reviews[0].old, Outcome.DISTINCT)
        second = reviews(store, limit=5, cursor=first.cursor)
        assert len(second.reviews) == 2 and second.total == 3
        assert reviews(store).total == 2


def test_a_cursor_is_bound_to_its_list(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        olds = store.remember("One.", "Two.")
        (new,) = store.remember("Three.")
        judging.judge(store, new, [(old, Outcome.REVIEW, 600) for old in olds])
        cursor = reviews(store, limit=1).cursor
        assert cursor is not None
        for wrong in (cursor[:-2] + "AA", "x", cursor * 2):
            with pytest.raises(InvalidInput) as error:
                reviews(store, cursor=wrong)
            assert error.value.field == "cursor"
        with pytest.raises(InvalidInput):
            reviews(store, cursor=cursor, valid_at="2025-01-01")
        with pytest.raises(InvalidInput):
            store.ask(q.List(container=store.name, cursor=cursor))
