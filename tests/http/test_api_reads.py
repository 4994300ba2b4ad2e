"""Every route that reads: what it answers, at which moment, page by page, by any question."""

import json
import re
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api, Served, reply_of

CHAT = [
    {"id": "m1", "name": "Nina", "content": "The launch moved to May."},
    {"id": "m2", "role": "assistant", "content": "Noted, the launch is in May."},
]


@pytest.fixture
def filled(api: Api) -> Api:
    """A document, two messages, and a fact that got a second version."""
    api.write(
        "POST",
        "/v1/documents",
        {"text": "The antenna stands on the roof.", "id": "wiki/antenna", "title": "Antenna"},
    )
    api.write("POST", "/v1/messages", {"conversation": "planning", "messages": CHAT})
    old = api.fact(
        "Nina works at Harbor Foods.", id="job", tags=["work", "a,b"], said_at="2026-03-01"
    )
    api.write(
        "PATCH",
        f"/v1/facts/{old}",
        {"text": "Nina works at Orbit Labs.", "valid_from": "2026-05-01"},
    )
    return api


# --- one item


def test_an_item_is_shown_by_its_own_route_and_by_the_common_one(filled: Api) -> None:
    for path, kind in (
        ("facts", "fact"),
        ("documents", "document"),
        ("messages", "message"),
        ("passages", "passage"),
    ):
        page = filled.read(f"/v1/{path}", r.Page)
        assert page.total == len(page.items) > 0, path
        for view in page.items:
            assert view.kind == kind
            shown = filled.read(f"/v1/items/{view.id}", r.Shown)
            assert (shown.item.id, shown.item.text) == (view.id, view.text)
            history = filled.read(f"/v1/items/{view.id}/history", r.Versions)
            assert history.id and history.events
            if path != "passages":
                assert filled.read(f"/v1/{path}/{view.id}", r.Shown) == shown
    (fact,) = filled.read("/v1/facts", r.Page).items
    life = filled.read(f"/v1/facts/{fact.id}/history", r.Versions)
    assert [view.text for view in life.versions] == [
        "Nina works at Harbor Foods.",
        "Nina works at Orbit Labs.",
    ]
    assert life.current == fact.id and len(life.events) == 2
    assert filled.read(f"/v1/items/{fact.id}/history", r.Versions) == life


def test_a_route_answers_for_its_own_kind_only(filled: Api) -> None:
    ids = {
        path: filled.read(f"/v1/{path}", r.Page).items[0].id
        for path in ("facts", "documents", "messages")
    }
    event = filled.events()[0].id
    where = {"container": filled.container}
    for path in ids:
        for other, item in [*ids.items(), ("events", event)]:
            if other != path:
                response = filled.send("GET", f"/v1/{path}/{item}", params=where)
                assert response.status_code in (400, 404), (path, other, response.text)
    error = filled.refused(400, "wrong_kind", "GET", f"/v1/items/{event}", params=where)
    assert "an event" in error["message"], "the kind that was given is named"


# --- lists


