"""Why a search has its order, and why something did not come back: every reason, by the library."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.models import Models
from rewound.projections.feature_names import NAMES
from rewound.projections.ordering import FURTHER, SOUGHT, candidates
from rewound.projections.ranker import loaded
from tests.integration.thesaurus import Bench, bench

QUERY = "where does Nina work"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Words alone; facts are stated, and nothing is judged."""
    models = Models(embedder="none", extractor="none", judge="none")
    with Memory(tmp_path / "store", models=models) as opened:
        yield opened


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Bench]:
    """Words and meaning, as far as it is told to embed."""
    with bench(tmp_path) as opened:
        yield opened


def remember(memory: Memory, text: str, **more: Any) -> str:
    found = memory.remember(text, **more).items[0].id
    assert found is not None
    return found


def fate(memory: Any, item: str, query: str = QUERY, **more: Any) -> r.Fate:
    told: r.Fate = memory.explain(query, id=item, **more).fate
    assert told.told and told.found == (told.reason is None)
    return told


def talk(memory: Memory) -> list[str]:
    """A conversation with facts in it, at more places than one."""
    lines = [
        ("user", "Nina", "I work at Orbit Labs as a botanist."),
        ("assistant", None, "Where is Orbit Labs?"),
        ("user", "Nina", "In Bergen, near the harbour."),
        ("user", "Bob", "Nina and I work in the same house."),
    ]
    sent = [{"role": role, "content": said, "name": name} for role, name, said in lines]
    return [item.id or "" for item in memory.add_messages(sent, conversation="talk").items]


# --- what a hit tells


def assert_adds_up(found: r.Found) -> None:
    """Every figure follows from those that it is said to follow from."""
    ranking = found.ranking
    assert ranking is not None
    for place, hit in enumerate(found.hits, 1):
        why = hit.explanation
        assert why is not None and why.place == place and why.collapsed >= len(hit.also)
        assert {feature.name for feature in why.features} == set(NAMES)
        sizes = [abs(feature.adds) for feature in why.features]
        assert sizes == sorted(sizes, reverse=True)
        assert why.score is not None and why.logit is not None
        assert math.isclose(sum(each.adds for each in why.features), why.score, abs_tol=1e-9)
        logit = ranking.fit + ranking.slope * (why.score - ranking.best) - FURTHER * why.further
        logit += SOUGHT * why.sought
        assert math.isclose(logit, why.logit, abs_tol=1e-9)
        assert why.probability == hit.score
        assert math.isclose(1 / (1 + math.exp(-why.logit)), hit.score)
        assert why.nearness is not None and 0 <= why.nearness.closeness <= 1.01


def test_what_states_just_what_is_asked_is_told_to_gain(memory: Memory) -> None:
    home = memory.remember("Nina is at home in Bergen.", subject="Nina", attribute="home")
    memory.remember("Nina's mother is at home in Turin.", subject="Nina's mother", attribute="home")
    found = memory.search("where does Nina live", explain=True)
    assert_adds_up(found)
    sought = {hit.id: hit.explanation.sought for hit in found.hits if hit.explanation}
    assert sought.pop(home.items[0].id or "") and list(sought.values()) == [False]
    assert found.hits[0].id == home.items[0].id


def test_what_the_features_add_is_the_score(memory: Memory) -> None:
    talk(memory)
    remember(memory, "Nina works at Orbit Labs.")
    remember(memory, "Nina likes tea.")
    found = memory.search(QUERY, explain=True)
    assert_adds_up(found)
    model = loaded("").words
    why = found.hits[0].explanation
    assert why is not None
    for feature in why.features:
        at = NAMES.index(feature.name)
        spreads = (feature.value - model.mean[at]) / model.spread[at]
        assert feature.weight == model.weights[at]
        assert math.isclose(feature.adds, feature.weight * spreads, abs_tol=1e-9)


def test_meaning_has_its_part_in_it(meaning: Bench) -> None:
    meaning.remember("Her puppy resides with us.", "The server runs Debian.")
    meaning.say(q.NewMessage(content="Which animal do you mean?"), "It dwells in our house.")
    meaning.embed()
    found = meaning.search("which dog lives here", explain=True)
    assert_adds_up(found)
    assert not found.ranking.words_alone
    near = {hit.text: hit.explanation.nearness for hit in found.hits}
    first = near["Her puppy resides with us."]
    assert first.meaning > 0.3 and first.previous is None
    after = near["It dwells in our house."]
    before = next(hit.id for hit in found.hits if hit.text == "Which animal do you mean?")
    assert (
        after.previous == before
        and after.previous_meaning == near["Which animal do you mean?"].meaning
    )


