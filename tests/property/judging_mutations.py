"""Mistakes with verdicts, made on purpose: views that fold other events than there are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import structs

from rewound.eventlog import events as e
from rewound.eventlog.ids import EventId
from rewound.eventlog.log import Draft, Recorded
from rewound.llm.policy import Ruling
from rewound.memory import deciding, requests
from rewound.projections import catalog, views
from rewound.projections.view import Fold
from tests.oracle.story import Story
from tests.property import chains, checks
from tests.property.desk import event_id, fact_id
from tests.property.driver import Driver
from tests.property.mutating import NAME, Case, Patch, opened, remember
from tests.property.test_views import agree

UPDATES = e.Outcome.UPDATES

# --- what is done, and checked


def compared(driver: Driver, outcome: e.Outcome) -> tuple[str, str, e.FactsJudged]:
    """Two facts and the verdict on the second; what follows is recorded with it."""
    old, new = (item.id for item in remember(driver, "Ann likes teaq0", "Ann enjoys teaq0"))
    ruling = Ruling(outcome, 900, outcome if outcome is not e.Outcome.REVIEW else UPDATES)
    pairs = [deciding.Ruled(fact_id(old), ruling, {"cosine": 900})]
    home = driver.container(NAME)
    recorded = driver.judge(deciding.Judge(home, fact_id(new), pairs, "rules/1"))
    assert isinstance(recorded[0].event, e.FactsJudged)
    return old, new, recorded[0].event


def say(driver: Driver, new: str, old: str, outcome: requests.OutcomeName) -> EventId:
    label = requests.NewLabel(fact=new, old=old, outcome=outcome)
    reply = driver.call(requests.Label(container=NAME, labels=(label,)))
    return event_id(reply.labels[0].event)


def repeated(folder: Path) -> None:
    with opened(folder) as driver:
        compared(driver, e.Outcome.DUPLICATE)
        repeats = [fact["repeated_by"] for fact in driver.oracle(NAME)["facts"].values()]
        assert sorted(map(len, repeats)) == [0, 1]
        checks.replay_law(driver, NAME)


def repeat_lifted(folder: Path) -> None:
    with opened(folder) as driver:
        old, new, _ = compared(driver, e.Outcome.DUPLICATE)
        say(driver, new, old, "distinct")
        assert not any(fact["ended"] for fact in driver.oracle(NAME)["facts"].values())
        checks.replay_law(driver, NAME)


def word_of_undone(folder: Path) -> None:
    """By events alone: an undo by command takes the word along."""
    story = Story()
    for value in (1, 2):
        story.remember(value)
    first = story.judge(2, (1, e.Outcome.REVIEW))
    story.label(first, 2, 1, UPDATES)
    story.judge(2, (1, e.Outcome.REVIEW))
    story.undo(first)
    agree(story, lambda: True)


def reviewed(folder: Path) -> None:
    with opened(folder) as driver:
        old, new, _ = compared(driver, e.Outcome.REVIEW)
        chains.reviews_law(driver, NAME)
        say(driver, new, old, "updates")
        checks.replay_law(driver, NAME)


def _fit(driver: Driver, label: EventId) -> Recorded:
    bodies = driver.writer()
    fit = e.PolicyFitted(driver.container(NAME), bodies.piece("weights"), (label,))
    (fitted,) = driver.record(NAME, [Draft(fit, bodies.sealed, (label,))])
    return fitted


def unfitted(folder: Path) -> None:
    """Of two fits the second is taken back: the first is in force again."""
    with opened(folder) as driver:
        old, new, _ = compared(driver, e.Outcome.REVIEW)
        label = say(driver, new, old, "updates")
        fitted = [_fit(driver, label) for _ in range(2)]
        take_back(driver, checks.event_name(fitted[-1]))
        assert driver.oracle(NAME)["policies"]


def unjudged(folder: Path) -> None:
    with opened(folder) as driver:
        compared(driver, e.Outcome.DISTINCT)
        judged = next(r for r in driver.events(NAME) if isinstance(r.event, e.FactsJudged))
        take_back(driver, checks.event_name(judged))
        assert len(driver.oracle(NAME)["unjudged"]) == 2


def take_back(driver: Driver, event: str) -> None:
    before = checks.BeforeUndo(driver, NAME)
    before.check(driver.call(requests.Undo(container=NAME, id=event)))


# --- how the product is changed


def with_fold(patch: Patch, name: str, change: Callable[[Fold], Fold]) -> None:
    """One view folds its rows in another way."""
    made = tuple(
        view._replace(fold=change(view.fold)) if view.name == name else view
        for view in catalog.VIEWS
    )
    patch.setattr(views, "VIEWS", made)


def seeing(change: Callable[[list[Recorded]], list[Recorded]]) -> Callable[[Fold], Fold]:
    """The fold of other contributors than there are."""

    def changed(whole: Fold) -> Fold:
        return lambda key, contributors, resolve: whole(key, change([*contributors]), resolve)

    return changed


def repeats_are_versions(patch: Patch) -> None:
    def blind(contributors: list[Recorded]) -> list[Recorded]:
        return [
            r._replace(event=structs.replace(r.event, repeats=False))
            if isinstance(r.event, e.FactSuperseded)
            else r
            for r in contributors
        ]

    with_fold(patch, "facts", seeing(blind))


def repeats_stay(patch: Patch) -> None:
    def stubborn(contributors: list[Recorded]) -> list[Recorded]:
        repeats = {
            r.envelope.event_id
            for r in contributors
            if isinstance(r.event, e.FactSuperseded) and r.event.repeats
        }
        return [
            r
            for r in contributors
            if not (isinstance(r.event, e.FactReinstated) and r.event.superseding in repeats)
        ]

    with_fold(patch, "facts", seeing(stubborn))


def words_outlive_their_judging(patch: Patch) -> None:
    """Each label is taken to be of the last judging."""

    def kept(contributors: list[Recorded]) -> list[Recorded]:
        judged = [r.envelope.event_id for r in contributors if isinstance(r.event, e.FactsJudged)]
        moved: list[Recorded] = [r for r in contributors if not isinstance(r.event, e.LabelGiven)]
        for r in contributors:
            if isinstance(r.event, e.LabelGiven) and judged:
                moved.append(r._replace(event=structs.replace(r.event, judged=judged[-1])))
        return moved

    with_fold(patch, "verdicts", seeing(kept))


def reviews_stay_open(patch: Patch) -> None:
    def unheard(contributors: list[Recorded]) -> list[Recorded]:
        return [r for r in contributors if not isinstance(r.event, e.LabelGiven)]

    with_fold(patch, "reviews", seeing(unheard))


def fits_are_for_ever(patch: Patch) -> None:
    seen: dict[int, Recorded] = {}

    def remembered(contributors: list[Recorded]) -> list[Recorded]:
        seen.update((r.position, r) for r in contributors)
        return [seen[position] for position in sorted(seen)]

    with_fold(patch, "policies", seeing(remembered))


def judged_is_judged(patch: Patch) -> None:
    done: set[bytes] = set()

    def once(whole: Fold) -> Fold:
        def fold(key: bytes, contributors: Any, resolve: Any) -> Any:
            if any(isinstance(r.event, e.FactsJudged) for r in contributors):
                done.add(key)
            return None if key in done else whole(key, contributors, resolve)

        return fold

    with_fold(patch, "unjudged", once)


CASES = {
    "1 judging, repeats": Case(repeats_are_versions, repeated, "replay: "),
    "1 judging, lifted": Case(repeats_stay, repeat_lifted, "replay: "),
    "1 judging, words": Case(words_outlive_their_judging, word_of_undone, "replay: "),
    "1 judging, reviews": Case(reviews_stay_open, reviewed, "replay: "),
    "3 judging, fits": Case(fits_are_for_ever, unfitted, "undo: "),
    "3 judging, again": Case(judged_is_judged, unjudged, "undo: "),
}
