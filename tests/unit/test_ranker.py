"""The learned ranker: its file, what its figures add up to, and how likely something answers."""

import math
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections.feature_names import LIFTS, NAMES
from rewound.projections.ranker import (
    FITS,
    Model,
    Ranker,
    contributions,
    fits,
    loaded,
    probability,
    ranked,
)
from rewound.projections.relevance import ANYTHING
from tests.unit.evidence import evidence, permuted, silent

Floats = npt.NDArray[np.float64]
REACHED = 0.5


def rows(seed: int, count: int) -> Floats:
    made: Floats = np.random.default_rng(seed).normal(size=(count, len(NAMES)))
    return made


ROWS = st.builds(rows, st.integers(0, 10_000), st.integers(1, 40))
MODELS = st.sampled_from(["meaning", "words"])


def model_of(name: str) -> Model:
    found: Model = getattr(loaded(""), name)
    return found


# --- the file that is shipped


def test_the_shipped_ranker_fits_this_version() -> None:
    ranker = loaded("")
    assert ranker.features == NAMES and len(set(NAMES)) == len(NAMES)
    assert ranker.name and ranker.version >= 1
    for model in (ranker.meaning, ranker.words):
        assert len(model.mean) == len(model.spread) == len(model.weights) == len(NAMES)
        assert len(model.fits) == len(FITS) and len(model.anything) == len(ANYTHING)
        assert 0.0 < model.floor < 0.5
        assert all(spread > 0.0 for spread in model.spread)
        assert model.slope > 0.0, "a better score is likelier"
        assert all(map(math.isfinite, (*model.mean, *model.spread, *model.weights, *model.fits)))
        assert all(map(math.isfinite, model.anything))
    assert ranker.figures and all(0.0 < figure < 1.0 for figure in ranker.figures.values())


def test_without_meaning_nothing_hangs_on_meaning() -> None:
    words = dict(zip(NAMES, loaded("").words.weights, strict=True))
    told = [name for name in NAMES if "meaning" in name and "words" not in name]
    assert told and not any(words[name] for name in told)
    unasked = dict(zip(FITS, loaded("").words.fits, strict=True))
    assert unasked["best meaning"] == unasked["best fact's meaning"] == 0.0


def test_the_shipped_ranker_reads_back_as_it_is_written() -> None:
    ranker = loaded("")
    assert Ranker.from_json(ranker.to_json()) == ranker


# --- what it makes of rows


@given(ROWS, MODELS)
def test_what_the_features_add_is_the_score(table: Floats, name: str) -> None:
    model = model_of(name)
    added, made = contributions(model, table), ranked(model, table, REACHED, silent(len(table)))
    assert added.shape == table.shape
    for row, parts, score in zip(table, added, made.score, strict=True):
        assert sum(parts.tolist()) == pytest.approx(score, abs=1e-9)
        plain = [
            weight * (value - mean) / spread
            for weight, value, mean, spread in zip(
                model.weights, row, model.mean, model.spread, strict=True
            )
        ]
        assert parts.tolist() == pytest.approx(plain, abs=1e-9)


@given(ROWS, MODELS)
def test_the_logit_is_the_fit_of_the_best_and_falls_with_the_score(
    table: Floats, name: str
) -> None:
    """The best by all but what lifts."""
    model = model_of(name)
    made = ranked(model, table, REACHED, silent(len(table)))
    lifts = [NAMES.index(lift) for lift in LIFTS]
    plain = made.score - contributions(model, table)[:, lifts].sum(axis=1)
    told = fits(table, plain, REACHED)
    fit = sum(weight * number for weight, number in zip(model.fits, told, strict=True))
    assert made.fit == pytest.approx(fit) and made.best == pytest.approx(plain.max())
    falls = model.slope * (made.score - plain.max())
    assert made.logit == pytest.approx(fit + falls)
    assert (
        np.argsort(-made.logit, kind="stable").tolist()
        == np.argsort(-made.score, kind="stable").tolist()
    )


@given(ROWS, MODELS, st.sampled_from(LIFTS), st.integers(0, 39), st.floats(0.0, 1.0))
def test_what_is_lifted_rises_and_takes_nothing_from_the_others(
    table: Floats, name: str, lift: str, which: int, more: float
) -> None:
    """To the last bit: so nothing falls below a threshold because of another."""
    which %= len(table)
    one = ranked(model_of(name), table, REACHED, silent(len(table)))
    lifted = table.copy()
    lifted[which, NAMES.index(lift)] += more
    two = ranked(model_of(name), lifted, REACHED, silent(len(table)))
    others = np.arange(len(table)) != which
    assert one.logit[others].tobytes() == two.logit[others].tobytes()
    assert two.logit[which] >= one.logit[which]
    assert (two.fit, two.best) == (one.fit, one.best)


@pytest.mark.parametrize("name", ["meaning", "words"])
def test_what_is_important_lifts_less_than_a_plain_difference(name: str) -> None:
    """Of candidates next to each other in every rank it decides; what ended stays behind."""
    weights = dict(zip(NAMES, model_of(name).weights, strict=True))
    assert 0.0 < weights["recency"] < weights["importance"]
    assert weights["importance"] + weights["recency"] < -weights["all its facts are outdated"]


@given(ROWS, st.integers(0, 100))
def test_the_order_of_the_rows_changes_no_bit(table: Floats, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(table))
    model = model_of("meaning")
    said = evidence(seed, len(table))
    one = ranked(model, table, REACHED, said)
    two = ranked(model, table[order], REACHED, permuted(said, order))
    assert one.score[order].tobytes() == two.score.tobytes()
    assert one.logit[order].tobytes() == two.logit.tobytes()
    assert one.anything == two.anything


