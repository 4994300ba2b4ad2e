"""Single points and spans of the calendar as people name them, found in a text and resolved.

`last Friday` is the latest Friday before today, `next Friday` that of the next week, `this Friday`
that of the present one. A bare day or month is the latest one in a sentence about the past, else
the next.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from rewound.eventlog.instants import Precision
from rewound.llm.time_stretches import (
    MONTHS,
    WEEKDAYS,
    Made,
    Point,
    Tense,
    add_months,
    day_made,
    midnight,
    minute_made,
    month_made,
    nearest,
    quarter_made,
    shifted,
    week_made,
    weekend_made,
    year_made,
)

_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november"
    r"|december|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_WEEKDAY = (
    r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|(?:mon|tues?|wed|thurs?|thur|fri|sat|sun)\b\.?)"
)
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth twenty-first "
    "twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth twenty-seventh "
    "twenty-eighth twenty-ninth thirtieth thirty-first"
).split()
_MONTH_NAMES = rf"(?:{'|'.join(MONTHS)})"
_DAY = (
    r"(?P<day>(?<!\$)(?<!\$ )\b[0-3]?\d(?:st|nd|rd|th)?"
    rf"|\b(?:{'|'.join(reversed(_ORDINALS)).replace('-', '[- ]')}))"
)
_FULL_WEEKDAY = (
    r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"(?! (?:of|last|this|next) week| the \d)"
)
_YEAR = r"(?P<year>(?:1[5-9]|20|21)\d\d)"
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "couple": 2, "few": 3,
    "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
COUNT = (
    r"(?P<count>\d{1,4}|an?(?= (?!few|couple))|one|two|three|four|five|six|seven|eight|nine|ten"
    r"|eleven|twelve|fifteen|twenty|thirty|(?:a )?couple(?= )(?: of)?|(?:a )?few)"
)
UNIT = r"(?P<unit>minute|min|hour|day|night|week|fortnight|month|quarter|year|decade)s?"
_SEASONS = "spring|summer|autumn|fall|winter"
_RELATIVE = r"(?P<which>last|past|previous|this|next|coming|following|upcoming)"


def count_of(text: str) -> int:
    bare = text.lower().removesuffix(" of").removeprefix("a ").strip()
    return int(bare) if bare.isdigit() else _COUNTS.get(bare, 1)


Resolver = Callable[[re.Match[str], datetime, Tense], Made | None]


def _month_of(found: re.Match[str]) -> int:
    word = found["month"].lower()[:3]
    return next(i for i, name in enumerate(MONTHS, 1) if name.startswith(word))


def _weekday_of(found: re.Match[str]) -> int:
    word = found["weekday"].lower()[:2]
    return next(i for i, name in enumerate(WEEKDAYS) if name.startswith(word))


def _direction(which: str) -> int:
    return {"this": 0, "last": -1, "past": -1, "previous": -1}.get(which.lower(), 1)


def _iso(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    day = datetime(int(found["year"]), int(found["m"]), int(found["day"]))
    if found["hour"]:
        return minute_made(day, int(found["hour"]), int(found["minute"]), told=True)
    return day_made(day, told=True)


def _day_of(found: re.Match[str]) -> int:
    word = found["day"].lower().replace(" ", "-")
    return _ORDINALS.index(word) + 1 if word in _ORDINALS else int(word.rstrip("stndrh"))


def _dotted(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    year = int(found["year"])
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    return day_made(datetime(year, int(found["m"]), int(found["day"])), told=len(found["year"]) > 2)


def _slashed(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    """12/25/2024 or 25/12/2024. What could be either (03/04/2024) is no date: nobody can tell."""
    one, two, year = int(found["one"]), int(found["two"]), int(found["year"])
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    if one <= 12 and two <= 12 and one != two:
        return None
    month, day = (one, two) if two > 12 or one == two else (two, one)
    return day_made(datetime(year, month, day))


def _date(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    if found["month"] in ("may", "march", "mar") and not found["day"][0].isdigit():
        return None  # Should it march first, may the second one fall.
    month, day = _month_of(found), _day_of(found)
    if found["year"]:
        return day_made(datetime(int(found["year"]), month, day), told=True)
    return day_made(nearest(now, month, day, tense), year_said=False)


def _day_of_month(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    """On the 18th, Friday the 13th: the latest such day, or the next. Words are rather a rank."""
    if not found["day"][0].isdigit() or found["day"].isdigit():
        return None
    day, step = _day_of(found), -1 if tense == "past" else 1
    weekday = _weekday_of(found) if found["weekday"] else None
    for months in range(36):
        first = add_months(midnight(now).replace(day=1), step * months)
        try:
            candidate = first.replace(day=day)
        except ValueError:  # The month has no 31st.
            continue
        reached = (candidate <= now) if step < 0 else (candidate >= midnight(now))
        if reached and weekday in (None, candidate.weekday()):
            return day_made(candidate)
    return None


def _month(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    month = _month_of(found)
    if found["month"][0].islower() and found["month"] in ("may", "march", "mar", "sun"):
        return None
    groups = found.groupdict()
    if groups.get("year"):
        return month_made(datetime(int(found["year"]), month, 1), told=True)
    which = (groups.get("which") or "").lower()
    if which == "this":
        return month_made(datetime(now.year, month, 1))
    past = _direction(which) < 0 if which else tense == "past"
    first = datetime(now.year, month, 1)
    if past and first > midnight(now).replace(day=1 if not which else now.day):
        first = first.replace(year=now.year - 1)
    elif past and which and month == now.month:
        first = first.replace(year=now.year - 1)
    elif not past and (month < now.month or (which and month == now.month)):
        first = first.replace(year=now.year + 1)
    return month_made(first, year_said=False)


_DAY_WORDS = {
    "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1, "last night": -1,
    "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0,
    "earlier today": 0, "tomorrow": 1, "tmrw": 1, "the day after tomorrow": 2,
    "day after tomorrow": 2,
    "昨天": -1, "昨日": -1, "今天": 0, "今日": 0, "明天": 1, "明日": 1, "前天": -2, "后天": 2,
    "어제": -1, "오늘": 0, "내일": 1, "เมื่อวานนี้": -1, "เมื่อวาน": -1, "วันนี้": 0, "พรุ่งนี้": 1,
}  # fmt: skip
_SCRIPTS = "昨天|昨日|今天|今日|明天|明日|前天|后天|어제|오늘|내일|เมื่อวานนี้|เมื่อวาน|วันนี้|พรุ่งนี้"


def _day_word(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    word = " ".join(found["word"].lower().split())
    made = day_made(now + timedelta(days=_DAY_WORDS[word]))
    part = found["part"] or (word.split()[-1] if word.startswith(("this", "last", "to")) else "")
    if part in ("night", "morning", "afternoon", "evening", "tonight"):
        suffix = {"tonight": "night"}.get(part, part)
        article = "in the " if suffix != "night" else "at "
        return made._replace(name=f"{made.name} {article}{suffix}")
    return made


def _script_day(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    made = day_made(now + timedelta(days=_DAY_WORDS[found["word"]]))
    return made._replace(preposition="")


def _relative_unit(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    step, unit = _direction(found["which"]), found["unit"].lower()
    if unit == "week":
        return week_made(now + timedelta(days=7 * step))
    if unit == "weekend":
        return weekend_made(now + timedelta(days=7 * step))
    if unit == "month":
        return month_made(add_months(midnight(now).replace(day=1), step))
    if unit == "quarter":
        number = now.year * 4 + (now.month - 1) // 3 + step
        return quarter_made(number // 4, number % 4 + 1)
    if unit == "decade":
        return year_made((now.year // 10 + step) * 10, years=10)
    made = year_made(now.year + step)
    if unit != "year":  # A season: which months depends on the hemisphere, so only the year is.
        if step == 0 or (step < 0 and _season_was(unit, now)):
            made = year_made(now.year)
        elif step > 0 and not _season_was(unit, now):
            made = year_made(now.year)
        return made._replace(name=f"the {unit} of {made.name}")
    return made


def _season_was(season: str, now: datetime) -> bool:
    """Whether this year's northern season is over. Winter is told by the year it ends in."""
    return now.month > {"winter": 2, "spring": 5, "summer": 8}.get(season, 11)


