"""A profile tells what is known in short: what is stable, what is recent, and buckets."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.eventlog.ids import Kind, Ref, parse
from rewound.llm.rules import RulesExtractor
from rewound.llm.token_counting import ESTIMATE
from rewound.memory import Memory, answer_profile, profile_parts
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.seeing import Seen, seen
from tests.integration.drawing import With
from tests.integration.given import HandClock
from tests.integration.stating import NOW_US, asked, live
from tests.integration.thesaurus import bench
from tests.property.driver import Driver
from tests.unit.given import open_store

DAY_US = 86_400_000_000
LONG_AGO = "2020-05-01"
BUCKETS = ["preferences", "people", "work", "procedures", "plans"]


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOW_US)


@pytest.fixture
def memory(tmp_path: Path, clock: HandClock) -> Iterator[Memory]:
    with Memory(tmp_path, clock=clock) as opened:
        yield opened


def said(memory: Memory, text: str, **more: Any) -> str:
    """One fact, from long ago unless told otherwise; its id."""
    fact = memory.remember(text, **{"said_at": LONG_AGO, **more}).items[0].id
    assert fact is not None
    return fact


def texts(lines: tuple[r.ProfileLine, ...]) -> list[str]:
    return [line.text for line in lines]


def all_lines(portrait: r.Portrait) -> list[r.ProfileLine]:
    lists = [portrait.stable, portrait.recent, *portrait.buckets.values()]
    return [line for lines in lists for line in lines]


def told(portrait: r.Portrait) -> str:
    """All that a profile says, in both of its forms."""
    return "\n".join([portrait.text, *(line.text for line in all_lines(portrait))])


# --- the parts


def test_what_lasts_is_stable_and_what_happened_is_recent(memory: Memory) -> None:
    home = said(memory, "Nina lives in Rome.")
    tea = said(memory, "Nina likes tea.", kind="preference")
    said(memory, "Nina visited Oslo.", kind="episode")
    trip = said(memory, "Nina visited Bern.", kind="episode", said_at="2025-12-20")
    away = said(memory, "Nina is away.", valid_from="2025-12-30", valid_to="2026-01-09")
    portrait = memory.profile()
    assert [line.id for line in portrait.stable] == [home, tea]
    assert [line.id for line in portrait.recent] == [away, trip]
    assert list(portrait.buckets) == BUCKETS
    assert [line.id for line in portrait.buckets["preferences"]] == [tea]
    assert [line.id for line in memory.profile(days=3000).recent][2:] != []
    line = portrait.recent[0]
    assert (line.kind, line.since, line.until) == ("fact", "2025-12-30", "2026-01-09")
    assert portrait.left_out == 0 and portrait.notes == ()


def test_what_is_to_expire_is_not_stable(memory: Memory) -> None:
    code = said(memory, "The gate code is 4711.", said_at="2025-12-30", expires_at="2026-02-01")
    portrait = memory.profile()
    assert portrait.stable == () and [line.id for line in portrait.recent] == [code]


def test_what_took_anothers_place_is_recent(memory: Memory) -> None:
    old = said(memory, "The office is on Elm Street.")
    wrong = said(memory, "Ben is 30.")
    said(memory, "The shop is on Oak Street.")
    moved = memory.update(old, "The office is on Oak Street.", valid_from="2025-12-20").items[0].id
    right = memory.update(wrong, "Ben is 31.", corrects=True).items[0].id
    portrait = memory.profile()
    assert [line.id for line in portrait.recent] == [right, moved]
    assert "Elm" not in told(portrait) and "30." not in told(portrait)
    assert {moved, right} < {line.id for line in portrait.stable}
    later = memory.profile(days=5)
    assert [line.id for line in later.recent] == [right]


def test_what_is_said_most_often_comes_first(tmp_path: Path) -> None:
    models = With(given=RulesExtractor(), judge="features")
    with Memory(tmp_path, clock=HandClock(NOW_US), models=models) as memory:
        memory.own()
        for conversation, words in enumerate(
            ["I sing. I play chess. I work at Orbit Labs.", "I play chess.", "I play chess."]
        ):
            message = {"content": words, "name": "Nina", "time": "2025-01-01T10:00:00Z"}
            memory.add_messages([message], conversation=f"c{conversation}")
        assert memory.workers("wait").pending == 0
        portrait = memory.profile(buckets={})
        found = {line.text: line.sources for line in portrait.stable}
        assert found == {"Nina works at Orbit Labs": 1, "Nina plays chess": 3, "Nina sings": 1}
        assert texts(portrait.stable) == [
            "Nina works at Orbit Labs", "Nina plays chess", "Nina sings"
        ]  # fmt: skip
        assert portrait.subject == "Nina" and "3 sources" in portrait.text
        messages = memory.list("message").items
        memory.forget(messages[1].id)
        assert {line.sources for line in memory.profile(buckets={}).stable} == {1, 2}


def test_what_there_is_one_of_comes_before_other_things(memory: Memory) -> None:
    said(memory, "Nina owns a kayak.", subject="Nina", attribute="owns", value="kayak")
    said(memory, "Ben lives in Oslo.", subject="Ben", attribute="home", value="Oslo")
    said(memory, "Nina lives in Rome.", subject="Nina", attribute="home", value="Rome",
         said_at="2019")  # fmt: skip
    said(memory, "The sea is salty.", said_at="2021")
    pinned = said(memory, "Answer in French.", tags=["static"], said_at="2018")
    portrait = memory.profile()
    assert portrait.subject == "Nina" and portrait.stable[0].id == pinned
    assert texts(portrait.stable)[1:] == [
        "Nina lives in Rome.", "Nina owns a kayak.", "The sea is salty.", "Ben lives in Oslo."
    ]  # fmt: skip


def test_what_happened_is_stable_where_its_value_still_holds(memory: Memory) -> None:
    move = said(memory, "Nina moved to Rome.", kind="episode", subject="Nina", attribute="home",
                value="Rome")  # fmt: skip
    portrait = memory.profile()
    assert [line.id for line in portrait.stable] == [move] and portrait.recent == ()


def test_buckets_that_every_profile_can_have(memory: Memory) -> None:
    facts = {
        "preferences": said(memory, "Nina prefers trains.", kind="preference"),
        "people": said(memory, "Nina's sister Ann is a nurse."),
        "work": said(memory, "Nina is at Orbit.", subject="Nina", attribute="employer",
                     value="Orbit"),
        "procedures": said(memory, "To deploy, run make.", kind="procedure"),
        "plans": said(memory, "Nina plans to learn Italian."),
    }  # fmt: skip
    tagged = said(memory, "Pottery on Mondays.", tags=["plans"])
    said(memory, "Nina had lunch with her sister.", kind="episode", said_at="2025-12-30")
    portrait = memory.profile()
    for name, fact in facts.items():
        assert fact in [line.id for line in portrait.buckets[name]], name
        assert f"## {name.capitalize()}" in portrait.text
    assert tagged in [line.id for line in portrait.buckets["plans"]]
    assert len(portrait.buckets["people"]) == 1
    assert list(memory.profile(buckets=["work"]).buckets) == ["work"]
    assert memory.profile(buckets={}).buckets == {}


def test_a_preference_need_not_be_marked_as_one(memory: Memory) -> None:
    """A client that only states facts has a bucket of them too."""
    liked = [said(memory, f"Nina {does} tea.") for does in ("likes", "prefers", "hates", "enjoys")]
    liked.append(said(memory, "Nina's favourite colour is teal."))
    said(memory, "Nina owns a bicycle.")
    said(memory, "Nina disliked Oslo.", kind="episode", said_at="2025-12-30")
    found = memory.profile(buckets=["preferences"]).buckets["preferences"]
    assert {line.id for line in found} == set(liked)


def test_buckets_of_ones_own(memory: Memory) -> None:
    trip = said(memory, "The trip to Bern is booked.", tags=["trip", "2025"])
    other = said(memory, "The trip to Oslo was long.", kind="episode", tags=["trip"])
    pasta = said(memory, "Nina cooks pasta.")
    said(memory, "The sea is salty.")
    portrait = memory.profile(
        buckets={
            "trips": {"tags": ["trip"]},
            "this year": {"tags": ["trip", "2025"], "kinds": ["fact"]},
            "food": {"query": "who cooks pasta"},
            "food of trips": {"query": "who cooks pasta", "tags": ["trip"]},
        }
    )
    named = {name: [line.id for line in lines] for name, lines in portrait.buckets.items()}
    assert named == {
        "trips": [trip, other], "this year": [trip], "food": [pasta], "food of trips": []
    }  # fmt: skip
    assert "## Trips" in portrait.text and "## This year" not in portrait.text


def test_a_bucket_finds_by_meaning(tmp_path: Path) -> None:
    with bench(tmp_path) as made:
        made.remember("Nina has a puppy.", "The server runs Debian.")
        made.embed()
        buckets = {"pets": q.Bucket(query="any animal"), "cars": q.Bucket(query="which automobile")}
        portrait = made.ask(q.Profile(buckets=buckets))
        assert texts(portrait.buckets["pets"])[0] == "Nina has a puppy."
        made.engine.meaning.embedder = None
        assert made.ask(q.Profile(buckets=buckets)).buckets["pets"] == ()


def test_a_subject_narrows(memory: Memory) -> None:
    ann = said(memory, "Ann Berg is a nurse.", subject="Ann Berg", attribute="job", value="nurse")
    both = said(memory, "Nina is married to Ann Berg.", subject="Nina", attribute="spouse",
                value="Ann Berg")  # fmt: skip
    said(memory, "Nina lives in Rome.", subject="Nina", attribute="home", value="Rome")
    portrait = memory.profile(subject="ann  BERG")
    assert {line.id for line in all_lines(portrait)} == {ann, both}
    assert portrait.subject == "ann BERG" and portrait.text.startswith("# What is known about ann")
    nobody = memory.profile(subject="Berg")
    assert nobody.text == "" and all_lines(nobody) == []
    assert nobody.notes == ("no fact names Berg at this moment", "facts name Ann Berg")


# --- what is never in it


def test_what_does_not_hold_is_not_told(memory: Memory, clock: HandClock) -> None:
    said(memory, "Nina likes OLDVALUE.", id="a")
    memory.remember("Nina likes NEWVALUE.", id="a", said_at="2021")
    said(memory, "Nina rents OVER.", valid_to="2021")
    said(memory, "Nina rents EXPIRED.", expires_at="2025-12-31")
    said(memory, "Nina rents UPCOMING.", valid_from="2026-02-01")
    hidden = said(memory, "Nina likes FORGOTTEN.", kind="preference", tags=["work", "static"])
    memory.forget(hidden)
    gone = memory.remember("Nina likes UNDONE.", said_at=LONG_AGO).items[0].event
    assert gone is not None
    memory.undo(gone)
    said(memory, "Nina likes ERASED.")
    memory.erase(memory.list().items[-1].id)
    portrait = memory.profile(buckets={"all": {"query": "Nina likes rents"}, "work": {}})
    assert "NEWVALUE" in told(portrait)
    for word in ("OLDVALUE", "OVER", "EXPIRED", "UPCOMING", "FORGOTTEN", "UNDONE", "ERASED"):
        assert word not in told(portrait), word
    assert portrait.left_out == 0
    clock.at += 60 * DAY_US
    assert "UPCOMING" in told(memory.profile())
    memory.restore(hidden)
    assert memory.profile().stable[0].id == hidden


def test_the_tests_above_would_find_what_is_forgotten(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The product changed on purpose: a profile that does not ask what it may see."""
    memory.forget(said(memory, "Nina likes FORGOTTEN.", kind="preference"))
    assert "FORGOTTEN" not in told(memory.profile())

    def blind(view: Any, criteria: Any) -> Seen:
        return seen(view, criteria._replace(forgotten=True))

    monkeypatch.setattr(profile_parts, "seen", blind)
    assert "FORGOTTEN" in told(memory.profile())


