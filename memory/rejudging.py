"""Going over the past again: facts judged anew, or drawn anew, with what is set now.

Nothing is changed in place. A verdict that comes out otherwise is recorded beside the old one, a
fact that is no longer drawn ends where it began, and all of it is one group, which undo takes back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from rewound.eventlog import events as e
from rewound.eventlog.envelope import PERSON
from rewound.eventlog.errors import Conflict, NotFound, ReadOnly, RewoundError
from rewound.eventlog.ids import ContainerId, EventId, FactId, GroupId, Kind, Ref, show
from rewound.eventlog.instants import Instant
from rewound.eventlog.log import Draft
from rewound.llm.askers import asking_while
from rewound.llm.extraction import Drawn, ExtractionFailed, Extractor, Paced
from rewound.llm.judging import Judge, JudgeFailed, Opinion
from rewound.memory import deciding as d
from rewound.memory import drawing, sources
from rewound.memory import requests as q
from rewound.memory.claims import is_shown
from rewound.memory.ending import unsaid
from rewound.memory.fitting import FLIPS_TOLD, flips_of, record_all
from rewound.memory.moments import position_since, zone_of
from rewound.memory.replies import Flip, Hidden, Rejudged
from rewound.memory.weighing import Scales, Weighed, judge_name, unchanged
from rewound.projections.jobs import JobRow, JobState

if TYPE_CHECKING:
    from rewound.memory.engine import Engine
    from rewound.projections.reader import ContainerView

FACTS_AT_ONCE = 64
CHARS_MAX = 200_000
"""Of a source that is read again; of a longer one the rest stays as it was drawn."""


class _Redrawn(NamedTuple):
    """What reading a source again comes to."""

    drafts: list[Draft]
    learned: list[Hidden]
    ended: list[Hidden]


class _Verdict(NamedTuple):
    judge: d.Judge
    flips: tuple[Flip, ...]


def rejudge(request: q.Rejudge, engine: Engine) -> Rejudged:
    """Draw facts anew, judge them anew, or both. Raises NotFound, Conflict where there is nothing
    to do it with, ReadOnly."""
    if engine.readonly_reason is not None and not request.dry_run:
        raise ReadOnly(engine.readonly_reason)
    with engine.reading() as views:
        container = d.container_named(views.log, request.container)
        if container is None:
            raise d.no_container(request.container)
        view = views.container(container)
        since = _after(view, request.since)
    work = _Work(engine, container, since, dry_run=request.dry_run)
    if request.extractor:
        work.draw()
    if request.judge or not request.extractor:
        work.judge()
    return work.reply(request)


def _after(view: ContainerView, since: str | None) -> int:
    """The position behind which the past is gone over."""
    return 0 if since is None else position_since(view, zone_of(view), since, "since")[0]


class _Work:
    """One going over of a container; its first event gives the group its id."""

    def __init__(
        self, engine: Engine, container: ContainerId, since: int, *, dry_run: bool
    ) -> None:
        self._engine = engine
        self._container = container
        self._since = since
        self._dry_run = dry_run
        self._first = EventId(engine.ids.new())
        self._begun = False
        self._sources = self._judged = 0
        self._learned: list[Hidden] = []
        self._ended: list[Hidden] = []
        self._flips: list[Flip] = []
        self._notes: list[str] = []
        models = engine.models
        self._rows = () if models is None else models.rows()

    def reply(self, request: q.Rejudge) -> Rejudged:
        with self._engine.reading() as views:
            position = views.container(self._container).position
        if len(self._flips) > FLIPS_TOLD:
            told = f"{len(self._flips)} pairs come out otherwise; the first {FLIPS_TOLD} are told"
            self._notes.append(told)
        return Rejudged(
            container=request.container,
            group=show(Kind.GROUP, self._first) if self._begun else None,
            position=position,
            sources=self._sources,
            learned=tuple(self._learned),
            ended=tuple(self._ended),
            judged=self._judged,
            flips=tuple(self._flips[:FLIPS_TOLD]),
            dry_run=request.dry_run,
            notes=tuple(self._notes),
        )

    def _own(self) -> EventId | None:
        """The id for the group's first event, None for all others."""
        first = None if self._begun else self._first
        self._begun = True
        return first

    # --- drawing

    def draw(self) -> None:
        """Read every source again that facts were drawn from."""
        models = self._engine.models
        extractor = None if models is None else models.make_extractor(self._engine.nodes)
        if extractor is None:
            raise Conflict(
                "no extractor is set: set REWOUND_EXTRACTOR, or `extractor` in the settings"
            )
        with self._engine.reading() as views:
            refs = list(_read_before(views.container(self._container), self._since))
        try:
            for ref in refs:
                self._draw_again(extractor, ref)
        finally:
            if isinstance(extractor, Paced):
                extractor.close()

    def _draw_again(self, extractor: Extractor, ref: Ref) -> None:
        with self._engine.reading() as views:
            source = _source(views.container(self._container), ref)
        if source is None:
            return
        try:
            self._draw_one(extractor, source)
        except ExtractionFailed as failed:
            self._notes.append(f"{ref} stays as it was drawn: {failed}")

    def _draw_one(self, extractor: Extractor, source: sources.Source) -> None:
        said = source.said()
        with asking_while(lambda: self._is_as_read(source)):
            drawn = extractor.extract(said) if said else []
        if not self._is_as_read(source):
            self._notes.append(f"{source.ref} changed meanwhile and stays")
            return
        with self._engine.reading() as views:
            view = views.container(self._container)
            redrawn = _redrawn(view, source, drawn, extractor.name, self._engine)
        self._sources += 1
        if redrawn.learned or redrawn.ended:
            if self._dry_run or self._record_drawn(source, redrawn):
                self._learned += redrawn.learned
                self._ended += redrawn.ended

    def _record_drawn(self, source: sources.Source, redrawn: _Redrawn) -> bool:
        """Whether it was recorded."""
        drafts = list(redrawn.drafts)
        begun, first = self._begun, self._own()
        if first is not None:
            drafts[0] = drafts[0]._replace(event_id=first)
        record = d.Record(
            self._container, drafts, group=GroupId(self._first) if begun else None, again=True
        )
        try:
            self._engine.submit_record(record, actor=PERSON).result()
        except (Conflict, NotFound) as error:
            self._begun = begun
            self._notes.append(f"{source.ref} changed meanwhile and stays: {error.message}")
            return False
        return True

    def _is_as_read(self, source: sources.Source) -> bool:
        """Whether it still shows the same words: what was forgotten is shown to no model."""
        try:
            with self._engine.reading() as views:
                now = _source(views.container(self._container), source.ref)
        except RewoundError:
            return False  # it cannot be known: the store closes, or its views are far behind
        return now is not None and now.said() == source.said()

    # --- judging

    def judge(self) -> None:
        """Compare every fact again with those before it."""
        models = self._engine.models
        model = None if models is None else models.make_judge(self._engine.nodes)
        with self._engine.reading() as views:
            view = views.container(self._container)
            facts = [
                (row.state.at, FactId(row.id))
                for row in view.verdicts()
                if is_shown(view, row.id) and row.opened > self._since
            ]
        facts.sort()
        try:
            for start in range(0, len(facts), FACTS_AT_ONCE):
                part = [fact for _, fact in facts[start : start + FACTS_AT_ONCE]]
                verdicts = list(self._compare(part, model))
                self._flips += [flip for each in verdicts for flip in each.flips]
                if not self._dry_run:
                    self._record(verdicts)
        finally:
            if model is not None:
                model.close()

    def _record(self, verdicts: Sequence[_Verdict]) -> None:
        """One by one until the group has its first event, then together."""
        left = deque(each.judge for each in verdicts)
        while left and not self._begun:
            first = replace(left.popleft(), event_id=self._first)
            try:
                self._engine.submit_record(first, actor=PERSON).result()
                self._begun = True
            except (Conflict, NotFound) as error:
                self._notes.append(f"a fact changed meanwhile and stays: {error.message}")
        rest = (replace(each, group=GroupId(self._first)) for each in left)
        record_all(self._engine, self._container, rest, PERSON)

    def _compare(self, facts: Sequence[FactId], model: Judge | None) -> Iterator[_Verdict]:
        scales, weighed, opinions = self._weigh(facts, model)
        self._judged += len(weighed)
        with self._engine.reading() as views:
            view = views.container(self._container)
            for each, given in zip(weighed, opinions, strict=True):
                verdict = view.verdict(each.fact)
                if verdict is None:
                    continue
                ruled = scales.rule(each, given)
                flips = flips_of(view, verdict.state, each.fact, ruled)
                if flips:
                    yield _Verdict(
                        d.Judge(
                            self._container,
                            each.fact,
                            ruled,
                            judge_name(model),
                            scales.policy.event,
                            again=True,
                        ),
                        flips,
                    )

    def _weigh(
        self, facts: Sequence[FactId], model: Judge | None
    ) -> tuple[Scales, list[Weighed], list[Sequence[Opinion | None]]]:
        """The facts that show, held against others, with what a model says of them. What changed
        before it was asked about is compared anew. Raises RewoundError where it fails."""
        while True:
            with self._engine.reading() as views:
                view = views.container(self._container)
                scales = Scales(view, self._engine.clock.now_us(), self._rows)
                rows = [row for fact in facts if (row := view.fact(fact)) is not None]
                weighed = [scales.compare(row) for row in rows if is_shown(view, FactId(row.id))]
                still = unchanged(self._engine, self._container, view.position, weighed)
            if model is None:
                return scales, weighed, [[] for _ in weighed]
            try:
                with asking_while(still):
                    given = iter(model.opinions([pair for each in weighed for pair in each.pairs]))
                return scales, weighed, [[next(given) for _ in each.pairs] for each in weighed]
            except JudgeFailed as failed:
                if still():
                    raise RewoundError(f"the judge failed: {failed}") from failed


