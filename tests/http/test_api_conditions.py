"""Trees of conditions through REST: in bodies and query strings, and the same as the library's."""

import json
from typing import Any

import pytest

from rewound.memory import replies as r
from rewound.memory.library import Memory
from tests.http.serving import Api, Served, error_of

Json = Any
CHEAP = {"field": "metadata.price", "op": "lt", "value": 20}
RED = {"field": "tag", "op": "eq", "value": "red"}


@pytest.fixture
def filled(api: Api) -> Api:
    api.fact("A red desk.", tags=["red"], metadata={"price": 200, "room": {"floor": 2}})
    api.fact("A red lamp.", tags=["red", "Small"], metadata={"price": 15.5, "seen": ["Ann", "Bob"]})
    api.fact("A blue lamp.", metadata={"price": "15", "at": "2026-03-01T10:00:00Z"})
    api.write("POST", "/v1/documents", {"text": "A page about a lamp.", "metadata": {"price": 1}})
    api.write(
        "POST",
        "/v1/messages",
        {"messages": [{"content": "The lamp is on.", "name": "Nina"}], "infer": False},
    )
    return api


TREES: list[tuple[Json, set[str]]] = [
    (RED, {"A red desk.", "A red lamp."}),
    ({"not": RED}, {"A blue lamp.", "The lamp is on."}),
    (CHEAP, {"A red lamp."}),
    ({"and": [RED, {"not": CHEAP}]}, {"A red desk."}),
    (
        {"field": "metadata.price", "op": "in", "value": [200.0, "15"]},
        {"A red desk.", "A blue lamp."},
    ),
    ({"field": "metadata.room.floor", "op": "gte", "value": 2}, {"A red desk."}),
    ({"field": "metadata.seen", "op": "array_contains", "value": "Ann"}, {"A red lamp."}),
    ({"field": "metadata.at", "op": "lt", "value": "2026-03-01T11:30:00+01:00"}, {"A blue lamp."}),
    ({"field": "tag", "op": "contains", "value": "MAL", "ignore_case": True}, {"A red lamp."}),
    ({"field": "speaker", "op": "eq", "value": "nina"}, {"The lamp is on."}),
    ({"field": "metadata.price", "op": "exists", "value": False}, {"The lamp is on."}),
    ({"or": [{"field": "kind", "op": "eq", "value": "procedure"}, CHEAP]}, {"A red lamp."}),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "texts"), TREES, ids=range(len(TREES)))
def test_every_read_is_narrowed_alike(filled: Api, tree: Json, texts: set[str]) -> None:
    where = json.dumps(tree)
    assert {item.text for item in filled.read("/v1/facts", r.Page, where=where).items} == texts
    body = {"query": "lamp desk", "filters": {"what": ["fact"], "where": tree}}
    found = filled.ask("/v1/search", r.Found, **body)
    assert {hit.text for hit in found.hits} <= texts
    assert found.filters["where"] == tree
    packed = filled.ask("/v1/context", r.Packed, **body)
    assert {line.id for line in packed.lines} <= {hit.id for hit in found.hits}
    asked = filled.read("/v1/search", r.Found, query="lamp desk", what="fact", where=where)
    assert asked.hits == found.hits


def test_it_holds_beside_the_other_filters(filled: Api) -> None:
    filters = {"tags": ["Small"], "where": RED}
    found = filled.write("POST", "/v1/search", {"query": "lamp", "filters": filters}, r.Found)
    assert [hit.text for hit in found.hits] == ["A red lamp."]
    cheap = json.dumps(CHEAP)
    assert len(filled.read("/v1/documents", r.Page, where=cheap).items) == 1
    assert len(filled.read("/v1/passages", r.Page, where=cheap).items) == 1
    assert len(filled.read("/v1/messages", r.Page, where=cheap).items) == 0


def test_the_past_is_narrowed_as_it_was(filled: Api) -> None:
    page = filled.read("/v1/facts", r.Page, where=json.dumps(CHEAP))
    then, lamp = page.moment.position, page.items[0].id
    body = {"text": "A red lamp, sold.", "metadata": {"price": 30}}
    filled.write("PATCH", f"/v1/facts/{lamp}", body)
    assert filled.read("/v1/facts", r.Page, where=json.dumps(CHEAP)).items == ()
    past = filled.read("/v1/facts", r.Page, where=json.dumps(CHEAP), as_of=f"@{then}")
    assert [item.text for item in past.items] == ["A red lamp."]


