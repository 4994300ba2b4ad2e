"""Bad requests: one form of error for all, which names the field and what would be right."""

import json
import re
from typing import Any

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.bodies import BODIES, EVENT_ID, FACT_ID, LISTS, Body, Wrong, wrong_types
from tests.http.serving import Api, Served, error_of, reply_of

WRONG = list(wrong_types())


def names(field: str | None) -> list[str]:
    """The words of a field's place: `facts[0].text` is facts and text."""
    return [part for part in re.split(r"[.\[\]\d]+", field or "") if part]


@pytest.mark.parametrize(
    "body", BODIES, ids=lambda body: f"{body.method} {body.path} {body.inside}".strip()
)
def test_a_wrong_type_is_refused_by_the_fields_name(api: Api, body: Body) -> None:
    wrongs = [wrong for wrong in WRONG if wrong.body is body]
    assert wrongs or not body.struct.__struct_fields__
    failures = [said for wrong in wrongs if (said := told_wrong(api, wrong))]
    assert not failures, "\n".join(failures)


def told_wrong(api: Api, wrong: Wrong) -> str:
    """What is amiss with the answer to a wrong body; empty when it is as it should be."""
    sent = {"container": api.container} | wrong.sent
    if "container" in wrong.body.leaves_out:
        sent.pop("container")
    response = api.client.request(wrong.body.method, wrong.body.path, json=sent)
    if response.status_code != 400:
        return f"{wrong}: {response.status_code} {response.text[:200]}"
    error = error_of(response)
    last = names(wrong.field)[-1]
    if last not in names(error["field"]):
        return f"{wrong}: names {error['field']!r}: {error['message']}"
    if last not in error["message"]:
        return f"{wrong}: the message does not name it: {error['message']}"
    return ""


@pytest.mark.parametrize(
    "body", BODIES, ids=lambda body: f"{body.method} {body.path} {body.inside}".strip()
)
def test_an_unknown_field_is_refused_by_its_name(api: Api, body: Body) -> None:
    inner = {**body.right, "spce": "A"}
    sent: dict[str, Any] = inner
    if body.inside in LISTS:
        sent = {body.inside: [inner]}
    elif body.inside:
        sent = {"query": "a", body.inside: inner}
    error = api.refused(400, "invalid_input", body.method, body.path, sent)
    assert "spce" in names(error["field"]) and "spce" in error["message"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/messages", "messages"), ("/v1/search", "query"), ("/v1/context", "query"),
        ("/v1/restore", "ids"), ("/v1/erase", "ids"), ("/v1/undo", "id"), ("/v1/replay", "at"),
    ],
)  # fmt: skip
def test_a_missing_field_is_named(api: Api, path: str, field: str) -> None:
    api.refused(400, "invalid_input", "POST", path, {}, field=field)
    error = api.refused(400, "invalid_input", "POST", path)
    assert error["field"] == field or "empty" in error["message"], error


@pytest.mark.parametrize("path", ["/v1/facts", "/v1/documents"])
def test_a_body_without_anything_to_keep_says_what_it_wants(api: Api, path: str) -> None:
    for content in (b"", b"{}"):
        error = api.refused(400, "invalid_input", "POST", path, content=content)
        assert "text" in error["message"] or path.rpartition("/")[2] in error["message"]


def test_a_nested_field_is_named_with_its_place(api: Api) -> None:
    body = {"container": api.container, "query": "a", "filters": {"tags": ["a", 5]}}
    error = api.refused(400, "invalid_input", "POST", "/v1/search", body)
    assert error["field"] == "filters.tags[1]"
    body = {"container": api.container, "query": "a", "scope": {"usr": "x"}}
    error = api.refused(400, "invalid_input", "POST", "/v1/search", body)
    assert error["field"] == "scope.usr"
    sent = {"container": api.container, "messages": [{"content": "A.", "role": "boss"}]}
    error = api.refused(400, "invalid_input", "POST", "/v1/messages", sent)
    assert names(error["field"])[-1] == "role" and "assistant" in error["message"]


# --- R32


