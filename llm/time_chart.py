"""A chart of what the stretches of a text may mean, built bottom-up by rules.

A rule is a row of items, each a pattern of words or a kind of meaning that was found before, and a
function that makes a new meaning from them. Rules are applied until none makes anything new.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_SPACE = re.compile(r"\s*,?\s*")
_LETTER = r"[^\W\d_]"
_APART = rf"(?:(?<!{_LETTER})|(?!{_LETTER}))"
"""Not inside a word."""
_PLAIN = re.compile(r"[a-z |]+")
_MOST_ROUNDS = 8
_MOST_NODES = 800
"""A text that means more than so many things at once means none of them."""


class Node(NamedTuple):
    """Characters [start, end) and what they may mean; `sure` is 0 to 1."""

    start: int
    end: int
    value: Any
    sure: float


class Rule(NamedTuple):
    """`items` are regular expressions or classes of values, in their order in the text.

    A string that begins with `?` may be absent. `make` gets the context and, for each item, the
    match, None or the value, and returns the new value or None when they do not fit.
    """

    items: tuple[Any, ...]
    make: Callable[..., Any]
    sure: float = 1.0


class _Pattern(NamedTuple):
    """A pattern of words; where it is made of plain words, one of those must be in the text."""

    words: tuple[str, ...]
    match: re.Pattern[str]
    begins: re.Pattern[str]


class _Step(NamedTuple):
    """An item, compiled: either a pattern or the classes of values that fit."""

    pattern: _Pattern | None
    classes: frozenset[type]
    optional: bool


class _Plan(NamedTuple):
    """A rule, compiled. `needed` are the patterns that must be in the text."""

    steps: tuple[_Step, ...]
    needed: tuple[_Pattern, ...]
    classes: tuple[frozenset[type], ...]
    make: Callable[..., Any]
    sure: float


def _step(item: Any) -> _Step:
    if not isinstance(item, str):
        return _Step(None, frozenset(item if isinstance(item, tuple) else (item,)), False)
    bare = item.removeprefix("?")
    words = tuple(bare.split("|")) if _PLAIN.fullmatch(bare) else ()
    whole = rf"{_APART}(?:{bare}){_APART}"
    pattern = _Pattern(words, re.compile(whole, re.I), re.compile(rf"(?={whole})", re.I))
    return _Step(pattern, frozenset(), bare != item)


class Grammar:
    """Rules, compiled, in their order."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self.plans = _planned(rules)
        self._by_class: dict[type, list[int]] = defaultdict(list)
        for index, plan in enumerate(self.plans):
            for kind in {kind for kinds in plan.classes for kind in kinds}:
                self._by_class[kind].append(index)

    def about(self, kinds: set[type]) -> list[_Plan]:
        """The rules that have an item of one of these classes."""
        indexes = {index for kind in kinds for index in self._by_class.get(kind, ())}
        return [self.plans[index] for index in sorted(indexes)]


def _planned(rules: tuple[Rule, ...]) -> tuple[_Plan, ...]:
    plans: list[_Plan] = []
    for rule in rules:
        steps = tuple(_step(item) for item in rule.items)
        needed = tuple(one.pattern for one in steps if one.pattern and not one.optional)
        classes = tuple(one.classes for one in steps if one.classes)
        plans.append(_Plan(steps, needed, classes, rule.make, rule.sure))
    return tuple(plans)


class Chart:
    """The nodes of one text. `context` is handed to every rule."""

    def __init__(self, text: str, context: Any) -> None:
        self.text = text
        self._context = context
        self._at: dict[int, list[Node]] = defaultdict(list)
        self._starts: dict[type, set[int]] = defaultdict(set)
        self._seen: dict[tuple[int, int, Any], float] = {}
        self._low = text.lower()
        self._found: dict[re.Pattern[str], list[int]] = {}

    def add(self, node: Node) -> bool:
        """Take a node, unless the same is known and as sure."""
        key = (node.start, node.end, node.value)
        if self._seen.get(key, -1.0) >= node.sure or len(self._seen) >= _MOST_NODES:
            return False
        self._seen[key] = node.sure
        self._at[node.start].append(node)
        self._starts[type(node.value)].add(node.start)
        return True

    def nodes(self) -> list[Node]:
        """All nodes; empty when the text was too rich."""
        if len(self._seen) >= _MOST_NODES:
            return []
        return [node for row in self._at.values() for node in row]

    def saturate(self, grammar: Grammar) -> None:
        """Apply the rules until nothing new comes of it."""
        fresh: set[Node] | None = None
        for _ in range(_MOST_ROUNDS):
            plans = grammar.plans
            if fresh is not None:
                plans = tuple(grammar.about({type(node.value) for node in fresh}))
            made: list[Node] = []
            for plan in plans:
                if self._may_apply(plan):
                    made += self._applied(plan, fresh)
            fresh = {node for node in made if self.add(node)}
            if not fresh or len(self._seen) >= _MOST_NODES:
                return

    def _may_apply(self, plan: _Plan) -> bool:
        """Whether there is what the rule needs."""
        for kinds in plan.classes:
            if self._starts.keys().isdisjoint(kinds):
                return False
        return all(self._places(pattern) for pattern in plan.needed)

    def _places(self, pattern: _Pattern) -> list[int]:
        """Where a pattern begins in the text."""
        places = self._found.get(pattern.match)
        if places is None:
            places = []
            if not pattern.words or any(word in self._low for word in pattern.words):
                places = [found.start() for found in pattern.begins.finditer(self.text)]
            self._found[pattern.match] = places
        return places

    def _applied(self, plan: _Plan, fresh: set[Node] | None) -> Iterator[Node]:
        first = plan.steps[0]
        if first.pattern is not None:
            starts = self._places(first.pattern)
        else:
            starts = sorted({start for kind in first.classes for start in self._starts[kind]})
        for start in starts:
            for end, parts, sure in self._rows(plan, fresh, 0, start, (), fresh is None):
                value = self._made(plan, parts)
                if value is not None:
                    yield Node(start, end, value, min(plan.sure, sure))

    def _rows(
        self,
        plan: _Plan,
        fresh: set[Node] | None,
        index: int,
        place: int,
        parts: tuple[Any, ...],
        new: bool,
    ) -> Iterator[tuple[int, tuple[Any, ...], float]]:
        """All ways to read the items from `index` on at a place: the end, the parts, how sure."""
        if index == len(plan.steps):
            if new:
                yield place, parts, 1.0
            return
        step = plan.steps[index]
        space = _SPACE.match(self.text, place) if index else None
        here = space.end() if space else place
        if step.pattern is not None:
            found = step.pattern.match.match(self.text, here)
            if found is not None:
                yield from self._rows(plan, fresh, index + 1, found.end(), (*parts, found), new)
            if step.optional:
                yield from self._rows(plan, fresh, index + 1, place, (*parts, None), new)
            return
        for node in tuple(self._at.get(here, ())):
            if type(node.value) in step.classes:
                newer = new or (fresh is not None and node in fresh)
                taken = (*parts, node.value)
                for end, rest, sure in self._rows(plan, fresh, index + 1, node.end, taken, newer):
                    yield end, rest, min(sure, node.sure)

    def _made(self, plan: _Plan, parts: tuple[Any, ...]) -> Any:
        try:
            return plan.make(self._context, *parts)
        except (ValueError, OverflowError):  # 31 February, or a year outside the calendar.
            return None
