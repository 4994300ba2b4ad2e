"""Why hits stand where they do, and why something did not come back, printed for a person."""

from collections.abc import Callable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.render_parts import Sheet, filters_line, joined, moment_line
from rewound.http.render_stages import moved, stages
from rewound.memory.replies import Explanation, Fate, Nearness, Ranking, Traced

FEATURES_TOLD = 8
"""Features that are printed for a hit, the most telling first; `--json` tells all."""


def explanation_lines(why: Explanation, shown: str) -> list[Text]:
    """A few lines below what is shown by its id: each stage, and what told most in the ranking."""
    lines: list[Text] = []
    if why.nearness is not None:
        lines.append(_near(why.nearness))
    if why.rank is not None and why.logit is not None and why.probability is not None:
        parts = [f"ranked anew {why.rank}"]
        if why.score is not None:
            parts.append(f"score {why.score:+.3f}")
        parts.append(f"logit {why.logit:+.3f}, probability {why.probability:.3f}")
        if why.sought:
            parts.append("states what is asked")
        if why.further:
            parts.append(f"{why.further} before it of the same unit")
        if why.unit and why.unit != (why.of or shown):
            parts.append(f"unit {why.unit}")
        lines.append(joined(parts))
    told = [f"{words.one_line(each.name)} {each.adds:+.3f}" for each in why.features]
    if told:
        left = len(told) - FEATURES_TOLD
        more = f" and {left} more (--json)" if left > 0 else ""
        lines.append(joined([f"{', '.join(told[:FEATURES_TOLD])}{more}"]))
    if why.of or why.collapsed:
        of = f"its score is that of {why.of}" if why.of else ""
        same = f"{why.collapsed} more that say the same" if why.collapsed else ""
        lines.append(joined([of, same]))
    return lines


def _near(near: Nearness) -> Text:
    held = f"words {near.share:.3f}, meaning {near.meaning:.3f}"
    before = ""
    if near.previous_share is not None and near.previous_meaning is not None:
        before = f"before it {near.previous_share:.3f}, {near.previous_meaning:.3f}"
    return joined([f"by words and meaning {near.rank}", f"{near.closeness:.3f}", held, before])


def ranking(sheet: Sheet, reply: Ranking) -> None:
    """What holds for all hits."""
    asked = reply.understood
    names = ("when", "many", "suggestion", "assistant", "first_person")
    kinds = [name.replace("_", " ") for name in names if getattr(asked, name)]
    dates = [*(f"month {month}" for month in asked.months), *map(str, asked.years)]
    taken = [*kinds, *dates, *(f"said by {words.one_line(name)}" for name in asked.speakers)]
    by = "words alone" if reply.words_alone else "words and meaning"
    counts = (
        f"{reply.entries:,} entries, {reply.allowed:,} allowed, {reply.found:,} found, "
        f"{reply.candidates:,} ranked anew in {words.counted(reply.units, 'unit')}"
    )
    sheet.dim(f"ranked by {words.one_line(reply.ranker)} {reply.version}, {by}")
    sheet.dim(f"the question was taken for: {', '.join(taken) or 'nothing in particular'}")
    sheet.dim(counts)


def traced(sheet: Sheet, reply: Traced) -> None:
    sheet.line(_fate(reply.fate))
    if reply.explanation is not None:
        for line in explanation_lines(reply.explanation, reply.part or reply.fate.id):
            sheet.line(line)
    if reply.reranked is not None:
        sheet.line(moved(reply.reranked))
    if reply.of_query is not None:
        sheet.line(f"in the search for “{words.one_line(reply.of_query)}”")
    if reply.parts:
        sheet.line("its parts, the nearest first", "bold")
        sheet.table([_part(part) for part in reply.parts])
    sheet.line()
    if reply.ranking is not None:
        ranking(sheet, reply.ranking)
    where = f"the first {words.counted(reply.limit, 'hit')} in {words.one_line(reply.container)}"
    sheet.line(joined([where, moment_line(reply.moment), filters_line(reply.filters)]))
    stages(sheet, reply)
    sheet.notes(reply.notes)


def _fate(fate: Fate) -> Text:
    what = Text(words.one_line(fate.id), style="cyan")
    state = Text("found", "green") if fate.found else Text("not found", "yellow")
    return joined([what, state, Text(words.one_line(fate.told), style="bold"), fate.reason or ""])


def _part(fate: Fate) -> list[str | Text]:
    place = str(fate.place or "") if fate.found else ""
    told = words.one_line(fate.told)
    return [Text(f"  {fate.id}", style="cyan"), fate.kind, Text(place, style="green"), told]


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {Traced: traced}
