"""R16: a retry is kept once, whoever still listened the first time."""

import json
import socket
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any, NamedTuple

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api, Served, everything, serving

CLIENTS = 20
TEXT = "My bike is orange.\nIt stands in the yard."
TIME = "2026-03-01T10:00:00Z"


class Route(NamedTuple):
    """A write: what must be there before, the request, and another one under the same key."""

    method: str
    path: str
    body: dict[str, Any]
    other: dict[str, Any]
    params: bool = False
    """The container and the rest stand in the query string."""


ROUTES = {
    "facts": Route("POST", "/v1/facts", {"text": "One."}, {"text": "Two."}),
    "many facts": Route(
        "POST", "/v1/facts", {"facts": [{"text": "One."}]}, {"facts": [{"text": "Two."}]}
    ),
    "documents": Route("POST", "/v1/documents", {"text": "One."}, {"text": "Two."}),
    "messages": Route(
        "POST",
        "/v1/messages",
        {"messages": [{"content": "One."}]},
        {"messages": [{"content": "Two."}]},
    ),
    "update": Route("PATCH", "/v1/facts/{fact}", {"text": "One."}, {"text": "Two."}),
    "tags": Route("PATCH", "/v1/documents/{document}", {"add_tags": ["a"]}, {"add_tags": ["b"]}),
    "delete": Route("DELETE", "/v1/facts/{fact}", {"reason": "a"}, {"reason": "b"}, True),
    "delete document": Route(
        "DELETE", "/v1/documents/{document}", {"reason": "a"}, {"reason": "b"}, True
    ),
    "delete message": Route(
        "DELETE", "/v1/messages/{message}", {"reason": "a"}, {"reason": "b"}, True
    ),
    "remove": Route("POST", "/v1/documents/{document}/remove", {}, {"scope": {"user": "x"}}),
    "forget": Route("POST", "/v1/forget", {"ids": ["{fact}"]}, {"ids": ["{fact}"], "reason": "b"}),
    "erase": Route("POST", "/v1/erase", {"ids": ["{fact}"]}, {"ids": ["{message}"]}),
    "undo": Route("POST", "/v1/undo", {"id": "{event}"}, {"id": "{event}", "cascade": True}),
    "undo event": Route("POST", "/v1/events/{event}/undo", {}, {"cascade": True}),
    "forget event": Route("POST", "/v1/events/{event}/forget", {"reason": "a"}, {"reason": "b"}),
}


@pytest.fixture
def ready(api: Api) -> tuple[Api, dict[str, str]]:
    """A fact, a document and a message, and what each is called."""
    fact = api.remember("The fact that is there.")
    document = api.write("POST", "/v1/documents", {"text": "The page that is there."})
    message = api.write("POST", "/v1/messages", {"messages": [{"content": "The word is there."}]})
    return api, {
        "fact": str(fact.id),
        "event": str(fact.event),
        "document": str(document.items[0].id),
        "message": str(message.items[0].id),
    }


def sent(api: Api, route: Route, body: dict[str, Any], names: dict[str, str], **more: Any) -> Any:
    text = json.dumps({"container": api.container, **body})
    path = route.path
    for name, value in names.items():
        text, path = text.replace(f"{{{name}}}", value), path.replace(f"{{{name}}}", value)
    if route.params:
        return api.send(route.method, path, params=json.loads(text), **more)
    return api.send(route.method, path, json.loads(text), **more)


@pytest.mark.parametrize("route", ROUTES.values(), ids=ROUTES.keys())
def test_every_write_takes_a_key(ready: tuple[Api, dict[str, str]], route: Route) -> None:
    api, names = ready
    first = sent(api, route, route.body, names, key="k-1")
    assert first.is_success, first.text
    happened = api.events()
    again = sent(api, route, route.body, names, key="k-1")
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert api.events() == happened, "a retry is no event"
    other = sent(api, route, route.other, names, key="k-1")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "key_reused"), other.text
    assert api.events() == happened


def test_restoring_and_making_a_container_take_a_key(api: Api) -> None:
    fact = api.fact("A fact to be restored.")
    api.delete(f"/v1/facts/{fact}")
    body = {"ids": [fact]}
    replies = [api.write("POST", "/v1/restore", body, r.Forgot, key="k-r") for _ in range(2)]
    assert replies[0] == replies[1] and len(api.facts()) == 1
    path = f"/v1/containers/{api.container}-new"
    made = [api.send("PUT", path, {"zone": "Asia/Tokyo"}, key="k-c") for _ in range(2)]
    assert made[0].is_success and made[0].json() == made[1].json()
    api.refused(409, "key_reused", "PUT", path, {"zone": "Asia/Seoul"}, key="k-c")


