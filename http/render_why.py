"""Judgements printed for a person: why a fact is believed, what waits for a word, what changed."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from rich.text import Text

from rewound.http import words
from rewound.http.evidence_words import evidence_line
from rewound.http.render_parts import (
    Sheet,
    change_row,
    joined,
    moment_line,
    source_line,
    stacked,
    standing_text,
    summary,
    wording,
)
from rewound.memory.replies import (
    Explained,
    Fitted,
    Flip,
    Hidden,
    Labelled,
    PairView,
    Rejudged,
    Review,
    ReviewList,
    Standing,
    Step,
    VerdictView,
)

STEPS_MAX = 20
AGAINST_MAX = 8
"""Steps and later facts that are printed, so that all of it stands on one screen."""

SHIPPED = "the policy that comes with Rewound"
OUTCOME_STYLES = {
    "duplicate": "cyan", "updates": "yellow", "corrects": "red", "extends": "green",
    "review": "bold magenta",
}  # fmt: skip


# --- why


def explained(sheet: Sheet, reply: Explained) -> None:
    item = reply.item
    sheet.line(wording(item.text, item.standing))
    sheet.fields(_about(reply))
    if reply.verdict is not None:
        _verdict(sheet, reply.verdict)
    if reply.against:
        sheet.line("later facts compared with it", "bold")
        shown = reply.against[-AGAINST_MAX:]
        sheet.table(
            [_pair(each.fact, each.fact_text, pair) for each in shown for pair in each.pairs]
        )
        _more(sheet, len(reply.against) - len(shown), "earlier one")
    if len(reply.versions) > 1:
        sheet.line("versions, oldest first", "bold")
        sheet.table(
            [
                [Text(f"  {view.id}", style="cyan"), _standing(view.standing), summary(view)]
                for view in reply.versions
            ]
        )
    sheet.line("steps, oldest first", "bold")
    _more(sheet, len(reply.steps) - STEPS_MAX, "earlier step")
    sheet.table([_step(sheet, step) for step in reply.steps[-STEPS_MAX:]])
    if moment := moment_line(reply.moment):
        sheet.dim(moment)
    sheet.notes(reply.notes)


def _about(reply: Explained) -> list[tuple[str, str | Text | None]]:
    item = reply.item
    said = [item.subject, item.attribute, item.value]
    held = " – ".join([words.minute(item.valid_from or "…"), words.minute(item.valid_to or "open")])
    sure = "" if reply.confidence is None else f", confidence {reply.confidence:.2f}"
    by = None if reply.extractor is None else f"by {words.one_line(reply.extractor)}{sure}"
    return [
        ("id", Text(item.id, style="cyan")),
        ("standing", standing_text(item.standing, item.valid_from) if item.standing else None),
        ("holds", held if item.valid_from or item.valid_to else None),
        ("about", " · ".join(words.one_line(part) for part in said if part)),
        ("adds to", " ".join(item.extends)),
        ("drawn", by),
        *(
            ("from", stacked([Text(source_line(quote.source)), _quote(quote.words)]))
            for quote in reply.quotes
        ),
        ("current", item.current if item.current != item.id else None),
    ]


def _quote(text: str | None) -> Text:
    return Text(f"“{words.one_line(text)}”" if text else "", style="italic")


def _standing(standing: Standing | None) -> str | Text:
    """How a version stands, without what ended it: that is among the others."""
    return "" if standing is None else standing_text(msgspec.structs.replace(standing, by=None))


def _verdict(sheet: Sheet, verdict: VerdictView) -> None:
    number = words.counted(len(verdict.pairs), "fact") if verdict.pairs else "nothing"
    by = f" by {words.one_line(verdict.judge)}" if verdict.judge else ""
    policy = SHIPPED if verdict.policy is None else f"the policy of {verdict.policy}"
    sheet.line(Text(f"compared with {number} before it{by}, under {policy}", style="bold"))
    rows: list[list[str | Text]] = []
    for pair in verdict.pairs:
        rows.append(_pair(pair.old, pair.old_text, pair))
        if pair.evidence:
            rows.append(["", "", "", Text(evidence_line(pair.evidence), style="dim")])
    sheet.table(rows)


def _pair(fact: str, text: str | None, pair: PairView) -> list[str | Text]:
    """What was found of it, how surely, with which fact, and what that says."""
    line: list[str | Text] = [Text(words.one_line(text or ""))]
    if pair.leaning:
        line.append(f"leans to {pair.leaning}")
    if pair.label:
        line.append(Text(f"a person said {pair.label} ({pair.label_event})", style="yellow"))
    outcome = Text(f"  {pair.outcome}", style=OUTCOME_STYLES.get(pair.outcome, ""))
    return [outcome, f"{pair.probability:.2f}", Text(fact, style="cyan"), joined(line)]


def _step(sheet: Sheet, step: Step) -> list[str | Text]:
    what = Text(words.one_line(step.what), style="dim strike" if step.undone_by else "")
    command: str | Text = f"rewound undo {step.event}{sheet.look.again}"
    if step.undone_by:
        command = Text(f"undone by {step.undone_by}", style="yellow")
    elif step.undo is None:
        over = step.type == "forgotten"
        command = Text("restored since" if over else "cannot be undone", style="dim")
    position = Text(f"  @{step.position}", style="dim")
    return [position, Text(words.minute(step.recorded_at), style="dim"), command, what]


def _more(sheet: Sheet, number: int, what: str) -> None:
    if number > 0:
        sheet.dim(f"  and {words.counted(number, what)} (--json tells all)")


# --- what waits for a word, and words given


def reviews(sheet: Sheet, reply: ReviewList) -> None:
    rows: list[tuple[str | Text, Text]] = []
    for number, review in enumerate(reply.reviews, 1):
        rows.append((Text(str(number), style="dim"), _review(sheet, review)))
        rows.append(("", Text()))
    if rows:
        sheet.block(rows)
    shown = f"{len(reply.reviews):,} of {reply.total:,}" if reply.reviews else "none"
    where = f"{shown} to be decided in {words.one_line(reply.container)}"
    sheet.line(joined([where, moment_line(reply.moment)]))
    sheet.notes(reply.notes)
    if reply.has_more and reply.cursor:
        sheet.dim(f"more: the same with --cursor {words.quoted(reply.cursor)}")


def _review(sheet: Sheet, review: Review) -> Text:
    """Both sides, what it leans to, and the command that decides so."""
    sides = (
        (review.fact, review.text, review.standing, review.valid_from, review.sources),
        (review.old, review.old_text, review.old_standing, review.old_valid_from,
         review.old_sources),
    )  # fmt: skip
    lines: list[Text] = []
    for fact, text, standing, begun, sources in sides:
        lines.append(wording(words.one_line(text), standing))
        about: list[str | Text] = [Text(fact, style="cyan"), standing_text(standing, begun)]
        lines.append(joined([*about, *(source_line(source) for source in sources[:1])]))
    leaning = f"leans to {review.leaning}, {review.probability:.2f}"
    lines.append(joined([Text(leaning, style="yellow"), evidence_line(review.evidence)]))
    command = f"label {review.fact} {review.old} {review.leaning}"
    lines.append(Text(sheet.told("decide with", command), style="dim"))
    return stacked(lines)


def labelled(sheet: Sheet, reply: Labelled) -> None:
    sheet.line(words.counted(len(reply.labels), "label"), "bold")
    rows: list[list[str | Text]] = [
        [Text(each.fact, style="cyan"), f"{each.was} → {each.outcome}", Text(each.old, "cyan")]
        for each in reply.labels
    ]
    sheet.table(rows)
    sheet.table([change_row(change) for change in reply.changes])
    sheet.notes(reply.notes)
    if len(reply.labels) == 1:
        sheet.hint("undo with", f"undo {reply.labels[0].event}")
    elif reply.group:
        sheet.hint("undo all with", f"undo {reply.group}")


# --- fits, and going over the past again


def fitted(sheet: Sheet, reply: Fitted) -> None:
    would = "would be " if reply.dry_run else ""
    labels = words.counted(reply.labels, "label")
    if reply.accepted:
        sheet.line(f"the policy {would or 'was '}fitted to {labels}", "bold")
    else:
        sheet.line(f"the policy stays as it is ({labels})", "yellow")
        if reply.why:
            sheet.line(words.one_line(reply.why))
    sheet.fields((name, f"{value:g}") for name, value in reply.figures.items())
    _flips(sheet, reply.flips)
    sheet.notes(reply.notes)
    if reply.event and not reply.dry_run:
        sheet.hint("undo with", f"undo {reply.event}")


def rejudged(sheet: Sheet, reply: Rejudged) -> None:
    would = "would be " if reply.dry_run else ""
    sources = words.counted(reply.sources, "source")
    sheet.line(
        f"{sources} {would}read again, {words.counted(reply.judged, 'fact')} {would}compared again",
        "bold",
    )
    for title, items in (("learned", reply.learned), ("ended", reply.ended)):
        if items:
            sheet.line(f"{title} ({len(items):,})", "bold")
            sheet.table([_fact(item) for item in items])
    _flips(sheet, reply.flips)
    sheet.notes(reply.notes)
    if reply.group and not reply.dry_run:
        sheet.hint("undo all with", f"undo {reply.group}")


def _fact(item: Hidden) -> list[str | Text]:
    return [Text(f"  {item.id}", style="cyan"), words.one_line(item.text or "")]


def _flips(sheet: Sheet, flips: Iterable[Flip]) -> None:
    rows: list[list[str | Text]] = []
    for flip in flips:
        both = " / ".join(words.one_line(text) for text in (flip.text, flip.old_text) if text)
        change = f"{flip.was} → {flip.outcome}"
        ids = Text(f"{flip.fact} {flip.old}", style="cyan")
        rows.append([f"  {change}", f"{flip.probability:.2f}", ids, both])
    if rows:
        sheet.line(f"judged otherwise ({len(rows):,})", "bold")
        sheet.table(rows)


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {
    Explained: explained,
    ReviewList: reviews,
    Labelled: labelled,
    Fitted: fitted,
    Rejudged: rejudged,
}
