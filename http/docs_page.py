"""The docs page: every route with its fields and its reply, for people, made from the same table.

One file of HTML with its style inside, no script, and nothing from elsewhere.
"""

from __future__ import annotations

from html import escape
from typing import Any

import msgspec

from rewound.http import supermemory
from rewound.http.openapi import AROUND, description
from rewound.http.problems import STATUS
from rewound.http.routing import ROUTES
from rewound.memory.release import VERSION

CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)

_STYLE = """
:root{color-scheme:light dark;--ink:#1d2129;--soft:#5b6370;--line:#dfe3e8;--paper:#fff;
--tint:#f4f6f8;--get:#0b6b4f;--post:#1f4fbf;--patch:#8a5a00;--delete:#b3261e;--link:#1f4fbf}
@media (prefers-color-scheme:dark){:root{--ink:#e4e7ec;--soft:#9aa3b2;--line:#30363f;
--paper:#14171c;--tint:#1c2027;--get:#5fd0a5;--post:#8fb2ff;--patch:#f0c06a;--delete:#ff9b93;
--link:#8fb2ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:60rem;margin:0 auto;padding:2.5rem 1.25rem 6rem}
h1{font-size:1.9rem;margin:0 0 .25rem}
h2{font-size:1.25rem;margin:2.75rem 0 .75rem;padding-bottom:.35rem;
border-bottom:1px solid var(--line)}
p{margin:.5rem 0}.soft{color:var(--soft)}
a{color:var(--link)}
nav{margin:1.25rem 0;display:flex;flex-wrap:wrap;gap:.35rem 1.1rem}
code,pre,.path{font:.86em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
pre{background:var(--tint);border:1px solid var(--line);border-radius:8px;padding:.8rem 1rem;
overflow-x:auto}
details{border:1px solid var(--line);border-radius:8px;margin:.45rem 0;background:var(--paper)}
details[open]{background:var(--tint)}
summary{cursor:pointer;padding:.55rem .9rem;display:flex;flex-wrap:wrap;gap:.2rem .9rem;
align-items:baseline;list-style:none}
summary::-webkit-details-marker{display:none}
summary:focus-visible{outline:2px solid var(--link);outline-offset:2px;border-radius:8px}
.path{font-weight:600;overflow-wrap:anywhere}
.method{font:700 .74rem/1 ui-monospace,Menlo,Consolas,monospace;min-width:4.2em}
.GET{color:var(--get)}.POST{color:var(--post)}.PUT,.PATCH{color:var(--patch)}
.DELETE{color:var(--delete)}
.inside{padding:0 .9rem .8rem;overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th{text-align:left;font-weight:600;color:var(--soft)}
th,td{padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line);vertical-align:top}
"""


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """What GET / answers with."""

    name: str
    version: str
    docs: str
    openapi: str
    health: str


def home() -> Home:
    return Home(
        name="rewound",
        version=VERSION,
        docs="/docs",
        openapi="/openapi.json",
        health="/health",
    )


def page() -> bytes:
    """The whole page, as UTF-8."""
    described = description()
    sections = dict.fromkeys(route.section for route in ROUTES)
    parts = [_head(), _intro([*sections, *supermemory.SECTIONS, "Around", "Errors", "Shapes"])]
    for section in sections:
        parts.append(_heading(section))
        parts += [
            _operation(route.method, route.path, described)
            for route in ROUTES
            if route.section == section
        ]
    for section, about in supermemory.SECTIONS.items():
        parts += [_heading(section), f"<p>{escape(_brief(about))}</p>"]
        parts += [
            _operation("POST", each.path, described)
            for each in supermemory.DECLARED
            if each.section == section
        ]
    parts.append(_heading("Around"))
    parts += [_operation("GET", path, described) for path, _, _ in AROUND]
    parts += [_errors(), _shapes(described["components"]["schemas"]), "</main></body></html>"]
    return "\n".join(parts).encode()


def _brief(text: str | None) -> str:
    return (text or "").split("\n\n")[0].replace("\n", " ")


def _head() -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Rewound API</title><style>{_STYLE}</style></head><body><main>"
    )


