"""Orders of verdicts, labels, undos and forgettings that once left two facts current, or none."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog.enums import Outcome
from rewound.eventlog.errors import Conflict, RewoundError
from rewound.llm.policy import Refit, Ruling, shipped
from rewound.memory import fitting, rejudging
from rewound.memory import replies as r
from rewound.memory import requests as q
from tests.integration.ruling import Town, open_town

# --- what is current


def test_a_value_that_is_said_again_repeats_and_still_ends_what_was_before(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"))
        again = town.tell("Nina is living in Oslo.", "2024-01-01")
        town.judge(again, (oslo, "duplicate"), (rome, "updates"))
        assert town.current() == [oslo] and town.state(again) == "repeated"
        undone = town.undo(town.stating(oslo))
        assert town.current() == [again] and town.state(rome) == "superseded"
        town.undo(undone)
        assert town.current() == [oslo]


def test_what_was_said_twice_is_still_said_once_when_the_first_goes(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        first = town.tell("Nina lives in Rome.", "2020-01-01")
        second = town.tell("Nina is living in Rome.", "2021-01-01")
        town.judge(second, (first, "duplicate"))
        third = town.tell("Rome is where Nina lives.", "2022-01-01")
        town.judge(third, (second, "duplicate"), (first, "duplicate"))
        assert town.current() == [first]
        undone = town.undo(town.stating(first))
        assert town.current() == [second]
        town.undo(town.stating(second))
        assert town.current() == [third]
        town.undo(undone)
        assert town.current() == [first]


def test_what_was_said_again_later_is_not_ended_by_what_lies_between(tmp_path: Path) -> None:
    """An older chat is told last: Rome, then Oslo, then Rome again."""
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        again = town.tell("Nina is living in Rome.", "2024-01-01")
        town.judge(again, (rome, "duplicate"))
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"), (again, "updates"))
        assert town.current() == [again]
        assert town.at("2021-01-01") == [rome]
        assert town.at("2023-01-01") == [oslo]
        undone = town.undo(town.stating(oslo))
        assert town.current() == [rome] and town.state(again) == "repeated"
        town.undo(undone)
        assert town.current() == [again]
        town.label(oslo, rome, "distinct")
        assert town.state(rome) == "current" and town.state(again) == "repeated"


def test_a_correction_that_begins_before_all_it_takes_the_place_of(tmp_path: Path) -> None:
    """It ends the one it corrects and what lay before that; none of these ends it."""
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2022-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2024-01-01")
        town.judge(oslo, (rome, "updates"))
        bonn = town.tell(
            "Nina has lived in Bonn since 2020.", "2025-01-01", valid_from="2020-01-01"
        )
        town.judge(bonn, (oslo, "corrects"), (rome, "updates"))
        assert town.current() == [bonn]
        town.undo(town.stating(bonn))
        assert town.current() == [oslo]


def test_appointments_moved_about_leave_one(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        tenth = town.tell("The review is on the 10th.", "2027-11-01", valid_from="2027-12-10")
        now = town.tell("The review is on now.", "2027-12-06")
        town.judge(now, (tenth, "updates"))
        third = town.tell("The review is on the 3rd.", "2027-11-20", valid_from="2027-12-03")
        town.judge(third, (tenth, "updates"), (now, "updates"))
        ended = [fact for fact in (tenth, now, third) if town.state(fact) == "superseded"]
        assert len(ended) == 2


def test_a_repeat_stays_one_when_another_pair_is_labelled(tmp_path: Path) -> None:
    """What it repeats has ended meanwhile; it did end with that, and not by itself."""
    with open_town(tmp_path) as town:
        tea = town.tell("Nina likes tea.", "2019-01-01")
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        again = town.tell("Nina is living in Rome.", "2021-01-01")
        town.judge(again, (rome, "duplicate"), (tea, "distinct"))
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"))
        town.label(again, tea, "extends")
        assert town.current() == [tea, oslo] and town.state(again) == "repeated"
        town.undo(town.stating(oslo))
        assert town.current() == [tea, rome]


# --- labels


def test_a_label_goes_before_what_was_found_of_a_repeat(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        again = town.tell("Nina is living in Rome.", "2021-01-01")
        town.judge(again, (rome, "duplicate"))
        oslo = town.tell("Nina has a flat in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"), (again, "updates"))
        label = town.label(oslo, rome, "distinct")
        assert town.current() == [rome, oslo]
        town.undo(label)
        assert town.current() == [oslo]


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_equal_labels_either_may_be_undone(tmp_path: Path, first: int) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"))
        labels = [town.label(oslo, rome, "distinct") for _ in range(2)]
        town.undo(labels[first])
        assert town.current() == [rome, oslo]
        town.undo(labels[1 - first])
        assert town.current() == [oslo]


@pytest.mark.parametrize("outcome", ["updates", "corrects", "duplicate", "extends", "distinct"])
@pytest.mark.parametrize("found", ["updates", "duplicate", "extends", "review"])
def test_labels_may_be_undone_in_any_order(tmp_path: Path, found: str, outcome: Any) -> None:
    """What stands then is what the label that is left says."""

    def stands(town: Town, facts: list[str]) -> Any:
        return [town.state(fact) for fact in facts], town.store.get(facts[1]).standing.by

    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, found))
        before = stands(town, [rome, oslo])
        one = town.label(oslo, rome, outcome)
        labelled = stands(town, [rome, oslo])
        other = town.label(oslo, rome, "corrects")
        third = town.label(oslo, rome, outcome)
        assert stands(town, [rome, oslo]) == labelled
        town.undo(one)
        town.undo(other)
        assert stands(town, [rome, oslo]) == labelled
        town.undo(third)
        assert stands(town, [rome, oslo]) == before


def test_a_label_asks_again_for_what_was_undone_by_itself(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"))
        town.undo(town.events("fact superseded")[0])
        town.judge(oslo, (rome, "updates"), again=True)
        assert town.current() == [rome, oslo]
        town.label(oslo, rome, "updates")
        assert town.current() == [oslo]
        town.undo(town.events("fact superseded")[-1])
        town.judge(oslo, (rome, "updates"), again=True)
        assert town.current() == [rome, oslo]


def test_a_label_on_another_pair_leaves_what_is_forgotten_as_it_was(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        tea = town.tell("Nina likes tea.", "2021-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"), (tea, "review"))
        forgotten = town.undo(town.stating(rome), cascade=True)
        town.label(oslo, tea, "distinct")
        town.undo(forgotten)
        assert town.current() == [tea, oslo] and town.state(rome) == "superseded"


def test_two_labels_of_one_command_are_taken_back_one_by_one(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2021-01-01")
        town.judge(oslo, (rome, "updates"))
        bonn = town.tell("Nina lives in Bonn.", "2022-01-01")
        town.judge(bonn, (oslo, "updates"), (rome, "updates"))
        labels = tuple(q.NewLabel(fact=bonn, old=old, outcome="distinct") for old in (oslo, rome))
        reply = town.store.ask(q.Label(container=town.store.name, labels=labels))
        assert town.current() == [oslo, bonn] and town.state(rome) == "superseded"
        town.undo(reply.labels[0].event)
        assert town.current() == [bonn]
        town.undo(reply.labels[1].event)
        assert town.current() == [bonn]


# --- verdicts given again


def test_the_first_of_two_verdicts_may_be_undone(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        tea = town.tell("Nina likes tea.", "2021-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        first = town.judge(oslo, (rome, "updates"), (tea, "updates"))
        town.judge(oslo, (rome, "updates"), (tea, "distinct"), again=True)
        town.undo(first)
        assert town.current() == [tea, oslo]


def test_a_pair_that_is_not_compared_again_stays_as_it_was_found(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        tea = town.tell("Nina likes tea.", "2021-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"), (tea, "review"))
        town.judge(oslo, (tea, "distinct"), again=True)
        assert town.current() == [tea, oslo]
        town.label(oslo, rome, "distinct")
        assert town.current() == [rome, tea, oslo]


def test_a_verdict_whose_cause_was_undone_meanwhile_is_refused(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "review"))
        label = town.label(oslo, rome, "distinct")
        town.undo(label)
        with pytest.raises(Conflict):
            town.judge(oslo, (rome, "updates"), again=True, causes=(label,))
        assert town.current() == [rome, oslo]


# --- what goes meanwhile


def test_a_verdict_on_what_went_meanwhile_is_refused_or_left_out(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        bonn = town.tell("Nina lives in Bonn.", "2023-01-01")
        town.store.forget(rome)
        town.undo(town.stating(bonn))
        town.judge(oslo, (rome, "updates"), (bonn, "updates"))
        assert town.current() == [oslo]
        town.store.forget(oslo)
        for fact in (oslo, bonn):
            with pytest.raises(RewoundError):
                town.judge(fact, (rome, "updates"), again=True)


def test_a_kept_answer_to_a_label_tells_nothing_that_was_forgotten_since(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
        town.judge(oslo, (rome, "updates"))
        labels = (q.NewLabel(fact=oslo, old=rome, outcome="distinct"),)
        command = q.Label(container=town.store.name, labels=labels, key="k")
        first = town.store.ask(command)
        assert {change.text for change in first.changes} == {
            "Nina lives in Rome.",
            "Nina lives in Oslo.",
        }
        town.store.forget(rome)
        assert {change.text for change in town.store.ask(command).changes} == {
            None,
            "Nina lives in Oslo.",
        }


# --- going over the past


def rejudged(town: Town, **more: Any) -> r.Rejudged:
    reply = town.store.ask(q.Rejudge(container=town.store.name, **more))
    assert isinstance(reply, r.Rejudged)
    return reply


def unsure(town: Town) -> list[str]:
    """Rome and Oslo, twice, of different people; of each the first verdict was of no use."""
    found: list[str] = []
    for name in ("Nina", "Ben"):
        rome = town.tell(f"{name} lives in Rome.", "2020-01-01")
        oslo = town.tell(f"{name} lives in Oslo now.", "2022-01-01")
        town.judge(rome)
        town.judge(oslo, (rome, "distinct"))
        found += [rome, oslo]
    return found


def test_a_group_whose_first_verdict_came_too_late_can_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_town(tmp_path) as town:
        _, first, other, _ = unsure(town)
        before = town.current()
        compare = rejudging._Work._compare

        def slow(self: Any, facts: Any, model: Any) -> Any:
            found = list(compare(self, facts, model))
            town.store.forget(first)
            return iter(found)

        monkeypatch.setattr(rejudging._Work, "_compare", slow)
        reply = rejudged(town)
        assert reply.group is not None and town.state(other) == "superseded"
        town.undo(reply.group)
        assert town.current() == [fact for fact in before if fact != first]


def test_a_second_going_over_finds_nothing_more(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        _, first, _, last = unsure(town)
        told = rejudged(town, dry_run=True)
        done = rejudged(town)
        assert told.flips == done.flips and town.current() == [first, last]
        assert done.group is not None
        assert rejudged(town).flips == () and rejudged(town).group is None
        town.undo(done.group)
        assert len(town.current()) == 4
        assert rejudged(town).flips == done.flips


def test_going_over_the_past_tells_nothing_of_what_is_forgotten(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        rome, oslo, _, last = unsure(town)
        forgotten = town.store.forget(rome)
        done = rejudged(town)
        assert last in {flip.fact for flip in done.flips}
        assert rome not in msgspec.json.encode(done).decode()
        town.undo(forgotten.events[0])
        assert oslo in {flip.fact for flip in rejudged(town).flips}
        assert town.current() == [oslo, last]


def test_a_fit_tells_nothing_of_what_is_forgotten_and_is_done_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stopped between the policy and the verdicts that turn; the next one turns them."""
    turning = {"same_subject": 1000}
    distinct = Ruling(Outcome.DISTINCT, 990, Outcome.DISTINCT)

    class Opposed:
        def rule_all(self, evidences: Any, opinions: Any) -> list[Ruling]:
            return [distinct for _ in evidences]

        def to_json(self) -> bytes:
            return shipped().to_json()

    found = Refit(Opposed(), {"labels": 1.0}, True, None)  # type: ignore[arg-type]
    monkeypatch.setattr(fitting, "refit", lambda prior, labels: found)
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        lima = town.tell("Nina lives in Lima.", "2021-01-01")
        oslo = town.tell("Nina lives in Oslo now.", "2022-01-01")
        town.judge(lima, (rome, "updates"), evidence=turning)
        town.judge(oslo, (lima, "updates"), (rome, "updates"), evidence=turning)
        tea = town.tell("Nina likes tea.", "2022-01-02")
        mint = town.tell("Nina likes mint tea.", "2022-01-03")
        town.judge(mint, (tea, "updates"), evidence=turning)
        town.store.forget(tea)
        with monkeypatch.context() as patch:
            patch.setattr(fitting, "_turn", stop)
            with pytest.raises(KeyboardInterrupt):
                town.store.ask(q.Fit(container=town.store.name))
        assert town.current() == [oslo]
        done = town.store.ask(q.Fit(container=town.store.name))
        assert {flip.fact for flip in done.flips} == {lima, oslo}
        assert tea not in msgspec.json.encode(done).decode()
        assert town.current() == [rome, lima, oslo]
        town.undo(done.event)
        assert town.current() == [oslo]