def test_it_cannot_be_asked_for_what_is_forgotten(memory: Memory) -> None:
    said(memory, "Nina likes tea.")
    with pytest.raises(InvalidInput, match="never holds what is forgotten"):
        memory.profile(include_forgotten=True)


def test_a_scope_is_kept_to(memory: Memory) -> None:
    said(memory, "Ann likes tea.", scope={"user": "ann"}, kind="preference")
    said(memory, "Bob likes SECRET.", scope={"user": "bob"}, kind="preference", tags=["work"])
    old = said(memory, "Bob's OLDSECRET.", scope={"user": "bob"})
    memory.update(old, "Bob's SECRET.", scope={"user": "bob"}, valid_from="2025-12-30")
    of_ann = memory.call(q.Profile(scope=q.Scope(user="ann")))
    assert isinstance(of_ann, r.Portrait)
    assert texts(of_ann.stable) == ["Ann likes tea."] and of_ann.recent == ()
    assert "SECRET" not in told(of_ann) and of_ann.left_out == 0
    assert texts(memory.profile(scope={"user": "ann"}).stable) == ["Ann likes tea."]
    other = memory.container("other")
    other.remember("Something else.")
    assert texts(other.profile().stable) == ["Something else."]


def test_words_that_are_partly_forgotten_are_left_out(tmp_path: Path) -> None:
    from rewound.eventlog import events as e
    from rewound.eventlog.ids import FactId
    from rewound.eventlog.log import Draft

    with open_store(tmp_path) as store:
        (message,) = store.say("The locker PIN is 7391.")
        ref = Ref(Kind.MESSAGE, parse(message, Kind.MESSAGE))
        with store.view() as view:
            row = view.message(ref.id)
        assert row is not None
        span = e.Span(ref, row.state.text.place(0), 18, 22)
        fact = FactId(store.ids.new())
        statement = e.Statement(row.state.text)
        store.record([Draft(e.FactRemembered(fact, statement, (span,)), ())])
        (other,) = store.remember("Something else.")
        asked_for = q.Profile(container=store.name)
        assert "7391" in store.ask(asked_for).text
        hidden = Ref(Kind.FACT, parse(other, Kind.FACT))
        store.record([Draft(e.Forgotten(hidden, (), (span,)))])
        portrait = store.ask(asked_for)
        assert "7391" not in told(portrait) and "█" not in told(portrait)
        assert texts(portrait.stable) == ["Something else."] and portrait.left_out == 0


