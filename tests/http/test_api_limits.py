"""Sizes, names, slow clients and many at once: told limits, never half a record."""

import gzip
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api, Served, error_of, everything, reply_of, serving

T = TypeVar("T")

EMOJI = "\N{GRINNING FACE}"
STEM = "a" * 511
MB = 1024 * 1024


# --- R17

LINES = 50_000
UNIQUE = {
    7: "The zebra vault opens at nine.",
    25_000: "The walrus archive lies in Turin.",
    49_993: "The ibex ledger is bound in green.",
}


def large(changed: dict[int, str]) -> str:
    facts = UNIQUE | changed
    return "".join(
        f"{facts[number]}\n"
        if number in facts
        else f"Line {number}: nothing but filler text, to make up the bulk.\n"
        for number in range(1, LINES + 1)
    )


@pytest.mark.slow
def test_r17_a_large_document_and_one_changed_line(api: Api) -> None:
    text = large({})
    assert len(text) > 2_500_000
    written = api.write("POST", "/v1/documents", {"id": "large", "text": text})
    assert written.items[0].status == "written"
    before = {view.id: view.text for view in api.pages("/v1/passages", limit=1000)}
    for sentence in UNIQUE.values():
        assert sentence in api.found(sentence, limit=1)[0]
    shown = api.read(f"/v1/documents/{written.items[0].id}", r.Shown).item
    assert shown.text.rstrip() == text.rstrip()
    new = "The zebra vault opens at ten."
    body = {"container": api.container, "id": "large", "text": large({7: new})}
    chunks = (
        json.dumps(body).encode()[start : start + 65_536] for start in range(0, 4 * MB, 65_536)
    )
    response = api.send("POST", "/v1/documents", content=chunks)  # chunked, as large files come
    assert reply_of(response, r.Written).items[0].status == "replaced"
    after = {view.id: view.text for view in api.pages("/v1/passages", limit=1000)}
    assert len(before) == len(after) and len(before.keys() - after.keys()) == 1
    assert [new in found for found in api.found("zebra vault")] == [True]
    for number in (25_000, 49_993):
        found = [text for text in api.found(UNIQUE[number]) if UNIQUE[number] in text]
        assert len(found) == 1, "neither ended nor doubled"
    past = api.ask("/v1/search", r.Found, query="zebra vault", as_of=f"@{written.position}")
    assert UNIQUE[7] in past.hits[0].text


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that takes bodies of at most one mebibyte."""
    with serving(tmp_path_factory.mktemp("narrow"), REWOUND_MAX_BODY_MB="1") as started:
        yield started


def body_of(size: int) -> bytes:
    """A body of just so many bytes."""
    frame = b'{"id": "big", "text": "The walrus sleeps. %s"}'
    filler = b"filler text. " * (size // 13 + 1)
    return frame.replace(b"%s", filler[: size - len(frame) + 2])


def pieces(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), 50_000):
        yield content[start : start + 50_000]


@pytest.mark.parametrize("way", ["with its length", "chunked"])
def test_r17_over_the_limit_is_a_413_that_states_it(narrow: Served, way: str) -> None:
    with narrow.client() as client:
        api = Api(client, "default")
        for size in (MB + 1, 5 * MB):
            content: Any = body_of(size)
            if way == "chunked":
                content = pieces(content)
            for path in ("/v1/documents", "/v1/search"):
                error = api.refused(413, "too_large", "POST", path, content=content)
                assert "1,048,576" in error["message"] or "1048576" in error["message"], error
                assert "max_body_mb" in error["message"].lower(), error
                content = body_of(size) if way != "chunked" else pieces(body_of(size))
        exact: Any = body_of(MB)
        assert len(exact) == MB
        response = api.send(
            "POST", "/v1/documents", content=pieces(exact) if way == "chunked" else exact
        )
        assert response.is_success, response.text[:500]
        assert api.read("/v1/documents", r.Page).total == 1
        assert api.found("walrus") != []


def test_r17_a_packed_body_counts_by_what_it_unpacks_to(narrow: Served) -> None:
    with narrow.client() as client:
        api = Api(client, "packed")
        headers = {"content-encoding": "gzip", "content-type": "application/json"}
        for size, status in ((3 * MB, 413), (64 * MB, 413), (1_000, 200)):
            content = gzip.compress(body_of(size).replace(b'"id"', b'"container": "packed", "id"'))
            response = api.send("POST", "/v1/documents", content=content, headers=headers)
            if response.status_code != status:
                assert response.status_code in (400, 415), response.text[:300]
        garbage = api.send("POST", "/v1/documents", content=b"no gzip", headers=headers)
        assert 400 <= garbage.status_code < 500


def test_r17_the_limit_is_told_before_the_body_is_sent(narrow: Served) -> None:
    """A client that announces too much need not send it to be told."""
    head = b"POST /v1/documents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    answer = b""
    with narrow.connect() as opened:
        opened.sendall(head + b"Content-Length: 999999999\r\n\r\n")
        while b"\r\n\r\n" not in answer:
            part = opened.recv(65536)
            assert part, "closed without an answer"
            answer += part
    assert int(answer.split()[1]) == 413, answer


def test_r17_32_mb_are_the_limit_by_default(api: Api) -> None:
    content = body_of(33 * MB)
    error = api.refused(413, "too_large", "POST", "/v1/documents", content=content)
    assert "33,554,432" in error["message"] or "33554432" in error["message"], error


def test_a_length_that_is_none_is_refused(served: Served, api: Api) -> None:
    head = b"POST /v1/facts HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    for length in (b"-1", b"abc", b"9" * 40, b"1\r\nContent-Length: 2"):
        answer = served.raw(head + b"Content-Length: " + length + b"\r\n\r\n{}")
        assert int(answer.split()[1]) in (400, 413), answer[:300]
    api.fact("Still there.")


# --- R46


@pytest.mark.parametrize(
    "tag",
    ["t" * 600, EMOJI * 200, "t" * 1_000, STEM, STEM + "b", "\N{SNOWMAN}" * 171, '["x"]'],
    ids=lambda tag: f"{len(tag)} {tag[:3]}",
)
def test_r46_long_tags_are_kept_found_and_taken_off(api: Api, tag: str) -> None:
    fact = api.fact("A fact with a long tag.", tags=[tag])
    api.fact("Another fact.", tags=[tag[:-1]])
    page = api.read("/v1/facts", r.Page, tags=json.dumps([tag]))
    assert [view.id for view in page.items] == [fact]
    hits = api.ask("/v1/search", r.Found, query="fact", filters={"tags": [tag]}).hits
    assert [hit.id for hit in hits] == [fact]
    api.write("PATCH", f"/v1/facts/{fact}", {"remove_tags": [tag]})
    assert api.read("/v1/facts", r.Page, tags=json.dumps([tag])).total == 0


def test_r46_tags_alike_in_their_first_bytes_stay_apart(api: Api) -> None:
    tags = [STEM + "x", STEM + "y", STEM, STEM + EMOJI, STEM + "x" * 400]
    facts = {tag: api.fact(f"Fact {n}.", tags=[tag]) for n, tag in enumerate(tags)}
    for tag, fact in facts.items():
        page = api.read("/v1/facts", r.Page, tags=tag)
        assert [view.id for view in page.items] == [fact]
    forgot = api.write("POST", "/v1/forget", {"filters": {"tags": [STEM + "x"]}}, r.Forgot)
    assert [hidden.id for hidden in forgot.items] == [facts[STEM + "x"]]
    assert len(api.facts()) == len(tags) - 1


LONG = "n" * 2_000
ADDRESS = f"https://example.org/{'p' * 3_980}"
TAKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "fact id": ("facts", {"text": "A.", "id": LONG}),
    "document": ("documents", {"text": "A.", "id": LONG, "address": ADDRESS, "title": "t" * 4_000}),
    "emoji id": ("documents", {"text": "A.", "id": EMOJI * 2_000}),
    "entity": ("facts", {"text": "A.", "subject": "e" * 3_000, "value": "v" * 3_000}),
    "keys": (
        "facts",
        {"text": "A.", "metadata": {"__proto__": 1, "id": 2, "space": 3, "k" * 600: 4}},
    ),
    "names": ("facts", {"text": "A.", "metadata": {"constructor": {"__proto__": {"a.b": [1]}}}}),
    "value": ("facts", {"text": "A.", "metadata": {"": "v" * 60_000}}),
    "tags": ("facts", {"text": "A.", "tags": [f"{STEM}{n}" for n in range(200)]}),
    "word": ("documents", {"text": f"The {'w' * 20_000} word."}),
}


@pytest.mark.parametrize(("door", "sent"), TAKEN.values(), ids=TAKEN.keys())
def test_r46_long_things_are_kept_and_found(api: Api, door: str, sent: dict[str, Any]) -> None:
    first = api.write("POST", f"/v1/{door}", sent).items[0]
    (view,) = api.pages(f"/v1/{door}")
    assert view.id == first.id
    told = json.loads(api.send("GET", f"/v1/{door}", params={"container": api.container}).text)
    assert told["items"][0].get("metadata", {}) == sent.get("metadata", {})
    assert told["items"][0].get("caller_id") == sent.get("id")
    if "id" in sent and len(sent["id"].encode()) <= 2_000:
        shown = api.read(f"/v1/{door}/{quote(str(first.id))}", r.Shown)
        assert shown.item.caller_id == sent["id"]
    if door == "documents" and "id" in sent and len(sent["id"].encode()) <= 2_000:
        assert api.read("/v1/documents", r.Page, source=sent["id"]).total == 1
    if metadata := sent.get("metadata"):
        body = {"query": "A", "filters": {"metadata": metadata}}
        assert len(api.ask("/v1/search", r.Found, **body).hits) <= 1
        again = api.write("POST", "/v1/forget", {"filters": {"metadata": metadata}}, r.Forgot)
        assert again.count == 1


def nested(levels: int) -> dict[str, Any]:
    deep: dict[str, Any] = {}
    for _ in range(levels - 1):
        deep = {"a": deep}
    return deep


REFUSED: dict[str, tuple[str, str, dict[str, Any]]] = {
    "empty tag": ("tags[0]", "blank", {"tags": [""]}),
    "long tag": ("tags[0]", "1,000", {"tags": ["t" * 1_001]}),
    "many tags": ("tags", "200", {"tags": [f"{n}" for n in range(5_000)]}),
    "empty id": ("id", "blank", {"id": ""}),
    "long id": ("id", "2,000", {"id": "i" * 2_001}),
    "entity": ("subject", "8,000", {"subject": "s" * 8_001}),
    "deep": ("metadata", "20", {"metadata": nested(200)}),
    "2 MB": ("metadata", "65,536", {"metadata": {"a": "x" * 2_000_000}}),
    "many keys": ("metadata", "65,536", {"metadata": {f"k{n}": n for n in range(100_000)}}),
    "huge number": ("metadata", "64 bits", {"metadata": {"a": 1 << 70}}),
    "long text": ("text", "10,000", {"text": "x" * 10_001}),
    "container": ("container", "200", {"container": "c" * 201}),
    "scope": ("scope.user", "1,000", {"scope": {"user": "u" * 1_001}}),
    "key": ("key", "2,000", {"key": "k" * 2_001}),
}


@pytest.mark.parametrize(("field", "words", "more"), REFUSED.values(), ids=REFUSED.keys())
def test_r46_what_is_too_long_is_refused_with_the_limit(
    api: Api, field: str, words: str, more: dict[str, Any]
) -> None:
    api.fact("First.")
    before = api.events()
    body = {"container": api.container, "text": "A.", **more}
    error = api.refused(400, "invalid_input", "POST", "/v1/facts", body)
    assert (error["field"] or "").removeprefix("facts[0].").startswith(field), error
    assert words in error["message"], error
    assert api.events() == before


def test_r46_long_keys_and_addresses_are_taken_or_refused(api: Api) -> None:
    api.remember("Under a long key.", key="k" * 2_000)
    too_long = api.send("POST", "/v1/facts", {"text": "A."}, key="k" * 2_001)
    assert error_of(too_long)["field"] == "key" and too_long.status_code == 400
    params = {"source": "s" * 5_000}
    error = api.refused(400, "invalid_input", "GET", "/v1/facts", params=params)
    assert "2,000" in error["message"]


# --- R40

PATHS = [
    "../../etc", "..%2f..%2fetc", "..\\..\\x", "/etc/passwd", "a/../../b", "~root", "CON", ".",
    "..", "a\nb", "-rf", "%00", "$(id)",
]  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_r40_a_name_is_never_a_path(client: httpx.Client, served: Served, name: str) -> None:
    before = beside(served)
    made = client.put(f"/v1/containers/{quote(name, safe='')}", json={})
    if name not in (".", ".."):  # a path of dots is resolved before it is asked for
        assert made.json().get("container") == name, made.text
    api = Api(client, name)
    api.fact("A fact.", id=name, tags=[name], metadata={name: name}, scope={"user": name})
    api.write(
        "POST", "/v1/documents", {"text": "A page.", "id": name, "title": name, "address": name}
    )
    message = {"content": "A word.", "id": name, "name": name}
    api.write("POST", "/v1/messages", {"messages": [message], "conversation": name})
    for door in ("facts", "documents", "messages"):
        (view,) = api.pages(f"/v1/{door}")
        assert view.caller_id == name
    assert api.read("/v1/documents", r.Page, source=name).total == 1
    response = client.get(f"/v1/items/{quote(name, safe='')}", params={"container": name})
    assert response.status_code in (200, 400, 404) and "root:" not in response.text
    assert beside(served) == before


@pytest.mark.parametrize("name", ["x\0y", "x" * 201, "", " \t", "\N{ZERO WIDTH SPACE}"])
def test_r40_a_name_that_is_none_is_refused(api: Api, name: str) -> None:
    body = {"container": name, "text": "A fact."}
    api.refused(400, "invalid_input", "POST", "/v1/facts", body, field="container")
    if name and len(name) < 200:
        api.refused(400, "invalid_input", "GET", "/v1/facts", params={"container": name})
        api.refused(400, "invalid_input", "PUT", f"/v1/containers/{quote(name, safe='')}", {})


@pytest.mark.parametrize(
    "target",
    [
        "/../../etc/passwd", "/docs/../../etc/passwd", "/static/../../etc/passwd",
        "/docs/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc%2fpasswd", "//etc/passwd",
        "/connect/../../../etc/passwd", "/v1/items/..%2f..%2fetc%2fpasswd", "/openapi.json/../x",
        "/.%00/etc/passwd", "file:///etc/passwd", "http://evil.example/v1/facts",
    ],
)  # fmt: skip
def test_r40_an_address_leads_to_no_file(served: Served, target: str) -> None:
    answer = served.raw(
        f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    )
    assert b"root:" not in answer
    assert 400 <= int(answer.split()[1]) < 500, answer[:300]


def beside(served: Served) -> list[str]:
    """Every path in the working folder that is not in the data folder, and the latter's own."""
    found = [
        str(path)
        for path in sorted(served.folder.rglob("*"))
        if not path.is_relative_to(served.data)
    ]
    assert {path.name for path in served.data.iterdir()} <= {"log", "views", "owner.lock", "clock"}
    return [*found, *(str(Path("/etc", name)) for name in sorted(os.listdir("/etc")))]


