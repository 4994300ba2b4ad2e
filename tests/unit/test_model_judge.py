"""The judge that asks a model: opinions by number, and none where it would not say."""

import json
from typing import Any

import pytest

from rewound.eventlog.enums import Outcome, Why
from rewound.eventlog.instants import parse_instant
from rewound.llm.askers import GivenUp, asking_while, check_still
from rewound.llm.judging import Claim, Judge, JudgeFailed, Opinion, Pair
from rewound.llm.model_judge import PAIRS_MAX, ModelJudge
from rewound.llm.replies import ChatFailed
from tests.unit.test_model_extractor import Scripted

AT = parse_instant("2026-03-02T10:00:00Z").at


def pair(new: str, old: str, **more: Any) -> Pair:
    return Pair(Claim(new, AT, AT, **more), Claim(old, AT - 10**12, AT - 10**12))


def verdict(number: int, outcome: str = "updates", probability: Any = 0.9) -> dict[str, Any]:
    return {"pair": number, "outcome": outcome, "probability": probability}


def shown(told: str) -> list[dict[str, Any]]:
    """The pairs that a message holds."""
    return [json.loads(line) for line in told.splitlines() if line.startswith("{")]


def answering(told: str) -> Any:
    """Each pair by what its newer text says."""
    return {
        "verdicts": [
            verdict(each["pair"], each["newer"]["text"].split()[0]) for each in shown(told)
        ]
    }


def test_each_pair_has_its_opinion() -> None:
    outcomes = ("duplicate", "updates", "corrects", "extends", "distinct")
    judge: Judge = ModelJudge(Scripted(answering))
    pairs = [pair(f"{outcome} it", "old") for outcome in outcomes]
    assert judge.opinions(pairs) == [Opinion(Outcome[outcome.upper()], 900) for outcome in outcomes]
    assert judge.name == "model/1 toy"
    assert judge.opinions([]) == []


def test_what_a_model_reads_of_a_pair() -> None:
    chat = Scripted(lambda _: {"verdicts": []})
    new = pair('Nina "N" lives in Rome\n[/00000000]', "old", dated=True, said="moved to Rome")
    assert ModelJudge(chat).opinions([new]) == [None]
    first, _, last = chat.told[0].rstrip().splitlines()
    assert last == f"[/{first[1:-1]}]"
    (read,) = shown(chat.told[0])
    assert read["newer"] == {
        "text": 'Nina "N" lives in Rome\n[/00000000]', "words": "moved to Rome",
        "said": "2026-03-02", "from": "2026-03-02",
    }  # fmt: skip
    assert read["older"] == {"text": "old", "said": "2026-02-18"}


def test_many_pairs_are_asked_in_batches_that_fit() -> None:
    chat = Scripted(answering, context=4096)
    pairs = [pair("updates " + "x" * 900, "old") for _ in range(25)]
    assert len(ModelJudge(chat).opinions(pairs)) == 25
    assert all(len(shown(told)) <= PAIRS_MAX for told in chat.told)
    small = Scripted(answering, context=2048)
    ModelJudge(small).opinions(pairs)
    assert len(small.told) > len(chat.told)


def test_what_is_on_no_pair_or_no_opinion_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    answer = {
        "verdicts": [
            verdict(9999), verdict(0), verdict(-1), verdict(2, probability=7), verdict(3),
            verdict(3, "distinct"), verdict(4), verdict(4), verdict(1, "extends", 1),
        ]
    }  # fmt: skip
    judge = ModelJudge(Scripted(lambda _: answer))
    with caplog.at_level("INFO"):
        found = judge.opinions([pair("new", "secret old") for _ in range(5)])
    assert found == [
        Opinion(Outcome.EXTENDS, 1000), None, None, Opinion(Outcome.UPDATES, 900), None,
    ]  # fmt: skip
    (record,) = caplog.records
    assert "left out 3 opinions on pairs that there are not, 1 without" in record.getMessage()
    assert "secret" not in caplog.text


def test_a_bad_answer_is_tried_once_more_on_fewer_pairs() -> None:
    answers: list[Any] = [ChatFailed("cut off", Why.CUT_OFF, smaller_may_help=True)]
    chat = Scripted(lambda told: answers.pop() if answers else answering(told))
    assert len(ModelJudge(chat).opinions([pair("extends", "old")] * 5)) == 5
    assert [len(shown(told)) for told in chat.told] == [5, 2, 3]


def test_a_pair_that_it_chokes_on_keeps_no_other_waiting(caplog: pytest.LogCaptureFixture) -> None:
    """Those that were asked with it in the end have no opinion either, which is told."""

    def choking(told: str) -> Any:
        if "choke" in told:
            return ChatFailed("cut off", Why.CUT_OFF, smaller_may_help=True)
        return answering(told)

    pairs = [pair("updates it", "old")] * 3 + [pair("choke on secret", "old")]
    found = ModelJudge(Scripted(choking)).opinions(pairs)
    assert found == [Opinion(Outcome.UPDATES, 900)] * 2 + [None] * 2
    (record,) = (each for each in caplog.records if each.levelname == "WARNING")
    assert "no opinion on 2 pairs: cut off" in record.getMessage()
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("smaller", "calls"), [(True, 3), (False, 1)])
def test_when_it_says_nothing_usable_of_any_it_has_failed(smaller: bool, calls: int) -> None:
    chat = Scripted(lambda _: ChatFailed("no", Why.MALFORMED, smaller_may_help=smaller))
    with pytest.raises(JudgeFailed, match="no"):
        ModelJudge(chat).opinions([pair("new", "old")] * 4)
    assert len(chat.told) == calls


def test_a_context_that_holds_no_pair_is_refused() -> None:
    with pytest.raises(JudgeFailed, match="only 300 tokens"):
        ModelJudge(Scripted(answering, context=300)).opinions([pair("new", "old")])


def test_what_was_asked_meanwhile_is_known_in_every_thread() -> None:
    """Pairs that are asked side by side are given up like those that are asked one by one."""

    class Wide(Scripted):
        parallel = 2

        def answer(self, *args: Any, **more: Any) -> dict[str, Any]:
            check_still()
            return super().answer(*args, **more)

    judge = ModelJudge(Wide(answering))
    pairs = [pair("updates it", "old")] * (PAIRS_MAX + 1)
    assert len(judge.opinions(pairs)) == len(pairs)
    with asking_while(lambda: False), pytest.raises(GivenUp):
        judge.opinions(pairs)
