"""`Memory`: one container of a store, to write into and to ask."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from rewound.eventlog.clock import Clock
from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import IdSource
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.batches import items_of, timed
from rewound.memory.conversions import As_of, Time, as_moment, as_scope, convert
from rewound.memory.inputs import merged
from rewound.memory.link import Link
from rewound.memory.models import Models
from rewound.memory.reading import Moment, Reading, ScopeLike, Several, Which, many

W = TypeVar("W", bound=r.Reply)


class Memory(Reading):
    """A container of a store, to write into and to ask.

    `data` is the folder of the store (by default $REWOUND_DATA, else ~/.rewound), made where it is
    missing. `container` is the unit of isolation: nothing is ever read across containers. `scope`
    ({user, agent, run, session}) marks everything written here and narrows everything read.
    Errors are `rewound.eventlog.errors.RewoundError` with a stable `code` and the `field` at fault.
    """

    def __init__(
        self,
        data: str | os.PathLike[str] | None = None,
        container: str = "default",
        *,
        scope: ScopeLike = None,
        clock: Clock | None = None,
        ids: IdSource | None = None,
        models: Models | None = None,
        link: Link | None = None,
    ) -> None:
        """`models` are what this process works with while it owns the store, by default what the
        environment says; `clock` and `ids` are for tests; `link` is an open one to share, which
        stays open."""
        self._shared = link is not None
        self.link = link or Link(data, clock=clock, ids=ids, models=models)
        super().__init__(self.link, container, as_scope(scope))

    # --- handles

    def container(self, name: str, *, scope: ScopeLike = None) -> Memory:
        """Another container of the same store. Closing the handle leaves the store open."""
        return Memory(container=name, scope=scope, link=self.link)

    def as_of(self, moment: As_of) -> Moment:
        """The memory as it was known then: a time, a position (`123` or `"@123"`), an event's id.

        memory.as_of("2026-03-01").search("where does Nina work")
        """
        at = as_moment(moment, "as_of")
        if at is None:
            raise InvalidInput(
                "as_of needs a moment: a time, a position or an event", field="as_of"
            )
        return Moment(self._link, self._container, self._scope, at)

    def own(self) -> None:
        """Own the store in this process from now on; another owner is asked to hand it over."""
        self.link.take_over()

    def close(self) -> None:
        """Finish what is under way and let go of the store; another program may then own it."""
        if not self._shared:
            self.link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- putting in

    def remember(
        self,
        fact: str | q.NewFact | Mapping[str, Any] | Iterable[str | q.NewFact | Mapping[str, Any]],
        *,
        kind: q.FactKindName | None = None,
        id: str | None = None,  # noqa: A002  the word callers use
        said_at: Time | None = None,
        valid_from: Time | None = None,
        valid_to: Time | None = None,
        expires_at: Time | None = None,
        forget_after: str | None = None,
        subject: str | None = None,
        attribute: str | None = None,
        value: str | None = None,
        tags: Several = None,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        scope: ScopeLike = None,
        infer: bool = False,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Written:
        """Remember a statement word for word, or a list of them at once.

            memory.remember("Nina prefers tea.", kind="preference", tags=["drinks"])
            memory.remember([{"text": "Ana lives in Rome."}, {"text": "Ana is 31."}])

        `said_at` is when it was said, `valid_from` and `valid_to` bound when it is true, and from
        `expires_at` on it is no longer shown; `forget_after` ("30 days", "P30D") says instead how
        long after it was said. `importance` (0 to 1) lifts it among what a search finds. `id` is
        your own: sent again, the fact gets a new version. Saying the same again adds no second
        fact. With `infer` the text is kept as a note, and facts are derived from it. `key` makes a
        retry safe: the same key and request get the same answer.
        Every reply has one item for each thing sent; in a list, what cannot be taken is refused by
        itself (`status`, `field`, `message`), while a single one raises.
        """
        own = {
            "kind": kind, "id": id, "said_at": said_at, "valid_from": valid_from,
            "valid_to": valid_to, "expires_at": expires_at, "forget_after": forget_after,
            "subject": subject, "attribute": attribute, "value": value, "tags": tags,
            "metadata": metadata, "importance": importance,
        }  # fmt: skip
        facts, refused = items_of(q.NewFact, "fact", fact, own)
        more = {"facts": facts, "infer": infer}
        reply = self._write(q.Remember, r.Written, more, scope, key, unless_after)
        return merged(reply, refused)

    def ingest(
        self,
        document: str
        | q.NewDocument
        | Mapping[str, Any]
        | Iterable[str | q.NewDocument | Mapping[str, Any]],
        *,
        id: str | None = None,  # noqa: A002
        title: str | None = None,
        address: str | None = None,
        media: q.MediaName | None = None,
        said_at: Time | None = None,
        tags: Several = None,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        scope: ScopeLike = None,
        infer: bool = True,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Written:
        """Keep a text verbatim (or a list of them), cut it into passages, derive facts from it.

            memory.ingest(page, id="wiki/home", title="Home", media="markdown")

        `id` is your own: sent again with another text, the document is replaced and only what is
        new in it is read; the same text again adds nothing. Without `infer` the whole text is also
        taken as one fact. `importance` (0 to 1) lifts it, and what is drawn from it, in searches.
        """
        own = {
            "id": id, "title": title, "address": address, "media": media, "said_at": said_at,
            "tags": tags, "metadata": metadata, "importance": importance,
        }  # fmt: skip
        documents, refused = items_of(q.NewDocument, "document", document, own)
        more = {"documents": documents, "infer": infer}
        reply = self._write(q.Ingest, r.Written, more, scope, key, unless_after)
        return merged(reply, refused)

    def add_messages(
        self,
        messages: str
        | q.NewMessage
        | Mapping[str, Any]
        | Iterable[str | q.NewMessage | Mapping[str, Any]],
        *,
        conversation: str = "default",
        scope: ScopeLike = None,
        infer: bool = True,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Written:
        """Keep messages of a conversation, and derive facts from them.

            memory.add_messages(
                [{"role": "user", "content": "I moved to Bergen.", "name": "Nina"}],
                conversation="chat-7",
            )

        Sending a transcript again, grown or not, adds only the messages that are new.
        """
        sent, refused = items_of(q.NewMessage, "message", messages, {})
        more = {"messages": sent, "conversation": conversation, "infer": infer}
        reply = self._write(q.AddMessages, r.Written, more, scope, key, unless_after)
        return merged(reply, refused)

    def remove_document(
        self,
        id: str,  # noqa: A002
        *,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Written:
        """The document is gone where it came from: it is no longer shown, but the past keeps it.

        Facts that were drawn from it and from nothing else end."""
        return self._write(q.RemoveDocument, r.Written, {"id": id}, None, key, unless_after)

    # --- correcting

    def update(
        self,
        id: str,  # noqa: A002
        text: str | None = None,
        *,
        corrects: bool = False,
        said_at: Time | None = None,
        valid_from: Time | None = None,
        valid_to: Time | None = None,
        expires_at: Time | None = None,
        metadata: Mapping[str, Any] | None = None,
        add_tags: Several = None,
        remove_tags: Several = None,
        importance: float | None = None,
        scope: ScopeLike = None,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Written:
        """Give a fact a new wording, or any item other tags or another importance.

            memory.update(fact_id, "Nina works at Harbor Foods.", valid_from="2026-05-01")

        The old version was true until the new one begins; with `corrects` it was wrong all along.
        """
        more = {
            "id": id, "text": text, "corrects": corrects, "said_at": said_at,
            "valid_from": valid_from, "valid_to": valid_to, "expires_at": expires_at,
            "metadata": None if metadata is None else dict(metadata),
            "add_tags": many(add_tags, "add_tags"),
            "remove_tags": many(remove_tags, "remove_tags"), "importance": importance,
        }  # fmt: skip
        return self._write(q.Update, r.Written, timed(more), scope, key, unless_after)

    def forget(
        self,
        ids: Several = None,
        *,
        text: str | None = None,
        query: str | None = None,
        similar: str | None = None,
        batch: str | None = None,
        limit: int | None = None,
        reason: str | None = None,
        dry_run: bool | None = None,
        key: str | None = None,
        unless_after: int | None = None,
        **which: Unpack[Which],
    ) -> r.Forgot:
        """Hide items until they are restored: by id, by their very text, by conditions, by what a
        query finds, or by what is similar in meaning.

            memory.forget("fact_01j…")
            memory.forget(text="Nina lives in Oslo.")
            memory.forget(source="chat-7", dry_run=True).count
            memory.forget(query="old address", limit=5)

        What is `similar` is only told, with scores and a `batch`; with that and `dry_run=False` it
        is done, unless something else would go by now (`Stale`).

            look = memory.forget(similar="where Nina lives")
            memory.forget(similar="where Nina lives", batch=look.batch, dry_run=False)

        An event's id stands for all that it brought. Nothing named never means everything.
        """
        chosen = (text, query, similar) != (None, None, None)
        more = {
            "ids": many(ids, "ids"), "text": text, "query": query, "similar": similar,
            "batch": batch, "limit": limit, "reason": reason, "dry_run": dry_run,
            "filters": self._conditions(chosen, which),
        }  # fmt: skip
        return self._write(q.Forget, r.Forgot, more, which.get("scope"), key, unless_after)

    def restore(
        self, ids: Several, *, key: str | None = None, unless_after: int | None = None
    ) -> r.Forgot:
        """Show forgotten items again."""
        more = {"ids": many(ids, "ids")}
        return self._write(q.Restore, r.Forgot, more, None, key, unless_after)

    def erase(
        self,
        ids: Several,
        *,
        dry_run: bool = False,
        wait: bool = True,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Erased:
        """Destroy items for ever, with all their wordings. The one thing that cannot be undone.

        `dry_run` lists what would go. With `wait` the reply comes once no file holds the bytes.
        """
        more = {"ids": many(ids, "ids"), "dry_run": dry_run, "wait": wait}
        return self._write(q.Erase, r.Erased, more, None, key, unless_after)

    def undo(
        self,
        id: str,  # noqa: A002
        *,
        dry_run: bool = False,
        cascade: bool = False,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Undid:
        """Take back an event (`ev_…`) or a whole group (`grp_…`), with all that followed from it.

        It is refused when later commands stand on it, which it names; `cascade` takes them along.
        The reply's `event` undoes the undo. `dry_run` shows what would change.
        """
        more = {"id": id, "dry_run": dry_run, "cascade": cascade}
        return self._write(q.Undo, r.Undid, more, None, key, unless_after)

    # --- judging

    def label(
        self,
        fact: str | q.NewLabel | Mapping[str, Any] | Iterable[q.NewLabel | Mapping[str, Any]],
        old: str | None = None,
        outcome: q.OutcomeName | None = None,
        *,
        confirm: bool | None = None,
        scope: ScopeLike = None,
        key: str | None = None,
        unless_after: int | None = None,
    ) -> r.Labelled:
        """Say how a fact relates to an earlier one that it was compared with; that holds from now
        on, with all that follows from it.

            memory.label(new_id, old_id, "updates")
            for review in memory.reviews().reviews:
                memory.label(review.fact, review.old, confirm=True)

        With `confirm` what was found is right (in a review: what it leans to), or wrong. A list of
        labels is given at once, and taken as a whole or not at all.
        """
        own = {"old": old, "outcome": outcome, "confirm": confirm}
        labels, refused = items_of(q.NewLabel, "label", fact, own)
        if refused:
            first = refused[0]
            where = f"labels[{first.number}]"
            raise InvalidInput(f"{where}: {first.item.message}", field=first.item.field or where)
        return self._write(q.Label, r.Labelled, {"labels": labels}, scope, key, unless_after)

    def fit(self, *, dry_run: bool = False) -> r.Fitted:
        """Fit the container's judging to the labels given, and judge anew what it judged.

        A fit that does worse on labels that it did not see is not taken: the reply says so.
        """
        request = {"container": self._container, "dry_run": dry_run}
        return self._answer(convert(q.Fit, request), r.Fitted)

    def rejudge(
        self,
        *,
        extractor: bool = False,
        judge: bool = False,
        since: As_of | None = None,
        dry_run: bool = False,
    ) -> r.Rejudged:
        """Go over the past with the models that are set now: draw facts anew with `extractor`,
        compare them anew with `judge` (that when neither is named). Undo takes it all back."""
        request = {
            "container": self._container, "extractor": extractor, "judge": judge,
            "since": as_moment(since, "since"), "dry_run": dry_run,
        }  # fmt: skip
        return self._answer(convert(q.Rejudge, request), r.Rejudged)

    # --- looking after the store

    def retry(
        self, ids: Several = None, *, key: str | None = None, unless_after: int | None = None
    ) -> r.Written:
        """Try again to derive facts from documents and messages where that failed or was parked;
        with no ids from all of the container."""
        more = {"ids": many(ids, "ids")}
        return self._write(q.Retry, r.Written, more, None, key, unless_after)

    def workers(self, action: q.WorkersAction = "status", *, timeout_s: int = 60) -> r.Working:
        """How the store's workers stand; `pause` them, `resume` them, or `wait` for them.

        Waiting ends when there is nothing to do, or after `timeout_s` seconds.
        """
        given = {"container": self._container, "action": action, "timeout_s": timeout_s}
        return self._answer(convert(q.Workers, given), r.Working)

    def nodes(self, /, action: q.NodesAction = "list", **given: Any) -> r.NodeList:
        """The model servers that work is sent to, and how they stand. `add` one, `drain` it, or
        `remove` it by its `name`; `check` puts a word into each. The fields are those of
        `requests.Nodes`."""
        fields = {**given, "container": self._container, "action": action}
        return self._answer(convert(q.Nodes, fields), r.NodeList)

    def configure(self, *, zone: str | None = None, key: str | None = None) -> r.Written:
        """Make the container, or set the time zone in which times without an offset are read."""
        return self._write(q.Configure, r.Written, {"zone": zone}, None, key, None)

    def verify(self, *, expect: str | None = None) -> r.Verified:
        """Check every chain, event and text; `expect` is a head that you kept elsewhere."""
        return self._answer(q.Verify(container=self._container, expect=expect), r.Verified)

    def seal(self) -> r.Reply:
        """Hash all chains into one head, to be kept elsewhere and passed to `verify` later."""
        return self.call(q.Seal(container=self._container))

    def rebuild(self, views: Several = None) -> r.Rebuilt:
        """Fold views anew from the log (all, if none is named), beside the live ones."""
        request = q.Rebuild(container=self._container, views=many(views, "views"))
        return self._answer(request, r.Rebuilt)

    def reembed(self, action: q.SwitchAction = "start", *, now: bool = False) -> r.Reembedding:
        """Put vectors of the embedder that is set in the place of those that are kept, which are
        searched until all are made; `now` drops these at once."""
        request = q.Reembed(container=self._container, action=action, now=now)
        return self._answer(request, r.Reembedding)

    def replay(self, at: As_of, *, to: str | None = None, verify: bool = True) -> r.Replayed:
        """Build the store as it was, by itself, and prove that reads `as_of` then agree with it.

        It is kept when `to` names a new folder.
        """
        if (
            isinstance(to, str) and to.strip()
        ):  # the owner may be a process with another working folder
            to = os.path.abspath(os.path.expanduser(to))
        given = {"container": self._container, "at": as_moment(at, "at"), "to": to}
        return self._answer(convert(q.Replay, {**given, "verify": verify}), r.Replayed)

    # --- inside

    def _conditions(self, chosen: bool, which: Mapping[str, Any]) -> q.Filters | None:
        """What to forget by, or to narrow by what is `chosen` otherwise. The handle's own scope
        narrows it, but never stands for a condition: else forgetting by an empty list of tags
        would mean all that is in the scope."""
        given = {name: value for name, value in which.items() if value is not None}
        if given and self._filters(given, q.Scope()) == q.Filters():
            return q.Filters()  # refused by its check, in one place for all doors
        if given or (chosen and self._scope != q.Scope()):
            return self._filters(given, self._scope)
        return None

    def _write(
        self,
        kind: type[q.Write],
        want: type[W],
        more: Mapping[str, Any],
        scope: ScopeLike,
        key: str | None,
        unless_after: int | None,
    ) -> W:
        given = {
            **more,
            "container": self._container,
            "scope": self._scoped(scope),
            "key": key,
            "unless_after": unless_after,
        }
        return self._answer(convert(kind, given), want)
