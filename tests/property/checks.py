"""The laws as checks over a driver: each raises AssertionError naming its law.

A mutation test patches one function of the product and shows that the check of that law fails;
so every check stands alone and takes only what it needs.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from rewound.eventlog.events import ContentErased, Forgotten
from rewound.eventlog.ids import Kind, show
from rewound.eventlog.instants import end_of, parse_instant, show_us
from rewound.eventlog.log import Recorded
from rewound.memory import replies, requests
from tests.oracle.compare import canonical, same
from tests.oracle.effect import effective_ids, without
from tests.oracle.fold import Dump, erased_items, oracle
from tests.oracle.ledger import place_name
from tests.oracle.reads import Asked, listing, recorded_times, search_visible
from tests.oracle.summed import told_of
from tests.property.chains import connected
from tests.property.copying import copy_until
from tests.property.driver import Driver
from tests.property.meanings import NO_WORDS, ranked
from tests.property.recents import recents
from tests.property.ruled import OVERLAY
from tests.property.words import NAMES, SUMMED, canaries, own_bodies, owners, withheld

FORGOTTEN_BY = re.compile(rb'("(?:state|reason)":"forgotten"),"by":"ev_[0-9a-z]{26}"')
"""The copy of law 2 forgets by events of its own."""

SOME = 12
"""Items of which each is asked for by itself."""
WHATS: tuple[requests.What, ...] = ("fact", "document", "message", "passage")
QUERIES = ("Ann likes teaq0", "codeq2 red", "moved to townq4", NO_WORDS)
VALID_AT = ("2024-05-01", "2025-03-01T00:00:00Z")


def rows(dump: Dump) -> Dump:
    return {table: dump[table] for table in dump if table not in OVERLAY}


# --- law 1


def replay_law(driver: Driver, name: str, *, anew: bool = True) -> None:
    """Live views, views folded from scratch, and the oracle hold the same rows."""
    live = driver.dump(name)
    same(live, driver.oracle(name), "replay: live views against the oracle")
    if anew:
        with driver.beside() as other:
            same(other.dump(name), live, "replay: views from scratch against live ones")


def rebuild_law(driver: Driver, name: str) -> None:
    """A rebuild beside the live views swaps in equal rows."""
    before, ranking = driver.dump(name), ranked(driver, name)
    rebuilt = driver.call(requests.Rebuild())
    assert rebuilt.equal, "replay: the rebuild itself found other rows"
    same(driver.dump(name), before, "replay: after a rebuild")
    same(ranked(driver, name), ranking, "replay: ranking after a rebuild")


# --- law 2


def battery(name: str, dump: Dump, as_of: str | None = None) -> list[requests.Read]:
    """Reads whose replies say all that can be seen of a container, but for the log itself."""
    asked: list[requests.Read] = []
    for query in QUERIES:
        asked.append(requests.Search(container=name, query=query, as_of=as_of, limit=50))
    first = QUERIES[0]
    asked += [
        requests.Search(container=name, query=first, as_of=as_of, include_superseded=True),
        requests.Search(container=name, query=first, as_of=as_of, include_forgotten=True),
        requests.Context(container=name, query=first, as_of=as_of),
        requests.Inquire(container=name, query=first, as_of=as_of, confidence=0.0),
    ]
    asked += [
        requests.Search(container=name, query=first, as_of=as_of, valid_at=at) for at in VALID_AT
    ]
    asked += [requests.List(container=name, what=what, as_of=as_of) for what in WHATS]
    asked.append(requests.List(container=name, as_of=as_of, include_superseded=True))
    asked.append(requests.Timeline(container=name, subject=NAMES[0], as_of=as_of))
    asked.append(requests.Profile(container=name, budget=2_000, days=1_000, as_of=as_of))
    asked.append(requests.Graph(container=name, entity=NAMES[1], depth=2, as_of=as_of))
    items = [item for table in ("facts", "documents", "messages") for item in dump[table]]
    asked += [requests.Get(container=name, id=item, as_of=as_of) for item in items[:SOME]]
    asked += explanations(name, dump, as_of)
    asked += recents(name, dump, as_of)
    asked.append(requests.Search(container=name, query=first, as_of=as_of, explain=True))
    asked += [
        requests.Explain(container=name, query=first, id=item, as_of=as_of) for item in items[:SOME]
    ]
    asked.append(requests.Reviews(container=name, as_of=as_of))
    return asked


def explanations(name: str, dump: Dump, as_of: str | None = None) -> list[requests.Read]:
    return [
        requests.Why(container=name, id=fact, as_of=as_of) for fact in list(dump["facts"])[:SOME]
    ]


def time_law(driver: Driver, name: str, position: int, copy: Driver) -> None:
    """As-of reads equal present reads of a store replayed to then, under today's overlay.

    `copy` is a fresh driver with no events; it is filled here. Nothing may wait for a vector.
    """
    driver.embed()
    same(
        driver.dump(name, position),
        driver.oracle_at(name, position),
        f"time: rows at @{position}",
    )
    container = driver.container(name)
    with driver.log.reading() as reader:
        then = reader.read(container, position)
        assert then is not None
        copy_until(reader, copy.log, copy.clock, container, position)
    copy.adopt(name, container)
    copy.clock.at = then.envelope.recorded_at
    copy.embed()
    items = driver.oracle_at(name, position)
    past = battery(name, items, f"@{position}")
    for asked, present in zip(past, battery(name, items), strict=True):
        found, wanted = (
            FORGOTTEN_BY.sub(rb"\1", told)
            for told in (driver.bytes_of(asked, log=False), copy.bytes_of(present, log=False))
        )
        assert found == wanted, f"time: {asked}\n found {found!r}\n want  {wanted!r}"


def clock_law(driver: Driver, name: str, position: int) -> None:
    """A position, its event and its time name the same moment."""
    container = driver.container(name)
    with driver.log.reading() as reader:
        then = reader.read(container, position)
    assert then is not None
    at = show_us(then.envelope.recorded_at)
    event = event_name(then)
    for asked in QUERIES[:1]:
        replies_ = [
            driver.bytes_of(requests.Search(container=name, query=asked, as_of=moment, limit=50))
            for moment in (f"@{position}", event, at)
        ]
        assert len(set(replies_)) == 1, f"time: @{position}, {event} and {at} differ"


def event_name(recorded: Recorded) -> str:
    return show(Kind.EVENT, recorded.envelope.event_id)


def rebuilt_past_law(driver: Driver, name: str, position: int) -> None:
    """`replay` builds the store as it was by itself, and finds that as-of reads agree."""
    with driver.log.reading() as reader:
        then = reader.read(driver.container(name), position)
    assert then is not None
    replayed = driver.call(requests.Replay(container=name, at=show_us(then.envelope.recorded_at)))
    assert replayed.agrees, f"time: replay to {name}@{position}: {replayed.differences}"


# --- law 3


class BeforeUndo:
    """What an undo is measured against; made just before it."""

    def __init__(self, driver: Driver, name: str) -> None:
        self.driver = driver
        self.name = name
        self.position = driver.head(name).position
        self.dump = driver.dump(name)

    def check(self, reply: replies.Undid) -> None:
        driver, name = self.driver, self.name
        events = driver.events(name)
        if reply.dry_run:
            assert driver.head(name).position == self.position, "undo: a dry run wrote events"
            same(driver.dump(name), self.dump, "undo: a dry run changed rows")
            return
        undo = next(r for r in events if event_name(r) == reply.event)
        before = [r for r in events if r.position <= self.position]
        targets = set(undo.event.events)  # type: ignore[attr-defined]
        left = [*without(before, targets), *events[len(before) :]]
        now = driver.dump(name)
        wanted = canonical(oracle(left, driver.bodies(name), whole=events))
        same(now, wanted, "undo: the present state against the log without what dropped out")
        same(
            rows(driver.dump(name, self.position)),
            rows(self.dump),
            "undo: as it was before the undo",
        )
        self._names(reply, before, events)

    def _names(self, reply: replies.Undid, before: list[Recorded], after: list[Recorded]) -> None:
        """The reply names exactly the events that no longer hold, and those that hold again."""
        names = {r.envelope.event_id: event_name(r) for r in before}
        held, holds = effective_ids(before), effective_ids(after) & set(names)
        assert set(reply.dropped) == {names[gone] for gone in held - holds}, "undo: dropped"
        assert set(reply.returned) == {names[back] for back in holds - held}, "undo: returned"


def undo_twice_law(driver: Driver, name: str, event: str, *, cascade: bool = True) -> None:
    """The undo of an undo, with nothing in between, gives the state before both."""
    before, ranking = BeforeUndo(driver, name), ranked(driver, name)
    undid = driver.call(requests.Undo(container=name, id=event, cascade=cascade))
    before.check(undid)
    middle = BeforeUndo(driver, name)
    middle.check(driver.call(requests.Undo(container=name, id=undid.event)))
    same(driver.dump(name), before.dump, "undo: after the undo of the undo")
    same(ranked(driver, name), ranking, "undo: ranking after the undo of the undo")


# --- laws 4 and 5


def forget_law(driver: Driver, name: str, positions: Iterable[int] = ()) -> None:
    """No read shows a canary all of whose places are hidden or masked."""
    events, bodies = driver.events(name), driver.bodies(name)
    dump = driver.oracle(name)
    secret = withheld(events, bodies, set(dump["hidden"]), dump["masks"])
    moments: list[str | None] = [None, *(f"@{position}" for position in positions)]
    for as_of in moments:
        for asked in [*battery(name, dump, as_of), *log_reads(name, dump, as_of)]:
            if asked.include_forgotten:
                continue
            leaked = canaries(driver.bytes_of(asked)) & secret - canaries(_asked_words(asked))
            assert not leaked, f"forget: {asked} shows {sorted(leaked)}"
    for item in dump["hidden"]:
        found = driver.bytes_of(requests.Get(container=name, id=item))
        assert found.startswith(b'["not_found"'), f"forget: get of {item} gave {found!r}"


def forgetting_law(driver: Driver, name: str) -> None:
    """Each forgetting of a fact takes its whole chain, and every span it was drawn from."""
    events, bodies = driver.events(name), driver.bodies(name)
    for r in events:
        if not isinstance(r.event, Forgotten) or r.event.item.kind is not Kind.FACT:
            continue
        then = oracle(events[: r.position - 1], bodies, by_tag=True)["facts"]
        hides = {str(ref) for ref in r.event.hides}
        missing = connected(then, str(r.event.item)) - hides
        assert not missing, f"forget: {event_name(r)} leaves out {sorted(missing)} of the chain"
        masks = {
            (str(span.source), place_name(span.place), span.start, span.end)
            for span in r.event.masks
        }
        for fact in hides & set(then):
            shown = {tuple(span) for span in then[fact]["sources"]} - masks
            assert not shown, f"forget: {event_name(r)} leaves {sorted(shown)} of {fact} to be read"


def _asked_words(asked: requests.Read) -> bytes:
    """A reply may echo the query."""
    return getattr(asked, "query", "").encode()


def log_reads(name: str, dump: Dump, as_of: str | None = None) -> list[requests.Read]:
    """Reads of what happened."""
    items = [item for table in ("facts", "documents", "messages") for item in dump[table]]
    asked: list[requests.Read] = [
        requests.Events(container=name, limit=1000, as_of=as_of),
        requests.Diff(container=name, start="@1", end=as_of),
        requests.Stats(container=name),
        requests.Jobs(container=name, as_of=as_of),
    ]
    asked += [requests.History(container=name, id=item, as_of=as_of) for item in items[:SOME]]
    return asked


class Kept:
    """Bodies as they were before erasures: what must be gone can only be known from before."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, int], tuple[set[str], set[str]]] = {}
        self._summed: dict[tuple[str, int], tuple[set[str], set[str]]] = {}
        """Of what was made of messages: it goes with any of them."""

    def look(self, driver: Driver, name: str) -> None:
        bodies, events = driver.bodies(name), driver.events(name)
        for r in events:
            if (name, r.position) not in self._told | self._summed:
                words: set[str] = set()
                for ref in own_bodies(r):
                    words |= canaries(bodies(ref.place(r.position)) or b"")
                if isinstance(r.event, SUMMED):
                    self._summed[name, r.position] = (told_of(events, r.event), words)
                else:
                    self._told[name, r.position] = (owners(r), words)

    def gone(self, driver: Driver, name: str) -> set[str]:
        """Canaries that only ever belonged to erased items."""
        erased = erased_items(driver.events(name))
        items = self._told.values()
        of_erased = {word for own, words in items if own and own <= erased for word in words}
        of_others = {word for own, words in items if not own or not own <= erased for word in words}
        for own, words in self._summed.values():
            (of_erased if own & erased else of_others).update(words)
        return of_erased - of_others