def _intro(titles: list[str]) -> str:
    links = "".join(f'<a href="#{_anchor(title)}">{escape(title)}</a>' for title in titles)
    example = (
        "curl -s localhost:8900/v1/facts -d "
        '\'{"text": "Nina works at Orbit Labs."}\'\n'
        "curl -s 'localhost:8900/v1/search?query=where+does+Nina+work'"
    )
    return (
        f'<h1>Rewound API</h1><p class="soft">Version {escape(VERSION)}. JSON in, JSON '
        'out. The same as <a href="/openapi.json">OpenAPI 3.1</a> for programs.</p>'
        f"<nav>{links}</nav><pre>{escape(example)}</pre>"
        "<p>Where a key is set, send <code>Authorization: Bearer KEY</code>. Every write takes an "
        "<code>Idempotency-Key</code> header: sent twice with the same request, it is done once. "
        "<code>as_of</code> asks as the store knew it then (a time, <code>@123</code> or an "
        "event), <code>valid_at</code> for what was true then.</p>"
    )


def _heading(title: str) -> str:
    return f'<h2 id="{_anchor(title)}">{escape(title)}</h2>'


def _anchor(title: str) -> str:
    return "-".join(title.lower().split())


def _operation(method: str, path: str, described: dict[str, Any]) -> str:
    told = described["paths"][path][method.lower()]
    inside = [f"<p>{escape(told['description'])}</p>"] if "description" in told else []
    rows = [
        _row(each["name"], each.get("schema") or each["content"]["application/json"]["schema"],
             needed=each["required"], where=each["in"])
        for each in told.get("parameters", ())
    ]  # fmt: skip
    if "requestBody" in told:
        name = _name_of(told["requestBody"]["content"]["application/json"]["schema"])
        schema = described["components"]["schemas"][name]
        needed = set(schema.get("required", ()))
        rows += [
            _row(name, of_field, needed=name in needed, where="body")
            for name, of_field in schema["properties"].items()
        ]
    if rows:
        head = "<tr><th>field</th><th>in</th><th>type</th><th></th></tr>"
        inside.append(f"<table>{head}{''.join(rows)}</table>")
    answer = told["responses"]["200"]["content"]
    shapes = ", ".join(_type(each["schema"]) for each in answer.values())
    inside.append(f"<p>Answers with {shapes}.</p>")
    return (
        f'<details><summary><span class="method {method}">{method}</span>'
        f'<span class="path">{escape(path)}</span>'
        f'<span class="soft">{escape(told["summary"])}</span></summary>'
        f'<div class="inside">{"".join(inside)}</div></details>'
    )


def _row(name: str, schema: dict[str, Any], *, needed: bool, where: str) -> str:
    default = schema.get("default")
    note = "required" if needed else ""
    if not needed and default not in (None, "", [], {}):
        note = f"default {msgspec.json.encode(default).decode()}"
    return (
        f"<tr><td><code>{escape(name)}</code></td><td>{where}</td>"
        f'<td>{_type(schema)}</td><td class="soft">{escape(note)}</td></tr>'
    )


def _type(schema: dict[str, Any]) -> str:
    """A schema in words, with links to the shapes."""
    if "$ref" in schema:
        name = _name_of(schema)
        return f'<a href="#{escape(name)}">{escape(name)}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items') or {})}"
    return escape(str(schema.get("type", "anything")))


def _name_of(schema: dict[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _errors() -> str:
    rows = "".join(
        f"<tr><td>{status}</td><td><code>{code}</code></td></tr>" for code, status in STATUS.items()
    )
    shape = '{"error": {"code": "…", "message": "…", "field": null, "ids": []}}'
    return (
        f"{_heading('Errors')}<pre>{escape(shape)}</pre>"
        f"<table><tr><th>status</th><th>code</th></tr>{rows}</table>"
    )


def _shapes(schemas: dict[str, Any]) -> str:
    """Every struct that replies and bodies are made of."""
    forms = {route.form.__name__ for route in ROUTES}
    parts = [_heading("Shapes")]
    for name, schema in schemas.items():
        if name in forms:
            continue
        needed = set(schema.get("required", ()))
        rows = "".join(
            _row(field, of_field, needed=field in needed, where="")
            for field, of_field in schema.get("properties", {}).items()
        )
        about = f"<p>{escape(schema['description'])}</p>" if "description" in schema else ""
        parts.append(
            f'<details id="{escape(name)}"><summary><span class="path">{escape(name)}</span>'
            f'</summary><div class="inside">{about}<table>{rows}</table></div></details>'
        )
    return "\n".join(parts)
