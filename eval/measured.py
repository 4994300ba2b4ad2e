"""What extractors and judges do on a set, and what it took: columns of a table.

A message or a pair of which a model gave no usable answer counts as one of which it said nothing;
how many there were stands in a row of its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eval import extraction, judging
from eval.metering import Meter, Price
from rewound.llm.evidence import evidence
from rewound.llm.extraction import ExtractionFailed, Extractor
from rewound.llm.judging import Evidence, Judge, JudgeFailed, Opinion
from rewound.llm.model_judge import PAIRS_MAX
from rewound.llm.policy import Policy, Ruling, shipped

Column = list[tuple[str, str]]
"""Figures of one model, by name."""

UNKNOWN = "—"
COUNTS = re.compile(r"\d+ of \d+")


class Absent(Exception):
    """The server that was to be measured cannot be asked."""


# --- extractors


def extracted(
    extractor: Extractor, wanted: Sequence[extraction.Case], meter: Meter | None
) -> Column:
    """Raises Absent."""
    total = extraction.Score()
    unusable = 0
    begun = time.perf_counter()
    for case in wanted:
        try:
            (drawn,) = extractor.extract([case.said()])
        except ExtractionFailed as failed:
            if meter is not None and meter.is_absent:
                raise Absent(str(failed)) from None
            drawn, unusable = [], unusable + 1
        total.add(case, drawn)
    seconds = time.perf_counter() - begun
    return [
        *((name, _share(share.hits, share.count)) for name, share in total.shares()),
        ("facts per message", f"{total.drawn / max(1, total.messages):.2f}"),
        ("messages without a usable answer", f"{unusable} of {len(wanted)}"),
        ("seconds per message", _seconds(seconds / max(1, len(wanted)))),
    ]


# --- judges


class Opined(NamedTuple):
    """A policy (`judging.Ruler`) with what a model thinks of the pairs that it is asked about."""

    policy: Policy
    opinions: list[Opinion | None]

    def rule_all(self, evidences: Sequence[Evidence]) -> list[Ruling]:
        return self.policy.rule_all(evidences, self.opinions)

    def chances(self, evidences: Sequence[Evidence]) -> npt.NDArray[np.float64]:
        return self.policy.chances(evidences, self.opinions)

    def contradictions(self, evidences: Sequence[Evidence]) -> list[int]:
        return self.policy.contradictions(evidences)


def judged(
    judge: Judge | None,
    section: str,
    examples: Sequence[judging.Example],
    meter: Meter | None,
) -> Column:
    """Raises Absent."""
    opinions: list[Opinion | None] = []
    begun = time.perf_counter()
    found = [evidence(each.pair) for each in examples]
    for start in range(0, len(examples), PAIRS_MAX):
        pairs = [each.pair for each in examples[start : start + PAIRS_MAX]]
        if judge is None:
            opinions += [None] * len(pairs)
            continue
        try:
            opinions += judge.opinions(pairs)
        except JudgeFailed as failed:
            if meter is not None and meter.is_absent:
                raise Absent(str(failed)) from None
            opinions += [None] * len(pairs)
    seconds = time.perf_counter() - begun
    ruler = Opined(shipped(), opinions)
    rows = judging.SECTIONS[section](ruler, examples, found)
    given = [
        opinion.outcome in each.allowed
        for each, opinion in zip(examples, opinions, strict=True)
        if opinion is not None
    ]
    return [
        *((name, _rated(value, note)) for name, value, note in rows),
        ("its own opinion right", UNKNOWN if judge is None else _share(sum(given), len(given))),
        ("pairs without an opinion", UNKNOWN if judge is None else _of(opinions)),
        ("seconds per pair", _seconds(seconds / max(1, len(examples)))),
    ]  # fmt: skip


# --- the table


def _share(hits: int, count: int) -> str:
    return f"{hits / count:.3f} ({hits} of {count})" if count else UNKNOWN


def _of(opinions: Sequence[Opinion | None]) -> str:
    return f"{opinions.count(None)} of {len(opinions)}"


def _rated(value: float, note: str) -> str:
    if note == "0 of 0":
        return UNKNOWN
    return f"{value:.3f} ({note})" if COUNTS.fullmatch(note) else f"{value:.3f}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def account(meter: Meter | None, price: Price | None, things: int) -> Column:
    """What the calls took; of rules nothing."""
    if meter is None:
        told = ("0", "0", "0 / 0", "0", "0")
    else:
        failed = ", ".join(f"{n} {why.name.lower().replace('_', ' ')}" for why, n in
                           meter.failed.most_common())  # fmt: skip
        cost = None if price is None else meter.cost(price)
        told = (
            str(meter.calls),
            failed or "0",
            f"{meter.spent.read} / {meter.spent.written}",
            UNKNOWN if cost is None else f"{cost:.4f}",
            UNKNOWN if cost is None else f"{1000 * cost / max(1, things):.2f}",
        )
    names = ("calls", "failed", "tokens read / written", "cost", "cost of a thousand")
    return list(zip(names, told, strict=True))


def table(title: str, columns: Sequence[tuple[str, Column]]) -> list[str]:
    """Lines of Markdown: a figure a row, a model a column."""
    lines = [
        f"| {title} | " + " | ".join(label for label, _ in columns) + " |",
        "|---" * (1 + len(columns)) + "|",
    ]
    for place, (name, _) in enumerate(columns[0][1]):
        lines.append(f"| {name} | " + " | ".join(rows[place][1] for _, rows in columns) + " |")
    return lines