def _quarter(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    return quarter_made(int(found["year"] or now.year), int(found["quarter"]))


def _relative_weekday(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    step, weekday = _direction(found["which"]), _weekday_of(found)
    monday = now - timedelta(days=now.weekday())
    if step < 0:
        return day_made(now - timedelta(days=(now.weekday() - weekday - 1) % 7 + 1))
    if found["which"].lower() in ("coming", "upcoming", "following"):
        return day_made(now + timedelta(days=(weekday - now.weekday() - 1) % 7 + 1))
    return day_made(monday + timedelta(days=7 * step + weekday))


def _weekday_of_week(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    monday = now - timedelta(days=now.weekday())
    return day_made(monday + timedelta(days=7 * _direction(found["which"]) + _weekday_of(found)))


def _weekday(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    word = found["weekday"].rstrip(".")
    if word.islower() and (len(word) <= 4 or "here" not in found.re.groupindex):
        return None
    away = _weekday_of(found) - now.weekday()
    if tense == "past":
        return day_made(now - timedelta(days=(-away - 1) % 7 + 1))
    return day_made(now + timedelta(days=(away - 1) % 7 + 1))


def _away(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    """N units ago, or from now. `We haven't met in three weeks` looks back, at no point."""
    if found[0].lower().startswith("in ") and tense == "past":
        return None
    ago = found.groupdict().get("ago") is not None
    unit, count = found["unit"].lower(), count_of(found["count"])
    about = "couple" in found["count"].lower() or "few" in found["count"].lower()
    moment = shifted(now, -count if ago else count, unit)
    if unit in ("minute", "min", "hour"):
        return minute_made(moment, moment.hour, moment.minute)
    if unit in ("month", "quarter"):
        return month_made(moment, about=True)
    if unit in ("year", "decade"):
        return year_made(moment.year, about=about or unit == "decade")
    return day_made(moment, about=about or unit in ("week", "fortnight"))


def _year(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    return year_made(int(found["year"]), told=True)


def _decade(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    year = int(found["decade"])
    return year_made(year if year > 99 else 1900 + year, told=True, years=10)


_FEASTS = {
    "christmas eve": (12, 24), "christmas day": (12, 25), "christmas": (12, 25),
    "new year's eve": (12, 31), "new year's day": (1, 1), "halloween": (10, 31),
    "valentine's day": (2, 14), "independence day": (7, 4), "boxing day": (12, 26),
}  # fmt: skip


def _feast(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    month, day = _FEASTS[found["feast"].lower().replace("’", "'")]
    if found["year"]:
        return day_made(datetime(int(found["year"]), month, day))
    which = found["which"]
    past = _direction(which) < 0 if which else tense == "past"
    made = day_made(nearest(now, month, day, "past" if past else "future"))
    return made._replace(year_said=which is not None)


def _script_date(found: re.Match[str], now: datetime, tense: Tense) -> Made | None:
    """2024年5月3日, 5月3日, 2024년 5월 3일."""
    month, day = int(found["m"]), int(found["day"])
    if found["year"]:
        return day_made(datetime(int(found["year"]), month, day), told=True)
    made = day_made(nearest(now, month, day, tense), year_said=False)
    return made._replace(preposition="")


_COUNTED = (
    r"(?:floor|storey|story|level|street|st|avenue|ave|row|page|try|attempt|place|lap|hole|line"
    r"|deck|green|step|anniversary|birthday|grade|week|month|hour|minute|night|morning|round|team"
    r"|time)"
)
# Without one of these a bare year, or a month such as May, is hardly a time.
_BEFORE = (
    r"(?:in|since|until|till|from|to|by|before|after|during|of|between|through)"
    r"(?: about| around| roughly| early| late| mid(?=-)| the year"
    r"| the (?:beginning|start|middle|end) of)?"
)
_CLOCK = r"(?:[T ]| at )(?P<hour>[0-2]?\d):(?P<minute>[0-5]\d)(?::\d\d(?:\.\d{1,6})?)?"
_GRAMMAR: list[tuple[re.Pattern[str], Resolver]] = [
    (re.compile(pattern, re.I), resolve)
    for pattern, resolve in (
        (rf"(?<![\d-]){_YEAR}[-/](?P<m>[01]?\d)[-/](?P<day>[0-3]?\d)(?:{_CLOCK})?(?!\w|-\d)", _iso),
        (r"(?<![\d.])(?P<day>[0-3]?\d)\.(?P<m>[01]?\d)\.(?P<year>\d{4})\b(?!\.\d)", _dotted),
        (r"(?<![\d/])(?P<one>[0-3]?\d)/(?P<two>[0-3]?\d)/(?P<year>\d{4}|\d\d)(?![\d/])", _slashed),
        (
            rf"\b(?:{_WEEKDAY},? )?(?:the )?{_DAY},?(?: of)?[ -]{_MONTH}(?: ?,?(?: of)?[ "
            rf"-]{_YEAR})?\b",
            _date,
        ),
        (
            rf"\b(?:{_WEEKDAY},? )?{_MONTH},? (?:the )?{_DAY}\b(?!:)(?: ?,? (?:of )?{_YEAR}\b)?",
            _date,
        ),
        (
            rf"\bon (?:{_WEEKDAY} )?(?P<here>the {_DAY}\b(?! \w+day|-))(?! of| {_COUNTED}\b)",
            _day_of_month,
        ),
        (rf"\b{_WEEKDAY},? (?:the )?{_DAY}\b(?! of| {_MONTH_NAMES})", _day_of_month),
        (rf"\b{_MONTH},? (?:of )?{_YEAR}\b", _month),
        (rf"\b{_RELATIVE} {_MONTH}\b", _month),
        (rf"\b(?:{_BEFORE}[ -])(?P<here>{_MONTH}(?! \d)\b)", _month),
        (
            r"\b(?P<word>(?:the )?day before yesterday|(?:the )?day after tomorrow|yesterday"
            r"|last night|earlier today|today|tonight|this (?:morning|afternoon|evening)|tomorrow"
            r"|tmrw)(?: (?P<part>morning|afternoon|evening|night))?\b(?!['’]s)",
            _day_word,
        ),
        (rf"(?P<word>{_SCRIPTS})", _script_day),
        (
            rf"\b(?:the )?{_RELATIVE} (?P<unit>weekend|week|month|year|quarter|decade"
            rf"|{_SEASONS})\b",
            _relative_unit,
        ),
        (rf"\b{_WEEKDAY} (?:of )?(?P<which>last|this|next) week\b", _weekday_of_week),
        (rf"\b(?P<which>last|this|next) week(?: on)? {_WEEKDAY}\b", _weekday_of_week),
        (rf"\b(?:the )?{_RELATIVE} {_WEEKDAY}(?!s)\b", _relative_weekday),
        (rf"\b(?:about |around |some )?{COUNT} {UNIT} (?P<ago>ago|back)\b", _away),
        (rf"\bin (?:about |around )?{COUNT} {UNIT}(?:['’]s? time)?\b(?! of| and)", _away),
        (rf"(?<!half )\b{COUNT} {UNIT} from (?:now|today)\b", _away),
        (rf"\b(?:on|from|till|since|until|by|to) (?P<here>{_WEEKDAY})\b(?!s)", _weekday),
        (rf"(?<!Black )(?<!Good )(?<!Ash )(?<!Ruby )\b{_FULL_WEEKDAY}\b(?!s|['’]s)", _weekday),
        (r"\bq(?P<quarter>[1-4])[ -](?:of )?(?P<year>20\d\d)\b", _quarter),
        (rf"\b(?:{_BEFORE}[ -])(?P<here>{_YEAR})\b(?!s|-\d\d?\b)", _year),
        (r"\bthe ['’]?(?P<decade>(?:(?:19|20)\d|[3-9])0)s\b", _decade),
        (
            r"\b(?:(?P<which>last|this|next) )?(?P<feast>christmas(?: eve| day)?"
            r"|new year['’]s (?:eve|day)|halloween|valentine['’]s day|independence day|boxing day)"
            rf"\b(?:,? {_YEAR})?",
            _feast,
        ),
        (r"(?:(?P<year>\d{4})[年년] ?)?(?P<m>1?\d)[月월] ?(?P<day>[0-3]?\d)[日일号]", _script_date),
    )
]

_TRIGGER = re.compile(
    r"\d|day|night|mor[nr]|evening|afternoon|week|month|year|quarter|decade|tmrw|ago\b|\bback\b"
    r"|from now"
    rf"|{'|'.join(MONTHS)}|christmas|halloween|spring|summer|autumn|\bfall\b|winter|{_SCRIPTS}"
    r"|\b(?:last|next) \w|\b(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|mon|tues?|wed"
    r"|thu(?:rs?)?|fri|sat|sun)\b",
    re.I,
)


# Last week's prompt, on Saturday mornings: an owner, and what recurs.
_OF_MANY = re.compile(r"['’]s\b(?! time)| (?:morning|afternoon|evening|night)s\b", re.I)


def may_hold_time(text: str) -> bool:
    """A quick look: False means that there is nothing to find."""
    return _TRIGGER.search(text) is not None


def points(
    text: str, now: datetime, tense: Tense, after: datetime | None = None
) -> Iterator[Point]:
    """What the text names, in order and without overlap: the longest where several begin.

    `the 21st` follows the day that was named just before it: in the text, else on day `after`.
    """
    found: list[Point] = []
    bare: set[int] = set()
    for pattern, resolve in _GRAMMAR:
        for match in pattern.finditer(text):
            if _OF_MANY.match(text, match.end()):
                continue
            try:
                made = resolve(match, now, tense)
            except (ValueError, OverflowError):  # 31 February, or a year outside the calendar.
                continue
            if made is not None:
                start = match.start("here" if "here" in pattern.groupindex else 0)
                found.append(Point(start, match.end(), *made))
                if resolve is _day_of_month and not match["weekday"]:
                    bare.add(start)
    reach = 0
    for point in sorted(found, key=lambda point: (point.start, -point.end)):
        if point.start < reach:
            continue
        reach = point.end
        named = _following(point, after, now, tense) if point.start in bare and after else point
        if named is not None:
            after = day_before_next(named.first, named.past, named.precision) or after
            yield named


def day_before_next(first: datetime, past: datetime, precision: Precision) -> datetime | None:
    """The day that a later `the 21st` comes after: a day itself, the eve of a week or a month."""
    if precision < Precision.MONTH:
        return None
    one_day = past - midnight(first) <= timedelta(days=1)
    return midnight(first) if one_day else midnight(first) - timedelta(days=1)


def _following(point: Point, after: datetime, now: datetime, tense: Tense) -> Point | None:
    """The next such day of the month after `after`; None where the tense contradicts it."""
    for months in range(3):
        try:
            day = add_months(after.replace(day=1), months).replace(day=point.first.day)
        except ValueError:  # The month has no 31st.
            continue
        if day > after:
            if (day <= now) if tense == "past" else (day >= midnight(now)):
                return Point(point.start, point.end, *day_made(day))
            return None
    return None
