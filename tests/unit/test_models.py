"""Which models are set, by the environment."""

import subprocess
import sys

import pytest

from rewound.eventlog.errors import InvalidInput
from rewound.memory.models import NO_MODELS, Models


def test_what_is_not_set_is_the_default() -> None:
    blank = {"REWOUND_EMBEDDER": "", "REWOUND_EXTRACTOR": " ", "REWOUND_THREADS": ""}
    assert Models.from_environment({}) == Models.from_environment(blank) == Models()
    assert (Models().embedder, Models().extractor, Models().threads) == ("minilm", "rules", 0)


def test_what_is_set_counts() -> None:
    env = {"REWOUND_EMBEDDER": "hashing", "REWOUND_EXTRACTOR": "none", "REWOUND_THREADS": "2"}
    given = Models.from_environment(env)
    assert given == Models(embedder="hashing", extractor="none", threads=2)


@pytest.mark.parametrize(
    ("name", "value", "right"),
    [
        ("REWOUND_EMBEDDER", "openai", "minilm, hashing, onnx, server, none"),
        ("REWOUND_EXTRACTOR", "x" * 1000, "rules, model, none"),
        ("REWOUND_THREADS", "-1", "from 0"),
        ("REWOUND_THREADS", "two", "from 0"),
        ("REWOUND_THREADS", "²", "from 0"),
        ("REWOUND_THREADS", "9" * 5000, "from 0"),
    ],
)
def test_what_cannot_be_is_named(name: str, value: str, right: str) -> None:
    with pytest.raises(InvalidInput, match=right) as caught:
        Models.from_environment({name: value})
    assert caught.value.field == name and len(caught.value.message) < 200


def test_none_makes_nothing() -> None:
    assert NO_MODELS.make_extractor() is None and NO_MODELS.make_embedder() is None


def test_the_rules_are_an_extractor() -> None:
    made = Models().make_extractor()
    assert made is not None and made.name.startswith("rules/")


def test_opening_a_store_loads_no_model(tmp_path: object) -> None:
    code = (
        "import sys; from rewound.memory import Memory; from rewound.memory.models import Models\n"
        "with Memory(sys.argv[1], models=Models()) as memory: memory.own()\n"
        "heavy = {'onnxruntime', 'tokenizers', 'dateparser', 'httpx', 'mcp', 'rich'}\n"
        "heavy |= {'rewound.llm.evidence', 'rewound.llm.attributes', 'rewound.llm.rules'}\n"
        "loaded = heavy & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
