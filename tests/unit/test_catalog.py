"""Every view says of every event type what it does with it."""

import pytest

from rewound.eventlog.events import Event, Undone
from rewound.eventlog.registry import NAMES
from rewound.projections.catalog import VERSIONS, VIEWS, together
from rewound.projections.view import FAMILIES, View
from tests.golden.make_samples import sample

VOCABULARY = frozenset(NAMES.values())
SAMPLES = {kind: sample(kind) for kind in NAMES.values()}


def test_every_event_type_is_in_one_family() -> None:
    counted = [kind for family in FAMILIES for kind in family]
    assert len(counted) == len(set(counted))
    assert set(counted) == VOCABULARY


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_handles_or_ignores_every_event_type(view: View) -> None:
    handled = frozenset(view.handles)
    assert not handled & view.ignores
    # An undoing is handled by the fold itself, for all views.
    assert handled | view.ignores | {Undone} == VOCABULARY
    assert view.births <= handled


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
@pytest.mark.parametrize("event", SAMPLES.values(), ids=lambda event: type(event).__name__)
def test_a_row_is_touched_only_by_events_tagged_with_it(view: View, event: Event) -> None:
    keys = view.handles.get(type(event))
    assert isinstance(event, Event)
    tags = {ref.key() for ref in (*event.creates(), *event.refers())}
    for key in keys(event) if keys is not None else ():
        assert key[:17] in tags


def test_rebuilding_takes_along_what_hangs_together() -> None:
    assert together(["jobs"]) == {"jobs"}
    assert together(["words"]) == together(["facts"]) >= {"facts", "words", "hidden", "documents"}
    assert together([]) == together(["undos"]) == frozenset(VERSIONS)
    with pytest.raises(KeyError):
        together(["nothing"])
