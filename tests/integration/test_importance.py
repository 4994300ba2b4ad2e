"""How important something is: said with it, set later, taken back; what it does to a search."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.unit.given import HandClock

QUERY = "where does Nina work"
FIRST = "Nina works at Orbit Labs as a botanist."
SECOND = "Nina works at Harbor Foods as a cook."
FAR = "The server runs Debian, and a person from work keeps it."
WORDS = Models(embedder="none", extractor="none", judge="none")
RULES = Models(embedder="hashing", extractor="rules", judge="none")


@pytest.fixture(params=[WORDS, RULES], ids=["words", "meaning"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "data", clock=HandClock(), models=request.param) as opened:
        yield opened


@pytest.fixture
def drawn(tmp_path: Path) -> Iterator[Memory]:
    """With facts drawn by rules."""
    with Memory(tmp_path / "data", clock=HandClock(), models=RULES) as opened:
        yield opened


def written(reply: r.Written) -> str:
    (item,) = reply.items
    assert item.id is not None
    return item.id


def event(reply: r.Written) -> str:
    (item,) = reply.items
    assert item.event is not None
    return item.event


def importance(memory: Memory, item: str, **more: Any) -> float | None:
    return memory.get(item, **more).item.importance


def ready(memory: Memory) -> None:
    assert memory.workers("wait").pending == 0


def texts(found: r.Found) -> list[str]:
    return [hit.text for hit in found.hits]


# --- saying it


def test_what_nobody_spoke_of_has_none(memory: Memory) -> None:
    fact = written(memory.remember(FIRST))
    assert importance(memory, fact) is None
    assert "importance" not in memory.search(QUERY).hits[0].signals


@pytest.mark.parametrize("given", [0, 0.0, 0.25, 0.5, 1, 1.0])
def test_it_comes_back_as_it_was_given(memory: Memory, given: float) -> None:
    fact = written(memory.remember(FIRST, importance=given))
    document = written(memory.ingest("Orbit Labs keeps ferns.", importance=given))
    sent = {"content": "I like tea.", "importance": given}
    message = written(memory.add_messages([sent]))
    for item in (fact, document, message):
        assert importance(memory, item) == given
        assert memory.history(item).versions[-1].importance == given
    listed = (memory.list("fact"), memory.list("document"), memory.list("message"))
    told = {each.id: each.importance for page in listed for each in page.items}
    assert told.items() >= dict.fromkeys((fact, document, message), given).items()


def test_it_is_kept_to_a_thousandth(memory: Memory) -> None:
    assert importance(memory, written(memory.remember(FIRST, importance=0.12345))) == 0.123


@pytest.mark.parametrize("wrong", [float("nan"), True, "0.5", -0.1, 1.1, float("inf")])
def test_what_is_no_share_is_refused_by_name(memory: Memory, wrong: Any) -> None:
    fact = written(memory.remember(FIRST))
    calls: tuple[Callable[[], r.Written], ...] = (
        lambda: memory.remember("Nina likes tea.", importance=wrong),
        lambda: memory.ingest("Orbit Labs keeps ferns.", importance=wrong),
        lambda: memory.add_messages({"content": "Hello there.", "importance": wrong}),
        lambda: memory.update(fact, importance=wrong),
    )
    for call in calls:
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.field == "importance"
    told = memory.remember([{"text": "Nina likes tea."}, {"text": "No.", "importance": wrong}])
    assert [item.status for item in told.items] == ["written", "refused"]
    assert told.items[1].field == "importance"


def test_sent_again_without_it_keeps_it_and_with_another_sets_it(memory: Memory) -> None:
    def say(**more: Any) -> r.Written:
        return memory.add_messages([{"id": "m1", "content": "I like tea.", **more}])

    sending: tuple[Callable[..., r.Written], ...] = (
        partial(memory.remember, FIRST),
        partial(memory.ingest, "Orbit Labs keeps ferns."),
        say,
    )
    for send in sending:
        item = written(send(importance=0.3))
        again = send()
        assert again.items[0].status == "seen again" and importance(memory, item) == 0.3
        assert send(importance=0.3).items[0].status == "seen again"
        assert written(send(importance=0.8)) == item and importance(memory, item) == 0.8


def test_a_note_passes_it_to_its_document(memory: Memory) -> None:
    reply = memory.remember("A note on ferns and tea.", infer=True, importance=0.7)
    assert reply.items[0].kind == "document" and importance(memory, written(reply)) == 0.7


def test_a_document_sent_anew_keeps_it_unless_another_is_given(memory: Memory) -> None:
    def send(text: str, **more: Any) -> str:
        return written(memory.ingest(text, id="page", **more))

    page = send("Orbit Labs keeps ferns.", importance=0.7)
    assert send("Orbit Labs keeps roses.") == page and importance(memory, page) == 0.7
    send("Orbit Labs keeps tulips.", importance=0.2)
    assert importance(memory, page) == 0.2


def test_a_fact_under_its_callers_id_keeps_it_over_its_versions(memory: Memory) -> None:
    memory.remember(FIRST, id="job", importance=0.7)
    second = written(memory.remember(SECOND, id="job"))
    assert importance(memory, second) == 0.7
    third = written(memory.remember("Nina works alone.", id="job", importance=0.1))
    assert importance(memory, third) == 0.1


# --- changing it


def test_setting_it_keeps_the_text_and_makes_no_version(memory: Memory) -> None:
    fact = written(memory.remember(FIRST))
    told = memory.update(fact, importance=0.9)
    assert told.items[0].status == "written" and written(told) == fact
    item = memory.get(fact).item
    assert (item.text, item.importance) == (FIRST, 0.9)
    last = memory.events(about=fact, newest=True, limit=1).events[-1]
    assert (last.type, last.data["importance"]) == ("importance set", 0.9)
    assert memory.update(fact, importance=0.9).items[0].status == "unchanged"
    assert importance(memory, fact, as_of="@2") is None


def test_a_new_wording_takes_it_along_or_sets_another(memory: Memory) -> None:
    fact = written(memory.remember(FIRST, importance=0.9))
    second = written(memory.update(fact, SECOND))
    assert second != fact and importance(memory, second) == 0.9
    third = written(memory.update(fact, "Nina works alone.", importance=0.4))
    assert (importance(memory, third), importance(memory, second)) == (0.4, 0.9)


def test_documents_and_messages_can_be_set_too(memory: Memory) -> None:
    document = written(memory.ingest("Orbit Labs keeps ferns."))
    message = written(memory.add_messages(["I like tea."]))
    for item in (document, message):
        told = memory.update(item, importance=0.6, add_tags="t")
        shown = memory.get(item).item
        assert (shown.importance, shown.tags) == (0.6, ("t",))
        assert told.items[0].status == "written"


def test_setting_it_is_undone_and_returns(memory: Memory) -> None:
    fact = written(memory.remember(FIRST, importance=0.2))
    change = event(memory.update(fact, importance=0.9))
    look = memory.undo(change, dry_run=True)
    assert [(each.id, each.fields) for each in look.changes] == [(fact, ("importance",))]
    undone = memory.undo(change).event
    assert importance(memory, fact) == 0.2
    assert undone is not None
    memory.undo(undone)
    assert importance(memory, fact) == 0.9


def test_a_diff_and_the_reasons_for_a_fact_tell_of_it(memory: Memory) -> None:
    fact = written(memory.remember(FIRST))
    before = memory.list().moment.position
    memory.update(fact, importance=0.9)
    (change,) = memory.diff(f"@{before}").changed
    assert (change.id, change.fields) == (fact, ("importance",))
    assert memory.why(fact).steps[-1].what == "importance 0.9"
    assert memory.why(fact).item.importance == 0.9


# --- what is drawn from it


def test_what_is_drawn_has_that_of_its_source_until_it_has_its_own(drawn: Memory) -> None:
    sent = {"content": "I work at Orbit Labs.", "name": "Nina", "importance": 0.8}
    message = written(drawn.add_messages([sent]))
    ready(drawn)
    (fact,) = (item.id for item in drawn.list().items)
    assert importance(drawn, fact) == 0.8
    drawn.update(message, importance=0.5)
    assert importance(drawn, fact) == 0.5, "it follows its source"
    drawn.update(fact, importance=0.0)
    assert importance(drawn, fact) == 0.0 and importance(drawn, message) == 0.5


def test_passages_and_facts_of_a_document_have_its_own(drawn: Memory) -> None:
    page = written(drawn.ingest(f"{FIRST} {FAR}", importance=0.8))
    ready(drawn)
    assert {item.importance for item in drawn.list("passage").items} == {0.8}
    facts = drawn.list().items
    assert facts and {item.importance for item in facts} == {0.8}
    drawn.remember(FAR)
    found = drawn.search(QUERY).hits
    assert found[0].signals["importance"] == found[0].importance == 0.8
    drawn.forget(page)
    kept = drawn.list(include_forgotten=True).items
    assert {item.importance for item in kept if item.id in {each.id for each in facts}} == {0.8}


def test_a_source_that_is_forgotten_lends_nothing(memory: Memory) -> None:
    """A fact that is remembered by itself as well outlives it."""
    page = memory.ingest(FIRST, infer=False, importance=0.8)
    (fact,) = page.items[0].facts
    assert importance(memory, fact) == 0.8
    memory.update(fact, add_tags="kept")
    memory.forget(written(page))
    shown = memory.get(fact, include_forgotten=True).item
    assert shown.importance == 0.8
    memory.restore(written(page))
    assert importance(memory, fact) == 0.8


# --- what it does to a search


def told_apart(memory: Memory) -> tuple[str, str]:
    """Two facts about equally near, the first and the second of a search, amid others."""
    for text in (FIRST, SECOND, FAR, "Omar likes tea.", "The harbour was built in May."):
        memory.remember(text)
    ready(memory)
    first, second = memory.search(QUERY).hits[:2]
    assert {first.text, second.text} == {FIRST, SECOND}
    return first.id, second.id


def test_it_decides_between_two_that_are_about_equally_near(memory: Memory) -> None:
    first, second = told_apart(memory)
    memory.update(second, importance=1.0)
    found = memory.search(QUERY)
    assert [hit.id for hit in found.hits[:2]] == [second, first]
    assert found.hits[0].signals["importance"] == 1.0
    assert "importance" not in found.hits[1].signals
    memory.update(first, importance=1.0)
    assert [hit.id for hit in memory.search(QUERY).hits[:2]] == [first, second]


def test_it_lifts_nothing_plainly_worse_above_what_is_plainly_better(memory: Memory) -> None:
    first, second = told_apart(memory)
    for hit in memory.search(QUERY).hits[2:]:
        memory.update(hit.id, importance=1.0)
    assert [hit.id for hit in memory.search(QUERY).hits[:2]] == [first, second]


def test_it_removes_nothing_and_lowers_no_other(memory: Memory) -> None:
    """Neither from the hits nor below a threshold, whatever is set to what."""
    told_apart(memory)
    before = {hit.id: hit.score for hit in memory.search(QUERY).hits}
    for given in (0.0, 0.4, 1.0):
        for item in before:
            event_id = event(memory.update(item, importance=given))
            after = {hit.id: hit.score for hit in memory.search(QUERY).hits}
            assert after.keys() == before.keys()
            assert {each: after[each] for each in before if each != item} == {
                each: before[each] for each in before if each != item
            }
            assert after[item] > before[item] if given else after[item] == before[item]
            memory.undo(event_id)


def test_the_more_important_the_higher(memory: Memory) -> None:
    first, _ = told_apart(memory)
    scores = []
    for given in (0.0, 0.1, 0.5, 0.9, 1.0):
        memory.update(first, importance=given)
        scores.append(memory.search(QUERY).hits[0].score)
    assert scores == sorted(set(scores))


def test_it_is_that_of_the_moment(memory: Memory) -> None:
    first, second = told_apart(memory)
    position = memory.list().moment.position
    memory.update(second, importance=1.0)
    past = memory.search(QUERY, as_of=f"@{position}")
    assert [hit.id for hit in past.hits[:2]] == [first, second]
    assert all("importance" not in hit.signals for hit in past.hits)


def test_a_rebuild_and_a_replay_keep_it(memory: Memory, tmp_path: Path) -> None:
    _, second = told_apart(memory)
    memory.update(second, importance=1.0)
    before = memory.search(QUERY)
    memory.rebuild()
    assert memory.search(QUERY) == before
    assert memory.replay("now", verify=True).agrees


def test_an_explanation_tells_what_it_adds(memory: Memory) -> None:
    _, second = told_apart(memory)
    memory.update(second, importance=0.5)
    found = memory.search(QUERY, explain=True)
    hit = next(hit for hit in found.hits if hit.id == second)
    assert hit.explanation is not None and hit.explanation.features
    told = {feature.name: feature for feature in hit.explanation.features}
    assert told["importance"].value == 0.5
    assert told["importance"].adds == pytest.approx(0.5 * told["importance"].weight)


# --- recency


def test_what_is_newer_is_named_and_lifts_a_little(tmp_path: Path) -> None:
    clock = HandClock()
    with Memory(tmp_path / "data", clock=clock, models=WORDS) as memory:
        for day in ("2024-01-01", "2026-01-01", "2025-01-01"):
            memory.remember(f"Nina walks to the harbour, tour {day[:4]}.", said_at=day)
        found = memory.search("Nina walks to the harbour")
        told = {hit.valid_from: hit.signals["recency"] for hit in found.hits}
        assert [round(told[day], 3) for day in sorted(told, key=str)] == [0.333, 0.667, 1.0]
        assert [str(hit.valid_from)[:4] for hit in found.hits] == ["2026", "2025", "2024"]


def test_where_all_is_equally_new_recency_has_no_part(tmp_path: Path) -> None:
    with Memory(tmp_path / "data", clock=HandClock(), models=WORDS) as memory:
        memory.remember([{"text": text, "said_at": "2024-01-01"} for text in (FIRST, SECOND)])
        assert all("recency" not in hit.signals for hit in memory.search(QUERY).hits)


def test_a_passage_is_as_new_as_its_document(tmp_path: Path) -> None:
    with Memory(tmp_path / "data", clock=HandClock(), models=WORDS) as memory:
        memory.ingest("Nina walks to the harbour in the morning.", said_at="2026-01-01")
        memory.remember("Nina walks to the harbour at night.", said_at="2024-01-01")
        kinds = {
            hit.kind: hit.signals["recency"] for hit in memory.search("Nina walks harbour").hits
        }
        assert kinds == {"passage": 1.0, "fact": 0.5}


# --- in a profile


def test_what_is_important_comes_sooner_in_a_profile(memory: Memory) -> None:
    for text in ("Nina likes tea.", "Nina likes figs.", "Nina likes rain."):
        memory.remember(text, said_at="2025-01-01")
    page = memory.ingest("Nina likes nuts.", infer=False, said_at="2025-01-01")

    def stable(**more: Any) -> list[str]:
        return [line.text for line in memory.profile(**more).stable]

    before = stable()
    assert len(before) == 4
    last = next(item.id for item in memory.list().items if item.text == before[2])
    memory.update(last, importance=1.0)
    assert stable()[0] == before[2]
    position = memory.list().moment.position
    memory.update(written(page), importance=0.5)
    memory.update(last, importance=0.0)
    assert stable()[0] == "Nina likes nuts."
    assert stable(as_of=f"@{position}")[0] == before[2]