def test_ranks_are_those_of_a_plain_search(memory: Memory) -> None:
    talk(memory)
    for number in range(30):
        remember(memory, f"Nina does work number {number} at house {number % 7}.")
    plain = memory.search(QUERY, limit=40)
    found = memory.search(QUERY, limit=40, explain=True)
    assert [hit.id for hit in found.hits] == [hit.id for hit in plain.hits]
    assert [hit.score for hit in found.hits] == [hit.score for hit in plain.hits]
    assert all(hit.explanation is None for hit in plain.hits) and plain.ranking is None
    why = [hit.explanation for hit in found.hits]
    ranks = [each.rank or 0 for each in why if each]
    assert ranks == sorted(ranks) and ranks[0] == 1
    by_closeness = sorted(
        (each.nearness for each in why if each and each.nearness), key=lambda near: near.rank
    )
    closeness = [near.closeness for near in by_closeness]
    assert closeness == sorted(closeness, reverse=True)
    assert [near.rank for near in by_closeness] == [*range(1, len(found.hits) + 1)]
    for place, hit in enumerate(plain.hits[:12], 1):
        told = memory.explain(QUERY, id=hit.id, limit=40)
        assert (told.fate.found, told.fate.place) == (True, place)
        assert told.explanation == found.hits[place - 1].explanation
        assert told.ranking == found.ranking


def test_what_the_question_was_taken_for(memory: Memory) -> None:
    talk(memory)
    remember(memory, "Nina planted 3 trees.", tags=["trees"], valid_from="2024-05-02")
    query = "How many trees did Nina and Omar plant in May 2024, and when?"
    ranking = memory.search(query, explain=True, tags="trees").ranking
    assert ranking is not None and ranking.words_alone
    assert (ranking.ranker, ranking.version) == (loaded("").name, loaded("").version)
    taken = ranking.understood
    assert taken.many and taken.months == (5,) and taken.years == (2024,)
    assert taken.speakers == ("nina",)  # nobody called Omar said anything
    assert (ranking.entries, ranking.allowed, ranking.found) == (5, 1, 1)
    assert (ranking.candidates, ranking.units) == (1, 1)


