"""The pairs of facts that were not decided and wait for a person's word."""

from collections.abc import Iterator

from rewound.eventlog import events as e
from rewound.eventlog.ids import FactId, Kind, Ref, show
from rewound.memory import cursors
from rewound.memory import requests as q
from rewound.memory.answer_items import bounded, paged
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import When
from rewound.memory.replies import Review, ReviewList
from rewound.memory.scoping import Within
from rewound.memory.showing import Shower
from rewound.memory.showing_verdicts import evidence_of, word
from rewound.projections.facts import FactRow
from rewound.projections.reader import ContainerView
from rewound.projections.rows import Row
from rewound.projections.verdicts import VerdictRow

Couple = tuple[FactId, FactId]
"""The later fact and the one before it."""

_OVER = frozenset(("superseded", "corrected", "ended", "expired"))
_ENDS = (e.Outcome.UPDATES, e.Outcome.CORRECTS)


@answers(q.Reviews)
def list_reviews(asked: q.Reviews, asking: Asking) -> ReviewList:
    """A page of pairs, the likeliest ending first (`_place`); all pages show one moment. A pair
    with a fact that is forgotten, undone or over is not among them: there is nothing to end any
    more, and a label may still be given by id."""
    view = asking.views.container(asking.home())
    limit, notes = bounded(asked.limit)
    secret = view.log.key(view.id)
    cursor = cursors.read(asked, secret)
    when = paged(view, asked, asking.now_us, cursor)
    shower = Shower(view, when, forgotten=asked.include_forgotten)
    found = sorted(_waiting(shower, Within(view, asked.scope, when.at)))
    after = cursor.after if cursor else b""
    later = [(place, couple) for place, couple in found if place > after]
    page, more = later[:limit], len(later) > limit
    following = None
    if more:
        last = cursors.Cursor(when.at, when.now_us, page[-1][0])
        following = cursors.write(last, asked, secret)
    return ReviewList(
        container=asking.name,
        reviews=tuple(_review(shower, *couple) for _, couple in page),
        total=len(found),
        has_more=more,
        cursor=following,
        moment=when.moment,
        notes=notes,
    )


def _waiting(shower: Shower, within: Within) -> Iterator[tuple[bytes, Couple]]:
    """Every pair that may be shown, by both ids, with its place in the list."""
    view, when = shower.view, shower.when
    for row in view.reviews(when.at):
        if _shown(shower, within, row.id):
            fact = FactId(row.id)
            verdict = _verdict(view, fact, when.at)
            for old in row.state.old:
                if _shown(shower, within, old):
                    _, pair = _pair_with(verdict, old)
                    yield _place(pair, fact), (fact, old)


def _place(pair: e.Pair, fact: FactId) -> bytes:
    """What a pair is listed by: the surer that the older one ended the sooner, then what leans to
    something else, the less surely the sooner; equals by the later fact's id, oldest first."""
    ends = pair.leaning in _ENDS
    order = 1000 - pair.probability if ends else 1000 + pair.probability
    return order.to_bytes(2) + fact + pair.old


def _shown(shower: Shower, within: Within, fact: bytes) -> bool:
    ref = Ref(Kind.FACT, fact)
    if shower.hides(ref):
        return False
    row = shower.view.row(ref, shower.when.at)
    if row is None or not within.row(row.state) or not _holds(shower.when, row.state):
        return False
    return shower.when.valid is not None or shower.standing(ref, row.state).state not in _OVER


def _holds(when: When, fact: FactRow) -> bool:
    """Whether a fact is true at some time in the stretch that was asked for, if any was."""
    if when.valid is None:
        return True
    start, end = when.valid
    return fact.valid_from < end and fact.valid_to > start and fact.valid_from < fact.valid_to


def _review(shower: Shower, fact: FactId, old: FactId) -> Review:
    view, at = shower.view, shower.when.at
    verdict = _verdict(view, fact, at)
    number, pair = _pair_with(verdict, old)
    measured = evidence_of(view.value(verdict.evidence), len(verdict.pairs))
    refs = Ref(Kind.FACT, fact), Ref(Kind.FACT, old)
    new_row, old_row = (_row(view, ref, at) for ref in refs)
    new_from, old_from = shower.validity(new_row.state)[0], shower.validity(old_row.state)[0]
    return Review(
        fact=str(refs[0]),
        old=str(refs[1]),
        text=shower.text(refs[0], new_row.state),
        old_text=shower.text(refs[1], old_row.state),
        leaning=word(pair.leaning),
        probability=pair.probability / 1000,
        judged=show(Kind.EVENT, verdict.event),
        evidence=measured[number],
        standing=shower.standing(refs[0], new_row.state),
        old_standing=shower.standing(refs[1], old_row.state),
        valid_from=new_from,
        old_valid_from=old_from,
        sources=shower.sources(refs[0], new_row.state),
        old_sources=shower.sources(refs[1], old_row.state),
    )


def _verdict(view: ContainerView, fact: FactId, at: int) -> VerdictRow:
    verdict = view.verdict(fact, at)
    assert verdict is not None, "what waits for a word has been judged"
    return verdict.state


def _row(view: ContainerView, ref: Ref, at: int) -> Row[FactRow]:
    row = view.row(ref, at)
    assert row is not None, "both facts of a listed pair are there"
    return row


def _pair_with(verdict: VerdictRow, old: FactId) -> tuple[int, e.Pair]:
    return next((n, pair) for n, pair in enumerate(verdict.pairs) if pair.old == old)
