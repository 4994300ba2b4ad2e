"""What must be true of a store after everybody has left: all that was told is there, once.

First one more start, through the command line, at which workers come to their end; then the log
itself, against what the users were told.
"""

from collections import Counter
from typing import Any

import msgspec

from rewound.eventlog import events as e
from rewound.eventlog.ids import Kind, show
from rewound.eventlog.log import Recorded
from tests.crash.inspecting import Store
from tests.crash.ledger import Ledger, Sent
from tests.crash.processes import WAIT_S, Place
from tests.crash.writer import CONTAINER
from tests.oracle.effect import Texts


def start_once_more(here: Place) -> None:
    """Through the command line: all is well, and the workers come to an end."""
    working = _asked(here, "jobs", "--wait")
    assert (working["pending"], working["failed"], working["parked"]) == (0, 0, 0), working
    jobs = _asked(here, "jobs", "--container", CONTAINER)
    assert (jobs["jobs"], jobs["pending"], jobs["unembedded"]) == ([], 0, 0), jobs
    verified = _asked(here, "verify")
    assert verified["ok"] and not verified["findings"], verified
    assert _asked(here, "rebuild")["equal"], "the views are not what the log says"


def _asked(here: Place, *words: str) -> Any:
    status, output = here.cli(*words).end(5 * WAIT_S)
    assert status == 0, (words, output, here.printed())
    return msgspec.json.decode(output)


def all_is_kept(here: Place, ledger: Ledger) -> str:
    """Everything against the log itself, of which no process has a part any more. In figures."""
    store = Store(here.data)
    try:
        store.whole(anew=True)
        recorded = store.driver.events(CONTAINER)
        stated = _stated(recorded, Texts(store.driver.bodies(CONTAINER)))
        dump = store.driver.dump(CONTAINER)
    finally:
        store.close()
    assert [r.position for r in recorded] == list(range(1, len(recorded) + 1))
    doubled = [text for text, times in stated.items() if times > 1]
    assert not doubled, f"recorded more than once: {doubled[:5]}"
    assert stated.keys() <= ledger.sent.keys(), "nobody sent this"
    ids = {show(Kind.EVENT, r.envelope.event_id): r.position for r in recorded}
    unanswered = []
    for sent in ledger.sent.values():
        if sent.acknowledged:
            _kept(sent, stated, ids, dump)
        else:
            unanswered.append(sent)
    read, drawn = _drawn(recorded, ledger, dump)
    return (
        f"{len(recorded):,} events, {len(ledger.told):,} acknowledged writes, of "
        f"{len(unanswered)} texts without an answer {sum(stated[s.text] for s in unanswered)} "
        f"are there; {read:,} messages read, {drawn:,} facts drawn"
    )


def _stated(recorded: list[Recorded], texts: Texts) -> Counter[str]:
    """How often each text was recorded."""
    stated: Counter[str] = Counter()
    for r in recorded:
        if isinstance(r.event, e.FactRemembered):
            stated[texts.text(r.event.statement.text, r.position) or ""] += 1
        elif isinstance(r.event, e.MessageRecorded):
            stated[texts.text(r.event.text, r.position) or ""] += 1
    return stated


def _kept(
    sent: Sent, stated: Counter[str], ids: dict[str, int], dump: dict[str, dict[str, Any]]
) -> None:
    """An acknowledged text is there once, as its last answered command left it."""
    assert stated[sent.text] == 1, f"{sent} was acknowledged and is lost"
    assert ids.get(sent.event, sent.position + 1) <= sent.position, f"{sent}: its event is lost"
    row = dump[f"{sent.kind}s"].get(sent.id)
    hidden = sent.id in dump["hidden"]
    match sent.end:
        case "there":
            assert row is not None and row["text"] == sent.text and not hidden, f"{sent}: {row}"
        case "forgotten":
            assert row is not None and hidden, f"{sent} was told to be forgotten"
        case "undone":
            assert row is None, f"{sent} was told to be undone, and is there"
        case "unsure":
            assert row is None or row["text"] == sent.text


def _drawn(
    recorded: list[Recorded], ledger: Ledger, dump: dict[str, dict[str, Any]]
) -> tuple[int, int]:
    """Each message was read to its end once, and came to one fact, or to none with a reason.

    Returns how many were read, and how many facts they came to.
    """
    finished: Counter[str] = Counter()
    facts: Counter[str] = Counter()
    why: dict[str, e.Why] = {}
    for r in recorded:
        assert not isinstance(r.event, e.ExtractionFailed), "rules do not fail"
        if isinstance(r.event, e.ExtractionFinished):
            source = show(r.event.source.kind, r.event.source.id)
            finished[source] += 1
            why[source] = r.event.why
        elif isinstance(r.event, e.FactExtracted):
            facts.update({show(span.source.kind, span.source.id) for span in r.event.sources})
    left = set(dump["jobs"]) - set(dump["hidden"])  # what was forgotten first is not read at all
    assert not left, f"still to be read: {left}"
    assert max(finished.values()) == 1, "a message was read twice"
    assert max(facts.values()) == 1, "a fact was drawn twice"
    said = [s for s in ledger.sent.values() if s.kind == "message" and s.end == "there"]
    for sent in said:
        assert finished[sent.id] == 1, f"{sent} was never read"
        assert facts[sent.id] == sent.states, f"{sent} came to {facts[sent.id]} facts"
        assert (why[sent.id] is e.Why.DONE) == sent.states, f"{sent}: {why[sent.id]}"
    return sum(finished.values()), sum(facts.values())