def test_a_name_is_that_of_a_speaker_only_where_they_were_heard(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever spoke later, or outside of the scope, is nobody to a search."""
    named: list[bool] = []

    def watched(selected: Any, scores: Any, query: Any, *rest: Any) -> Any:
        named.append(query.said_by is not None)
        return candidates(selected, scores, query, *rest)

    monkeypatch.setattr("rewound.projections.search.candidates", watched)
    talk(memory)
    handle = memory.container("default", scope={"user": "ann"})
    sent = {"role": "user", "name": "Ann", "content": "Some work is dull."}
    position = handle.add_messages([sent]).position
    query = "What did Omar say about work?"
    before = memory.search(query, as_of=position, explain=True)
    memory.add_messages([{"role": "user", "name": "Omar", "content": "Figs want sun."}])
    assert memory.search(query, as_of=position, explain=True) == before
    assert len(handle.search(query).hits) == 1
    assert named == [False] * 3
    now = memory.search(query, explain=True).ranking
    assert now is not None and now.understood.speakers == ("omar",)
    assert handle.search("What did Ann say about work?").hits and named[3:] == [True] * 2


def test_hits_that_say_the_same_are_counted(memory: Memory) -> None:
    remember(memory, "Nina works at Orbit Labs.")
    other = remember(memory, "nina works at orbit labs", id="mine")
    found = memory.search(QUERY, explain=True)
    (hit,) = found.hits
    assert hit.explanation is not None and hit.explanation.collapsed == 1
    assert {hit.id, *hit.also} >= {other}
    assert_adds_up(found)


def test_a_search_that_nobody_asks_about_is_not_explained(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def costs(*_: object) -> None:
        raise AssertionError("this costs time")

    remember(memory, "Nina works at Orbit Labs.")
    for name in ("__init__", "near", "scored", "account"):
        monkeypatch.setattr(f"rewound.projections.explaining.Explaining.{name}", costs)
    assert len(memory.search(QUERY).hits) == 1
    with pytest.raises(AssertionError, match="costs time"):
        memory.search(QUERY, explain=True)


def test_an_empty_store_has_nothing_to_explain(memory: Memory) -> None:
    memory.undo(memory.remember("A slip.").items[0].event or "")
    found = memory.search("slip", explain=True)
    assert found.hits == () and found.ranking is None


# --- why not


def test_what_is_not_there(memory: Memory, tmp_path: Path) -> None:
    known = remember(memory, "Nina works at Orbit Labs.")
    elsewhere = remember(memory.container("other"), "Nina works at Orbit Labs.")
    for item in (elsewhere, known[:-4] + "0000", "msg_" + known[5:]):
        told = memory.explain(QUERY, id=item)
        assert told.fate == r.Fate(
            id=item, kind="unknown", found=False, reason="unknown",
            told="there is no such item in this container",
        )  # fmt: skip
        assert (told.explanation, told.ranking, told.parts) == (None, None, ())
    with pytest.raises(NotFound):
        memory.container("nobody").explain(QUERY, id=known)
    with pytest.raises(WrongKind):
        memory.explain(QUERY, id=memory.get(known).item.event or "")
    with pytest.raises(InvalidInput, match="id"):
        memory.explain(QUERY, id="no id")


def test_outside_of_the_scope_is_like_not_there_at_all(memory: Memory) -> None:
    bob = remember(memory, "Nina works at Orbit Labs.", scope={"user": "bob"})
    talk(memory)
    handle = memory.container("default", scope={"user": "ann"})
    mine = remember(handle, "Ann says that Nina works at the harbour.")
    absent = bob[:-4] + "0000"
    for item in (bob, memory.list("message").items[0].id):
        told, nothing = handle.explain(QUERY, id=item), handle.explain(QUERY, id=absent)
        assert told.fate.id == item
        plain = r.Fate(**{**_fields(told.fate), "id": absent})
        assert r.Traced(**{**_fields(told), "fate": plain}) == nothing
    found = handle.explain(QUERY, id=mine)
    assert found.fate.found and found.ranking is not None
    # nor is anything counted, or any speaker named, that lies outside
    assert (found.ranking.entries, found.ranking.found) == (1, 1)
    assert found.ranking.understood.speakers == ()
    # a narrower question of somebody who may see it says what kept it away
    told_fate = fate(memory, bob, scope={"user": "ann"})
    assert (told_fate.reason, told_fate.condition) == ("filtered", "filters.scope.user")


def _fields(struct: Any) -> dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.__struct_fields__}


def test_forgotten_erased_and_undone(memory: Memory) -> None:
    forgotten, erased = (remember(memory, f"Nina does work {n}.") for n in range(2))
    undone = memory.remember("Nina works at Orbit Labs.").items[0]
    position = memory.forget(forgotten).position
    memory.erase(erased)
    took_back = memory.undo(undone.event or "")
    told = fate(memory, forgotten)
    assert told.reason == "forgotten" and (told.by or "").startswith("ev_")
    assert fate(memory, forgotten, as_of=f"@{position - 1}").reason == "forgotten"
    assert fate(memory, forgotten, include_forgotten=True).found
    assert fate(memory, erased).reason == "erased"
    assert fate(memory, erased, include_forgotten=True).reason == "erased"
    told = fate(memory, undone.id or "")
    assert (told.reason, told.by) == ("undone", took_back.event)
    assert fate(memory, undone.id or "", as_of=f"@{took_back.position - 1}").found


def test_superseded_corrected_and_out_of_date(memory: Memory) -> None:
    old = remember(memory, "Nina works at Orbit Labs.", said_at="2026-01-01")
    new = memory.update(old, "Nina works at the harbour.", valid_from="2026-02-01").items[0].id
    wrong = remember(memory, "Nina works at night.", said_at="2026-01-01")
    right = memory.update(wrong, "Nina works by day.", corrects=True).items[0].id
    over = remember(memory, "Nina may work here.", valid_from="2025-01-01", valid_to="2025-02-01")
    gone = remember(memory, "Nina does work now.", said_at="2025-01-01", expires_at="2025-02-01")
    for item, reason, by in (
        (old, "superseded", new),
        (wrong, "corrected", right),
        (over, "ended", None),
        (gone, "expired", None),
    ):
        told = fate(memory, item)
        assert (told.reason, told.by) == (reason, by)
        assert fate(memory, item, include_superseded=True).found
    assert "2025-02-01" in fate(memory, over).told
    told = fate(memory, new or "", valid_at="2026-01-15")
    assert told.reason == "not_valid" and "2026-01-15" in told.told
    assert fate(memory, old, valid_at="2026-01-15").found
    told = fate(memory, old, "where did Nina work in March 2026?")
    assert told.reason == "not_valid" and "March 2026" in told.told


def test_what_names_the_time_of_the_question_is_not_kept_away_by_it(memory: Memory) -> None:
    """It is found without the filter, so the filter is what keeps it away."""
    fact = memory.remember("The pool is not open on Sunday.").items[0].id
    assert fact is not None
    query = "is the pool open on Sunday"
    found = memory.search(query)
    assert found.moment.window_words is not None and [hit.id for hit in found.hits] == [fact]
    told = memory.explain(query, id=fact, tags=("sport",)).fate
    assert told.reason == "filtered" and told.condition == "filters.tags"


def test_what_was_said_later_does_not_answer_for_then(memory: Memory) -> None:
    sent = [{"content": "Nina has work in Oslo.", "time": "2026-03-01T10:00:00Z"}]
    item = memory.add_messages(sent).items[0].id or ""
    assert fate(memory, item).found
    assert fate(memory, item, valid_at="2026-01-01").reason == "said_later"


def test_repeated_facts(tmp_path: Path) -> None:
    models = Models(embedder="none", extractor="none", judge="rules")
    with Memory(tmp_path / "judged", models=models) as memory:
        first = remember(memory, "Nina works at Orbit Labs.", said_at="2026-01-01")
        again = remember(memory, "Nina works at Orbit Labs!", said_at="2026-02-01")
        memory.workers("wait")
        told = fate(memory, again)
        assert (told.reason, told.by) == ("repeated", first)


def test_not_recorded_by_then(memory: Memory) -> None:
    first = remember(memory, "Nina likes tea.")
    position = memory.remember("Nina works at Orbit Labs.").position
    later = memory.list().items[-1].id
    told = fate(memory, later, as_of=f"@{position - 1}")
    assert told.reason == "not_yet" and f"@{position}" in told.told
    assert fate(memory.as_of(position - 1), later).reason == "not_yet"
    assert fate(memory.as_of(position - 1), first).found
    assert fate(memory, later, as_of=f"@{position}").found


@pytest.mark.parametrize(
    ("filters", "condition"),
    [
        ({"what": "message"}, "filters.what"),
        ({"kinds": ["preference", "episode"]}, "filters.kinds"),
        ({"since": "2026-02-02"}, "filters.since"),
        ({"until": "2026-01-31"}, "filters.until"),
        ({"tags": ["work", "home"]}, "filters.tags"),
        ({"metadata": {"team": "sea", "floor": 2}}, "filters.metadata.floor"),
        ({"source": "chat-7"}, "filters.source"),
        ({"scope": {"agent": "x"}}, "filters.scope.agent"),
        (
            {"where": {"field": "tag", "op": "eq", "value": "home"}},
            "filters.where",
        ),
        (
            {"where": {"and": [
                {"field": "tag", "op": "eq", "value": "work"},
                {"and": [{"field": "kind", "op": "eq", "value": "fact"},
                         {"field": "metadata.floor", "op": "gt", "value": 3}]}]}},
            "filters.where.and[1].and[1]",
        ),
    ],
)  # fmt: skip
def test_the_first_filter_that_is_not_met_is_named(
    memory: Memory, filters: dict[str, Any], condition: str
) -> None:
    item = remember(
        memory, "Nina works at Orbit Labs.", said_at="2026-02-01", tags=["work"],
        metadata={"team": "sea", "floor": 1},
    )  # fmt: skip
    told = memory.explain(QUERY, id=item, **filters)
    assert (told.fate.reason, told.fate.condition) == ("filtered", condition)
    assert told.explanation is None
    assert memory.search(QUERY, **filters).hits == ()
    met: dict[str, Any] = {
        "tags": ["work"],
        "metadata": {"floor": 1},
        "since": "2026-02-01",
        "what": "fact",
    }
    assert fate(memory, item, **met).found


def test_no_word_in_common(memory: Memory, meaning: Bench) -> None:
    item = remember(memory, "Tea is served at four.")
    told = memory.explain(QUERY, id=item)
    assert told.fate.reason == "no_word" and "no embedder" in told.fate.told
    assert told.ranking is not None and told.ranking.found == 0
    assert fate(memory, item, "?!").reason == "empty_query"
    (waits,) = meaning.remember("Her puppy resides with us.")
    asked = q.Explain(query="which animal dwells here", id=waits)
    assert meaning.ask(asked).fate.reason == "waiting"
    meaning.embed()
    assert meaning.ask(asked).fate.found
    assert meaning.embedder is not None

    def fails(texts: Any) -> None:
        raise ValueError("no")

    meaning.embedder.before = fails  # type: ignore[attr-defined]
    told = meaning.ask(q.Explain(query="what dog", id=waits))
    assert told.fate.reason == "no_word" and "the embedder failed" in told.notes[0]


def test_not_near_enough_to_be_compared(meaning: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Past so many vectors, single bits choose which are compared."""
    for name, number in (("SIEVE_FROM", 2), ("SIEVE_KEPT", 1), ("SIEVE_TOLD", 1)):
        monkeypatch.setattr(f"rewound.projections.ranking.{name}", number)
    near, *others = meaning.remember(
        "A puppy dwells here.", "The server runs Debian.", "Tea is served at four.", "Rain fell."
    )
    meaning.embed()
    fates = [
        meaning.ask(q.Explain(query="which dog lives", id=item)).fate for item in (near, *others)
    ]
    assert [each.reason for each in fates] == [None, *["not_near"] * 3]


def test_below_the_candidates(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rewound.projections.ordering.CANDIDATES", 5)
    memory.remember([f"Nina does work number {number}." for number in range(40)])
    last = remember(memory, "Once, a long time ago, it so happened that some work was at hand.")
    told = memory.explain(QUERY, id=last, limit=3)
    assert told.fate.reason == "below_candidates" and "number 41 " in told.fate.told
    assert told.explanation is not None and told.explanation.nearness is not None
    assert told.explanation.nearness.rank == 41 and told.explanation.rank is None
    # asked for more, it is looked at, but not ranked anew
    found = memory.explain(QUERY, id=last, limit=100)
    assert found.fate.found and found.explanation is not None
    assert found.explanation.features == () and found.explanation.score is None
    assert found.explanation.rank == 41


def test_beyond_the_limit_and_below_the_threshold(memory: Memory) -> None:
    memory.remember([f"Nina does work number {number}." for number in range(8)])
    hits = memory.search(QUERY).hits
    for place, hit in enumerate(hits, 1):
        told = fate(memory, hit.id, limit=3)
        assert told.place == place
        assert told.reason == ("beyond_limit" if place > 3 else None)
        told = fate(memory, hit.id, threshold=0.999)
        assert (told.reason, told.place) == ("unlikely", place)
    assert "3 were asked for" in fate(memory, hits[5].id, limit=3).told
    why = memory.explain(QUERY, id=hits[5].id, limit=3).explanation
    assert why is not None and why.place == 6 and why.features


def test_collapsed_into_a_hit_that_says_the_same(memory: Memory) -> None:
    memory.remember([f"Nina does work number {number}." for number in range(5)])
    ids = [remember(memory, text) for text in ("Nina works at Orbit.", "NINA WORKS, at orbit")]
    hit = next(hit for hit in memory.search(QUERY).hits if hit.also)
    assert {hit.id, *hit.also} == set(ids)
    told = fate(memory, hit.also[0])
    assert (told.reason, told.by) == ("collapsed", hit.id)
    assert told.place == 1 + [each.id for each in memory.search(QUERY).hits].index(hit.id)
    place = told.place or 0
    behind = fate(memory, hit.also[0], limit=place - 1) if place > 1 else None
    assert behind is None or (behind.reason, behind.by) == ("beyond_limit", hit.id)


# --- documents and messages


def test_a_document_is_found_by_its_passages_and_its_title(memory: Memory) -> None:
    text = "Nina does her work at Orbit Labs.\n\n" + "Figs want sun. " * 200
    item = memory.ingest(text, id="a", title="Where Nina works", infer=True).items[0].id or ""
    passages = [view.id for view in memory.list("passage").items]
    assert len(passages) > 1
    told = memory.explain(QUERY, id=item)
    assert told.fate.found and told.fate.id == item and told.fate.kind == "document"
    assert told.part == memory.search(QUERY).hits[0].id
    assert {part.id for part in told.parts} == {item, *passages}
    assert told.parts[0].id == told.part and told.parts[0].place == 1
    title = next(part for part in told.parts if part.id == item)
    assert (title.reason, title.condition) == ("filtered", "filters.what")
    assert {part.reason for part in told.parts[1:]} == {"filtered", "no_word"}
    by_title = memory.explain(QUERY, id=item, what=["document"])
    assert by_title.fate.found and by_title.part is None
    assert fate(memory, item, "greenhouse").reason == "no_word"
    assert fate(memory, passages[-1]).reason == "no_word"


def test_many_passages_are_not_all_told(memory: Memory) -> None:
    text = "\n\n".join(f"# Part {n}\n\n" + f"Figs want sun and room {n}. " * 40 for n in range(80))
    item = memory.ingest(text, id="a", media="markdown").items[0].id or ""
    told = memory.explain("part 7 of the figs", id=item)
    assert told.fate.found and len(told.parts) == 50
    assert told.notes and "more parts" in told.notes[-1]


def test_a_document_that_is_gone_or_says_something_else(memory: Memory) -> None:
    written = memory.ingest("Nina does her work at Orbit Labs.", id="a").items[0]
    item = written.id or ""
    (passage,) = (view.id for view in memory.list("passage").items)
    memory.ingest("Figs want sun.", id="a")
    assert fate(memory, passage).reason == "removed"
    assert fate(memory, item).reason == "no_word"
    removed = memory.remove_document(item)
    assert fate(memory, item).reason == "removed"
    assert fate(memory, passage, as_of="@3").found
    memory.undo(removed.items[0].event or "")
    memory.forget(item)
    assert fate(memory, item).reason == "forgotten"
    (now,) = (view.id for view in memory.list("passage", include_forgotten=True).items)
    assert fate(memory, now, "figs").reason == "forgotten"
    memory.erase(item)
    assert fate(memory, item).reason == fate(memory, now).reason == "erased"


def test_a_message_with_its_facts(tmp_path: Path) -> None:
    models = Models(embedder="none", extractor="rules", judge="none")
    with Memory(tmp_path / "drawn", models=models) as memory:
        message = talk(memory)[0]
        memory.workers("wait")
        facts = [view.id for view in memory.list(source=message).items]
        assert facts
        told = memory.explain(QUERY, id=message)
        assert {part.id for part in told.parts} == set(facts)
        shown = {hit.id: place for place, hit in enumerate(memory.search(QUERY).hits, 1)}
        for part in told.parts:
            assert part.place == shown.get(part.id)
        memory.forget(facts[0])
        parts = memory.explain(QUERY, id=message).parts
        assert facts[0] not in {part.id for part in parts}


# --- all of it together


def test_every_item_is_explained_as_it_was_found(memory: Memory) -> None:
    talk(memory)
    memory.ingest("Nina does her work at Orbit Labs.", title="Nina's work")
    for number in range(20):
        remember(memory, f"Nina does work number {number % 12}.", tags=[f"t{number % 3}"])
    ids = [view.id for what in get_args(q.What) for view in memory.list(what).items]
    kinds: list[dict[str, Any]] = [
        {}, {"tags": "t1"}, {"as_of": "@9"}, {"what": ["fact", "document"]}
    ]  # fmt: skip
    for limit in (1, 4, 30):
        for more in kinds:
            hits = memory.search(QUERY, limit=limit, **more).hits
            places = {hit.id: place for place, hit in enumerate(hits, 1)}
            stand_for = {other: hit.id for hit in hits for other in hit.also}
            for item in ids:
                told = memory.explain(QUERY, id=item, limit=limit, **more)
                if told.part is None:
                    assert told.fate.found == (item in places), (item, told.fate)
                if told.fate.found:
                    assert told.fate.place == places[told.part or item]
                if item in stand_for:
                    assert (told.fate.reason, told.fate.by) == ("collapsed", stand_for[item])
