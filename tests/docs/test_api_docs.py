"""The pages name all that can be asked, set, measured and logged, and their examples hold."""

import ast
import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rewound.eventlog.instants import to_us
from rewound.http.app import application
from rewound.http.config import Settings
from rewound.http.gatekeeping import doorstep
from rewound.http.guarding import OPEN_PATHS
from rewound.http.limits import Limits
from rewound.http.mcp_fields import MESSAGE
from rewound.http.mcp_schemas import Schema
from rewound.http.mcp_tools import TOOLS
from rewound.http.metrics import Metrics, text_of
from rewound.http.problems import STATUS
from rewound.http.routing import ROUTES
from rewound.llm.extraction import Said
from rewound.llm.rules import RulesExtractor
from rewound.memory import fields
from rewound.memory.replies import Figures, NodeList
from tests.docs.test_docs import PAGES, ROOT

DOCS = ROOT / "docs"
API = (DOCS / "api.md").read_text("utf-8")
CONFIGURATION = (DOCS / "configuration.md").read_text("utf-8")
OPERATIONS = (DOCS / "operations.md").read_text("utf-8")
CONCEPTS = (DOCS / "concepts.md").read_text("utf-8")
THREATS = ROOT / "THREAT_MODEL.md"
LAYERS = ("eventlog", "projections", "llm", "memory", "http")

UNTOLD = {"REWOUND_FAILPOINTS"}
"""For tests of crashes."""


class NoStore:
    """Stands where a store would be asked; nothing here does."""

    owns = True

    def call(self, request: object) -> object:
        raise AssertionError(f"nobody should ask for {type(request).__name__}")

    submit = call

    def close(self) -> None:
        """There is nothing to let go of."""


def served() -> set[tuple[str, str]]:
    """Method and path of every route of the application."""

    async def listed() -> set[tuple[str, str]]:
        door = doorstep("127.0.0.1", None, None)
        app = application(NoStore(), door, Limits(), id_prefix="0")  # type: ignore[arg-type]
        return {
            (route.method, route.resource.canonical)
            for route in app.router.routes()
            if route.resource is not None and route.method != "HEAD"
        }

    return asyncio.run(listed())


