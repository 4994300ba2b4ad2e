"""What a user gets: the sdist, the wheel built from it, installed where no source lies around."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from rewound.memory import release

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS: dict[str, str] = PROJECT["tool"]["setuptools"]["package-dir"]
VERSION: str = PROJECT["project"]["version"]

FIRST_USE = """
import sys
from pathlib import Path

import rewound.memory
from rewound.memory import Memory

assert Path(rewound.memory.__file__).is_relative_to(sys.prefix), rewound.memory.__file__
m = Memory(sys.argv[1])
m.remember("Nina works at Orbit Labs.")
hits = m.search("where does Nina work").hits
assert hits[0].text == "Nina works at Orbit Labs.", hits
m.close()
print("remembered")
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Output of a command that must succeed, without this process's Python and Rewound settings."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "REWOUND_", "COV_"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=kept, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def link_needs(requirements: Iterable[str], site: Path) -> set[str]:
    """Lay what these need, and all that it needs in turn, into a folder of packages: links to what
    is here already, for it takes long to unpack. What nobody names stays out of reach."""
    waiting = [(Requirement(text), "") for text in requirements]
    linked: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    while waiting:
        need, extra = waiting.pop()
        if need.marker is not None and not need.marker.evaluate({"extra": extra}):
            continue
        found = metadata.distribution(need.name)
        assert need.specifier.contains(found.version, prereleases=True), need
        linked[need.name.lower()] = found
        for wanted in {"", *need.extras} - {e for name, e in seen if name == need.name}:
            seen.add((need.name, wanted))
            waiting += [(Requirement(text), wanted) for text in found.requires or []]
    for found in linked.values():
        for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(str(found.locate_file(top)))
    return set(linked)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both archives, built in a copy so that nothing is left in the work tree."""
    copy = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy)
    for folder in FOLDERS.values():
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, copy / folder, ignore=ignore, dirs_exist_ok=True)
    run(sys.executable, "-m", "build", "--no-isolation", cwd=copy)
    return copy / "dist"


def test_the_code_knows_its_version() -> None:
    assert release.VERSION == VERSION


def test_the_archives_hold_every_module(dist: Path) -> None:
    expected = {
        f"rewound/{folder}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder in FOLDERS.values()
        for path in (ROOT / folder).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed" or path.parent.name == "prompts"
    }
    with zipfile.ZipFile(dist / f"rewound-{VERSION}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
    assert {name for name in names if ".dist-info/" not in name} >= expected
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names} == {"rewound", f"rewound-{VERSION}.dist-info"}
    with tarfile.open(dist / f"rewound-{VERSION}.tar.gz") as sdist:
        packed = set(sdist.getnames())
    top = f"rewound-{VERSION}"
    assert packed >= {name.replace("rewound/", f"{top}/", 1) for name in expected}
    assert f"{top}/LICENSE" in packed


def test_the_wheel_works_in_a_fresh_venv(dist: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    python = tmp_path / "venv/bin/python"
    wheel = dist / f"rewound-{VERSION}-py3-none-any.whl"
    install = ("install", "-qq", "--no-compile", "--no-deps", wheel)
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=tmp_path)
    (site,) = (tmp_path / "venv/lib").glob("python*/site-packages")
    (ours,) = metadata.distributions(path=[str(site)])
    linked = link_needs(ours.requires or [], site)
    assert {"lmdb", "numpy", "onnxruntime"} <= linked and "pytest" not in linked
    assert run(python, "-c", FIRST_USE, tmp_path / "store", cwd=tmp_path) == "remembered\n"
    assert VERSION in run(tmp_path / "venv/bin/rewound", "--version", cwd=tmp_path)