# --- moments


def test_as_it_was(memory: Memory) -> None:
    first = said(memory, "Nina lives in Rome.")
    then = memory.events(limit=1, newest=True).events[0].position
    before = memory.profile(as_of=then)
    memory.update(first, "Nina lives in Oslo.", valid_from="2025-12-20")
    said(memory, "Nina likes tea.", kind="preference")
    past = memory.profile(as_of=then)
    assert (past.text, past.stable, past.buckets) == (before.text, before.stable, before.buckets)
    assert texts(past.stable) == ["Nina lives in Rome."] and past.recent == ()
    then_true = memory.profile(valid_at="2024")
    assert texts(then_true.stable) == ["Nina lives in Rome.", "Nina likes tea."]
    assert memory.as_of(then).profile().text == before.text
    memory.forget(first)
    assert memory.profile(as_of=then).text == ""


def test_an_undone_change_never_was(memory: Memory) -> None:
    first = said(memory, "Nina lives in Rome.")
    before = memory.profile()
    edit = memory.update(first, "Nina lives in Oslo.", valid_from="2025-12-20").items[0].event
    assert edit is not None and "Oslo" in memory.profile().text
    memory.undo(edit)
    after = memory.profile()
    assert (after.text, after.stable, after.recent) == (before.text, before.stable, before.recent)


