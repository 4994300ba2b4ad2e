"""R10: replies of models that are damaged in other ways. What can mean one thing only is used, what
breaks off is not, and nothing is taken for an answer of no facts."""

import json
from typing import Any

import pytest

from rewound.eventlog.enums import Why
from rewound.llm.prompting import prompt
from rewound.llm.replies import ChatFailed, read

FACT: dict[str, Any] = {
    "quote": "My bike is orange", "text": "The user's bike is orange", "kind": "fact",
    "subject": None, "attribute": None, "value": None, "entities": ["bike"], "valid_from": None,
    "valid_to": None, "confidence": 0.9,
}  # fmt: skip
MEANT = {"facts": [FACT]}
GOOD = json.dumps(MEANT)
OTHER = json.dumps({"facts": [FACT | {"text": "draft"}]})
EMPTY = json.dumps({"facts": []})


def body(content: Any, **more: Any) -> bytes:
    message = {"role": "assistant", "content": content, **more}
    return json.dumps({"choices": [{"finish_reason": "stop", "message": message}]}).encode()


def called(*arguments: Any) -> bytes:
    """A model that calls functions in place of an answer."""
    calls = [{"type": "function", "function": {"name": "facts", "arguments": a}} for a in arguments]
    return body(None, tool_calls=calls)


MEANS_IT = {
    "a function is called": called(GOOD),
    "with an object": called(MEANT),
    "in the old way": body("", function_call={"name": "facts", "arguments": GOOD}),
    "channels": body(
        f"<|channel|>analysis<|message|>perhaps {OTHER}<|end|><|start|>assistant<|channel|>final"
        f"<|message|>{GOOD}<|return|>"
    ),
    "JSON in a string": body(json.dumps(GOOD)),
    "wrapped": body(json.dumps({"result": MEANT})),
    "the list alone": body(json.dumps([FACT])),
    "in a fence": body(f"```json\n{json.dumps([FACT])}\n```"),
    "the fact alone": body(json.dumps(FACT)),
    "one in place of a list": body(json.dumps({"facts": FACT})),
    "a number in quotes": body(GOOD.replace("0.9", '"0.9"')),
    "a word in capitals": body(GOOD.replace('"fact"', '"FACT"')),
    "a name in capitals": body(GOOD.replace('"facts"', '"Facts"')),
    "one name in place of several": body(GOOD.replace('["bike"]', '"bike"')),
}


@pytest.mark.parametrize("reply", MEANS_IT.values(), ids=MEANS_IT.keys())
def test_r10_what_can_mean_one_thing_only_is_used(reply: bytes) -> None:
    assert read(reply, prompt("extract.v1").schema) == MEANT


FAILS = {
    "a list that breaks off": (body(json.dumps([FACT, FACT])[:-40]), Why.CUT_OFF),
    "a fact that breaks off": (body(GOOD[:-2]), Why.CUT_OFF),
    "a call that breaks off": (called(GOOD[:-30]), Why.CUT_OFF),
    "two calls": (called(GOOD, OTHER), Why.EMPTY_REPLY),
    "a call of nothing": (called(None), Why.MALFORMED),
    "an empty list": (body("[]"), Why.MALFORMED),
    "an empty object": (body("{}"), Why.MALFORMED),
    "no list": (body('{"facts": null}'), Why.MALFORMED),
    "words for facts": (body('{"facts": ["My bike is orange"]}'), Why.MALFORMED),
    "two answers": (body(f"{EMPTY}\nor rather\n{GOOD}"), Why.MALFORMED),
    "an apology": (body("I'm sorry, I can't help with that."), Why.MALFORMED),
    "deep": (body("[" * 900 + "]" * 900), Why.MALFORMED),
    "a channel without an end": (
        body(f"<|channel|>final<|message|>{GOOD[:-20]}"),
        Why.CUT_OFF,
    ),
}


@pytest.mark.parametrize(("reply", "why"), FAILS.values(), ids=FAILS.keys())
def test_r10_nothing_else_is_taken_for_an_answer(reply: bytes, why: Why) -> None:
    with pytest.raises(ChatFailed) as failed:
        read(reply, prompt("extract.v1").schema)
    assert failed.value.why is why
    assert "bike" not in str(failed.value)
