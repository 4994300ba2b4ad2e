"""Why a fact is believed: its sources' own words, its versions, what it was compared with, and each
step that led here, with the command that takes it back."""

from typing import NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.bodies import Body
from rewound.eventlog.errors import WrongKind
from rewound.eventlog.ids import NAMES, FactId, Kind, Ref, parse_any, show
from rewound.memory import requests as q
from rewound.memory.answer_items import find
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import resolve
from rewound.memory.plurals import so_many
from rewound.memory.replies import Explained, Quote, VerdictView, View
from rewound.memory.scoping import Within
from rewound.memory.showing import Shower
from rewound.memory.showing_verdicts import VerdictShower
from rewound.memory.telling_steps import Steps, versions_of
from rewound.projections.facts import FactRow

QUOTES_MAX = 20
QUOTED_CHARS = 500
AGAINST_MAX = 50
"""Later facts whose comparison with the fact is told; those that came to something first."""


@answers(q.Why)
def explain(asked: q.Why, asking: Asking) -> Explained:
    """What there is to say for a fact, as of the moment. Raises NotFound, WrongKind for the id of
    anything but a fact, InvalidInput."""
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    within = Within(view, asked.scope, when.at)
    shower = Shower(view, when, forgotten=asked.include_forgotten)
    ref, row = find(shower, _fact_named(asked.id), within)
    fact = FactId(ref.id)
    drawn = _drawn(shower, fact)
    verdicts = VerdictShower(shower, within)
    verdict, against = verdicts.of(fact), verdicts.against(fact)
    notes = [] if verdicts.left_out == 0 else [_left_out(verdicts.left_out)]
    if view.is_unjudged(fact, when.at):
        notes.append("it has not been compared with the facts before it yet")
    if len(against) > AGAINST_MAX:
        rest = so_many(len(against) - AGAINST_MAX, "more later fact was", "more later facts were")
        notes.append(f"{rest} compared with it and left out here")
    if len(row.state.sources) > QUOTES_MAX:
        places = len(row.state.sources) - QUOTES_MAX
        notes.append(so_many(places, "more place says so", "more places say so"))
    steps = Steps(view, when, within, asking.name, forgotten=asked.include_forgotten)
    return Explained(
        container=asking.name,
        item=shower.item(ref, row),
        quotes=_quotes(shower, row.state),
        extractor=drawn.extractor,
        confidence=drawn.confidence,
        versions=_versions(shower, fact, within),
        verdict=verdict,
        against=_telling(against),
        steps=steps.of(versions_of(view, fact, when.at)),
        moment=when.moment,
        notes=tuple(notes),
    )


def _fact_named(text: str) -> str:
    """The id of a fact; of a UUID it is taken to be one."""
    kind, raw = parse_any(text)
    if kind not in (None, Kind.FACT):
        raise WrongKind(
            f"{show(kind, raw)} is {NAMES[kind]}, but why is told of facts: its history tells "
            "what happened to it",
            field="id",
        )
    return show(Kind.FACT, raw)


def _left_out(number: int) -> str:
    what = "a comparison with a forgotten fact is" if number == 1 else (
        f"{number} comparisons with forgotten facts are"
    )  # fmt: skip
    return f"{what} left out: ask with include_forgotten to see"


class _Drawn(NamedTuple):
    """How a fact was drawn from its source; nothing for one that was stated directly."""

    extractor: str | None = None
    confidence: float | None = None


def _drawn(shower: Shower, fact: FactId) -> _Drawn:
    """By the last effective drawing as of the moment."""
    view, found = shower.view, _Drawn()
    effectivity = view.effectivity(shower.when.at)
    for recorded in view.about(Ref(Kind.FACT, fact)):
        if recorded.position > shower.when.at:
            break
        event = recorded.event
        if not isinstance(event, e.FactExtracted | e.ExtractionFinished):
            continue
        if not effectivity.holds(recorded):
            continue
        if isinstance(event, e.FactExtracted):
            found = found._replace(confidence=event.confidence / 1000)
        elif found.extractor is None:
            extractor = view.text(event.extractor.seen_from(recorded.position))
            found = found._replace(extractor=extractor)
    return found


def _quotes(shower: Shower, fact: FactRow) -> tuple[Quote, ...]:
    """The sources' own words, through their masks."""
    found: list[Quote] = []
    for span in fact.sources[:QUOTES_MAX]:
        words = None
        if not shower.hides(span.source):
            body = Body(span.place.slot, b"", at=span.place.at)
            text = shower.view.shown(span.source, body, unmasked=shower.forgotten)
            words = None if text is None else text[span.start : span.end].strip()
        if words is not None and len(words) > QUOTED_CHARS:
            words = words[: QUOTED_CHARS - 2] + " …"
        found.append(Quote(source=shower.source(span), words=words))
    return tuple(found)


def _versions(shower: Shower, fact: FactId, within: Within) -> tuple[View, ...]:
    """The versions of its chain that may be shown, root first."""
    chain = ((Ref(Kind.FACT, row.id), row) for row in shower.view.chain(fact, shower.when.at))
    return tuple(
        shower.item(ref, row)
        for ref, row in chain
        if within.row(row.state) and not shower.hides(ref)
    )


def _telling(against: list[VerdictView]) -> tuple[VerdictView, ...]:
    """In order, without the least telling of too many."""
    if len(against) <= AGAINST_MAX:
        return tuple(against)
    by_weight = sorted(against, key=lambda each: _says_little(each))
    kept = {each.event for each in by_weight[:AGAINST_MAX]}
    return tuple(each for each in against if each.event in kept)


def _says_little(verdict: VerdictView) -> bool:
    return all((pair.label or pair.outcome) == "distinct" for pair in verdict.pairs)