@given(ROWS)
def test_a_row_scores_the_same_alone(table: Floats) -> None:
    """To the last bit: sums must not hang on the shape."""
    model = model_of("meaning")
    whole = ranked(model, table, REACHED, silent(len(table))).score
    for n in range(len(table)):
        alone = ranked(model, table[n : n + 1], REACHED, silent(1)).score
        assert alone.tobytes() == whole[n : n + 1].tobytes()


@given(ROWS)
def test_what_tells_whether_anything_fits(table: Floats) -> None:
    score = ranked(model_of("meaning"), table, REACHED, silent(len(table))).score
    told = dict(zip(FITS, fits(table, score, REACHED), strict=True))
    falling = sorted(score.tolist(), reverse=True)
    first = table[int(np.argmax(score))]

    def of_first(name: str) -> float:
        return float(first[NAMES.index(name)])

    assert told["one"] == 1.0 and told["best words, of what was to be reached"] == REACHED
    assert told["best meaning"] == table[:, NAMES.index("meaning")].max()
    adds = table[:, NAMES.index("meaning its facts add")]
    assert told["best fact's meaning"] == (table[:, NAMES.index("meaning")] + adds).max()
    assert told["score of the first"] == falling[0]
    assert told["lead over the fifth"] == falling[0] - falling[:5][-1]
    assert told["lead over the twentieth"] == falling[0] - falling[:20][-1]
    assert told["query covered by the first"] == of_first("query covered")
    assert told["query covered around the first"] == of_first("query covered with neighbours")
    conversation = of_first("query covered by conversation")
    assert told["query covered by the first's conversation"] == conversation
    assert told["the first said by whom the query names"] == of_first(
        "said by whom the query names"
    )
    assert told["the first said by another"] == of_first("said by another")
    assert told["the first's length"] == of_first("length")
    says_all = of_first("says just what is asked") > 0.0
    assert told["the first says all that is asked"] == float(says_all)
    near = sum(falling[0] - each <= 1.0 for each in falling)
    assert told["how many are nearly as good"] == pytest.approx(math.log(near))


def test_of_equal_first_ones_none_is_chosen_by_its_place() -> None:
    table = np.zeros((2, len(NAMES)))
    table[0, NAMES.index("length")] = 1.0
    told = [fits(each, np.zeros(2), REACHED) for each in (table, table[::-1])]
    assert told[0] == told[1]


# --- how likely


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20))
def test_probability_rises_with_the_logit_within_its_bounds(logits: list[float]) -> None:
    likely = [probability(logit) for logit in sorted(logits)]
    assert likely == sorted(likely) and all(0.0 <= each <= 1.0 for each in likely)


def test_probability_of_some_logits() -> None:
    assert probability(0.0) == 0.5
    assert probability(math.log(3.0)) == pytest.approx(0.75)
    assert probability(2.0) + probability(-2.0) == pytest.approx(1.0)
    assert probability(-1.0) < probability(-0.5)
    assert probability(1e308) == 1.0 and 0.0 <= probability(-1e308) < 1e-200


# --- files of others


def shipped() -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(loaded(""))
    return plain


def write(folder: Path, plain: Any) -> str:
    path = folder / "ranker.json"
    path.write_bytes(plain if isinstance(plain, bytes) else msgspec.json.encode(plain))
    return str(path)


def test_a_ranker_of_ones_own_is_read(tmp_path: Path) -> None:
    plain = shipped() | {"name": "ours", "figures": {}}
    assert loaded(write(tmp_path, plain)).name == "ours"


@pytest.mark.parametrize("row", ["mean", "spread", "weights", "fits"])
@pytest.mark.parametrize("model", ["meaning", "words"])
def test_rows_that_do_not_fit_are_refused(tmp_path: Path, model: str, row: str) -> None:
    plain = shipped()
    plain[model][row] = plain[model][row][1:]
    with pytest.raises(ValueError, match="each row needs one number a feature"):
        loaded(write(tmp_path, plain))


@pytest.mark.parametrize(
    "names", [NAMES[1:], (*NAMES, "more"), (NAMES[1], NAMES[0], *NAMES[2:]), ("other", *NAMES[1:])]
)
def test_features_of_another_version_are_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Even the same ones in another order: a weight would be another's."""
    with pytest.raises(ValueError, match="its features are not those of this version"):
        loaded(write(tmp_path, shipped() | {"features": names}))


@pytest.mark.parametrize("lift", LIFTS)
@pytest.mark.parametrize(("row", "value"), [("weights", -0.1), ("mean", 0.1)])
def test_what_lifts_may_not_lower(tmp_path: Path, lift: str, row: str, value: float) -> None:
    plain = shipped()
    plain["words"][row] = list(plain["words"][row])
    plain["words"][row][NAMES.index(lift)] = value
    with pytest.raises(ValueError, match=f"{lift} only lifts"):
        loaded(write(tmp_path, plain))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"meaning": None}, "meaning"),
        ({"version": "one"}, "version"),
        ({"colour": "red"}, "colour"),
        ({"figures": {"recall": "good"}}, "figures"),
    ],
)
def test_other_forms_are_refused_by_field(tmp_path: Path, change: Any, told: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=told):
        loaded(write(tmp_path, shipped() | change))


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b"\xff\xfe"])
def test_what_is_no_ranker_is_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ValueError):
        loaded(write(tmp_path, content))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError):
        loaded(str(tmp_path / "none.json"))


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_spread_that_nothing_can_be_divided_by_is_refused(tmp_path: Path, value: float) -> None:
    plain = shipped()
    plain["words"]["spread"] = [value, *plain["words"]["spread"][1:]]
    with pytest.raises(ValueError, match="spread"):
        loaded(write(tmp_path, plain))
