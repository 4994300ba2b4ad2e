"""Dates in languages other than English, through `dateparser`.

It is loaded only for a text that seems to hold such a date.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import cast

from rewound.llm.time_stretches import Point, Tense, day_made

# Other languages: day words, N units ago, and a day with a month's name.
FOREIGN = re.compile(
    r"\b(?:(?:vor)?gestern|heute|(?:über)?morgen(?! früh)|anteayer|ayer|hoy|(?:avant-)?hier|demain"
    r"|aujourd['’]hui|l['’]altro ieri|ieri|domani|oggi|(?:ante)?ontem|hoje|amanhã|gisteren|vandaag"
    r"|wczoraj|dzisiaj|jutro|вчера|позавчера|сегодня|завтра|i går|igår|i dag|i morgen|imorgon"
    r"|vor \w{1,8} (?:tag|woche|monat|jahr)\w{0,3}|hace \w{1,8} (?:día|semana|mes|año)\w{0,2}"
    r"|il y a \w{1,8} (?:jour|semaine|mois|an)\w{0,3}"
    r"|[0-3]?\d\.? (?:de )?(?:jan|f[eé][bvw]|m[aä]r|mar|abr|avr|apr|ma[igy]|jun|jui|juin|jul"
    r"|a[gou]|sep"
    r"|set|o[kctu]|nov|d[eéi][czs]|янв|фев|мар|апр|мая|июн|июл|авг|сен|окт|ноя|дек|enero|lut|kwi"
    r"|cze"
    r"|lip|sie|wrz|paź|lis|gru)[^\W\d_]{0,9}(?:(?: de)? (?:19|20)\d\d)?)(?!\w)",
    re.I,
)
_LANGUAGES = ["de", "es", "fr", "it", "pt", "nl", "pl", "ru", "da", "sv"]
_MOSTFOREIGN = 3
_MOST = 3
"""Phrases of one text that are looked at: reading one takes milliseconds."""


def foreign_points(text: str, now: datetime, tense: Tense) -> Iterator[Point]:
    """The first days that the text names in another language, in order."""
    tried = 0
    for match in FOREIGN.finditer(text):
        tried += 1
        if tried > _MOST:
            return
        day = _parse_day(match[0], now, tense)
        if day is not None:
            yield Point(match.start(), match.end(), *day_made(day)._replace(preposition=""))


def _parse_day(phrase: str, now: datetime, tense: Tense) -> datetime | None:
    import dateparser  # type: ignore[import-untyped]  # Slow to import, and seldom needed.

    # Everything that it would ask the machine for is given: the day, the zone, the order.
    settings = {
        "RELATIVE_BASE": now,
        "TIMEZONE": "UTC",
        "TO_TIMEZONE": "UTC",
        "RETURN_AS_TIMEZONE_AWARE": False,
        "PREFER_DATES_FROM": tense,
        "DATE_ORDER": "DMY",
    }
    parse = cast(Callable[..., datetime | None], dateparser.parse)
    return parse(phrase, languages=_LANGUAGES, settings=settings)
