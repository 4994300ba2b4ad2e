"""More faults of the kinds R23 and R26: names of things in code and on paper, numbers, questions
that say little or nothing, crowds of near-duplicates, filters and limits."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from rewound.memory.models import EmbedderName
from tests.cases.asking import BOTH, MEANING, UNSURE, WORDS, Shelf, likely, settled, shelf, shown
from tests.cases.doors import DOORS, Json, Shop, open_shop
from tests.cases.given import texts


@pytest.fixture(scope="module", params=BOTH)
def here(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shelf]:
    embedder: EmbedderName = request.param
    yield from shelf(tmp_path_factory.mktemp("kinds"), embedder)


@pytest.fixture(scope="module")
def by_words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield from shelf(tmp_path_factory.mktemp("words"), WORDS)


@pytest.fixture(scope="module")
def by_meaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    yield from shelf(tmp_path_factory.mktemp("meaning"), MEANING)


# --- R23: what has a name of its own

NAMED = (
    "Error ERR_CONN_42 means the upstream closed the socket.",
    "Error ERR_CONN_43 means the peer reset the socket.",
    "ERR_DISK_42 is raised when the volume is full.",
    "We pinned the parser at v1.2.3 after the crash.",
    "Release v1.2.30 fixed the logging.",
    "Release v1.3.2 renamed the flags.",
    "The settings live in /etc/orchard/gate.toml on the host.",
    "The settings of the press live in /etc/orchard/press.toml.",
    "The gate of the orchard is green.",
    "Write to mira.holt@example.org about invoices.",
    "Write to mira.hart@example.org about hiring.",
    "Mira Holt likes plums.",
    "The clinic's number is +49 30 901820.",
    "The bakery's number is +49 30 901821.",
    "The library can be called at (555) 010-4477.",
    "The pool can be called at 555.010.4478.",
    "Call getUserById before saveUser.",
    "get_user_by_id is deprecated.",
    "The user is fetched by id.",
    "Ticket PROJ-1234 tracks the leak.",
    "Ticket PROJ-1235 tracks the drip.",
    "Order 1234 was shipped.",
    "The commit is 9fceb02d0ae598e95dc970b74767f19372d61af8.",
    "UUID 123e4567-e89b-12d3-a456-426614174000 is the tenant.",
    "The IP of the printer is 192.168.0.17.",
    "The IP of the scanner is 192.168.0.71.",
    "ISBN 978-3-16-148410-0 is on the shelf.",
    "The plate of the van is B-KL 4071.",
    "The flag is --no-cache.",
    "The flag is --cache-dir.",
    "Set NODE_ENV=production.",
    "https://example.org/a/b?x=1#frag explains it.",
    "The meeting costs $1,200.",
    "The trip costs 1300 euros.",
    "Room 3 has the beamer.",
    "Room 30 has the piano.",
    "Room 13 is locked.",
    "Room 300 is a hall.",
    "Seat QX 512 is taken.",
    "Gate B17 is closed.",
)

# The beginning of the text that is meant, and how people write what it holds.
ASKED: dict[str, Sequence[str]] = {
    "Error ERR_CONN_42": ("ERR_CONN_42", "err_conn_42", "ERR CONN 42", "what is ERR_CONN_42?"),
    "ERR_DISK_42": ("ERR_DISK_42", "disk 42"),
    "We pinned": ("v1.2.3", "V1.2.3", "what did we pin at v1.2.3", "1.2.3", "version 1.2.3"),
    "Release v1.2.30": ("v1.2.30",),
    "The settings live": ("/etc/orchard/gate.toml", "gate.toml", "orchard/gate.toml"),
    "Write to mira.holt": ("mira.holt@example.org", "<Mira.Holt@Example.org>"),
    "The clinic's": (
        "+49 30 901820", "030 901820", "901820", "the clinic's number", "+4930901820",
        "+49 (0)30 90 18 20",
    ),
    "The library": ("(555) 010-4477", "555-010-4477", "555 010 4477", "555.010.4477", "5550104477"),
    "The pool": ("555 010 4478", "(555) 010-4478"),
    "Call getUserById": ("getUserById", "getUserById()"),
    "get_user_by_id": ("get_user_by_id", "get user by id", "GET_USER_BY_ID"),
    "Ticket PROJ-1234": ("PROJ-1234", "proj-1234", "proj 1234", "PROJ1234", "#PROJ-1234"),
    "Order 1234": ("1234", "order 1234"),
    "The commit": ("9fceb02d0ae598e95dc970b74767f19372d61af8",),
    "UUID": ("123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"),
    "The IP of the printer": ("192.168.0.17",),
    "The IP of the scanner": ("192.168.0.71",),
    "ISBN": ("978-3-16-148410-0", "ISBN 978-3-16-148410-0", "9783161484100"),
    "The plate": ("B-KL 4071", "b kl 4071"),
    "The flag is --no-cache": ("--no-cache", "no cache"),
    "The flag is --cache-dir": ("--cache-dir",),
    "Set NODE_ENV": ("NODE_ENV", "NODE_ENV=production", "$NODE_ENV"),
    "https://example.org": ("https://example.org/a/b?x=1#frag",),
    "The meeting": ("$1,200", "1200", "1,200"),
    "Room 3 ": ("Room 3", "room 3?", "what is in room 3"),
    "Room 30 ": ("room 30",),
    "Room 13": ("room 13",),
    "Room 300": ("room 300", "Room ３００"),
    "Seat QX 512": ("QX512", "qx 512", "qx-512", "seat QX512?"),
    "Gate B17": ("B 17", "gate b17"),
}  # fmt: skip
EACH = [(begins, query) for begins, queries in ASKED.items() for query in queries]


@pytest.mark.parametrize(("begins", "query"), EACH, ids=[query for _, query in EACH])
def test_r23_what_has_a_name_comes_first(here: Shelf, begins: str, query: str) -> None:
    found = here.facts(NAMED).search(query)
    assert found.hits and found.hits[0].text.startswith(begins), shown(found)


def test_r23_a_text_is_found_by_its_very_words(here: Shelf) -> None:
    memory = here.facts(NAMED)
    for text in NAMED:
        found = memory.search(text)
        assert found.hits[0].text == text, shown(found)


def test_r23_an_id_of_the_store_is_no_word_of_it(here: Shelf) -> None:
    """An item is shown by its id; asked for as a text, an id finds nothing and breaks nothing."""
    memory = here.facts(NAMED)
    for view in memory.list(limit=5).items:
        assert memory.get(view.id).item.text == view.text
        assert likely(memory.search(view.id)) == []


# What another spelling does not find, or does not put first, by words alone: the text, the spelling
# that falls short, and one that finds it.
FALLS_SHORT = {
    "a plate in one piece": ("The plate", "BKL4071", "B-KL 4071"),
    "the head of a commit": ("The commit", "9fceb02", "9fceb02d0ae598e95dc970b74767f19372d61af8"),
    "the words of a name in camels": ("Call getUserById", "get user", "getUserById"),
    "thousands with a comma": ("The trip", "1,300", "1300"),
    "a typo": ("The plate", "the plaet", "the plate"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("begins", "query", "spelled"), FALLS_SHORT.values(), ids=FALLS_SHORT.keys()
)
def test_r23_what_falls_short_is_not_answered_by_another(
    by_words: Shelf, begins: str, query: str, spelled: str
) -> None:
    """What is not found is no more than that: the text is there under its own spelling, and nothing
    else claims to be it."""
    memory = by_words.facts(NAMED)
    found = memory.search(query)
    assert found.hits or "nothing stored holds a word of the query" in found.notes[-1]
    wrong = [hit.text for hit in likely(found) if not hit.text.startswith(begins)]
    assert wrong == [] or query == "get user", shown(found)
    assert memory.search(spelled).hits[0].text.startswith(begins)


# --- the same through every door


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with open_shop(tmp_path_factory.mktemp("doors"), REWOUND_EMBEDDER="none") as shop:
        shop.memory.container("named").remember(list(NAMED))
        yield shop


@pytest.mark.parametrize("name", DOORS)
def test_r23_every_door_finds_the_same(shop: Shop, name: str) -> None:
    door = DOORS[name](shop, "named")
    memory = shop.memory.container("named")
    for begins, queries in ASKED.items():
        hits = door.search(queries[0])
        assert hits[0]["text"].startswith(begins), (queries[0], hits[:2])
        assert _order(hits) == [(hit.id, hit.score) for hit in memory.search(queries[0]).hits]
    for query in ("?!", "🦄", "zxqw blorp"):
        assert door.search(query) == []


def _order(hits: list[Json]) -> list[tuple[str, float]]:
    return [(hit["id"], hit["score"]) for hit in hits]


def test_r23_a_threshold_is_the_same_through_the_doors_that_take_one(shop: Shop) -> None:
    memory = shop.memory.container("named")
    every = memory.search("ERR_CONN_42")
    sure = [hit.id for hit in likely(every)]
    assert 0 < len(sure) < len(every.hits)
    left_out = len(every.hits) - len(sure)
    for name in ("library", "command line", "REST"):
        door = DOORS[name](shop, "named")
        given: Any = "0.5" if name == "command line" else UNSURE
        assert [hit["id"] for hit in door.search("ERR_CONN_42", threshold=given)] == sure, name
    notes = memory.search("ERR_CONN_42", threshold=UNSURE).notes
    assert notes == (f"{left_out} hits less likely than the threshold left out",)
    for beyond in (-0.1, 1.1):
        with pytest.raises(InvalidInput) as refused:
            memory.search("ERR_CONN_42", threshold=beyond)
        assert refused.value.field == "threshold"


# --- R23: numbers are numbers

COUNTED = (
    "The ladder has 3 rungs.", "The ladder has 30 rungs.", "The ladder has 13 rungs.",
    "The shed is 3.5 metres wide.", "The stove costs 3,000 euros.", "The boat costs 30,000 euros.",
    "The score was 3-2.", "The score was 32.", "Flight LH 403 is late.", "Flight LH 43 is early.",
)  # fmt: skip
NUMBERS = {
    "3 rungs": "The ladder has 3 rungs.",
    "30 rungs": "The ladder has 30 rungs.",
    "13 rungs": "The ladder has 13 rungs.",
    "3.5": "The shed is 3.5 metres wide.",
    "3,000 euros": "The stove costs 3,000 euros.",
    "3000 euros": "The stove costs 3,000 euros.",
    "30000 euros": "The boat costs 30,000 euros.",
    "３０,０００": "The boat costs 30,000 euros.",
    "3-2": "The score was 3-2.",
    "32": "The score was 32.",
    "flight LH 403": "Flight LH 403 is late.",
    "flight LH 43": "Flight LH 43 is early.",
}


def test_r23_a_number_is_no_part_of_another(here: Shelf) -> None:
    memory = here.facts(COUNTED)
    for query, text in NUMBERS.items():
        found = memory.search(query)
        assert found.hits[0].text == text, shown(found)


# --- R23: who does and who does not

DENIED = (
    "Ada eats fish.", "Ben does not eat fish.", "Cid never eats meat.",
    "Dora eats meat every day.", "Eli is allergic to nuts.", "Fay is not allergic to nuts.",
)  # fmt: skip
WHO = {
    "who eats fish": "Ada eats fish.",
    "who does not eat fish": "Ben does not eat fish.",
    "who never eats meat": "Cid never eats meat.",
    "who is allergic to nuts": "Eli is allergic to nuts.",
    "who is not allergic to nuts": "Fay is not allergic to nuts.",
}


def test_r23_what_is_denied_and_what_is_not_are_told_apart(here: Shelf) -> None:
    memory = here.facts(DENIED)
    for query, text in WHO.items():
        found = memory.search(query)
        assert found.hits[0].text == text, shown(found)
        assert len(found.hits) > 1, "its contrary is a hit too, and never merged with it"


# --- R23: whose name it is

NAMES = (
    "Anna Berg lives in Ulm.", "Anna Bergmann lives in Bonn.", "Anne Berg lives in Kiel.",
    "Hannah lives in Jena.", "O'Neill lives in Cork.", "Jean-Luc lives in Metz.",
    "Jean lives in Nancy.", "Luc lives in Lille.", "Dr. Who lives in a box.",
)  # fmt: skip
CALLED = {
    "where does Anna Berg live": "Anna Berg lives in Ulm.",
    "where does Anna Bergmann live": "Anna Bergmann lives in Bonn.",
    "where does Anne live": "Anne Berg lives in Kiel.",
    "ANNE BERG": "Anne Berg lives in Kiel.",
    "hannah": "Hannah lives in Jena.",
    "O’Neill": "O'Neill lives in Cork.",
    "oneill": "O'Neill lives in Cork.",
    "Jean-Luc": "Jean-Luc lives in Metz.",
    "jeanluc": "Jean-Luc lives in Metz.",
    "where does Luc live": "Luc lives in Lille.",
}


def test_r23_a_name_is_not_one_that_is_like_it(here: Shelf) -> None:
    memory = here.facts(NAMES)
    for query, text in CALLED.items():
        found = memory.search(query)
        assert found.hits[0].text == text, shown(found)


# --- R23: questions that say little

LITTLE = (
    "Nadia restores antique accordions.", "Vitamin C is in the drawer.", "Plan B is the ferry.",
    "X marks the spot.", "R is the language of the statistics course.", "Route 7 is closed.",
    "It is what it is.", "To be or not to be, that is the question.", "The Who played in Leeds.",
    "We are where we were.", "The cat is called Pepper.",
)  # fmt: skip
SHORT = {
    "C": "Vitamin C is in the drawer.",
    "vitamin c": "Vitamin C is in the drawer.",
    "b": "Plan B is the ferry.",
    "x": "X marks the spot.",
    "R": "R is the language of the statistics course.",
    "7": "Route 7 is closed.",
    "it is what it is": "It is what it is.",
    "to be or not to be": "To be or not to be, that is the question.",
    "the who": "The Who played in Leeds.",
    "we": "We are where we were.",
    "ACCORDIONS!!!!!" + "!" * 5_000: "Nadia restores antique accordions.",
    "accordions " + "the of and " * 2_000: "Nadia restores antique accordions.",
    "   \n\t accordions \r\n": "Nadia restores antique accordions.",
}


@pytest.mark.parametrize(("query", "text"), SHORT.items(), ids=[query[:20] for query in SHORT])
def test_r23_little_is_enough_where_it_is_said(here: Shelf, query: str, text: str) -> None:
    found = here.facts(LITTLE).search(query)
    assert found.hits[0].text == text, shown(found)


NOTHING = (
    "zxqw blorp fnord", "asdfgh", "qqqqqqqqqqqqqqqqqqqq", "what is the capital of Mongolia",
    "quantum chromodynamics lattice", "?", "...", "—", "!!!", "¿?", "。", "a", "i", "()",
    "x" * 31_000, "lorem " * 4_000,
)  # fmt: skip


@pytest.mark.parametrize("query", NOTHING, ids=[query[:20] for query in NOTHING])
def test_r23_what_nothing_answers_is_said_to_be_that(here: Shelf, query: str) -> None:
    memory = here.facts(LITTLE)
    found = memory.search(query)
    assert likely(found) == [], shown(found)
    assert found.hits or found.notes, "an empty reply says why"
    for reply in (memory.search(query, threshold=UNSURE), memory.context(query, threshold=UNSURE)):
        assert not getattr(reply, "hits", ()) and not getattr(reply, "lines", ())
        assert reply.notes[-1].startswith(("nothing ", "the query holds no word")), reply.notes


def test_r23_ten_thousand_words_are_answered_or_refused_with_the_limit(here: Shelf) -> None:
    memory = here.facts(LITTLE)
    long = " ".join(["so"] * 9_999 + ["accordions"])
    assert len(long) < 32_000
    assert texts(memory.search(long))[0] == "Nadia restores antique accordions."
    assert memory.context(long, budget=50).lines[0].text.count("accordions") == 1
    with pytest.raises(InvalidInput) as refused:
        memory.search(" ".join(f"word{number}" for number in range(10_000)))
    assert refused.value.field == "query" and "32,000" in refused.value.message


# --- R26: crowds


def test_r26_an_answer_stands_out_of_a_crowd_that_repeats_itself(here: Shelf) -> None:
    crowd = [f"The weekly sync about the billing service took place, round {n}." for n in range(80)]
    answer = "The billing service is owned by Team Osprey."
    memory = here.facts([*crowd[:40], answer, *crowd[40:]])
    for query in ("who owns the billing service", "which team is the billing service owned by"):
        assert texts(memory.search(query, limit=3))[0] == answer, query
        assert answer in memory.context(query, budget=150).text, query


def test_r26_the_same_said_sixty_times_takes_one_place(here: Shelf) -> None:
    memory = here.empty()
    times = [f"2026-01-{day % 28 + 1:02}" for day in range(60)]
    memory.remember([
        {"text": "The billing service is down.", "said_at": time, "metadata": {"n": number}}
        for number, time in enumerate(times)
    ])  # fmt: skip
    memory.remember("The billing service is owned by Team Osprey.")
    found = settled(memory).search("billing service", limit=5)
    assert len(found.hits) == 2, shown(found)
    same = next(hit for hit in found.hits if hit.text == "The billing service is down.")
    assert len({same.id, *same.also}) == 60, "it names all that say the same"
    packed = memory.context("billing service")
    assert packed.text.count("is down") == 1 and "Osprey" in packed.text


LISTED = ("cello", "viola", "oboe", "harp", "lute", "organ")


@pytest.mark.parametrize(
    "query",
    ["which instruments does Tom play", "list everything that Tom plays", "what does Tom play"],
)
def test_r26_every_member_of_a_list_is_found_once(here: Shelf, query: str) -> None:
    members = [f"Tom plays the {name}." for name in LISTED]
    others = (
        "Eva plays the flute.", "Eva plays tennis.", "Tom likes soup.", "Tom lives in Rome.",
        "The cello is old.", "Mia listens to the harp.",
    )  # fmt: skip
    memory = here.facts([*members, *others])
    found = texts(memory.search(query, limit=len(LISTED)))
    assert sorted(found) == sorted(members)
    lines = memory.context(query).text.splitlines()
    for member in members:
        assert len([line for line in lines if member in line]) == 1, member


# --- R26: conditions, by meaning as well

QUERY = "standup payment service"


@pytest.fixture(scope="module")
def standups(by_meaning: Shelf) -> Memory:
    """Notes that fit the question, and three that fit it less and pass the filters."""
    notes: list[Json] = [
        {"text": f"Weekly standup about the payment service, item {number}",
         "said_at": f"2025-03-{number % 28 + 1:02}", "tags": ["weekly"], "metadata": {"n": number}}
        for number in range(150)
    ]  # fmt: skip
    rare: list[Json] = [
        {"text": f"{what} was changed", "said_at": f"2025-01-0{number}", "tags": ["rare"],
         "kind": "procedure", "metadata": {"team": "ops"}, "subject": "Orla"}
        for number, what in enumerate(("The root password", "The door code", "The lock"), 1)
    ]  # fmt: skip
    memory = by_meaning.empty()
    memory.remember([*notes[:75], *rare, *notes[75:]])
    memory.remember(
        [f"Standup of {name}" for name in ("Ines", "Jo", "Kai")], scope={"user": "ines"}
    )
    return settled(memory)


PASS_THREE: dict[str, dict[str, Any]] = {
    "tags": {"tags": "rare"},
    "kind": {"kinds": "procedure"},
    "metadata": {"metadata": {"team": "ops"}},
    "days": {"since": "2025-01-01", "until": "2025-01-03"},
    "scope": {"scope": {"user": "ines"}},
    "all at once": {"tags": "rare", "kinds": "procedure", "since": "2025-01-01", "what": "fact"},
}


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
@pytest.mark.parametrize("which", PASS_THREE.values(), ids=PASS_THREE.keys())
def test_r26_a_filter_leaves_exactly_what_passes(
    standups: Memory, which: dict[str, Any], limit: int
) -> None:
    for query in (QUERY, "zxqw blorp"):
        found = standups.search(query, limit=limit, **which)
        assert len({hit.id for hit in found.hits}) == len(found.hits) == min(limit, 3), shown(found)
    every = [hit.id for hit in standups.search(QUERY, limit=100, **which).hits]
    assert [hit.id for hit in standups.search(QUERY, limit=limit, **which).hits] == every[:limit]


def test_r26_a_limit_beyond_the_store_gives_all_there_is(here: Shelf) -> None:
    lamps = [f"Lamp number {number} stands in a hall." for number in range(20)]
    memory = here.facts(lamps)
    for limit in (19, 20, 21, 1_000):
        found = texts(memory.search("lamp in the hall", limit=limit))
        assert len(set(found)) == len(found) == min(limit, 20)
    for limit in (0, -1, 1_001):
        with pytest.raises(InvalidInput) as refused:
            memory.search("lamp", limit=limit)
        assert refused.value.field == "limit" and "1,000" in refused.value.message


def test_r31_a_thousand_of_one_score_are_each_found_once(by_words: Shelf) -> None:
    memory = by_words.empty()
    memory.remember(
        [{"text": f"Lamp {n} of the hall.", "said_at": "2026-01-01"} for n in range(1_203)]
    )
    first = memory.search("lamp hall", limit=1_000).hits
    assert len({hit.id for hit in first}) == 1_000
    for limit in (1, 10, 300, 301, 999):
        assert memory.search("lamp hall", limit=limit).hits == first[:limit]
    assert memory.search("1202").hits[0].text == "Lamp 1202 of the hall."


def test_r26_a_score_is_a_probability_that_falls(here: Shelf) -> None:
    memory = here.facts(NAMED)
    for query in ("ERR_CONN_42", "the settings of the orchard", "call", "room"):
        scores = [hit.score for hit in memory.search(query, limit=100).hits]
        assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
        for least in (0.0, 0.1, UNSURE, 0.9, 1.0):
            found = memory.search(query, limit=100, threshold=least)
            assert [hit.score for hit in found.hits] == [s for s in scores if s >= least]
            json.dumps(list(found.notes))
