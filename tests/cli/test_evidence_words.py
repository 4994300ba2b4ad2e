"""Evidence and verdicts are told in words that people read, and a forgetting that is over is not
offered for undoing."""

import json
from importlib.resources import files

import msgspec

from rewound.http.evidence_words import FLAGS, SHARES, evidence_line
from rewound.memory import replies as r
from tests.cli.fake import FACT, OLD, SAMPLES, FakeLink, run


def test_every_piece_of_evidence_that_is_weighed_has_words() -> None:
    policy = json.loads(files("rewound.llm").joinpath("policy.json").read_bytes())
    plain = {name for name in policy["features"] if "*" not in name} - {"bias"}
    assert plain <= SHARES.keys() | FLAGS.keys() and not SHARES.keys() & FLAGS.keys()
    assert not any("_" in said for said in (*SHARES.values(), *FLAGS.values()))
    assert len({*SHARES.values(), *FLAGS.values()} - {""}) == len(SHARES) + len(FLAGS) - 2


def test_what_spoke_loudest_comes_first_and_only_shares_have_numbers() -> None:
    told = evidence_line(
        {
            "overlap": 0.25, "subject_same": 1.0, "has_similarity": 1.0, "same*overlap": 1.0,
            "denies": 0.0, "opinion updates": 0.75, "some_new_one": 0.5,
        }
    )  # fmt: skip
    assert told == (
        "same subject, the judge says updates 0.75, some new one 0.50, words in common 0.25"
    )
    many = evidence_line({f"n{number}": 0.5 for number in range(15)})
    assert many.endswith(" and 3 more (--json)") and many.count("0.50") == 12


def test_a_verdict_is_one_line_of_the_log() -> None:
    told = SAMPLES["Told"]
    assert isinstance(told, r.Told)
    pairs = [
        {"old": OLD, "outcome": "updates", "probability": 930},
        *({"old": FACT, "outcome": "distinct", "probability": 990} for _ in range(7)),
    ]
    judged = msgspec.structs.replace(
        told.events[0],
        type="facts judged",
        texts={"judge": "rules/2", "evidence": [{"overlap": 500}] * 8},
        data={"fact": FACT, "pairs": pairs},
        withheld=None,
        undone_by=None,
    )
    link = FakeLink(Events=msgspec.structs.replace(told, events=(judged,)))
    (line,) = [each for each in run("log", link=link).stdout.splitlines() if "facts judged" in each]
    assert line.endswith(f"{FACT} compared with 8 facts: updates {OLD} 0.93, 7 distinct")
    whole = json.loads(run("log", "--json", link=link).stdout)
    assert len(whole["events"][0]["texts"]["evidence"]) == 8
    bare = msgspec.structs.replace(judged, texts={}, data={"fact": FACT, "pairs": [{"old": OLD}]})
    link = FakeLink(Events=msgspec.structs.replace(told, events=(bare,)))
    assert f"{FACT} compared with 1 fact: 1 distinct" not in run("log", link=link).stdout


def test_an_explanation_without_an_id_points_to_the_search() -> None:
    ended = run("explain", "where's Nina")
    assert ended.exit_code == 2 and "--id is missing" in ended.stderr
    assert """rewound search 'where'"'"'s Nina' --explain""" in ended.stderr


def test_counts_of_one_are_not_plural() -> None:
    replayed = SAMPLES["Replayed"]
    assert isinstance(replayed, r.Replayed)
    one = msgspec.structs.replace(replayed, rows={"facts": 1, "words": 2})
    lines = run("replay", "--at", "@1", link=FakeLink(Replay=one)).stdout.splitlines()
    assert [" ".join(line.split()) for line in lines if "row" in line] == [
        "facts 1 row", "words 2 rows",
    ]  # fmt: skip
