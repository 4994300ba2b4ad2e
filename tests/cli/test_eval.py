"""`rewound eval`: what a person sees, what a program reads, and when it fails."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from rewound.http.render import render
from rewound.http.render_parts import Look
from rewound.memory.evaluating import Evaluated
from rewound.memory.scoring import Loss, Measured, Scores
from tests.cli.fake import run

LINES: list[dict[str, Any]] = [
    {
        "type": "session",
        "id": "lunch",
        "messages": [
            {"id": "m1", "name": "Ana", "content": "The garage is in Mill Lane, ask for Joost."},
            {"id": "m2", "name": "Ben", "content": "Femke makes the best soup."},
        ],
    },
    {"type": "document", "id": "rota", "title": "Rota", "text": "Ben opens on Mondays."},
    {"type": "question", "id": "q1", "kind": "name", "question": "Who is at the garage?",
     "gold": ["m1"]},
    {"type": "question", "id": "q2", "kind": "date", "question": "Which days does Ben open?",
     "gold": ["rota"]},
    {"type": "question", "id": "q3", "kind": "nothing-fits", "question": "Zebra?", "gold": []},
]  # fmt: skip
WORDS_ALONE = {"REWOUND_EMBEDDER": "none", "REWOUND_EXTRACTOR": "none", "REWOUND_JUDGE": "none"}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return path


def evaluate(dataset: Path, *more: str | Path) -> Result:
    words = ["eval", "--dataset", str(dataset), *map(str, more)]
    return run(*words, env={**WORDS_ALONE})


def test_a_row_for_each_kind_and_one_for_all(dataset: Path) -> None:
    result = evaluate(dataset, "-k", "3")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0][:3] == ["questions", "recall@3", "MRR@3"]
    assert [row[0] for row in rows[1:5]] == ["name", "date", "nothing-fits", "all"]
    assert rows[1][1:6] == ["1", "1.000", "1.000", "-", "-"]
    assert rows[3][1:6] == ["1", "-", "-", "-", "1.000"]
    assert rows[4][1:6] == ["3", "1.000", "1.000", "-", "1.000"]
    assert "embedder none · extractor none · judge none" in result.stdout


def test_json_is_the_reply(dataset: Path) -> None:
    result = evaluate(dataset, "--json")
    told = json.loads(result.stdout)
    assert told["reply"] == "Evaluated"
    assert told["measured"]["k"] == 5
    assert told["measured"]["total"]["recall"] == 1.0
    assert told["measured"]["kinds"]["nothing-fits"]["recall"] is None
    assert told["p95_ms"] >= told["p50_ms"] > 0


def test_a_run_is_compared_with_what_was_recorded(dataset: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    assert evaluate(dataset, "--record", figures).exit_code == 0
    same = evaluate(dataset, "--compare", figures)
    assert same.exit_code == 0
    assert same.stdout.endswith(f"no figure is worse than in {figures}\n")
    before = json.loads(figures.read_bytes())
    before["total"]["newest_first"] = 0.75
    figures.write_text(json.dumps(before))
    worse = evaluate(dataset, "--compare", figures)
    assert worse.exit_code == 1
    last = worse.stdout.splitlines()[-1]
    assert last.split() == "all newest_first 0.750 -> - may fall by 0.010".split()
    told = json.loads(evaluate(dataset, "--compare", figures, "--json").stdout)
    assert [loss["figure"] for loss in told["losses"]] == ["newest_first"]


def test_figures_of_another_run_are_refused(dataset: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    evaluate(dataset, "--record", figures)
    result = evaluate(dataset, "-k", "3", "--compare", figures)
    assert result.exit_code == 2
    assert "are of k 5, this run is of 3" in result.stderr
    assert result.stdout == ""


def test_the_store_can_be_kept(dataset: Path, tmp_path: Path) -> None:
    assert evaluate(dataset, "--store", tmp_path / "kept").exit_code == 0
    assert (tmp_path / "kept/log").is_dir()
    assert evaluate(dataset, "--store", tmp_path / "kept").exit_code == 0
    (tmp_path / "mine/log").mkdir(parents=True)
    result = evaluate(dataset, "--store", tmp_path / "mine")
    assert result.exit_code == 2
    assert "name a folder that is not there yet" in result.stderr


def test_what_is_wrong_with_the_file_is_said(dataset: Path, tmp_path: Path) -> None:
    dataset.write_text(json.dumps({"type": "question", "id": "q"}) + "\n")
    result = evaluate(dataset)
    assert result.exit_code == 2
    assert "line 1 of small.jsonl" in result.stderr
    missing = evaluate(tmp_path / "nowhere.jsonl")
    assert missing.exit_code == 2 and "nowhere.jsonl" in missing.stderr


def test_losses_are_printed_with_what_was_allowed() -> None:
    reply = Evaluated(
        measured=Measured(
            dataset="set.jsonl",
            sha256="ab",
            k=5,
            models={"embedder": "minilm"},
            total=Scores(questions=1200, recall=0.51, tokens=1234.5),
            kinds={},
        ),
        p50_ms=2.0,
        p95_ms=3.25,
        compared_with="old.json",
        losses=(Loss(kind="all", figure="recall", recorded=0.6, now=0.51, allowed=0.01),),
        notes=("no facts could be drawn from 2 texts",),
    )
    assert render(reply, Look()).splitlines()[1:] == [
        "all      1,200     0.510      -             -              -   1,234",
        "a search: 2.0 ms (p50), 3.2 ms (p95) · embedder minilm",
        "note: no facts could be drawn from 2 texts",
        "worse than in old.json:",
        "all  recall  0.600 -> 0.510  may fall by 0.010",
    ]