def test_a_list_is_narrowed_by_its_query_string(filled: Api) -> None:
    filled.fact(
        "Omar likes tea.",
        kind="preference",
        tags=["drinks", "work"],
        metadata={"n": 1, "who": "omar"},
        said_at="2025-01-02",
        scope={"user": "omar", "agent": "a1"},
    )
    omar, nina = "Omar likes tea.", "Nina works at Orbit Labs."
    expected: list[tuple[dict[str, Any], list[str]]] = [
        ({}, [nina, omar]),
        ({"tags": "work"}, [nina, omar]),
        ({"tags": "work,drinks"}, [omar]),
        ({"tags": ["work", "drinks"]}, [omar]),
        ({"tags": '["a,b"]'}, [nina]),
        ({"tags": "a,b"}, []),
        ({"kinds": "preference"}, [omar]),
        ({"kinds": "preference,fact"}, [nina, omar]),
        ({"metadata": json.dumps({"n": 1})}, [omar]),
        ({"metadata": json.dumps({"n": "1"})}, []),
        ({"since": "2026-01-01"}, [nina]),
        ({"until": "2025-01-02"}, [omar]),
        ({"since": "2025-01-02", "until": "2025-01-02"}, [omar]),
        ({"user": "omar"}, [omar]),
        ({"user": "omar", "agent": "a2"}, []),
        ({"user": "oma"}, []),
        ({"limit": "1"}, [nina]),
    ]
    for params, texts in expected:
        page = filled.read("/v1/facts", r.Page, **params)
        assert sorted(view.text for view in page.items) == sorted(texts), params
    both = filled.read("/v1/facts", r.Page, include_superseded="true")
    assert "Nina works at Harbor Foods." in [view.text for view in both.items]
    for source in ("wiki/antenna", "planning"):
        found = [
            filled.read(f"/v1/{path}", r.Page, source=source).total
            for path in ("documents", "messages", "passages")
        ]
        assert sum(found) >= 1, source
    assert filled.read("/v1/messages", r.Page, source="wiki/antenna").total == 0


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "-1"}, "limit"),
        ({"limit": "abc"}, "limit"),
        ({"limit": "1.5"}, "limit"),
        ({"limit": ""}, "limit"),
        ({"limit": "9" * 40}, "limit"),
        ({"cursor": "nonsense"}, "cursor"),
        ({"cursor": "%%%"}, "cursor"),
        ({"kinds": "wish"}, "kinds"),
        ({"metadata": "{"}, "metadata"),
        ({"metadata": "[1]"}, "metadata"),
        ({"metadata": "5"}, "metadata"),
        ({"since": "soon"}, "since"),
        ({"as_of": "later"}, "as_of"),
        ({"as_of": ""}, "as_of"),
        ({"valid_at": "@5"}, "valid_at"),
        ({"include_superseded": "maybe"}, "include_superseded"),
        ({"include_forgotten": "2"}, "include_forgotten"),
        ({"at_least": "-1"}, "at_least"),
        ({"offset": "10"}, "offset"),
        ({"spce": "A"}, "spce"),
        ({"what": "document"}, "what"),
    ],
)
def test_a_list_refuses_what_it_cannot_be_asked(
    filled: Api, params: dict[str, str], field: str
) -> None:
    params = {"container": filled.container, **params}
    error = error_by(filled.send("GET", "/v1/facts", params=params))
    assert error["code"] == "invalid_input"
    assert error["field"] and field in re.split(r"[.\[]", error["field"]), error


@pytest.mark.parametrize(
    "path",
    [
        "/v1/documents", "/v1/messages", "/v1/passages", "/v1/search?query=a", "/v1/events",
        "/v1/jobs", "/v1/diff?start=@0", "/v1/stats", "/v1/containers", "/v1/facts/{fact}",
        "/v1/facts/{fact}/history", "/v1/items/{fact}", "/v1/items/{fact}/history",
    ],
)  # fmt: skip
def test_no_read_passes_over_what_it_does_not_know(filled: Api, path: str) -> None:
    path = path.replace("{fact}", filled.facts()[0].id)
    mark = "&" if "?" in path else "?"
    if path != "/v1/containers":
        path, mark = f"{path}{mark}container={filled.container}", "&"
    assert filled.send("GET", path).is_success
    for name in ("spce", "offset", "page"):
        error = filled.refused(400, "invalid_input", "GET", f"{path}{mark}{name}=1")
        assert name in error["message"], error


def test_a_name_given_twice_is_never_both(filled: Api) -> None:
    other = filled.within(f"{filled.container}-b")
    other.fact("The secret is a marmot.")
    twice = f"container={filled.container}&container={other.container}"
    for path in ("/v1/facts?", "/v1/search?query=secret&", "/v1/events?"):
        filled.refused(400, "invalid_input", "GET", path + twice, field="container")
    filled.refused(400, "invalid_input", "GET", "/v1/facts?limit=1&limit=2", field="limit")


def error_by(response: httpx.Response) -> Any:
    assert response.status_code == 400, (response.status_code, response.text[:500])
    return response.json()["error"]


# --- R31

FACTS = 1_203
TIME = "2026-03-01T10:00:00Z"


@pytest.fixture
def many(api: Api) -> Api:
    facts = [{"text": f"Fact number {n}.", "said_at": TIME} for n in range(FACTS)]
    written = api.write("POST", "/v1/facts", {"facts": facts})
    assert len(written.items) == FACTS and written.refused == 0
    return api


