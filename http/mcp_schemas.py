"""JSON Schemas of the MCP tools: small builders for arguments, and replies read off their structs.

Clients differ in how much of JSON Schema they bear, and one schema that a client dislikes can cost
it all tools. So an argument is an object, text, number, flag or list of one type, spelt out where
it stands: no `$ref`, no alternatives.
"""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from rewound.memory.replies import Reply

Schema = dict[str, Any]


def text(description: str) -> Schema:
    return {"type": "string", "description": description}


def texts(description: str) -> Schema:
    return {"type": "array", "items": {"type": "string"}, "description": description}


def choice(description: str, literal: Any, *, default: str | None = None) -> Schema:
    """One of the values of a Literal type."""
    schema = {"type": "string", "enum": list(get_args(literal)), "description": description}
    return schema | ({"default": default} if default is not None else {})


def choices(description: str, literal: Any) -> Schema:
    """Any of the values of a Literal type."""
    items = {"type": "string", "enum": list(get_args(literal))}
    return {"type": "array", "items": items, "description": description}


def whole(description: str, low: int, high: int, default: int) -> Schema:
    """A whole number in [low, high]."""
    return {
        "type": "integer",
        "minimum": low,
        "maximum": high,
        "default": default,
        "description": description,
    }


def whole_or_own(description: str, low: int, high: int) -> Schema:
    """A whole number in [low, high]; what it is when left out, the description says."""
    return {"type": "integer", "minimum": low, "maximum": high, "description": description}


def share(description: str) -> Schema:
    """A number from 0 to 1."""
    return {"type": "number", "minimum": 0, "maximum": 1, "description": description}


def switch(description: str) -> Schema:
    """True or false; what it is when left out, the description says."""
    return {"type": "boolean", "description": description}


def flag(description: str, *, default: bool = False) -> Schema:
    return {"type": "boolean", "default": default, "description": description}


def free(description: str) -> Schema:
    """An object whose fields are the caller's own."""
    return {"type": "object", "additionalProperties": True, "description": description}


def fields(
    properties: Mapping[str, Schema], required: tuple[str, ...] = (), description: str = ""
) -> Schema:
    """An object with just these fields."""
    schema: Schema = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    schema["additionalProperties"] = False
    return schema | ({"description": description} if description else {})


def listed(description: str, items: Schema) -> Schema:
    return {"type": "array", "items": items, "description": description}


# --- replies

_NOT_ASKED = frozenset({"explanation", "ranking"})
"""Parts of replies that no tool asks for."""


def of_reply(kind: type[Reply]) -> Schema:
    """The schema of a reply's JSON, with everything spelt out where it stands."""
    whole_schema = msgspec.json.schema(kind)
    definitions = whole_schema.pop("$defs")
    spelt: Schema = _spelt(whole_schema, definitions)
    return spelt


def _spelt(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_spelt(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _spelt(definitions[node["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in node:
        return _nullable([_spelt(part, definitions) for part in node["anyOf"]])
    spelt = {name: part for name, part in node.items() if name in ("type", "enum", "required")}
    for name in ("items", "additionalProperties"):
        if name in node:
            spelt[name] = _spelt(node[name], definitions)
    if "properties" in node:
        parts = node["properties"].items()
        spelt["properties"] = {
            name: _spelt(part, definitions) for name, part in parts if name not in _NOT_ASKED
        }
    return spelt


def _nullable(alternatives: list[Schema]) -> Schema:
    """A plain value or none in one type; alternatives only where there is more to say."""
    if all(set(part) == {"type"} for part in alternatives):
        return {"type": [part["type"] for part in alternatives]}
    return {"anyOf": alternatives}
