"""With the extractor and embedder that a server has by default: facts drawn from what was sent."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api, Served, reply_of, serving

_numbers = count(1)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    settings = {"REWOUND_EMBEDDER": "", "REWOUND_EXTRACTOR": ""}
    with serving(tmp_path_factory.mktemp("deriving"), **settings) as started:
        yield started


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as opened:
        yield opened


@pytest.fixture
def api(client: httpx.Client) -> Api:
    return Api(client, f"d{next(_numbers)}")


def derived(api: Api) -> list[r.View]:
    """All facts, once the workers have nothing left to do."""
    asked = {"action": "wait", "timeout_s": 60}
    told = reply_of(api.send("POST", "/v1/workers", asked), r.Working)
    assert (told.state, told.pending, told.failed) == ("running", 0, 0), told
    return api.facts(limit=1000)


LINES = {
    7: "The zebra vault opens at nine.",
    150: "The walrus archive lies in Turin.",
    293: "The ibex ledger is bound in green.",
}


def page(changed: dict[int, str]) -> str:
    facts = LINES | changed
    filler = "Line {}: nothing but filler text, to make up the bulk."
    return "\n".join(facts.get(n, filler.format(n)) for n in range(1, 301))


def test_r17_one_changed_line_ends_its_fact_and_no_other(api: Api) -> None:
    first = api.write("POST", "/v1/documents", {"id": "large", "text": page({})})
    before = {view.text.rstrip("."): view.id for view in derived(api)}
    for text in LINES.values():
        assert text.rstrip(".") in before, before
    changed = {"id": "large", "text": page({7: "The zebra vault opens at ten."})}
    assert api.write("POST", "/v1/documents", changed).items[0].status == "replaced"
    after = {view.text.rstrip("."): view.id for view in derived(api)}
    assert "The zebra vault opens at ten" in after
    assert "The zebra vault opens at nine" not in after, "the old fact has ended"
    for number in (150, 293):
        text = LINES[number].rstrip(".")
        assert after[text] == before[text], "neither ended nor doubled"
    assert len(after) == len(before)
    found = api.found("when does the zebra vault open")
    assert "nine" not in " ".join(found) and "ten" in found[0]
    past = api.read("/v1/documents", r.Page, as_of=f"@{first.position}").items
    assert [LINES[7] in view.text for view in past] == [True]


def test_a_document_is_pending_and_then_ready(api: Api) -> None:
    written = api.write("POST", "/v1/documents", {"text": "Omar grows figs in his garden."})
    assert written.pending == 1 and written.items[0].pending
    assert [view.text.rstrip(".") for view in derived(api)] == ["Omar grows figs in his garden"]
    shown = api.read(f"/v1/documents/{written.items[0].id}", r.Shown).item
    assert shown.status == "ready"
    jobs = api.read("/v1/jobs", r.JobList)
    assert (jobs.pending, jobs.failed, jobs.parked) == (0, 0, 0)


def test_facts_drawn_from_messages_name_the_callers_own_ids(api: Api) -> None:
    message = {
        "id": "m-77",
        "role": "user",
        "name": "Nina",
        "content": "Yesterday I planted the lemon tree.",
        "time": "2026-03-02T23:30:00-08:00",
    }
    api.write("POST", "/v1/messages", {"conversation": "garden", "messages": [message]})
    (fact,) = derived(api)
    assert "Nina" in fact.text and fact.valid_from == "2026-03-01", fact
    body = {"query": "who planted a lemon tree", "filters": {"what": ["fact"]}}
    (hit,) = api.ask("/v1/search", r.Found, **body).hits
    assert [source.caller_id for source in hit.sources] == ["m-77"]
    assert hit.sources[0].conversation == "garden" and hit.sources[0].speaker == "Nina"
    packed = api.ask("/v1/context", r.Packed, query="lemon tree")
    assert "2026-03-01" in packed.text


def test_r16_the_same_chat_from_many_clients_gives_one_set_of_facts(
    api: Api, served: Served
) -> None:
    message = {"content": "I moved to Bergen. My sister Ana lives in Rome.", "name": "Nina"}
    body = {
        "container": api.container,
        "messages": [{**message, "time": "2026-03-01T10:00:00Z"}],
        "conversation": "chat",
    }

    def send(_: int) -> int:
        with served.client() as own:
            return Api(own, api.container).send("POST", "/v1/messages", body).status_code

    with ThreadPoolExecutor(20) as threads:
        assert set(threads.map(send, range(20))) == {200}
    texts = [view.text for view in derived(api)]
    assert len(texts) == len(set(texts)) == 2, texts
    assert api.read("/v1/messages", r.Page).total == 1


def test_paused_workers_leave_what_is_pending_until_they_go_on(api: Api) -> None:
    def workers(action: str) -> r.Working:
        return reply_of(api.send("POST", "/v1/workers", {"action": action}), r.Working)

    try:
        assert workers("pause").state == "paused"
        api.write("POST", "/v1/documents", {"text": "Omar grows figs in his garden."})
        jobs = api.read("/v1/jobs", r.JobList)
        assert jobs.pending == 1 and [job.state for job in jobs.jobs] == ["pending"]
        assert workers("status").state == "paused"
        assert api.facts() == [] and api.found("figs") != [], "found by words all the same"
    finally:
        assert workers("resume").state == "running"
    assert len(derived(api)) == 1


def test_what_was_drawn_goes_with_its_source_and_comes_back(api: Api) -> None:
    written = api.write("POST", "/v1/documents", {"text": "Omar fears geese and swans."})
    (fact,) = derived(api)
    document = written.items[0]
    gone = api.delete(f"/v1/documents/{document.id}")
    assert {document.id, fact.id} <= {hidden.id for hidden in gone.items}
    assert derived(api) == [] and api.found("geese") == []
    api.write("POST", "/v1/restore", {"ids": [document.id]}, r.Forgot)
    assert [view.id for view in derived(api)] == [fact.id]
    api.write("POST", f"/v1/events/{document.event}/undo", {}, r.Undid)
    assert derived(api) == [] and api.found("geese") == []


@pytest.mark.parametrize(
    "text",
    [
        "明日は陶芸教室に行く予定です", "她最近在学打羽毛球和书法", "주말마다 등산모임에 나간다",
        "ผมแพ้กุ้งมาก", "Я вчера посадил лимон.", "Ayer planté un limonero.", "אני גר בחיפה",
    ],
)  # fmt: skip
def test_r25_texts_of_other_languages_are_never_mixed_with_english(api: Api, text: str) -> None:
    message = api.write("POST", "/v1/messages", {"messages": [{"content": text}]}).items[0].id
    for view in derived(api):
        assert "the user" not in view.text and "the author" not in view.text, view.text
    hits = api.ask("/v1/search", r.Found, query=text, limit=1).hits
    assert [source.id for hit in hits for source in hit.sources] == [message]


def test_meaning_finds_what_no_word_does(api: Api) -> None:
    api.fact("Nina works at Orbit Labs.")
    api.fact("The greenhouse stands behind the barn.")
    assert derived(api)
    found = api.ask("/v1/search", r.Found, query="which company employs her?", limit=1)
    assert [hit.text for hit in found.hits] == ["Nina works at Orbit Labs."]
    assert found.unembedded == 0