def test_a_key_in_the_body_is_the_same_as_in_the_header(api: Api) -> None:
    body = {"container": api.container, "text": "Once only."}
    first = api.send("POST", "/v1/facts", body, key="k-1").json()
    assert api.send("POST", "/v1/facts", {**body, "key": "k-1"}).json() == first
    assert api.send("POST", "/v1/facts", {**body, "key": "k-1"}, key="k-1").json() == first
    error = api.refused(
        400, "invalid_input", "POST", "/v1/facts", {**body, "key": "k-2"}, key="k-1"
    )
    assert error["field"] == "key"
    assert len(api.events()) == 1 + api.events()[0].type.startswith("container")


def test_a_key_is_of_its_container(api: Api) -> None:
    other = api.within(f"{api.container}-other")
    api.remember("Here.", key="k-1")
    other.remember("There.", key="k-1")
    assert [view.text for view in other.facts()] == ["There."]


def test_a_blank_key_is_no_key(api: Api) -> None:
    """Refused, or as if none had been sent; two different writes are never one."""
    for text in ("One.", "Two."):
        response = api.send("POST", "/v1/facts", {"container": api.container, "text": text}, key="")
        assert response.status_code in (200, 201, 400), response.text
        if response.status_code == 400:
            assert response.json()["error"]["field"] == "key"


def test_a_read_under_a_key_is_only_a_read(api: Api) -> None:
    api.fact("A fact.")
    body = {"container": api.container, "query": "fact"}
    first = api.send("POST", "/v1/search", body, key="k-1")
    api.fact("Another fact.")
    second = api.send("POST", "/v1/search", body, key="k-1")
    assert first.status_code == second.status_code
    if second.is_success:
        assert len(second.json()["hits"]) == 2


# --- many at once


def fact_body(text: str) -> tuple[str, dict[str, Any]]:
    return "/v1/facts", {"text": text, "said_at": TIME}


def document_body(text: str) -> tuple[str, dict[str, Any]]:
    return "/v1/documents", {"text": text, "infer": False}


def message_body(text: str) -> tuple[str, dict[str, Any]]:
    message = {"content": text, "name": "Tom", "time": TIME}
    return "/v1/messages", {"messages": [message], "conversation": "chat", "infer": False}


Form = Callable[[str], tuple[str, dict[str, Any]]]
FORMS = pytest.mark.parametrize("form", [fact_body, document_body, message_body])


def total(api: Api, path: str) -> int:
    return api.read(path, r.Page).total


@FORMS
@pytest.mark.parametrize("key", ["k-1", None])
def test_r16_the_same_from_many_clients_at_once(
    api: Api, served: Served, form: Form, key: str | None
) -> None:
    path, body = form(TEXT)
    start = Barrier(CLIENTS)

    def send(_: int) -> httpx.Response:
        with served.client() as own:
            own.get("/health")
            start.wait(30)
            return Api(own, api.container).send(
                "POST", path, {"container": api.container, **body}, key=key
            )

    with ThreadPoolExecutor(CLIENTS) as threads:
        replies = [response.json() for response in threads.map(send, range(CLIENTS))]
    ids = {reply["items"][0]["id"] for reply in replies}
    assert len(ids) == 1, replies
    statuses = [reply["items"][0]["status"] for reply in replies]
    if key is None:
        assert statuses.count("written") == 1, statuses
    else:
        assert all(reply == replies[0] for reply in replies)
    assert total(api, path) == 1 and total(api, "/v1/facts") == 1
    assert api.gapless()


@FORMS
def test_r16_line_ends_and_trailing_blanks_make_no_twin(api: Api, form: Form) -> None:
    path, body = form(TEXT)
    first = api.write("POST", path, body).items[0]
    _, twin = form(TEXT.replace("\n", "\r\n") + "\r\n\r\n")
    again = api.write("POST", path, twin).items[0]
    assert (again.status, again.id) == ("seen again", first.id)
    assert total(api, path) == 1 and total(api, "/v1/facts") == 1


# --- clients that go


def request_bytes(path: str, body: dict[str, Any], key: str | None) -> bytes:
    content = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    if key is not None:
        head += f"Idempotency-Key: {key}\r\n"
    return f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content


def gone(served: Served, request: bytes, *, abruptly: bool) -> None:
    """Send a whole request and leave without reading a byte of the answer."""
    with served.connect() as opened:
        if abruptly:  # close() then sends a reset
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        opened.sendall(request)


@FORMS
@pytest.mark.parametrize("abruptly", [False, True])
def test_r16_a_client_that_left_finds_its_write_once(
    api: Api, served: Served, form: Form, abruptly: bool
) -> None:
    path, body = form(TEXT)
    body = {"container": api.container, **body}
    for _ in range(5):
        gone(served, request_bytes(path, body, "k-1"), abruptly=abruptly)
    first = api.send("POST", path, body, key="k-1")
    assert first.is_success
    assert first.json()["items"][0]["status"] == "written", "the first of all its tries"
    again = api.send("POST", path, body, key="k-1")
    assert again.json() == first.json()
    assert total(api, path) == 1 and total(api, "/v1/facts") == 1
    assert not [event for event in api.events() if event.type == "seen again"]
    assert api.found("orange bike") != []


