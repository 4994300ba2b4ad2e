"""Trees of conditions against a look at every item, over random stores and at every moment."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rewound.eventlog.errors import RewoundError
from rewound.eventlog.ids import Kind, Ref
from rewound.memory import requests as q
from rewound.memory.condition_checks import OPS, read
from rewound.memory.conditions import METADATA
from rewound.memory.moments import resolve
from rewound.memory.seeing import narrowed, seen
from rewound.projections import conditions, measures, values
from rewound.projections.condition_tree import Not, Some
from rewound.projections.conditions import Conditions
from rewound.projections.masks import Standing
from tests.scratch import IN_MEMORY
from tests.unit.conditions_model import meets
from tests.unit.given import SECOND_US, Store, open_store

Json = Any
WHATS: tuple[q.What, ...] = ("fact", "passage", "message", "document")
TEXTS = ("red", "Red", "a red door", "5", "true", "", "n/a", "2026-03-01")
TIMES = ("2026-03-01T10:00:00Z", "2026-03-01T12:00:00+02:00", "2026-03-01T10:00:00.5Z")
NUMBERS = (0, -0.0, 1, 1.0, 5, 5.5, -3, 2**53, 2**53 + 1, float(2**53), -(2**62) - 1, 1e300)
PLAIN = (*TEXTS, *TIMES, *NUMBERS, True, False, None)
TAGS = ("red", "Red", "blue door", "x")
NAMES = ("Nina Berg", "nina  berg", "the Orbit", "Orbit", "Omar")
KEYS = ("a", "b", "a.b")
DAYS = ("2025-12-31", "2026-01-01", "2026-03-01", "2026-03-01T10:00:00Z", "2026-01-01T00:00:03Z")

scalars = st.sampled_from(PLAIN)
held = scalars | st.lists(scalars, max_size=3) | st.dictionaries(st.sampled_from("ab"), scalars)
labels = st.fixed_dictionaries(
    {},
    optional={
        "tags": st.lists(st.sampled_from(TAGS), unique=True, max_size=2).map(tuple),
        "metadata": st.dictionaries(st.sampled_from(KEYS), held, max_size=2),
    },
)
facts = st.tuples(
    labels,
    st.fixed_dictionaries(
        {},
        optional={
            "kind": st.sampled_from(("fact", "preference", "episode")),
            "subject": st.sampled_from(NAMES),
            "attribute": st.sampled_from(("home city", "The job")),
            "value": st.sampled_from(NAMES),
            "said_at": st.sampled_from(TIMES),
            "valid_to": st.sampled_from(("2027-03-01T10:00:00Z",)),
        },
    ),
).map(lambda both: {**both[0], **both[1]})
messages = st.tuples(
    labels,
    st.fixed_dictionaries(
        {}, optional={"name": st.sampled_from(NAMES), "time": st.sampled_from(TIMES)}
    ),
).map(lambda both: {**both[0], **both[1]})
documents = st.tuples(
    labels, st.fixed_dictionaries({}, optional={"said_at": st.sampled_from(TIMES)})
).map(lambda both: {**both[0], **both[1]})
deeds = st.lists(
    st.tuples(st.just("fact"), facts)
    | st.tuples(st.just("said"), messages)
    | st.tuples(st.just("document"), documents)
    | st.tuples(
        st.sampled_from(("edit", "tag", "forget", "undo", "restore", "erase")),
        st.tuples(st.integers(0, 30), labels),
    ),
    min_size=3,
    max_size=14,
)


def leaf_values(field: str, op: str) -> st.SearchStrategy[Json]:
    if field == METADATA:
        if op == "contains":
            return st.sampled_from([text for text in TEXTS if text])
        if op in ("gt", "gte", "lt", "lte"):
            return st.sampled_from([*TEXTS, *TIMES, *NUMBERS])
        return scalars if op == "array_contains" else held
    if field in ("valid_from", "valid_to", "said_at", "recorded_at"):
        return st.sampled_from(DAYS)
    return {
        "tag": st.sampled_from((*TAGS, "RED", "door")),
        "kind": st.sampled_from(("fact", "preference", "procedure")),
        "what": st.sampled_from(WHATS),
        "attribute": st.sampled_from(("home city", "job", "the  Job", "city")),
        "source": st.sampled_from(("@0", "@1", "@2", "nowhere")),
        "conversation": st.sampled_from(("talk", "nowhere")),
    }.get(field, st.sampled_from((*NAMES, "berg", "orb")))


@st.composite
def leaves(draw: st.DrawFn) -> Json:
    field = draw(st.sampled_from([name for name in OPS if name != "conversation"]))
    op = draw(st.sampled_from(OPS[field]))
    name = METADATA + draw(st.sampled_from((*KEYS, "a.a", "b.b"))) if field == METADATA else field
    leaf: Json = {"field": name, "op": op}
    if op == "exists":
        return leaf | draw(st.sampled_from(({}, {"value": True}, {"value": False})))
    one = leaf_values(field, op)
    leaf["value"] = draw(st.lists(one, min_size=1, max_size=3) if op == "in" else one)
    folds = op not in ("gt", "gte", "lt", "lte") and field in ("tag", METADATA)
    return leaf | ({"ignore_case": True} if folds and draw(st.booleans()) else {})


trees = st.recursive(
    leaves(),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"and": parts})
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"or": parts})
        | inner.map(lambda part: {"not": part})
    ),
    max_leaves=6,
)


class World:
    """A store in which a story was told, and the ids of what it holds."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.ids: list[str] = []
        self.sources: list[str] = []
        self.events: list[str] = []

    def tell(self, number: int, deed: str, given: Any) -> None:
        store = self.store
        store.clock.at += SECOND_US
        text = f"Text {number}."
        if deed == "fact":
            self._did(q.Remember(container=store.name, facts=(q.NewFact(text=text, **given),)))
        elif deed == "said":
            message = q.NewMessage(content=text, **given)
            command = q.AddMessages(
                container=store.name, messages=(message,), conversation="talk", infer=False
            )
            self._did(command)
        elif deed == "document":
            document = q.NewDocument(text=text, id=f"doc {number % 3}", **given)
            self._did(q.Ingest(container=store.name, documents=(document,)))
        elif self.ids:
            which, more = given
            try:
                self._change(deed, which, more)
            except RewoundError:
                return  # nothing to do it to any more

    def _change(self, deed: str, which: int, labels: Any) -> None:
        name, chosen = self.store.name, self.ids[which % len(self.ids)]
        match deed:
            case "edit":
                self._did(q.Update(container=name, id=chosen, metadata=labels.get("metadata")))
            case "tag":
                self._did(q.Update(container=name, id=chosen, add_tags=labels.get("tags", ())))
            case "forget":
                self._did(q.Forget(container=name, ids=(chosen,)))
            case "restore":
                self._did(q.Restore(container=name, ids=(chosen,)))
            case "erase":
                self._did(q.Erase(container=name, ids=(chosen,), wait=False))
            case "undo":
                event = self.events[which % len(self.events)]
                self._did(q.Undo(container=name, id=event, cascade=True))

    def _did(self, command: q.Write) -> None:
        reply = self.store.ask(command)
        for item in getattr(reply, "items", ()):
            if getattr(item, "id", None):
                self.ids.append(item.id)
                if item.id.startswith(("msg_", "doc_")):
                    self.sources.append(item.id)
            if getattr(item, "event", None):
                self.events.append(item.event)
        if getattr(reply, "event", None):
            self.events.append(reply.event)

    def named(self, tree: Json) -> Json:
        """The tree with `@0` in the place of a source become an id."""
        if isinstance(tree, list):
            return [self.named(part) for part in tree]
        if isinstance(tree, dict):
            return {key: self.named(part) for key, part in tree.items()}
        if isinstance(tree, str) and tree.startswith("@"):
            return self.sources[int(tree[1:]) % len(self.sources)] if self.sources else "nowhere"
        return tree

    def views(self, **moment: Any) -> dict[str, Any]:
        """Everything a list shows, by id."""
        pages = [
            self.store.ask(q.List(container=self.store.name, what=what, limit=1000, **moment))
            for what in WHATS
        ]
        return {item.id: item for page in pages for item in page.items}

    def found(self, asked: list[Json], **moment: Any) -> Iterator[set[str]]:
        """What each tree finds of all sorts."""
        request = q.List(container=self.store.name, **moment)
        with self.store.view() as view:
            when = resolve(view, request, self.store.clock.at)
            for tree in asked:
                filters = q.Filters(where=read(tree))
                criteria = narrowed(
                    view,
                    filters,
                    when,
                    superseded=request.include_superseded,
                    forgotten=request.include_forgotten,
                ).criteria
                columns, mask = seen(view, criteria)
                kinds, items = columns.kind[mask], columns.item[mask]
                yield {
                    str(Ref(Kind(int(kind)), item.tobytes()))
                    for kind, item in zip(kinds, items, strict=True)
                }


