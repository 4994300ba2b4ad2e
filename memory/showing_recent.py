"""The recent part of a conversation as replies tell it, and as lines to be put before a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rewound.eventlog.ids import Kind, Ref, show
from rewound.eventlog.instants import show_instant, show_us
from rewound.llm.summarizing import gists_of
from rewound.llm.token_counting import TokenCounter
from rewound.memory.moments import LAST_US
from rewound.memory.recent_replies import OlderFact, ShortTerm, Summary, ToldBy, Turn
from rewound.memory.recounting import Drawn, Recounting, Told, cites_of
from rewound.memory.showing import Shower
from rewound.memory.unsummarised import recent_from

if TYPE_CHECKING:
    from rewound.projections.messages import MessageRow
    from rewound.projections.rows import Row

NO_BOUND = 1 << 40
_OLDER_SHARE = 3
"""One part in so many of a context's room is for what stands for older messages."""

_CUT_CHARS_MIN = 80
_SUMMARY_HEAD = "Summary of {count} earlier messages, {since} to {until} ({id}):"
_FACTS_HEAD = "Known from {count} earlier messages:"
_TURNS_HEAD = "The last messages:"


class Bounds(NamedTuple):
    """`recent_chars` bounds the texts of recent messages, `older_chars` those of facts; the tokens
    bound the lines, where they are to fit into a context."""

    recent_chars: int
    older_chars: int
    recent_tokens: int = NO_BOUND
    older_tokens: int = NO_BOUND


def bounds_within(tokens: int, recent_chars: int) -> Bounds:
    """Those of a part of a context."""
    older = tokens // _OLDER_SHARE
    return Bounds(recent_chars, NO_BOUND, tokens - older, older)


