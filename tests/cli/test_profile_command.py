"""`rewound profile`: the text for a model, and buckets as they are named on a command line."""

import msgspec
import pytest

from rewound.memory import replies as r
from tests.cli.fake import SAMPLES, FakeLink, run

PORTRAIT = SAMPLES["Portrait"]


def test_a_person_reads_each_fact_once() -> None:
    assert isinstance(PORTRAIT, r.Portrait)
    line = msgspec.structs.replace(PORTRAIT.stable[0], text="Nina is away.", until="2026-03-09")
    away = msgspec.structs.replace(line, id="fact_away")
    told = msgspec.structs.replace(PORTRAIT, recent=(away,), stable=(*PORTRAIT.stable, away))
    shown = run("profile", link=FakeLink(Profile=told)).stdout
    assert shown.count("Nina likes tea.") == shown.count("Nina is away.") == 1
    assert shown.index("preferences") < shown.index("recent") and "stable" not in shown
    assert "2026-03-02 – 2026-03-09" in shown and "3 sources" in shown
    assert "2 facts in default · mostly about Nina · 40 of 1,000 tokens" in shown


def test_markdown_is_the_text_as_it_is() -> None:
    assert isinstance(PORTRAIT, r.Portrait)
    done = run("profile", "--markdown")
    assert done.stdout == PORTRAIT.text + "\n"
    assert done.stderr == "note: one note\n"
    assert '"reply":"Portrait"' in run("profile", "--markdown", "--json").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--bucket", "food"), "'food' is a bucket of your own: write food=QUERY or food=#TAG"),
        (("--bucket", "food="), "nothing stands after food="),
        (("--bucket", "food=#"), "nothing stands after food="),
        (("--bucket", "work", "--no-buckets"), "it stands beside --no-buckets"),
    ],
)
def test_a_bucket_that_says_nothing_is_refused(words: tuple[str, ...], said: str) -> None:
    done = run("profile", *words)
    assert done.exit_code == 2 and said in done.stderr and done.stdout == ""


def test_what_is_forgotten_cannot_be_asked_for() -> None:
    assert run("profile", "--include-forgotten").exit_code == 2
