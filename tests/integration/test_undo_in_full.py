"""Whatever was done can be undone, and the undoing too; a preview tells exactly what will be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rewound.eventlog import events as e
from rewound.eventlog.errors import AlreadyUndone, HasDependents
from rewound.eventlog.ids import EventId, GroupId, Kind, parse, show
from rewound.eventlog.log import Draft
from rewound.llm.policy import shipped
from rewound.memory import requests as q
from rewound.projections import dump
from tests.integration.ruling import Town, open_town

Act = Callable[[Town], str]
"""Something done in a town; the event or group that takes it back."""


def standing(town: Town) -> Any:
    """Every row there is, as plain values."""
    with town.store.view() as view:
        return msgspec.to_builtins(dump.present(view))


def take_back(town: Town, target: str, **more: Any) -> str:
    """Undo, having seen in a preview the very same; the undoing."""
    before = standing(town)
    preview = town.store.undo(target, dry_run=True, **more)
    assert standing(town) == before and preview.event is None
    undone = town.store.undo(target, **more)
    assert preview.dropped == undone.dropped and preview.returned == undone.returned
    assert preview.dependents == undone.dependents
    assert [plain(each) for each in preview.changes] == [plain(each) for each in undone.changes]
    # a preview tells no text of what only the undo itself would show
    assert {each.text for each in preview.changes} <= {None, *(c.text for c in undone.changes)}
    event: str = undone.event
    return event


def plain(change: Any) -> Any:
    return msgspec.structs.replace(change, text=None)


def settle(town: Town) -> tuple[str, str, str]:
    """Rome and then Oslo, and a tea that nobody is sure about."""
    tea = town.tell("Nina likes tea.", "2019-01-01")
    rome = town.tell("Nina lives in Rome.", "2020-01-01")
    oslo = town.tell("Nina lives in Oslo.", "2022-01-01")
    town.judge(rome, (tea, "distinct"))
    town.judge(oslo, (rome, "updates"), (tea, "review"))
    return tea, rome, oslo


# --- what is done


def labels(town: Town) -> str:
    _, rome, oslo = settle(town)
    return town.label(oslo, rome, "distinct")


def forgets(town: Town) -> str:
    _, _, oslo = settle(town)
    event: str = town.store.forget(oslo).events[0]
    return event


def edits(town: Town) -> str:
    _, _, oslo = settle(town)
    return town.stating(town.store.update(oslo, "Nina lives in Bergen."))


def corrects(town: Town) -> str:
    _, _, oslo = settle(town)
    return town.stating(town.store.update(oslo, "Nina lives in Bergen.", corrects=True))


def fits(town: Town) -> str:
    """A policy, and the verdicts that it turns, in its group."""
    tea, rome, oslo = settle(town)
    label = town.label(oslo, tea, "distinct")
    return fitted(town, label, lambda fit, group: turn(town, oslo, rome, fit, group))


def fitted(town: Town, label: str, turned: Callable[[str, str], None]) -> str:
    bodies, caused = town.store.writer(), EventId(parse(label, Kind.EVENT))
    parameters = bodies.piece(shipped().to_json().decode())
    event = e.PolicyFitted(town.store.container(), parameters, (caused,))
    (recorded,) = town.store.record([Draft(event, bodies.sealed, (caused,))])
    fit = show(Kind.EVENT, recorded.envelope.event_id)
    turned(fit, show(Kind.GROUP, recorded.envelope.group))
    return fit


def turn(town: Town, fact: str, old: str, fit: str, group: str) -> None:
    town.recorded(fact, (old, "distinct"), again=True, causes=(fit,), group=group)


def judges_again(town: Town) -> str:
    """Two verdicts of one group that come out otherwise."""
    tea, rome, oslo = settle(town)
    first = town.recorded(oslo, (rome, "extends"), (tea, "distinct"), again=True)
    group = show(Kind.GROUP, first[0].envelope.group)
    town.recorded(rome, (tea, "updates"), again=True, group=group)
    return group


def ingests(town: Town) -> str:
    """A document, a fact drawn from it, and what that one ends."""
    _, _, oslo = settle(town)
    command = q.Ingest(
        container=town.store.name,
        documents=(q.NewDocument(text="A letter. Nina lives in Turin. Greetings."),),
    )
    written = town.store.ask(command)
    turin = town.draw(written.items[0].id, "Nina lives in Turin.")
    town.judge(turin, (oslo, "updates"))
    assert turin in town.current() and oslo not in town.current()
    group: str = written.group
    return group


ACTS = [labels, forgets, edits, corrects, fits, judges_again, ingests]


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_an_undo_and_the_undo_of_it(tmp_path: Path, act: Act) -> None:
    with open_town(tmp_path / "done") as town, open_town(tmp_path / "left") as other:
        settle(other)
        target = act(town)
        done = standing(town)
        undone = take_back(town, target)
        without = standing(town)
        assert without != done
        with pytest.raises(AlreadyUndone):
            town.undo(target)
        again = take_back(town, undone)
        assert standing(town) == done
        third = take_back(town, again)
        assert standing(town) == without
        take_back(town, third)
        assert standing(town) == done
        assert kept(without) == kept(standing(other))


def kept(rows: Any) -> Any:
    """How facts stand, without ids."""
    facts = rows["facts"].values()
    return sorted((f["text"], f["valid_to"], f["ended"] is None) for f in facts if f["text"])


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
def test_what_was_undone_is_as_a_replay_has_it(tmp_path: Path, act: Act) -> None:
    with open_town(tmp_path) as town:
        target = act(town)
        undone = take_back(town, target)
        position = town.store.events()[-1].position
        then: Any = {"as_of": f"@{position}", "include_forgotten": True}
        past = town.store.listed(**then)
        take_back(town, undone)
        assert town.store.listed(**then) == past
        assert town.store.ask(q.Rebuild()).equal


# --- what stands on it


def test_an_undo_names_what_stands_on_it_and_takes_that_along(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        _, rome, oslo = settle(town)
        before = standing(town)
        label = town.label(oslo, rome, "distinct")
        verdict = town.events("facts judged")[-1]
        with pytest.raises(HasDependents) as refused:
            town.undo(verdict)
        assert refused.value.ids == (label,)
        preview = town.store.undo(verdict, dry_run=True)
        assert preview.dependents == (label,)
        undone = take_back(town, verdict, cascade=True)
        assert town.state(rome) == "current" and town.state(oslo) == "current"
        take_back(town, undone)
        take_back(town, label)
        assert standing(town) == before


def test_undoing_the_label_takes_the_fit_and_what_it_turned(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        tea, rome, oslo = settle(town)
        before = standing(town)
        label = town.label(oslo, tea, "distinct")
        fit = fitted(town, label, lambda fit, group: turn(town, oslo, rome, fit, group))
        assert town.state(rome) == "current"
        undone = take_back(town, label)
        assert standing(town) == before
        take_back(town, undone)
        assert town.state(rome) == "current"
        take_back(town, fit)
        assert town.state(rome) == "superseded"


def test_an_edit_of_an_edit_goes_with_it(tmp_path: Path) -> None:
    with open_town(tmp_path) as town:
        _, _, oslo = settle(town)
        before = standing(town)
        bergen = town.store.update(oslo, "Nina lives in Bergen.")
        bodo = town.store.update(bergen, "Nina lives in Bodø.")
        with pytest.raises(HasDependents) as refused:
            town.undo(town.stating(bergen))
        assert refused.value.ids == (town.stating(bodo),)
        undone = take_back(town, town.stating(bergen), cascade=True)
        assert standing(town) == before
        take_back(town, undone)
        assert bodo in town.current() and bergen not in town.current()


def test_a_group_is_a_group_whatever_its_first_event(tmp_path: Path) -> None:
    """What was undone of a group by itself before is not named again."""
    with open_town(tmp_path) as town:
        group = judges_again(town)
        done = standing(town)
        first = show(Kind.EVENT, EventId(GroupId(parse(group, Kind.GROUP))))
        alone = take_back(town, first)
        rest = take_back(town, group)
        take_back(town, rest)
        take_back(town, alone)
        assert standing(town) == done
