"""The profile over HTTP: JSON, Markdown, and in the words of Supermemory's v4 API."""

import json
from typing import Any

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api

MARKDOWN = {"content-type": "text/markdown; charset=utf-8", "x-content-type-options": "nosniff"}


@pytest.fixture
def filled(api: Api) -> Api:
    api.fact("Nina works at Orbit Labs.", subject="Nina", attribute="employer", value="Orbit Labs",
             metadata={"team": "sea"})  # fmt: skip
    api.fact("Nina likes tea.", kind="preference", tags=["drinks"], said_at="2020-05-01")
    api.fact("Nina visited Rome.", kind="episode")
    api.fact("Bob knows SECRET.", scope={"user": "bob"})
    api.delete(f"/v1/facts/{api.fact('Nina likes FORGOTTEN.')}")
    return api


def profile(api: Api, **params: Any) -> r.Portrait:
    return api.read("/v1/profile", r.Portrait, **params)


def lines(portrait: r.Portrait) -> set[str]:
    lists = (portrait.stable, portrait.recent, *portrait.buckets.values())
    return {line.text for found in lists for line in found}


def test_the_profile_is_told_as_json(filled: Api) -> None:
    told = profile(filled)
    assert [line.text for line in told.recent] == ["Nina visited Rome."]
    assert told.stable[0].text == "Nina works at Orbit Labs." and told.subject == "Nina"
    assert [line.text for line in told.buckets["preferences"]] == ["Nina likes tea."]
    assert "FORGOTTEN" not in told.text
    assert told.tokens <= told.budget == 1_000


def test_filters_scope_and_buckets_travel_in_the_query_string(filled: Api) -> None:
    assert lines(profile(filled, user="bob")) == {"Bob knows SECRET."}
    assert lines(profile(filled, tags="drinks")) == {"Nina likes tea."}
    assert lines(profile(filled, metadata='{"team": "sea"}')) == {"Nina works at Orbit Labs."}
    assert lines(profile(filled, kinds="preference", since="2020")) == {"Nina likes tea."}
    own = {"drinks": {"tags": ["drinks"]}, "trips": {"query": "Rome"}, "work": {}}
    told = profile(filled, buckets=json.dumps(own), budget="300", days="5")
    assert list(told.buckets) == ["drinks", "trips", "work"] and told.budget == 300
    assert [line.text for line in told.buckets["drinks"]] == ["Nina likes tea."]
    assert [line.text for line in told.buckets["trips"]] == ["Nina visited Rome."]
    assert profile(filled, buckets="{}").buckets == {}


@pytest.mark.parametrize(
    ("params", "headers"),
    [
        ({"format": "markdown"}, {}),
        ({}, {"accept": "text/markdown"}),
        ({}, {"accept": "Text/Markdown;q=0.9, application/json"}),
        ({"format": "markdown"}, {"accept": "application/json"}),
    ],
)
def test_markdown_is_the_text_alone(
    filled: Api, client: httpx.Client, params: dict[str, str], headers: dict[str, str]
) -> None:
    given = {"container": filled.container, **params}
    response = client.get("/v1/profile", params=given, headers=headers)
    assert response.status_code == 200
    assert MARKDOWN.items() <= dict(response.headers).items()
    assert response.text == profile(filled).text + "\n"
    assert response.text.startswith("# What is known\n\n## Stable\n- [")
    again = client.get("/v1/profile", params=given, headers=headers)
    assert again.content == response.content


def test_json_is_what_there_is_unless_markdown_is_asked_for(
    filled: Api, client: httpx.Client
) -> None:
    given = {"container": filled.container}
    for params, accept in (({}, "*/*"), ({}, "text/html, text/markdown"),
                           ({"format": "json"}, "text/markdown")):  # fmt: skip
        told = client.get("/v1/profile", params={**given, **params}, headers={"accept": accept})
        assert told.json()["reply"] == "Portrait"


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"budget": "0"}, "budget"),
        ({"days": "many"}, "days"),
        ({"format": "xml"}, "format"),
        ({"buckets": "work"}, "buckets"),
        ({"buckets": '{"x": {}}'}, "buckets.x"),
        ({"buckets": '{"x": {"word": 1}}'}, "buckets"),
        ({"include_forgotten": "true"}, "include_forgotten"),
        ({"what": "message"}, "what"),
        ({"as_of": "soon"}, "as_of"),
    ],
)
def test_what_is_wrong_is_named(filled: Api, params: dict[str, str], field: str) -> None:
    given = {"container": filled.container, **params}
    error = filled.refused(400, "invalid_input", "GET", "/v1/profile", params=given)
    assert (error["field"] or "").startswith(field)


def test_a_container_that_is_not_there(api: Api) -> None:
    given = {"container": "nobody"}
    api.refused(404, "not_found", "GET", "/v1/profile", params=given)


# --- Supermemory's v4


def v4(api: Api, **body: Any) -> Any:
    return api.send("POST", "/v4/profile", {"containerTag": api.container, **body}).json()


def test_v4_tells_static_dynamic_and_buckets(filled: Api) -> None:
    told = v4(filled)
    assert set(told) == {"profile"}
    static, dynamic, buckets = (told["profile"][name] for name in ("static", "dynamic", "buckets"))
    assert any("Nina works at Orbit Labs." in text for text in static)
    assert "[2020-05-01] Nina likes tea." in static and "[2020-05-01] Nina likes tea." in buckets[
        "preferences"
    ]  # fmt: skip
    assert len(dynamic) == 1 and dynamic[0].endswith("] Nina visited Rome.")
    assert "FORGOTTEN" not in json.dumps(told)


def test_v4_narrows_to_what_is_asked_for(filled: Api) -> None:
    assert set(v4(filled, include=["static"])["profile"]) == {"static"}
    named = v4(filled, include=["buckets"], buckets=["preferences"])["profile"]
    assert named == {"buckets": {"preferences": ["[2020-05-01] Nina likes tea."]}}
    filters = {"AND": [{"key": "team", "value": "sea"}]}
    static = v4(filled, filters=filters)["profile"]["static"]
    assert [text[13:] for text in static] == ["Nina works at Orbit Labs."]


def test_v4_brings_the_results_of_a_search_along(filled: Api) -> None:
    told = v4(filled, q="Rome", include=["dynamic"])
    assert told["searchResults"]["results"][0]["memory"] == "Nina visited Rome."
    assert told["searchResults"]["total"] >= 1


def test_v4_holds_what_is_static_first(filled: Api) -> None:
    memories = [{"content": "Answer in French.", "isStatic": True}]
    sent = {"containerTag": filled.container, "memories": memories}
    assert filled.send("POST", "/v4/memories", sent).status_code == 200
    assert v4(filled)["profile"]["static"][0].endswith("] Answer in French.")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"buckets": ["nothing"]}, "buckets[0]"),
        ({"include": ["all"]}, "include"),
        ({"threshold": 2}, "threshold"),
        ({"containerTag": None}, "containerTag"),
        ({"unheard": 1}, "unheard"),
    ],
)
def test_v4_refuses_by_name(filled: Api, body: dict[str, Any], named: str) -> None:
    sent = {"containerTag": filled.container, **body}
    response = filled.send("POST", "/v4/profile", sent)
    assert response.status_code == 400 and named in response.json()["details"]


def test_v4_is_empty_for_a_tag_that_nobody_used(filled: Api) -> None:
    told = v4(filled.within("nobody"))["profile"]
    assert (told["static"], told["dynamic"]) == ([], [])
    assert set(map(len, told["buckets"].values())) == {0}
