"""What a summarizer would append: summaries of the first messages of a conversation, and failures.

The text of each holds a canary of its own: whatever shows it is known by that.
"""

from typing import Any

from rewound.eventlog import events as e
from rewound.eventlog.bodies import BodyWriter
from rewound.eventlog.ids import ConversationId, EventId, Kind, MessageId, Ref, parse
from rewound.eventlog.log import Draft
from tests.oracle.summed import exact, groups
from tests.property.choices import Choices, chance, one
from tests.property.desk import Desk, rules


def summarise(c: Choices, desk: Desk) -> list[Draft] | None:
    """A summary of some messages that go on where another ends, or begin a conversation."""
    found = groups(desk.dump)
    if not found:
        return None
    conversation, scope, ids = one(c, found)
    after, told = one(c, [(None, 0), *exact(desk.ledger.all, desk.dump, ids)] * 2)
    left = ids[told:]
    if not left:
        return None
    messages = tuple(MessageId(parse(raw, Kind.MESSAGE)) for raw in left[: 1 + c.below(len(left))])
    supports = [desk.ledger.asserting(Ref(Kind.MESSAGE, m), e.MessageRecorded) for m in messages]
    causes = [support[0].envelope.event_id for support in supports]
    before = None if after is None else EventId(parse(after, Kind.EVENT))
    masks = tuple(span for message in messages for span in _masks(desk, message))
    bodies = desk.bodies()
    home = ConversationId(parse(conversation, Kind.CONVERSATION))
    if chance(c, 25):
        event: e.Event = _failure(c, desk, bodies, home, messages, before, masks)
    else:
        text = bodies.piece(f"Sum of sumq{len(desk.ledger.all)}")
        event = e.SummaryWritten(home, text, messages, before, masks, messages[:1], rules(bodies))
    caused = (*(() if before is None else (before,)), *causes)
    return [Draft(event, bodies.sealed, tuple(dict.fromkeys(caused)), bodies.value(scope))]


def _failure(
    c: Choices,
    desk: Desk,
    bodies: BodyWriter,
    home: ConversationId,
    messages: tuple[MessageId, ...],
    before: EventId | None,
    masks: tuple[e.Span, ...],
) -> e.SummaryFailed:
    tried: dict[str, Any] = desk.dump["unsummarised"].get(str(Ref(Kind.MESSAGE, messages[0])), {})
    parked = chance(c, 30)
    return e.SummaryFailed(
        home,
        messages,
        rules(bodies),
        tried.get("attempts", 0) + 1,
        e.Why.CUT_OFF,
        before,
        masks,
        None,
        None if parked else desk.driver.clock.at + 1_000_000,
        parked,
        bodies.text(f"reply failq{len(desk.ledger.all)}"),
    )


def _masks(desk: Desk, message: MessageId) -> list[e.Span]:
    ref = Ref(Kind.MESSAGE, message)
    stated = desk.ledger.stated(desk.ledger.asserting(ref, e.MessageRecorded)[0])
    assert isinstance(stated.event, e.MessageRecorded)
    place = stated.event.text.place(stated.position)
    spans = desk.dump["masks"].get(f"{place.at}:{place.slot}", [])
    return [e.Span(ref, place, start, end) for start, end in spans]
