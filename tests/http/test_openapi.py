"""The description: it tells of every route, it hangs together, and real replies are as it says."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from rewound.http import supermemory
from rewound.http.asking import encode
from rewound.http.docs_page import page
from rewound.http.openapi import AROUND, description
from rewound.http.problems import STATUS, Error, Problem, telling_of
from rewound.http.routing import ROUTES, Route
from rewound.memory import requests as q
from rewound.memory.link import Link
from rewound.memory.replies import Explained

API = json.loads(msgspec.json.encode(description()))

BY_NAME = {(route.method, route.path): route for route in ROUTES}


def operations() -> Iterator[tuple[str, str, Any]]:
    for path, methods in API["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def refs(node: Any) -> Iterator[str]:
    """Every reference below a node."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for part in node.values():
            yield from refs(part)
    elif isinstance(node, list):
        for part in node:
            yield from refs(part)


def check(instance: Any, schema: Any) -> None:
    """Raises when the instance is not as a schema of the description says."""
    resource = Resource.from_contents(API, default_specification=DRAFT202012)
    registry: Registry[Any] = Registry().with_resource("urn:api", resource)
    whole = json.loads(json.dumps(schema).replace('"#/', '"urn:api#/'))
    Draft202012Validator(whole, registry=registry).validate(instance)


def answer_schema(method: str, path: str, status: str = "200") -> Any:
    told = API["paths"][path][method.lower()]["responses"][status]
    return told["content"]["application/json"]["schema"]


def test_every_route_is_told_and_no_other() -> None:
    told = {(method, path) for method, path, _ in operations()}
    served = {*BY_NAME, *(("GET", path) for path, _, _ in AROUND)}
    served |= {("POST", each.path) for each in supermemory.DECLARED}
    assert told == served


def test_every_reference_resolves() -> None:
    found = set(refs(API))
    assert len(found) > 50
    for ref in found:
        prefix, name = ref.rsplit("/", 1)
        assert prefix == "#/components/schemas"
        assert name in API["components"]["schemas"], ref


