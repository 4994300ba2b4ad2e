"""House rules that a test can hold: sizes, import direction, banned calls, packaging.

Each rule is a function over source text, shown once on a snippet that breaks it, then run over
every file.
"""

import ast
import fnmatch
import http
import pkgutil
import re
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Folder -> the folders of ours that it may import.
LAYERS: dict[str, set[str]] = {
    "eventlog": {"eventlog"},
    "projections": {"projections", "eventlog"},
    "llm": {"llm", "eventlog"},
    "memory": {"memory", "eventlog", "projections", "llm"},
    "http": {"http", "memory"},
}
BESIDE = ("tests", "eval", "deploy", "docs")

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

# What makes two runs differ. A name bans itself and all below it.
BANNED = {
    "clock": (
        "time.time",
        "time.time_ns",
        "time.clock_gettime",
        "time.clock_gettime_ns",
        "time.localtime",
        "time.gmtime",
        "time.ctime",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today",
    ),
    "random": (
        "random",
        "secrets",
        "os.urandom",
        "os.getrandom",
        "numpy.random",
        "uuid.uuid1",
        "uuid.uuid4",
        "uuid.uuid6",
        "uuid.uuid7",
        "uuid.getnode",
    ),
    "environment": ("os.environ", "os.environb", "os.getenv", "os.getenvb"),
}

# The only modules where clock, randomness and environment come in (patterns of fnmatch).
ALLOWED = {
    "eventlog/clock.py": {"clock"},
    "eventlog/ids.py": {"random"},
    "eventlog/failpoints.py": {"environment"},
    "memory/store.py": set(BANNED),
    "memory/place.py": set(BANNED),
    "memory/link.py": set(BANNED),
    "http/cli*.py": set(BANNED),
    "http/config.py": set(BANNED),
    "http/connect/bridge.py": {"random", "environment"},  # a program of its own
}

# A projector is pure: of these its folder has no use at all.
IMPURE = {"time", "socket", "ssl", "select", "httpx", "aiohttp", "urllib.request", "subprocess"}

Finding = tuple[int, str]
Rule = Callable[[str, str], list[Finding]]


@lru_cache(maxsize=1)
def nodes(source: str) -> tuple[ast.AST, ...]:
    """Everything in a file, parsed and walked once for all the rules that look at it in turn."""
    return tuple(ast.walk(ast.parse(source)))


def imported(source: str, rel: str) -> list[Finding]:
    """Line and absolute name of everything that a file imports, at any depth."""
    found: list[Finding] = []
    package = ["rewound", *Path(rel).parent.parts]
    for node in nodes(source):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
    return found


def wrong_imports(source: str, rel: str) -> list[Finding]:
    """Imports against the direction of the layers, or past the `rewound` name."""
    folder = rel.split("/")[0]
    may = LAYERS.get(folder)
    found: list[Finding] = []
    for line, name in imported(source, rel):
        parts = name.split(".")
        if parts[0] in LAYERS and parts[0] != "http":
            found.append((line, f"import rewound.{parts[0]}, not {parts[0]}"))
        if may is None:
            continue
        target = parts[1] if parts[0] == "rewound" and len(parts) > 1 else ""
        if target and target not in may:
            found.append((line, f"{folder} must not import {name}"))
        if parts[0] in BESIDE:
            found.append((line, f"the product must not import {name}"))
        if folder == "projections" and any(_within(name, banned) for banned in IMPURE):
            found.append((line, f"a projector has no use for {name}"))
    return found


def _within(name: str, banned: str) -> bool:
    return name == banned or name.startswith(banned + ".")


