"""`why` explains a fact: its sources, what it was compared with, how to take each step back."""

from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.errors import NotFound, WrongKind
from rewound.eventlog.events import Outcome
from rewound.eventlog.ids import EventId, FactId, Kind, MessageId, Ref, parse, show
from rewound.eventlog.log import Draft
from rewound.memory import replies as r
from rewound.memory import requests as q
from tests.integration import judging
from tests.unit.given import HOUR_US, Store, open_store

OLD, NEW = "Nina works at Orbit Labs.", "Nina works at Harbor Foods."


def why(store: Store, fact: str, **fields: Any) -> r.Explained:
    reply = store.ask(q.Why(container=store.name, id=fact, **fields))
    assert isinstance(reply, r.Explained)
    return reply


def types(explained: r.Explained) -> list[str]:
    return [step.type for step in explained.steps]


def moved(store: Store) -> tuple[str, str, str]:
    """A fact, the later one that ended it, and the judging event."""
    (old,) = store.remember(OLD, said_at="2025-03-01T00:00:00Z")
    (new,) = store.remember(NEW, said_at="2025-06-01T00:00:00Z")
    return old, new, judging.judge(store, new, [(old, Outcome.UPDATES, 930)])


def drawn(store: Store, text: str, start: int, end: int) -> str:
    """A fact drawn from those characters of a message, with its extractor."""
    (message,) = store.say(text, name="Nina")
    with store.view() as view:
        row = view.message(MessageId(parse(message, Kind.MESSAGE)))
        assert row is not None
        place, cause = row.state.text.place(0), judging.event_id(store.get(message).event)
    fact, bodies = FactId(store.ids.new()), store.writer()
    source = Ref(Kind.MESSAGE, row.id)
    span = e.Span(source, place, start, end)
    stated = e.FactExtracted(
        fact, e.Statement(bodies.piece(text[start:end])), (span,), confidence=870
    )
    others = store.writer()
    finished = e.ExtractionFinished(source, others.piece("told/7"), (fact,), (place,))
    store.record([Draft(stated, bodies.sealed, (cause,)), Draft(finished, others.sealed, (cause,))])
    return show(Kind.FACT, fact)