def test_r31_each_once_while_others_write_and_forget(many: Api, served: Served) -> None:
    ids = [view.id for view in many.facts(limit=1000)]
    assert len(ids) == len(set(ids)) == FACTS
    page = many.read("/v1/facts", r.Page, limit=200)
    assert (page.total, page.limit, page.has_more) == (FACTS, 200, True)
    seen = [view.id for view in page.items]
    forgotten = seen[17]
    walked = threading.Event()

    def write_beside() -> None:
        with served.client() as client:
            second = Api(client, many.container)
            second.delete(f"/v1/facts/{forgotten}")
            for number in range(500):
                if walked.is_set():
                    return
                second.remember(f"A later fact, number {number}.", said_at=TIME)

    writing = threading.Thread(target=write_beside)
    writing.start()
    try:
        while page.cursor is not None:
            page = many.read("/v1/facts", r.Page, limit=200, cursor=page.cursor)
            seen += [view.id for view in page.items]
            assert page.has_more == (page.cursor is not None)
    finally:
        walked.set()
        writing.join()
    assert len(seen) == len(set(seen)), "none twice"
    assert set(seen) >= set(ids) - {forgotten}, "none left out"
    assert forgotten not in {view.id for view in many.facts(limit=1000)}


def test_r31_a_limit_out_of_bounds_is_told(many: Api) -> None:
    where = {"container": many.container}
    response = many.send("GET", "/v1/facts", params={**where, "limit": "100000"})
    if response.is_success:
        page = reply_of(response, r.Page)
        assert page.limit == len(page.items) < FACTS and page.has_more
    else:
        error = error_by(response)
        assert error["field"] == "limit" and "1,000" in error["message"]