# --- R47


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of calls that all begin at the same moment."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        start.wait(30)
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def test_r47_parallel_writers_lose_nothing(api: Api) -> None:
    record = api.fact("The record that all write to.")

    def add(number: int) -> httpx.Response:
        return api.send(
            "POST", "/v1/facts", {"container": api.container, "text": f"Added fact {number}."}
        )

    def update(number: int) -> httpx.Response:
        body = {"container": api.container, "add_tags": [f"tag-{number}"]}
        return api.send("PATCH", f"/v1/facts/{record}", body)

    calls = [partial(do, n) for n in range(50) for do in (add, update)]
    replies = at_once(calls)
    added, updated = replies[::2], replies[1::2]
    assert [response.status_code for response in added if not response.is_success] == []
    lost = [n for n, response in enumerate(updated) if response.status_code == 409]
    assert all(response.is_success or response.status_code == 409 for response in updated)
    texts = [view.text for view in api.facts(limit=1000)]
    assert sorted(texts) == sorted(
        ["The record that all write to.", *(f"Added fact {n}." for n in range(50))]
    )
    tags = set(api.read(f"/v1/facts/{record}", r.Shown).item.tags)
    assert tags == {f"tag-{n}" for n in range(50) if n not in lost}
    assert api.gapless()
    assert reply_of(api.send("POST", "/v1/verify", {}), r.Verified).ok
    assert reply_of(api.send("POST", "/v1/rebuild", {}), r.Rebuilt).equal


