"""`rewound explain` and `rewound search --explain`, printed for a person."""

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from rewound.http.cli import main
from rewound.memory import Memory
from rewound.memory import replies as r
from rewound.memory.models import Models
from tests.cli.fake import DOC, EXPLANATION, FACT, MSG, OLD, RANKING, SAMPLES, FakeLink, run


def test_a_fate_is_told_with_its_stages_and_parts() -> None:
    assert run("explain", "where", "--id", DOC).stdout.splitlines() == [
        f"{DOC} · not found · psg_1: it would be hit 7 · beyond_limit",
        "by words and meaning 4 · 0.500 · words 0.800, meaning 0.300 · before it 0.250, 0.125",
        "ranked anew 2 · score +4.500 · logit +0.750, probability 0.679 · "
        f"1 before it of the same unit · unit {MSG}",
        "feature 1 +1.000, feature 2 +0.500, feature 3 +0.333, feature 4 +0.250, "
        "feature 5 +0.200, feature 6 +0.167, feature 7 +0.143, feature 8 +0.125 "
        "and 2 more (--json)",
        f"its score is that of {OLD} · 1 more that say the same",
        "its parts, the nearest first",
        "  psg_1  passage  1  it is hit 1",
        "  psg_2  passage     no word",
        "",
        "ranked by lists 1, words and meaning",
        "the question was taken for: when, first person, month 5, 2026, said by nina",
        "1,200 entries, 1,100 allowed, 900 found, 300 ranked anew in 250 units",
        "the first 3 hits in default · as of 2026-03-03 23:59:59 (@7) · "
        "times without an offset read in Europe/Berlin · tags work",
        "note: one note",
    ]


def test_what_is_found_or_unknown_is_told_in_a_line() -> None:
    traced = SAMPLES["Traced"]
    assert isinstance(traced, r.Traced)
    bare = {"part": None, "parts": (), "explanation": None, "ranking": None, "notes": ()}
    fate = r.Fate(id=FACT, kind="fact", found=True, told="it is hit 1, score 0.80", place=1)
    plain = msgspec.structs.replace(traced, fate=fate, **bare)
    shown = run("explain", "where", "--id", FACT, link=FakeLink(Explain=plain)).stdout
    assert shown.splitlines()[0] == f"{FACT} · found · it is hit 1, score 0.80"


def test_hits_are_explained_below_their_ids() -> None:
    found = SAMPLES["Found"]
    assert isinstance(found, r.Found)
    first = msgspec.structs.replace(found.hits[0], explanation=EXPLANATION)
    told = msgspec.structs.replace(found, hits=(first, *found.hits[1:]), ranking=RANKING)
    lines = run("search", "where", "--explain", link=FakeLink(Search=told)).stdout.splitlines()
    assert lines[4].startswith("   by words and meaning 4 · 0.500")
    assert lines[5].startswith("   ranked anew 2 · score +4.500")
    assert "ranked by lists 1, words and meaning" in lines


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/nowhere")
    for name in ("EMBEDDER", "EXTRACTOR", "JUDGE"):
        monkeypatch.setenv(f"REWOUND_{name}", "none")
    return tmp_path / "store"


def test_a_real_store_says_the_same_as_the_library(store: Path) -> None:
    with Memory(store, models=Models(embedder="none", extractor="none", judge="none")) as memory:
        work = memory.remember("Nina works at Orbit Labs.").items[0].id or ""
        tea = memory.remember("Tea is at four.").items[0].id or ""
        ours = [
            memory.explain("Nina work", id=work, limit=3),
            memory.explain("Nina work", id=tea, limit=3, kinds="fact"),
            memory.search("Nina work", limit=3, explain=True),
        ]
    asked = (
        ("explain", "Nina work", "--id", work, "--limit", "3"),
        ("explain", "Nina work", "--id", tea, "--limit", "3", "--kind", "fact"),
        ("search", "Nina work", "--limit", "3", "--explain"),
    )
    for args, reply in zip(asked, ours, strict=True):
        done = CliRunner().invoke(main, [*args, "--json", "--data", str(store)])
        assert done.exit_code == 0, done.output
        assert done.stdout_bytes == msgspec.json.encode(reply) + b"\n"
    plain = CliRunner().invoke(main, ["explain", "Nina work", "--id", tea, "--data", str(store)])
    assert "not found · its text holds no word of the query" in plain.stdout
    missing = CliRunner().invoke(main, ["explain", "x", "--json", "--data", str(store)])
    assert missing.exit_code == 2 and "--id" in json.loads(missing.stderr)["message"]
