"""What can be asked of a store: one struct for each command and each question.

The library, the socket and later REST and MCP all build these; an engine answers them with a struct
of `replies.py`. Texts, ids and times are as a person writes them; `inputs.py` checks them.
"""

from typing import Any, Literal

import msgspec

from rewound.memory.new_items import NewDocument as NewDocument
from rewound.memory.new_items import NewFact as NewFact
from rewound.memory.new_items import NewMessage as NewMessage
from rewound.memory.request_parts import FactKindName as FactKindName
from rewound.memory.request_parts import Filters as Filters
from rewound.memory.request_parts import MediaName as MediaName
from rewound.memory.request_parts import RoleName as RoleName
from rewound.memory.request_parts import Scope as Scope
from rewound.memory.request_parts import What as What


class Request(msgspec.Struct, frozen=True, kw_only=True, tag=True, forbid_unknown_fields=True):
    """Base of all requests: the container's name as the caller writes it."""

    container: str = "default"


class Write(Request, frozen=True, kw_only=True, tag=True):
    """Base of all commands. `key` is the idempotency key: the same key and request get the same
    answer, the same key with another request is refused. `unless_after` makes the command fail as
    stale if anything about the items it touches happened after that position."""

    key: str | None = None
    scope: Scope = Scope()
    unless_after: int | None = None


class Read(Request, frozen=True, kw_only=True, tag=True):
    """Base of all questions. `as_of` is a time, `@position` or an event id (inclusive); `valid_at`
    a time. `at_least` waits until the views have reached that position. `scope` holds besides
    whatever the filters say: what lies outside of it is answered like what is not there."""

    scope: Scope = Scope()
    as_of: str | None = None
    valid_at: str | None = None
    include_forgotten: bool = False
    at_least: int | None = None


# --- commands


class Remember(Write, frozen=True, kw_only=True, tag=True):
    """`infer` true keeps the text as a note to derive facts from; false takes it as a fact."""

    facts: tuple[NewFact, ...]
    infer: bool = False


class Ingest(Write, frozen=True, kw_only=True, tag=True):
    """`infer` false takes each whole text as one fact besides keeping it."""

    documents: tuple[NewDocument, ...]
    infer: bool = True


class AddMessages(Write, frozen=True, kw_only=True, tag=True):
    messages: tuple[NewMessage, ...]
    conversation: str = "default"
    infer: bool = True


class Update(Write, frozen=True, kw_only=True, tag=True):
    """A new wording for a fact's chain (fact ids), or only other tags or another importance (any
    item).

    With `text` the chain gets a new version; `corrects` says the old one was wrong all along.
    `add_tags`, `remove_tags` and `importance` (0 to 1) edit in place.
    """

    id: str
    text: str | None = None
    corrects: bool = False
    said_at: str | None = None
    valid_from: str | None = None
    valid_to: str | None = None
    expires_at: str | None = None
    metadata: dict[str, Any] | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    importance: float | None = None


QUERY_LIMIT = 100
SIMILAR_LIMIT = 20
SIMILAR_MAX = 100


class Forget(Write, frozen=True, kw_only=True, tag=True):
    """Choose by one of: `ids` of facts, documents, messages or events (all that the event brought
    in), the very `text` of items, a `query`, what is `similar` in meaning, or `filters` alone
    (never empty); filters narrow the others but for ids.

    `limit` bounds the hits of a query (default 100) and what is similar (default 20, at most 100).
    What is similar is only told unless `dry_run` is false, and that takes the `batch` of the
    telling: it is refused as stale when it would forget anything else than was told.
    """

    ids: tuple[str, ...] = ()
    filters: Filters | None = None
    query: str | None = None
    limit: int | None = None
    reason: str | None = None
    dry_run: bool | None = None
    text: str | None = None
    similar: str | None = None
    batch: str | None = None


def only_tells(request: Request) -> bool:
    """Whether a command only tells what it would do: a dry run, which of what is similar is the
    rule."""
    dry_run = getattr(request, "dry_run", False)
    if dry_run is None:
        return isinstance(request, Forget) and request.similar is not None
    return bool(dry_run)


