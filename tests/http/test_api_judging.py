"""With a judge that works: facts are compared, and a person has the last word."""

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from rewound.memory import replies as r
from tests.http.serving import Api, Served, reply_of, serving

_numbers = count(1)

OLD, NEW = "Nina works at Harbor Foods.", "Nina now works at Orbit Labs."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("judging"), REWOUND_JUDGE="rules") as started:
        yield started


@pytest.fixture(scope="module")
def client(served: Served) -> Iterator[httpx.Client]:
    with served.client() as opened:
        yield opened


@pytest.fixture
def api(client: httpx.Client) -> Api:
    return Api(client, f"j{next(_numbers)}")


def judged(api: Api) -> None:
    """Wait until every fact has been compared."""
    told = reply_of(api.send("POST", "/v1/workers", {"action": "wait"}), r.Working)
    assert (told.judge, told.state) == ("rules", "running")
    assert api.read("/v1/jobs", r.JobList).unjudged == 0


@pytest.fixture
def pair(api: Api) -> tuple[str, str]:
    """A fact, and the later one that took its place."""
    old, new = (
        api.write("POST", "/v1/facts", {"text": text, "said_at": said_at}).items[0].id or ""
        for text, said_at in ((OLD, "2026-03-01"), (NEW, "2026-05-01"))
    )
    judged(api)
    return old, new


def why(api: Api, fact: str, **params: str) -> r.Explained:
    return api.read(f"/v1/facts/{fact}/why", r.Explained, **params)


def label(api: Api, **fields: object) -> r.Labelled:
    body = {"container": api.container, **fields}
    return reply_of(api.send("POST", "/v1/labels", body), r.Labelled)


def test_a_fact_is_explained_with_the_undo_of_each_step(api: Api, pair: tuple[str, str]) -> None:
    old, new = pair
    told = why(api, new)
    assert told.verdict is not None and told.verdict.judge
    (compared,) = told.verdict.pairs
    assert (compared.old, compared.outcome, compared.old_text) == (old, "updates", OLD)
    assert 0 < compared.probability <= 1 and compared.evidence
    (ending,) = [step for step in told.steps if step.type == "fact superseded"]
    assert ending.undo == f"rewound undo {ending.event} -c {api.container}"
    api.send("POST", f"/v1/events/{ending.event}/undo", {"container": api.container})
    after = why(api, old)
    assert after.item.standing == r.Standing(state="current")
    (undone,) = [step for step in after.steps if step.event == ending.event]
    assert undone.undo is None and undone.undone_by is not None


def test_why_is_of_facts_and_of_this_container(api: Api, pair: tuple[str, str]) -> None:
    document = api.write("POST", "/v1/documents", {"text": "A text."}).items[0].id
    params = {"container": api.container}
    api.refused(400, "wrong_kind", "GET", f"/v1/facts/{document}/why", params=params)
    api.refused(404, "not_found", "GET", f"/v1/facts/{pair[0]}/why")
    other = api.within(f"{api.container}-b")
    other.write("POST", "/v1/facts", {"text": "Ana has a cat."})
    params = {"container": other.container}
    api.refused(404, "not_found", "GET", f"/v1/facts/{pair[0]}/why", params=params)


def test_a_label_holds_against_the_judge_and_can_be_taken_back(
    api: Api, pair: tuple[str, str]
) -> None:
    old, new = pair
    given = label(api, fact=new, old=old, confirm=False)
    assert [(each.was, each.outcome) for each in given.labels] == [("updates", "distinct")]
    assert why(api, old).item.standing == r.Standing(state="current")
    verdict = why(api, new).verdict
    assert verdict is not None and verdict.pairs[0].label == "distinct"
    body = {"container": api.container, "id": given.labels[0].event}
    reply_of(api.send("POST", "/v1/undo", body), r.Undid)
    standing = why(api, old).item.standing
    assert standing is not None and (standing.state, standing.by) == ("superseded", new)