def test_every_schema_is_used_and_is_one() -> None:
    used = {ref.rsplit("/", 1)[1] for ref in refs(API)}
    for name, schema in API["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert name in used, name


def test_operations_have_names_of_their_own_and_a_summary() -> None:
    names = [operation["operationId"] for _, _, operation in operations()]
    assert len(set(names)) == len(names)
    assert all(operation["summary"].endswith(".") for _, _, operation in operations())


def test_the_parts_of_a_path_are_its_parameters() -> None:
    for _, path, operation in operations():
        told = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"]
        assert told == re.findall(r"{(\w+)}", path)


def test_every_write_takes_an_idempotency_key() -> None:
    for route in ROUTES:
        parameters = API["paths"][route.path][route.method.lower()]["parameters"]
        headers = [each["name"] for each in parameters if each["in"] == "header"]
        assert headers == (["Idempotency-Key"] if route.writes else [])


def test_a_path_on_the_server_is_never_asked_for() -> None:
    assert "to" not in BY_NAME[("POST", "/v1/replay")].form.__struct_fields__


@pytest.mark.parametrize("code", STATUS)
def test_an_error_is_as_told(code: str) -> None:
    telling = telling_of(Problem(code, "words", field="text"), "r-1")
    body = json.loads(encode(Error(error=telling.detail)))
    check(body, answer_schema("POST", "/v1/facts", "400"))
    if code in ("damaged", "internal"):
        assert "words" not in body["error"]["message"] and "r-1" in body["error"]["message"]


def test_an_error_nobody_foresaw_tells_nothing_of_itself(
    caplog: pytest.LogCaptureFixture,
) -> None:
    try:
        raise ValueError("the PIN is QUOKKA")
    except ValueError as error:
        telling = telling_of(error, "r-7")
    assert (telling.status, telling.detail.code) == (500, "internal")
    assert "QUOKKA" not in telling.detail.message + caplog.text
    assert "r-7" in caplog.text and "ValueError" in caplog.text
    assert "test_openapi.py" in caplog.text


# --- real replies


class Story:
    """A small store, asked through the routes but without a server."""

    def __init__(self, data: Path) -> None:
        self.link = Link(data)
        self.fact = self.first("POST", "/v1/facts", text="Nina works at Orbit Labs.", tags=["a"])
        self.other = self.first("POST", "/v1/facts", text="Nina likes tea.")
        self.document = self.first("POST", "/v1/documents", text="Omar grows figs.", title="Figs")
        self.message = self.first("POST", "/v1/messages", messages=[{"content": "Hello, Omar."}])

    def ask(self, route: Route, path: dict[str, str], given: dict[str, Any]) -> Any:
        if route.in_body:
            filled = route.reader.body(json.dumps(given).encode())
        else:
            filled = route.reader.query({name: [str(text)] for name, text in given.items()})
        return json.loads(encode(self.link.call(route.asked(filled, path, None))))

    def first(self, method: str, path: str, **given: Any) -> dict[str, Any]:
        item: dict[str, Any] = self.ask(BY_NAME[(method, path)], {}, given)["items"][0]
        return item

    def judged(self) -> dict[str, Any]:
        """A pair that was compared."""
        self.link.call(q.Workers(action="wait"))
        told = self.link.call(q.Why(id=self.other["id"]))
        assert isinstance(told, Explained) and told.verdict is not None
        return {"fact": told.item.id, "old": told.verdict.pairs[0].old}

    def samples(self) -> dict[tuple[str, str], tuple[str, dict[str, Any]]]:
        """Method and path -> the id in the path, and the fields; in an order that works."""
        fact, document, message = self.fact["id"], self.document["id"], self.message["id"]
        query = {"query": "Nina"}
        return {
            ("POST", "/v1/labels"): ("", {**self.judged(), "outcome": "extends"}),
            ("POST", "/v1/facts"): ("", {"text": "Omar has a cat."}),
            ("GET", "/v1/facts"): ("", {"tags": "a"}),
            ("GET", "/v1/facts/{id}"): (fact, {}),
            ("PATCH", "/v1/facts/{id}"): (fact, {"text": "Nina works at Harbor Foods."}),
            ("GET", "/v1/facts/{id}/history"): (fact, {}),
            ("GET", "/v1/facts/{id}/why"): (fact, {}),
            ("DELETE", "/v1/facts/{id}"): (self.other["id"], {}),
            ("POST", "/v1/documents"): ("", {"text": "A text.", "infer": False}),
            ("GET", "/v1/documents"): ("", {}),
            ("GET", "/v1/documents/{id}"): (document, {}),
            ("PATCH", "/v1/documents/{id}"): (document, {"add_tags": ["figs"]}),
            ("DELETE", "/v1/documents/{id}"): (document, {"dry_run": "true"}),
            ("POST", "/v1/messages"): ("", {"messages": [{"content": "Bye."}]}),
            ("GET", "/v1/messages"): ("", {}),
            ("GET", "/v1/messages/{id}"): (message, {}),
            ("PATCH", "/v1/messages/{id}"): (message, {"importance": 0.5}),
            ("DELETE", "/v1/messages/{id}"): (message, {}),
            ("GET", "/v1/passages"): ("", {}),
            ("GET", "/v1/conversations/{id}/recent"): ("default", {"recent_chars": "3"}),
            ("POST", "/v1/search"): ("", query),
            ("GET", "/v1/search"): ("", query),
            ("POST", "/v1/explain"): ("", {**query, "id": fact}),
            ("GET", "/v1/explain"): ("", {**query, "id": message}),
            ("POST", "/v1/context"): ("", query),
            ("POST", "/v1/ask"): ("", query),
            ("GET", "/v1/items/{id}"): (fact, {}),
            ("GET", "/v1/items/{id}/history"): (document, {}),
            ("GET", "/v1/profile"): ("", {"subject": "Nina", "buckets": '{"work": {}}'}),
            ("GET", "/v1/timeline"): ("", {"subject": "Nina"}),
            ("GET", "/v1/graph"): ("", {"entity": "Nina", "depth": "2"}),
            ("GET", "/v1/reviews"): ("", {}),
            ("POST", "/v1/policy/fit"): ("", {"dry_run": True}),
            ("POST", "/v1/rejudge"): ("", {"dry_run": True}),
            ("POST", "/v1/forget"): ("", {"query": "figs", "dry_run": True}),
            ("POST", "/v1/restore"): ("", {"ids": [message]}),
            ("POST", "/v1/events/{id}/forget"): (self.fact["event"], {"dry_run": True}),
            ("POST", "/v1/events/{id}/undo"): (self.fact["event"], {"cascade": True}),
            ("POST", "/v1/undo"): ("", {"id": self.message["event"], "cascade": True}),
            ("POST", "/v1/erase"): ("", {"ids": [self.other["id"]]}),
            ("POST", "/v1/documents/{id}/remove"): (document, {}),
            ("GET", "/v1/events"): ("", {}),
            ("GET", "/v1/diff"): ("", {"start": "@1"}),
            ("POST", "/v1/replay"): ("", {"at": "now"}),
            ("GET", "/v1/jobs"): ("", {}),
            ("GET", "/v1/stats"): ("", {"store": "true"}),
            ("GET", "/v1/containers"): ("", {}),
            ("PUT", "/v1/containers/{name}"): ("nina", {"zone": "Europe/Berlin"}),
            ("POST", "/v1/verify"): ("", {}),
            ("POST", "/v1/seal"): ("", {}),
            ("POST", "/v1/rebuild"): ("", {"views": ["facts"]}),
            ("POST", "/v1/accept-clock"): ("", {}),
            ("POST", "/v1/workers"): ("", {}),
            ("GET", "/v1/nodes"): ("", {}),
            ("POST", "/v1/nodes"): (
                "", {"action": "add", "name": "gpu", "chat": "http://127.0.0.1:9", "slots": 2},
            ),
        }  # fmt: skip


NOT_SHOWN = {("POST", "/v1/jobs/retry"), ("POST", "/v1/reembed")}
"""They want a failed job and an embedder; their replies are of shapes that others show."""


def test_real_replies_are_as_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWOUND_EMBEDDER", "none")
    monkeypatch.setenv("REWOUND_EXTRACTOR", "none")
    monkeypatch.setenv("REWOUND_JUDGE", "rules")
    story = Story(tmp_path / "store")
    samples = story.samples()
    assert set(samples) == set(BY_NAME) - NOT_SHOWN
    try:
        for (method, path), (item, given) in samples.items():
            route = BY_NAME[(method, path)]
            if route.in_body:
                told = API["paths"][path][method.lower()]["requestBody"]["content"]
                check(given, told["application/json"]["schema"])
            reply = story.ask(route, {"id": item, "name": item}, given)
            assert reply["reply"] == route.reply.__name__
            check(reply, answer_schema(method, path))
    finally:
        story.link.close()


def test_a_schema_refuses_what_is_otherwise() -> None:
    """The check above can fail."""
    schema = answer_schema("POST", "/v1/facts")
    with pytest.raises(Exception, match="'container' is a required property"):
        check({"reply": "Written"}, schema)


def test_every_request_of_the_store_has_a_route() -> None:
    asked = {route.request for route in ROUTES}
    known = set(q.Command.__args__) | set(q.Question.__args__) | set(q.StoreRequest.__args__)
    assert known == asked


# --- for people


def test_the_page_names_every_route_and_brings_all_it_needs() -> None:
    text = page().decode()
    for _, path, _ in operations():
        assert f">{path}</span>" in text
    assert "<script" not in text
    assert not re.findall(r'(?:src|href)="(?!#|/openapi\.json)[^"]*"', text)
    anchors = set(re.findall(r'id="([^"]+)"', text))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors
