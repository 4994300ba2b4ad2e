"""The arguments of a tool call, read by the tool's input schema.

Clients send what a model wrote: lists and numbers as text, `null` or `""` for what they leave out.
What can mean only one thing is taken as that; anything else raises BadArgument, which names the
field and the form wanted.
"""

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from rewound.memory.fields import either, kind_of

Schema = Mapping[str, Any]

_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,18}\s*")
_DECIMAL = re.compile(r"\s*[+-]?[0-9]{0,18}[.]?[0-9]{1,18}\s*")
_SHOWN_CHARS = 40


class BadArgument(Exception):
    """An argument that a tool cannot take. The message names the field and what would be right."""

    def __init__(self, message: str, field: str) -> None:
        super().__init__(message)
        self.message = message
        self.field = field


def read(tool: str, schema: Schema, given: Any) -> dict[str, Any]:
    """A tool's arguments with each value in its own type; lists become tuples.

    What was left out is not in the result. Raises BadArgument for the first that is wrong.
    """
    if given is None:
        given = {}
    if isinstance(given, dict) and set(given) == {"arguments"}:
        given = given["arguments"]  # how the server hands on what is no object at all
        if isinstance(given, dict):
            raise _wrong("arguments", "the fields themselves, not one more object around them")
    if not isinstance(given, dict):
        names = ", ".join(schema["properties"])
        form = f"an object with the fields of {tool} ({names})"
        raise _wrong("arguments", form, given)
    return _object(given, schema, "", tool)


def _object(given: dict[str, Any], schema: Schema, place: str, owner: str) -> dict[str, Any]:
    properties = schema["properties"]
    found: dict[str, Any] = {}
    for name, value in given.items():
        part = properties.get(name)
        if part is None:
            raise _unknown(name, properties, place, owner)
        required = name in schema.get("required", ())
        if value is None or (value == "" and not required):
            continue
        found[name] = _value(value, part, f"{place}{name}")
    for name in schema.get("required", ()):
        if name not in found:
            form = _form(properties[name])
            raise BadArgument(f"{place}{name} is missing: {owner} needs it, {form}", name)
    return found


def _value(value: Any, schema: Schema, field: str) -> Any:
    match schema["type"]:
        case "string":
            return _text(value, schema, field)
        case "integer":
            return _whole(value, schema, field)
        case "number":
            return _share(value, schema, field)
        case "boolean":
            if not isinstance(value, bool):
                raise _wrong(field, _form(schema), value)
            return value
        case "array":
            parts = _list(value, schema, field)
            items = schema["items"]
            return tuple(_value(part, items, f"{field}[{n}]") for n, part in enumerate(parts))
    if not isinstance(value, dict):
        raise _wrong(field, _form(schema), value)
    if "properties" not in schema:
        return value
    return _object(value, schema, f"{field}.", field)


def _text(value: Any, schema: Schema, field: str) -> str:
    if not isinstance(value, str):
        raise _wrong(field, _form(schema), value)
    if value not in schema.get("enum", (value,)):
        shown = repr(value) if len(value) <= _SHOWN_CHARS else "text"
        raise BadArgument(f"{field} must be {_form(schema)}, not {shown}", field)
    return value


def _whole(value: Any, schema: Schema, field: str) -> int:
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        value = int(value)
    elif isinstance(value, float) and value.is_integer():
        value = int(value)  # 5.0 is how some languages write 5
    in_range = range(schema["minimum"], schema["maximum"] + 1)
    if not isinstance(value, int) or isinstance(value, bool) or value not in in_range:
        raise _wrong(field, _form(schema), value)
    return value


def _share(value: Any, schema: Schema, field: str) -> float:
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not schema["minimum"] <= value <= schema["maximum"]:
        raise _wrong(field, _form(schema), value)
    return float(value)


def _list(value: Any, schema: Schema, field: str) -> list[Any]:
    if isinstance(value, str):
        parsed = _parsed(value)
        value = _alone(value, schema["items"]) if parsed is None else parsed
    if not isinstance(value, list):
        raise _wrong(field, _form(schema), value)
    return value


def _alone(value: str, items: Schema) -> Any:
    """A text in place of a list: one word, or names that only such a list holds.

    Of other texts, and of such as begin like JSON, it is not sure what they mean.
    """
    if items["type"] != "string":
        return value
    parts = [part.strip() for part in value.split(",")]
    names = items.get("enum", ())
    if all(part in names for part in parts):
        return parts
    is_word = len(parts) == 1 and len(value.split()) == 1 and parts[0][0] not in "[{"
    return parts if is_word and not names else value


def _parsed(value: str) -> list[Any] | None:
    """The list that a text holds as JSON, if it does."""
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, list) else None


# --- words


def _form(schema: Schema) -> str:
    """What would be right, in words."""
    match schema["type"]:
        case "string" if "enum" in schema:
            return either(schema["enum"])
        case "string":
            return "text"
        case "integer":
            return f"a whole number from {schema['minimum']:,} to {schema['maximum']:,}"
        case "number":
            return f"a number from {schema['minimum']} to {schema['maximum']}"
        case "boolean":
            return "true or false"
        case "array":
            return f"a list such as {_example(schema['items'])}"
    if "properties" not in schema:
        return 'an object such as {"key": "value"}'
    return f"an object with the fields {', '.join(schema['properties'])}"


def _example(items: Schema) -> str:
    if items["type"] == "object":
        first = items["required"][0]
        return f'[{{"{first}": "…"}}]'
    values = items.get("enum", ("one", "two"))[:2]
    return json.dumps(values)


def _wrong(field: str, form: str, value: Any = ...) -> BadArgument:
    got = "" if value is ... else f", not {_shown(value)}"
    return BadArgument(f"{field} must be {form}{got}", field)


def _shown(value: Any) -> str:
    """A short number as it is; of anything else only the type, for it may hold a memory."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = repr(value)
        return number if len(number) <= _SHOWN_CHARS else kind_of(value)
    return kind_of(value)


def _unknown(name: str, properties: Schema, place: str, owner: str) -> BadArgument:
    shown = name if len(name) <= _SHOWN_CHARS else name[: _SHOWN_CHARS - 1] + "…"
    near = get_close_matches(name, properties, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    names = ", ".join(properties)
    return BadArgument(f"{place}{shown} is not a field of {owner}: {hint}it takes {names}", name)