def test_r47_parallel_wordings_make_one_chain(api: Api) -> None:
    record = api.fact("Version 0 of the record.")

    def reword(number: int) -> httpx.Response:
        body = {"container": api.container, "text": f"Version {number} of the record."}
        return api.send("PATCH", f"/v1/facts/{record}", body)

    replies = at_once([partial(reword, n) for n in range(1, 31)])
    done = [response for response in replies if response.is_success]
    assert {response.status_code for response in replies} <= {200, 201, 409}
    life = api.read(f"/v1/facts/{record}/history", r.Versions)
    assert len(life.versions) == len(done) + 1
    states = [view.standing.state for view in life.versions if view.standing is not None]
    assert states.count("current") == 1
    assert len(api.facts()) == 1


def test_r47_losers_are_told(api: Api) -> None:
    record = api.fact("The count is zero.")
    seen = api.events()[-1].position

    def reword(number: int) -> httpx.Response:
        text = f"The count is {number}."
        body = {"container": api.container, "text": text, "unless_after": seen}
        return api.send("PATCH", f"/v1/facts/{record}", body)

    replies = at_once([partial(reword, n) for n in range(1, 21)])
    assert sum(response.is_success for response in replies) == 1
    losers = [response for response in replies if not response.is_success]
    assert {(response.status_code, error_of(response)["code"]) for response in losers} == {
        (409, "stale")
    }


