"""The short-term view of a conversation: messages, summaries and facts, for whom and when."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rewound.eventlog.errors import InvalidInput, NotFound, WrongKind
from rewound.memory import replies as r
from tests.integration.chatting import ChatServer
from tests.integration.summing import RECENT, TALK, summaries, summing, summing_server, talk

FACTS = ("My bike is orange.", "I live in Rome.", "I work at Orbit Labs.")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with summing_server() as chat:
        yield chat


def sentences(recent: r.ShortTerm) -> str:
    return "\n".join(summary.text for summary in recent.summaries)


# --- what is shown


def test_messages_that_fit_are_shown_and_older_ones_summed_up(
    tmp_path: Path, server: ChatServer
) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:5])
        (written,) = summaries(memory)
        reply = memory.recent("talk")
        recent = reply.recent
        assert [turn.id for turn in recent.messages] == ids[4:]
        assert (recent.messages[0].text, recent.messages[0].speaker) == (TALK[4], "Ann")
        assert (recent.older, recent.summed, recent.told_by) == (4, 4, "summary")
        (summary,) = recent.summaries
        assert (summary.id, summary.first, summary.last) == (written.id, ids[0], ids[3])
        assert (summary.cites, summary.count) == (tuple(ids[:4]), 4)
        assert summary.text.splitlines()[3] == f"{TALK[3]} [4]"
        assert all(line in recent.text for line in TALK[:5]) and reply.notes == ()
        assert memory.recent(recent.conversations[0]).recent.messages == recent.messages


def test_the_budget_of_a_read_is_its_own(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:3])
        summaries(memory)
        ids += talk(memory, *TALK[3:6])
        assert [event.data["messages"] for event in summaries(memory)] == [ids[:2], ids[2:5]]
        wide = memory.recent("talk", recent_chars=4 * len(TALK[0])).recent
        assert [turn.id for turn in wide.messages] == ids[2:]
        assert [summary.last for summary in wide.summaries] == [ids[1]], "no more than needed"
        all_of_it = memory.recent("talk", recent_chars=10_000).recent
        assert len(all_of_it.messages) == 6 and all_of_it.told_by == "nothing"
        least = memory.recent("talk", recent_chars=1).recent
        assert [turn.id for turn in least.messages] == ids[5:], "the last is always there"


def test_facts_stand_in_where_no_model_is(tmp_path: Path) -> None:
    with summing(tmp_path, None, extractor="rules", recent_chars=20) as memory:
        ids = talk(memory, *FACTS)
        memory.workers("wait")
        reply = memory.recent("talk")
        recent = reply.recent
        assert recent.told_by == "facts" and not recent.summaries
        assert [fact.messages for fact in recent.facts] == [(ids[0],), (ids[1],)]
        assert "orange" in recent.facts[0].text and recent.facts[0].id in recent.text
        assert reply.notes == (
            "no summary tells of 2 older messages: the facts drawn from them stand in its place",
        )
        short = memory.recent("talk", older_chars=30).recent
        assert [fact.messages for fact in short.facts] == [(ids[1],)] and short.left_out == 1


def test_only_current_facts_stand_in(tmp_path: Path) -> None:
    with summing(tmp_path, None, extractor="rules", recent_chars=20) as memory:
        talk(memory, *FACTS)
        memory.workers("wait")
        before = memory.recent("talk")
        memory.forget([before.recent.facts[0].id])
        assert len(memory.recent("talk").recent.facts) == 1
        then = memory.recent("talk", as_of=f"@{before.moment.position}")
        assert len(then.recent.facts) == 1, "what is forgotten shows at no moment"


def test_summary_and_facts_may_stand_beside_each_other(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server, extractor="rules") as memory:
        talk(memory, *FACTS)
        summaries(memory)
        memory.workers("pause")
        talk(memory, "My cat is called Biscuit.", "I play the cello.", "Hello there, my friends.")
    with summing(tmp_path, None, extractor="rules") as memory:
        memory.workers("resume")
        memory.workers("wait")
        recent = memory.recent("talk").recent
        assert recent.told_by == "both" and recent.summed == 2
        assert ["orange" in fact.text for fact in recent.facts] == [False] * len(recent.facts)


# --- what was taken back


def test_a_forgotten_message_takes_its_summaries_out_of_every_moment(
    tmp_path: Path, server: ChatServer
) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:3])
        summaries(memory)
        ids += talk(memory, *TALK[3:6])
        first, second = summaries(memory)
        then = f"@{second.position}"
        forgot = memory.forget([ids[3]])
        *_, third = summaries(memory)
        recent = memory.recent("talk").recent
        assert [summary.id for summary in recent.summaries] == [third.id]
        assert third.data["after"] == first.id, "what was written before it still holds"
        assert TALK[3] not in recent.text and TALK[4] in sentences(recent)
        past = memory.recent("talk", as_of=then).recent
        assert [summary.id for summary in past.summaries] == [first.id]
        assert TALK[3] not in past.text
        shown = memory.recent("talk", as_of=then, include_forgotten=True).recent
        assert [summary.id for summary in shown.summaries] == [second.id]
        told = {event.id: event for event in memory.events(types=["summary written"]).events}
        assert told[second.id].withheld == "forgotten" and not told[second.id].texts
        memory.restore([ids[3]])
        assert [summary.id for summary in memory.recent("talk").recent.summaries] == [second.id]
        assert len(summaries(memory)) == 3, "it is there already"
        assert forgot.items


def test_a_forgotten_part_of_a_message_counts_as_well(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server, extractor="rules") as memory:
        talk(memory, "My bike is orange. The weather is fine.", *TALK[:2])
        (first,) = summaries(memory)
        (fact,) = (item for item in memory.list().items if "orange" in item.text)
        memory.forget([fact.id])
        *_, second = summaries(memory)
        assert second.id != first.id and "orange" not in second.texts["text"]
        assert "weather" in sentences(memory.recent("talk").recent)
        memory.restore([fact.id])
        recent = memory.recent("talk").recent
        assert [summary.id for summary in recent.summaries] == [first.id]


def test_as_of_shows_the_summary_of_that_moment(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        talk(memory, *TALK[:3])
        (first,) = summaries(memory)
        talk(memory, *TALK[3:6])
        second = summaries(memory)[-1]
        for moment, wanted in ((first, [first.id]), (second, [second.id])):
            past = memory.recent("talk", as_of=moment.id).recent
            assert [summary.id for summary in past.summaries] == wanted
        assert not memory.recent("talk", as_of=f"@{first.position - 1}").recent.summaries


# --- for whom


def test_a_reader_sees_what_its_scope_may_read(tmp_path: Path, server: ChatServer) -> None:
    with summing(tmp_path, server) as memory:
        ids = talk(memory, *TALK[:3], scope={"user": "ann"})
        talk(memory, *TALK[3:6], scope={"user": "bob"})
        assert len(summaries(memory)) == 2
        ann = memory.container("default", scope={"user": "ann"}).recent("talk").recent
        assert [turn.id for turn in ann.messages] == ids[2:]
        assert [summary.scope for summary in ann.summaries] == [{"user": "ann"}]
        assert not any(text in ann.text for text in TALK[3:6])
        both = memory.recent("talk").recent
        assert len(both.conversations) == 2 and len(both.summaries) == 2
        assert both.messages[-1].text == TALK[5]
        narrowed = memory.context("talk", conversation="talk", scope={"user": "bob"})
        assert narrowed.recent is not None and not any(t in narrowed.text for t in TALK[:3])
        with pytest.raises(NotFound):
            memory.container("default", scope={"user": "eve"}).recent("talk")


def test_what_is_not_there_is_told_so(tmp_path: Path) -> None:
    with summing(tmp_path, None) as memory:
        (message,) = talk(memory, TALK[0])
        with pytest.raises(NotFound, match="there is no conversation 'walk' at this moment"):
            memory.recent("walk")
        with pytest.raises(NotFound):
            memory.recent("talk", as_of="@1")
        with pytest.raises(WrongKind, match="is a message, but conversation wants"):
            memory.recent(message)
        for chars in (0, -1):
            with pytest.raises(InvalidInput, match="recent_chars"):
                memory.recent("talk", recent_chars=chars)
        memory.forget([message])
        with pytest.raises(NotFound):
            memory.recent("talk")


# --- in a context


def test_a_context_repeats_nothing_of_the_recent_part(tmp_path: Path) -> None:
    with summing(tmp_path, None, extractor="rules", recent_chars=10_000) as memory:
        old = talk(memory, "My bike is orange.", conversation="before")
        ids = talk(memory, "My bike is at the repair shop.", "Where is the bike?")
        memory.workers("wait")
        plain = memory.context("the bike", budget=600)
        assert {line.id for line in plain.lines} & {*ids}, "else nothing could be doubled"
        packed = memory.context("the bike", budget=600, conversation="talk")
        assert packed.recent is not None
        assert [turn.id for turn in packed.recent.messages] == ids
        told = [memory.get(line.id).item for line in packed.lines]
        assert told and not {item.id for item in told} & {*ids}
        for item in told:
            assert {source.id for source in item.sources} <= {*old}
        assert packed.text.count("repair shop") == 1
        assert packed.text.endswith(packed.recent.text)


@pytest.mark.parametrize("budget", [20, 60, 200, 800])
def test_the_budget_of_a_context_counts_both(
    tmp_path: Path, server: ChatServer, budget: int
) -> None:
    with summing(tmp_path, server) as memory:
        talk(memory, *TALK)
        talk(memory, "Our talk was long, said Ann.", conversation="other")
        summaries(memory)
        packed = memory.context("our talk", budget=budget, conversation="talk", recent_chars=500)
        taken = 0 if packed.recent is None else packed.recent.tokens
        assert taken + sum(line.tokens for line in packed.lines) == packed.tokens <= budget
        assert len(packed.text.encode()) // 4 <= packed.tokens
        if packed.recent is None:
            assert budget == 20 and "no room for the recent part" in packed.notes[0]
        else:
            assert packed.recent.messages[-1].text[:5] == TALK[-1][:5]


def test_a_context_whose_hits_are_all_recent_does_not_say_that_nothing_was_found(
    tmp_path: Path,
) -> None:
    with summing(tmp_path, None, recent_chars=1_000) as memory:
        talk(memory, "My bike is orange.", "Where is the bike?")
        packed = memory.context("the bike", budget=600, conversation="talk")
        assert not packed.lines and not packed.nothing_relevant and packed.notes == ()


def test_a_long_last_message_is_cut_in_a_context_only(tmp_path: Path) -> None:
    with summing(tmp_path, None) as memory:
        talk(memory, "So it goes. " * 400)
        (turn,) = memory.recent("talk").recent.messages
        assert not turn.cut and len(turn.text) > RECENT
        packed = memory.context("talk", budget=300, conversation="talk")
        assert packed.recent is not None
        (turn,) = packed.recent.messages
        assert turn.cut and turn.text.endswith("…") and packed.tokens <= 150


def test_a_conversation_that_has_not_begun_leaves_the_context_as_it_is(tmp_path: Path) -> None:
    with summing(tmp_path, None) as memory:
        talk(memory, TALK[0])
        packed = memory.context("talk", conversation="tomorrow")
        assert packed.recent is None and packed.lines
        assert packed.notes[0] == "there is no conversation 'tomorrow' at this moment"