def test_r32_a_string_that_holds_an_array_is_the_array(api: Api) -> None:
    fact = api.fact("Omar likes tea.", tags='["a", "b"]')
    assert api.read(f"/v1/facts/{fact}", r.Shown).item.tags == ("a", "b")
    written = api.write("POST", "/v1/facts", {"facts": '[{"text": "In a string."}]'})
    assert [item.status for item in written.items] == ["written"]
    api.write("POST", "/v1/messages", {"messages": '[{"content": "Hi.", "tags": "[\\"x\\"]"}]'})
    assert api.read("/v1/messages", r.Page, tags="x").total == 1
    found = api.ask("/v1/search", r.Found, query="tea", limit="5", filters={"tags": '["a"]'})
    assert [hit.id for hit in found.hits] == [fact]
    api.write("PATCH", f"/v1/facts/{fact}", {"add_tags": '["c"]', "remove_tags": "[]"})
    assert api.read("/v1/facts", r.Page, tags="a,b,c").total == 1
    assert api.read("/v1/facts", r.Page, tags='["a","c"]').total == 1
    dry = api.write("POST", "/v1/forget", {"ids": json.dumps([fact]), "dry_run": True}, r.Forgot)
    assert dry.count == 1
    assert all("[" not in tag for view in api.facts() for tag in view.tags)


def test_r32_a_string_that_holds_a_number_is_the_number(api: Api) -> None:
    for number in range(7):
        api.fact(f"The walrus number {number} sleeps.")
    assert len(api.found("walrus", limit="5")) == 5
    packed = api.ask("/v1/context", r.Packed, query="walrus", budget="100", at_least="3")
    assert packed.budget == 100


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("limit", 0.15), ("limit", "0.15"), ("limit", "1e1"), ("limit", "five"), ("limit", ""),
        ("limit", "5 "), ("limit", None), ("limit", "٣"), ("limit", 1e400), ("limit", 10**30),
        ("limit", "9" * 5_000), ("limit", 0), ("limit", -1), ("limit", 1_001), ("as_of", ""),
        ("as_of", 5), ("valid_at", ""), ("valid_at", "yesterday-ish"), ("at_least", "-1"),
        ("query", 5), ("query", None), ("query", ["a"]), ("include_forgotten", "yes"),
        ("include_superseded", 1), ("filters", "{}x"), ("filters", []), ("scope", "nina"),
    ],
)  # fmt: skip
def test_r32_anything_else_is_refused_by_name(api: Api, field: str, value: Any) -> None:
    api.fact("A fact.")
    body = {"container": api.container, "query": "fact", field: value}
    content = json.dumps(body).replace("Infinity", "1e400").encode()
    response = api.send("POST", "/v1/search", content=content)
    if (field, value) == ("limit", "5 ") and response.is_success:
        return  # blanks around a number may be read past
    error = error_of(response)
    assert response.status_code == 400, error
    if value == 1e400:
        return  # no number of JSON's: the body is refused where it stands
    assert names(error["field"])[-1:] == [field], error


@pytest.mark.parametrize("tags", ["a,b", None, {"a": True}, '["a"', '"a"', "null", "5", '[["a"]]'])
def test_r32_tags_of_another_form_are_refused(api: Api, tags: Any) -> None:
    body = {"container": api.container, "text": "A fact.", "tags": tags}
    error = api.refused(400, "invalid_input", "POST", "/v1/facts", body)
    assert names(error["field"])[-1] == "tags"
    assert "list" in error["message"] or tags == '[["a"]]', error
    api.refused(404, "not_found", "GET", "/v1/facts", params={"container": api.container})


def test_r32_an_optional_field_may_be_null(api: Api) -> None:
    api.fact("A fact.", id=None, subject=None, said_at=None)
    found = api.ask("/v1/search", r.Found, query="fact", as_of=None, valid_at=None, at_least=None)
    assert len(found.hits) == 1


# --- what is no JSON, and R29


@pytest.mark.parametrize(
    ("content", "position"),
    [
        (b'{"text": "A."', None),
        (b'{"text": }', "9"),
        (b'{"text": "A.",}', "14"),
        (b"text=A", "3"),
        (b"{'text': 'A.'}", "1"),
        (b'{"text": "A."} x', "15"),
        (b'{"text": "A.", "metadata": {"a": NaN}}', "33"),
        (b"\x00", "0"),
    ],
)
def test_malformed_json_is_refused_with_the_position(
    api: Api, content: bytes, position: str | None
) -> None:
    error = api.refused(400, "invalid_input", "POST", "/v1/facts", content=content)
    assert "JSON" in error["message"], error
    assert re.search(r"\d", error["message"]) or "end" in error["message"], error
    if position is not None:
        told = [int(number) for number in re.findall(r"\d+", error["message"])]
        assert any(abs(number - int(position)) <= 1 for number in told), error


@pytest.mark.parametrize("content", [b"[]", b'"text"', b"5", b"null", b"true", b'[{"text": "A."}]'])
def test_a_body_that_is_no_object_is_refused(api: Api, content: bytes) -> None:
    for path in ("/v1/facts", "/v1/search", "/v1/undo"):
        error = api.refused(400, "invalid_input", "POST", path, content=content)
        assert "object" in error["message"]


