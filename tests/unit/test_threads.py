"""What stands beside what: messages, facts, passages; hidden, replaced, and later ones."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewound.projections.threads import NONE, Threads, threads
from tests.unit.scenes import SCENES, Mask, Scene, beside, columns_of, renumbered


def shown(numbers: npt.NDArray[np.integer[Any]]) -> list[int | None]:
    return [None if number == NONE else number for number in numbers.tolist()]


def of(scene: Scene, counted: Mask | None = None) -> Threads:
    return threads(scene.columns, scene.counted() if counted is None else counted)


def alike(numbers: list[int], names: list[str], counted: Mask) -> bool:
    """Whether equal numbers and equal names mean the same, of what counts."""
    pairs = {(numbers[n], names[n]) for n in np.flatnonzero(counted).tolist()}
    return len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})


# --- by hand


def test_messages_of_a_conversation_stand_in_their_order() -> None:
    scene = Scene()
    for conversation in (0, 1, 0, 0, 1):
        scene.say(conversation)
    found = of(scene)
    assert found.unit.tolist() == [0, 1, 2, 3, 4]
    assert shown(found.previous) == [None, None, 0, 2, 1]
    assert shown(found.next) == [2, 4, 3, None, None]
    assert found.place.tolist() == [0, 0, 1, 2, 1]
    assert found.thread[0] == found.thread[2] == found.thread[3] != found.thread[1]
    assert found.thread[1] == found.thread[4]


def test_a_fact_of_a_message_belongs_to_it() -> None:
    scene = Scene()
    first, second = scene.say(), scene.say()
    scene.draw(second)
    scene.draw(first)
    scene.draw(second)
    found = of(scene)
    assert found.unit.tolist() == [0, 1, 1, 0, 1]
    assert len(set(found.thread.tolist())) == 1
    assert shown(found.previous) == [None, 0, None, None, None], "a fact has no place of its own"
    assert shown(found.next) == [1, None, None, None, None]
    assert found.place.tolist() == [0, 1, 0, 0, 0]


def test_facts_of_their_own_are_alone() -> None:
    scene = Scene()
    scene.state()
    scene.state()
    found = of(scene)
    assert found.unit.tolist() == [0, 1]
    assert shown(found.previous) == shown(found.next) == [None, None]
    assert found.thread[0] != found.thread[1]


def test_passages_stand_in_their_document() -> None:
    scene = Scene()
    scene.write(3)
    scene.write(2)
    found = of(scene)
    assert shown(found.previous) == [None, None, 1, 2, None, None, 5]
    assert shown(found.next) == [None, 2, 3, None, None, 6, None]
    assert found.thread[1] == found.thread[3] != found.thread[5] == found.thread[6]
    assert not found.place.any(), "only messages have a place"


def test_another_document_between_its_passages_parts_nothing() -> None:
    """As when a document is sent again with some of its passages kept."""
    scene = Scene()
    document = scene.write(2)
    scene.write(2)
    scene.cut(document)
    found = of(scene)
    assert shown(found.previous) == [None, None, 1, None, None, 4, 2]
    assert shown(found.next) == [None, 2, 6, None, 5, None, None]


def test_a_passage_that_comes_back_has_its_old_place() -> None:
    scene = Scene()
    document = scene.write(3)
    scene.again(document + 1)
    found = of(scene)
    assert shown(found.next) == [None, None, 3, None, 2]
    assert shown(found.previous) == [None, None, 4, 2, None]


def test_a_hidden_message_is_beside_nothing() -> None:
    """What stood around it does not close up: the answer to what is hidden answers nothing else."""
    scene = Scene()
    ids = [scene.say() for _ in range(3)]
    scene.draw(ids[1])
    scene.hidden.add(ids[1])
    found = of(scene)
    assert shown(found.previous) == shown(found.next) == [None] * 4
    assert found.unit.tolist() == [0, 1, 2, 3], "its fact is a unit of its own"
    assert found.thread[0] == found.thread[2] != found.thread[3]
    assert found.place.tolist() == [0, 0, 2, 0]


def test_of_a_replaced_message_the_version_of_the_moment_stands() -> None:
    scene = Scene()
    ids = [scene.say() for _ in range(3)]
    scene.draw(ids[1])
    scene.again(ids[1])
    now, then = of(scene), of(scene, scene.counted(3))
    assert now.unit.tolist() == [0, 1, 2, 4, 4] and then.unit.tolist() == [0, 1, 2, 1, 4]
    assert shown(now.previous) == [None, None, 4, None, 0]
    assert shown(then.previous) == [None, 0, 1, None, None]
    assert shown(now.next) == [4, None, None, None, 2]
    assert shown(then.next) == [1, 2, None, None, None]
    assert now.place[4] == then.place[1] == 1


@pytest.mark.parametrize("count", [1, 2, 3, 64, 65, 300])
def test_long_conversations(count: int) -> None:
    scene = Scene()
    for _ in range(count):
        scene.say()
    found = of(scene)
    assert found.place.tolist() == list(range(count))
    assert len(set(found.thread.tolist())) == 1


def test_nothing_at_all() -> None:
    found = of(Scene())
    assert found.threads == 0 and all(np.asarray(each).size == 0 for each in found[:5])


# --- against the fold in plain Python


@given(SCENES, st.data())
def test_the_same_as_told_in_plain_words(scene: Scene, data: st.DataObject) -> None:
    moment = data.draw(st.integers(0, len(scene.rows)))
    counted = scene.counted(moment)
    found, wanted = of(scene, counted), beside(scene, counted)
    assert found.unit.tolist() == wanted.unit
    assert shown(found.previous) == wanted.previous
    assert shown(found.next) == wanted.next
    assert found.place.tolist() == wanted.place
    assert alike(found.thread.tolist(), wanted.thread, counted)
    assert all(0 <= number < found.threads for number in found.thread.tolist())


@given(SCENES, st.data())
def test_what_comes_later_changes_nothing(scene: Scene, data: st.DataObject) -> None:
    if not scene.rows:
        return
    moment = data.draw(st.integers(0, len(scene.rows) - 1))
    counted = scene.counted(moment)
    whole = of(scene, counted)
    upto = threads(columns_of(scene.rows[: moment + 1]), counted[: moment + 1])
    at = np.flatnonzero(counted)
    assert not counted[moment + 1 :].any()
    for name in ("unit", "previous", "next", "place"):
        assert getattr(whole, name)[at].tolist() == getattr(upto, name)[at].tolist(), name
    assert alike(whole.thread[at].tolist(), [str(n) for n in upto.thread[at]], counted[at])


@given(SCENES, st.data())
def test_one_version_of_the_columns_tells_any_moment(scene: Scene, data: st.DataObject) -> None:
    """What is worked out once for all moments holds nothing of the moment that asked first."""
    columns = scene.columns
    for moment in data.draw(st.lists(st.integers(0, len(scene.rows)), min_size=2, max_size=3)):
        counted = scene.counted(moment)
        again, alone = threads(columns, counted), of(scene, counted)
        for one, other in zip(again[:5], alone[:5], strict=True):
            assert np.asarray(one).tolist() == np.asarray(other).tolist()
        assert again.threads == alone.threads


@given(SCENES, st.data())
def test_other_numbers_change_nothing(scene: Scene, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(scene.rows))))
    counted = scene.counted()
    found = of(scene, counted)
    moved = threads(columns_of(renumbered(scene.rows, order)), counted[list(order)])
    new = {old: at for at, old in enumerate(order)} | {NONE: NONE}
    for name in ("unit", "previous", "next"):
        numbers, others = getattr(found, name).tolist(), getattr(moved, name).tolist()
        assert [new[numbers[old]] for old in order] == others, name
    assert found.place[list(order)].tolist() == moved.place.tolist()
    names = [str(found.thread[old]) for old in order]
    assert alike(moved.thread.tolist(), names, counted[list(order)])
