"""What a reply says in a few lines of text, for models that do not read structured output.

Lines begin with a date and end with an id, as those of `context` do.
"""

from collections import Counter
from collections.abc import Sized

from rewound.http.words import counted, day, safe
from rewound.memory import replies as r

_EVENTS_SHOWN = 20
ITEMS_SHOWN = 20
TEXT_CHARS_MAX = 4_000
NOTHING_FITS = "Nothing in memory fits this question."


def told(reply: r.Reply, tool: str) -> str:
    """The text block that goes with the structured reply."""
    match reply:
        case r.Written():
            lines = _written(reply)
        case r.Found():
            lines = [*_verdict(reply, reply.hits), *map(_hit, reply.hits), *_stages(reply)]
        case r.Packed():
            text = [reply.text] if reply.text else []
            lines = [*_verdict(reply, text), *text, *_stages(reply)]
        case r.Portrait():
            lines = [reply.text or "nothing is known yet"]
        case r.Explained():
            lines = _explained(reply)
        case r.Chronicle():
            lines = _chronicle(reply)
        case r.Page():
            lines = _page(reply)
        case r.JobList():
            lines = _jobs(reply)
        case r.Versions():
            lines = _versions(reply)
        case r.Forgot():
            lines = _forgot(reply, tool)
        case r.Undid():
            lines = _undid(reply)
        case _:
            raise TypeError(f"no tool answers with {type(reply).__name__}")
    notes: tuple[str, ...] = getattr(reply, "notes", ())
    return safe("\n".join([*lines, *(f"note: {note}" for note in notes)]))


def _verdict(reply: r.Found | r.Packed, shown: Sized) -> list[str]:
    if reply.nothing_relevant:
        return [NOTHING_FITS]
    return [] if shown else ["nothing is shown"]


def _written(reply: r.Written) -> list[str]:
    """Every item of a short list; of a long one what needs a word, and counts of the rest."""
    if len(reply.items) <= ITEMS_SHOWN:
        return [_item(item) for item in reply.items]
    told = [_item(item) for item in reply.items if item.status == "refused"]
    counts = Counter(item.status for item in reply.items)
    return [*told[:ITEMS_SHOWN], *(f"{status}: {n:,}" for status, n in sorted(counts.items()))]


def _item(item: r.Item) -> str:
    if item.status == "refused":
        return f"refused {item.kind} {item.caller_id or ''}: {item.field}: {item.message}"
    parts = [f"{item.status}: {item.kind} {item.id}"]
    if item.event is not None:
        parts.append(f"event {item.event}")
    if item.facts:
        parts.append(f"facts {', '.join(item.facts)}")
    if item.pending:
        parts.append("facts are still to be derived")
    if item.current is not None and item.current != item.id:
        parts.append(f"the current version is {item.current}")
    return ", ".join(parts)


def _line(when: str | None, text: str, *about: str | None) -> str:
    date = f"[{day(when)}] " if when else ""
    # No text, and no name, may begin a line of its own: it could forge one with a made-up id.
    told_about = "; ".join(" ".join(part.split()) for part in about if part)
    body = "\n  ".join(_cut(text.strip()).splitlines())
    return f"- {date}{body} ({told_about})"


def _cut(text: str) -> str:
    """What a model can use; the structured answer has all of it."""
    if len(text) <= TEXT_CHARS_MAX:
        return text
    return f"{text[:TEXT_CHARS_MAX]} … ({len(text) - TEXT_CHARS_MAX:,} more characters)"


def _standing(standing: r.Standing | None) -> str | None:
    if standing is None or standing.state == "current":
        return None
    since = f" {day(standing.at)}" if standing.at else ""
    return f"{standing.state}{since}" + (f" by {standing.by}" if standing.by else "")


def _hit(hit: r.Hit) -> str:
    source = hit.sources[0] if hit.sources else None
    when = hit.valid_from or (source.time if source else None)
    also = f"also {', '.join(hit.also)}" if hit.also else None
    likely = f"score {hit.score:.2f}"
    return _line(when, hit.text, hit.id, likely, also, _standing(hit.standing), _source(source))


def _stages(reply: r.Found | r.Packed) -> list[str]:
    """What models did for the answer, and what that took."""
    told = {
        "rewritten": reply.rewriting,
        "taken apart": reply.decomposing,
        "reranked": reply.reranking,
    }
    return [
        f"{what} in {stage.ms:,.0f} ms, {counted(stage.calls, 'call')}, "
        f"{counted(stage.tokens, 'token')}"
        for what, stage in told.items()
        if stage is not None
    ]


def _source(source: r.Source | None) -> str | None:
    if source is None:
        return None
    named = source.title or source.conversation
    parts = [f"from {source.id}", f"in {named}" if named else "", source.speaker or ""]
    return ", ".join(part for part in parts if part)


def _view(view: r.View) -> str:
    when = view.valid_from or view.said_at or view.recorded_at
    who = view.speaker or view.title
    return _line(when, view.text, view.id, _standing(view.standing), who)


def _page(reply: r.Page) -> list[str]:
    if not reply.items:
        return ["nothing is there"]
    lines = [_view(item) for item in reply.items]
    if reply.has_more:
        shown = f"{len(reply.items)} of {counted(reply.total, 'item')} shown"
        lines.append(f"{shown}; the next page: cursor {reply.cursor}")
    return lines


