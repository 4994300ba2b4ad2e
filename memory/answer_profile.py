"""The answer to a profile: what is known, in short, within a budget of tokens.

The parts take turns at the budget, so that none crowds out another. The Markdown has no clock in
it, and what is recent stands last: what stands before it stays as it was, for caches of prompts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Kind, Ref
from rewound.memory import requests as q
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import resolve
from rewound.memory.profile_parts import RECENT, STABLE, Part, Parts, Sorter
from rewound.memory.replies import Portrait, ProfileLine
from rewound.memory.showing import Shower
from rewound.projections.naming import blacked_out
from rewound.projections.tokens import tokenize

if TYPE_CHECKING:
    from rewound.llm.token_counting import TokenCounter
    from rewound.projections.facts import FactRow

_TURNS = {STABLE: 2}
"""Lines that a part may take before the next one's turn; 1 for the others."""

_LINE_TOKENS_LEAST = 14
"""A line without a word: its date, its id, its marks."""

_MISSES_MAX = 4
"""So many facts in a row that are too long for what is left end a part."""

LINE_CHARS_MAX = 400
"""A longer text is cut: by its id all of it can be had."""


@answers(q.Profile)
def profile(asked: q.Profile, asking: Asking) -> Portrait:
    """Facts that hold at the moment, in parts; each part's best first."""
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    sorter = Sorter(view, asked, when)
    parts = sorter.parts(asking.meanings)
    about = "" if asked.subject is None else f" about {parts.subject}"
    title = f"# What is known{about}"
    packer, text, tokens = _packed(
        sorter, parts, Shower(view, when), title, asked.budget, asking.counter
    )
    lists = {part.name: packer.lines_of(part) for part in parts.parts}
    stable, recent = lists.pop(STABLE), lists.pop(RECENT)
    notes = (*parts.notes, *((asking.meaningless,) if asking.meaningless else ()))
    left_out = packer.left_out()
    if left_out:
        facts = "more fact does" if left_out == 1 else "more facts do"
        notes = (*notes, f"{left_out:,} {facts} not fit into the budget")
    elif not packer.chosen and not parts.notes:
        notes = (*notes, "nothing that belongs into a profile is known at this moment")
    return Portrait(
        container=asking.name,
        subject=parts.subject,
        text=text,
        tokens=tokens,
        budget=asked.budget,
        counter=asking.counter.name,
        stable=stable,
        recent=recent,
        buckets=lists,
        left_out=left_out,
        moment=when.told(zoned=parts.zoned),
        notes=notes,
    )


def _packed(
    sorter: Sorter, parts: Parts, shower: Shower, title: str, budget: int, counter: TokenCounter
) -> tuple[_Packer, str, int]:
    """What fits, as Markdown, and its tokens: packed anew with less where lines have more tokens
    together than one by one."""
    spare = 0
    while True:
        packer = _Packer(sorter, parts, shower, title, budget - spare, counter)
        packer.pack()
        text = packer.markdown()
        tokens = counter.whole(text)
        if tokens is None:
            return packer, text, budget - packer.left
        if tokens <= budget:
            return packer, text, tokens
        spare += tokens - budget


class _Told(NamedTuple):
    """A fact as it is told, and its line in the Markdown."""

    line: ProfileLine
    written: str


