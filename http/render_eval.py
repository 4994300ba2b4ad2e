"""The figures of `rewound eval` printed for a person: a row for each kind of question."""

from collections.abc import Callable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.render_parts import SEP, Sheet
from rewound.memory.evaluating import Evaluated
from rewound.memory.scoring import Loss, Scores

NO_FIGURE = "-"

_TITLES = ("", "questions", "recall@{k}", "MRR@{k}", "newest first", "nothing found", "tokens")


def evaluated(sheet: Sheet, reply: Evaluated) -> None:
    measured = reply.measured
    titles = [title.format(k=measured.k) for title in _TITLES]
    rows = [_row(kind, scores) for kind, scores in measured.kinds.items()]
    rows.append(_row("all", measured.total))
    widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)]
    for number, row in enumerate([titles, *rows]):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        style = "dim" if number == 0 else "bold" if number == len(rows) else ""
        sheet.line("  ".join(cells), style)
    models = SEP.join(f"{role} {model}" for role, model in measured.models.items())
    sheet.dim(f"a search: {reply.p50_ms:.1f} ms (p50), {reply.p95_ms:.1f} ms (p95){SEP}{models}")
    sheet.notes(reply.notes)
    if reply.compared_with is None:
        return
    where = words.one_line(reply.compared_with)
    if not reply.losses:
        sheet.line(f"no figure is worse than in {where}", "green")
        return
    sheet.line(f"worse than in {where}:", "red")
    sheet.table([_lost(loss) for loss in reply.losses])


def _row(kind: str, scores: Scores) -> list[str]:
    figures = (
        scores.recall,
        scores.reciprocal_rank,
        scores.newest_first,
        scores.nothing_found,
    )
    return [
        words.one_line(kind),
        f"{scores.questions:,}",
        *(_figure(figure) for figure in figures),
        f"{scores.tokens:,.0f}",
    ]


def _figure(figure: float | None) -> str:
    return NO_FIGURE if figure is None else f"{figure:.3f}"


def _lost(loss: Loss) -> list[str | Text]:
    fell = f"{_figure(loss.recorded)} -> {_figure(loss.now)}"
    return [words.one_line(loss.kind), loss.figure, fell, f"may fall by {loss.allowed:.3f}"]


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {Evaluated: evaluated}
