"""Why something came back and why not, over HTTP: in a body, in a query string, within a scope."""

from typing import Any

import pytest

from rewound.memory import replies as r
from tests.http.serving import Api

QUERY = "where does Nina work"


@pytest.fixture
def filled(api: Api) -> Api:
    api.fact("Nina works at Orbit Labs.", tags=["work"])
    api.fact("Nina likes tea.")
    return api


def explained(api: Api, item: str, **more: Any) -> r.Traced:
    """The same by both methods."""
    asked = api.ask("/v1/explain", r.Traced, query=QUERY, id=item, **more)
    if "filters" not in more:
        assert api.read("/v1/explain", r.Traced, query=QUERY, id=item, **more) == asked
    return asked


def test_a_search_explains_itself_when_it_is_asked_to(filled: Api) -> None:
    plain = filled.ask("/v1/search", r.Found, query=QUERY)
    found = filled.ask("/v1/search", r.Found, query=QUERY, explain=True)
    assert filled.read("/v1/search", r.Found, query=QUERY, explain="true") == found
    assert [hit.id for hit in found.hits] == [hit.id for hit in plain.hits]
    assert plain.ranking is None and found.ranking is not None
    assert found.ranking.words_alone and found.ranking.entries == 2
    for place, hit in enumerate(found.hits, 1):
        assert hit.explanation is not None and hit.explanation.place == place
        assert hit.explanation.probability == hit.score and hit.explanation.features


def test_what_became_of_an_item(filled: Api) -> None:
    first, second = filled.read("/v1/search", r.Found, query=QUERY).hits
    told = explained(filled, first.id)
    assert told.fate.found and told.fate.place == 1 and told.explanation is not None
    told = explained(filled, second.id, limit=1)
    assert (told.fate.reason, told.fate.place) == ("beyond_limit", 2)
    told = explained(filled, second.id, filters={"tags": ["work"]})
    assert (told.fate.reason, told.fate.condition) == ("filtered", "filters.tags")
    assert told.filters["tags"] == ["work"]
    assert filled.read("/v1/explain", r.Traced, query=QUERY, id=second.id, tags="work") == told
    filled.delete(f"/v1/facts/{second.id}")
    told = explained(filled, second.id)
    assert told.fate.reason == "forgotten" and (told.fate.by or "").startswith("ev_")


def test_an_id_outside_of_the_scope_is_like_none_at_all(filled: Api) -> None:
    item = filled.fact("Bob says that Nina works at night.", scope={"user": "bob"})
    absent = item[:-4] + "0000"
    for scope in ({}, {"user": "ann"}):
        unknown = explained(filled, absent, scope=scope, filters={})
        assert unknown.fate.reason == "unknown" and unknown.ranking is None
        told = explained(filled, item, scope=scope, filters={})
        if scope:
            assert told.fate.told == unknown.fate.told and told.fate.reason == "unknown"
            assert (told.ranking, told.explanation, told.parts) == (None, None, ())
        else:
            assert told.fate.found
    assert explained(filled, item, filters={}, scope={"user": "bob"}).fate.found


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"query": QUERY}, "invalid_input", "id"),
        ({"id": "fact_1"}, "invalid_input", "query"),
        ({"query": QUERY, "id": "no id"}, "invalid_input", "id"),
        ({"query": QUERY, "id": "ev_01jdzy3m8q3v2k7x4w5e6t7y8z"}, "wrong_kind", "id"),
        ({"query": QUERY, "id": "fact_1", "limit": 0}, "invalid_input", "limit"),
        ({"query": QUERY, "id": "fact_1", "word": 1}, "invalid_input", "word"),
    ],
)
def test_what_is_wrong_is_named(filled: Api, given: dict[str, Any], code: str, field: str) -> None:
    body = {"container": filled.container, **given}
    error = filled.refused(400, code, "POST", "/v1/explain", json=body)
    assert (error["field"] or "").startswith(field)