@contextmanager
def world(told: list[Any]) -> Iterator[World]:
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as folder, open_store(Path(folder)) as store:
        made = World(store)
        for number, (deed, given_) in enumerate(told):
            made.tell(number, deed, given_)
        yield made


def expected(tree: Json, views: dict[str, Any]) -> set[str]:
    messages = {id_: view for id_, view in views.items() if view.kind == "message"}
    return {
        id_
        for id_, view in views.items()
        if meets(
            tree,
            view,
            messages,
            views[view.sources[0].id] if view.kind == "passage" else None,
        )
    }


def differences(made: World, asked: list[Json]) -> Iterator[tuple[Json, dict[str, Any]]]:
    """The trees, with the moments, for which the index does not find just what meets them."""
    asked = [made.named(tree) for tree in asked]
    head = made.store.ask(q.List(container=made.store.name)).moment.position
    moments: tuple[dict[str, Any], ...] = (
        {},
        {"include_superseded": True},
        {"include_forgotten": True, "include_superseded": True},
        *({"as_of": f"@{position}"} for position in range(1, head, max(1, head // 3))),
    )
    for moment in moments:
        views = made.views(**moment)
        for tree, found in zip(asked, made.found(asked, **moment), strict=True):
            if found != expected(tree, views):
                yield tree, moment


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(deeds, st.lists(trees, min_size=4, max_size=8))
def test_what_a_tree_finds_is_what_meets_it(told: list[Any], asked: list[Json]) -> None:
    with world(told) as made:
        assert list(differences(made, asked)) == []


# --- the same on one story, and a mistake in each part of the index

STORY: list[Any] = [
    ("fact", {"tags": ("red",), "metadata": {"a": 5, "b": "a red door"}, "subject": "the Orbit"}),
    ("fact", {"metadata": {"a": 5.5, "b": ["x", 1.0]}, "kind": "preference", "value": "Omar"}),
    ("fact", {"metadata": {"a": "2026-03-01T12:00:00+02:00"}, "attribute": "home city"}),
    ("fact", {"metadata": {"a": {"b": "Red"}}, "valid_to": "2027-03-01T10:00:00Z"}),
    ("said", {"name": "Nina Berg", "tags": ("Red",), "metadata": {"a": 2**53 + 1}}),
    ("said", {"name": "Omar", "time": "2026-03-01T10:00:00Z", "metadata": {"a.b": None}}),
    ("document", {"tags": ("blue door",), "metadata": {"a": -3, "b": ["Red"]}}),
    ("document", {"said_at": "2026-03-01T10:00:00Z", "metadata": {"a": True, "b": "n/a"}}),
    ("edit", (0, {"metadata": {"a": 6, "b": "a blue door"}})),
    ("tag", (1, {"tags": ("x",)})),
    ("forget", (4, {})),
    ("undo", (6, {})),
    ("document", {"metadata": {"a": 7}}),
    ("document", {"said_at": "2026-03-01T10:00:00Z", "metadata": {"b": "a red one"}}),
    ("restore", (4, {})),
]
PLAINEST: list[Json] = [
    *({"field": "metadata.a", "op": op, "value": value}
      for op in ("eq", "neq", "gt", "gte", "lt", "lte")
      for value in (5, 5.5, 2**53, -3, "2026-03-01T10:00:00Z", "n")),
    *({"field": f"metadata.{path}", "op": op, "value": value}
      for path in ("b", "a.b") for op in ("contains", "array_contains", "eq")
      for value in ("Red", "door")),
    *({"field": field, "op": op, "value": name}
      for field in ("speaker", "subject", "entity", "attribute") for op in ("eq", "contains")
      for name in ("Omar", "orbit", "nina berg", "city", "home city")),
    *({"field": field, "op": op, "value": value}
      for field in ("recorded_at", "said_at", "valid_from", "valid_to")
      for op in ("eq", "gt", "gte", "lt", "lte")
      for value in ("2026-01-01T00:00:09Z", "2026-01-01T00:00:13Z", "2026-03-01", "2027-03-01")),
    *({"field": "tag", "op": op, "value": "red", "ignore_case": fold}
      for op in ("eq", "contains") for fold in (False, True)),
    *({"field": "source", "op": "eq", "value": f"@{number}"} for number in range(4)),
    {"field": "kind", "op": "in", "value": ["preference"]},
    {"field": "what", "op": "in", "value": ["passage", "fact"]},
    *({"field": field, "op": "exists"}
      for field in ("tag", "kind", "entity", "subject", "attribute", "speaker", "source",
                    "metadata.a", "metadata.a.b", "valid_to", "said_at")),
]  # fmt: skip
JOINED: list[Json] = [
    *PLAINEST,
    *({"or": [tree, {"and": [other, {"not": tree}]}]}
      for tree, other in zip(PLAINEST, reversed(PLAINEST), strict=True)),
    *({"and": [{"or": [tree, other]}, {"not": {"and": [tree, other]}}]}
      for tree, other in pairwise(PLAINEST)),
]  # fmt: skip


def one_home(self: Standing) -> Any:
    return np.where(self.passages, self.documents.argmax(), np.arange(self.columns.n))


def never_negated(self: Conditions, node: Any, left: Any) -> Any:
    return left.copy() if isinstance(node, Not) else MET(self, node, left)


def all_for_some(self: Conditions, node: Any, left: Any) -> Any:
    if not isinstance(node, Some):
        return MET(self, node, left)
    for part in node.parts:
        left = MET(self, part, left)
    return left


def including(secret: bytes, key: str, op: str, value: Any) -> Any:
    return STRETCH(secret, key, {"gt": "gte", "lt": "lte"}.get(op, op), value)


def first_recorded(self: Conditions, node: Any, left: Any) -> Any:
    """Everything counts as recorded when the first version of its item was."""
    opened = self._columns.opened[self._columns.group]
    at, log = self._view.id, self._view.log
    first = 0 if node.start is None else log.position_at(at, node.start - 1) + 1
    last = 1 << 62 if node.end is None else log.position_at(at, node.end - 1)
    return left & (opened >= first) & (opened <= last)


def outermost(metadata: Any, path: str) -> Any:
    return metadata.get(path, values.MISSING)


MET, STRETCH = Conditions.met, measures.stretch
MISTAKES: dict[str, tuple[Any, str, Any]] = {
    "all passages are of one document": (Standing, "homes", one_home),
    "passages have no facets": (Standing, "shared", lambda self, own: own),
    "not says yes": (Conditions, "met", never_negated),
    "or is and": (Conditions, "met", all_for_some),
    "greater is greater or equal": (measures, "stretch", including),
    "times are texts": (measures, "time_of", lambda text: None),
    "nothing is read": (conditions, "sorts_to_read", lambda node: ()),
    "facts have no speaker": (Conditions, "_drawn_from", lambda self, said, facts: facts & False),
    "an edit is not recorded": (Conditions, "_recorded", first_recorded),
    "paths have one key": (values, "at", outermost),
    "any time will do": (conditions, "_within", lambda times, node: times == times),
}


def test_one_story_is_found_as_it_is_met() -> None:
    with world(STORY) as made:
        assert list(differences(made, JOINED)) == []
        views = made.views()
        sizes = {len(expected(made.named(tree), views)) for tree in PLAINEST}
        assert {0, 1, 2, 3} <= sizes, "the trees tell the items apart"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_any_part_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with world(STORY) as made:
        monkeypatch.setattr(*MISTAKES[mistake])
        assert any(differences(made, JOINED))