def test_r16_a_client_that_left_without_a_key_leaves_no_twin(api: Api, served: Served) -> None:
    body = {"container": api.container, "text": TEXT, "said_at": TIME}
    for number in range(10):
        gone(served, request_bytes("/v1/facts", body, None), abruptly=number % 2 == 0)
    last = api.remember(TEXT, said_at=TIME)
    assert last.status in ("written", "seen again")
    assert [view.id for view in api.facts()] == [last.id]
    assert api.gapless()


def test_r16_leaving_in_the_midst_of_a_large_write_leaves_all_or_nothing(
    api: Api, served: Served
) -> None:
    documents = [
        {"text": f"Page {n} of the walrus book. " * 40, "id": f"page-{n}"} for n in range(300)
    ]
    body = {"container": api.container, "documents": documents, "infer": False}
    whole = request_bytes("/v1/documents", body, "k-large")
    for end in (len(whole) // 2, len(whole) - 1):
        gone(served, whole[:end], abruptly=True)
    api.fact("Meanwhile, a fact.")
    assert total(api, "/v1/documents") == 0, "half a request is none"
    gone(served, whole, abruptly=True)
    replied = api.send("POST", "/v1/documents", body, key="k-large")
    assert replied.is_success
    assert {item["status"] for item in replied.json()["items"]} == {"written"}
    assert total(api, "/v1/documents") == 300
    assert len(api.events()) == len({event.id for event in api.events()})
    assert not [event for event in api.events() if event.type == "seen again"]


def test_requests_sent_at_one_go_are_answered_in_their_order(api: Api, served: Served) -> None:
    bodies = [{"container": api.container, "text": f"Pipelined {n}."} for n in range(10)]
    requests = [request_bytes("/v1/facts", body, f"k-{n}") for n, body in enumerate(bodies)]
    last = requests.pop().replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
    answer = served.raw(b"".join([*requests, last]))
    assert answer.count(b"HTTP/1.1 2") == 10, answer[:500]
    assert sorted(view.text for view in api.facts()) == sorted(body["text"] for body in bodies)


# --- a server that goes


def test_r16_the_answer_under_a_key_outlives_the_server(tmp_path: Path) -> None:
    body = {"text": TEXT, "said_at": TIME}
    with serving(tmp_path) as first, first.client() as client:
        told = Api(client, "s").send("POST", "/v1/facts", {"container": "s", **body}, key="k-1")
        assert told.is_success
    with serving(tmp_path) as second, second.client() as client:
        api = Api(client, "s")
        again = api.send("POST", "/v1/facts", {"container": "s", **body}, key="k-1")
        assert again.json() == told.json()
        assert len(api.facts()) == 1


def test_r16_what_was_answered_outlives_a_kill(tmp_path: Path) -> None:
    with Served(tmp_path) as first, first.client() as client:
        api = Api(client, "s")
        facts = [api.fact(f"Fact {n}.") for n in range(25)]
        first.kill()
    with serving(tmp_path) as second, second.client() as client:
        api = Api(client, "s")
        assert [view.id for view in api.facts()] == facts
        assert api.gapless()


def test_a_server_that_is_asked_to_end_answers_what_it_has(tmp_path: Path) -> None:
    """Requests under way are answered or cut off, and what was answered is kept."""
    kept: list[str] = []
    stopping = Event()
    with Served(tmp_path) as first:
        url = first.url

        def write(number: int) -> list[str]:
            done: list[str] = []
            with httpx.Client(base_url=url, trust_env=False, timeout=30) as own:
                for step in range(200):
                    text = f"Writer {number}, step {step}."
                    try:
                        reply = own.post("/v1/facts", json={"container": "s", "text": text})
                    except httpx.TransportError:
                        return done
                    if not reply.is_success:
                        assert reply.status_code == 503, reply.text
                        return done
                    done.append(text)
                    if number == 0 and step == 20:
                        stopping.set()
            return done

        with ThreadPoolExecutor(4) as threads:
            writers = [threads.submit(write, number) for number in range(4)]
            assert stopping.wait(60)
            assert first.stop() == 0, first.printed
            for writer in writers:
                kept += writer.result()
        assert "Traceback" not in first.printed, first.printed
    with serving(tmp_path) as second, second.client() as client:
        texts = [view.text for view in Api(client, "s").facts(limit=1000)]
    assert len(texts) == len(set(texts)) and set(kept) <= set(texts)


def test_the_answer_is_whole_for_whoever_reads_slowly(api: Api, served: Served) -> None:
    text = "The walrus sleeps by the sea, and dreams of fish. " * 2_000
    document = api.write("POST", "/v1/documents", {"text": text}).items[0].id
    head = f"GET /v1/documents/{document}?container={api.container} HTTP/1.1\r\n"
    with served.connect() as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        opened.sendall(f"{head}Host: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        answer = everything(opened)
    told = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert told["item"]["text"].strip() == text.strip()