def test_r31_a_cursor_is_of_its_own_list(many: Api) -> None:
    cursor = many.read("/v1/facts", r.Page, limit=200).cursor
    assert cursor is not None
    where = {"container": many.container}
    for number in (0, len(cursor) // 2, len(cursor) - 5):
        altered = cursor[:number] + ("A" if cursor[number] != "A" else "B") + cursor[number + 1 :]
        params = {**where, "cursor": altered}
        many.refused(400, "invalid_input", "GET", "/v1/facts", params=params, field="cursor")
    other = {**where, "cursor": cursor, "tags": "x"}
    many.refused(400, "invalid_input", "GET", "/v1/facts", params=other, field="cursor")
    many.refused(400, "invalid_input", "GET", "/v1/passages", params={**where, "cursor": cursor})
    more = many.read("/v1/facts", r.Page, cursor=cursor, limit=1000)
    assert len(more.items) == min(1000, FACTS - 200), "another limit is no other list"
    last = [view.id for view in many.facts(limit=1000)][-1]
    before = many.read("/v1/facts", r.Page, limit=1000)
    many.delete(f"/v1/facts/{last}")
    rest = many.read("/v1/facts", r.Page, limit=1000, cursor=before.cursor)
    assert len(rest.items) == FACTS - 1000 - 1 and not rest.has_more


# --- moments


def test_reads_as_of_a_moment(filled: Api) -> None:
    told = filled.events()
    edited = next(event for event in told if event.type == "fact edited")
    before = f"@{edited.position - 1}"
    then = filled.read("/v1/facts", r.Page, as_of=before)
    assert [view.text for view in then.items] == ["Nina works at Harbor Foods."]
    assert then.moment.position == edited.position - 1
    for as_of in (edited.id, f"@{edited.position}", edited.recorded_at):
        now = filled.read("/v1/facts", r.Page, as_of=as_of)
        assert "Nina works at Orbit Labs." in [view.text for view in now.items], as_of
    question: dict[str, Any] = {"query": "where does Nina work", "as_of": before, "limit": 1}
    for found in (
        filled.ask("/v1/search", r.Found, **question),
        filled.read("/v1/search", r.Found, **question),
    ):
        assert [hit.text for hit in found.hits] == ["Nina works at Harbor Foods."]
    question.pop("limit")
    assert "Harbor" in filled.ask("/v1/context", r.Packed, **question).text
    fact = then.items[0].id
    shown = filled.read(f"/v1/facts/{fact}", r.Shown, as_of=before).item
    assert shown.standing is not None and shown.standing.state == "current"
    counts = filled.read("/v1/stats", r.Figures, as_of="@1").info[0].counts
    assert counts.get("facts", 0) == 0
    where = {"container": filled.container, "as_of": "@0"}
    assert filled.send("GET", f"/v1/facts/{fact}", params=where).status_code == 404


def test_reads_at_a_time_in_the_world(filled: Api) -> None:
    for day, employer in (("2026-04-01", "Harbor Foods"), ("2026-06-01", "Orbit Labs")):
        page = filled.read("/v1/facts", r.Page, valid_at=day)
        assert [employer in view.text for view in page.items] == [True]
        found = filled.ask("/v1/search", r.Found, query="where does Nina work", valid_at=day)
        assert employer in found.hits[0].text
    assert filled.read("/v1/facts", r.Page, valid_at="2020-01-01").items == ()


def test_a_read_waits_for_the_position_it_names(api: Api) -> None:
    for number in range(20):
        written = api.write("POST", "/v1/facts", {"text": f"Fact {number}."})
        page = api.read("/v1/facts", r.Page, at_least=written.position)
        assert page.total == number + 1
        assert page.moment.position >= written.position


def test_what_is_forgotten_shows_when_asked_for(filled: Api) -> None:
    (fact,) = filled.read("/v1/facts", r.Page).items
    filled.delete(f"/v1/facts/{fact.id}")
    for include, count in (("false", 0), ("true", 1)):
        assert filled.read("/v1/facts", r.Page, include_forgotten=include).total == count
    assert filled.found("Nina work", filters={"what": ["fact"]}) == []
    again = filled.found("Nina work", include_forgotten=True, filters={"what": ["fact"]})
    assert again == ["Nina works at Orbit Labs."]
    assert filled.read("/v1/facts", r.Page, as_of=f"@{fact_position(filled)}").total == 0
    shown = filled.read(f"/v1/facts/{fact.id}", r.Shown, include_forgotten="true").item
    assert shown.standing is not None and shown.standing.state == "forgotten"


def fact_position(api: Api) -> int:
    return next(event.position for event in api.events() if event.type == "fact remembered")


# --- events, diffs, jobs, figures


def test_events_are_told_page_by_page(filled: Api) -> None:
    told = filled.events()
    assert [event.position for event in told] == list(range(1, len(told) + 1))
    seen: list[str] = []
    after = 0
    while True:
        page = filled.read("/v1/events", r.Told, limit=2, after=after)
        seen += [event.id for event in page.events]
        if page.next is None:
            break
        after = page.next
    assert seen == [event.id for event in told]
    newest = filled.read("/v1/events", r.Told, limit=2, newest="true")
    assert [event.id for event in newest.events] == seen[-2:]
    only = filled.read("/v1/events", r.Told, types="fact edited")
    assert [event.type for event in only.events] == ["fact edited"]
    two = filled.read("/v1/events", r.Told, types=["fact edited", "fact remembered"])
    assert {event.type for event in two.events} == {"fact edited", "fact remembered"}
    fact = filled.facts(include_superseded="true")[0]
    about = filled.read("/v1/events", r.Told, about=fact.id)
    assert len(about.events) == 2
    since = filled.read("/v1/events", r.Told, since="@3")
    assert since.events[0].position == 3


def test_a_diff_tells_what_was_learned_changed_and_gone(filled: Api) -> None:
    start = f"@{filled.events()[-1].position}"
    keep = filled.fact("Omar grows tomatoes.")
    gone = filled.fact("Omar grows basil.")
    middle = f"@{filled.events()[-1].position}"
    filled.delete(f"/v1/facts/{gone}")
    told = filled.read("/v1/diff", r.Differences, start=start)
    assert keep in [change.id for change in told.learned]
    assert "basil" not in repr(told)
    told = filled.read("/v1/diff", r.Differences, start=start, end=middle)
    assert keep in [change.id for change in told.learned]
    where = {"container": filled.container}
    filled.refused(400, "invalid_input", "GET", "/v1/diff", params=where, field="start")


def test_jobs_figures_and_containers(filled: Api) -> None:
    jobs = filled.read("/v1/jobs", r.JobList)
    assert jobs.pending >= 0 and jobs.container == filled.container
    figures = filled.read("/v1/stats", r.Figures)
    assert [info.name for info in figures.info] == [filled.container]
    assert figures.info[0].counts["documents"] == 1
    store = reply_of(filled.send("GET", "/v1/stats", params={"store": "true"}), r.Figures)
    assert store.containers >= 1 and store.events >= figures.info[0].position
    listed = reply_of(filled.send("GET", "/v1/containers"), r.ContainerList)
    assert filled.container in [info.name for info in listed.containers]
    first = reply_of(filled.send("GET", "/v1/containers", params={"limit": "1"}), r.ContainerList)
    assert len(first.containers) == 1 and first.has_more == (first.total > 1)
    if first.cursor is not None:
        params = {"limit": "1", "cursor": first.cursor}
        second = reply_of(filled.send("GET", "/v1/containers", params=params), r.ContainerList)
        assert second.containers[0].name != first.containers[0].name


# --- search and context


def test_hits_carry_the_callers_own_ids(filled: Api) -> None:
    hit = filled.ask("/v1/search", r.Found, query="antenna roof").hits[0]
    assert [source.caller_id for source in hit.sources] == ["wiki/antenna"]
    assert hit.sources[0].title == "Antenna"
    hits = filled.ask("/v1/search", r.Found, query="launch moved May", limit=2).hits
    sources = {source.caller_id: source for hit in hits for source in hit.sources}
    assert sources["m1"].conversation == "planning" and sources["m1"].speaker == "Nina"
    own = filled.fact("The zebra is striped.", id="animal/zebra")
    (zebra,) = filled.ask("/v1/search", r.Found, query="zebra").hits
    assert (zebra.id, zebra.kind) == (own, "fact")
    assert zebra.signals and zebra.standing.state == "current"
    shown = filled.read(f"/v1/facts/{own}", r.Shown).item
    assert shown.caller_id == "animal/zebra"


def test_a_question_is_the_same_in_a_body_and_in_a_query_string(filled: Api) -> None:
    asked = filled.ask("/v1/search", r.Found, query="Nina launch", limit=3)
    got = filled.read("/v1/search", r.Found, query="Nina launch", limit=3)
    assert got == asked and asked.hits
    narrowed = filled.ask(
        "/v1/search", r.Found, query="Nina launch", filters={"what": ["fact"], "tags": ["work"]}
    )
    got = filled.read("/v1/search", r.Found, query="Nina launch", what="fact", tags="work")
    assert got == narrowed and [hit.kind for hit in got.hits] == ["fact"]


def test_a_scope_narrows_every_read(api: Api) -> None:
    for user in ("nina", "omar"):
        api.fact(f"The secret of {user} is a walrus.", scope={"user": user})
    asked = [
        api.ask("/v1/search", r.Found, query="walrus", scope={"user": "omar"}),
        api.read("/v1/search", r.Found, query="walrus", user="omar"),
        api.ask("/v1/context", r.Packed, query="walrus", scope={"user": "omar"}),
        api.read("/v1/facts", r.Page, user="omar"),
        api.read("/v1/events", r.Told, user="omar"),
        api.read("/v1/diff", r.Differences, start="@0", user="omar"),
    ]
    for reply in asked:
        assert "of omar" in repr(reply) and "of nina" not in repr(reply), reply
    (theirs,) = (view.id for view in api.facts() if "nina" in view.text)
    for path in (f"/v1/facts/{theirs}", f"/v1/items/{theirs}/history"):
        params = {"container": api.container, "user": "omar"}
        api.refused(404, "not_found", "GET", path, params=params)


def test_a_conversation_is_shown_by_its_name_and_id(filled: Api) -> None:
    path = "/v1/conversations/{}/recent"
    reply = filled.read(path.format("planning"), r.Recounted)
    recent = reply.recent
    assert [turn.text for turn in recent.messages] == [said["content"] for said in CHAT]
    assert (recent.older, recent.told_by) == (0, "nothing")
    (talk,) = recent.conversations
    assert filled.read(path.format(talk), r.Recounted).recent.messages == recent.messages
    last = filled.read(path.format("planning"), r.Recounted, recent_chars=5, older_chars=0).recent
    assert [turn.text for turn in last.messages] == [CHAT[1]["content"]] and last.older == 1
    where = {"container": filled.container}
    filled.refused(404, "not_found", "GET", path.format("walking"), params=where)
    filled.refused(404, "not_found", "GET", path.format("planning"), params={**where, "user": "x"})
    filled.refused(
        400, "invalid_input", "GET", path.format("planning"), params={**where, "recent_chars": "0"},
        field="recent_chars",
    )  # fmt: skip


def test_a_context_holds_the_recent_part_of_a_conversation(filled: Api) -> None:
    packed = filled.ask("/v1/context", r.Packed, query="the launch", conversation="planning")
    assert packed.recent is not None
    shown = [turn.id for turn in packed.recent.messages]
    assert len(shown) == 2 and not {line.id for line in packed.lines} & {*shown}
    assert packed.text.endswith(packed.recent.text) and packed.tokens >= packed.recent.tokens


def test_context_keeps_to_its_budget(api: Api) -> None:
    api.write(
        "POST",
        "/v1/facts",
        {"facts": [{"text": f"The walrus number {n} sleeps."} for n in range(60)]},
    )
    packed = api.ask("/v1/context", r.Packed, query="walrus", budget=100)
    assert packed.tokens <= packed.budget == 100 and packed.lines
    assert all(line.id.startswith("fact_") for line in packed.lines)
    wide = api.ask("/v1/context", r.Packed, query="walrus", budget=400)
    assert len(wide.lines) > len(packed.lines)
    body = {"container": api.container, "query": "walrus", "budget": 0}
    api.refused(400, "invalid_input", "POST", "/v1/context", body, field="budget")


# --- R23

# What is asked, and a text that holds it; None where there is nothing in it to be found by.
QUESTIONS: dict[str, str | None] = {
    "multi-agent": "The multi-agent run failed.",
    "don't": "Please don't ring the bell.",
    "src/main.py": "The bug is in src/main.py, near the top.",
    '"': None,
    "C++": "The parser is written in C++ and some glue.",
    "a:b": "The ratio a:b is two.",
    "(": None,
    "*": None,
    "NEAR(": "We sat near the stove.",
    "AND": "Salt and pepper.",
    "-foo": "The flag -foo turns it on.",
    "col:x": "Set col:x before the import.",
    "{a b}": "The set {a b} has two members.",
    r"C:\tmp\x": r"The dump lies in C:\tmp\x on the old machine.",
    "50% + 5 & more = #1?": "It is 50% + 5 & more = #1?",
}


@pytest.mark.parametrize("name", ["a-b", "01234567-89ab-cdef-0123-456789abcdef", "main", "a/b?c#d"])
def test_r23_any_characters_are_a_question(client: httpx.Client, name: str) -> None:
    here = Api(client, f"r23 {name}" if name != "a-b" else name)
    here.write(
        "POST", "/v1/facts", {"facts": [{"text": text} for text in QUESTIONS.values() if text]}
    )
    for question, text in QUESTIONS.items():
        by_body = here.ask("/v1/search", r.Found, query=question, limit=50)
        by_string = here.read("/v1/search", r.Found, query=question, limit=50)
        assert by_body == by_string and by_body.query == question
        if text is not None:
            assert text in [hit.text for hit in by_body.hits], question
    for blank in ("", "  ", "\n\t"):
        body = {"container": here.container, "query": blank}
        here.refused(400, "invalid_input", "POST", "/v1/search", body, field="query")
        here.refused(400, "invalid_input", "GET", "/v1/search", params=body, field="query")
    assert here.found("x" * 10_000) == []
    assert here.found("bell " * 2_000) == ["Please don't ring the bell."]


# --- R25 and R26

UNSPACED = {
    "明日は陶芸教室に行く予定です": ["陶芸"],
    "她最近在学打羽毛球和书法": ["羽毛球", "书法", "Kai 书法"],
    "주말마다 등산모임에 나간다": ["등산"],
    "ผมแพ้กุ้งมาก": ["กุ้ง"],
}


@pytest.mark.parametrize("door", ["facts", "messages", "documents"])
def test_r25_words_inside_texts_without_spaces_are_found(api: Api, door: str) -> None:
    name = "content" if door == "messages" else "text"
    texts = [*UNSPACED, "The weather was fine.", "Kai went home."]
    api.write("POST", f"/v1/{door}", {door: [{name: text} for text in texts]})
    for text, questions in UNSPACED.items():
        for question in questions:
            assert text in api.found(question), question
            by_string = api.read("/v1/search", r.Found, query=question)
            assert text in [hit.text for hit in by_string.hits], question


def test_r26_conditions_are_met_before_the_cut(api: Api) -> None:
    notes: list[dict[str, Any]] = [
        {"text": f"Weekly standup about the payment service, item {n}.", "said_at": "2026-02-01"}
        for n in range(500)
    ]
    ops = "Payment service root password rotated."
    notes.insert(250, {"text": ops, "tags": ["ops"], "said_at": "2025-01-02"})
    api.write("POST", "/v1/facts", {"facts": notes})
    query = "standup payment service"
    for filters in (
        {"tags": ["ops"]},
        {"since": "2025-01-01", "until": "2025-01-03"},
        {"tags": ["ops"], "since": "2025-01-01", "until": "2025-01-03"},
    ):
        for limit in (5, 1):
            assert api.found(query, limit=limit, filters=filters) == [ops]
            params: dict[str, Any] = {**filters, "query": query, "limit": limit}
            assert [hit.text for hit in api.read("/v1/search", r.Found, **params).hits] == [ops]
    assert len(api.found(query, limit=200)) == 200
    assert len(api.found(query, limit=200, filters={"since": "2026-01-01"})) == 200


# --- R28

LIKE_NORTH = ["north", "north-east", "north/x", "north:x", "North", "north ", "north%2Fx", "north*"]


def test_r28_a_container_is_its_whole_name(client: httpx.Client) -> None:
    for number, name in enumerate(LIKE_NORTH):
        here = Api(client, name)
        here.fact(f"The secret is marmot-{number}.", id="one", metadata={"container": "north"})
        here.write("POST", "/v1/documents", {"text": f"The page is marmot-{number}.", "id": "page"})
    for number, name in enumerate(LIKE_NORTH):
        here = Api(client, name)
        told = repr(
            [
                here.facts(),
                list(here.pages("/v1/documents")),
                list(here.pages("/v1/passages")),
                here.events(),
                here.ask("/v1/search", r.Found, query="secret marmot", limit=1000),
                here.ask("/v1/context", r.Packed, query="secret marmot"),
                here.read("/v1/diff", r.Differences, start="@0"),
                here.read("/v1/jobs", r.JobList),
                here.read("/v1/stats", r.Figures),
            ]
        )
        assert {n for n in range(len(LIKE_NORTH)) if f"marmot-{n}" in told} == {number}, name


PathOf = Callable[[str], tuple[str, str, dict[str, Any]]]

FOREIGN: dict[str, PathOf] = {
    "get": lambda i: ("GET", f"/v1/items/{i}", {}),
    "fact": lambda i: ("GET", f"/v1/facts/{i}", {}),
    "document": lambda i: ("GET", f"/v1/documents/{i}", {}),
    "history": lambda i: ("GET", f"/v1/items/{i}/history", {}),
    "forgotten": lambda i: ("GET", f"/v1/items/{i}?include_forgotten=true", {}),
    "reword": lambda i: ("PATCH", f"/v1/facts/{i}", {"text": "Mine now."}),
    "tag": lambda i: ("PATCH", f"/v1/documents/{i}", {"add_tags": ["mine"]}),
    "delete": lambda i: ("DELETE", f"/v1/facts/{i}", {}),
    "delete document": lambda i: ("DELETE", f"/v1/documents/{i}", {}),
    "forget": lambda i: ("POST", "/v1/forget", {"ids": [i]}),
    "forget source": lambda i: ("POST", "/v1/forget", {"filters": {"source": i}}),
    "restore": lambda i: ("POST", "/v1/restore", {"ids": [i]}),
    "erase": lambda i: ("POST", "/v1/erase", {"ids": [i]}),
    "erase dry": lambda i: ("POST", "/v1/erase", {"ids": [i], "dry_run": True}),
    "undo": lambda i: ("POST", "/v1/undo", {"id": i}),
    "undo event": lambda i: ("POST", f"/v1/events/{i}/undo", {"cascade": True}),
    "forget event": lambda i: ("POST", f"/v1/events/{i}/forget", {}),
    "remove": lambda i: ("POST", f"/v1/documents/{i}/remove", {}),
    "as of": lambda i: ("GET", f"/v1/facts?as_of={i}", {}),
    "about": lambda i: ("GET", f"/v1/events?about={i}", {}),
    "source": lambda i: ("GET", f"/v1/messages?source={i}", {}),
}


@pytest.mark.parametrize("call", FOREIGN.values(), ids=FOREIGN.keys())
def test_r28_a_foreign_id_is_as_one_that_is_missing(api: Api, call: PathOf) -> None:
    other = api.within(f"{api.container}-east")
    api.fact("Mine.")
    other.fact("The secret is a marmot.")
    other.write("POST", "/v1/documents", {"text": "A page of the marmot."})
    before = [repr((here.facts(), here.events())) for here in (api, other)]
    happened = other.events()
    ids = {item for event in happened for item in event.items} | {event.id for event in happened}
    for item in sorted(ids):
        said = []
        for each in (item, missing_like(item)):
            method, path, body = call(each)
            response = asked_in(api, method, path, body)
            said.append((response.status_code, response.text.replace(each, "ID")))
        assert said[0] == said[1], item
        assert "marmot" not in said[0][1]
    assert [repr((here.facts(), here.events())) for here in (api, other)] == before


def asked_in(api: Api, method: str, path: str, body: dict[str, Any]) -> httpx.Response:
    where = {"container": api.container}
    if method in ("GET", "DELETE"):
        mark = "&" if "?" in path else "?"
        return api.send(method, f"{path}{mark}container={quote(api.container)}")
    return api.send(method, path, {**where, **body})


def missing_like(item: str) -> str:
    """An id of the same kind that is nowhere: its last bits are others."""
    kind, _, bits = item.rpartition("_")
    return f"{kind}_{bits[:-6]}{'000000' if bits[-6:] != '000000' else '000001'}"


@pytest.mark.parametrize(
    "more",
    [
        {"space": "north"}, {"$or": [{"tags": ["all"]}]}, {"filters": {"container": "north"}},
        {"filters": {"space": "north"}}, {"scope": {"container": "north"}}, {"containers": ["n"]},
    ],
)  # fmt: skip
def test_r28_a_filter_never_widens(api: Api, more: dict[str, Any]) -> None:
    api.fact("A secret.")
    for path in ("/v1/search", "/v1/context", "/v1/forget"):
        body = {"container": api.container, "query": "secret", **more}
        api.refused(400, "invalid_input", "POST", path, body)


# --- what is not in the API proper


def test_the_root_names_the_docs(api: Api, client: httpx.Client) -> None:
    response = client.get("/")
    assert response.status_code == 200 and "docs" in response.text
    page = client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["x-content-type-options"] == "nosniff"
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy or "default-src 'self'" in policy
    assert "unsafe-inline" not in policy.replace("style-src 'unsafe-inline'", "")
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page.text)
    for path in ("/v1/facts", "/v1/search", "/v1/events/{id}/undo", "/v4/search"):
        assert path in page.text, path


