"""Time expressions against a public set: `python -m eval.dates --data FOLDER [--show]`.

Each text of the set has a reference moment and the expressions in it with all the values that they
may have. An expression is right when a reading overlaps it, is of the same kind and has one of
these values; of what the set itself leaves without a value (what recurs, fiscal years) the kind
must be right. A reading where the set names nothing is false, and counts as wrong when it is sure.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import click
import msgspec

from eval.corpora import lines
from rewound.llm.time_context import Context
from rewound.llm.time_expressions import tense_of
from rewound.llm.time_readings import SURE, read
from rewound.llm.time_resolving import Reading

_DATES = ("date", "daterange")
_UNRESOLVED = "not resolved"


class Named(msgspec.Struct, frozen=True):
    """An expression of the set; `values` are all that it may mean."""

    text: str
    type: str | None = None
    values: tuple[dict[str, str], ...] | None = None

    @property
    def kind(self) -> str:
        given = self.type or (self.values or ({},))[0].get("type", "none")
        return given.removeprefix("datetimeV2.")


class Case(msgspec.Struct, frozen=True):
    """A text, the local moment it is read at, and what it names."""

    text: str
    results: tuple[Named, ...]
    ref: str | None = None

    @property
    def half(self) -> str:
        return "train" if hashlib.sha256(self.text.encode()).digest()[0] % 2 == 0 else "held"


def shown(reading: Reading) -> dict[str, str]:
    """A reading's value in the way the set writes it."""
    if reading.kind == "duration":
        return {"value": str(reading.seconds)}
    form = {"date": "%Y-%m-%d", "time": "%H:%M:%S"}.get(reading.kind.removesuffix("range"))
    form = form or "%Y-%m-%d %H:%M:%S"
    if not reading.kind.endswith("range"):
        return {"value": reading.first.strftime(form)} if reading.first else {}
    ends = (("start", reading.first), ("end", reading.last))
    return {name: moment.strftime(form) for name, moment in ends if moment}


def fits(reading: Reading, named: Named) -> bool:
    """True when the reading has the kind and one of the values of the expression."""
    if reading.kind != named.kind:
        return False
    values = named.values or ()
    if any(value.get("value") == _UNRESOLVED for value in values):
        return reading.kind == "set" or reading.confidence < SURE
    keys = ("value", "start", "end")
    mine = shown(reading)
    return any({key: value[key] for key in keys if key in value} == mine for value in values)


class Tally:
    """How the expressions of one kind fared."""

    def __init__(self) -> None:
        self.right = self.wrong = self.unresolved = 0
        self.sure_right = self.sure_wrong = 0

    @property
    def count(self) -> int:
        return self.right + self.wrong + self.unresolved

    def row(self) -> str:
        share = self.right / max(self.count, 1)
        return (
            f"{self.count:6}{self.right:7}{share:8.1%}{self.wrong:7}{self.unresolved:12}"
            f"{self.sure_right:13}{self.sure_wrong:13}"
        )


class Score:
    """Tallies by kind, readings where nothing is named, and a line for each fault."""

    def __init__(self) -> None:
        self.kinds: dict[str, Tally] = defaultdict(Tally)
        self.texts = 0
        self.false = 0
        self.false_sure = 0
        self.faults: list[str] = []

    def add(self, case: Case) -> None:
        self.texts += 1
        now = datetime.fromisoformat(case.ref) if case.ref else datetime(2016, 11, 7)
        readings = read(case.text, Context(now, tense_of(case.text) == "past"))
        left = list(readings)
        for named, start, end in _placed(case):
            over = [one for one in left if one.start < end and start < one.end]
            right = next((one for one in over if fits(one, named)), None)
            best = right or (over[0] if over else None)
            tally = self.kinds[named.kind]
            if right is not None:
                tally.right += 1
                tally.sure_right += right.confidence >= SURE
            elif best is None:
                tally.unresolved += 1
                self._blame("unresolved", case, named, None)
            else:
                tally.wrong += 1
                tally.sure_wrong += best.confidence >= SURE
                self._blame("sure" if best.confidence >= SURE else "wrong", case, named, best)
            left = [one for one in left if one is not best]
        for reading in left:
            if not any(
                reading.start < end and start < reading.end for _, start, end in _placed(case)
            ):
                self.false += 1
                self.false_sure += reading.confidence >= SURE
                self._blame(
                    "false sure" if reading.confidence >= SURE else "false", case, None, reading
                )

    def _blame(self, fault: str, case: Case, named: Named | None, reading: Reading | None) -> None:
        words = case.text[reading.start : reading.end] if reading else ""
        found = f"{reading.kind} {words!r} {shown(reading)} {reading.confidence}" if reading else ""
        wanted = f"{named.kind} {named.text!r} {_wanted(named)}" if named else "nothing"
        self.faults.append(
            f"{fault:<11}{case.text[:200]} [{case.ref}]\n    {wanted}\n    {found or 'not found'}"
        )

    def total(self, kinds: Sequence[str] | None = None) -> Tally:
        """The tallies of these kinds, or of all, added up."""
        total = Tally()
        for kind, tally in self.kinds.items():
            if kinds is None or kind in kinds:
                for name in ("right", "wrong", "unresolved", "sure_right", "sure_wrong"):
                    setattr(total, name, getattr(total, name) + getattr(tally, name))
        return total

    def rows(self) -> Iterator[str]:
        head = f"{'kind':<22}{'named':>6}{'right':>7}{'':>8}{'wrong':>7}{'unresolved':>12}"
        yield f"{head}{'right, sure':>13}{'wrong, sure':>13}"
        for kind in sorted(self.kinds, key=lambda kind: -self.kinds[kind].count):
            yield f"{kind:<22}{self.kinds[kind].row()}"
        yield f"{'dates and date ranges':<22}{self.total(_DATES).row()}"
        total = self.total()
        yield f"{'all':<22}{total.row()}"
        yield f"read where nothing is named: {self.false}, of these sure: {self.false_sure}"
        sure = total.sure_wrong + self.false_sure
        yield f"wrong with high confidence: {sure} = {sure / max(total.count, 1):.1%} of all named"


def _wanted(named: Named) -> list[dict[str, str]]:
    keys = ("value", "start", "end")
    return [{key: value[key] for key in keys if key in value} for value in named.values or ()]


def _placed(case: Case) -> Iterator[tuple[Named, int, int]]:
    """Each expression with its place in the text; it is searched for after the one before."""
    place = 0
    text = case.text.lower()
    for named in case.results:
        start = text.find(named.text.lower(), place)
        start = text.find(named.text.lower()) if start < 0 else start
        place = start + len(named.text)
        yield named, start, place


@click.command()
@click.option("--data", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--half", type=click.Choice(["train", "held", "all"]), default="all")
@click.option("--show", is_flag=True, help="Print every fault.")
def main(data: Path, half: str, show: bool) -> None:
    """Print how well the time expressions of the set are resolved, by kind."""
    score = Score()
    for case in lines(data / "dates" / "dates.jsonl.gz", Case):
        if half in ("all", case.half):
            score.add(case)
    if show:
        for fault in score.faults:
            click.echo(fault)
    click.echo(f"{score.texts} texts, half: {half}")
    for row in score.rows():
        click.echo(row)


if __name__ == "__main__":
    main()