BAD: list[tuple[Json, str]] = [
    ({}, "filters.where"),
    ({"and": []}, "filters.where.and"),
    ({"and": [RED, {"field": "tags", "op": "eq", "value": "a"}]}, "filters.where.and[1].field"),
    ({"and": [RED, {"not": {"field": "tag", "op": "like"}}]}, "filters.where.and[1].not.op"),
    ({"or": [{"field": "tag", "op": "eq"}]}, "filters.where.or[0].value"),
    ({"or": [{"fields": "tag"}]}, "filters.where.or[0].fields"),
    ({"field": "metadata.n", "op": "gt", "value": {"a": 1}}, "filters.where.value"),
    ({"$or": [RED]}, "filters.where.$or"),
    ([], "filters.where"),
    ("red", "filters.where"),
]


@pytest.mark.parametrize(("tree", "field"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_named(filled: Api, tree: Json, field: str) -> None:
    body = {"container": filled.container, "query": "lamp", "filters": {"where": tree}}
    for path in ("/v1/search", "/v1/context"):
        error = filled.refused(400, "invalid_input", "POST", path, body, field=field)
        assert "Traceback" not in error["message"] and "msgspec" not in error["message"]
    body = {"container": filled.container, "filters": {"where": tree}}
    filled.refused(400, "invalid_input", "POST", "/v1/forget", body, field=field)
    assert len(filled.read("/v1/facts", r.Page).items) == 4


@pytest.mark.parametrize("levels", [11, 200, 400, 2_000, 200_000])
def test_a_tree_that_is_too_deep_is_refused(filled: Api, levels: int) -> None:
    deep = '{"not":' * levels + json.dumps(RED) + "}" * levels
    body = f'{{"container": "{filled.container}", "query": "a", "filters": {{"where": {deep}}}}}'
    response = filled.send("POST", "/v1/search", content=body.encode())
    assert response.status_code == 400 and "deep" in error_of(response)["message"]
    if levels < 1_000:
        params = {"container": filled.container, "where": deep}
        response = filled.send("GET", "/v1/facts", params=params)
        assert response.status_code == 400 and "deep" in error_of(response)["message"]


def test_forgetting_goes_by_what_it_says(filled: Api) -> None:
    body = {"container": filled.container, "filters": {"where": {"not": {**RED, "value": "rde"}}}}
    filled.refused(400, "invalid_input", "POST", "/v1/forget", body, field="filters.where")
    forgot = filled.write("POST", "/v1/forget", {"filters": {"where": CHEAP}}, r.Forgot)
    assert forgot.count == len(forgot.items) >= 1
    left = {item.text for item in filled.read("/v1/facts", r.Page).items}
    assert left == {"A red desk.", "A blue lamp.", "The lamp is on."}


def test_a_read_of_a_scope_stays_in_it(api: Api) -> None:
    api.fact("Ann's.", tags=["red"], scope={"user": "ann"})
    api.fact("Bob's.", tags=["red"], scope={"user": "bob"})
    for tree in (RED, {"or": [RED, {"not": RED}]}):
        page = api.read("/v1/facts", r.Page, user="ann", where=json.dumps(tree))
        assert [item.text for item in page.items] == ["Ann's."]


def test_the_library_finds_the_same_through_the_socket(
    filled: Api, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(served.runtime))
    with Memory(served.data, filled.container) as memory:
        for tree, texts in TREES:
            assert {item.text for item in memory.list(where=tree).items} == texts


def test_openapi_describes_the_tree(served: Served) -> None:
    with served.client() as client:
        described = client.get("/openapi.json").json()
    where = described["components"]["schemas"]["Where"]
    assert set(where["properties"]) == {"and", "or", "not", "field", "op", "value", "ignore_case"}
    assert where["additionalProperties"] is False
    parameters = described["paths"]["/v1/facts"]["get"]["parameters"]
    (parameter,) = (each for each in parameters if each["name"] == "where")
    assert "#/components/schemas/Where" in json.dumps(parameter["content"]["application/json"])