def test_several_labels_are_given_at_once(api: Api, pair: tuple[str, str]) -> None:
    old, new = pair
    (third,) = (item.id for item in api.write("POST", "/v1/facts", {"text": NEW[:-1]}).items)
    judged(api)
    told = why(api, third or "")
    assert told.verdict is not None
    olds = [compared.old for compared in told.verdict.pairs]
    labels = [{"fact": third, "old": each, "outcome": "distinct"} for each in olds]
    labels.append({"fact": new, "old": old, "outcome": "corrects"})
    given = label(api, labels=labels)
    assert len(given.labels) == len(labels)
    standing = why(api, old).item.standing
    assert standing is not None and standing.state == "corrected"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "fact"),
        ({"labels": []}, "labels"),
        ({"fact": "f"}, "old"),
        ({"fact": "f", "old": "g"}, "labels[0].outcome"),
        ({"fact": "f", "old": "g", "outcome": "updates", "confirm": True}, "labels[0].outcome"),
        ({"fact": "f", "old": "g", "outcome": "replaces"}, "outcome"),
        ({"labels": [{"fact": "f", "old": "g", "confirm": True}], "fact": "f"}, "fact"),
    ],
)
def test_a_label_that_says_nothing_is_refused(
    api: Api, body: dict[str, object], field: str
) -> None:
    api.fact("Here.")
    error = api.refused(400, "invalid_input", "POST", "/v1/labels", {
        "container": api.container, **body,
    })  # fmt: skip
    assert error["field"] == field, error


def test_reviews_are_pages(api: Api, pair: tuple[str, str]) -> None:
    told = api.read("/v1/reviews", r.ReviewList)
    assert told.total == len(told.reviews) and not told.has_more
    for review in told.reviews:
        label(api, fact=review.fact, old=review.old, confirm=True)
    assert api.read("/v1/reviews", r.ReviewList).total == 0
    params = {"container": api.container, "cursor": "x"}
    api.refused(400, "invalid_input", "GET", "/v1/reviews", params=params, field="cursor")


def test_a_fit_of_too_few_labels_changes_nothing(api: Api, pair: tuple[str, str]) -> None:
    old, new = pair
    label(api, fact=new, old=old, confirm=True)
    body = {"container": api.container}
    fitted = reply_of(api.send("POST", "/v1/policy/fit", body), r.Fitted)
    assert (fitted.accepted, fitted.event, fitted.labels) == (False, None, 1)
    assert fitted.why and fitted.flips == ()


def test_the_past_is_judged_again(api: Api, pair: tuple[str, str]) -> None:
    body = {"container": api.container, "judge": True, "dry_run": True}
    shown = reply_of(api.send("POST", "/v1/rejudge", body), r.Rejudged)
    assert (shown.judged, shown.dry_run, shown.flips) == (2, True, ())
    done = reply_of(api.send("POST", "/v1/rejudge", {**body, "dry_run": False}), r.Rejudged)
    assert (done.judged, done.flips) == (2, ())
    assert why(api, pair[0]).item.standing == r.Standing(
        state="superseded", by=pair[1], at="2026-05-01T00:00:00.000000Z"
    )


def test_timelines_and_the_graph(api: Api, pair: tuple[str, str]) -> None:
    told = api.read("/v1/timeline", r.Chronicle, subject="Nina")
    (line,) = told.lines
    assert [period.id for period in line.periods] == list(pair)
    then = api.read("/v1/graph", r.Network, entity="Nina", valid_at="2026-04-01")
    assert "Harbor Foods" in [node.name for node in then.nodes]
    assert "Orbit Labs" not in [node.name for node in then.nodes]
    now = api.read("/v1/graph", r.Network, entity="Orbit Labs", to="Nina")
    assert now.path == ("Orbit Labs", "Nina")
    params = {"container": api.container, "entity": "Nina", "depth": "99"}
    api.refused(400, "invalid_input", "GET", "/v1/graph", params=params, field="depth")