ROUTES = {
    "/v1/facts": "post get",
    "/v1/facts/{id}": "get patch delete",
    "/v1/facts/{id}/history": "get",
    "/v1/facts/{id}/why": "get",
    "/v1/documents": "post get",
    "/v1/documents/{id}": "get patch delete",
    "/v1/documents/{id}/remove": "post",
    "/v1/messages": "post get",
    "/v1/messages/{id}": "get delete",
    "/v1/passages": "get",
    "/v1/items/{id}": "get",
    "/v1/items/{id}/history": "get",
    "/v1/search": "post get",
    "/v1/context": "post",
    "/v1/forget": "post",
    "/v1/restore": "post",
    "/v1/erase": "post",
    "/v1/undo": "post",
    "/v1/events": "get",
    "/v1/events/{id}/undo": "post",
    "/v1/events/{id}/forget": "post",
    "/v1/profile": "get",
    "/v1/timeline": "get",
    "/v1/graph": "get",
    "/v1/reviews": "get",
    "/v1/labels": "post",
    "/v1/policy/fit": "post",
    "/v1/rejudge": "post",
    "/v1/jobs": "get",
    "/v1/jobs/retry": "post",
    "/v1/workers": "post",
    "/v1/diff": "get",
    "/v1/stats": "get",
    "/v1/containers": "get",
    "/v1/containers/{name}": "put",
    "/v1/verify": "post",
    "/v1/seal": "post",
    "/v1/rebuild": "post",
    "/v1/replay": "post",
    "/v1/accept-clock": "post",
    "/v4/memories": "post",
    "/v4/search": "post",
    "/v4/profile": "post",
    "/health": "get",
}