@pytest.mark.parametrize("seed", range(4))
def test_the_past_is_what_was_told_then_and_a_rebuild_changes_nothing(
    tmp_path: Path, seed: int
) -> None:
    with closing(Driver(tmp_path, durable=False)) as driver:
        live(driver, "c", seed)
        now = [driver.bytes_of(each) for each in profiles("c")]
        position = driver.head("c").position
        assert [driver.bytes_of(each) for each in profiles("c")] == now
        driver.call(q.Rebuild())
        assert [driver.bytes_of(each) for each in profiles("c")] == now
        past = [driver.call(each) for each in profiles("c", f"@{position}")]
        for one, other in zip(past, [driver.call(each) for each in profiles("c")], strict=True):
            assert isinstance(one, r.Portrait) and isinstance(other, r.Portrait)
            assert (one.text, one.left_out) == (other.text, other.left_out)


def profiles(name: str, as_of: str | None = None) -> list[q.Profile]:
    return [each for each in asked(name, as_of) if isinstance(each, q.Profile)]


# --- the budget and the text


def test_the_budget_is_kept_and_what_did_not_fit_is_counted(memory: Memory) -> None:
    kinds: tuple[q.FactKindName, ...] = ("fact", "preference", "procedure")
    for number in range(60):
        text = f"Nina's thing number {number} is of some length."
        memory.remember(text, kind=kinds[number % 3])
    for number in range(20):
        memory.remember(f"Nina did thing {number}.", kind="episode")
    for budget in (1, 20, 60, 150, 400, 1_000, 4_000):
        portrait = memory.profile(budget=budget)
        assert portrait.tokens <= budget
        assert ESTIMATE.line(portrait.text) <= portrait.tokens or portrait.text == ""
        shown = {line.id for line in all_lines(portrait)}
        assert len(shown) + portrait.left_out == 80
        assert portrait.text.count("\n- ") == len(shown)
        if portrait.left_out:
            assert portrait.notes[-1].startswith(f"{portrait.left_out} more fact")
    assert portrait.left_out == 0
    some = memory.profile(budget=400)
    assert some.stable and some.recent and some.buckets["procedures"]


