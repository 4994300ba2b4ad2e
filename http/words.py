"""Text made safe to show: memories hold what strangers wrote, a terminal obeys what it reads."""

import re
import shlex

# Controls (C0 but tab and newline, DEL, C1), direction overrides and isolates, lone surrogates,
# line and paragraph separators, the byte order mark.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def safe(text: str) -> str:
    """The text with everything that could move the cursor or turn the line written out."""
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return safe(" ".join(text.split()))


def cut(text: str, width: int) -> str:
    """At most `width` characters, the last one an ellipsis if something is missing."""
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def day(stamp: str) -> str:
    """The date of an RFC 3339 stamp, or a coarser time as it was said."""
    return stamp[:10]


_STAMP = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)T(?P<clock>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?P<zone>Z|[+-]\d\d:\d\d)?"
)


def minute(stamp: str) -> str:
    """Date and time to the second, without the T; midnight and coarser times as a day or less.

    In UTC unless an offset stands behind it: then as the speaker's own clock showed it.
    """
    found = _STAMP.fullmatch(stamp)
    if found is None or stamp.endswith("T00:00:00.000000Z"):
        return stamp[:10]
    zone = found["zone"]
    return f"{found['day']} {found['clock']}" + (f" {zone}" if zone and zone != "Z" else "")


def quoted(text: str) -> str:
    return shlex.quote(text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """`1 fact`, `2 facts`, `1,203 facts`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """Bytes for a person: `512 B`, `1.4 MiB`."""
    value = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError("unreachable")
