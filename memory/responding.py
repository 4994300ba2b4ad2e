"""The last stage of a question: its answer, once the memories that fit it have been found.

It works on what was found after the snapshot is closed, as a reranker does. Where nothing fits well
enough nobody is asked, and the answer is not known. When a model fails, the memories themselves are
the answer and a note says why; when it does so in mid-answer, what was told stands.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import msgspec

from rewound.eventlog.enums import Why
from rewound.eventlog.errors import StoreBusy
from rewound.llm.facts_answerer import FactsAnswerer
from rewound.llm.question_answering import (
    TIMEOUT_S,
    AnsweredWith,
    AnswerFailed,
    CitedSentence,
    QuestionAnswerer,
    Saying,
)
from rewound.memory import requests as q
from rewound.memory.hearing import asker_here, listener_here
from rewound.memory.replies import (
    Answering,
    Responded,
    Sentence,
    SourcesGiven,
    WithheldSentence,
)

if TYPE_CHECKING:
    from rewound.llm.dispatching import Dispatcher
    from rewound.memory.models import Models
    from rewound.memory.recollecting import Recollection

CONFIDENCE = 0.3
CONFIDENCE_OF_MODEL = 0.1
"""Lower, since a model may still say that it does not know."""

UNKNOWN = "I don't know."

_PAUSE_S = 30.0
"""So long after it was away or late a model is left alone: all else may hang on what was asked."""

_log = logging.getLogger(__name__)


class Responds:
    """The answering stage of one store's questions. Safe for any number of threads.

    Where even the best memory is less likely to answer than `confidence` (left out, as that is
    above for who answers), nothing is answered. A model has `timeout_s` for one answer. Both hold
    unless a question says otherwise.
    """

    def __init__(
        self,
        answerer: QuestionAnswerer | None = None,
        *,
        confidence: float | None = None,
        timeout_s: float = TIMEOUT_S,
        asks_model: bool = False,
    ) -> None:
        """`asks_model`: what is given to the answerer leaves this process."""
        self._answerer = answerer
        self._facts = FactsAnswerer()
        self._confidence = confidence
        self._timeout_s = timeout_s
        self._asks_model = asks_model
        self._failed = ""
        self._again_at = 0.0

    @staticmethod
    def of(models: Models, nodes: Dispatcher | None = None) -> Responds:
        """What the settings ask for; `nodes` makes the calls at servers."""
        return Responds(
            models.make_answerer(nodes),
            confidence=models.answer_confidence,
            timeout_s=models.answer_timeout_s,
            asks_model=models.answerer == "model",
        )

    def close(self) -> None:
        """Give up what is under way, from any thread."""
        if self._answerer is not None:
            self._answerer.close()

    def nodes_are_back(self) -> None:
        """Ask the model again at once, rather than when its pause is over."""
        self._again_at = 0.0

    def responded(self, request: q.Inquire, found: Recollection) -> Responded:
        """The reply with its answer, whose parts are told to whoever listens as they come. Raises
        StoreBusy when whoever asked has gone."""
        blank, said = found.blank, _Said(found)
        listener_here()(SourcesGiven(query=blank.query, given=blank.given, moment=blank.moment))
        if self._answerer is None:
            return said.reply(reason="no answerer is set (REWOUND_ANSWERER)")
        if not self._asks_model:
            return self._by_facts(request, found, said)
        why_facts = self._why_facts(request)
        if why_facts is not None:
            return self._by_facts(request, found, said, why_facts)
        why_none = _why_none(found, self._least(request, CONFIDENCE_OF_MODEL))
        if why_none is not None:
            return said.reply(reason=why_none)
        begun = time.monotonic()
        try:
            took = self._asked(self._answerer, request, found, said)
        except AnswerFailed as failed:
            return self._without(failed, request, found, said)
        ms = round((time.monotonic() - begun) * 1000, 1)
        if took.shown < len(found.recalled):
            left = len(found.recalled) - took.shown
            said.notes.append(f"{left} of what was found did not fit into the model's context")
        answering = _telling(self._answerer, took, ms)
        return said.reply(reason=_why_nothing(said, took), answering=answering)

    def _least(self, request: q.Inquire, usual: float) -> float:
        """How likely the best must be to answer."""
        known = self._confidence if request.confidence is None else request.confidence
        return usual if known is None else known

    def _why_facts(self, request: q.Inquire) -> str | None:
        """Why the model is not asked."""
        if request.include_forgotten:
            return "answered by what was found alone: what was forgotten is shown to no model"
        if time.monotonic() < self._again_at:
            return _by_themselves(self._failed)
        return None

    def _asked(
        self, answerer: QuestionAnswerer, request: q.Inquire, found: Recollection, said: _Said
    ) -> AnsweredWith:
        """Raises AnswerFailed, whatever the answerer raises."""
        timeout_s = self._timeout_s if request.timeout_s is None else request.timeout_s
        try:
            return answerer.answer(found.query, found.recalled, said.take, timeout_s)
        except AnswerFailed as failed:
            if asker_here().gone:
                raise StoreBusy("whoever asked this has gone") from None
            if failed.why is Why.UNREACHABLE and timeout_s >= min(self._timeout_s, TIMEOUT_S):
                self._failed, self._again_at = str(failed), time.monotonic() + _PAUSE_S
            raise
        except Exception as error:  # a model may fail in any way: what was found is there
            raise AnswerFailed(f"it ended with {type(error).__name__}", Why.MALFORMED) from error

    def _without(
        self, failed: AnswerFailed, request: q.Inquire, found: Recollection, said: _Said
    ) -> Responded:
        """The answer after a failure: what was told until then, else what was found."""
        _log.warning("the answerer failed: %s", failed)
        if not said.sentences:
            return self._by_facts(request, found, said, _by_themselves(str(failed)))
        assert self._answerer is not None
        said.notes.append(f"the answer may lack its end, since the answerer failed: {failed}")
        return said.reply(answering=_telling(self._answerer, AnsweredWith(calls=1)))

    def _by_facts(
        self, request: q.Inquire, found: Recollection, said: _Said, note: str | None = None
    ) -> Responded:
        """What was found as the answer, where it is likely enough to be one."""
        if note is not None:
            said.notes.append(note)
        least = self._least(request, CONFIDENCE)
        why_none = _why_none(found, least)
        if why_none is not None:
            return said.reply(reason=why_none)
        query = found.query._replace(least=least)
        took = self._facts.answer(query, found.recalled, said.take)
        return said.reply(answering=_telling(self._facts, took))


class _Said:
    """An answer as it comes: told to whoever listens, and kept for the reply."""

    def __init__(self, found: Recollection) -> None:
        self._reply = found.blank
        self._ids = {line.number: line.id for line in found.blank.given}
        self._tell = listener_here()
        self.sentences: list[Sentence] = []
        self.withheld: list[WithheldSentence] = []
        self.notes = list(found.blank.notes)

    def take(self, saying: Saying) -> None:
        if isinstance(saying, CitedSentence):
            ids = tuple(self._ids[number] for number in saying.cites)
            sentence = Sentence(
                text=saying.text, cites=saying.cites, ids=ids, dropped=saying.dropped
            )
            self.sentences.append(sentence)
            self._tell(sentence)
        else:
            withheld = WithheldSentence(reason=saying.why, cites=saying.cites)
            self.withheld.append(withheld)
            self._tell(withheld)

    def reply(self, *, reason: str | None = None, answering: Answering | None = None) -> Responded:
        used = dict.fromkeys(each for sentence in self.sentences for each in sentence.ids)
        dropped = dict.fromkeys(each for sentence in self.sentences for each in sentence.dropped)
        if dropped:
            marks = "".join(f"[{number}]" for number in dropped)
            self.notes.append(f"the model also cited {marks}, which was not given: left out")
        return msgspec.structs.replace(
            self._reply,
            answered=bool(self.sentences),
            text=" ".join(map(marked, self.sentences)) or UNKNOWN,
            sentences=tuple(self.sentences),
            used=tuple(used),
            reason=reason,
            withheld=tuple(self.withheld),
            answering=answering,
            notes=tuple(self.notes),
        )


def marked(sentence: Sentence) -> str:
    """A sentence with the marks of what it cites."""
    return f"{sentence.text} {''.join(f'[{number}]' for number in sentence.cites)}"


def _why_none(found: Recollection, least: float) -> str | None:
    """Why nobody need be asked."""
    if found.crowded:
        return "the budget has no room for anything that fits the question"
    if not found.recalled:
        return "nothing that is stored fits the question"
    best = max(each.likely for each in found.recalled)
    if best >= least:
        return None
    return (
        f"what fits best answers with a probability of {best:.2f}, and {least:g} is asked for "
        "(confidence)"
    )


def _why_nothing(said: _Said, took: AnsweredWith) -> str | None:
    """Why a model's answer says nothing; None where it does."""
    if said.sentences:
        return None
    if not took.knows:
        return "the model finds no answer in what it was given"
    if said.withheld:
        return "no sentence of the model's answer is borne by what it cites"
    return "the model said nothing"


def _telling(answerer: QuestionAnswerer, took: AnsweredWith, ms: float | None = None) -> Answering:
    return Answering(answerer=answerer.name, calls=took.calls, tokens=took.tokens, ms=ms)


def _by_themselves(why: str) -> str:
    return f"answered by what was found alone, since the answerer failed: {why}"
