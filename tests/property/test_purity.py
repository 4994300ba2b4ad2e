"""Law 9 by reading the sources: projectors and deciders import no clock, dice, network or model.

Rules that read words are no model: what a decider imports of them is held to the same.

The guard in `purity.py` says the same of what is run; here it is said of what could be run.
"""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPURE = {
    "time", "random", "secrets", "uuid", "socket", "httpx", "aiohttp", "asyncio", "requests",
    "onnxruntime", "tokenizers",
}  # fmt: skip
MOMENTS = {"now", "utcnow", "today"}
"""Methods of `datetime` and `date` that ask the clock."""
ENGINE = {"engine", "writer", "upkeep", "transactions", "progress", "inbox"}
"""What runs deciders: it may wait and keep time."""


@cache
def imported(source: str) -> tuple[str, ...]:
    """Dotted names of the modules that a source imports, those of names imported from it included.

    Each file is asked for again and again, and the tests are collected by what it says: so it is
    read once, and only where statements stand.
    """
    found: list[str] = []
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, ())
    return tuple(found)


def imports(path: Path) -> tuple[str, ...]:
    return imported(path.read_text())


def file_of(module: str) -> Path | None:
    """The file of a module of ours."""
    name, _, inner = module.partition(".")
    path = ROOT / (inner.replace(".", "/") + ".py")
    return path if name == "rewound" and inner and path.is_file() else None


def reached(paths: list[Path], folders: tuple[str, ...]) -> set[Path]:
    """These files and all of the folders that they import, directly or not."""
    found: set[Path] = set()
    waiting = list(paths)
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            nearer = (file_of(module) for module in imports(path))
            waiting += [p for p in nearer if p is not None and p.parent.name in folders]
    return found


def impurities(path: Path) -> list[str]:
    found = [name for name in imports(path) if name.partition(".")[0] in IMPURE]
    if path.parent.name == "projections":
        found += [name for name in imports(path) if name.startswith("rewound.llm")]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in MOMENTS:
                found.append(f"line {node.lineno}: .{node.func.attr}()")
    return found


def pure_files() -> list[Path]:
    deciders = sorted((ROOT / "memory").glob("decide_*.py"))
    projectors = sorted((ROOT / "projections").glob("*.py"))
    return sorted(reached([*deciders, *projectors], ("memory", "projections", "llm")))


def test_deciders_do_not_reach_into_the_engine() -> None:
    assert not ENGINE & {path.stem for path in pure_files() if path.parent.name == "memory"}


@pytest.mark.parametrize("path", pure_files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_projectors_and_deciders_are_pure(path: Path) -> None:
    assert not impurities(path), f"{path.name}: {impurities(path)}"


def test_impurity_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "x.py"
    source.write_text("import time\nfrom random import choice\n")
    assert {"time", "random", "random.choice"} <= set(impurities(source))
    inner = (
        "if x:\n    try: pass\n    except E:\n        match y:\n            case 1: import uuid\n"
    )
    source.write_text(f"def f():\n    for a in b: pass\n    else: import random\n{inner}")
    assert impurities(source) == ["uuid", "random"]
    source.write_text("from datetime import datetime\nx = datetime.now()\n")
    assert impurities(source) == ["line 2: .now()"]