class _Packer:
    """Chooses facts within a budget, and writes them down."""

    def __init__(
        self,
        sorter: Sorter,
        parts: Parts,
        shower: Shower,
        title: str,
        budget: int,
        counter: TokenCounter,
    ) -> None:
        self.left = budget
        self._tokens_of = counter.line
        self.chosen: dict[int, _Told] = {}
        self._sorter = sorter
        self._parts = parts.parts
        self._shower = shower
        self._most = budget // _LINE_TOKENS_LEAST + 1
        self._title = title
        self._begun: set[str] = set()
        self._said: set[tuple[str, ...]] = set()
        self._passed: set[int] = set()
        """Facts that say what another one says already, or words that are blacked out."""

    def pack(self) -> None:
        turns = [(part, self._offered(part)) for part in self._parts]
        while turns and self.left >= _LINE_TOKENS_LEAST:
            turns = [(part, offered) for part, offered in turns if self._turn(part, offered)]

    def _turn(self, part: Part, offered: Iterator[tuple[int, _Told]]) -> bool:
        """Take the part's next facts; whether it may have more."""
        wanted, misses = _TURNS.get(part.name, 1), 0
        for ordinal, told in offered:
            cost = told.line.tokens + self._headings(self._home(ordinal))
            if cost > self.left:
                misses += 1
                if misses >= _MISSES_MAX:
                    return False
                continue
            self.left -= cost
            self._begun.add(self._home(ordinal))
            self.chosen[ordinal] = told
            self._said.add(_words(told.line.text))
            wanted -= 1
            if not wanted:
                return True
        return False

    def _offered(self, part: Part) -> Iterator[tuple[int, _Told]]:
        """The part's facts that are not told yet, best first, read one by one."""
        for ordinal in self._sorter.best(part, self._most).tolist():
            if ordinal in self.chosen or ordinal in self._passed:
                continue
            told = self._told(ordinal)
            if told is None or _words(told.line.text) in self._said:
                self._passed.add(ordinal)
            else:
                yield ordinal, told

    def left_out(self) -> int:
        """Facts of any part that are not told, but for those that say what is told."""
        belongs = np.logical_or.reduce([part.mask for part in self._parts])
        return int(np.count_nonzero(belongs)) - len(self.chosen) - len(self._passed)

    def lines_of(self, part: Part) -> tuple[ProfileLine, ...]:
        """All that is told of what belongs to a part, best first."""
        own = [ordinal for ordinal in self.chosen if part.mask[ordinal]]
        own.sort(key=lambda ordinal: (-float(part.keys[ordinal]), self._sorter.item(ordinal)))
        return tuple(self.chosen[ordinal].line for ordinal in own)

    # --- Markdown

    def _home(self, ordinal: int) -> str:
        """The part under which a fact is written: the last but stable one that it belongs to
        first, since what is recent passes on to the others in time."""
        stable, *buckets, recent = self._parts
        for part in (recent, *buckets):
            if part.mask[ordinal]:
                return part.name
        return stable.name

    def _headings(self, home: str) -> int:
        """What the headings cost that a first line brings along, with the empty lines."""
        if home in self._begun:
            return 0
        cost = self._tokens_of("") + self._tokens_of(_heading(home))
        return cost if self._begun else cost + self._tokens_of(self._title)

    def markdown(self) -> str:
        """Empty when nothing is told."""
        written: list[str] = [self._title] if self.chosen else []
        for part in self._parts:
            lines = [
                self.chosen[ordinal].written
                for ordinal in sorted(
                    (each for each in self.chosen if self._home(each) == part.name),
                    key=lambda each: (-float(part.keys[each]), self._sorter.item(each)),
                )
            ]
            if lines:
                written += ["", _heading(part.name), *lines]
        return "\n".join(written)

    # --- one fact

    def _told(self, ordinal: int) -> _Told | None:
        """None for what is partly blacked out, or erased."""
        shower = self._shower
        raw = self._sorter.item(ordinal)
        row = shower.view.fact(raw, shower.when.at)
        assert row is not None, "a fact in the index has a row"
        ref, state = Ref(Kind.FACT, raw), row.state
        text = " ".join(shower.text(ref, state).split())
        if not text or blacked_out(shower.view, state):
            return None
        if len(text) > LINE_CHARS_MAX:
            text = text[:LINE_CHARS_MAX].rsplit(" ", 1)[0] + " …"
        since, until = shower.validity(state)
        said = self._times_said(state)
        when = " to ".join(bound[:10] for bound in (since, until) if bound)
        often = f", {said} sources" if said > 1 else ""
        written = f"- [{when}] {text} ({ref}{often})"
        kind = FactKind(state.kind).name.lower()
        line = ProfileLine(
            id=str(ref),
            kind=kind,
            text=text,
            sources=said,
            tokens=self._tokens_of(written),
            since=since,
            until=until,
        )
        return _Told(line, written)

    def _times_said(self, state: FactRow) -> int:
        """By how many documents and messages that may be shown; what was stated directly counts
        as one."""
        view, at = self._shower.view, self._shower.when.at
        rows = (view.fact(raw, at) for raw in state.repeated_by)
        repeats = [
            row.state
            for row in rows
            if row is not None and not self._shower.hides(Ref(Kind.FACT, row.id))
        ]
        sources: set[Ref] = set()
        alone = 0
        for each in (state, *repeats):
            alone += not each.sources
            sources |= {span.source for span in each.sources if not self._shower.hides(span.source)}
        return max(1, len(sources) + alone)


def _heading(name: str) -> str:
    return f"## {name[:1].upper()}{name[1:]}"


def _words(text: str) -> tuple[str, ...]:
    return tuple(tokenize(text))
