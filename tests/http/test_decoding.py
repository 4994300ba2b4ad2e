"""Bodies and query strings into forms: what is taken, and how what is not is named."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from rewound.http.decoding import FormReader, check_no_query, check_type, with_key
from rewound.http.problems import Problem
from rewound.http.routing import ROUTES, Route
from rewound.memory import RewoundError
from rewound.memory import requests as q


def route(method: str, path: str) -> Route:
    (found,) = [each for each in ROUTES if (each.method, each.path) == (method, path)]
    return found


FACTS = route("POST", "/v1/facts")
LIST = route("GET", "/v1/facts")
SEARCH = route("GET", "/v1/search")


def sent(body: bytes, to: Route = FACTS, key: str | None = None) -> Any:
    return to.asked(to.reader.body(body), {"id": "", "name": ""}, key)


def asked(to: Route = LIST, path: Mapping[str, str] | None = None, **given: str | list[str]) -> Any:
    texts = {name: [text] if isinstance(text, str) else text for name, text in given.items()}
    return to.asked(to.reader.query(texts), path or {}, None)


def wrong(*args: Any, **kwargs: Any) -> Problem | RewoundError:
    call = asked if kwargs else sent
    with pytest.raises((Problem, RewoundError)) as caught:
        call(*args, **kwargs)
    error = caught.value
    assert isinstance(error, Problem | RewoundError)
    assert getattr(error, "code", "") == "invalid_input"
    return error


# --- bodies


def test_one_fact_inline_is_a_batch_of_one() -> None:
    inline = sent(b'{"text": "Nina works.", "tags": ["work"], "container": "nina", "infer": true}')
    listed = sent(
        b'{"facts": [{"text": "Nina works.", "tags": ["work"]}], '
        b'"container": "nina", "infer": true}'
    )
    assert inline == listed
    assert inline.facts == (q.NewFact(text="Nina works.", tags=("work",)),)


def test_inline_and_listed_at_once_is_refused_by_name() -> None:
    error = wrong(b'{"facts": [{"text": "A."}], "tags": ["x"]}')
    assert error.field == "tags"
    assert "facts" in error.message


def test_neither_is_refused_by_name() -> None:
    assert wrong(b"").field == "text"
    assert wrong(b'{"kind": "fact"}').field == "text"


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        (b'{"text": 5}', "text", "text must be text"),
        (b'{"text": "A.", "spce": "x"}', "spce", "not a field"),
        (b'{"text": "A.", "type": "Remember"}', "type", "not a field"),
        (b'{"text": "A.", "infer": "false"}', "infer", "true or false"),
        (b'{"text": "A.", "tags": "a"}', "tags", "a list"),
        (b'{"text": "A.", "tags": "[1, 2]"}', "tags[0]", "text"),
        (b'{"text": "A.", "unless_after": "five"}', "unless_after", "a whole number"),
        (b'{"text": "A.", "scope": {"usr": "x"}}', "scope.usr", "not a field"),
        (b'{"facts": [{"text": "A."}, {"txt": "B."}]}', "facts[1].txt", "not a field"),
        (b'{"facts": [{"text": "A.", "kind": "opinion"}]}', "facts[0].kind", "opinion|episode"),
        (b"[]", None, "a JSON object, not a list"),
        (b"null", None, "a JSON object, not null"),
        (b'"text"', None, "a JSON object, not text"),
        (b"7", None, "a JSON object, not a number"),
        (b'{"text": "A."', None, "ends too early"),
        (b'{"text": NaN}', None, r"not JSON.*byte 9"),
        (b'{"text": "\xff"}', None, "not JSON"),
        (b'{"text": "\\ud800"}', None, "not JSON"),
        (b'{"text": "A.", "metadata": {"n": 1e999}}', None, "out of range"),
        (b'{"text": "A.", "metadata": ' + b"[" * 100_000, None, "nested too deeply"),
    ],
)
def test_a_wrong_body_is_told_by_field_and_form(body: bytes, field: str | None, words: str) -> None:
    error = wrong(body)
    assert error.field == field
    assert re.search(words, error.message), error.message


def test_lists_and_numbers_may_come_as_text() -> None:
    request = sent(
        b'{"facts": "[{\\"text\\": \\"A.\\", \\"tags\\": \\"[\\\\\\"a\\\\\\"]\\"}]", '
        b'"unless_after": " 5 "}'
    )
    assert request.unless_after == 5
    assert request.facts == (q.NewFact(text="A.", tags=("a",)),)


def test_text_that_looks_like_a_list_or_a_number_stays_text() -> None:
    request = sent(b'{"text": "[1]", "value": "5", "metadata": {"n": "5"}, "unless_after": "5"}')
    (fact,) = request.facts
    assert (fact.text, fact.value, fact.metadata) == ("[1]", "5", {"n": "5"})


def test_the_key_of_header_and_body_must_agree() -> None:
    assert sent(b'{"text": "A."}', key="k").key == "k"
    assert sent(b'{"text": "A.", "key": "k"}', key="k").key == "k"
    assert sent(b'{"text": "A.", "key": "k"}').key == "k"
    with pytest.raises(Problem, match="Idempotency-Key") as caught:
        with_key({"key": "a"}, "b")
    assert caught.value.field == "key"


def test_a_reading_route_takes_no_key() -> None:
    assert not hasattr(sent(b'{"query": "x"}', route("POST", "/v1/search"), key="k"), "key")


# --- query strings


def test_a_query_string_fills_filters_and_scope() -> None:
    request = asked(
        tags="work, home", kinds=["fact", "episode"], user="nina", limit="5", as_of="@7",
        metadata='{"n": 3}', include_superseded="true",
    )  # fmt: skip
    assert request == q.List(
        what="fact",
        limit=5,
        as_of="@7",
        include_superseded=True,
        scope=q.Scope(user="nina"),
        filters=q.Filters(tags=("work", "home"), kinds=("fact", "episode"), metadata={"n": 3}),
    )


def test_a_list_in_a_query_string_is_repeated_parted_by_commas_or_json() -> None:
    for given in (["a", "b"], ["a,b"], ['["a", "b"]']):
        assert asked(tags=given).filters.tags == ("a", "b")
    assert asked(tags='["a,b"]').filters.tags == ("a,b",)


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"limt": "5"}, "limt", "use container"),
        ({"limit": "five"}, "limit", "a whole number"),
        ({"limit": ""}, "limit", "a whole number"),
        ({"limit": ["5", "6"]}, "limit", "2 times"),
        ({"include_superseded": "maybe"}, "include_superseded", "true or false"),
        ({"kinds": "opinion"}, None, "opinion|episode"),
        ({"metadata": "[1]"}, "metadata", "an object"),
        ({"metadata": "n"}, "metadata", "an object"),
        ({"what": "fact"}, "what", "not a parameter"),
    ],
)
def test_a_wrong_parameter_is_told_by_name(
    given: dict[str, Any], field: str | None, words: str
) -> None:
    error = wrong(**given)
    assert field is None or error.field == field
    assert re.search(words, error.message), error.message


def test_a_plus_that_became_a_blank_is_read_as_one() -> None:
    assert asked(as_of="2026-03-01T10:00:00 02:00").as_of == "2026-03-01T10:00:00+02:00"
    assert asked(as_of="2026-03-01 10:00").as_of == "2026-03-01 10:00"


def test_a_deletion_names_its_item_in_the_path() -> None:
    forget = asked(route("DELETE", "/v1/facts/{id}"), {"id": "f"}, dry_run="1", reason="old")
    assert forget == q.Forget(ids=("f",), dry_run=True, reason="old")


def test_a_body_route_takes_nothing_from_the_query_string() -> None:
    with pytest.raises(Problem, match="in the body") as caught:
        check_no_query({"container": "x"})
    assert caught.value.field == "container"


# --- ids of another kind


def test_an_id_of_another_kind_is_refused_by_what_it_is() -> None:
    document = "doc_01jdzy3m8q1v2k7x4w5e6t7y8z"
    with pytest.raises(Problem, match=r"is a document.*/v1/documents") as caught:
        asked(route("GET", "/v1/facts/{id}"), {"id": document}, container="x")
    assert (caught.value.code, caught.value.field) == ("wrong_kind", "id")
    assert asked(route("GET", "/v1/items/{id}"), {"id": document}, container="x").id == document


# --- what a body says it is


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded; charset=utf-8"])
def test_a_form_of_a_page_is_refused_and_that_of_a_program_read(kind: str) -> None:
    check_type(kind, "", from_page=False)
    with pytest.raises(Problem, match="application/json") as caught:
        check_type(kind, "", from_page=True)
    assert caught.value.code == "forbidden"
    check_type("application/json", "", from_page=True)


def test_a_packed_body_is_refused() -> None:
    check_type("application/json", "identity", from_page=False)
    with pytest.raises(Problem, match="gzip") as caught:
        check_type("application/json", "gzip", from_page=False)
    assert caught.value.field == "content-encoding"


def test_every_route_has_a_reader_of_its_form() -> None:
    assert all(isinstance(each.reader, FormReader) for each in ROUTES)
    assert len({(each.method, each.path) for each in ROUTES}) == len(ROUTES)
    assert len({each.form.__name__ for each in ROUTES}) == len(ROUTES)
