"""What a store answers: one struct for each kind of reply. Their JSON is the `--json` of the CLI.

Times are RFC 3339 in UTC with microseconds, or as exact as they were said. No reply holds elapsed
times or anything else that differs between two askings of the same thing, but for what a reranker,
a rewriter or an answerer took and gave.
"""

from typing import Any, Literal

import msgspec

from rewound.memory.answered_replies import Answering as Answering
from rewound.memory.answered_replies import AnswerPart as AnswerPart
from rewound.memory.answered_replies import GivenLine as GivenLine
from rewound.memory.answered_replies import Responded as Responded
from rewound.memory.answered_replies import Sentence as Sentence
from rewound.memory.answered_replies import SourcesGiven as SourcesGiven
from rewound.memory.answered_replies import ToldPart as ToldPart
from rewound.memory.answered_replies import WithheldSentence as WithheldSentence
from rewound.memory.explained_replies import Explanation as Explanation
from rewound.memory.explained_replies import Fate as Fate
from rewound.memory.explained_replies import Feature as Feature
from rewound.memory.explained_replies import Nearness as Nearness
from rewound.memory.explained_replies import Ranking as Ranking
from rewound.memory.explained_replies import Reason as Reason
from rewound.memory.explained_replies import Traced as Traced
from rewound.memory.explained_replies import Understood as Understood
from rewound.memory.judged_replies import AttributeLine as AttributeLine
from rewound.memory.judged_replies import Chronicle as Chronicle
from rewound.memory.judged_replies import Edge as Edge
from rewound.memory.judged_replies import Explained as Explained
from rewound.memory.judged_replies import Fitted as Fitted
from rewound.memory.judged_replies import Flip as Flip
from rewound.memory.judged_replies import Labelled as Labelled
from rewound.memory.judged_replies import LabelView as LabelView
from rewound.memory.judged_replies import Network as Network
from rewound.memory.judged_replies import Node as Node
from rewound.memory.judged_replies import PairView as PairView
from rewound.memory.judged_replies import Period as Period
from rewound.memory.judged_replies import Quote as Quote
from rewound.memory.judged_replies import Rejudged as Rejudged
from rewound.memory.judged_replies import Review as Review
from rewound.memory.judged_replies import ReviewList as ReviewList
from rewound.memory.judged_replies import Step as Step
from rewound.memory.judged_replies import VerdictView as VerdictView
from rewound.memory.node_replies import LaneCalls as LaneCalls
from rewound.memory.node_replies import LaneQueue as LaneQueue
from rewound.memory.node_replies import NodeAddress as NodeAddress
from rewound.memory.node_replies import NodeList as NodeList
from rewound.memory.node_replies import NodeShown as NodeShown
from rewound.memory.recent_replies import OlderFact as OlderFact
from rewound.memory.recent_replies import Recounted as Recounted
from rewound.memory.recent_replies import ShortTerm as ShortTerm
from rewound.memory.recent_replies import Summary as Summary
from rewound.memory.recent_replies import Turn as Turn
from rewound.memory.reply_parts import Change as Change
from rewound.memory.reply_parts import Hidden as Hidden
from rewound.memory.reply_parts import Moment as Moment
from rewound.memory.reply_parts import Part as Part
from rewound.memory.reply_parts import Reply as Reply
from rewound.memory.reply_parts import Source as Source
from rewound.memory.reply_parts import Standing as Standing
from rewound.memory.reply_parts import View as View
from rewound.memory.reranked_replies import Decomposing as Decomposing
from rewound.memory.reranked_replies import Reranked as Reranked
from rewound.memory.reranked_replies import Reranking as Reranking
from rewound.memory.reranked_replies import Rewriting as Rewriting
from rewound.memory.reranked_replies import Searched as Searched

# --- writing

Status = Literal["written", "replaced", "seen again", "unchanged", "refused", "done"]


class Item(Part, frozen=True, kw_only=True):
    """What became of one item of a write, in the order sent."""

    status: Status
    kind: str
    id: str | None = None
    event: str | None = None
    caller_id: str | None = None
    facts: tuple[str, ...] = ()
    pending: bool = False
    """Facts are still to be derived from it."""
    current: str | None = None
    """The present version, when an older one was named."""
    code: str | None = None
    field: str | None = None
    message: str | None = None


