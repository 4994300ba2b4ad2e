"""What a chat server answered, read without trust and without guessing.

A reply may be fenced, chatty, preceded by its model's thoughts, wrapped in a list or carry a comma
too many: it is read where it can mean one thing only. Everything else is a failure that says why.
No message here quotes a reply, for that may hold words of a memory.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from rewound.eventlog.enums import Why
from rewound.llm.calling import says_too_long
from rewound.llm.failing import ServerFailed

Schema = Mapping[str, Any]
"""A JSON schema. Known are type, properties, required, items and enum; the rest is for servers."""

_STARTS_MAX = 200
"""Places in a chatty reply where an object is looked for."""


class ChatFailed(ServerFailed):
    """A chat server gave no usable answer; the message says why and holds no text of a memory."""


class Answer(NamedTuple):
    """What a server sent as the model's words, and why it ended there."""

    content: str
    reasoning: str
    cut_off: bool

    @property
    def thought(self) -> bool:
        """Whether the model thought before it answered."""
        return bool(self.reasoning.strip() or THOUGHTS.match(self.content))


def read(body: bytes, schema: Schema) -> dict[str, Any]:
    """The object in the body of a chat completion. Raises ChatFailed."""
    return object_in(answer_in(body), schema)


# --- the envelope


def answer_in(body: bytes) -> Answer:
    """The model's words in the body of a chat completion. Raises ChatFailed."""
    reply = envelope(body)
    choices = reply.get("choices")
    if not isinstance(choices, list):
        raise ChatFailed("the reply has no list of choices", Why.MALFORMED)
    if not choices:
        raise ChatFailed("the reply has no choice", Why.EMPTY_REPLY, smaller_may_help=True)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise ChatFailed("the reply has no message", Why.MALFORMED)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        raise ChatFailed("the model refused to answer", Why.REFUSED)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    finish = choice.get("finish_reason")
    if finish == "content_filter":
        raise ChatFailed("the server's filter held the answer back", Why.REFUSED)
    content = _text_of(message.get("content"))
    if not content.strip():
        content = _called_with(message)
    return Answer(content, _text_of(reasoning), finish == "length")


def _called_with(message: dict[str, Any]) -> str:
    """The arguments of the one function that a model calls in place of an answer, else nothing."""
    calls = message.get("tool_calls")
    given = calls if isinstance(calls, list) else [{"function": message.get("function_call")}]
    functions = [call.get("function") for call in given if isinstance(call, dict)]
    told = [one.get("arguments") for one in functions if isinstance(one, dict)]
    if len(told) != 1:
        return ""
    return told[0] if isinstance(told[0], str) else json.dumps(told[0])


def envelope(body: bytes) -> dict[str, Any]:
    """The object that a reply is. Raises ChatFailed, too when it holds an error."""
    if not body.strip():
        raise ChatFailed("the reply is empty", Why.EMPTY_REPLY, smaller_may_help=True)
    if body.lstrip()[:1] == b"<":
        raise ChatFailed("the reply is a web page, not JSON", Why.MALFORMED)
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        raise ChatFailed("the reply is not JSON", Why.MALFORMED) from None
    if not isinstance(reply, dict):
        raise ChatFailed("the reply is JSON, but not an object", Why.MALFORMED)
    if error := reply.get("error"):
        raise ChatFailed(
            "the reply holds an error in place of an answer",
            Why.REFUSED,
            too_long=says_too_long(error),
        )
    return reply