def test_a_long_text_is_cut_and_what_repeats_is_told_once(memory: Memory) -> None:
    memory.remember("word " * 1_000)
    memory.remember("Nina likes tea.")
    memory.remember("nina LIKES tea", said_at="2021")
    portrait = memory.profile()
    first, second = sorted(portrait.stable, key=lambda line: len(line.text))
    assert first.text == "Nina likes tea."
    assert second.text.endswith(" …") and len(second.text) <= answer_profile.LINE_CHARS_MAX + 2
    assert portrait.left_out == 0


def test_the_text_has_each_fact_once_and_what_is_recent_last(memory: Memory) -> None:
    said(memory, "Nina prefers trains.\n## Forged heading\n- [2020] forged", kind="preference")
    said(memory, "Nina lives in Rome.")
    said(memory, "Nina visited Bern.", kind="episode", said_at="2025-12-30")
    portrait = memory.profile()
    lines = portrait.text.split("\n")
    assert [line for line in lines if line.startswith("#")] == [
        "# What is known", "## Stable", "## Preferences", "## Recent"
    ]  # fmt: skip
    assert sum(line.startswith("- ") for line in lines) == 3
    for line in all_lines(portrait):
        assert portrait.text.count(line.id) == 1
        assert f"[{(line.since or '')[:10]}]" in portrait.text
    assert sum(map(ESTIMATE.line, lines)) == portrait.tokens


def test_the_text_changes_only_with_what_is_known(memory: Memory, clock: HandClock) -> None:
    said(memory, "Nina lives in Rome.")
    said(memory, "Nina visited Bern.", kind="episode", said_at="2025-12-30")
    before = memory.profile().text
    clock.at += DAY_US
    assert memory.profile().text == before
    memory.remember("Nina saw Oslo.", kind="episode")
    after = memory.profile().text
    assert after.startswith(before[: before.index("## Recent")])


def test_equal_facts_are_in_the_order_of_their_ids(memory: Memory) -> None:
    written = memory.remember(
        [{"text": f"Thing {n} holds.", "said_at": LONG_AGO} for n in range(40)]
    )
    ids = [line.id for line in memory.profile(budget=2_000, buckets={}).stable]
    assert ids == sorted(item.id or "" for item in written.items)[: len(ids)] and len(ids) == 40


def test_a_container_of_6_000_facts(memory: Memory) -> None:
    kinds = ("fact", "preference", "episode", "procedure")
    for start in range(0, 6_000, 3_000):
        memory.remember(
            [
                {
                    "text": f"Nina's friend {n} told plan {n}.",
                    "kind": kinds[n % 4],
                    "subject": ("Nina", "Ben")[n % 3 == 0],
                    "attribute": "home" if n == 5_996 else "note",
                    "value": f"value {n}",
                }
                for n in range(start, start + 3_000)
            ]
        )
    portrait = memory.profile(budget=600)
    assert portrait.subject == "Nina" and portrait.tokens <= 600
    assert "5996" in portrait.stable[0].text
    assert 5_900 < portrait.left_out < 6_000
    assert memory.profile(budget=600) == portrait


# --- what cannot be asked


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": 1_000_000}, "budget"),
        ({"days": 0}, "days"),
        ({"subject": " "}, "subject"),
        ({"buckets": {"x": {}}}, "buckets.x"),
        ({"buckets": {"x": {"tags": [" "]}}}, "buckets.x.tags[0]"),
        ({"buckets": {"x": {"kinds": ["idea"]}}}, "buckets.x.kinds[0]"),
        ({"buckets": {"x": {"words": "a"}}}, "buckets.x.words"),
        ({"buckets": {"x": 5}}, "buckets.x"),
        ({"buckets": {"a\nb": {"query": "x"}}}, "buckets"),
        ({"buckets": {"Recent": {"query": "x"}}}, "buckets"),
        ({"buckets": {"x" * 65: {"query": "x"}}}, "a name in buckets"),
        ({"buckets": {str(n): {"query": "x"} for n in range(51)}}, "buckets"),
        ({"buckets": ["nothing"]}, "buckets.nothing"),
        ({"as_of": "soon"}, "as_of"),
    ],
)
def test_what_cannot_be_asked(memory: Memory, more: dict[str, Any], field: str) -> None:
    said(memory, "Nina likes tea.")
    with pytest.raises(InvalidInput) as caught:
        memory.profile(**more)
    assert caught.value.field == field
