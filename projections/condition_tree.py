"""The tree of conditions as the index meets it: nothing but terms, ids, numbers and values.

Each leaf says what it costs, so that what reads texts comes last.
"""

import enum
from typing import Any, NamedTuple

from rewound.eventlog.events import FactKind
from rewound.eventlog.ids import Kind
from rewound.projections import measures
from rewound.projections.entries import Has
from rewound.projections.measures import Sort


class All(NamedTuple):
    parts: "tuple[Node, ...]"


class Some(NamedTuple):
    parts: "tuple[Node, ...]"


class Not(NamedTuple):
    """What the part does not hold for: also where it asks for something that is not there."""

    part: "Node"


class Text(NamedTuple):
    """A label that is any of the texts, contains one, or with `op` exists is there at all."""

    label: Has
    op: str
    texts: tuple[str, ...] = ()
    ignore_case: bool = False


class Metadata(NamedTuple):
    """The value at a path of the metadata: `op` eq any of the operands, or as `values.holds`."""

    path: str
    op: str
    operands: tuple[Any, ...] = ()
    ignore_case: bool = False


class OfSort(NamedTuple):
    what: frozenset[Kind]


class OfKind(NamedTuple):
    """Facts of any of the kinds."""

    kinds: frozenset[FactKind]


class From(NamedTuple):
    """What is, or is from, any of these documents, messages and conversations; None: any at all."""

    sources: tuple[bytes, ...] | None


class Clock(enum.StrEnum):
    VALID_FROM = "valid_from"
    VALID_TO = "valid_to"
    SAID_AT = "said_at"
    RECORDED_AT = "recorded_at"


class During(NamedTuple):
    """A time in [start, end), µs; None where it is open."""

    clock: Clock
    start: int | None = None
    end: int | None = None


Node = All | Some | Not | Text | Metadata | OfSort | OfKind | From | During

INDEX, FEW, READ = range(3)
"""What a leaf costs: looks at the index, walks over some of it, or reads texts."""


def cost(node: Node) -> int:
    match node:
        case All(parts) | Some(parts):
            return max(map(cost, parts))
        case Not(part):
            return cost(part)
        case Text(label, op, _, ignore_case):
            reads = op == "contains" or (label is Has.TAG and op == "eq" and ignore_case)
            return READ if reads else FEW if label is Has.SPEAKER else INDEX
        case Metadata():
            return READ if sorts_to_read(node) else FEW
        case During(clock):
            return {Clock.SAID_AT: READ, Clock.RECORDED_AT: FEW}.get(clock, INDEX)
    return INDEX


_TEXTS = (Sort.TEXT, Sort.TIME)


def sorts_to_read(node: Metadata) -> tuple[Sort, ...]:
    """Values of which sorts the index does not tell apart well enough for this condition."""
    if "." in node.path:
        return tuple(Sort)
    sorts: set[Sort] = set()
    for operand in node.operands:
        sort = measures.sort_of(operand)
        match node.op:
            case "array_contains":
                sorts.add(Sort.LIST)
            case "contains":
                sorts.update(_TEXTS)
            case "eq" if sort in (Sort.LIST, Sort.OBJECT):
                sorts.add(sort)
            case "eq":
                sorts.update(_TEXTS if node.ignore_case and sort in _TEXTS else ())
            case _ if sort in _TEXTS:
                # Times are compared as times; with any other text, they are texts.
                sorts.update((Sort.TEXT,) if sort is Sort.TIME else _TEXTS)
    return tuple(sorted(sorts))
