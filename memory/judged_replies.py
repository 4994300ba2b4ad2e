"""Replies about how facts relate: why one is believed, what was decided of pairs, timelines, the
graph. `replies.py` has them too, with all others."""

import msgspec

from rewound.memory.reply_parts import Change, Hidden, Moment, Part, Reply, Source, Standing, View


class PairView(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A judged pair. `outcome` is what was found (`review`: not decided, it leans to `leaning`),
    `label` what a person said instead. `evidence` is 0 to 1 by name."""

    old: str
    outcome: str
    probability: float
    old_text: str | None = None
    leaning: str | None = None
    label: str | None = None
    label_event: str | None = None
    evidence: dict[str, float] = msgspec.field(default_factory=dict)


class VerdictView(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What was found when `fact` was compared with facts before it. `policy` is the fitting event,
    left out for the policy that comes with Rewound."""

    event: str
    fact: str
    recorded_at: str
    pairs: tuple[PairView, ...] = ()
    fact_text: str | None = None
    judge: str | None = None
    policy: str | None = None


class Quote(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The words that say so, as they stand in a source; left out where that is forgotten or gone.
    What was forgotten of them is blacked out, and a long quotation is cut."""

    source: Source
    words: str | None = None


class Step(Part, frozen=True, kw_only=True, omit_defaults=True):
    """One event in the life of a fact, in a few words, and the command that takes it back.

    `undo` is left out for what cannot be undone, and for what is undone already: `undone_by` names
    the event that took it back."""

    event: str
    position: int
    type: str
    recorded_at: str
    what: str
    undo: str | None = None
    undone_by: str | None = None


class Explained(Reply, frozen=True, kw_only=True):
    """`quotes` are the sources' own words, `extractor` and `confidence` (0 to 1) say how the fact
    was drawn from them. `verdict` is the judging of the fact itself, `against` those of later facts
    against it. `steps` are the events of all its versions, oldest first."""

    container: str
    item: View
    quotes: tuple[Quote, ...]
    extractor: str | None
    confidence: float | None
    versions: tuple[View, ...]
    verdict: VerdictView | None
    against: tuple[VerdictView, ...]
    steps: tuple[Step, ...]
    moment: Moment
    notes: tuple[str, ...] = ()


class Review(Part, frozen=True, kw_only=True, omit_defaults=True):
    """An undecided pair: `fact` arrived after `old`. `judged` is the event that found no more than
    that it leans to `leaning`; a label (`{fact, old, outcome}` or `confirm`) decides it."""

    fact: str
    old: str
    text: str
    old_text: str
    leaning: str
    probability: float
    judged: str
    evidence: dict[str, float] = msgspec.field(default_factory=dict)
    standing: Standing
    old_standing: Standing
    valid_from: str | None = None
    old_valid_from: str | None = None
    sources: tuple[Source, ...] = ()
    old_sources: tuple[Source, ...] = ()


class ReviewList(Reply, frozen=True, kw_only=True):
    container: str
    reviews: tuple[Review, ...]
    total: int
    has_more: bool
    cursor: str | None
    moment: Moment
    notes: tuple[str, ...] = ()


class LabelView(Part, frozen=True, kw_only=True):
    """A label given: `was` held of the pair before."""

    event: str
    fact: str
    old: str
    was: str
    outcome: str


class Labelled(Reply, frozen=True, kw_only=True):
    container: str
    group: str | None
    position: int
    labels: tuple[LabelView, ...]
    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()


class Flip(Part, frozen=True, kw_only=True, omit_defaults=True):
    """A pair that is judged otherwise than before."""

    fact: str
    old: str
    was: str
    outcome: str
    probability: float
    text: str | None = None
    old_text: str | None = None


class Fitted(Reply, frozen=True, kw_only=True):
    """`figures` are the fit's own: errors on labels that it did not see, before and after. A fit
    that is not `accepted` changes nothing; `why` says what kept it."""

    container: str
    position: int
    accepted: bool
    event: str | None
    labels: int
    figures: dict[str, float]
    flips: tuple[Flip, ...]
    why: str | None = None
    dry_run: bool = False
    notes: tuple[str, ...] = ()


class Rejudged(Reply, frozen=True, kw_only=True):
    """`sources` were read again, `learned` facts are new and `ended` facts no longer drawn;
    `judged` facts were compared again."""

    container: str
    group: str | None
    position: int
    sources: int
    learned: tuple[Hidden, ...]
    ended: tuple[Hidden, ...]
    judged: int
    flips: tuple[Flip, ...]
    dry_run: bool = False
    notes: tuple[str, ...] = ()


class Period(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What held from when to when, and who says so: the sources, and where there are none, the
    event that states the fact (`said_at` when its words were said, if that was told)."""

    id: str
    text: str
    standing: Standing
    value: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    sources: tuple[Source, ...] = ()
    said_at: str | None = None
    recorded_at: str | None = None
    event: str | None = None


class AttributeLine(Part, frozen=True, kw_only=True):
    """The periods of one attribute, earliest first. Without an attribute: what is said of the
    subject otherwise."""

    attribute: str | None
    periods: tuple[Period, ...]


class Chronicle(Reply, frozen=True, kw_only=True):
    container: str
    subject: str
    lines: tuple[AttributeLine, ...]
    has_more: bool
    moment: Moment
    notes: tuple[str, ...] = ()


class Node(Part, frozen=True, kw_only=True):
    """An entity, how many steps away it is, and how many facts name it.

    A `literal` is a value that names nothing, such as a number or a date: the end of an edge, but
    no path leads on from it."""

    name: str
    distance: int
    facts: int
    literal: bool = False


class Edge(Part, frozen=True, kw_only=True, omit_defaults=True):
    """`kind` is `attribute` (source has `relation` target), `mention` (one fact names both), or
    `extends` or `updates` between two facts' ids. `fact` makes the edge; the edge stands as that
    does and holds as long."""

    kind: str
    source: str
    target: str
    fact: str
    standing: Standing
    relation: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None


class Network(Reply, frozen=True, kw_only=True):
    """`path` holds the names from the entity to the one asked for, empty where there is none. With
    `has_more` there are entities or edges that were not shown, or not looked at."""

    container: str
    entity: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    path: tuple[str, ...]
    has_more: bool
    moment: Moment
    notes: tuple[str, ...] = ()
