"""Asking a container: the reading half of the library, for the present and for any past moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol, TypedDict, TypeVar, Unpack

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.condition_checks import read as read_where
from rewound.memory.conditions import Where
from rewound.memory.conversions import As_of, Time, as_moment, as_scope, as_time, convert
from rewound.memory.fields import kind_of
from rewound.memory.streaming import parts_of

ScopeLike = q.Scope | Mapping[str, str | None] | None
Several = str | Iterable[str] | None
Buckets = Mapping[str, q.Bucket | Mapping[str, Any] | str] | Iterable[str] | None
W = TypeVar("W", bound=r.Reply)


class When(TypedDict, total=False):
    """The moment of a read, taken by every reading method.

    `as_of` (a time, `"@123"` or a position, an event's id) answers as the memory knew it then;
    `valid_at` (a time) answers what was true then, as known now; both go together.
    `include_forgotten` shows what was forgotten, marked so. `at_least` waits until the answer holds
    everything up to that position.
    """

    as_of: As_of | None
    valid_at: Time | None
    include_forgotten: bool
    at_least: int | None


class Narrow(When, total=False):
    """Conditions on items, all of which must hold, besides the moment of the read.

    `kinds` are any of those given, `tags` all of them, `metadata` equal in each key. `scope`
    narrows to a user, agent, run or session; `source` to a document, message or conversation (its
    id, your id for it, or a conversation's name); `since` and `until` bound the item's own time.
    `where` is a tree of further conditions: docs/concepts.md tells its fields and ops.

        memory.search("desk", where={"field": "metadata.price", "op": "lt", "value": 200})
    """

    kinds: Several
    tags: Several
    metadata: Mapping[str, Any] | None
    scope: ScopeLike
    source: str | None
    since: Time | None
    until: Time | None
    where: Where | Mapping[str, Any] | None


class Which(Narrow, total=False):
    """Conditions as in `Narrow`, and `what` sorts of items: fact, passage, message, document."""

    what: Several


class Inquiring(Which, total=False):
    """How a question is answered, besides conditions as in `Which`.

    `budget` (tokens) and `threshold` are those of a context. Where even what fits best is less
    likely to answer than `confidence` (0 to 1), the answer is not known. A model has `timeout_s`
    seconds. These two are as set unless they are given. `rerank`, `rewrite` and `decompose` are
    those of a search.
    """

    budget: int
    threshold: float
    confidence: float | None
    timeout_s: int | None
    rerank: bool | None
    rewrite: bool | None
    decompose: bool | None


_HOW = Inquiring.__annotations__.keys() - Which.__annotations__.keys()


class Answers(Protocol):
    """What a handle stands on: a link to a store."""

    def call(self, request: q.Request) -> r.Reply: ...


class Reading:
    """The reading methods. Each returns a struct; `rewound.memory.replies` tells its fields."""

    def __init__(
        self, link: Answers, container: str, scope: q.Scope, as_of: str | None = None
    ) -> None:
        self._link = link
        self._container = container
        self._scope = scope
        self._as_of = as_of

    def call(self, request: q.Request) -> r.Reply:
        """Answer any request struct of `rewound.memory.requests`, taken as it is."""
        return self._link.call(request)

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        threshold: float = 0.0,
        nearest: bool = True,
        include_superseded: bool = False,
        explain: bool = False,
        rerank: bool | None = None,
        rewrite: bool | None = None,
        decompose: bool | None = None,
        **which: Unpack[Which],
    ) -> r.Found:
        """The hits that fit a question best, with their sources: facts, passages, messages.

            for hit in memory.search("where does Nina work", tags="work").hits:
                print(hit.id, hit.text, hit.standing.state)

        Only what holds now is found, unless `include_superseded`. Conditions (see `Which`) are met
        before anything is ranked, so there are `limit` hits whenever that many qualify. A hit's
        score is how likely it answers, 0 to 1; with a `threshold` the less likely are left out.
        `found.fits` is how likely it is that anything stored fits; where that is next to nothing,
        `found.nothing_relevant` is true and the hits are only the nearest, which are left out
        without `nearest`.
        With `explain` each hit says why it stands where it does (`hit.explanation`). With `rerank`
        the first ones are ordered anew by the reranker that is set (`hit.reranked`). With
        `rewrite` further words for the query are sought as well, by the rewriter that is set
        (`found.rewriting`). With `decompose` it is taken apart by the decomposer that is set, and
        its parts are sought besides (`found.searched`).
        """
        more = {
            "query": query,
            "limit": limit,
            "threshold": threshold,
            "nearest": nearest,
            "include_superseded": include_superseded,
            "explain": explain,
            "rerank": rerank,
            "rewrite": rewrite,
            "decompose": decompose,
        }
        return self._asked(q.Search, r.Found, more, which)

    def explain(
        self,
        query: str,
        *,
        id: str,  # noqa: A002  the word callers use
        limit: int = 10,
        threshold: float = 0.0,
        include_superseded: bool = False,
        rerank: bool | None = None,
        rewrite: bool | None = None,
        decompose: bool | None = None,
        **which: Unpack[Which],
    ) -> r.Traced:
        """What became of an item in a search: its place and why, or why it did not come back.

            fate = memory.explain("where does Nina work", id=fact_id).fate
            print(fate.place if fate.found else fate.told)

        The other arguments are those of the search.
        """
        more = {
            "query": query,
            "id": id,
            "limit": limit,
            "threshold": threshold,
            "include_superseded": include_superseded,
            "rerank": rerank,
            "rewrite": rewrite,
            "decompose": decompose,
        }
        return self._asked(q.Explain, r.Traced, more, which)

    def context(
        self,
        query: str,
        *,
        budget: int = 1200,
        threshold: float = 0.0,
        nearest: bool = False,
        rerank: bool | None = None,
        rewrite: bool | None = None,
        decompose: bool | None = None,
        conversation: str | None = None,
        recent_chars: int | None = None,
        **which: Unpack[Which],
    ) -> r.Packed:
        """What to put before a model: a few dated lines, cited by id, within a budget of tokens.

            prompt = memory.context("planning the trip", budget=800).text

        The text is empty where nothing stored fits; with `nearest` it holds the nearest there is.
        With a `conversation` (its name or id) its recent part comes too, see `recent`, within half
        of the budget; what stands there is not told again. `rerank`, `rewrite` and `decompose` are
        those of a search.
        """
        more = {
            "query": query,
            "budget": budget,
            "threshold": threshold,
            "nearest": nearest,
            "rerank": rerank,
            "rewrite": rewrite,
            "decompose": decompose,
            "conversation": conversation,
            "recent_chars": recent_chars,
        }
        return self._asked(q.Context, r.Packed, more, which)

    def ask(self, query: str, **how: Unpack[Inquiring]) -> r.Responded:
        """An answer from what is remembered, each sentence with the ids of what says so.

            told = memory.ask("where does Nina work")
            print(told.text if told.answered else told.reason)

        The answerer that is set gives it (REWOUND_ANSWERER): what fits best by itself, or a model,
        whose sentences are told only where what they cite bears them. It is drawn from what
        `context` gives for the same question. Where nothing fits well enough it is not `answered`.
        """
        return self._asked(q.Inquire, r.Responded, {"query": query}, how)

    def ask_stream(self, query: str, **how: Unpack[Inquiring]) -> Iterator[r.ToldPart]:
        """The same, part by part as it comes: what the answer is drawn from, each sentence, each
        that was withheld, and at last the whole reply.

            for part in memory.ask_stream("where does Nina work"):
                if isinstance(part, Sentence):
                    print(part.text, part.ids)

        Leaving the loop stops the model. Errors are raised where the first part is asked for.
        """
        return parts_of(lambda: self.ask(query, **how))

    def recent(
        self,
        conversation: str,
        *,
        recent_chars: int | None = None,
        older_chars: int = q.OLDER_CHARS,
        **when: Unpack[When],
    ) -> r.Recounted:
        """The short-term view of a conversation, by its name or id: its last messages as they are,
        up to `recent_chars` characters, and summaries of what is older.

            prompt = memory.recent("standup").recent.text

        Where no summary tells of older messages, the facts drawn from them stand in its place, of
        at most `older_chars` characters; `told_by` says which of the two there is.
        """
        more = {
            "conversation": conversation,
            "recent_chars": recent_chars,
            "older_chars": older_chars,
        }
        return self._asked(q.Recent, r.Recounted, more, when)

    def profile(
        self,
        *,
        budget: int = q.PROFILE_BUDGET,
        days: int = q.PROFILE_DAYS,
        subject: str | None = None,
        buckets: Buckets = None,
        **which: Unpack[Narrow],
    ) -> r.Portrait:
        """What is known, in short, for the start of a task: what is stable, what began within the
        last `days`, and named buckets. `text` is Markdown of at most `budget` tokens.

            prompt = memory.profile(buckets={"food": {"query": "food and cooking"}}).text

        `buckets` are those to tell, by default all that every profile can have; a bucket of your
        own is named with a `query`, `tags` or `kinds`. `subject` narrows to one person or thing.
        """
        more = {"budget": budget, "days": days, "subject": subject, "buckets": as_buckets(buckets)}
        return self._asked(q.Profile, r.Portrait, more, which)

    def list(
        self,
        what: q.What = "fact",
        *,
        limit: int = 100,
        cursor: str | None = None,
        include_superseded: bool = False,
        **which: Unpack[Narrow],
    ) -> r.Page:
        """All facts (or documents, messages, passages), oldest first, a page at a time.

        Pass a page's `cursor` to get the next one; it is None on the last.
        """
        more = {"limit": limit, "cursor": cursor, "include_superseded": include_superseded}
        return self._asked(q.List, r.Page, {**more, "what": what}, which)

    def get(self, id: str, **when: Unpack[When]) -> r.Shown:  # noqa: A002  the word callers use
        """One item by its id. An old version is answered as itself, and names the current one."""
        return self._asked(q.Get, r.Shown, {"id": id}, when)

    def history(self, id: str, **when: Unpack[When]) -> r.Versions:  # noqa: A002
        """An item's life: all its versions, root first, and every event about any of them."""
        return self._asked(q.History, r.Versions, {"id": id}, when)

    def events(
        self,
        *,
        after: int = 0,
        since: As_of | None = None,
        types: Several = None,
        about: str | None = None,
        limit: int = 100,
        newest: bool = False,
        **when: Unpack[When],
    ) -> r.Told:
        """What happened, oldest first: `after` a position, `since` a time, of some `types`, `about`
        an item. `newest` gives the last ones. Any event's id can be undone."""
        more = {
            "after": after,
            "since": as_moment(since, "since"),
            "types": many(types, "types"),
            "about": about,
            "limit": limit,
            "newest": newest,
        }
        return self._asked(q.Events, r.Told, more, when)

    def diff(self, start: As_of, end: As_of | None = None, **when: Unpack[When]) -> r.Differences:
        """What was learned, changed and forgotten between two moments (`end` left out: now)."""
        more = {"start": as_moment(start, "start"), "end": as_moment(end, "end")}
        return self._asked(q.Diff, r.Differences, more, when)

    def why(self, id: str, **when: Unpack[When]) -> r.Explained:  # noqa: A002
        """Why a fact is believed: its sources' own words, its versions, what it was compared with
        and how that came out, and every step with the command that takes it back."""
        return self._asked(q.Why, r.Explained, {"id": id}, when)

    def reviews(
        self, *, limit: int = 100, cursor: str | None = None, **when: Unpack[When]
    ) -> r.ReviewList:
        """Pairs of facts that were not decided, a page at a time: `Memory.label` decides them."""
        return self._asked(q.Reviews, r.ReviewList, {"limit": limit, "cursor": cursor}, when)

    def timeline(
        self,
        subject: str,
        attribute: str | None = None,
        *,
        limit: int = 200,
        **when: Unpack[When],
    ) -> r.Chronicle:
        """What held of a subject from when to when, and who says so; of one attribute or of all.

        memory.timeline("Nina", "works at").lines[0].periods
        """
        more = {"subject": subject, "attribute": attribute, "limit": limit}
        return self._asked(q.Timeline, r.Chronicle, more, when)

    def graph(
        self,
        entity: str,
        *,
        to: str | None = None,
        depth: int = 1,
        limit: int = 100,
        **when: Unpack[When],
    ) -> r.Network:
        """What is around an entity, up to `depth` steps away; `to` asks for the shortest path."""
        more = {"entity": entity, "to": to, "depth": depth, "limit": limit}
        return self._asked(q.Graph, r.Network, more, when)

    def stats(self, *, store: bool = False, **when: Unpack[When]) -> r.Figures:
        """Figures of the container, or of the whole `store`."""
        return self._asked(q.Stats, r.Figures, {"store": store}, when)

    def jobs(
        self, *, limit: int = 100, cursor: str | None = None, **when: Unpack[When]
    ) -> r.JobList:
        """What is still to be derived, what failed and why, what waits for a person; a page at a
        time."""
        return self._asked(q.Jobs, r.JobList, {"limit": limit, "cursor": cursor}, when)

    def containers(
        self, *, limit: int = 1000, cursor: str | None = None, **when: Unpack[When]
    ) -> r.ContainerList:
        """The containers of the store, a page at a time."""
        return self._asked(q.Containers, r.ContainerList, {"limit": limit, "cursor": cursor}, when)

    # --- inside

    def _asked(
        self, kind: type[q.Read], want: type[W], more: Mapping[str, Any], which: Mapping[str, Any]
    ) -> W:
        given: dict[str, Any] = {**more, "container": self._container}
        conditions = dict(which)
        if kind is q.Inquire:
            given |= {name: conditions.pop(name) for name in _HOW if name in conditions}
        for name in When.__annotations__:  # never `container`: a handle is of one container
            if name in conditions:
                given[name] = conditions.pop(name)
        given["scope"] = self._scope  # a call's own scope narrows further, by the filters
        given["as_of"] = self._moment(given.get("as_of"))
        given["valid_at"] = as_time(given.get("valid_at"), "valid_at")
        if "filters" in kind.__struct_fields__:
            given["filters"] = self._filters(conditions, q.Scope())
        elif conditions:
            raise InvalidInput(
                f"{next(iter(conditions))} is not something to ask {kind.__name__.lower()} with",
                field=next(iter(conditions)),
            )
        return self._answer(convert(kind, given), want)

    def _moment(self, as_of: As_of | None) -> str | None:
        if self._as_of is None:
            return as_moment(as_of, "as_of")
        if as_of is not None:
            raise InvalidInput(
                f"this handle answers as of {self._as_of}: ask the memory for another moment",
                field="as_of",
            )
        return self._as_of

    def _filters(self, conditions: Mapping[str, Any], within: q.Scope) -> q.Filters:
        """Filters from conditions, within a scope."""
        given = dict(conditions)
        for name in ("what", "kinds", "tags"):
            if name in given:
                given[name] = many(given[name], name)
        for name in ("since", "until"):
            if name in given:
                given[name] = as_time(given[name], name)
        given["metadata"] = dict(given.get("metadata") or {})
        given["scope"] = _over(given.get("scope"), within)
        if given.get("where") is not None:
            given["where"] = read_where(given["where"])
        return convert(q.Filters, given)

    def _scoped(self, scope: ScopeLike) -> q.Scope:
        """A call's scope over the handle's own."""
        return _over(scope, self._scope)

    def _answer(self, request: q.Request, want: type[W]) -> W:
        reply = self.call(request)
        assert isinstance(reply, want), f"{type(request).__name__} got {type(reply).__name__}"
        return reply


class Moment(Reading):
    """The memory as it was known at one moment: made by `Memory.as_of`, only for reading.

    What was forgotten since stays hidden here too.
    """


def _over(scope: ScopeLike, within: q.Scope) -> q.Scope:
    """A scope, with what it leaves open taken from another one."""
    if scope is None:
        return within
    over = as_scope(scope)
    names = [name for name in q.Scope.__struct_fields__ if getattr(over, name) is None]
    return msgspec.structs.replace(over, **{name: getattr(within, name) for name in names})


def as_buckets(given: Buckets) -> dict[str, q.Bucket] | None:
    """Buckets by name; names alone are of those that every profile can have."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        return {name: q.Bucket() for name in many(given, "buckets")}
    return {
        name: bucket if isinstance(bucket, q.Bucket) else as_bucket(bucket, f"buckets.{name}")
        for name, bucket in given.items()
    }


def as_bucket(given: Any, field: str) -> q.Bucket:
    """A bucket from a mapping; a text is its query. Raises InvalidInput."""
    if isinstance(given, str):
        return q.Bucket(query=given)
    if not isinstance(given, Mapping):
        raise InvalidInput(
            f"{field} must be an object with a query, tags or kinds, not {kind_of(given)}",
            field=field,
        )
    parts = {
        name: many(given[name], f"{field}.{name}") for name in ("tags", "kinds") if name in given
    }
    return convert(q.Bucket, {**given, **parts}, field)


def many(value: Several, field: str) -> tuple[str, ...]:
    """One or several; a single text is one entry, not its letters."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping | bytes) or not isinstance(value, Iterable):
        raise InvalidInput(
            f"{field} must be text or a list of it, not {kind_of(value)}", field=field
        )
    return tuple(value)
