"""Importance through REST: given with what is sent, set by PATCH, named when it is wrong."""

from typing import Any

import pytest

from rewound.memory import replies as r
from tests.http.serving import Api

TEXT = "Nina works at Orbit Labs."


def sent(api: Api, path: str, body: dict[str, Any]) -> str:
    (item,) = api.write("POST", path, body).items
    assert item.id is not None
    return f"{path}/{item.id}"


def send_each(api: Api, **more: Any) -> list[str]:
    """A fact, a document and a message; the path of each."""
    message = {"content": TEXT, **more}
    return [
        sent(api, "/v1/facts", {"text": TEXT, **more}),
        sent(api, "/v1/documents", {"text": TEXT, **more}),
        sent(api, "/v1/messages", {"messages": [message]}),
    ]


def importance(api: Api, path: str) -> float | None:
    return api.read(path, r.Shown).item.importance


def test_it_is_given_shown_and_set(api: Api) -> None:
    for path in send_each(api, importance=0.25):
        assert importance(api, path) == 0.25
        (item,) = api.write("PATCH", path, {"importance": 0.8}).items
        assert item.status == "written" and path.endswith(item.id or "")
        assert importance(api, path) == 0.8
        assert api.read(path, r.Shown).item.text == TEXT


def test_it_is_left_out_where_nobody_said_any(api: Api) -> None:
    for path in send_each(api):
        assert importance(api, path) is None


def test_a_hit_names_it(api: Api) -> None:
    sent(api, "/v1/facts", {"text": TEXT, "importance": 0.7})
    sent(api, "/v1/facts", {"text": "Nina works in Bergen."})
    found = api.ask("/v1/search", r.Found, query="where does Nina work")
    told = {hit.text: (hit.importance, hit.signals.get("importance")) for hit in found.hits}
    assert told == {TEXT: (0.7, 0.7), "Nina works in Bergen.": (None, None)}


@pytest.mark.parametrize("wrong", ["NaN", "true", '"much"', '"1.5"', "-0.1", "1.1", "[]"])
def test_what_is_no_share_is_refused_by_name(api: Api, wrong: str) -> None:
    path = sent(api, "/v1/facts", {"text": TEXT})
    bodies = (
        ("POST", "/v1/facts", f'{{"text": "No.", "importance": {wrong}}}'),
        ("POST", "/v1/documents", f'{{"text": "No.", "importance": {wrong}}}'),
        ("POST", "/v1/messages", f'{{"messages": [{{"content": "No.", "importance": {wrong}}}]}}'),
        ("PATCH", path, f'{{"importance": {wrong}}}'),
    )
    for method, where, body in bodies:
        error = api.refused(400, "invalid_input", method, where, content=body.encode())
        assert wrong == "NaN" or "importance" in (error["field"] or ""), error
    assert importance(api, path) is None