def _jobs(reply: r.JobList) -> list[str]:
    """The counts that are not 0, then what there is on this page."""
    counts = {
        "pending": reply.pending,
        "failed": reply.failed,
        "parked": reply.parked,
        "without a vector": reply.unembedded,
        "facts to be compared": reply.unjudged,
    }
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    lines = [told or "all that was sent has been read", *map(_job, reply.jobs)]
    if reply.has_more:
        shown = f"{len(reply.jobs)} of {counted(reply.total, 'source')} shown"
        lines.append(f"{shown}; the next page: cursor {reply.cursor}")
    return lines


def _job(job: r.Job) -> str:
    again = f"again at {job.retry_at}" if job.retry_at else None
    tried = counted(job.attempts, "attempt") if job.attempts else None
    about = "; ".join(part for part in (job.why, tried, again) if part)
    return f"- {job.state}: {job.kind} {job.source}" + (f" ({about})" if about else "")


def _versions(reply: r.Versions) -> list[str]:
    lines = [f"current: {reply.current or 'none'}", *(_view(view) for view in reply.versions)]
    shown = reply.events[-_EVENTS_SHOWN:]
    for event in shown:
        undone = f", undone by {event.undone_by}" if event.undone_by else ""
        lines.append(f"{event.recorded_at}: {event.type} ({event.id}{undone})")
    if len(shown) < len(reply.events):
        lines.append(f"{len(reply.events) - len(shown)} earlier events are left out here")
    return lines


def _explained(reply: r.Explained) -> list[str]:
    """The fact, the words that say so, its other versions, how it came out, and the steps."""
    item = reply.item
    lines = [_view(item)]
    for quote in reply.quotes:
        said = quote.words or "(forgotten or gone)"
        lines.append(_line(quote.source.time, f"said: {said}", _source(quote.source)))
    if not reply.quotes:
        lines.append("stated directly, without a source")
    lines += [f"version: {_view(view)}" for view in reply.versions if view.id != item.id]
    if reply.verdict is not None:
        for pair in reply.verdict.pairs:
            lines.append(f"compared with: {_compared(pair, pair.old, pair.old_text)}")
    for verdict in reply.against[-_EVENTS_SHOWN:]:
        for pair in verdict.pairs:
            lines.append(f"compared to it: {_compared(pair, verdict.fact, verdict.fact_text)}")
    return lines + [_step(step) for step in reply.steps[-_EVENTS_SHOWN:]]


def _compared(pair: r.PairView, fact: str, text: str | None) -> str:
    """Another fact, and how it relates: as a person said, else as was found."""
    said = f"{pair.label}, as a person said" if pair.label else ""
    return _line(None, text or "", fact, said or f"{pair.outcome} ({pair.probability:.2f})")


def _step(step: r.Step) -> str:
    over = f", undone by {step.undone_by}" if step.undone_by else ""
    kept = "" if step.undo or step.undone_by else ", cannot be undone"
    if kept and step.type == "forgotten":
        kept = ", restored since"
    return f"{day(step.recorded_at)}: {' '.join(step.what.split())} ({step.event}{over}{kept})"


def _chronicle(reply: r.Chronicle) -> list[str]:
    lines: list[str] = []
    for line in reply.lines:
        lines.append(f"{' '.join((line.attribute or 'otherwise').split())}:")
        lines += [_period(period) for period in line.periods]
    return lines or ["nothing is told of it"]


def _period(period: r.Period) -> str:
    held = f"until {day(period.valid_to)}" if period.valid_to else None
    source = period.sources[0] if period.sources else None
    told = _line(period.valid_from, period.text, period.id, held, _standing(period.standing))
    return told if source is None else f"{told[:-1]}; {_source(source)})"


def _forgot(reply: r.Forgot, tool: str) -> list[str]:
    verb = "restored" if tool == "restore" else "forgot"
    if reply.dry_run:
        verb = "would restore" if tool == "restore" else "would forget"
    events = f" (event {', '.join(reply.events)})" if reply.events else ""
    lines = [f"{verb} {counted(reply.count, 'item')}{events}"]
    if reply.dry_run and reply.batch is not None:
        lines.append(f"to forget these: the same with batch {reply.batch} and dry_run false")
    return lines + [_hidden(item) for item in reply.items]


def _hidden(item: r.Hidden) -> str:
    score = "" if item.score is None else f", score {item.score:.2f}"
    return f"- {item.text or item.kind} ({item.id}{score})"


def _undid(reply: r.Undid) -> list[str]:
    verb = "would undo" if reply.dry_run else "undid"
    event = f" (event {reply.event})" if reply.event else ""
    lines = [f"{verb} {counted(len(reply.dropped), 'event')}{event}"]
    if reply.returned:
        lines.append(f"{counted(len(reply.returned), 'event')} hold again")
    if reply.dependents:
        lines.append(f"taken back with it: {', '.join(reply.dependents)}")
    return lines + [
        f"- {change.change}: {change.text or change.view} ({change.id})" for change in reply.changes
    ]