def _names(source: str) -> dict[str, str]:
    """Local name -> the dotted name that an import gave it."""
    names: dict[str, str] = {}
    for node in nodes(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`dt.now` -> `datetime.datetime.now`, if `dt` was imported as that; else empty."""
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, names)
        return f"{base}.{node.attr}" if base else ""
    return ""


def banned_uses(source: str, rel: str) -> list[Finding]:
    """Clock, randomness and environment outside the modules that may bring them in."""
    allowed: set[str] = set()
    for pattern, families in ALLOWED.items():
        if fnmatch.fnmatchcase(rel, pattern):
            allowed |= families
    banned = [name for family in BANNED.keys() - allowed for name in BANNED[family]]
    names = _names(source)
    uses = imported(source, rel)
    for node in nodes(source):
        if isinstance(node, ast.Attribute | ast.Name) and (name := _dotted(node, names)):
            uses.append((node.lineno, name))
    return sorted({use for use in uses if any(_within(use[1], name) for name in banned)})


def long_functions(source: str, rel: str) -> list[Finding]:
    """Functions of more lines than fit a screen, decorators not counted."""
    del rel
    found: list[Finding] = []
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                found.append((node.lineno, f"{node.name} has {lines} lines"))
    return found


def long_module(source: str, rel: str) -> list[Finding]:
    """A product module over the hard cap; tests and measurements may be longer."""
    lines = source.count("\n")
    if rel.split("/")[0] in LAYERS and lines > MODULE_LINES_MAX:
        return [(lines, f"the module has {lines} lines")]
    return []


def wide_lines(source: str, rel: str) -> list[Finding]:
    """Lines over the width."""
    del rel
    numbered = enumerate(source.splitlines(), 1)
    return [(n, f"{len(line)} columns") for n, line in numbered if len(line) > COLUMNS_MAX]


def left_for_later(source: str, rel: str) -> list[Finding]:
    """Marks of unfinished work: finish it, or write an issue."""
    del rel
    mark = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME")) + r")\b")
    return [(n, line.strip()) for n, line in enumerate(source.splitlines(), 1) if mark.search(line)]


RULES: list[Rule] = [
    wrong_imports,
    banned_uses,
    long_functions,
    long_module,
    wide_lines,
    left_for_later,
]

# One snippet a line that each rule must catch, with the file it would stand in.
BREAKS: list[tuple[Rule, str, str]] = [
    (wrong_imports, "eventlog/x.py", "from rewound.memory import Memory"),
    (wrong_imports, "eventlog/x.py", "from rewound import projections"),
    (wrong_imports, "eventlog/x.py", "def f():\n    import rewound.llm.nodes"),
    (wrong_imports, "projections/x.py", "from rewound.memory.store import Store"),
    (wrong_imports, "projections/x.py", "from ..llm import nodes"),
    (wrong_imports, "projections/x.py", "from time import sleep"),
    (wrong_imports, "llm/x.py", "import rewound.projections.facts"),
    (wrong_imports, "memory/x.py", "from rewound.http.app import app"),
    (wrong_imports, "memory/x.py", "from tests.oracle import Oracle"),
    (wrong_imports, "http/x.py", "from rewound.eventlog.ids import EventId"),
    (wrong_imports, "http/x.py", "from rewound.projections import facts"),
    (wrong_imports, "tests/x.py", "from eventlog.ids import EventId"),
    (banned_uses, "eventlog/x.py", "import time\nnow = time.time()"),
    (banned_uses, "eventlog/x.py", "import time as t\ndef f(clock=t.time_ns): ..."),
    (banned_uses, "eventlog/x.py", "from time import time"),
    (banned_uses, "memory/x.py", "from datetime import datetime\ndatetime.now(UTC)"),
    (banned_uses, "memory/x.py", "import datetime as dt\ndt.date.today()"),
    (banned_uses, "memory/x.py", "import uuid\nuuid.uuid4()"),
    (banned_uses, "memory/x.py", "import random"),
    (banned_uses, "memory/x.py", "import numpy as np\nnp.random.default_rng()"),
    (banned_uses, "llm/x.py", "import secrets as s\ns.token_bytes(8)"),
    (banned_uses, "http/x.py", "import os\nos.environ['A']"),
    (banned_uses, "http/x.py", "from os import getenv"),
    (banned_uses, "eventlog/bodies.py", "import time\ntime.time()"),
    (banned_uses, "eventlog/clock.py", "import os\nos.urandom(8)"),
    (long_functions, "tests/x.py", "def f():\n" + "    a = 1\n" * FUNCTION_LINES_MAX),
    (long_module, "http/x.py", "a = 1\n" * (MODULE_LINES_MAX + 1)),
    (wide_lines, "eval/x.py", "a" * (COLUMNS_MAX + 1)),
    (left_for_later, "eval/x.py", "a = 1  # TO" + "DO: more"),
]

HOLDS: list[tuple[Rule, str, str]] = [
    (wrong_imports, "http/x.py", "from http.client import OK\nfrom rewound.memory import Memory"),
    (wrong_imports, "memory/x.py", "from rewound.llm import nodes\nimport rewound.eventlog.ids"),
    (wrong_imports, "tests/x.py", "from rewound.eventlog import ids\nfrom eval.data import rows"),
    (banned_uses, "eventlog/clock.py", "import time\ntime.time_ns()"),
    (banned_uses, "eventlog/ids.py", "import os\nos.urandom(8)"),
    (banned_uses, "http/cli_admin.py", "import os\nos.environ['A']"),
    (banned_uses, "memory/x.py", "import time\ntime.monotonic()\nimport uuid\nuuid.UUID(int=1)"),
    (banned_uses, "memory/x.py", "def f(clock, time):\n    return time.time() + clock.time()"),
    (long_functions, "tests/x.py", "def f():\n" + "    a = 1\n" * (FUNCTION_LINES_MAX - 1)),
    (long_module, "http/x.py", "a = 1\n" * MODULE_LINES_MAX),
]


def python_files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "__pycache__" not in path.parts:
                yield path


@pytest.mark.parametrize(("rule", "rel", "source"), BREAKS)
def test_a_rule_catches_what_breaks_it(rule: Rule, rel: str, source: str) -> None:
    assert rule(source, rel)


@pytest.mark.parametrize(("rule", "rel", "source"), HOLDS)
def test_a_rule_lets_good_code_pass(rule: Rule, rel: str, source: str) -> None:
    assert not rule(source, rel)


def test_every_file_keeps_the_rules() -> None:
    findings: list[str] = []
    for path in python_files(*LAYERS, *BESIDE):
        rel = path.relative_to(ROOT).as_posix()
        source = path.read_text(encoding="utf-8")
        for rule in RULES:
            if rule is banned_uses and rel.split("/")[0] not in LAYERS:
                continue
            found = rule(source, rel)
            findings += [f"{rule.__name__}: {rel}:{line}: {what}" for line, what in found]
    assert not findings, "\n".join(findings)


def test_nothing_else_is_left_for_later() -> None:
    others = [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / ".ci/run", *ROOT.glob("*.md")]
    for folder in (*LAYERS, *BESIDE):
        for ending in ("md", "js", "css", "html", "sh", "toml", "yml", "yaml"):
            others += sorted((ROOT / folder).rglob(f"*.{ending}"))
    findings = [(str(path), left_for_later(path.read_text("utf-8"), "")) for path in others]
    assert [finding for finding in findings if finding[1]] == []


def test_http_is_still_the_standard_library() -> None:
    stdlib = Path(sysconfig.get_paths()["stdlib"]).resolve()
    assert http.__file__ is not None
    assert Path(http.__file__).resolve().is_relative_to(stdlib)
    assert not (ROOT / "http/__init__.py").exists()
    ours = {path.stem for path in (ROOT / "http").iterdir()} - {"__init__", "__pycache__"}
    assert ours & {module.name for module in pkgutil.iter_modules(http.__path__)} == set()


def test_no_folder_was_imported_past_the_namespace() -> None:
    assert [name for name in LAYERS if name in sys.modules] == ["http"]
    assert not (ROOT / "rewound").exists()


def test_pyproject_lists_every_folder_that_holds_code() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    hold_code = {path.parent.relative_to(ROOT) for path in python_files(*LAYERS)}
    packages = {".".join(("rewound", *folder.parts)) for folder in hold_code}
    assert sorted(setuptools["packages"]) == sorted(packages)
    assert setuptools["package-dir"] == {f"rewound.{folder}": folder for folder in LAYERS}
    assert project["tool"]["coverage"]["run"]["source"] == list(LAYERS)


def test_code_lies_only_in_the_folders_that_are_layers_or_beside_them() -> None:
    """Names fixed by the design: another top-level folder with code is a mistake."""
    holds_code = {
        path.relative_to(ROOT).parts[0]
        for folder in ROOT.iterdir()
        if folder.is_dir() and not folder.name.startswith(".") and folder.name != "build"
        for path in folder.rglob("*.py")
    }
    assert holds_code <= {*LAYERS, *BESIDE}
    assert not list(ROOT.glob("*.py"))


@pytest.mark.parametrize("folder", LAYERS)
def test_type_checkers_see_the_folder(folder: str) -> None:
    link = ROOT / ".types/rewound" / folder
    assert link.is_symlink()
    assert str(link.readlink()) == f"../../{folder}"
    assert (ROOT / folder / "py.typed").read_bytes() == b""
    assert (ROOT / folder / "__init__.py").exists() == (folder != "http")