def stop(*_: Any) -> int:
    raise KeyboardInterrupt


# --- long chains


def test_a_group_amid_a_long_chain_leaves_one_when_it_goes(tmp_path: Path) -> None:
    """An ending does not name all of a long chain, but what lies before each group."""
    with open_town(tmp_path) as town:
        rome = town.tell("Nina lives in Rome.", "2020-01-01")
        oslo = town.tell("Nina lives in Oslo.", "2020-06-01")
        town.judge(oslo, (rome, "updates"))
        news = tuple(
            q.NewFact(
                text=f"Nina lives in place {n}.", said_at=f"2021-{n // 28 + 1:02d}-{n % 28 + 1:02d}"
            )
            for n in range(40)
        )
        written = town.store.ask(q.Remember(container=town.store.name, facts=news))
        last = oslo
        for item in written.items:
            town.judge(item.id, (last, "updates"))
            last = item.id
        bonn = town.tell("Nina lives in Bonn.", "2022-01-01")
        town.judge(bonn, (last, "updates"))
        assert town.current() == [bonn]
        undone = town.undo(written.group)
        assert town.current() == [bonn]
        assert town.at("2021-06-01") == [oslo]
        town.undo(town.stating(bonn))
        assert town.current() == [oslo]
        town.undo(undone)
        assert town.current() == [last]