class Restore(Write, frozen=True, kw_only=True, tag=True):
    ids: tuple[str, ...]


class Erase(Write, frozen=True, kw_only=True, tag=True):
    ids: tuple[str, ...]
    dry_run: bool = False
    wait: bool = True
    """Answer after the compaction rather than before it."""


class Undo(Write, frozen=True, kw_only=True, tag=True):
    """`id` is an event (`ev_…`) or a group (`grp_…`)."""

    id: str
    dry_run: bool = False
    cascade: bool = False


class Configure(Write, frozen=True, kw_only=True, tag=True):
    """Make a container, or set its time zone."""

    zone: str | None = None


class RemoveDocument(Write, frozen=True, kw_only=True, tag=True):
    """The document no longer exists at its source; `id` is its id or the caller's."""

    id: str


class Retry(Write, frozen=True, kw_only=True, tag=True):
    """Try again to derive facts from documents and messages where that failed or was parked; with
    no ids from all of the container."""

    ids: tuple[str, ...] = ()


OutcomeName = Literal["duplicate", "updates", "corrects", "extends", "distinct"]


class NewLabel(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A person's word on a judged pair: how `fact` relates to the earlier `old`.

    Give `outcome`, or `confirm`: true for what was found (in a review: what it leans to), false for
    the contrary, which is distinct; that of distinct needs an outcome.
    """

    fact: str
    old: str
    outcome: OutcomeName | None = None
    confirm: bool | None = None


class Label(Write, frozen=True, kw_only=True, tag=True):
    """What a person says of judged pairs holds from now on, whatever a judge finds."""

    labels: tuple[NewLabel, ...]


# --- questions


class Search(Read, frozen=True, kw_only=True, tag=True):
    """With `read_times`, a time in the words of the query (last March, before I moved) narrows
    facts to those that held then, ended ones too. Hits less likely to answer than `threshold` (0
    to 1) are left out; where nothing stored fits, without `nearest` all are. By the models that are
    set, `rerank` has the first ones ordered anew, `rewrite` has further words for the query sought,
    and `decompose` the parts that it is taken apart into. Left out, each is as its setting says."""

    query: str
    limit: int = 10
    threshold: float = 0.0
    nearest: bool = True
    filters: Filters = Filters()
    include_superseded: bool = False
    read_times: bool = True
    explain: bool = False
    """Say of each hit why it stands where it does."""
    rerank: bool | None = None
    rewrite: bool | None = None
    decompose: bool | None = None


class Explain(Read, frozen=True, kw_only=True, tag=True):
    """What became of an item in a search for `query`: its place and why, or why it did not come
    back. The other fields are those of the search."""

    query: str
    id: str
    limit: int = 10
    filters: Filters = Filters()
    include_superseded: bool = False
    read_times: bool = True
    threshold: float = 0.0
    rerank: bool | None = None
    rewrite: bool | None = None
    decompose: bool | None = None


class Context(Read, frozen=True, kw_only=True, tag=True):
    """`budget` in tokens; the other fields are as in a search. With a `conversation` (its name or
    id) its recent part comes too, within half of the budget, and what stands there is not told
    again; `recent_chars` bounds it further."""

    query: str
    budget: int = 1200
    threshold: float = 0.0
    nearest: bool = False
    filters: Filters = Filters()
    read_times: bool = True
    rerank: bool | None = None
    rewrite: bool | None = None
    decompose: bool | None = None
    conversation: str | None = None
    recent_chars: int | None = None


OLDER_CHARS = 4_000


class Recent(Read, frozen=True, kw_only=True, tag=True):
    """The short-term view of a conversation, by its name or id: the last messages as they are, as
    far as their texts fit into `recent_chars` (left out: as the setting of this name says), and
    what is older as summaries. Where no summary tells of older messages, the facts drawn from them
    stand in its place, of at most `older_chars` characters."""

    conversation: str
    recent_chars: int | None = None
    older_chars: int = OLDER_CHARS


ANSWER_TIMEOUT_S_MAX = 600


class Inquire(Read, frozen=True, kw_only=True, tag=True):
    """A question that is to be answered, by the answerer that is set, from what a context of this
    `budget` would hold; `read_times`, `threshold` and `filters` as there.

    Where even the best that fits is less likely to answer than `confidence` (0 to 1), the answer is
    not known. A model has `timeout_s` seconds for it. Both are as set unless they are given.
    `rerank`, `rewrite` and `decompose` are those of a search.
    """

    query: str
    budget: int = 1200
    threshold: float = 0.0
    confidence: float | None = None
    timeout_s: int | None = None
    filters: Filters = Filters()
    read_times: bool = True
    rerank: bool | None = None
    rewrite: bool | None = None
    decompose: bool | None = None


Asks = Search | Context | Inquire | Explain
"""Questions that are put into further words, taken apart and reranked, where that is wanted."""


BucketName = Literal["preferences", "people", "work", "procedures", "plans"]
"""Buckets that every profile can have without saying what goes into them."""


class Bucket(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """What goes into a named part of a profile: the facts that have all of the `tags`, are of one
    of the `kinds`, and that a search for `query` finds, best first. With nothing said, the name is
    that of a bucket which every profile can have."""

    query: str | None = None
    tags: tuple[str, ...] = ()
    kinds: tuple[FactKindName, ...] = ()


ProfileFormat = Literal["json", "markdown"]
"""What a door may tell a profile as."""

PROFILE_BUDGET = 1_000
PROFILE_DAYS = 30


class Profile(Read, frozen=True, kw_only=True, tag=True):
    """What is known, in short: what is stable, what is recent, and buckets by name.

    `budget` is of the Markdown, in tokens. Recent is what began within
    `days`. `subject` narrows to facts that name somebody or something. `buckets` left out are those
    that every profile can have, in their order; {} is none. It never holds what is forgotten.
    """

    budget: int = PROFILE_BUDGET
    days: int = PROFILE_DAYS
    subject: str | None = None
    buckets: dict[str, Bucket] | None = None
    filters: Filters = Filters()


class List(Read, frozen=True, kw_only=True, tag=True):
    """Oldest first, by id; `cursor` is what the last page gave."""

    what: What = "fact"
    limit: int = 100
    cursor: str | None = None
    filters: Filters = Filters()
    include_superseded: bool = False


class Get(Read, frozen=True, kw_only=True, tag=True):
    id: str


class History(Read, frozen=True, kw_only=True, tag=True):
    id: str


class Events(Read, frozen=True, kw_only=True, tag=True):
    """Events after position `after`, oldest first; `types` are names such as `fact remembered`.
    `since` is a time or `@position`. `about` is an item's id."""

    after: int = 0
    since: str | None = None
    types: tuple[str, ...] = ()
    about: str | None = None
    limit: int = 100
    newest: bool = False
    """The last `limit` ones instead of the first."""


class Diff(Read, frozen=True, kw_only=True, tag=True):
    """`start` and `end` are moments as for `as_of`; `end` left out is now."""

    start: str
    end: str | None = None


class Why(Read, frozen=True, kw_only=True, tag=True):
    """Why a fact is believed: where it is from, what it was compared with, and how to take each
    step back."""

    id: str


class Reviews(Read, frozen=True, kw_only=True, tag=True):
    """Pairs of facts that were not decided and wait for a person's word (`Label`)."""

    limit: int = 100
    cursor: str | None = None


class Timeline(Read, frozen=True, kw_only=True, tag=True):
    """What held of a subject from when to when, for each attribute, or for the one named."""

    subject: str
    attribute: str | None = None
    limit: int = 200


class Graph(Read, frozen=True, kw_only=True, tag=True):
    """What is around an entity, up to `depth` steps away; with `to` the shortest path to that."""

    entity: str
    to: str | None = None
    depth: int = 1
    limit: int = 100


class Jobs(Read, frozen=True, kw_only=True, tag=True):
    limit: int = 100
    cursor: str | None = None


class Containers(Read, frozen=True, kw_only=True, tag=True):
    limit: int = 1000
    cursor: str | None = None


class Stats(Read, frozen=True, kw_only=True, tag=True):
    """Figures of one container, or of the whole store with `store`; `brief` then leaves out what
    each container holds, but for the oldest: it costs the same however many there are."""

    store: bool = False
    brief: bool = False


# --- store matters

WorkersAction = Literal["status", "pause", "resume", "wait"]


class Workers(Request, frozen=True, kw_only=True, tag=True):
    """What works through what is pending, in the whole store: ask how it stands, pause it (across
    restarts too), let it go on, or wait up to `timeout_s` seconds until it has nothing to do."""

    action: WorkersAction = "status"
    timeout_s: int = 60


NodesAction = Literal["list", "add", "drain", "remove", "check"]
LaneName = Literal["interactive", "background"]


class Nodes(Request, frozen=True, kw_only=True, tag=True):
    """The model servers that work is sent to: list them, add one, let one finish what it does and
    give it no more (`drain`), forget one (`remove`), or put a word into each and look at what comes
    out (`check`).

    A node that is added has a server for each role at its usual port on `host`, or those that are
    named. `api_key` is what its servers want to be shown; nothing ever tells it. What is changed
    here holds until the process that owns the store ends.
    """

    action: NodesAction = "list"
    name: str | None = None
    host: str | None = None
    embed: str | None = None
    rerank: str | None = None
    chat: str | None = None
    decide: str | None = None
    lanes: tuple[LaneName, ...] = ()
    slots: int | None = None
    model: str | None = None
    api_key: str | None = None

    @property
    def changes(self) -> bool:
        """Whether it changes where work is sent to."""
        return self.action in ("add", "drain", "remove")


class Verify(Request, frozen=True, kw_only=True, tag=True):
    expect: str | None = None


class Rebuild(Request, frozen=True, kw_only=True, tag=True):
    """Fold the named views anew beside the live ones; none named means all."""

    views: tuple[str, ...] = ()


SwitchAction = Literal["start", "status", "cancel"]


class Reembed(Request, frozen=True, kw_only=True, tag=True):
    """Put vectors of the embedder that is set now in the place of those that are kept. The old ones
    are searched until all are made; `now` drops them at once, and words find in the meantime.

    `status` only looks; `cancel` stays with the model whose vectors are kept.
    """

    action: SwitchAction = "start"
    now: bool = False


class Fit(Request, frozen=True, kw_only=True, tag=True):
    """Fit the container's judging policy to the labels given, and judge anew what it judged."""

    dry_run: bool = False


class Rejudge(Request, frozen=True, kw_only=True, tag=True):
    """Go over the past again with what is set now: draw facts anew with `extractor`, judge them
    anew with `judge` (that when neither is named); only what was recorded since `since`, a moment
    as for `as_of`. All of it is one group, which undo takes back."""

    extractor: bool = False
    judge: bool = False
    since: str | None = None
    dry_run: bool = False


class Replay(Request, frozen=True, kw_only=True, tag=True):
    """Build the store as it was at `at`, in the new folder `to` when given, and compare it with
    as-of reads of the live one when `verify`."""

    at: str
    to: str | None = None
    verify: bool = True


class Seal(Request, frozen=True, kw_only=True, tag=True):
    """Hash all chain heads together and answer with the head to keep elsewhere."""


class AcceptClock(Request, frozen=True, kw_only=True, tag=True):
    """Accept that the clock was set back: go on writing after the log's last time."""


Command = (
    Remember
    | Ingest
    | AddMessages
    | Update
    | Forget
    | Restore
    | Erase
    | Undo
    | Configure
    | RemoveDocument
    | Retry
    | Label
)
Question = (
    Search
    | Explain
    | Context
    | Inquire
    | Recent
    | Profile
    | List
    | Get
    | History
    | Events
    | Diff
    | Why
    | Reviews
    | Timeline
    | Graph
    | Jobs
    | Containers
    | Stats
)
StoreRequest = (
    Verify | Rebuild | Reembed | Fit | Rejudge | Replay | Seal | AcceptClock | Workers | Nodes
)
AnyRequest = Command | Question | StoreRequest