class Written(Reply, frozen=True, kw_only=True):
    """`position` is the container's last position after the write: pass it as `at_least`."""

    container: str
    group: str | None
    position: int
    items: tuple[Item, ...]
    pending: int = 0
    refused: int = 0
    notes: tuple[str, ...] = ()


class Forgot(Reply, frozen=True, kw_only=True):
    """Also the answer to restore. `events` are what can be undone; `count` is of `items`.

    `batch` stands for exactly what a look at similar items told: doing it takes it."""

    container: str
    group: str | None
    position: int
    events: tuple[str, ...]
    items: tuple[Hidden, ...]
    count: int
    masked: int = 0
    """Spans of source text blacked out (or shown again)."""
    batch: str | None = None
    dry_run: bool = False
    notes: tuple[str, ...] = ()


class Erased(Reply, frozen=True, kw_only=True):
    container: str
    position: int
    event: str | None
    items: tuple[Hidden, ...]
    bodies: int
    """Pieces of text destroyed."""
    stands_in: tuple[str, ...] = ()
    """Ids of items not erased that hold the same bytes."""
    compaction: Literal["none", "pending", "done"] = "none"
    dry_run: bool = False
    notes: tuple[str, ...] = ()


class Undid(Reply, frozen=True, kw_only=True):
    container: str
    position: int
    event: str | None
    """The undoing itself: undo it to take the undo back."""
    dropped: tuple[str, ...]
    returned: tuple[str, ...] = ()
    """Events that hold again, when an undo was undone."""
    dependents: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    refolded: int = 0
    dry_run: bool = False
    notes: tuple[str, ...] = ()


# --- reading


