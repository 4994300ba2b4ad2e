"""Checks that a model server does its work: a word in, and a vector, a score or an object out.

A port that is open proves nothing: a server may have no model, another one, or one that gives NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from rewound.llm.chat_model import ChatModel
from rewound.llm.nodes import Endpoint, Role
from rewound.llm.replies import ChatFailed

OK = "ok"
WORD = "apple"
TIMEOUT_S = 30.0

_SCHEMA = {
    "type": "object",
    "properties": {"fruit": {"type": "boolean"}},
    "required": ["fruit"],
}


def checked(endpoint: Endpoint, role: Role, chat_at: Callable[[Endpoint], ChatModel]) -> str:
    """OK, or what is wrong with a server in a role, in words."""
    if role in ("chat", "decide"):
        return _checked_chat(chat_at(endpoint))
    asked: dict[str, Any] = {"input": [WORD], "model": endpoint.model or "default"}
    path, read = "/embeddings", _vector
    if role == "rerank":
        asked = {"query": WORD, "documents": [WORD, "iron"], "model": endpoint.model or "default"}
        path, read = "/rerank", _scores
    base = endpoint.url if urlsplit(endpoint.url).path else f"{endpoint.url}/v1"
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    try:
        reply = httpx.post(
            base + path, json=asked, headers=headers, timeout=TIMEOUT_S, trust_env=False
        )
        if reply.status_code != 200:
            return f"it answers with status {reply.status_code}"
        return read(json.loads(reply.content))
    except httpx.TimeoutException:
        return f"it does not answer within {TIMEOUT_S:g} s"
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return f"it cannot be reached ({type(error).__name__})"
    except (ValueError, RecursionError):
        return "its answer is no JSON"


def _checked_chat(chat: ChatModel) -> str:
    try:
        chat.answer("You answer with JSON.", f"Is an {WORD} a fruit?", _SCHEMA, 64)
    except ChatFailed as failed:
        return str(failed)
    finally:
        chat.close()
    return OK


def _vector(reply: Any) -> str:
    data = reply.get("data") if isinstance(reply, dict) else None
    first = data[0] if isinstance(data, list) and data else None
    vector = first.get("embedding") if isinstance(first, dict) else None
    if not isinstance(vector, list) or not vector:
        return "its answer holds no vector"
    if not all(_is_number(each) for each in vector):
        return "its vector holds what is no number"
    return OK if any(vector) else "its vector has no length"


def _scores(reply: Any) -> str:
    results = reply.get("results") if isinstance(reply, dict) else None
    if not isinstance(results, list) or len(results) != 2:
        return "its answer does not hold a score for each text"
    found = [each.get("relevance_score") for each in results if isinstance(each, dict)]
    return OK if found and all(map(_is_number, found)) else "its scores are no numbers"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
