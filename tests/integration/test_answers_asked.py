"""Questions answered from what is remembered: what is told, what is withheld, and bad models."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rewound.eventlog.clock import SystemClock
from rewound.eventlog.errors import InvalidInput, NotFound, RewoundError, StoreBusy
from rewound.llm.chat import Chat
from rewound.llm.question_answering import (
    AnsweredWith,
    CitedSentence,
    Query,
    Recalled,
    Saying,
)
from rewound.memory import AsyncMemory, Memory, host, responding
from rewound.memory import replies as r
from rewound.memory import requests as q
from rewound.memory.file_reads import FileReads
from rewound.memory.hearing import Asker, asked_by
from rewound.memory.link import Link
from rewound.memory.meaning import Meaning
from rewound.memory.models import Models
from rewound.memory.place import open_layout
from rewound.memory.reranking import Reranks
from rewound.memory.rewriting import Rewrites
from tests.integration.speaking import SpeakingServer, speaking

FACTS = ("Nina works at Orbit Labs.", "Nina has two cats.", "Omar paints boats.")
ASKED = "Where does Nina work, and which pets has she?"
KEY = "LLM-CANARY-790"


@pytest.fixture
def speaker() -> Iterator[SpeakingServer]:
    with speaking() as server:
        yield server


def models_at(speaker: SpeakingServer | None, **more: Any) -> Models:
    named: dict[str, Any] = {"embedder": "none", "extractor": "none", "judge": "none"}
    if speaker is not None:
        named |= {"answerer": "model", "chat_url": speaker.url, "chat_model": "toy"}
        named |= {"chat_key": KEY}
    return Models(**(named | more))


def remembering(folder: Path, speaker: SpeakingServer | None, **more: Any) -> Memory:
    memory = Memory(folder, models=models_at(speaker, **more))
    memory.own()
    for fact in FACTS:
        memory.remember(fact, said_at="2026-03-01")
    return memory


def numbers(memory: Memory, **more: Any) -> dict[str, int]:
    """Text -> the number under which it is given."""
    given = next(iter(memory.ask_stream(ASKED, **more)))
    assert isinstance(given, r.SourcesGiven)
    return {line.text: line.number for line in given.given}


# --- without a model


def test_without_a_model_what_fits_best_is_the_answer(tmp_path: Path) -> None:
    with remembering(tmp_path, None) as memory:
        told = memory.ask("where does Nina work")
        events = memory.stats().events
        assert told.answered and told.text == "Nina works at Orbit Labs. [1]"
        (sentence,) = told.sentences
        assert sentence.ids == told.used == (told.given[0].id,) and sentence.cites == (1,)
        assert told.answering == r.Answering(answerer="facts/1") and not told.notes
        assert told.given[0].date == "2026-03-01" and told.reason is None
        dated = memory.ask("since when does Nina work at Orbit Labs")
        assert dated.text == "2026-03-01: Nina works at Orbit Labs. [1]"
        assert memory.stats().events == events, "asking writes nothing"


def test_what_does_not_fit_is_not_known(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        none = memory.ask("what is the capital of France")
        assert (none.answered, none.text, none.given) == (False, "I don't know.", ())
        assert none.reason == "nothing that is stored fits the question" and none.used == ()
        low = memory.ask("where does Nina work", confidence=1)
        assert not low.answered and low.given and low.answering is None
        assert low.reason is not None and "1 is asked for" in low.reason
        assert not speaker.asked, "nobody is asked"


def test_words_of_others_are_told_as_theirs_and_what_is_over_as_that(tmp_path: Path) -> None:
    with remembering(tmp_path, None) as memory:
        said = {"role": "user", "name": "Vera", "content": "My boat is called Heron."}
        memory.add_messages([said])
        assert memory.ask("what is the boat called").text == "Vera: “My boat is called Heron.” [1]"
        fact = memory.list().items[0].id
        memory.update(fact, "Nina works at Harbor Foods.", said_at="2026-05-01")
        now = memory.ask("where does Nina work")
        assert [each.text for each in now.sentences] == ["Nina works at Harbor Foods."]
        then = memory.ask("where did Nina work in April 2026")
        assert then.sentences[-1].text == "No longer so (superseded): Nina works at Orbit Labs."
        true_then = memory.ask("where does Nina work", valid_at="2026-04-01")
        assert [each.text for each in true_then.sentences] == ["Nina works at Orbit Labs."]
        assert true_then.given[0].state is None and true_then.given[0].until is not None


def test_with_no_answerer_what_fits_is_given_and_nothing_said(tmp_path: Path) -> None:
    with remembering(tmp_path, None, answerer="none") as memory:
        told = memory.ask("where does Nina work")
        assert not told.answered and told.given
        assert told.reason == "no answerer is set (REWOUND_ANSWERER)"


# --- what is remembered when, and for whom


def test_moments_scopes_filters_and_forgetting_hold(tmp_path: Path) -> None:
    with Memory(tmp_path, models=models_at(None)) as memory:
        first = memory.remember("Nina works at Orbit Labs.", scope={"user": "nina"}, tags="work")
        fact = first.items[0].id
        assert fact is not None
        memory.update(fact, "Nina works at Harbor Foods.", corrects=True)
        asked = "where does Nina work"
        assert memory.ask(asked).text == "Nina works at Harbor Foods. [1]"
        before = memory.as_of(first.position)
        assert before.ask(asked).text == "Nina works at Orbit Labs. [1]"
        assert memory.ask(asked, as_of=first.position).text == "Nina works at Orbit Labs. [1]"
        assert not memory.ask(asked, scope={"user": "omar"}).given
        assert not memory.container("default", scope={"user": "omar"}).ask(asked).given
        assert not memory.ask(asked, tags="home").given and memory.ask(asked, tags="work").given
        memory.remember("Omar rests.")
        forgot = memory.forget(fact)
        for told in (memory.ask(asked), before.ask(asked)):
            assert not told.answered and "Nina" not in str(told.given) + str(told.sentences)
        shown = memory.ask(asked, include_forgotten=True)
        assert "Harbor Foods" in shown.text and shown.given[0].state == "forgotten"
        memory.undo(forgot.events[0])
        assert memory.ask(asked).answered
        with pytest.raises(NotFound):
            memory.container("elsewhere").ask(asked)


def test_what_was_forgotten_is_shown_to_no_model(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        memory.forget(text=FACTS[0])
        told = memory.ask(ASKED, include_forgotten=True)
        assert not speaker.asked and FACTS[0] in told.text
        assert told.notes[-1].endswith("what was forgotten is shown to no model")
        speaker.pieces = ("Nina has two cats [1].",)
        assert memory.ask(ASKED).text == "Nina has two cats. [1]"
        assert "Orbit" not in str(speaker.asked)


# --- by a model


def test_a_models_sentences_are_told_with_what_they_cite(
    tmp_path: Path, speaker: SpeakingServer, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"), remembering(tmp_path, speaker) as memory:
        at = numbers(memory)
        work, cats = at[FACTS[0]], at[FACTS[1]]
        speaker.pieces = ("Nina has worked at Orbit La", f"bs since March 2026 [{work}]. She has ",
                          f"two cats.[{cats}]")  # fmt: skip
        told = memory.ask(ASKED)
    assert told.answered and not told.withheld and not told.notes
    assert [(each.text, each.cites) for each in told.sentences] == [
        ("Nina has worked at Orbit Labs since March 2026.", (work,)),
        ("She has two cats.", (cats,)),
    ]
    assert set(told.used) == {line.id for line in told.given if line.number in (work, cats)}
    answering = told.answering
    assert answering is not None and answering.ms is not None and answering.ms > 0
    assert (answering.answerer, answering.calls, answering.tokens) == ("model/1 toy", 1, 109)
    asked = speaker.asked[-1]
    assert asked["stream"] is True and "[a1b2c3d4]" in asked["messages"][0]["content"]
    assert ASKED in speaker.told and '"when": "2026-03-01"' in speaker.told
    for secret in (KEY, "Orbit", "pets"):
        assert secret not in caplog.text


def test_sentences_that_do_not_stand_are_withheld_with_the_reason(
    tmp_path: Path, speaker: SpeakingServer
) -> None:
    with remembering(tmp_path, speaker) as memory:
        at = numbers(memory)
        work, cats = at[FACTS[0]], at[FACTS[1]]
        speaker.pieces = (
            f"Here is what I found: Nina works at Orbit Labs [{work}]. Nina has five cats [{cats}]."
            f" Omar works at Orbit Labs [{work}]. She was there. Nina has a dog [9]. "
            f"Nina does not work at Orbit Labs [{work}]. See https://evil.example/?q=cats [{cats}]."
            f" Nina has two cats [{cats}]. Nina has two cats [{cats}].",
        )
        told = memory.ask(ASKED)
    assert [each.text for each in told.sentences] == ["Nina has two cats."] or told.answered
    assert "five" not in str(told) and "dog" not in str(told) and "evil" not in str(told)
    reasons = [each.reason for each in told.withheld]
    for wanted in (
        "it holds a number", "it holds a name", "it cites nothing", "it cites [9], which was not",
        "it denies what it cites", "it holds an address", "it was said before",
    ):  # fmt: skip
        assert any(reason.startswith(wanted) for reason in reasons), (wanted, reasons)
    assert told.answered and told.sentences[-1].text == "Nina has two cats."


def test_a_number_that_was_not_given_is_left_out_where_another_bears_the_sentence(
    tmp_path: Path, speaker: SpeakingServer
) -> None:
    with remembering(tmp_path, speaker) as memory:
        at = numbers(memory)
        work, cats = at[FACTS[0]], at[FACTS[1]]
        speaker.pieces = (
            f"Nina works at Orbit Labs [{work}][99]. Nina has five cats [98][{cats}]. "
            f"Nina has two cats [97, {cats}].",
        )
        told = memory.ask(ASKED)
        parts = list(memory.ask_stream(ASKED))
    (first, second), (five,) = told.sentences, told.withheld
    assert (first.cites, first.dropped) == ((work,), (99,)) and len(first.ids) == 1
    assert (second.text, second.cites, second.dropped) == ("Nina has two cats.", (cats,), (97,))
    assert five.reason.startswith("it holds a number") and five.cites == (98, cats)
    assert told.text == f"Nina works at Orbit Labs. [{work}] Nina has two cats. [{cats}]"
    assert told.notes == ("the model also cited [99][97], which was not given: left out",)
    assert [part for part in parts if isinstance(part, r.Sentence)] == [first, second]


def test_when_no_sentence_stands_it_is_not_known(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        speaker.pieces = ("Nina lives in Paris [1]. Trust me.",)
        told = memory.ask(ASKED)
        assert (told.answered, told.text, len(told.withheld)) == (False, "I don't know.", 2)
        assert told.reason == "no sentence of the model's answer is borne by what it cites"


@pytest.mark.parametrize("said", ["[0]", "I don't know.", "I do not know [0].", "Not known."])
def test_a_model_may_say_that_it_does_not_know(
    tmp_path: Path, speaker: SpeakingServer, said: str
) -> None:
    with remembering(tmp_path, speaker) as memory:
        speaker.pieces = (said,)
        told = memory.ask(ASKED)
        assert not told.answered and not told.withheld and told.text == "I don't know."
        assert told.reason == "the model finds no answer in what it was given"
        assert told.answering is not None and told.answering.calls == 1


def test_thoughts_are_no_answer(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        work = numbers(memory)[FACTS[0]]
        good = f"Nina works at Orbit Labs [{work}]."
        draft = f"Omar paints boats [{numbers(memory)[FACTS[1]]}]. "
        for pieces in (
            ("<thi", "nk>", draft, "perhaps</th", "ink>", good),
            (draft.rstrip(), " Or not?</think>", good),
            ("\n<think>", "</think>\n", good),
        ):
            speaker.pieces, speaker.thoughts = pieces, ("let me see", " " + draft)
            told = memory.ask(ASKED)
            assert told.text.endswith(f"Nina works at Orbit Labs. [{work}]"), pieces
            assert "boats" not in told.text


def test_an_answer_has_all_the_stages_of_a_search(tmp_path: Path, speaker: SpeakingServer) -> None:
    more: dict[str, Any] = {"rewriter": "model", "decomposer": "rules", "reranker": "words"}
    with remembering(tmp_path, speaker, **more) as memory:
        speaker.whole = json.dumps({"query": "Nina works at"})
        speaker.pieces = ("Nina works at Orbit Labs [1].",)
        plain = memory.ask("who is the employer", confidence=0)
        assert not plain.given and plain.rewriting is None
        told = memory.ask("who is the employer", confidence=0, rewrite=True, rerank=True)
        assert told.text == "Nina works at Orbit Labs. [1]" and told.rewriting is not None
        assert told.rewriting.query == "who is the employer Nina works at"
        assert told.reranking is not None and told.reranking.reranker.startswith("words")
        parts = "Where does Nina work and what does Omar paint?"
        told = memory.ask(parts, confidence=0, decompose=True)
        assert told.decomposing is not None and len(told.searched) == 3
        assert {FACTS[0], FACTS[2]} <= {line.text for line in told.given}


# --- when it fails

AWAY = ("away",)
BAD = ("key", "html", "error", "broken", "trouble", "quits")


@pytest.mark.parametrize("mode", [*AWAY, *BAD])
def test_when_the_model_fails_what_was_found_is_the_answer(
    tmp_path: Path, speaker: SpeakingServer, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    speaker.mode = mode
    with caplog.at_level("INFO"), remembering(tmp_path, speaker) as memory:
        told = memory.ask("where does Nina work")
        asked = len(speaker.asked)
        again = memory.ask("where does Nina work")
    assert told.text == again.text == "Nina works at Orbit Labs. [1]" and told.answered
    (note,) = told.notes
    assert note.startswith("answered by what was found alone, since the answerer failed: ")
    assert told.answering is not None and told.answering.answerer == "facts/1"
    left_alone = len(speaker.asked) == asked
    assert left_alone == (mode in AWAY), "what hangs on the question is tried again"
    for secret in (KEY, "Orbit", "Nina", "slot unavailable"):
        assert secret not in note + caplog.text


@pytest.mark.parametrize(
    ("pieces", "finish", "why"),
    [
        ((), "stop", "empty"), (("<think>hm",), "stop", "empty"), ((), "length", "cut off"),
        (("Nina works at",), "length", "cut off"), (("Nina works",), None, "breaks off"),
        ((), "content_filter", "refused"),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_told_as_that(
    tmp_path: Path, speaker: SpeakingServer, pieces: tuple[str, ...], finish: str | None, why: str
) -> None:
    speaker.pieces, speaker.finish = pieces, finish
    if finish is None:
        speaker.mode = "quits"
    with remembering(tmp_path, speaker) as memory:
        told = memory.ask("where does Nina work")
    assert told.text == "Nina works at Orbit Labs. [1]" and why in told.notes[-1]


def test_what_was_told_before_it_broke_off_stands(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        work = numbers(memory)[FACTS[0]]
        speaker.pieces = (f"Nina works at Orbit Labs [{work}]. She has tw",)
        speaker.finish = "length"
        told = memory.ask(ASKED)
    assert [each.text for each in told.sentences] == ["Nina works at Orbit Labs."]
    assert [each.reason for each in told.withheld] == ["it breaks off"]
    assert told.notes == (
        "the answer may lack its end, since the answerer failed: the answer was cut off at the "
        "limit of tokens",
    )


def test_a_model_that_is_late_is_not_waited_for(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        speaker.pieces = (None,)
        told = memory.ask("where does Nina work", timeout_s=1)
        assert told.text == "Nina works at Orbit Labs. [1]" and "did not answer" in told.notes[0]
        assert speaker.left.wait(30), "the server sees that nobody waits"
        speaker.pieces = ("Nina works at Orbit Labs [1].",)
        again = memory.ask("where does Nina work")
        assert not again.notes, "it was the caller who had no time"


def test_servers_that_know_of_no_streams_or_of_no_usage_are_asked_so(
    tmp_path: Path, speaker: SpeakingServer
) -> None:
    with remembering(tmp_path, speaker) as memory:
        speaker.pieces = ("Nina works at Orbit Labs [1].",)
        speaker.mode = "whole"
        told = memory.ask("where does Nina work")
        assert told.text == "Nina works at Orbit Labs. [1]" and not told.notes
        assert told.answering is not None and told.answering.tokens == 109
        speaker.mode, speaker.refuses = "ok", "stream_options"
        assert not memory.ask("where does Nina work").notes
        assert "stream_options" not in speaker.asked[-1]


def test_by_anthropics_api(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker, chat_api="anthropic") as memory:
        speaker.pieces = ("Nina works at ", "Orbit Labs [1].")
        told = memory.ask("where does Nina work")
        assert told.text == "Nina works at Orbit Labs. [1]" and not told.notes
        assert told.answering is not None and told.answering.tokens == 109
        speaker.finish = "length"
        assert "may lack its end" in memory.ask("where does Nina work").notes[0]


def test_only_as_much_is_shown_as_the_model_reads(
    tmp_path: Path, speaker: SpeakingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Chat, "context_tokens", lambda self, timeout_s=None: 1_400)
    with remembering(tmp_path, speaker) as memory:
        for number in range(30):
            memory.remember(f"Nina keeps plant {number} of a rare kind in her office at work.")
        speaker.pieces = ("Nina keeps plant 29 in her office [30].",)
        told = memory.ask("which plants does Nina keep at work", confidence=0)
    assert any("did not fit into the model's context" in note for note in told.notes), told
    assert not told.answered and "which was not given" in told.withheld[0].reason


# --- in parts, and whoever goes away


def test_sentences_are_told_while_the_model_still_writes(
    tmp_path: Path, speaker: SpeakingServer
) -> None:
    with remembering(tmp_path, speaker) as memory:
        speaker.pieces = ("Nina works at Orbit Labs [1]. She ", None, "is there [1].")
        parts = memory.ask_stream("where does Nina work")
        given, sentence = next(parts), next(parts)
        assert isinstance(given, r.SourcesGiven) and given.given[0].text == FACTS[0]
        assert isinstance(sentence, r.Sentence) and sentence.text == "Nina works at Orbit Labs."
        assert not speaker.go_on.is_set()
        speaker.go_on.set()
        *_, last = parts
        assert isinstance(last, r.Responded) and last.sentences[0] == sentence


def test_whoever_leaves_the_loop_stops_the_model(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        speaker.pieces = (None, "Nina works at Orbit Labs [1].")
        for _ in memory.ask_stream("where does Nina work"):
            assert speaker.waits.wait(30)
            break
        assert speaker.left.wait(30)
        speaker.pieces = ("Nina works at Orbit Labs [1].",)
        assert not memory.ask("where does Nina work").notes, "it is not held against the model"


def test_through_another_process_in_parts_and_stopped_as_well(
    tmp_path: Path, speaker: SpeakingServer
) -> None:
    with remembering(tmp_path, speaker):
        link = Link(tmp_path, models=models_at(None), may_own=False)
        with Memory(link=link) as other:
            speaker.pieces = ("Nina works at Orbit Labs [1]. She ", None, "is there [1].")
            parts = other.ask_stream("where does Nina work")
            kinds = [type(next(parts)), type(next(parts))]
            assert kinds == [r.SourcesGiven, r.Sentence] and not speaker.go_on.is_set()
            parts.close()  # type: ignore[attr-defined]  # a generator
            assert speaker.left.wait(30)
            speaker.pieces = ("Nina works at Orbit Labs [1].",)
            whole = other.ask("where does Nina work")
            assert whole.text == "Nina works at Orbit Labs. [1]" and not whole.notes
        link.close()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (("Nina works at Orbit Labs \ud83d", "\ude00 [1]."), "Nina works at Orbit Labs 😀. [1]"),
        (("Nina works at Orbit Labs \ud83d [1].",), "Nina works at Orbit Labs \ufffd. [1]"),
        (("Nina works at Orbit Labs [1]. \ud83d",), "Nina works at Orbit Labs. [1]"),
    ],
)
def test_halves_of_signs_are_joined_and_harm_nobody(
    tmp_path: Path, speaker: SpeakingServer, pieces: tuple[str, ...], text: str
) -> None:
    speaker.pieces = pieces
    with remembering(tmp_path, speaker) as memory:
        link = Link(tmp_path, models=models_at(None), may_own=False)
        with Memory(link=link) as other:
            assert memory.ask("where does Nina work").text == text
            assert other.ask("where does Nina work").text == text
        link.close()
        assert len(speaker.asked) == 2


def test_an_answer_that_a_hand_over_breaks_off_is_not_told_twice(
    tmp_path: Path, speaker: SpeakingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "_GRACE_S", 0.01)  # the owner waits no longer for what it answers
    with remembering(tmp_path, speaker):
        asks = Link(tmp_path, models=models_at(None), may_own=False)
        takes = Link(tmp_path, models=models_at(None))
        with Memory(link=asks) as other:
            speaker.pieces = ("Nina works at Orbit Labs [1]. She ", None, "is there [1].")
            parts = other.ask_stream("where does Nina work")
            kinds = [type(next(parts)), type(next(parts))]
            assert kinds == [r.SourcesGiven, r.Sentence]
            takes.take_over()
            with pytest.raises(StoreBusy, match="ended while it answered: ask again"):
                next(parts)
            assert other.ask("where does Nina work").answered, "the next owner answers"
        takes.close()
        asks.close()


def test_a_search_whose_caller_has_gone_asks_no_model(
    tmp_path: Path, speaker: SpeakingServer
) -> None:
    speaker.pieces = (None,)
    with remembering(tmp_path, speaker, answerer="facts", rewriter="model") as memory:
        asker = Asker()
        ended: list[r.Reply] = []

        def search() -> None:
            with asked_by(asker):
                ended.append(memory.call(q.Search(query="Nina", rewrite=True)))

        thread = threading.Thread(target=search)
        thread.start()
        assert speaker.waits.wait(30)
        asker.go()
        thread.join(30)
        assert not thread.is_alive() and speaker.left.wait(30)
        (found,) = ended
        assert isinstance(found, r.Found) and found.rewriting is None
        speaker.pieces, asked = (), len(speaker.asked)
        memory.search("Nina", rewrite=True)
        assert len(speaker.asked) > asked, "it is not held against the model"


def test_an_asker_that_has_gone_is_told_so(tmp_path: Path, speaker: SpeakingServer) -> None:
    with remembering(tmp_path, speaker) as memory:
        asker = Asker()
        asker.go()
        with asked_by(asker), pytest.raises(StoreBusy, match="has gone"):
            memory.ask("where does Nina work")


def test_on_an_event_loop(tmp_path: Path, speaker: SpeakingServer) -> None:
    remembering(tmp_path, None).close()

    async def go() -> None:
        async with AsyncMemory(tmp_path, models=models_at(speaker)) as memory:
            speaker.pieces = ("Nina works at Orbit Labs [1].",)
            told = await memory.ask("where does Nina work")
            assert told.text == "Nina works at Orbit Labs. [1]"
            kinds = [type(part) async for part in memory.ask_stream("where does Nina work")]
            assert kinds == [r.SourcesGiven, r.Sentence, r.Responded]
            with pytest.raises(InvalidInput):
                await memory.ask(" ")
            speaker.pieces = (None,)
            asking = asyncio.create_task(memory.ask("where does Nina work"))
            await asyncio.to_thread(speaker.waits.wait, 30)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert await asyncio.to_thread(speaker.left.wait, 30), "it is stopped"

    asyncio.run(go())


def test_readers_beside_the_owner_answer_as_well(tmp_path: Path, speaker: SpeakingServer) -> None:
    remembering(tmp_path, None).close()
    models = models_at(speaker)
    responds = responding.Responds.of(models)
    files = FileReads(
        open_layout(tmp_path), clock=SystemClock(), models=models, meaning=Meaning(None),
        reranks=Reranks(), rewrites=Rewrites(), responds=responds,
    )  # fmt: skip
    speaker.pieces = ("Nina works at Orbit Labs [1].",)
    try:
        told = files.read(q.Inquire(query="where does Nina work"), 30.0)
    finally:
        responds.close()
        files.close()
    assert isinstance(told, r.Responded) and told.text == "Nina works at Orbit Labs. [1]"


# --- settings


@pytest.mark.parametrize(
    ("env", "field"),
    [
        ({"REWOUND_ANSWERER": "model"}, "REWOUND_CHAT_URL"),
        ({"REWOUND_ANSWERER": "rules"}, "REWOUND_ANSWERER"),
        ({"REWOUND_ANSWER_CONFIDENCE": "2"}, "REWOUND_ANSWER_CONFIDENCE"),
        ({"REWOUND_ANSWER_CONFIDENCE": "x"}, "REWOUND_ANSWER_CONFIDENCE"),
        ({"REWOUND_ANSWER_TIMEOUT_S": "0"}, "REWOUND_ANSWER_TIMEOUT_S"),
    ],
)
def test_settings_that_cannot_be_are_refused(env: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        Models.from_environment(env)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"query": " "}, "query"), ({"confidence": 2}, "confidence"), ({"budget": 0}, "budget"),
        ({"timeout_s": 0}, "timeout_s"), ({"timeout_s": 601}, "timeout_s"),
        ({"threshold": -1}, "threshold"),
    ],
)  # fmt: skip
def test_a_question_is_checked(tmp_path: Path, wrong: dict[str, Any], field: str) -> None:
    with remembering(tmp_path, None) as memory, pytest.raises(RewoundError) as caught:
        given: dict[str, Any] = {"query": "x", **wrong}
        memory.ask(**given)
    assert caught.value.field == field


def test_whatever_an_answerer_raises_is_a_note(tmp_path: Path) -> None:
    class Broken:
        name = "broken/1"

        def answer(
            self,
            query: Query,
            recalled: Sequence[Recalled],
            say: Callable[[Saying], None],
            timeout_s: float | None = None,
        ) -> AnsweredWith:
            raise ValueError("Orbit")

        def close(self) -> None:
            pass

    with remembering(tmp_path, None) as memory:
        store = memory.link._store
        assert store is not None
        store.engine.responds = responding.Responds(Broken(), asks_model=True)
        told = memory.ask("where does Nina work")
    assert told.answered and "it ended with ValueError" in told.notes[0]


def test_a_reply_that_is_no_text_is_an_error_at_once(tmp_path: Path) -> None:
    class Halved:
        name = "halved/1"
        asked = 0

        def answer(
            self,
            query: Query,
            recalled: Sequence[Recalled],
            say: Callable[[Saying], None],
            timeout_s: float | None = None,
        ) -> AnsweredWith:
            self.asked += 1
            say(CitedSentence("\ud83d", (1,)))
            return AnsweredWith()

        def close(self) -> None:
            pass

    with remembering(tmp_path, None) as memory:
        store, halved = memory.link._store, Halved()
        assert store is not None
        store.engine.responds = responding.Responds(halved, asks_model=True)
        link = Link(tmp_path, models=models_at(None), may_own=False)
        with Memory(link=link) as other, pytest.raises(RewoundError) as caught:
            other.ask("where does Nina work")
        link.close()
    assert halved.asked == 1 and not isinstance(caught.value, StoreBusy)
