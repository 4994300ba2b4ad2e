"""What an extractor draws, against a frozen set: `python -m eval.extraction [--show]`.

Each line of the set is a message, the facts that any careful person would note from it, and word
lists that no fact drawn from it may hold. Where judgement may differ the set says nothing, so
facts beyond the expected ones are no fault, except in a message of which nothing is expected.

How words are compared: whole, without regard to case. One of `expect.about` may give choices
(`not|doesn't`) and may be a phrase. In scripts without spaces between words any part counts.
"""

import re
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import click
import msgspec

from rewound.eventlog.instants import (
    Instant,
    Precision,
    from_us,
    parse_instant,
    show_instant,
    zone_named,
)
from rewound.llm.extraction import Drawn, Extractor, Role, Said

SET = Path(__file__).parent / "datasets" / "extraction.jsonl"
ANY_DATE = "?"
_SPACELESS = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_PLAIN = str.maketrans({"’": "'", "‘": "'", "‑": "-", "\u00a0": " "})


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fact to be drawn: its text holds all of `about` and none of `never`.

    `valid_from` is the day, month or year since when it holds, exactly as said; None when the text
    names no time, "?" when judgement may differ. `kind` None is not scored.
    """

    about: tuple[str, ...]
    never: tuple[str, ...]
    valid_from: str | None
    kind: Literal["fact", "preference", "episode", "procedure"] | None


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message and what is to be drawn from it; `note` says what it tries."""

    id: str
    text: str
    at: str
    zone: str
    role: Role
    speaker: str | None
    expect: tuple[Expected, ...]
    forbid: tuple[tuple[str, ...], ...]
    note: str

    def said(self) -> Said:
        at = parse_instant(self.at).at
        return Said(self.text, at, self.zone, self.role, self.speaker)


def cases(path: Path = SET) -> list[Case]:
    decode = msgspec.json.Decoder(Case).decode
    return [decode(line) for line in path.read_bytes().splitlines()]


def holds(text: str, word: str) -> bool:
    """True when the text holds the word, or one of the choices that it gives."""
    plain = text.translate(_PLAIN).casefold()
    for choice in word.translate(_PLAIN).casefold().split("|"):
        pattern = re.escape(choice)
        if not _SPACELESS.search(choice):
            pattern = rf"(?<!\w){pattern}(?!\w)"
        if re.search(pattern, plain):
            return True
    return False


def holds_all(text: str, words: Iterable[str]) -> bool:
    return all(holds(text, word) for word in words)


def fits(drawn: Drawn, expected: Expected) -> bool:
    """True when the drawn fact is the expected one, whatever its date and kind."""
    return holds_all(drawn.text, expected.about) and not any(
        holds(drawn.text, word) for word in expected.never
    )


def shown(instant: Instant, zone: str) -> str:
    """An instant as it was said; where no offset was, in the zone of the message."""
    if instant.offset is not None:
        return show_instant(instant)
    if zone[0] in "+-":
        offset = parse_instant(f"2000-01-01T00:00{zone}").offset
    else:
        local = from_us(instant.at).astimezone(zone_named(zone)).strftime("%Y-%m-%dT%H:%M:%S%z")
        offset = parse_instant(local).offset
    return show_instant(msgspec.structs.replace(instant, offset=offset))


def dated(drawn: Drawn, wanted: str, zone: str) -> bool:
    """True when the fact holds since `wanted`. A day may come with its time; a month or a year
    must not be made more exact than it was said."""
    if drawn.valid_from is None:
        return False
    date = shown(drawn.valid_from, zone)
    return date.startswith(wanted) if len(wanted) == len("2026-03-01") else date == wanted


def dated_anew(drawn: Drawn, said: Said) -> bool:
    """True when the fact has a date other than the day on which it was said."""
    today = shown(Instant(said.at, Precision.DAY, None), said.zone)
    return drawn.valid_from is not None and not dated(drawn, today, said.zone)


class Share:
    """How many of how many."""

    def __init__(self) -> None:
        self.hits = 0
        self.count = 0

    def add(self, hit: bool) -> None:
        self.hits += hit
        self.count += 1

    @property
    def value(self) -> float:
        """Of nothing: 0."""
        return self.hits / max(self.count, 1)