def test_many_readers_and_writers_get_their_own_answers(api: Api) -> None:
    for number in range(30):
        api.fact(f"The walrus number {number} sleeps.", tags=[f"t{number}"])

    def ask(number: int) -> list[str]:
        return api.found("walrus", filters={"tags": [f"t{number}"]})

    replies = at_once([partial(ask, n) for n in range(30)])
    assert replies == [[f"The walrus number {n} sleeps."] for n in range(30)]


# --- slow clients

HEAD = (
    b"POST /v1/facts HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Content-Length: 100\r\n\r\n"
)


def test_a_client_that_stalls_does_not_hold_up_the_others(api: Api, served: Served) -> None:
    stalled: list[socket.socket] = []
    try:
        for start in (b"", b"POST /v1/fa", HEAD[:-2], HEAD, HEAD + b'{"text": "A hal') * 10:
            opened = served.connect()
            opened.sendall(start)
            stalled.append(opened)
        for number in range(20):
            api.fact(f"Beside the stalled ones, {number}.")
        assert len(api.facts()) == 20
        assert api.send("GET", "/health").status_code == 200
    finally:
        for opened in stalled:
            opened.close()
    api.fact("And after they are gone.")


def test_a_client_that_never_reads_does_not_hold_up_the_others(api: Api, served: Served) -> None:
    text = "The walrus sleeps by the sea, and dreams of fish. " * 20_000
    document = api.write("POST", "/v1/documents", {"text": text}).items[0].id
    head = f"GET /v1/documents/{document}?container={api.container} HTTP/1.1\r\n"
    ask = f"{head}Host: 127.0.0.1\r\n\r\n"
    deaf: list[socket.socket] = []
    try:
        for _ in range(10):
            opened = served.connect()
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            opened.sendall(ask.encode() * 5)
            deaf.append(opened)
        for number in range(20):
            api.fact(f"Beside the deaf ones, {number}.")
        assert len(api.facts()) == 20
    finally:
        for opened in deaf:
            opened.close()