class Asked(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The question that a short message answers: the message before it."""

    id: str
    text: str
    speaker: str | None = None


class Hit(Part, frozen=True, kw_only=True, omit_defaults=True):
    """`signals` tell what made it near (`words`, `meaning`, both again for the message before it)
    and what lifted it (`recency`, `importance`). `also` holds ids of near-duplicates that this hit
    stands for. `explanation` is there when it was asked for, `reranked` when a reranker placed it.
    `part` is the part of a question, from 1, that it answers best, of one that was taken apart;
    left out for the question itself.
    """

    id: str
    kind: str
    text: str
    score: float
    signals: dict[str, float]
    standing: Standing
    sources: tuple[Source, ...] = ()
    valid_from: str | None = None
    valid_to: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    importance: float | None = None
    also: tuple[str, ...] = ()
    answers: Asked | None = None
    explanation: Explanation | None = None
    reranked: Reranked | None = None
    part: int | None = None


class Found(Reply, frozen=True, kw_only=True):
    """With `nothing_relevant` hits are only the nearest: that anything `fits` is unlikely."""

    container: str
    query: str
    hits: tuple[Hit, ...]
    moment: Moment
    fits: float | None = None
    nothing_relevant: bool = False
    filters: dict[str, Any] = msgspec.field(default_factory=dict)
    unembedded: int = 0
    """How many of what could be found have no vector yet: by words they are."""
    ranking: Ranking | None = None
    """What the explanations of the hits have in common, when they were asked for."""
    reranking: Reranking | None = None
    """What ordered the first hits anew, and what it took."""
    rewriting: Rewriting | None = None
    """In which words it was searched, when a model added some, and what it took."""
    decomposing: Decomposing | None = None
    """What took the question apart, and what it took."""
    searched: tuple[Searched, ...] = ()
    """The queries that were searched for, the question first, when it was taken apart."""
    notes: tuple[str, ...] = ()


class Line(Part, frozen=True, kw_only=True):
    id: str
    text: str
    tokens: int


class Packed(Reply, frozen=True, kw_only=True):
    """`text` is ready to be put before a model: one line a hit, dated and cited by id, and after
    them the recent part of a conversation, when one was named. `tokens` counts both. `fits`,
    `nothing_relevant` and what its stages took are told as in `Found`."""

    container: str
    query: str
    text: str
    tokens: int
    budget: int
    lines: tuple[Line, ...]
    moment: Moment
    recent: ShortTerm | None = None
    counter: str = "estimate"
    """What counted the tokens."""
    fits: float | None = None
    nothing_relevant: bool = False
    unembedded: int = 0
    reranking: Reranking | None = None
    rewriting: Rewriting | None = None
    decomposing: Decomposing | None = None
    searched: tuple[Searched, ...] = ()
    notes: tuple[str, ...] = ()


class ProfileLine(Part, frozen=True, kw_only=True, omit_defaults=True):
    """One fact, long ones cut. `since` and `until` are when it holds, as exact as that was said;
    `sources` counts how often it was said, `tokens` are of its line in the Markdown."""

    id: str
    kind: str
    text: str
    sources: int
    tokens: int
    since: str | None = None
    until: str | None = None


class Portrait(Reply, frozen=True, kw_only=True):
    """A profile. `text` is Markdown, ready to be put before a model: it changes only when what is
    known does. A fact may be in several of the lists; the text has it once, under what is recent,
    else under a bucket, else under what is stable. `subject` is who most of it is about.

    `left_out` counts the facts that belong to a list and did not fit into the budget."""

    container: str
    subject: str | None
    text: str
    tokens: int
    budget: int
    stable: tuple[ProfileLine, ...]
    recent: tuple[ProfileLine, ...]
    buckets: dict[str, tuple[ProfileLine, ...]]
    left_out: int
    moment: Moment
    counter: str = "estimate"
    """What counted the tokens."""
    notes: tuple[str, ...] = ()


class Page(Reply, frozen=True, kw_only=True):
    container: str
    items: tuple[View, ...]
    total: int
    limit: int
    has_more: bool
    cursor: str | None
    moment: Moment
    notes: tuple[str, ...] = ()


class Shown(Reply, frozen=True, kw_only=True):
    container: str
    item: View
    moment: Moment


class EventView(Part, frozen=True, kw_only=True, omit_defaults=True):
    """One event with its texts; `withheld` when what it says is forgotten or erased."""

    id: str
    position: int
    type: str
    recorded_at: str
    group: str | None = None
    actor: str = "person"
    causes: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    texts: dict[str, Any] = msgspec.field(default_factory=dict)
    data: dict[str, Any] = msgspec.field(default_factory=dict)
    undone_by: str | None = None
    withheld: str | None = None


class Told(Reply, frozen=True, kw_only=True):
    """Events, oldest first. `next` is the `after` of the next page, None at the end."""

    container: str
    events: tuple[EventView, ...]
    next: int | None
    moment: Moment


class Versions(Reply, frozen=True, kw_only=True):
    """An item's life: its versions, root first, and all events about any of them."""

    container: str
    id: str
    current: str | None
    versions: tuple[View, ...]
    events: tuple[EventView, ...]
    moment: Moment


class Differences(Reply, frozen=True, kw_only=True):
    """What the memory learned, changed and forgot between two moments."""

    container: str
    start: Moment
    end: Moment
    learned: tuple[Change, ...]
    changed: tuple[Change, ...]
    gone: tuple[Change, ...]
    notes: tuple[str, ...] = ()


class Job(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Facts that are to be derived from a document or message; or, for `kind` summary, messages of
    a conversation, from `source` on, that could not be summed up.

    `state` is `pending`, `waiting` (pending, but for a quiet moment in its conversation: then it is
    read at `due_at` if nothing more is said there), `failed` or `parked`."""

    source: str
    kind: str
    state: str
    attempts: int = 0
    why: str | None = None
    retry_at: str | None = None
    due_at: str | None = None


class JobList(Reply, frozen=True, kw_only=True):
    container: str
    pending: int
    failed: int
    parked: int
    jobs: tuple[Job, ...]
    moment: Moment
    unembedded: int = 0
    """Texts that still wait for their vectors."""
    unjudged: int = 0
    """Facts that still wait to be compared with those before them."""
    waiting: int = 0
    """Of those pending, the messages that wait for a quiet moment in their conversation."""
    total: int = 0
    """How many there are on all pages."""
    has_more: bool = False
    cursor: str | None = None
    notes: tuple[str, ...] = ()


class ContainerInfo(Part, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    id: str
    zone: str
    position: int
    head: str
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    """documents, messages, passages, facts (current), versions, forgotten, pending."""
    last_recorded_at: str | None = None


class ContainerList(Reply, frozen=True, kw_only=True):
    containers: tuple[ContainerInfo, ...]
    total: int
    has_more: bool
    cursor: str | None


class VectorSwitch(Part, frozen=True, kw_only=True):
    """Vectors of one model that are to take the place of another's.

    `making`: `done` of `total` entries were looked at in this pass, and have what they lacked;
    `swapping`: all is made, and is put in place; `halted`: another embedder is set now.
    """

    old: str
    new: str
    state: Literal["making", "swapping", "halted"]
    done: int
    total: int


class Figures(Reply, frozen=True, kw_only=True):
    """`views` maps a view's name to its version; sizes in bytes. `info` tells of the container, or
    of a store's hundred oldest; notes say when there are more."""

    container: str | None
    containers: int
    info: tuple[ContainerInfo, ...]
    events: int
    log_bytes: int
    view_bytes: int
    views: dict[str, int]
    read_only: str | None = None
    """Why the store takes no writes, when it does not."""
    compaction: str = "none"
    switch: VectorSwitch | None = None
    """Of the whole store, while another model's vectors are being made."""
    pending: int = 0
    """Sources whose facts are still to be derived."""
    notes: tuple[str, ...] = ()


class Finding(Part, frozen=True, kw_only=True):
    container: str
    position: int
    problem: str


class Verified(Reply, frozen=True, kw_only=True):
    ok: bool
    events: int
    bodies: int
    erased: int
    head: str | None
    """Keep it elsewhere and pass it as `expect` later."""
    expected: bool | None
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()


class Sealed(Reply, frozen=True, kw_only=True):
    """The head to keep elsewhere; `containers` were hashed into it."""

    head: str
    containers: int


class Accepted(Reply, frozen=True, kw_only=True):
    """The last recorded time, after which the store goes on although the clock is behind it."""

    recorded_at: str


class Working(Reply, frozen=True, kw_only=True):
    """What works through what is pending. The counts are of sources of the whole store; `failed`
    and `parked` are also of messages that could not be summed up."""

    state: Literal["running", "paused", "off"]
    extractor: str | None
    """What derives facts from texts, null when nothing does."""
    embedder: str | None
    """What gives texts their vectors, null when nothing does."""
    pending: int
    failed: int
    parked: int
    unembedded: int
    """Texts that wait for their vectors."""
    judge: str | None = None
    """What compares facts with those before them, null when nothing does."""
    unjudged: int = 0
    """Facts that wait to be compared."""
    waiting: int = 0
    """Of those pending, the messages that wait for a quiet moment in their conversation."""
    switch: VectorSwitch | None = None
    """Set while another model's vectors are being made."""
    notes: tuple[str, ...] = ()


class Rebuilt(Reply, frozen=True, kw_only=True):
    views: dict[str, int]
    events: int
    equal: bool
    """Whether the new rows equal the ones they replaced."""
    notes: tuple[str, ...] = ()


class Reembedding(Reply, frozen=True, kw_only=True):
    """Whose vectors are searched, and what is to become of them."""

    model: str | None
    """Null before there are any."""
    embedder: str | None
    """The one that is set."""
    switch: VectorSwitch | None = None
    unembedded: int = 0
    """Texts that wait for a vector of `model`, but for those that are forgotten."""
    notes: tuple[str, ...] = ()


class Replayed(Reply, frozen=True, kw_only=True):
    at: Moment
    events: int
    containers: int
    rows: dict[str, int]
    agrees: bool | None
    """None when not asked to compare."""
    differences: tuple[str, ...] = ()
    to: str | None = None


class Failure(Reply, frozen=True, kw_only=True):
    """An error crossing the socket; raised again as itself on the other side."""

    code: str
    message: str
    field: str | None = None
    ids: tuple[str, ...] = ()


AnyReply = (
    Written
    | Forgot
    | Erased
    | Undid
    | Found
    | Traced
    | Packed
    | Responded
    | Recounted
    | Portrait
    | Page
    | Shown
    | Told
    | Versions
    | Differences
    | Explained
    | ReviewList
    | Labelled
    | Fitted
    | Rejudged
    | Chronicle
    | Network
    | JobList
    | ContainerList
    | Figures
    | Verified
    | Sealed
    | Accepted
    | Working
    | NodeList
    | Rebuilt
    | Reembedding
    | Replayed
    | Failure
)