def test_a_body_nested_without_end_is_refused(api: Api) -> None:
    for deep in (b"[" * 100_000, b'{"a":' * 100_000, b"[" * 5_000 + b"]" * 5_000):
        for start in (b"", b'{"text": "A.", "metadata": {"a": '):
            api.refused(400, "invalid_input", "POST", "/v1/facts", content=start + deep)
    api.fact("Still there.")


RAW = {
    "half": rb"half \ud83d emoji",
    "low half": rb"\udc00",
    "halves the wrong way": rb"\ude00\ud83d",
    "zero": rb"nul \u0000 byte",
    "byte FF": b"raw \xff byte",
    "surrogate in UTF-8": b"\xed\xa0\xbd",
    "overlong": b"\xc0\xaf",
    "cut UTF-8": b"\xe2\x82",
    "bare control": b"a\x01b",
}
PLACES = {
    "text": b'{"container": "%c", "text": "%s"}',
    "tag": b'{"container": "%c", "text": "A.", "tags": ["%s"]}',
    "id": b'{"container": "%c", "text": "A.", "id": "%s"}',
    "metadata": b'{"container": "%c", "text": "A.", "metadata": {"a": [{"b": "%s"}]}}',
    "metadata key": b'{"container": "%c", "text": "A.", "metadata": {"%s": 1}}',
    "user": b'{"container": "%c", "text": "A.", "scope": {"user": "%s"}}',
    "container": b'{"container": "%s", "text": "A."}',
    "field": b'{"container": "%c", "text": "A.", "%s": 1}',
    "key": b'{"container": "%c", "text": "A.", "key": "%s"}',
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
def test_r29_half_characters_zeros_and_raw_bytes(api: Api, raw: bytes) -> None:
    first = api.fact("The normal text.")
    for place, form in PLACES.items():
        content = form.replace(b"%c", api.container.encode()).replace(b"%s", raw)
        kept(api.send("POST", "/v1/facts", content=content), place)
        search = content.replace(b'"text": "A."', b'"query": "a"').replace(b'"text"', b'"query"')
        kept(api.send("POST", "/v1/search", content=search), place)
    update = b'{"container": "%c", "text": "%s"}'.replace(b"%c", api.container.encode())
    kept(api.send("PATCH", f"/v1/facts/{first}", content=update.replace(b"%s", raw)), "update")
    api.fact("A later text.")
    json.dumps([view.text for view in api.facts()]).encode()
    assert "A later text." in api.found("later")
    assert reply_of(api.send("POST", "/v1/rebuild", {}), r.Rebuilt).equal
    assert reply_of(api.send("POST", "/v1/verify", {}), r.Verified).ok


def kept(response: httpx.Response, place: str) -> None:
    """Taken with another character in its place, or refused: never a failure of ours."""
    response.content.decode()
    if not response.is_success:
        assert response.status_code == 400, (place, response.text[:300])
        assert error_of(response)["code"] in ("invalid_input", "wrong_kind"), place


@pytest.mark.parametrize(
    "target",
    [
        "/v1/search?query=%FF", "/v1/search?query=%00", "/v1/search?query=%ED%A0%BD",
        "/v1/facts?container=%FF", "/v1/facts?tags=%00", "/v1/facts?metadata=%FF",
        "/v1/facts?%FF=1", "/v1/facts/%FF", "/v1/facts/%00", "/v1/items/%ED%A0%BD/history", 
        "/v1/facts?user=%C0%AF",
        "/v1/facts/%E2%80%A8", "/v1/facts?cursor=%00", "/v1/events?about=%FF", "/%FF", "/v1/%00",
    ],
)  # fmt: skip
def test_r29_raw_bytes_in_an_address(api: Api, served: Served, target: str) -> None:
    api.fact("A fact.")
    for method in ("GET", "POST" if "?" in target else "DELETE"):
        head = f"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        answer = served.raw(f"{head}Content-Length: 0\r\n\r\n".encode())
        status = int(answer.split()[1])
        assert status < 500, answer[:500]
        answer.partition(b"\r\n\r\n")[2].decode()


@pytest.mark.parametrize("name", ["Idempotency-Key", "X-Request-Id", "X-Api-Key", "Origin"])
def test_r29_raw_bytes_in_a_header(api: Api, served: Served, name: str) -> None:
    body = json.dumps({"container": api.container, "text": "A fact."})
    for raw in (b"\xff\xfe", b"\xc3\xbc", b"\xed\xa0\xbd", b"a\tb", b'"<>'):
        head = f"POST /v1/facts HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{name}: "
        length = f"\r\nContent-Length: {len(body)}\r\n\r\n"
        answer = served.raw(head.encode() + raw + length.encode() + body.encode())
        assert int(answer.split()[1]) < 500, answer[:500]
        head_back, _, told = answer.partition(b"\r\n\r\n")
        json.loads(told)
        assert b"\xff" not in head_back


def test_r29_odd_but_whole_characters_are_kept_as_they_are(api: Api) -> None:
    for number, odd in enumerate(
        ("odd \ufffe \u202e \u2028 \u0085 \ufeff end", "e\u0301 \U0010ffff")
    ):
        fact = api.fact(odd, id=odd, tags=[odd], metadata={odd: odd}, scope={"user": odd})
        shown = api.read(f"/v1/facts/{fact}", r.Shown).item
        assert (shown.text, shown.caller_id, shown.tags) == (odd, odd, (odd,)), number
        assert shown.metadata == {odd: odd} and shown.scope == {"user": odd}
        assert api.read("/v1/facts", r.Page, user=odd).total == 1
        assert api.read("/v1/facts", r.Page, tags=json.dumps([odd])).total == 1
        api.ask("/v1/search", r.Found, query=odd)


# --- paths, methods, ids


@pytest.mark.parametrize(
    "path",
    [
        "/v1", "/v1/", "/v1/nothing", "/v2/facts", "/v1/facts/a/b/c", "/V1/facts", "/v1//facts",
        "/v1/facts/", "/static/../../etc/passwd", "/v1/events/x", "/favicon.ico",
        "/v1/facts/%2e%2e/%2e%2e/etc", "/.git/config",
    ],
)  # fmt: skip
def test_a_path_that_is_none_is_a_404_of_the_same_form(api: Api, path: str) -> None:
    error = error_of(api.send("GET", path))
    assert error["code"] in ("not_found", "method_not_allowed", "invalid_input", "wrong_kind")
    assert api.send("GET", path).status_code in (400, 404, 405)
    if path == "/v1/nothing":
        assert error["code"] == "not_found" and "/v1/nothing" in error["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/facts", {"GET", "POST"}),
        ("DELETE", "/v1/facts", {"GET", "POST"}),
        ("PATCH", "/v1/documents", {"GET", "POST"}),
        ("POST", f"/v1/facts/{FACT_ID}", {"GET", "PATCH", "DELETE"}),
        ("GET", "/v1/context", {"POST"}),
        ("GET", "/v1/forget", {"POST"}),
        ("DELETE", "/v1/events", {"GET"}),
        ("GET", f"/v1/events/{EVENT_ID}/undo", {"POST"}),
        ("POST", "/v1/stats", {"GET"}),
        ("DELETE", "/v1/containers/home", {"PUT"}),
        ("POST", "/health", {"GET"}),
        ("PROPFIND", "/v1/facts", {"GET", "POST"}),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(
    api: Api, method: str, path: str, allowed: set[str]
) -> None:
    response = api.send(method, path)
    error = error_of(response)
    assert (response.status_code, error["code"]) == (405, "method_not_allowed")
    told = {name.strip() for name in response.headers["allow"].split(",")}
    assert allowed <= told <= allowed | {"HEAD", "OPTIONS"}


NO_HTTP = {
    "method": b"FROB /v1/facts HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "version": b"GET /v1/facts HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
    "line": b"complete nonsense\r\n\r\n",
    "header": b"GET /v1/facts HTTP/1.1\r\nHost: 127.0.0.1\r\nno colon\r\n\r\n",
    "length": b"POST /v1/facts HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
    "zero": b"GET /v1/facts HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: \0\r\n\r\n",
    "chunk": b"POST /v1/facts HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "long header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n",
    "long address": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


@pytest.mark.parametrize("request_", NO_HTTP.values(), ids=NO_HTTP.keys())
def test_what_is_no_http_is_refused_in_the_same_form(
    api: Api, served: Served, request_: bytes
) -> None:
    answer = served.raw(request_)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert 400 <= int(head.split()[1]) < 500, answer[:500]
    assert b"application/json; charset=utf-8" in head and b"nosniff" in head, answer[:500]
    assert set(json.loads(body)["error"]) == {"code", "message", "field", "ids"}
    api.fact("Still there.")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/facts/nonsense"),
        ("GET", "/v1/items/fact_short"),
        ("GET", "/v1/facts/" + "x" * 3_000),
        ("PATCH", "/v1/facts/nonsense"),
        ("DELETE", "/v1/facts/nonsense"),
        ("POST", "/v1/events/nonsense/undo"),
        ("POST", "/v1/events/nonsense/forget"),
        ("POST", f"/v1/events/{FACT_ID}/undo"),
    ],
)
def test_an_id_that_is_none_is_refused(api: Api, method: str, path: str) -> None:
    api.fact("A fact.")
    where = {"container": api.container}
    if method in ("GET", "DELETE"):
        response = api.send(method, path, params=where)
    else:
        body = {**where, "text": "B."} if method == "PATCH" else where
        response = api.send(method, path, body)
    error = error_of(response)
    assert response.status_code in (400, 404), error
    assert error["field"] in ("id", "ids"), error