# --- sources


def _read_before(view: ContainerView, since: int) -> Iterator[Ref]:
    """Documents and messages that were read for facts, recorded after a position."""
    for kind in (Kind.DOCUMENT, Kind.MESSAGE):
        for row in view.scan(kind):
            ref = Ref(kind, row.id)
            read = row.state.infer and view.job(ref) is None
            if read and row.state.at > since and view.hidden(ref) is None:
                yield ref


def _source(view: ContainerView, ref: Ref) -> sources.Source | None:
    row = view.row(ref)
    if row is None or view.hidden(ref) is not None:
        return None
    bodies = row.state.pieces if ref.kind is Kind.DOCUMENT else (row.state.text,)
    wanted = tuple(body.place(0) for body in bodies)
    job = JobRow(JobState.PENDING, wanted, row.state.recorded_at)
    source = sources.read(view, ref, job, CHARS_MAX)
    return source if source is not None and source.whole else None


def _redrawn(
    view: ContainerView,
    source: sources.Source,
    drawn: Sequence[Sequence[Drawn]],
    extractor: str,
    engine: Engine,
) -> _Redrawn:
    """Facts that come, and those that are drawn no more and rest on nothing else."""
    drafts = drawing.drafts(source, drawn, extractor, engine.ids)
    learned = [
        Hidden(id=show(Kind.FACT, draft.event.fact), kind="fact", text=_wording(draft))
        for draft in drafts
        if isinstance(draft.event, e.FactExtracted)
    ]
    kept = {
        raw
        for draft in drafts
        if isinstance(draft.event, e.ExtractionFinished)
        for raw in draft.event.facts
    }
    before = [FactId(raw) for raw in view.facts_from(source.ref) if FactId(raw) not in kept]
    gone = unsaid(view, source.ref, before, (), engine.clock.now_us())
    ended: list[Hidden] = []
    cause = (source.pieces[0].cause,)
    for fact in gone:
        row = view.fact(fact)
        assert row is not None, "only a fact that stands can be drawn no more"
        at = Instant(row.state.valid_from)
        drafts.append(Draft(e.FactsEnded((fact,), at), causes=cause))
        ended.append(Hidden(id=show(Kind.FACT, fact), kind="fact", text=view.wording(row.state)))
    return _Redrawn(drafts, learned, ended)


def _wording(draft: Draft) -> str:
    event = draft.event
    assert isinstance(event, e.FactExtracted)
    return draft.bodies[event.statement.text.slot].content.decode()