def test_it_quotes_the_source_and_names_the_extractor(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        fact = drawn(store, "Well. I moved to Bergen. Bye.", 6, 24)
        told = why(store, fact)
        assert (told.extractor, told.confidence) == ("told/7", 0.87)
        (quote,) = told.quotes
        assert quote.words == "I moved to Bergen."
        assert (quote.source.speaker, quote.source.start, quote.source.end) == ("Nina", 6, 24)
        assert types(told) == ["message recorded", "fact extracted"]
        assert [step.what for step in told.steps] == [
            "Nina said “Well. I moved to Bergen. Bye.”",
            f"drawn: “I moved to Bergen.” ({fact} from {quote.source.id})",
        ]
        assert told.verdict is None
        assert told.notes == ("it has not been compared with the facts before it yet",)


def test_what_is_forgotten_of_a_source_is_not_quoted(tmp_path: Path) -> None:
    text = "I moved to Bergen. Zanzibar is secret."
    with open_store(tmp_path) as store:
        first = drawn(store, text, 0, len(text))
        with store.view() as view:
            row = view.fact(judging.fact_id(first))
            assert row is not None
            (span,) = row.state.sources
        fact, bodies = FactId(store.ids.new()), store.writer()
        part = e.Span(span.source, span.place, 19, len(text))
        stated = e.FactExtracted(fact, e.Statement(bodies.piece(text[19:])), (part,))
        store.record([Draft(stated, bodies.sealed, (judging.stating(store, first),))])
        store.forget(show(Kind.FACT, fact))
        (quote,) = why(store, first).quotes
        assert quote.words is not None and quote.words.startswith("I moved to Bergen.")
        assert "Zanzibar" not in str(why(store, first).quotes)
        assert "Zanzibar" not in "".join(step.what for step in why(store, first).steps[:1])
        (quote,) = why(store, first, include_forgotten=True).quotes
        assert quote.words == text


def test_undoing_is_offered_for_a_forgetting_that_hides_something(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        (fact,) = store.remember(OLD)
        store.forget(fact)
        forgotten = why(store, fact, include_forgotten=True).steps[-1]
        assert forgotten.type == "forgotten" and forgotten.undo is not None
        store.ask(q.Restore(container=store.name, ids=(fact,)))
        *_, lifted, restored = why(store, fact).steps
        assert (lifted.type, lifted.undo, lifted.undone_by) == ("forgotten", None, None)
        assert restored.type == "restored" and restored.undo is not None
        store.undo(restored.event)
        again = why(store, fact, include_forgotten=True).steps
        assert [step.undo is not None for step in again if step.type == "forgotten"] == [True]


def test_the_verdict_of_a_fact_has_evidence_for_each_pair(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        old, other = store.remember(OLD, "Ben likes tea.")
        (new,) = store.remember(NEW)
        judged = judging.judge(
            store, new, [(old, Outcome.REVIEW, 610), (other, Outcome.DISTINCT, 990)]
        )
        verdict = why(store, new).verdict
        assert verdict is not None
        assert (verdict.event, verdict.judge, verdict.policy) == (judged, judging.JUDGE, None)
        assert verdict.fact_text == NEW
        assert verdict.pairs == (
            r.PairView(
                old=old,
                outcome="review",
                probability=0.61,
                old_text=OLD,
                leaning="updates",
                evidence={"cosine": 0.8, "words": 0.5},
            ),
            r.PairView(
                old=other,
                outcome="distinct",
                probability=0.99,
                old_text="Ben likes tea.",
                evidence={"cosine": 0.801, "words": 0.5},
            ),
        )


def test_a_label_stands_beside_what_was_found(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        old, new, judged = moved(store)
        given = judging.label(store, judged, new, old, Outcome.DISTINCT)
        verdict = why(store, new).verdict
        assert verdict is not None
        (pair,) = verdict.pairs
        assert (pair.outcome, pair.label, pair.label_event) == ("updates", "distinct", given)
        assert "label given" in types(why(store, old))


def test_a_fact_knows_what_later_ones_came_to(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        old, new, judged = moved(store)
        (third,) = store.remember("Ben likes tea.")
        judging.judge(store, third, [(old, Outcome.DISTINCT, 990)])
        told = why(store, old)
        assert [each.fact for each in told.against] == [new, third]
        assert told.against[0].event == judged
        assert [pair.old for each in told.against for pair in each.pairs] == [old, old]
        assert [view.id for view in told.versions] == [old, new]
        assert told.item.standing is not None and told.item.standing.by == new
        assert types(told) == [
            "fact remembered", "fact remembered", "facts judged", "fact superseded",
        ]  # fmt: skip


def test_every_step_has_its_undo_and_what_undid_it(tmp_path: Path) -> None:
    with open_store(tmp_path, name="two words") as store:
        old, new, judged = moved(store)
        steps = why(store, old).steps
        assert [step.undo for step in steps] == [
            f"rewound undo {step.event} -c 'two words'" for step in steps
        ]
        undone = store.undo(judged)
        told = why(store, old)
        assert told.item.standing == r.Standing(state="current") and told.against == ()
        by_type = {step.type: step for step in told.steps}
        for name in ("facts judged", "fact superseded"):
            step = by_type[name]
            assert (step.undo, step.undone_by) == (None, undone.event)
        again = by_type["undone"]
        assert again.undo == f"rewound undo {undone.event} -c 'two words'"
        store.undo(undone.event)
        assert why(store, old).against != ()
        assert why(store, new).verdict is not None


def test_a_version_that_was_undone_is_still_a_step(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        (fact,) = store.remember(OLD)
        edited = store.update(fact, NEW)
        undone = store.undo(store.get(edited).event)
        told = why(store, fact)
        assert [view.id for view in told.versions] == [fact]
        (step,) = [step for step in told.steps if step.type == "fact edited"]
        assert step.undone_by == undone.event and NEW in step.what


def test_as_of_tells_what_was_known_then(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        (old,) = store.remember(OLD)
        store.clock.at += HOUR_US
        (new,) = store.remember(NEW)
        judging.judge(store, new, [(old, Outcome.UPDATES, 930)])
        position = store.events()[-1].position
        then = why(store, old, as_of="@2")
        assert then.against == () and types(then) == ["fact remembered"]
        assert then.item.standing == r.Standing(state="current")
        assert len(why(store, old, as_of=f"@{position}").against) == 1
        with pytest.raises(NotFound):
            why(store, new, as_of="@2")


def test_nothing_of_a_forgotten_fact_is_told_but_that_it_is_left_out(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        old, other = store.remember("Zanzibar is secret.", OLD)
        (new,) = store.remember(NEW)
        judging.judge(store, new, [(old, Outcome.EXTENDS, 930), (other, Outcome.DISTINCT, 990)])
        assert why(store, new).item.extends == (old,)
        store.forget(old)
        told = why(store, new)
        assert "Zanzibar" not in str(told)
        assert told.verdict is not None and [pair.old for pair in told.verdict.pairs] == [other]
        assert told.item.extends == ()
        assert any("include_forgotten" in note for note in told.notes)
        with pytest.raises(NotFound):
            why(store, old)
        assert why(store, old, include_forgotten=True).item.text == "Zanzibar is secret."
        shown = why(store, new, include_forgotten=True).verdict
        assert shown is not None and len(shown.pairs) == 2


def test_a_scope_sees_no_comparison_with_what_is_outside_of_it(tmp_path: Path) -> None:
    ann, ben = q.Scope(user="ann"), q.Scope(user="ben")
    with open_store(tmp_path) as store:
        (old,) = store.remember("Zanzibar is secret.", scope=ben)
        (new,) = store.remember(NEW, scope=ann)
        judging.judge(store, new, [(old, Outcome.EXTENDS, 930)])
        told = why(store, new, scope=ann)
        assert told.verdict is not None and told.verdict.pairs == ()
        assert "Zanzibar" not in str(told) and told.notes == ()
        with pytest.raises(NotFound):
            why(store, old, scope=ann)


def test_a_repeated_fact_says_what_it_repeats(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        (old,) = store.remember(OLD)
        (new,) = store.remember("Nina is working at Orbit Labs.")
        judging.judge(store, new, [(old, Outcome.DUPLICATE, 980)])
        told = why(store, new)
        assert told.item.standing == r.Standing(state="repeated", by=old)
        assert (told.item.root, told.item.current) == (old, old)
        assert store.get(old).repeated_by == (new,)
        assert store.get(old).standing == r.Standing(state="current")
        assert told.steps[-1].what == f"{new} says the same as {old}"
        assert store.listed() == [old]
        assert store.listed(include_superseded=True) == [old, new]


def test_only_facts_are_explained(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        (message,) = store.say("Hello.")
        with pytest.raises(WrongKind, match="a message") as error:
            why(store, message)
        assert error.value.field == "id"
        with pytest.raises(NotFound):
            why(store, show(Kind.FACT, bytes(16)))


def test_labels_of_a_fit_are_not_steps_of_every_fact(tmp_path: Path) -> None:
    with open_store(tmp_path) as store:
        old, new, _ = moved(store)
        (third,) = store.remember("Ben likes tea.")
        (fourth,) = store.remember("Ben likes milk.")
        other = judging.judge(store, fourth, [(third, Outcome.REVIEW, 500)])
        given = judging.event_id(judging.label(store, other, fourth, third, Outcome.DISTINCT))
        fitted, bodies = EventId(store.ids.new()), store.writer()
        with store.view() as view:
            policy = e.PolicyFitted(view.id, bodies.piece("{}"), (given,))
            row = view.fact(judging.fact_id(old))
            assert row is not None and row.state.ended is not None
            lifted = e.FactReinstated(
                (judging.fact_id(old),), row.state.ended.event, judging.fact_id(new)
            )
        store.record(
            [Draft(policy, bodies.sealed, (given,), event_id=fitted), Draft(lifted, (), (fitted,))]
        )
        told = why(store, old)
        assert types(told)[-2:] == ["policy fitted", "fact reinstated"]
        assert "label given" not in types(told)
