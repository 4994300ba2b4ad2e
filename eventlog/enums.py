"""The choices that events hold as numbers: stored, so a number never changes its meaning."""

import enum


class Role(enum.IntEnum):
    """Who speaks in a message."""

    USER = 1
    ASSISTANT = 2
    SYSTEM = 3
    TOOL = 4


class FactKind(enum.IntEnum):
    FACT = 1
    PREFERENCE = 2
    EPISODE = 3
    PROCEDURE = 4


class Media(enum.IntEnum):
    """What a document's text is written in."""

    TEXT = 1
    MARKDOWN = 2
    CODE = 3
    JSON = 4


class Outcome(enum.IntEnum):
    """What a judgement on a pair of facts came to."""

    DUPLICATE = 1
    UPDATES = 2
    CORRECTS = 3
    EXTENDS = 4
    DISTINCT = 5
    REVIEW = 6


class Why(enum.IntEnum):
    """Why a job ended as it did."""

    DONE = 1
    NOTHING_STATED = 2
    MASKED = 3
    SOURCE_GONE = 4
    EMPTY_REPLY = 5
    CUT_OFF = 6
    MALFORMED = 7
    UNREACHABLE = 8
    REFUSED = 9
