"""Weights of one's own in place of those that are shipped."""

from importlib.resources import files
from pathlib import Path

import msgspec
import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory import Memory
from rewound.memory.models import Models
from rewound.projections.ranker import Ranker

TEXTS = ("Nina rides a blue bicycle to work.", "Nina sold her old car in Porto last spring.")


def own(folder: Path, weight: float) -> Path:
    """A ranker that goes by length and nothing else."""
    shipped = Ranker.from_json(files("rewound.projections").joinpath("ranker.json").read_bytes())
    weights = tuple(weight if name == "length" else 0.0 for name in shipped.features)
    model = msgspec.structs.replace(shipped.words, weights=weights)
    path = folder / f"ranker{weight}.json"
    path.write_bytes(msgspec.structs.replace(shipped, words=model, meaning=model).to_json())
    return path


def test_hits_stand_as_the_own_ranker_says(tmp_path: Path) -> None:
    for weight, first in ((1.0, TEXTS[1]), (-1.0, TEXTS[0])):
        models = Models(
            embedder="none", extractor="none", judge="none", ranker=str(own(tmp_path, weight))
        )
        with Memory(tmp_path / "store", models=models) as memory:
            if weight > 0:
                for text in TEXTS:
                    memory.remember(text)
            assert memory.search("Nina").hits[0].text == first
            replayed = memory.replay("now", verify=True)
            assert replayed.agrees, replayed.differences


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1, 2]", b'{"name": "x"}'])
def test_what_is_no_ranker_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ranker.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInput) as refused:
        Models(ranker=str(path))
    assert refused.value.field == "REWOUND_RANKER" and "REWOUND_RANKER" in str(refused.value)