class Recounter:
    """Tells one conversation's recent part to one reader."""

    def __init__(self, shower: Shower, bounds: Bounds, counter: TokenCounter) -> None:
        self._shower = shower
        self._view = shower.view
        self._bounds = bounds
        self._counter = counter
        self._tokens_of = counter.line

    def fits(self, rows: Sequence[Row[MessageRow]]) -> int:
        """The first of the messages that are shown as they are; the last is always."""
        first = recent_from(rows, self._bounds.recent_chars)
        left = self._bounds.recent_tokens - self._tokens_of(_TURNS_HEAD)
        if self._bounds.recent_tokens == NO_BOUND:
            return first
        for number in range(len(rows) - 1, first - 1, -1):
            left -= self._tokens_of(_line_of(self._turn(rows[number])))
            if left < 0:
                return min(number + 1, len(rows) - 1)
        return first

    def told(self, conversation: str, found: Recounting) -> ShortTerm:
        turns = tuple(self._fitting(self._turn(row)) for row in found.recent)
        summaries = tuple(self._summary(each) for each in found.summaries)
        facts = self._facts(found.facts)
        lines: list[str] = []
        for summary in summaries:
            head = _SUMMARY_HEAD.format(
                count=summary.count, since=summary.since[:10], until=summary.until[:10],
                id=summary.id,
            )  # fmt: skip
            lines += (head, *(f"- {line}" for line in summary.text.splitlines()))
        if facts:
            lines.append(_FACTS_HEAD.format(count=len(found.untold)))
            lines += (_fact_line(fact) for fact in facts)
        lines.append(_TURNS_HEAD)
        lines += map(_line_of, turns)
        text = "\n".join(lines)
        whole = self._counter.whole(text)
        told_by: ToldBy = "summary" if summaries else "nothing"
        if facts:
            told_by = "both" if summaries else "facts"
        return ShortTerm(
            conversation=conversation,
            conversations=tuple(show(Kind.CONVERSATION, raw) for raw in found.conversations),
            messages=turns,
            summaries=summaries,
            facts=facts,
            told_by=told_by,
            older=len(found.older),
            summed=len(found.older) - len(found.untold),
            left_out=len(found.facts) - len(facts),
            chars=sum(len(turn.text) for turn in turns),
            tokens=sum(map(self._tokens_of, lines)) if whole is None else whole,
            counter=self._counter.name,
            text=text,
        )

    # --- messages

    def _turn(self, row: Row[MessageRow]) -> Turn:
        state = row.state
        ref = Ref(Kind.MESSAGE, row.id)
        return Turn(
            id=str(ref),
            role=state.role.name.lower(),
            text=self._shower.text(ref, state),
            time=_time_of(row),
            speaker=self._view.text(state.speaker),
            scope=self._view.value(state.scope) or {},
        )

    def _fitting(self, turn: Turn) -> Turn:
        """Only the last message may be longer than what there is room for."""
        most = self._bounds.recent_tokens - self._tokens_of(_TURNS_HEAD)
        over = self._tokens_of(_line_of(turn)) - most
        if over <= 0:
            return turn
        text = " ".join(turn.text.split())
        least = _CUT_CHARS_MIN
        while over > 0 and len(text) > least:
            text = text[: max(least, len(text) - over)].rstrip()
            cut = msgspec.structs.replace(turn, text=f"{text} …", cut=True)
            over = self._tokens_of(_line_of(cut)) - most
            turn = cut
        return turn

    # --- what stands for older ones

    def _summary(self, told: Told) -> Summary:
        event, cites = cites_of(self._view, told.held)
        recorded = self._view.event(told.held.entry.at)
        assert recorded is not None
        name = event.summarizer
        first, last = told.rows[0], told.rows[-1]
        times = sorted(map(_time_of, told.rows))
        summary = Summary(
            id=show(Kind.EVENT, told.held.entry.event),
            text=told.held.text,
            cites=tuple(map(str, cites)),
            first=show(Kind.MESSAGE, first.id),
            last=show(Kind.MESSAGE, last.id),
            count=len(told.rows),
            since=times[0],
            until=times[-1],
            scope=told.scope,
            summarizer=None if name is None else self._view.text(name.seen_from(recorded.position)),
        )
        return self._shortened(summary)

    def _shortened(self, summary: Summary) -> Summary:
        """As many of its sentences as there is room for, from its beginning."""
        left = self._bounds.older_tokens
        kept: list[str] = []
        lines = summary.text.splitlines()
        for line in lines:
            left -= self._tokens_of(f"- {line}")
            if left < 0:
                break
            kept.append(line)
        if len(kept) == len(lines):
            return summary
        cited = {number for line in kept for each in gists_of(line) for number in each.sources}
        return msgspec.structs.replace(
            summary,
            text="\n".join(kept),
            cites=summary.cites[: max(cited, default=0)],
            cut=True,
        )

    def _facts(self, drawn: Sequence[Drawn]) -> tuple[OlderFact, ...]:
        """Those of the latest messages, as far as there is room, in their order."""
        chars, tokens = self._bounds.older_chars, self._bounds.older_tokens
        kept: list[OlderFact] = []
        for each in reversed(drawn):
            fact = self._fact(each)
            chars -= len(fact.text)
            tokens -= self._tokens_of(_fact_line(fact))
            if chars < 0 or tokens < 0:
                break
            kept.append(fact)
        return tuple(reversed(kept))

    def _fact(self, drawn: Drawn) -> OlderFact:
        ref = Ref(Kind.FACT, drawn.row.id)
        since, _ = self._shower.validity(drawn.row.state)
        return OlderFact(
            id=str(ref),
            text=self._shower.text(ref, drawn.row.state),
            messages=tuple(map(str, drawn.messages)),
            since=since,
        )


def _time_of(row: Row[MessageRow]) -> str:
    said = row.state.said_at
    return show_us(min(row.state.recorded_at, LAST_US)) if said is None else show_instant(said)


def _line_of(turn: Turn) -> str:
    """One line, so that no message can forge another."""
    who = " ".join((turn.speaker or turn.role).split())
    when = turn.time[:16].replace("T", " ")
    return f"- [{when}] {who}: {' '.join(turn.text.split())} ({turn.id})"


def _fact_line(fact: OlderFact) -> str:
    return f"- [{(fact.since or '')[:10]}] {' '.join(fact.text.split())} ({fact.id})"