def test_the_routes_are_described(client: httpx.Client) -> None:
    told = client.get("/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    for path, methods in ROUTES.items():
        assert path in told["paths"], path
        assert set(methods.split()) <= set(told["paths"][path]), path
        for method in methods.split():
            assert told["paths"][path][method]["responses"], (path, method)
    for pointer in set(re.findall(r'"\$ref": ?"#([^"]+)"', json.dumps(told))):
        place: Any = told
        for part in pointer.strip("/").split("/"):
            place = place[part.replace("~1", "/").replace("~0", "~")]
    body = told["paths"]["/v1/search"]["post"]["requestBody"]["content"]["application/json"]
    assert "query" in json.dumps(resolved(told, body["schema"]))


def resolved(told: Any, schema: Any) -> Any:
    while "$ref" in schema:
        schema = told["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


SAMPLE = r"""[a-zA-Z_:][\w:]*(\{(\w+="(\\.|[^"\\])*",?)*\})? [-+.\deEinfNa]+"""


def test_health_and_metrics(api: Api, client: httpx.Client) -> None:
    api.fact("A healthy fact.")
    response = api.send("GET", "/health")
    health = response.json()
    assert (response.status_code, health["status"]) in ((200, "ok"), (200, "degraded"))
    assert set(health) == {"status", "parts"}
    assert {"store", "embedder", "workers", "pending"} <= set(health["parts"]), health
    metrics = client.get("/metrics")
    assert metrics.status_code == 200
    assert metrics.headers["content-type"].startswith("text/plain")
    assert metrics.headers["x-content-type-options"] == "nosniff"
    samples = [line for line in metrics.text.splitlines() if line and not line.startswith("#")]
    assert samples
    for line in samples:
        assert re.fullmatch(SAMPLE, line), line
    assert "healthy" not in metrics.text and api.container not in metrics.text
