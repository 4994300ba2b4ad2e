"""Which model to take: `python -m eval.models [--chat URL[=MODEL]]... [--limit N]`.

Extractors and judges side by side on the sets of this repository: rules, and every chat model that
is configured or named, with what each got right, how long it took, and the tokens it read and
wrote; with `--price` also what that cost. All see the same messages and pairs, one call after the
other, each model alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from eval import extraction, judging
from eval.measured import Absent, Column, account, extracted, judged, table
from eval.metering import Meter, Price
from rewound.http.config import load, models_of
from rewound.llm.model_extractor import ModelExtractor
from rewound.llm.model_judge import ModelJudge
from rewound.llm.nodes import Endpoint, endpoints_of
from rewound.llm.rules import RulesExtractor
from rewound.memory import RewoundError
from rewound.memory.model_servers import key_of
from rewound.memory.models import Models

T = TypeVar("T")
TASKS = ("extractors", "judges")


class Candidate(NamedTuple):
    """A chat model that may be taken. `meter` makes it anew, with nothing counted."""

    label: str
    meter: Callable[[], Meter]


# --- which models


def configured(models: Models) -> list[Candidate]:
    """Every address that answers for chat or decide by the settings."""
    found: list[Candidate] = []
    for node in models.all_nodes():
        for server in endpoints_of(node):
            if server.roles & {"chat", "decide"}:
                label = server.model or models.chat_model or server.url.partition("://")[2]
                found.append(Candidate(label, _metered(models, server)))
    return found


def _metered(models: Models, server: Endpoint) -> Callable[[], Meter]:
    return lambda: Meter(lambda spent: models.chat_at(server, spent))


def named(chats: Iterable[str], key: str | None) -> list[Candidate]:
    """Those of `--chat`, each `URL` or `URL=MODEL`. Raises InvalidInput."""
    found: list[Candidate] = []
    for each in chats:
        url, _, model = each.partition("=")
        found += configured(Models(chat_url=url, chat_model=model or None, chat_key=key))
    return found


def told_apart(found: Sequence[Candidate]) -> list[Candidate]:
    """With a number behind a label that stands twice."""
    seen: dict[str, int] = {}
    apart: list[Candidate] = []
    for each in found:
        seen[each.label] = count = seen.get(each.label, 0) + 1
        apart.append(each if count == 1 else each._replace(label=f"{each.label} ({count})"))
    return apart


# --- what of a set


def some(whole: Sequence[T], limit: int | None, key: Callable[[T], str]) -> list[T]:
    """About `limit` of a set, the same in every run: what has one key stays together."""
    if limit is None or limit >= len(whole):
        return list(whole)
    keys = sorted({key(each) for each in whole}, key=lambda k: hashlib.sha256(k.encode()).digest())
    chosen: set[str] = set()
    count = 0
    for each in keys:
        if count >= limit:
            break
        chosen.add(each)
        count += sum(key(one) == each for one in whole)
    return [each for each in whole if key(each) in chosen]


# --- the comparison


def compared(
    title: str,
    things: int,
    run: Callable[[Meter | None], Column],
    candidates: Sequence[Candidate],
    prices: Mapping[str, Price],
) -> list[str]:
    """The table of what `run` finds of rules (None) and of each candidate."""
    columns = [("rules", run(None) + account(None, None, things))]
    for each in candidates:
        meter = each.meter()
        try:
            rows = run(meter)
        except Absent as absent:
            raise click.ClickException(f"{each.label}: {absent}") from None
        finally:
            meter.close()
        columns.append((each.label, rows + account(meter, prices.get(each.label), things)))
    return table(title, columns)


def price_of(told: str) -> tuple[str, Price]:
    """`LABEL=READ/WRITTEN`. Raises click.BadParameter."""
    label, _, numbers = told.rpartition("=")
    try:
        read, written = map(float, numbers.split("/"))
    except ValueError:
        read = written = -1.0
    if not label or min(read, written) < 0:
        raise click.BadParameter(f"{told!r}: use LABEL=READ/WRITTEN, as gpt-x=0.15/0.60")
    return label, Price(read, written)


@click.command()
@click.option("--chat", "chats", multiple=True, metavar="URL[=MODEL]",
              help="A chat server, beside those that are configured. May be repeated.")  # fmt: skip
@click.option("--key-file", type=click.Path(exists=True, dir_okay=False),
              help="A file with the key of what --chat names.")  # fmt: skip
@click.option("--price", "prices", multiple=True, metavar="LABEL=READ/WRITTEN",
              help="What a million tokens cost, by the name at the head of a column.")  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="About so many messages, and so many pairs.")
@click.option("--task", "tasks", type=click.Choice(TASKS), multiple=True, default=TASKS)
@click.option("--set", "pairs", type=click.Choice([*judging.SETS]), default="held",
              help="Which set of eval/datasets judges are measured on.")  # fmt: skip
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="The public sets: judges are measured on those too.")  # fmt: skip
def main(
    chats: tuple[str, ...],
    key_file: str | None,
    prices: tuple[str, ...],
    limit: int | None,
    tasks: tuple[str, ...],
    pairs: str,
    data: Path | None,
) -> None:
    """Compare extractors and judges: rules, and the chat models there are."""
    try:
        found = configured(models_of(load({}).settings))
        found = told_apart([*found, *named(chats, key_of(None, key_file, setting="--key-file"))])
    except RewoundError as error:
        raise click.ClickException(str(error)) from None
    costs = dict(price_of(each) for each in prices)
    if unknown := costs.keys() - {each.label for each in found}:
        labels = ", ".join(each.label for each in found) or "none"
        raise click.BadParameter(f"no model is called {unknown.pop()}: there are {labels}")
    if "extractors" in tasks:
        _tell(_extractors(limit, found, costs))
    if "judges" in tasks:
        for section in ("set", "letta", "paws") if data else ("set",):
            whole = judging.examples_of(section, data or Path(), judging.SETS[pairs])
            examples = some(whole, limit, lambda one: one.group or one.pair.new.text)
            name = pairs if section == "set" else section
            _tell(_judges(section, name, examples, found, costs))


def _extractors(
    limit: int | None, found: Sequence[Candidate], costs: Mapping[str, Price]
) -> list[str]:
    wanted = some(extraction.cases(), limit, lambda case: case.id)

    def run(meter: Meter | None) -> Column:
        extractor = RulesExtractor() if meter is None else ModelExtractor(meter)
        return extracted(extractor, wanted, meter)

    return compared(f"extractors: {len(wanted)} messages", len(wanted), run, found, costs)


def _judges(
    section: str,
    name: str,
    examples: Sequence[judging.Example],
    found: Sequence[Candidate],
    costs: Mapping[str, Price],
) -> list[str]:
    def run(meter: Meter | None) -> Column:
        judge = None if meter is None else ModelJudge(meter)
        return judged(judge, section, examples, meter)

    count = len(examples)
    return compared(f"judges: {count} pairs of {name}", count, run, found, costs)


def _tell(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
    click.echo()


if __name__ == "__main__":
    main()