def test_a_missing_item_is_named_in_the_error(api: Api) -> None:
    api.fact("A fact.")
    where = {"container": api.container}
    error = api.refused(404, "not_found", "GET", f"/v1/facts/{FACT_ID}", params=where)
    assert error["ids"] == [FACT_ID] and FACT_ID in error["message"]
    error = api.refused(404, "not_found", "POST", f"/v1/events/{EVENT_ID}/undo", where)
    assert error["ids"] == [EVENT_ID]


def test_a_container_that_is_not_there_is_told(api: Api) -> None:
    where = {"container": api.container}
    for path in ("/v1/facts", "/v1/events", "/v1/jobs", "/v1/stats"):
        error = api.refused(404, "not_found", "GET", path, params=where)
        assert error["field"] == "container", error
    body = {**where, "query": "a"}
    error = api.refused(404, "not_found", "POST", "/v1/search", body)
    assert error["field"] == "container"


# --- R20


BAD: list[dict[str, Any]] = [
    {}, {"ids": []}, {"filters": {}}, {"filters": None}, {"filters": {"tags": []}},
    {"filters": {"what": [], "kinds": [], "tags": []}}, {"filters": {"metadata": {}}},
    {"filters": {"scope": {}}}, {"filters": {"scope": {"user": None}}}, {"filters": {"spce": "A"}},
    {"filters": {"space": ""}}, {"filters": {"space": None}}, {"spce": "A"}, {"query": "  "},
    {"query": ""}, {"ids": [""]}, {"ids": ["*"]}, {"filters": {"tags": [""]}}, {"ids": "*"},
    {"filters": {"source": ""}}, {"filters": {"tags": ["drinks"]}, "container": ""},
    {"filters": {"tags": ["drinks"]}, "container": None}, {"filters": "drinks"}, {"scope": {}},
    {"filters": {"tags": ["nobody"]}}, {"filters": {"tags": ["drink"]}}, {"filters": "{}"},
    {"filters": {"scope": {"user": "nobody"}}}, {"tags": ["drinks"]}, {"filters": [{}]},
]  # fmt: skip