def rows(text: str) -> list[list[str]]:
    """The cells of every row of every table, headings left out."""
    lines = re.findall(r"^\|(?! ?-)(.+)\|$", text, re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def section(page: str, heading: str) -> str:
    """What stands under a heading, up to the next one of its level or a higher one."""
    level = heading.partition(" ")[0]
    found = re.search(
        rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", page, re.M | re.S
    )
    assert found is not None, f"there is no {heading}"
    return found[1]


# --- the API


def test_every_route_is_named() -> None:
    named = set(re.findall(r"`(GET|POST|PUT|PATCH|DELETE) (/[^` ]*)`", API))
    assert {(route.method, route.path) for route in ROUTES} <= served()
    assert served() - named == set()
    assert named - served() == set(), "these routes do not exist"


def test_every_route_of_the_memory_is_shown_by_an_example() -> None:
    scripts = " ".join(re.findall(r"^```sh\n(.*?)^```$", API, re.MULTILINE | re.DOTALL))
    for route in ROUTES:
        pattern = "".join(
            r"[^/?\s\"]+" if part.startswith("{") else re.escape(part)
            for part in re.split(r"(\{\w+\})", route.path)
        )
        assert re.search(rf"\$url{pattern}(?![\w/-])", scripts), f"{route.method} {route.path}"


def test_what_is_answered_without_a_key_is_told() -> None:
    for place in (section(API, "### Who may ask"), section(OPERATIONS, "### With a key")):
        assert set(re.findall(r"`(/[\w./]*)`", place)) == OPEN_PATHS
    network = section(THREATS.read_text("utf-8"), "### Somebody on the network")
    assert set(re.findall(r"`(/[\w./]*)`", network)) == OPEN_PATHS


def test_every_error_stands_beside_its_status() -> None:
    told = {
        (int(status), code)
        for status, codes in (
            row[:2] for row in rows(section(API, "### Errors")) if row[0] != "status"
        )
        for code in re.findall(r"`([a-z_]+)`", codes)
        if code in STATUS
    }
    assert told == {(status, code) for code, status in STATUS.items()}


@pytest.mark.parametrize(
    ("what", "most"),
    [
        ("a fact, a query", (fields.FACT_CHARS_MAX, fields.QUERY_CHARS_MAX)),
        ("titles, addresses", (fields.LABEL_CHARS_MAX,)),
        ("your own ids", (fields.ID_CHARS_MAX, fields.CONTAINER_CHARS_MAX)),
        ("a part of a scope", (fields.SCOPE_CHARS_MAX,)),
        ("tags of an item", (fields.TAGS_MAX, fields.TAG_CHARS_MAX)),
        ("metadata", (fields.METADATA_BYTES_MAX // 1024, fields.METADATA_DEPTH_MAX)),
        ("items of one request", (fields.BATCH_MAX, 100)),
        ("`limit`", (fields.LIMIT_MAX, 100)),
        ("`budget`", (fields.BUDGET_TOKENS_MAX,)),
        ("the text of a document", (fields.TEXT_BYTES_MAX >> 20,)),
        ("connections, writes", (Limits().connections, Limits().writes_waiting)),
        ("a connection", (int(Limits().idle_s), int(Limits().unread_s))),
        ("a body", (Limits().body_bytes >> 20, int(Limits().body_s))),
    ],
)
def test_the_limits_are_those_of_the_code(what: str, most: tuple[int, ...]) -> None:
    (row,) = (row for row in rows(section(API, "## Limits")) if row[0].startswith(f"{what}"))
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", row[1])]
    assert set(most) <= set(numbers)


# --- MCP


def test_every_tool_has_a_section_and_there_are_no_others() -> None:
    named = re.findall(r"^### (\w+)$", section(API, "## MCP"), re.MULTILINE)
    assert named == list(TOOLS)


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_s_table_has_each_argument(name: str) -> None:
    tables = section(API, f"### {name}").split("\n\nThe fields of each message:\n\n")
    schemas: list[Schema] = [TOOLS[name].arguments]
    if name == "add_conversation":
        schemas.append(MESSAGE)
    assert len(tables) == len(schemas)
    for table, schema in zip(tables, schemas, strict=True):
        told = {row[0].strip("`"): row for row in rows(table)[1:]}
        assert list(told) == list(schema["properties"])
        for argument, part in schema["properties"].items():
            _, form, default, meaning = told[argument]
            assert (default == "needed") == (argument in schema.get("required", ()))
            choices = part.get("enum") or part.get("items", {}).get("enum")
            assert re.findall(r"`([^`]+)`", form) == list(choices or ()), argument
            assert meaning
            if part["type"] in ("integer", "boolean"):
                own = f"`{str(part['default']).lower()}`" if "default" in part else ""
                assert default == own and (own or "left out" in meaning), argument
    assert f"Replies with {TOOLS[name].reply.__name__}." in section(API, f"### {name}")


# --- settings


def test_every_setting_and_variable_is_named() -> None:
    sources = [file for layer in LAYERS for file in (ROOT / layer).rglob("*.py")]
    read = {
        name
        for file in sources
        for name in re.findall(r"\bREWOUND_[A-Z_]*[A-Z]\b", file.read_text("utf-8"))
    }
    read |= {f"REWOUND_{name.upper()}" for name in Settings.__struct_fields__}
    named = set(re.findall(r"\bREWOUND_[A-Z_]+\b", CONFIGURATION))
    assert read - UNTOLD == named


# --- running it


def test_every_metric_has_a_row() -> None:
    metrics = Metrics()
    metrics.count("GET", "/", 200, 0.1)
    metrics.wrote("Remember")
    figures = Figures(
        container=None, containers=0, info=(), events=0, log_bytes=0, view_bytes=0, views={}
    )
    nodes = NodeList(nodes=(), queues={})
    counted = metrics.counted(reads=0, writes=0, connections=0)
    text = text_of(figures, {None: counted}, nodes=nodes)
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    told = {row[0].strip("`"): row[1] for row in rows(section(OPERATIONS, "## Metrics"))[1:]}
    assert told == kinds


def logged() -> set[tuple[str, str]]:
    """File and message of every log line of a warning or worse."""
    found: set[tuple[str, str]] = set()
    files = [file for layer in LAYERS for file in (ROOT / layer).rglob("*.py")]
    for file in files:
        source = file.read_text("utf-8")
        for node in ast.walk(ast.parse(source)) if "_log." in source else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id="_log"),
                        attr="warning" | "error" | "critical" | "exception",
                    ),
                    args=[ast.Constant(value=str(message)), *_],
                ):
                    found.add((file.name, message))
    return found


@pytest.mark.parametrize(("file", "message"), sorted(logged()))
def test_every_log_line_is_explained(file: str, message: str) -> None:
    explained = section(OPERATIONS, "## What the log lines mean")
    telling = max(re.split(r"%\w", message.partition("\n")[0]), key=len).strip(" ():,")
    assert telling in explained, f"{file} logs {message!r}"


# --- facts


def test_the_examples_of_drawing_are_what_the_rules_draw() -> None:
    at = to_us(datetime.fromisoformat("2026-03-02T23:30:00-08:00").astimezone(UTC))
    examples = [
        row
        for row in rows(section(CONCEPTS, "## How facts are drawn"))
        if len(row) == 2 and row[0].endswith((".", "!"))
    ]
    assert len(examples) >= 5
    for said, told in examples:
        piece = Said(said, at, "America/Los_Angeles", "user", "Nina", "text")
        (drawn,) = RulesExtractor().extract([piece])
        wanted = [] if told == "none" else told.split(" · ")
        assert [fact.text for fact in drawn] == wanted, said


# --- links


def test_the_threat_model_names_files_that_exist() -> None:
    named = re.findall(r"`(\w[\w./-]+\.py)`", THREATS.read_text("utf-8"))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).is_file()] == []


def anchors(page: Path) -> set[str]:
    """The anchors that a page's headings have on GitHub."""
    prose = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", [*PAGES, THREATS], ids=lambda page: page.name)
def test_links_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8")):
        there = page.parent / target if target else page
        assert there.is_file(), f"{page.name} links to {target}"
        assert anchor in anchors(there), f"{page.name} links to {target}#{anchor}"