def _text_of(content: Any) -> str:
    """A content is a text or a list of parts; all that is no text counts as none."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


# --- the object in it


def object_in(answer: Answer, schema: Schema) -> dict[str, Any]:
    """The one object of an answer that fits the schema. Raises ChatFailed.

    A property that is not there counts as null where the schema allows that, and so does a number
    that is none (NaN, Infinity). Where nothing fits as it is, an answer that is all JSON may be
    of a form that can only mean this one (`recast`).
    """
    if answer.cut_off:
        raise ChatFailed(
            "the answer was cut off at the limit of tokens", Why.CUT_OFF, smaller_may_help=True
        )
    content = _after_thoughts(answer.content)
    if content.strip():
        return _one(list(_objects(content, schema)) or _recast(content, schema), content)
    # Some servers put a whole answer there. Among thoughts nothing is looked for.
    whole = _parsed(_unfenced(answer.reasoning)) if answer.reasoning.strip() else None
    found = _fitting(whole, schema)
    if len(found) == 1:
        return found[0]
    raise ChatFailed("the answer is empty", Why.EMPTY_REPLY, smaller_may_help=True)


def _one(found: list[dict[str, Any]], content: str) -> dict[str, Any]:
    if found and all(each == found[0] for each in found):
        return found[0]
    if found:
        raise ChatFailed("the answer holds several objects", Why.MALFORMED, smaller_may_help=True)
    if _never_ends(content):
        raise ChatFailed("the answer breaks off", Why.CUT_OFF, smaller_may_help=True)
    raise ChatFailed(
        "the answer holds no object of the form that was asked for",
        Why.MALFORMED,
        smaller_may_help=True,
    )


THOUGHTS = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.I)
_FINAL = re.compile(r"<\|channel\|>final[^<]*<\|message\|>")  # the channels of gpt-oss
_MARK = re.compile(r"<\|(?:end|return|call)\|>\s*$")
THOUGHTS_END = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.I)


def _after_thoughts(content: str) -> str:
    """What stands behind the thoughts; empty when these never end."""
    if finals := list(_FINAL.finditer(content)):
        return _MARK.sub("", content[finals[-1].end() :])
    while found := THOUGHTS.match(content):
        end = re.compile(rf"</{found[1]}>", re.I).search(content, found.end())
        if end is None:
            return ""
        content = content[end.end() :]
    if _parsed(content) is _NONE and (ends := list(THOUGHTS_END.finditer(content))):
        return content[ends[-1].end() :]  # Their beginning stood in the prompt.
    return content


_FENCES = ("```", "~~~")


def _unfenced(text: str) -> str:
    """What stands in a fence, where that is all of the text."""
    bare = text.strip()
    head, line, inside = bare.partition("\n")
    fenced = line and head.startswith(_FENCES) and bare.endswith(head[:3])
    return inside[:-3] if fenced else text


def _objects(content: str, schema: Schema) -> Iterator[dict[str, Any]]:
    """The objects of a text that fit: it as a whole, else each that stands in it."""
    whole = _parsed(_unfenced(content))
    if whole is not _NONE:
        yield from _fitting(whole, schema)
        return
    content = _without_commas(content)
    at = 0
    for _ in range(_STARTS_MAX):
        start = _START.search(content, at)
        if start is None:
            return
        try:
            value, at = _DECODER.raw_decode(content, start.start())
        except (ValueError, RecursionError):
            at = start.end()
            continue
        yield from _fitting(value, schema)


_START = re.compile(r"[{\[]")
# A string that never ends is one to the end: so the text is gone through once.
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.)*"?)|,(?=\s*[}\]])', re.S)


def _without_commas(text: str) -> str:
    """Without commas in front of a closing bracket, outside of strings."""
    return _STRING_OR_COMMA.sub(lambda found: found[1] or "", text)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _no_number(text: str) -> None:
    """NaN, Infinity and -Infinity, which are no JSON, say nothing."""
    del text


_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_number, parse_float=_finite)
_NONE = object()


def _parsed(text: str) -> Any:
    """The text as JSON, or _NONE."""
    for form in (text, _without_commas(text)):
        try:
            return _DECODER.decode(form)
        except (ValueError, RecursionError):
            continue
    return _NONE


def _never_ends(content: str) -> bool:
    """Whether an object was begun at the start of a line and its last bracket never came."""
    start = re.search(r"^\s*[{\[]", content, re.M)
    if start is None:
        return False
    bare = re.sub(r'"(?:[^"\\]|\\.)*"?', "", content[start.start() :], flags=re.S)
    opened = bare.count("{") + bare.count("[")
    return opened > bare.count("}") + bare.count("]")


# --- the form


def _fitting(value: Any, schema: Schema) -> list[dict[str, Any]]:
    """The value if it fits, or each of a list of objects that does."""
    values = value if isinstance(value, list) else [value]
    return [
        settled(each, schema) for each in values if isinstance(each, dict) and fits(each, schema)
    ]


_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def _types(schema: Schema) -> list[str]:
    named = schema.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value has the form that a schema asks for."""
    names = _types(schema)
    if value is None and (not names or "null" in names):
        return True
    if isinstance(value, bool) and "boolean" not in names:
        return False
    if names and not any(isinstance(value, _TYPES[name]) for name in names):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, list) and "items" in schema:
        return all(fits(each, schema["items"]) for each in value)
    if not isinstance(value, dict):
        return True
    properties: Mapping[str, Schema] = schema.get("properties", {})
    return all(
        fits(value[name], form) if name in value else "null" in _types(form)
        for name, form in properties.items()
    )


# --- other forms that mean the same


def _recast(content: str, schema: Schema) -> list[dict[str, Any]]:
    whole = _parsed(_unfenced(content))
    if isinstance(whole, str):  # JSON in a string of JSON
        whole = _parsed(_unfenced(whole))
    if whole is _NONE:
        return []
    return [settled(each, schema) for each in recast(whole, schema) if fits(each, schema)]


def recast(value: Any, schema: Schema) -> Iterator[Any]:
    """A value in the forms in which it may fit: wrapped into another object, or without the one
    that should be around it; with its names, words and numbers as the schema spells them."""
    yield bent(value, schema)
    if isinstance(value, dict) and len(value) == 1:
        yield bent(next(iter(value.values())), schema)
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if len(properties) == 1:
        ((name, form),) = properties.items()
        if "array" in _types(form) and form.get("items") and value:
            yield {name: bent(value, form)}


def bent(value: Any, schema: Schema) -> Any:
    """A value as the schema spells it: `"0.9"` as a number, `Fact` as `fact`, one where there may
    be several as a list. What cannot be bent stays."""
    if not schema:
        return value
    names = _types(schema)
    if isinstance(value, str):
        if "string" not in names and {"number", "integer"} & set(names):
            number = _parsed(value)
            return number if isinstance(number, int | float) else value
        spelt = [one for one in schema.get("enum", ()) if str(one).casefold() == value.casefold()]
        value = spelt[0] if spelt else value
    if "array" in names and value is not None and not isinstance(value, list):
        value = [value]
    if isinstance(value, list):
        return [bent(each, schema.get("items", {})) for each in value]
    if isinstance(value, dict):
        properties: Mapping[str, Schema] = schema.get("properties", {})
        low = {name.casefold(): each for name, each in value.items()}
        given = {name: value.get(name, low.get(name.casefold(), _NONE)) for name in properties}
        return {
            name: bent(each, properties[name]) for name, each in given.items() if each is not _NONE
        }
    return value


def settled(value: Any, schema: Schema) -> Any:
    """A value that fits, with null for what is not there, without what is not known, and with
    halves of characters replaced."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [settled(each, schema.get("items", {})) for each in value]
    if isinstance(value, dict):
        properties: Mapping[str, Schema] = schema.get("properties", {})
        return {name: settled(value.get(name), form) for name, form in properties.items()}
    return value