def test_half_a_body_leaves_nothing(api: Api, served: Served) -> None:
    before = reply_of(api.send("GET", "/v1/stats", params={"store": "true"}), r.Figures).events
    for start in (b"", b'{"text": "A half', b'{"text": "A whole one, but short."}'):
        with served.connect() as opened:
            opened.sendall(HEAD + start)
    with served.connect() as opened:
        opened.sendall(HEAD + b'{"text": "A half')
        opened.shutdown(socket.SHUT_WR)
        answer = everything(opened)
    assert not answer or 400 <= int(answer.split()[1]) < 500, answer
    after = reply_of(api.send("GET", "/v1/stats", params={"store": "true"}), r.Figures).events
    assert after == before


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("start", [b"", HEAD[:-2], HEAD, HEAD + b'{"text": "A hal'], ids=repr)
def test_a_client_that_stalls_is_cut_off(served: Served, start: bytes) -> None:
    """Within ten minutes at the outside: the socket's own patience ends the test before."""
    with served.connect() as opened:
        opened.settimeout(600)
        opened.sendall(start)
        answer = everything(opened)
    assert not answer or int(answer.split()[1]) in (400, 408), answer


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_client_that_drips_is_cut_off(served: Served) -> None:
    """One byte now and then is no progress."""
    with served.connect() as opened:
        opened.settimeout(2)
        opened.sendall(HEAD.replace(b"100", b"100000") + b'{"text": "')
        for _ in range(300):
            try:
                opened.sendall(b"a")
                if not opened.recv(1):
                    return
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                return
            return
    pytest.fail("it was never cut off")
