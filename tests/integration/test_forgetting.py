"""Forgetting by everything that can name a memory: text, conditions, and what is similar."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.errors import InvalidInput, NotFound, Stale
from rewound.eventlog.ids import FactId
from rewound.eventlog.instants import parse_instant
from rewound.eventlog.log import Draft
from rewound.memory import Memory
from rewound.memory import requests as q
from rewound.memory.replies import Forgot, Written
from tests.cases.given import Clock, holding, id_of, pages
from tests.integration.thesaurus import Bench, Thesaurus, bench, ref

SORTS: tuple[q.What, ...] = ("fact", "document", "message")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with Memory(tmp_path / "store", "s", clock=clock) as opened:
        yield opened


def shown(memory: Memory) -> list[str]:
    """What all facts, documents and messages say, old versions too."""
    views = (view for sort in SORTS for view in pages(memory, sort, include_superseded=True))
    return sorted(view.text for view in views)


# --- by the very text


TEA = "Nina drinks tea."


def test_a_text_names_what_says_just_this(memory: Memory) -> None:
    memory.remember(TEA)
    memory.remember(TEA, metadata={"of": "another"})
    memory.ingest(f"{TEA}\r\n\r\nAnd that is all.", id="page", infer=False)
    memory.ingest(TEA + "\n\n", id="same", infer=False)
    memory.add_messages([{"content": TEA, "name": "Ben"}, {"content": TEA + " Mostly."}])
    forgot = memory.forget(text=TEA)
    assert {item.kind for item in forgot.items} == {"fact", "document", "message"}
    assert forgot.count == len(forgot.items) == 5  # one document went with the fact it was taken as
    assert all(item.score is None for item in forgot.items) and forgot.batch is None
    assert [text for text in shown(memory) if text.startswith("Nina")] == [
        f"{TEA}\r\n\r\nAnd that is all.",
        f"{TEA}\r\n\r\nAnd that is all.",
        f"{TEA} Mostly.",
    ]
    with pytest.raises(NotFound) as refused:
        memory.forget(text=TEA)
    assert refused.value.field == "text" and "Nina" not in refused.value.message


@pytest.mark.parametrize(
    ("said", "given"),
    [
        ("one\r\ntwo", "one\ntwo"),
        ("one\ntwo", "one\r\ntwo\r\n"),
        ("one  ", "one"),
        ("…", "…"),
        ("明日は陶芸教室", "明日は陶芸教室 \n"),
        ("the of and", "the of and"),
        ("C++ & (x)", "C++ & (x)"),
    ],
)
def test_a_text_is_compared_as_when_it_is_sent_twice(memory: Memory, said: str, given: str) -> None:
    memory.remember(said)
    memory.add_messages([{"content": said, "name": "Ben"}])
    memory.ingest(said, id="page")
    assert memory.forget(text=given).count == 3
    assert shown(memory) == []


@pytest.mark.parametrize("other", [" one", "One", "one.", "one two", "on", "two"])
def test_what_says_nearly_this_stays(memory: Memory, other: str) -> None:
    memory.remember("one")
    with pytest.raises(NotFound):
        memory.forget(text=other)
    assert shown(memory) == ["one"]


def test_the_text_of_an_old_version_takes_its_whole_fact(memory: Memory) -> None:
    fact = id_of(memory.remember("Nina lives in Oslo."))
    newer = id_of(memory.update(fact, "Nina lives in Bergen."))
    forgot = memory.forget(text="Nina lives in Oslo.")
    assert {item.id for item in forgot.items} == {fact, newer}
    assert any(f"the current one being {newer}" in note for note in forgot.notes)
    assert shown(memory) == []


def test_filters_and_scopes_narrow_a_text(memory: Memory) -> None:
    memory.remember(TEA, scope={"user": "ben"})
    memory.add_messages([{"content": TEA, "tags": ["t"]}], scope={"user": "ana"})
    with pytest.raises(NotFound):
        memory.forget(text=TEA, scope={"user": "eve"})
    with pytest.raises(NotFound):
        memory.forget(text=TEA, what="fact", tags="t")
    assert [item.kind for item in memory.forget(text=TEA, tags="t").items] == ["message"]
    assert [item.kind for item in memory.forget(text=TEA, scope={"user": "ben"}).items] == ["fact"]


def test_a_guess_at_blacked_out_words_finds_nothing(memory: Memory) -> None:
    memory.add_messages([{"content": "My PIN is 7391."}], infer=False)
    fact = next(pages(memory)).id
    memory.forget(fact)
    with pytest.raises(NotFound):
        memory.forget(text="My PIN is 7391.")
    memory.restore(fact)
    assert memory.forget(text="My PIN is 7391.").count == 2


# --- by conditions


def filled(memory: Memory) -> dict[str, str]:
    """Name -> id of one item for each condition."""
    ids: dict[str, str] = {}

    def keep(name: str, written: Written, number: int = 0) -> None:
        ids[name] = id_of(written, number)

    fact = q.NewFact(
        text="A fact.", tags=("red", "big"), metadata={"n": 1}, valid_from="2026-03-01"
    )
    keep("fact", memory.remember(fact))
    keep("preference", memory.remember("A taste.", kind="preference", tags=["red"]))
    keep("nina", memory.remember("Of Nina.", scope={"user": "nina", "session": "1"}))
    keep("page", memory.ingest("A page.", id="wiki/home", said_at="2026-03-01T12:00:00Z"))
    keep("other page", memory.ingest("Another page.", id="wiki/other", metadata={"n": 2}))
    chat = [
        {"content": "Said in the chat.", "id": "m1", "time": "2026-03-01T23:59:59Z"},
        {"content": "And later.", "time": "2026-03-02T00:00:00Z"},
    ]
    written = memory.add_messages(chat, conversation="chat-7")
    keep("m1", written)
    keep("m2", written, 1)
    keep("m3", memory.add_messages([{"content": "Elsewhere."}], conversation="chat-70"))
    return ids


CONDITIONS: list[tuple[dict[str, Any], set[str]]] = [
    ({"what": "fact"}, {"fact", "preference", "nina"}),
    ({"what": "document"}, {"page", "other page"}),
    ({"what": ["message", "fact"]}, {"fact", "preference", "nina", "m1", "m2", "m3"}),
    ({"kinds": "preference"}, {"preference"}),
    ({"tags": "red"}, {"fact", "preference"}),
    ({"tags": ["red", "big"]}, {"fact"}),
    ({"metadata": {"n": 1}}, {"fact"}),
    ({"metadata": {"n": 2}}, {"other page"}),
    ({"scope": {"user": "nina"}}, {"nina"}),
    ({"scope": {"user": "nina", "session": "1"}}, {"nina"}),
    ({"source": "wiki/home"}, {"page"}),
    ({"source": "m1"}, {"m1"}),
    ({"source": "chat-7"}, {"m1", "m2"}),
    ({"since": "2026-03-01", "until": "2026-03-01"}, {"fact", "page", "m1"}),
    ({"since": "2026-03-01T12:00:00Z", "until": "2026-03-02"}, {"page", "m1", "m2"}),
    ({"until": "2026-03-01T12:00:00Z"}, {"fact"}),
    ({"until": "2026-03-01T12:00:01Z"}, {"fact", "page"}),
    ({"since": "2026-03-02", "until": "2026-05-31"}, {"m2"}),
    ({"since": "2026-03-01T23:59:59Z", "until": "2026-03-02T00:00:00Z"}, {"m1"}),
    ({"since": "2026-06-01"}, {"preference", "nina", "other page", "m3"}),
    ({"what": "message", "source": "chat-7", "since": "2026-03-02"}, {"m2"}),
]  # fmt: skip


@pytest.mark.parametrize(("conditions", "names"), CONDITIONS, ids=range(len(CONDITIONS)))
def test_conditions_name_what_meets_all_of_them(
    memory: Memory, conditions: dict[str, Any], names: set[str]
) -> None:
    ids = filled(memory)
    before = shown(memory)
    preview = memory.forget(**conditions, dry_run=True)
    assert shown(memory) == before
    forgot = memory.forget(**conditions)
    name_of = {raw: name for name, raw in ids.items()}
    assert {name_of[item.id] for item in forgot.items} == names
    assert forgot.count == len(names) == preview.count
    assert forgot.items == preview.items
    assert len(shown(memory)) == len(before) - len(names)
    memory.restore(forgot.group)
    assert shown(memory) == before


@pytest.mark.parametrize(
    "conditions",
    [
        {"source": "chat-"}, {"source": "wiki"}, {"tags": ["red", "green"]}, {"kinds": "episode"},
        {"metadata": {"n": "1"}}, {"metadata": {"n": 1, "m": 1}}, {"scope": {"user": "nin"}},
        {"scope": {"agent": "nina"}}, {"until": "1999"}, {"since": "2027"},
        {"since": "2026-03-01", "until": "2026-03-01", "tags": "none"},
        {"what": "message", "tags": "red"}, {"what": "document", "kinds": "fact"},
    ],
)  # fmt: skip
def test_conditions_that_nothing_meets_are_refused(
    memory: Memory, conditions: dict[str, Any]
) -> None:
    filled(memory)
    before = shown(memory)
    with pytest.raises(NotFound, match="nothing was forgotten"):
        memory.forget(**conditions)
    assert shown(memory) == before


def test_a_group_is_restored_or_undone_as_one(memory: Memory) -> None:
    filled(memory)
    before = shown(memory)
    alone = memory.forget(tags="big")
    forgot = memory.forget(source="chat-7")
    assert forgot.group is not None and len(forgot.events) == 2
    back = memory.restore(forgot.group)
    assert {item.id for item in back.items} == {item.id for item in forgot.items}
    assert len(shown(memory)) == len(before) - 1
    memory.restore(alone.items[0].id)
    again = memory.forget(source="chat-7")
    assert again.group is not None
    undone = memory.undo(again.group)
    assert shown(memory) == before and undone.event is not None
    memory.undo(undone.event)
    assert len(shown(memory)) == len(before) - 2


def test_a_fact_expires_to_the_second_in_the_container_s_zone(memory: Memory, clock: Clock) -> None:
    memory.configure(zone="Asia/Kolkata")
    memory.remember("The stall is open.", expires_at="2026-06-02T01:30:15")
    fact = next(pages(memory))
    assert fact.expires_at is not None
    assert parse_instant(fact.expires_at).at == parse_instant("2026-06-01T20:00:15Z").at
    clock.at = parse_instant("2026-06-01T20:00:15Z").at - 1_000  # a few reads before
    assert [hit.text for hit in memory.search("stall").hits] == ["The stall is open."]
    clock.set("2026-06-01T20:00:15Z")
    assert memory.search("stall").hits == () and not list(pages(memory))


def test_a_fact_is_forgotten_after_a_while(memory: Memory, clock: Clock) -> None:
    memory.remember("The gate code is 4711.", forget_after="12 hours")
    assert [hit.text for hit in memory.search("gate code").hits] == ["The gate code is 4711."]
    clock.set("2026-06-02T00:00:01Z")
    assert memory.search("gate code").hits == ()
    # said anew it holds anew; said twice it is one, which keeps its end and says so
    again = memory.remember("The gate code is 4711.", forget_after="PT12H")
    assert again.items[0].status == "written"
    clock.set("2026-06-02T06:00:00Z")
    twice = memory.remember("The gate code is 4711.", forget_after="720 min")
    assert (twice.items[0].status, twice.items[0].id) == ("seen again", again.items[0].id)
    assert any("still ends at 2026-06-02T12:00:01" in note for note in twice.notes)
    clock.set("2026-06-02T12:00:02Z")
    assert memory.search("gate code").hits == ()


def test_how_long_counts_from_when_it_was_said(memory: Memory) -> None:
    memory.remember("An old hint.", said_at="2026-05-01T00:00:00+02:00", forget_after="P60D")
    (fact,) = pages(memory)
    assert fact.expires_at is not None
    assert parse_instant(fact.expires_at).at == parse_instant("2026-06-29T22:00:00Z").at


@pytest.mark.parametrize(
    "given",
    [
        {"forget_after": "a while"},
        {"forget_after": "3 months"},
        {"forget_after": "1 day", "expires_at": "2027"},
        {"forget_after": "900000000 weeks"},
        {"forget_after": "1 day", "infer": True},
    ],
)
def test_a_wrong_length_is_refused(memory: Memory, given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.remember("Something.", **given)
    assert refused.value.field == "forget_after"


# --- by what is similar


PUPPY = "Her puppy resides with us."
TERRIER = "The terrier dwells in Bergen."
OTHERS = ("The server runs Debian.", "Tea is served at four.", "Orbit Labs hired Bob.")
ASKED = "which animal lives here"
"""Shares no word with the puppy or the terrier, only meanings."""


@pytest.fixture(params=["memory", "lmdb"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with bench(tmp_path, durable=request.param == "lmdb") as opened:
        opened.remember(PUPPY, TERRIER, *OTHERS)
        opened.embed()
        yield opened


def similar(made: Bench, text: str = ASKED, **more: Any) -> Forgot:
    reply = made.ask(q.Forget(similar=text, **more))
    assert isinstance(reply, Forgot)
    return reply


def kept(made: Bench) -> set[str]:
    return {view.text for view in made.ask(q.List(limit=1000)).items}


def test_what_is_similar_is_told_and_then_forgotten(made: Bench) -> None:
    look = similar(made)
    assert look.dry_run and look.batch and not look.events and look.group is None
    assert {item.text for item in look.items} == {PUPPY, TERRIER}
    assert all(item.score is not None and 0 < item.score < 1 for item in look.items)
    assert kept(made) == {PUPPY, TERRIER, *OTHERS}
    done = similar(made, batch=look.batch, dry_run=False, reason="asked to")
    assert not done.dry_run and len(done.events) == 2
    assert (done.items, done.batch) == (look.items, look.batch)
    assert kept(made) == set(OTHERS)
    made.ask(q.Restore(ids=(done.group or "",)))
    assert kept(made) == {PUPPY, TERRIER, *OTHERS}


def test_a_look_tells_the_same_batch_until_something_changes(made: Bench) -> None:
    look = similar(made)
    made.remember("The lift is broken.")
    assert similar(made).batch == look.batch  # what has nothing to do with it changes nothing
    assert similar(made, batch=look.batch).dry_run  # a batch alone does nothing yet
    assert kept(made) >= {PUPPY, TERRIER}
    assert similar(made, limit=19).batch != look.batch
    assert similar(made, ASKED + "?").batch != look.batch


CHANGES: dict[str, Any] = {
    "one more": lambda made, ids: (made.remember("The pet lives here."), made.embed()),
    "one less": lambda made, ids: made.ask(q.Forget(ids=(ids[PUPPY],))),
    "none left": lambda made, ids: made.ask(q.Forget(ids=tuple(ids.values()))),
    "another wording": lambda made, ids: (
        made.ask(q.Update(id=ids[PUPPY], text="Her puppy lives with us now.")),
        made.embed(),
    ),
    "undone": lambda made, ids: made.ask(q.Undo(id=event_of(made, ids[PUPPY]))),
}


def event_of(made: Bench, item: str) -> str:
    event = made.ask(q.Events(about=item)).events[0].id
    assert isinstance(event, str)
    return event


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_would_go_must_be_what_was_told(made: Bench, change: Any) -> None:
    look = similar(made)
    change(made, {item.text: item.id for item in look.items})
    before = kept(made)
    with pytest.raises(Stale) as refused:
        similar(made, batch=look.batch, dry_run=False)
    assert refused.value.field == "batch" and kept(made) == before


def test_a_batch_is_of_its_own_question_and_needed(made: Bench) -> None:
    look = similar(made)
    others: tuple[dict[str, Any], ...] = (
        {"text": "which animal"},
        {"filters": q.Filters(what=("fact",))},
        {"limit": 2},
    )
    for other in others:
        with pytest.raises(Stale):
            similar(made, **other, batch=look.batch, dry_run=False)
    with pytest.raises(InvalidInput) as refused:
        similar(made, dry_run=False)
    assert refused.value.field == "batch"
    assert kept(made) >= {PUPPY, TERRIER}


def test_never_more_than_the_limit_and_the_reply_says_so(made: Bench) -> None:
    one = similar(made, limit=1)
    assert one.count == 1 and any("limit of 1" in note for note in one.notes)
    assert not any("limit" in note for note in similar(made).notes)
    made.remember(*(f"Puppy number {n} lives here." for n in range(150)))
    made.embed()
    assert similar(made).count == 20
    many = similar(made, limit=100)
    assert many.count == 100 and any("limit of 100" in note for note in many.notes)
    with pytest.raises(InvalidInput) as refused:
        similar(made, limit=101)
    assert refused.value.field == "limit"


def test_near_duplicates_count_as_items_too(made: Bench) -> None:
    made.remember("Her puppy resides with us!", "her puppy resides with us")
    made.embed()
    assert similar(made, limit=2).count == 2
    assert similar(made).count == 4


def test_filters_and_scope_narrow_what_is_similar(made: Bench) -> None:
    nina = q.Scope(user="nina")
    (own,) = made.remember("The dog of Nina lives here.", scope=nina)
    made.embed()
    assert [item.id for item in similar(made, scope=nina, limit=1).items] == [own]
    narrowed = similar(made, filters=q.Filters(scope=nina))
    assert [item.id for item in narrowed.items] == [own]
    with pytest.raises(NotFound):
        similar(made, filters=q.Filters(tags=("nobody",)))
    with pytest.raises(InvalidInput):
        similar(made, filters=q.Filters())


def test_a_retry_with_its_key_is_done_once(made: Bench) -> None:
    look = similar(made, key="k")
    done = similar(made, batch=look.batch, dry_run=False, key="k")
    assert similar(made, batch=look.batch, dry_run=False, key="k") == done


def test_how_it_was_asked_for_is_kept_with_the_event(made: Bench) -> None:
    look = similar(made)
    done = similar(made, batch=look.batch, dry_run=False)
    (event,) = [
        event
        for event in made.ask(q.Events(about=done.items[0].id, include_forgotten=True)).events
        if event.type == "forgotten"
    ]
    assert event.texts["query"] == ASKED


def test_words_alone_choose_without_an_embedder(tmp_path: Path, memory: Memory) -> None:
    memory.remember(PUPPY)
    memory.remember(OTHERS[0])
    with pytest.raises(NotFound):
        memory.forget(similar=ASKED)
    look = memory.forget(similar="puppy")
    assert [item.text for item in look.items] == [PUPPY]
    assert "chosen by words alone, since no embedder is set" in look.notes
    memory.forget(similar="puppy", batch=look.batch, dry_run=False)
    assert shown(memory) == [OTHERS[0]]


def test_words_alone_choose_while_nothing_has_a_vector_or_the_embedder_fails(
    tmp_path: Path,
) -> None:
    with bench(tmp_path) as made:
        made.remember(PUPPY)
        assert "chosen by words alone: nothing has a vector yet" in similar(made, "puppy").notes
        made.embed()
        made.remember(TERRIER)
        assert any("1 without a vector" in note for note in similar(made, "puppy").notes)
        model = made.embedder
        assert isinstance(model, Thesaurus)

        def fail(texts: object) -> None:
            raise ConnectionError("gone")

        model.before = fail
        look = similar(made, "her puppy")
        assert [item.text for item in look.items] == [PUPPY]
        assert any("the embedder failed" in note for note in look.notes)


def test_an_event_loop_s_way_asks_the_embedder_too(made: Bench) -> None:
    reply = made.engine.submit(q.Forget(similar=ASKED)).result(10)
    assert isinstance(reply, Forgot)
    assert {item.text for item in reply.items} == {PUPPY, TERRIER}


# --- what was judged of a fact goes with it


def judged(made: Bench, fact: str, old: str, word: str) -> None:
    """A verdict on two facts, as a judge writes it down."""
    bodies = BodyWriter(made.ids)
    pair = e.Pair(FactId(ref(old).id), e.Outcome.UPDATES, 900, e.Outcome.UPDATES)
    evidence = [{"similarity": 0.5, "the model said": f"{word} follows"}]
    event = e.FactsJudged(
        FactId(ref(fact).id), (pair,), None, bodies.piece("rules/1"), bodies.value(evidence)
    )
    made.engine.record(made.container(), [Draft(event, bodies.sealed)])


@pytest.mark.parametrize("erased", ["new", "old"])
def test_erasing_a_fact_destroys_what_was_judged_of_it(tmp_path: Path, erased: str) -> None:
    with bench(tmp_path, durable=True) as made:
        old, new, other, last = made.remember(
            "QUOKKA lives here.", "QUOKKA lives there.", "The sky is grey.", "The sky is blue."
        )
        judged(made, new, old, "QUOKKA")
        judged(made, last, other, "WOMBAT")
        made.embed()
        look = made.ask(q.Erase(ids=(old if erased == "old" else new,), dry_run=True))
        assert not any("details" in note for note in look.notes)  # how it was judged is no detail
        gone = made.ask(q.Erase(ids=(old, new)))
        assert gone.compaction == "done" and gone.bodies == 4  # two wordings, evidence and judge
        assert holding(tmp_path, b"QUOKKA", b"quokka") == []
        assert holding(tmp_path, b"WOMBAT")  # another verdict keeps what spoke for it
        told = made.ask(q.Events(types=("facts judged",), include_forgotten=True)).events
        assert [event.withheld for event in told] == ["erased", None]
        assert made.ask(q.Verify()).ok


def test_erasing_leaves_nothing_of_how_it_was_forgotten(tmp_path: Path) -> None:
    with bench(tmp_path, durable=True) as made:
        (fact,) = made.remember("The puppy is called QUOKKA.")
        made.remember("The sky is grey.")
        made.embed()
        look = similar(made, "QUOKKA pet", limit=1)
        assert [item.id for item in look.items] == [fact]
        more = {"batch": look.batch, "limit": 1, "dry_run": False, "key": "k-QUOKKA"}
        similar(made, "QUOKKA pet", **more, reason="QUOKKA asked")
        assert holding(tmp_path, b"QUOKKA pet") and holding(tmp_path, b"QUOKKA asked")
        made.ask(q.Erase(ids=(fact,)))
        assert holding(tmp_path, b"QUOKKA", b"quokka", str(look.batch).encode()) == []
