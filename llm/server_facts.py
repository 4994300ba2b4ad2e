"""What a model server tells of itself: how much it reads at once, how many calls it works on side
by side, what it is and which models it has.

llama.cpp tells all of it (`/props`, `/slots`, `/v1/models`), others their models only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from rewound.llm.calling import Server, lasting
from rewound.llm.failing import ServerFailed

Kind = Literal["llama.cpp", "vllm", "ollama", "other"]

PROBE_S = 5.0
"""For one question about the server itself: it answers at once or is in trouble."""


class Facts(NamedTuple):
    """`context_tokens` of one call and `slots` (calls worked on at once) are None where the server
    does not tell. `listed` is the model that is meant, or the first, None where none is listed."""

    kind: Kind
    context_tokens: int | None
    slots: int | None
    listed: str | None
    thinks: bool
    """Whether its model's template knows of thinking that can be turned off."""


def facts_of(server: Server, model: str | None = None, timeout_s: float | None = None) -> Facts:
    """Asked anew each time. Raises the server's failure when it cannot be reached, after
    `timeout_s` at the latest."""
    left_s = lasting(timeout_s)
    props = _mapping(server.told(f"{server.root}/props", probe_s(left_s())))
    models = _models(server.told(f"{server.base}/models", probe_s(left_s())))
    mine = next((each for each in models if each.get("id") == model), None)
    if mine is None and models and (model is None or props):
        mine = models[0]  # llama.cpp has one model, whatever it is called
    settings = _mapping(props.get("default_generation_settings"))
    return Facts(
        _kind(props, mine or {}),
        count_of(settings.get("n_ctx")) or _listed_context(mine or {}),
        count_of(props.get("total_slots")),
        _text(mine.get("id")) if mine else None,
        "enable_thinking" in (_text(props.get("chat_template")) or ""),
    )


def probe_s(left_s: float | None) -> float:
    """How long one question about the server may take, where so much time is left."""
    return PROBE_S if left_s is None else min(left_s, PROBE_S)


def busy_slots(server: Server) -> int | None:
    """How many of its slots work now; None where the server does not tell. Raises the server's
    failure when it cannot be reached."""
    slots = server.told(f"{server.root}/slots", PROBE_S)
    if not isinstance(slots, list):
        return None
    return sum(bool(_mapping(each).get("is_processing")) for each in slots)


def is_ready(server: Server) -> bool:
    """Whether it can be reached and has its model loaded, as far as it tells."""
    try:
        told = server.told(f"{server.root}/health", PROBE_S)
        if told is None:  # no such address: the list of models is what all have
            told = server.told(f"{server.base}/models", PROBE_S)
    except ServerFailed:
        return False
    return told is not None and _mapping(told).get("status", "ok") in ("ok", "no slot available")


def count_of(value: Any) -> int | None:
    """A number that counts something, None for all else."""
    return value if type(value) is int and value > 0 else None


def _kind(props: Mapping[str, Any], model: Mapping[str, Any]) -> Kind:
    owner = model.get("owned_by")
    if "default_generation_settings" in props or owner == "llamacpp":
        return "llama.cpp"
    if owner == "vllm":
        return "vllm"
    return "ollama" if owner == "library" else "other"


def _listed_context(model: Mapping[str, Any]) -> int | None:
    meta = _mapping(model.get("meta"))
    known = [model.get(name) for name in ("max_model_len", "context_length", "context_window")]
    known += [meta.get("n_ctx"), meta.get("n_ctx_train")]
    return next((count for count in map(count_of, known) if count), None)


def _models(listed: Any) -> list[Mapping[str, Any]]:
    data = _mapping(listed).get("data")
    return [each for each in data if isinstance(each, dict)] if isinstance(data, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
