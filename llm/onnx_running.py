"""What embedders in this process share: ONNX Runtime kept quiet, and pieces cut by `tokenizers`."""

import ctypes
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from rewound.llm.native_runs import RUNS

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TRIM_TOKENS = 128
"""Pieces in one call from which on the memory that it freed is given back to the system. The C
library would keep 50 MB of it for a next time; giving it back takes 1 to 4 ms."""

Pieces = npt.NDArray[np.int32]
"""The numbers of a text's word pieces, in order."""


class Port(Protocol):
    """What a graph takes or gives: its name, its type as `tensor(int64)`, its shape."""

    @property
    def name(self) -> str: ...

    @property
    def type(self) -> str: ...

    @property
    def shape(self) -> Sequence[int | str | None]: ...


class Session(Protocol):
    """What is used of ONNX Runtime, which ships no types."""

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, npt.NDArray[Any]]
    ) -> Sequence[Any]: ...

    def get_inputs(self) -> Sequence[Port]: ...

    def get_outputs(self) -> Sequence[Port]: ...


class Loaded(NamedTuple):
    session: Session
    tokenizer: "Tokenizer"


def open_session(model: Path, cores: int) -> Session:
    """Load a model. Raises ImportError, and whatever ONNX Runtime raises."""
    # ONNX Runtime reports its use to its maker from the moment it is imported, unless this stands
    # in the environment by then. Its call that turns reports off comes too late for the first one,
    # and for the identifier that it leaves in the user's cache folder.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime  # type: ignore[import-untyped]

    RUNS.settle_at_exit()
    onnxruntime.disable_telemetry_events()  # if something else imported it before
    options = onnxruntime.SessionOptions()
    # Left to itself it also ties its threads to cores, which are others' too.
    options.intra_op_num_threads = cores
    options.inter_op_num_threads = 1
    # Threads without work sleep: what else runs here needs the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The arena would keep the largest run's memory for good (measured: 1.8 GB after a batch of
    # 64 long texts, against 330 MB without).
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3  # errors only
    with RUNS.one():
        session: Session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
    return session


def open_tokenizer(pieces: Path, tokens_max: int) -> "Tokenizer":
    """One that cuts a text to so many pieces and pads none. Raises ImportError, and whatever
    `tokenizers` raises, but of Exception alone."""
    from tokenizers import Tokenizer

    with panics_told():
        tokenizer = Tokenizer.from_file(str(pieces))
    tokenizer.no_padding()
    tokenizer.enable_truncation(tokens_max)
    tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
    return tokenizer


def tokenizer_of(content: bytes) -> "Tokenizer":
    """One out of the content of a file. Raises as `open_tokenizer` does."""
    from tokenizers import Tokenizer

    with panics_told():
        return Tokenizer.from_buffer(content)


@contextmanager
def panics_told() -> Iterator[None]:
    """Where `tokenizers` cannot do what a file says it panics: that comes as a BaseException, which
    would end the thread, and may quote a text. It is raised as a RuntimeError that does not."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError("the package tokenizers broke off") from None


def readable(text: str, characters_max: int) -> str:
    """The part of a text that can count, as valid Unicode: a lone surrogate becomes a `?`."""
    return text.lstrip()[:characters_max].encode("utf-8", "replace").decode("utf-8")


def give_back_memory() -> None:
    """Freed memory goes back to the system, where the C library (glibc) can be told so."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def cores_here() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
