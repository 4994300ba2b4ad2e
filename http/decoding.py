"""From the bytes of a body or a query string to a filled-in form.

A body that is right is decoded in one step by a decoder made beforehand. One that is not is read
again with patience: lists and numbers that came as text are taken as what they hold, and what is
still wrong is told by the field's name and what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import inspect

from rewound.http.forms import loosened
from rewound.http.problems import Problem, invalid
from rewound.memory import RewoundError
from rewound.memory.conversions import translated

JSON_TYPE = "application/json"
FORM_TYPES = frozenset({"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
"""What a page of any site may send without asking first."""

KEY_NAMES = frozenset(
    {"api_key", "apikey", "api-key", "x-api-key", "access_token", "token", "authorization"}
)
"""Names under which people put a key into the query string, where logs would keep it."""

_PLUS_LOST = re.compile(r"(T\S*) (\d\d:\d\d)$")
"""`+02:00` written into a query string unescaped arrives as ` 02:00`."""

S = TypeVar("S", bound=msgspec.Struct)


class FormReader(Generic[S]):
    """Reads one form, from bodies or from query strings. Made once for a route."""

    def __init__(self, form: type[S]) -> None:
        self.form = form
        info = inspect.type_info(form)
        assert isinstance(info, inspect.StructType), "a form is a struct"
        self._info = info
        self._types = {field.encode_name: field.type for field in info.fields}
        self._lists = frozenset(name for name, kind in self._types.items() if _takes_list(kind))
        self._decode = msgspec.json.Decoder(form).decode

    def body(self, raw: bytes) -> S:
        """A JSON object; nothing at all counts as an empty one. Raises Problem naming a field."""
        try:
            return self._decode(raw or b"{}")
        except msgspec.ValidationError:
            return self._patiently(raw or b"{}")
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise not_json(error) from None

    def query(self, given: Mapping[str, list[str]]) -> S:
        """The parameters of a query string, each with all its values. Raises Problem."""
        values: dict[str, Any] = {}
        for name, texts in given.items():
            if name not in self._types:
                raise invalid(f"{shown(name)} is not a parameter here{self._hint()}", shown(name))
            if name in self._lists:
                values[name] = texts if len(texts) > 1 else texts[0]
            elif len(texts) > 1:
                raise invalid(f"{name} is given {len(texts)} times: give it once", name)
            else:
                values[name] = _PLUS_LOST.sub(r"\1+\2", texts[0])
        return self._converted(values, from_query=True)

    def _patiently(self, raw: bytes) -> S:
        try:
            given = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise not_json(error) from None
        if not isinstance(given, dict):
            raise invalid(f"the body must be a JSON object, not {_named(given)}")
        return self._converted(given)

    def _converted(self, given: Any, *, from_query: bool = False) -> S:
        try:
            return msgspec.convert(loosened(given, self._info, from_query=from_query), self.form)
        except msgspec.ValidationError as error:
            wrong: RewoundError = translated(error, self.form)
            raise wrong from None
        except (RecursionError, UnicodeError):
            raise invalid("the request is nested too deeply to be read") from None

    def _hint(self) -> str:
        return f": use {', '.join(self._types)}" if self._types else ": this route takes none"


def not_json(error: Exception) -> Problem:
    if isinstance(error, RecursionError):
        return invalid("the body is nested too deeply to be read")
    if isinstance(error, UnicodeError):
        return invalid("the body is not UTF-8: send JSON in UTF-8")
    if "truncated" in str(error):
        return invalid("the body is not JSON: it ends too early")
    reason = str(error).removeprefix("JSON is malformed: ").partition(" - at `")[0]
    return invalid(f"the body is not JSON: {reason[:1].lower()}{reason[1:]}")


def check_no_key_in_query(name: str) -> None:
    """Raises Problem naming the parameter when it looks like a key."""
    if name.lower() in KEY_NAMES:
        raise invalid(
            f"{name} in the query string is not read: it would end up in logs; send "
            "`Authorization: Bearer KEY` instead",
            name,
        )


def check_no_query(given: Mapping[str, str]) -> None:
    """A route with a body takes nothing from the query string. Raises Problem."""
    for name in given:
        raise invalid(
            f"{shown(name)} stands in the query string, but this route takes its fields in the "
            "body, as JSON",
            shown(name),
        )


def check_type(content_type: str, encoding: str, *, from_page: bool) -> None:
    """What a body says it is. Raises Problem for what a foreign page could send, or is packed."""
    kind = content_type.partition(";")[0].strip().lower()
    if from_page and kind in FORM_TYPES:
        raise Problem(
            "forbidden",
            f"a page sent {kind}, which any page could send: send content-type: {JSON_TYPE}",
            field="content-type",
        )
    if encoding and encoding.strip().lower() != "identity":
        raise invalid(
            f"content-encoding {shown(encoding)} is not read: send the body as it is",
            "content-encoding",
        )


def with_key(values: dict[str, Any], header: str | None) -> None:
    """Put the Idempotency-Key header into the fields of a write. Raises Problem."""
    if header is None:
        return
    inside = values.get("key")
    if inside is not None and inside != header:
        raise invalid("the body's key and the Idempotency-Key header differ: send one", "key")
    values["key"] = header


def shown(text: str) -> str:
    """A name that a client made up, cut to what belongs into a message."""
    return text if len(text) <= 100 else text[:97] + "…"


def _takes_list(kind: inspect.Type) -> bool:
    if isinstance(kind, inspect.UnionType):
        return any(_takes_list(each) for each in kind.types)
    return isinstance(kind, inspect.VarTupleType | inspect.ListType)


def _named(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
