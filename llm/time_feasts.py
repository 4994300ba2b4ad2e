"""Feasts and other named days, and the day they fall on in a year."""

import re
from datetime import datetime, timedelta

_FIXED = {
    r"(?:christmas|xmas|x-mas) eve": (12, 24),
    r"(?:christmas|xmas|x-mas)(?: day)?": (12, 25),
    r"boxing day": (12, 26),
    r"new year(?:['’]?s)? eve|nye": (12, 31),
    r"new year(?:['’]?s)?(?: day)?(?! eve)": (1, 1),
    r"epiphany": (1, 6),
    r"groundhog day": (2, 2),
    r"(?:st\.? |saint )?valentine(?:['’]?s)?(?: day)?": (2, 14),
    r"(?:international )?women(?:['’]?s)? day": (3, 8),
    r"(?:st\.?|saint) patrick(?:['’]?s)?(?: day)?": (3, 17),
    r"april fool(?:s['’]?|['’]s)?(?: day)?": (4, 1),
    r"earth day": (4, 22),
    r"may day|international workers['’]? day": (5, 1),
    r"cinco de mayo": (5, 5),
    r"juneteenth(?: day)?": (6, 19),
    r"(?:us |american )?independence day": (7, 4),
    r"bastille day": (7, 14),
    r"(?:all hallows['’]? eve|halloween(?: day)?)": (10, 31),
    r"all saints['’]? day": (11, 1),
    r"all souls['’]? day": (11, 2),
    r"guy fawkes(?: day| night)?|bonfire night": (11, 5),
    r"veterans?['’]?s?['’]? day": (11, 11),
    r"singles?['’]? day": (11, 11),
    r"inauguration day": (1, 20),
    r"white lover day|white day": (3, 14),
}
_WEEKDAYS = {
    r"(?:martin luther king|mlk)(?:,? jr\.?)?(?:['’]?s)? day": (1, 0, 3),
    r"(?:presidents?['’]?s?['’]?|washington['’]?s) (?:day|birthday)": (2, 0, 3),
    r"mother(?:['’]s|s['’]?)? day": (5, 6, 2),
    r"memorial day": (5, 0, -1),
    r"father(?:['’]s|s['’]?)? day": (6, 6, 3),
    r"labou?r day": (9, 0, 1),
    r"columbus day|indigenous peoples?['’]?s? day": (10, 0, 2),
    r"thanksgiving(?: day)?": (11, 3, 4),
}
_EASTER = {
    r"shrove tuesday|mardi gras": -47, r"ash wednesday": -46, r"palm sunday": -7,
    r"maundy thursday": -3, r"good friday": -2, r"easter(?: sunday| day)?(?! monday)": 0,
    r"easter monday": 1, r"ascension(?: day)?": 39, r"(?:whit sunday|pentecost)": 49,
    r"whit monday": 50, r"corpus christi": 60,
}  # fmt: skip
_AFTER_THANKSGIVING = {r"black friday": 1, r"cyber monday": 4}
_NAMES = [*_FIXED, *_WEEKDAYS, *_EASTER, *_AFTER_THANKSGIVING]
FEAST = "|".join(sorted((f"(?:{name})" for name in _NAMES), key=len, reverse=True))


def named(text: str) -> str:
    """The key of a feast that FEAST has matched."""
    return next(name for name in _NAMES if re.fullmatch(name, text, re.I))


def falls_on(key: str, year: int) -> datetime:
    """The day of the feast in that year. Raises ValueError outside the calendar."""
    if key in _FIXED:
        return datetime(year, *_FIXED[key])
    if key in _WEEKDAYS:
        return weekday_of(year, *_WEEKDAYS[key])
    if key in _EASTER:
        return _easter(year) + timedelta(days=_EASTER[key])
    return weekday_of(year, 11, 3, 4) + timedelta(days=_AFTER_THANKSGIVING[key])


def weekday_of(year: int, month: int, weekday: int, rank: int) -> datetime:
    """The first (1), …, fifth or last (-1) such weekday of a month. Raises ValueError if none."""
    if rank < 0:
        following = datetime(year + month // 12, month % 12 + 1, 1)
        back = (following.weekday() - weekday - 1) % 7 + 1
        return following - timedelta(days=back)
    first = datetime(year, month, 1)
    day = first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (rank - 1))
    if day.month != month:
        raise ValueError("no such weekday in that month")
    return day


def _easter(year: int) -> datetime:
    """Western Easter, by the reckoning of the Gregorian calendar."""
    golden, century = year % 19, year // 100
    correction = (century - century // 4 - (8 * century + 13) // 25 + 19 * golden + 15) % 30
    moon = correction - (correction // 28) * (
        1 - (correction // 28) * (29 // (correction + 1)) * ((21 - golden) // 11)
    )
    weekday = (year + year // 4 + moon + 2 - century + century // 4) % 7
    days = moon - weekday
    month = 3 + (days + 40) // 44
    return datetime(year, month, days + 28 - 31 * (month // 4))