def erase_law(driver: Driver, name: str, kept: Kept) -> None:
    """After compaction no file of the store holds a word that belonged only to erased items."""
    events = driver.events(name)
    if not any(isinstance(r.event, ContentErased) for r in events):
        return
    if driver.log.needs_compaction():
        driver.log.compact()
    gone = kept.gone(driver, name)
    for path in files_of(driver.folder):
        left = gone & canaries(path.read_bytes())
        assert not left, f"erase: {path.name} still holds {sorted(left)}"


def files_of(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


# --- law 6


class Elsewhere:
    """What another container shows; made before a command, checked after it."""

    def __init__(self, driver: Driver, name: str) -> None:
        self.driver = driver
        self.name = name
        self.seen = self._look()

    def _look(self) -> list[bytes]:
        dump = self.driver.dump(self.name)
        asked = [*battery(self.name, dump), *log_reads(self.name, dump)]
        head = self.driver.head(self.name)
        return [repr(head).encode(), repr(dump).encode(), *map(self.driver.bytes_of, asked)]

    def check(self) -> None:
        assert self._look() == self.seen, f"isolation: {self.name} changed with another container"


def stranger_law(driver: Driver, name: str, other: str) -> None:
    """An id of one container is unknown in another."""
    dump = driver.dump(other)
    for table in ("facts", "documents", "messages"):
        for item in list(dump[table])[:3]:
            for asked in (
                requests.Get(container=name, id=item),
                requests.History(container=name, id=item),
                requests.Update(container=name, id=item, add_tags=("t",)),
                requests.Forget(container=name, ids=(item,)),
            ):
                found = driver.bytes_of(asked)
                assert found.startswith(b'["not_found"'), f"isolation: {asked} gave {found!r}"


# --- law 8


def honesty_law(request: requests.Write, reply: replies.Written, driver: Driver) -> None:
    """Each item sent has its own answer, and what was written can be found."""
    sent = len(getattr(request, "facts", getattr(request, "documents", None)) or ()) or len(
        getattr(request, "messages", ())
    )
    if sent:
        assert len(reply.items) == sent, "honesty: one answer for each item sent"
    assert reply.refused == sum(item.status == "refused" for item in reply.items)
    assert reply.pending == sum(item.pending for item in reply.items)
    dump = driver.dump(request.container)
    tables = {"fact": "facts", "document": "documents", "message": "messages"}
    for item in reply.items:
        if item.status == "refused":
            assert item.code and item.message, "honesty: a refusal says why"
            continue
        assert item.id is not None and item.event is not None
        if item.status == "done":
            assert item.id not in dump["documents"], f"honesty: {item} is still there"
        elif item.kind in tables:
            assert item.id in dump[tables[item.kind]], f"honesty: {item} is not there"
        if sent:
            assert item.pending == (item.id in dump["jobs"]), f"honesty: pending of {item}"
        for fact in item.facts:
            assert fact in dump["facts"], f"honesty: {fact} of {item} is not there"


def jobs_law(driver: Driver, name: str) -> None:
    """Every source with facts still to come stands in the jobs, unless it is hidden."""
    dump = driver.oracle(name)
    reply = driver.call(requests.Jobs(container=name, limit=3))
    jobs = list(reply.jobs)
    while reply.has_more:
        reply = driver.call(requests.Jobs(container=name, limit=3, cursor=reply.cursor))
        jobs += reply.jobs
    found = {f"{job.kind == 'summary'} {job.source}": (job.state, job.attempts) for job in jobs}
    assert len(jobs) == len(found) == reply.total, "honesty: a job stands on two pages"
    wanted = {
        f"{table == 'unsummarised'} {source}": (job["state"], job["attempts"])
        for table in ("jobs", "unsummarised")
        for source, job in dump[table].items()
        if source not in dump["hidden"]
    }
    same(found, wanted, "honesty: jobs")
    states = [state for state, _ in found.values()]
    counted = (reply.pending, reply.failed, reply.parked)
    assert counted == tuple(states.count(state) for state in ("pending", "failed", "parked"))


# --- reads against the oracle


def reads_law(driver: Driver, name: str, *, position: int | None = None) -> None:
    """Lists are exactly, and hits are among, what the oracle lets be seen."""
    events = driver.events(name)
    if position is None:
        dump, now, as_of = driver.oracle(name), driver.now_us(), None
    else:
        dump, as_of = driver.oracle_at(name, position), f"@{position}"
        now = events[position - 1].envelope.recorded_at
    erased, times = erased_items(events), recorded_times(events, position)
    middle = events[len(events) // 2].envelope.recorded_at
    for asked, filters in asked_variants(now, times, middle):
        for what in WHATS:
            page = driver.call(
                requests.List(container=name, what=what, as_of=as_of, limit=1000, **filters)
            )
            found = [item.id for item in page.items]
            wanted = listing(dump, what, asked, erased)
            assert found == wanted, f"list {what} {filters} {as_of}: {found}, want {wanted}"
            assert page.total == len(wanted) and not page.has_more
        may = search_visible(dump, asked, erased)
        for query in QUERIES:
            reply = driver.call(
                requests.Search(container=name, query=query, as_of=as_of, limit=100, **filters)
            )
            hits = {item for hit in reply.hits for item in (hit.id, *hit.also)}
            assert hits <= may, f"search {filters} {as_of}: {sorted(hits - may)} may not be hits"
            missed = holding(dump, may, query) - hits
            assert not missed, f"search {query!r} {filters} {as_of} misses {sorted(missed)}"


def holding(dump: Dump, items: set[str], query: str) -> set[str]:
    """Facts and messages among the items whose text holds the query's canary, unmasked.

    Masked words leave the index: those of a message, and of a forgotten fact in its words.
    """
    words = canaries(query.encode())
    found = {i for i in items if words & canaries((_text(dump, i) or "").encode())}
    if not dump["masks"]:
        return found
    return {
        item
        for item in found & set(dump["facts"])
        if not any(place in dump["masks"] for _, place, *_ in dump["facts"][item]["sources"])
    }


def _text(dump: Dump, item: str) -> str | None:
    for table in ("facts", "messages"):
        if item in dump[table]:
            return str(dump[table][item]["text"] or "")
    return None


def asked_variants(
    now: int, times: Mapping[str, int], middle: int
) -> list[tuple[Asked, dict[str, Any]]]:
    """The oracle's and the request's form of the same filters; `middle` parts the items."""
    scope, part = requests.Scope(user="ann"), show_us(middle)
    variants: list[tuple[Asked, dict[str, Any]]] = [
        (Asked(now=now), {}),
        (Asked(now=now, include_superseded=True), {"include_superseded": True}),
        (Asked(now=now, include_forgotten=True), {"include_forgotten": True}),
        (Asked(now=now, tags=("tagq101",)), {"filters": requests.Filters(tags=("tagq101",))}),
        (Asked(now=now, scope={"user": "ann"}), {"filters": requests.Filters(scope=scope)}),
        (Asked(now=now, kinds=("episode",)), {"filters": requests.Filters(kinds=("episode",))}),
        (
            Asked(now=now, since=middle, recorded=times),
            {"filters": requests.Filters(since=part)},
        ),
        (
            Asked(now=now, until=middle, recorded=times),
            {"filters": requests.Filters(until=part)},
        ),
    ]
    for text in VALID_AT:
        instant = parse_instant(text)
        interval = (instant.at, end_of(instant))
        variants.append((Asked(now=now, valid_at=interval), {"valid_at": text}))
    return variants


def counts_law(driver: Driver, name: str) -> None:
    """The figures of a container count what its lists show."""
    dump, erased = driver.oracle(name), erased_items(driver.events(name))
    asked = Asked(now=driver.now_us())
    (info,) = driver.call(requests.Stats(container=name)).info
    wanted = {f"{what}s": len(listing(dump, what, asked, erased)) for what in WHATS}
    found = {what: info.counts.get(what, 0) for what in wanted}
    same(found, wanted, "honesty: counts")


# --- law 10


def chain_law(driver: Driver) -> None:
    verified = driver.call(requests.Verify())
    assert verified.ok, f"chain: {verified.findings}"


def each(names: Iterable[str], check: Callable[[str], None]) -> None:
    for name in names:
        check(name)
