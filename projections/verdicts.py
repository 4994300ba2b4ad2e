"""The views of judgements: what was found of each new fact, what waits for a person's word, what
waits for a judge, and the policy in force.

They tell what was judged; what follows from it stands in the facts' own rows.
"""

from collections.abc import Sequence

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.ids import EventId, FactId, Kind, Ref
from rewound.eventlog.log import Recorded
from rewound.projections import view as v


class Labelled(msgspec.Struct, frozen=True, array_like=True):
    """What a person said of one pair."""

    old: FactId
    outcome: e.Outcome
    event: EventId


class VerdictRow(msgspec.Struct, frozen=True, array_like=True):
    """The last judging of a new fact, with the labels given to its pairs, also at an earlier
    judging that still holds."""

    at: int
    event: EventId
    pairs: tuple[e.Pair, ...]
    policy: EventId | None
    judge: Body | None
    evidence: Body | None
    labels: tuple[Labelled, ...] = ()

    def outcome(self, pair: e.Pair) -> e.Outcome:
        """What holds of a pair: a person's word, or else what was found."""
        return next((each.outcome for each in self.labels if each.old == pair.old), pair.outcome)


class ReviewRow(msgspec.Struct, frozen=True, array_like=True):
    """The older facts of pairs that were not decided and wait for a person."""

    at: int
    old: tuple[FactId, ...]


class UnjudgedRow(msgspec.Struct, frozen=True, array_like=True):
    """A fact that has not been compared with what was known before; `at` is where the first event
    that supports it stands."""

    at: int


class PolicyRow(msgspec.Struct, frozen=True, array_like=True):
    """The container's own policy."""

    event: EventId
    parameters: Body


def fold_verdict(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> VerdictRow | None:
    last: Recorded | None = None
    labels: dict[FactId, Labelled] = {}
    judgings: set[EventId] = set()
    for recorded in contributors:
        match recorded.event:
            case e.FactsJudged():
                last = recorded
                judgings.add(recorded.envelope.event_id)
            case e.LabelGiven(judged=source, old=old, outcome=outcome) if source in judgings:
                labels.pop(old, None)
                labels[old] = Labelled(old, outcome, recorded.envelope.event_id)
    if last is None:
        return None
    judged, at = last.event, last.position
    assert isinstance(judged, e.FactsJudged)
    return VerdictRow(
        at=at,
        event=last.envelope.event_id,
        pairs=judged.pairs,
        policy=judged.policy,
        judge=v.absolute(judged.judge, at),
        evidence=v.absolute(judged.evidence, at),
        labels=tuple(labels.values()),
    )


def fold_review(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> ReviewRow | None:
    verdict = fold_verdict(key, contributors, resolve)
    if verdict is None:
        return None
    said = {each.old for each in verdict.labels}
    open_ones = tuple(
        pair.old
        for pair in verdict.pairs
        if pair.outcome is e.Outcome.REVIEW and pair.old not in said
    )
    return ReviewRow(verdict.at, open_ones) if open_ones else None


def fold_unjudged(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> UnjudgedRow | None:
    if any(isinstance(recorded.event, e.FactsJudged) for recorded in contributors):
        return None
    return UnjudgedRow(contributors[0].position) if contributors else None


def fold_policy(
    key: bytes, contributors: Sequence[Recorded], resolve: v.Resolve
) -> PolicyRow | None:
    if not contributors:
        return None
    last = contributors[-1]
    assert isinstance(last.event, e.PolicyFitted)
    return PolicyRow(last.envelope.event_id, last.event.parameters.seen_from(last.position))


def _fact(
    event: e.FactsJudged | e.LabelGiven | e.FactRemembered | e.FactExtracted | e.FactEdited,
) -> list[bytes]:
    return [Ref(Kind.FACT, event.fact).key()]


def _container(event: e.PolicyFitted) -> list[bytes]:
    return [Ref(Kind.CONTAINER, event.container).key()]


_OTHERS = v.SENT.union(
    v.CUT, v.ENDED, v.DERIVED, v.LINKED, v.HIDDEN, v.NAMED, v.GRAPH, v.WRITTEN, v.KEPT, v.AGAIN,
    v.TAGGED,
)  # fmt: skip

VERDICTS = v.View(
    name="verdicts",
    version=1,
    state=VerdictRow,
    handles={e.FactsJudged: _fact, e.LabelGiven: _fact},
    ignores=_OTHERS | v.STATED | v.POLICY,
    births=frozenset(),
    fold=fold_verdict,
)

REVIEWS = v.View(
    name="reviews",
    version=1,
    state=ReviewRow,
    handles={e.FactsJudged: _fact, e.LabelGiven: _fact},
    ignores=_OTHERS | v.STATED | v.POLICY,
    births=frozenset(),
    fold=fold_review,
)

UNJUDGED = v.View(
    name="unjudged",
    version=2,
    state=UnjudgedRow,
    handles={
        e.FactRemembered: _fact,
        e.FactExtracted: _fact,
        e.FactEdited: _fact,
        e.SeenAgain: v.item_of(Kind.FACT),
        e.FactsJudged: _fact,
    },
    ignores=(_OTHERS - v.AGAIN) | v.POLICY | {e.LabelGiven},
    births=frozenset({e.FactRemembered, e.FactExtracted}),
    fold=fold_unjudged,
    waits=True,
)

POLICIES = v.View(
    name="policies",
    version=1,
    state=PolicyRow,
    handles={e.PolicyFitted: _container},
    ignores=_OTHERS | v.STATED | v.JUDGED,
    births=frozenset(),
    fold=fold_policy,
)
