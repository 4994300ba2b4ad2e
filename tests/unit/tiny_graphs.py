"""ONNX graphs of one or two steps, written byte by byte: what they give can be worked out by hand.

A message of the format is a row of fields, each a number and either a whole number or bytes.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

INT64, FLOAT = 7, 1
WORDS = ["[UNK]", "[CLS]", "[SEP]", "red", "green", "blue"]
TABLE = np.array([[0, 0, 1], [9, 0, 0], [0, 9, 0], [1, 0, 0], [0, 1, 0], [0, 0, 5]], np.float32)
"""The vector of each piece, shape (6, 3)."""


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def _message(*fields: tuple[int, int | str | bytes]) -> bytes:
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += _varint(number << 3) + _varint(value)
        else:
            raw = value.encode() if isinstance(value, str) else value
            out += _varint(number << 3 | 2) + _varint(len(raw)) + raw
    return out


def _port(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sides = [(1, _message((1, d) if isinstance(d, int) else (2, d))) for d in shape]
    tensor = _message((1, kind), (2, _message(*sides)))
    return _message((1, name), (2, _message((1, tensor))))


def _constant(name: str, values: npt.NDArray[Any], kind: int) -> bytes:
    sides = [(1, int(side)) for side in values.shape]
    return _message(*sides, (2, kind), (8, name), (9, values.tobytes()))


def _step(kind: str, inputs: Sequence[str], output: str, *attributes: bytes) -> bytes:
    return _message(
        *((1, name) for name in inputs), (2, output), (4, kind), *((5, a) for a in attributes)
    )


def _elsewhere(name: str, values: npt.NDArray[Any], kind: int, file: str) -> bytes:
    """A constant whose values stand in a file of their own."""
    sides = [(1, int(side)) for side in values.shape]
    entry = _message((1, "location"), (2, file))
    return _message(*sides, (2, kind), (8, name), (13, entry), (14, 1))


def graph(
    output: str = "last_hidden_state",
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    weights: str | None = None,
) -> bytes:
    """Pieces' vectors out of TABLE, or out of a file of `weights`. With `position_ids` each grows
    by its place; `sentence_…` and `text_…` outputs are the largest of each dimension over the
    pieces."""
    whole = output.startswith(("sentence", "text"))
    steps = [_step("Gather", ["table", "input_ids"], "looked_up")]
    last = "looked_up"
    if "position_ids" in inputs:
        steps += [
            _step("Cast", ["position_ids"], "places", _message((1, "to"), (3, FLOAT), (20, 2))),
            _step("Unsqueeze", ["places", "axis"], "placed"),
            _step("Add", [last, "placed"], "added"),
        ]
        last = "added"
    if whole:
        steps.append(_step("ReduceMax", [last, "one"], output, _kept(0)))
    else:
        steps.append(_step("Identity", [last], output))
    constants = [
        _constant("table", TABLE, FLOAT)
        if weights is None
        else _elsewhere("table", TABLE, FLOAT, weights),
        _constant("axis", np.array([2], np.int64), INT64),
        _constant("one", np.array([1], np.int64), INT64),
    ]
    shape: list[int | str] = ["batch", 3] if whole else ["batch", "pieces", 3]
    body = _message(
        *((1, step) for step in steps),
        (2, "tiny"),
        *((5, constant) for constant in constants),
        *((11, _port(name, INT64, ["batch", "pieces"])) for name in inputs),
        (12, _port(output, FLOAT, shape)),
    )
    return _message((1, 8), (7, body), (8, _message((1, ""), (2, 18))))


def _kept(keep: int) -> bytes:
    return _message((1, "keepdims"), (3, keep), (20, 2))


def tokenizer() -> str:
    """One piece a word, between two marks."""
    numbers = {word: number for number, word in enumerate(WORDS)}

    def special(name: str) -> dict[str, Any]:
        return {"SpecialToken": {"id": name, "type_id": 0}}

    text = {"Sequence": {"id": "A", "type_id": 0}}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [],
            "normalizer": None,
            "pre_tokenizer": {"type": "Whitespace"},
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [special("[CLS]"), text, special("[SEP]")],
                "pair": [special("[CLS]"), text, special("[SEP]")],
                "special_tokens": {
                    name: {"id": name, "ids": [numbers[name]], "tokens": [name]}
                    for name in ("[CLS]", "[SEP]")
                },
            },
            "decoder": None,
            "model": {"type": "WordLevel", "vocab": numbers, "unk_token": "[UNK]"},
        }
    )


def folder(path: Path, model: bytes | None = None, **files: Any) -> Path:
    """A folder of a model; `files` are JSON, `__` in a name stands for a `/`, None leaves it out.
    Without more it pools by the mean."""
    path.mkdir(parents=True)
    given: dict[str, Any] = {"1_Pooling__config": {"pooling_mode_mean_tokens": True}, **files}
    (path / "model.onnx").write_bytes(graph() if model is None else model)
    (path / "tokenizer.json").write_text(tokenizer())
    for name, content in given.items():
        if content is not None:
            file = path / f"{name.replace('__', '/')}.json"
            file.parent.mkdir(exist_ok=True)
            file.write_text(content if isinstance(content, str) else json.dumps(content))
    return path