class Score:
    """Shares over a set, and a line for each fault."""

    def __init__(self) -> None:
        self.recall = Share()
        self.forbidden = Share()
        """Messages of which a fact was drawn that must not be, of all that name one."""
        self.idle = Share()
        """Messages that state nothing and yield something, of all that state nothing."""
        self.dates = Share()
        """Right dates, of the dates of expected facts that were found."""
        self.invented = Share()
        """Dates given, of the found facts whose text names none."""
        self.kinds = Share()
        self.most = 0
        self.drawn = 0
        self.messages = 0
        self.faults: list[str] = []

    def add(self, case: Case, drawn: Sequence[Drawn]) -> None:
        self.messages += 1
        self.drawn += len(drawn)
        self.most = max(self.most, len(drawn))
        for expected in case.expect:
            self._seek(case, expected, drawn)
        if case.forbid:
            bad = [d.text for d in drawn if any(holds_all(d.text, words) for words in case.forbid)]
            self.forbidden.add(bool(bad))
            self._blame("forbidden", case, bad)
        if not case.expect:
            self.idle.add(bool(drawn))
            self._blame("from nothing", case, [one.text for one in drawn])

    def _seek(self, case: Case, expected: Expected, drawn: Sequence[Drawn]) -> None:
        """Score the best of the drawn facts that fit one expected."""
        fitting = [one for one in drawn if fits(one, expected)]
        self.recall.add(bool(fitting))
        if not fitting:
            wanted = f"{', '.join(expected.about)} without {', '.join(expected.never) or 'nothing'}"
            self._blame("missed", case, [f"{wanted}; drawn: {[one.text for one in drawn]}"])
            return
        best = self._check_date(case, expected.valid_from, fitting)
        kind = best.kind.name.lower()
        if expected.kind:
            self.kinds.add(kind == expected.kind)
            if kind != expected.kind:
                self._blame("kind", case, [f"{kind} instead of {expected.kind}: {best.text}"])

    def _check_date(self, case: Case, wanted: str | None, fitting: Sequence[Drawn]) -> Drawn:
        """Score the date of the first fact that has it right, else of the first; returns it."""
        if wanted == ANY_DATE:
            return fitting[0]
        said = case.said()
        right = [
            one
            for one in fitting
            if (dated(one, wanted, case.zone) if wanted else not dated_anew(one, said))
        ]
        if wanted:
            self.dates.add(bool(right))
        else:
            self.invented.add(not right)
        best = (right or fitting)[0]
        if not right:
            given = shown(best.valid_from, case.zone) if best.valid_from else "none"
            self._blame("date", case, [f"{given} instead of {wanted or 'none'}: {best.text}"])
        return best

    def _blame(self, fault: str, case: Case, whats: Iterable[str]) -> None:
        self.faults += [f"{fault:<13}{case.id} ({case.note}) {what}" for what in whats]

    def shares(self) -> tuple[tuple[str, Share], ...]:
        """What is measured; for recall, dates and kinds more is better, for the rest less."""
        return (
            ("expected facts found", self.recall),
            ("messages with a forbidden fact", self.forbidden),
            ("facts drawn from nothing", self.idle),
            ("dates right", self.dates),
            ("dates invented", self.invented),
            ("kinds right", self.kinds),
        )

    def rows(self) -> list[str]:
        """One line a figure."""
        rate = self.drawn / max(self.messages, 1)
        named = self.shares()
        return [
            *(f"{name:<34}{part.value:6.3f}  {part.hits} of {part.count}" for name, part in named),
            f"{'facts per message':<34}{rate:6.2f}  at most {self.most}",
        ]


def score(extractor: Extractor, wanted: Sequence[Case]) -> Score:
    """Give each message to the extractor by itself."""
    total = Score()
    for case in wanted:
        (drawn,) = extractor.extract([case.said()])
        total.add(case, drawn)
    return total


def speed(extractor: Extractor, wanted: Sequence[Case], rounds: int = 5) -> float:
    """Messages per second, the best of some rounds over the set."""
    saids = [case.said() for case in wanted]
    best = float("inf")
    for _ in range(rounds):
        begun = time.perf_counter()
        for said in saids:
            extractor.extract([said])
        best = min(best, time.perf_counter() - begun)
    return len(saids) / best


@click.command()
@click.option(
    "--set",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=SET,
    help="JSON lines in the form of eval/datasets/extraction.jsonl.",
)
@click.option("--show", is_flag=True, help="Print every fault.")
def main(path: Path, show: bool) -> None:
    """Print how well the rules draw facts from the set."""
    from rewound.llm.rules import RulesExtractor

    extractor: Extractor = RulesExtractor()
    wanted = cases(path)
    total = score(extractor, wanted)
    if show:
        for fault in total.faults:
            click.echo(fault)
    click.echo(f"{extractor.name} on {total.messages} messages")
    for row in total.rows():
        click.echo(row)
    click.echo(f"{'messages per second':<34}{speed(extractor, wanted):6.0f}")


if __name__ == "__main__":
    main()
