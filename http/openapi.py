"""OpenAPI 3.1, made from the table of routes and the structs: nothing here is written twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from rewound.http import supermemory
from rewound.http.health import Health
from rewound.http.problems import STATUS, Error
from rewound.http.routing import ROUTES, Route
from rewound.http.supermemory_words import Declared, Failed
from rewound.memory.release import VERSION

REF = "#/components/schemas/{name}"
SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"header": []}]

AROUND: tuple[tuple[str, str, str], ...] = (
    ("/health", "Whether the store answers; what it consists of, to who has the key.", ""),
    ("/metrics", "Figures for Prometheus.", "text/plain"),
    ("/openapi.json", "This description.", "application/json"),
    ("/docs", "All routes on one page, for people.", "text/html"),
    ("/", "Where to begin.", "application/json"),
)
"""Path, summary, content type of routes that are not about memories."""

_JSON = "application/json"
_COMMON_ERRORS = (400, 401, 403, 404, 409, 413, 500, 503, 507)


def description() -> dict[str, Any]:
    """The whole document."""
    structs: list[type[msgspec.Struct]] = [Error, Health, Failed]
    structs += [struct for route in ROUTES for struct in (route.form, route.reply)]
    structs += [each for made in supermemory.DECLARED for each in (made.form, made.reply)]
    schemas, components = msgspec.json.schema_components(structs, ref_template=REF)
    refs = dict(zip(structs, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, refs, components)
    for declared in supermemory.DECLARED:
        paths[declared.path] = {"post": _foreign(declared, refs)}
    for path, summary, content_type in AROUND:
        paths[path] = {"get": _around(path, summary, content_type, refs)}
    shown = {name: components[name] for name in sorted(components)}
    in_query = {route.form.__name__ for route in ROUTES if not route.in_body}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rewound",
            "version": VERSION,
            "summary": "A long-term memory for AI agents over one append-only event log.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": {name: shown[name] for name in shown if name not in in_query},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
        "security": SECURITY,
    }


def _operation(route: Route, refs: dict[Any, Any], components: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _lower(route.form.__name__),
        "tags": [route.section],
        "summary": route.summary,
        "parameters": [*_path_parameters(route.path_names)],
        "responses": _responses(refs[route.reply], refs[Error], _also(route)),
    }
    if route.writes:
        operation["parameters"].append(_KEY)
    if route.in_body:
        operation["requestBody"] = _body(route.form, refs[route.form])
    else:
        operation["parameters"] += _query_parameters(components[route.form.__name__])
    if route.request.__doc__:
        operation["description"] = " ".join(route.request.__doc__.split())
    return operation


def _foreign(declared: Declared, refs: dict[Any, Any]) -> dict[str, Any]:
    also = "text/markdown" if declared.markdown else None
    names = [part[1:-1] for part in declared.path.split("/") if part.startswith("{")]
    return {
        "operationId": _lower(declared.form.__name__),
        "tags": [declared.section],
        "summary": declared.summary,
        "parameters": _path_parameters(names),
        "requestBody": _body(declared.form, refs[declared.form]),
        "responses": _responses(refs[declared.reply], refs[Failed], also),
    }


def _around(path: str, summary: str, content_type: str, refs: dict[Any, Any]) -> dict[str, Any]:
    if path == "/health":
        content: dict[str, Any] = {_JSON: {"schema": refs[Health]}}
        answers = {
            "200": {"description": "The store answers.", "content": content},
            "503": {"description": "The store does not answer.", "content": content},
        }
    else:
        content = {content_type: {"schema": {"type": "object" if "json" in content_type else
                                             "string"}}}  # fmt: skip
        answers = {"200": {"description": "Success.", "content": content}}
    operation: dict[str, Any] = {
        "operationId": "get" + (path.strip("/").partition(".")[0].capitalize() or "Root"),
        "tags": ["Around"],
        "summary": summary,
        "responses": answers,
    }
    if path != "/metrics":
        operation["security"] = []
    return operation


_KEY: dict[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Sent twice with the same request, done once; the same as `key` in a body.",
    "schema": {"type": "string"},
}


def _path_parameters(names: Iterable[str]) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in names
    ]


def _query_parameters(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """One parameter for each field of a query form. Objects travel as JSON."""
    required = set(schema.get("required", ()))
    found: list[dict[str, Any]] = []
    for name, of_field in schema["properties"].items():
        parameter: dict[str, Any] = {"name": name, "in": "query", "required": name in required}
        if of_field.get("type") == "object" or name == "where":
            parameter["content"] = {_JSON: {"schema": of_field}}
        else:
            parameter["schema"] = of_field
        found.append(parameter)
    return found


def _body(form: type[msgspec.Struct], schema: Any) -> dict[str, Any]:
    needed = any(field.required for field in msgspec.structs.fields(form))
    return {"required": needed, "content": {_JSON: {"schema": schema}}}


def _also(route: Route) -> str | None:
    """What a route answers with besides JSON, where a client asks for it."""
    if route.streams:
        return "text/event-stream"
    return "text/markdown" if route.text else None


def _responses(schema: Any, error: Any, also: str | None = None) -> dict[str, Any]:
    content = {_JSON: {"schema": schema}}
    if also is not None:
        content[also] = {"schema": {"type": "string"}}
    responses: dict[str, Any] = {"200": {"description": "Success.", "content": content}}
    for status in _COMMON_ERRORS:
        codes = ", ".join(code for code, number in STATUS.items() if number == status)
        responses[str(status)] = {
            "description": codes,
            "content": {_JSON: {"schema": error}},
        }
    return responses


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]