def test_r20_nothing_named_never_means_everything(api: Api) -> None:
    other = api.within(f"{api.container}-b")
    for here in (api, other):
        here.fact("Omar likes tea.", tags=["drinks"])
        here.write("POST", "/v1/documents", {"text": "A page."})
    before = everything(api), everything(other)
    for bad in BAD:
        response = api.send("POST", "/v1/forget", {"container": api.container, **bad})
        error = error_of(response)
        assert response.status_code in (400, 404), bad
        assert response.status_code == 400 or "nobody" in str(bad) or "drink'" in str(bad), bad
        assert error["field"], (bad, error)
        assert (everything(api), everything(other)) == before, bad


def test_r20_a_bulk_forget_empties_one_container(api: Api) -> None:
    other = api.within(f"{api.container}-b")
    for here in (api, other):
        here.fact("Omar likes tea.", tags=["drinks"])
        here.write("POST", "/v1/documents", {"text": "A page of the book."})
        here.write("POST", "/v1/messages", {"messages": [{"content": "Hello."}]})
    untouched = everything(other)
    shown = {view.id for path in SENT for view in api.pages(f"/v1/{path}")}
    filters = {"what": ["fact", "document", "message"]}
    forgot = api.write("POST", "/v1/forget", {"filters": filters}, r.Forgot)
    assert forgot.count == len(forgot.items)
    assert {hidden.id for hidden in forgot.items} == shown
    assert not [view for path in SENT for view in api.pages(f"/v1/{path}")]
    assert everything(other) == untouched


SENT = ("facts", "documents", "messages")


def everything(api: Api) -> list[bytes]:
    """All that can be read of a container, byte for byte."""
    where = {"container": api.container, "limit": "1000"}
    paths = [*(f"/v1/{path}" for path in (*SENT, "passages", "events")), "/v1/jobs"]
    return [api.send("GET", path, params=where).content for path in paths]
