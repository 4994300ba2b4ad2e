"""An answer, printed for a person: its sentences with marks, then what they cite."""

from collections.abc import Callable
from typing import Any

from rich.text import Text

from rewound.http import words
from rewound.http.render_parts import Sheet, joined, moment_line
from rewound.memory.replies import GivenLine, Responded, Sentence


def marked_line(sentence: Sentence) -> str:
    """A sentence in one line, with the marks of what it cites."""
    marks = "".join(f"[{number}]" for number in sentence.cites)
    return f"{words.one_line(sentence.text)} {marks}".rstrip()


def responded(sheet: Sheet, reply: Responded) -> None:
    for sentence in reply.sentences:
        sheet.line(marked_line(sentence))
    if not reply.answered:
        sheet.line(words.one_line(reply.text), "bold")
        if reply.reason:
            sheet.line(words.one_line(reply.reason))
    cited = [line for line in reply.given if line.id in reply.used]
    if cited:
        sheet.line()
        sheet.block([(Text(f"[{line.number}]", style="dim"), _source(line)) for line in cited])
    sheet.line()
    about = [f"{len(cited)} of {words.counted(len(reply.given), 'source')} cited"]
    if reply.answering is not None:
        told = reply.answering
        about.append(f"answered by {words.one_line(told.answerer)}")
        about += [f"{told.ms:,.0f} ms"] if told.ms is not None else []
        about += [words.counted(told.tokens, "token")] if told.tokens else []
    sheet.line(joined([*about, moment_line(reply.moment)]))
    for withheld in reply.withheld:
        sheet.dim(f"withheld a sentence of the model's: {words.one_line(withheld.reason)}")
    sheet.notes(reply.notes)


def _source(line: GivenLine) -> Text:
    until = words.day(line.until) if line.until and line.state else ""
    days = " to ".join(filter(None, [words.day(line.date or ""), until]))
    by = words.one_line(line.by or "") if line.kind != "fact" else ""
    about = joined([line.kind, days, by, line.state or "", f"score {line.score:.2f}"])
    asked = f"answers: {words.one_line(line.asked)}\n" if line.asked else ""
    text = Text(f"{words.one_line(line.text)}\n{asked}")
    return text.append_text(about).append("\n").append(line.id, style="cyan")


RENDERERS: dict[type, Callable[[Sheet, Any], None]] = {Responded: responded}
