"""Which check each field of each request has."""

from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from rewound.eventlog.errors import InvalidInput
from rewound.llm.nodes import NAME_CHARS_MAX, SLOTS_MAX
from rewound.memory import fields as f
from rewound.memory import requests as q
from rewound.memory.condition_checks import check as check_where
from rewound.memory.setting_values import RECENT_CHARS_MAX

Checks = Mapping[str, f.Check]

WAIT_S_MAX = 3_600
"""How long a request may wait for the workers."""

DEPTH_MAX = 6
"""Steps from an entity that the graph is followed; further is nearly everything."""

BUCKETS_MAX = 50
BUCKET_CHARS_MAX = 64
DAYS_MAX = 36_500

_LABEL = f.optional(f.words(f.LABEL_CHARS_MAX))
_ID = f.words(f.ID_CHARS_MAX)
_IDS = f.each(_ID, f.BATCH_MAX, empty=False)
_TIME = f.optional(f.time)
_COUNT = f.optional(f.whole(0))
_LIMIT = f.whole(1, f.LIMIT_MAX)
_QUERY = f.words(f.QUERY_CHARS_MAX)
_CURSOR = f.optional(_QUERY)

_ITEM: Checks = {
    "id": f.optional(_ID),
    "tags": f.tags,
    "metadata": f.metadata,
    "importance": f.optional(f.share),
}
_HOLDS: Checks = {"said_at": _TIME, "valid_from": _TIME, "valid_to": _TIME, "expires_at": _TIME}

FILTERS: Checks = {
    "what": f.each(f.one_of(q.What), 4),
    "kinds": f.each(f.one_of(q.FactKindName), 4),
    "tags": f.tags,
    "metadata": f.metadata,
    "scope": f.scope,
    "source": f.optional(_ID),
    "since": _TIME,
    "until": _TIME,
    "where": f.optional(check_where),
}


def _filters(value: Any, field: str) -> None:
    if not isinstance(value, q.Filters):
        raise InvalidInput(f"{field} must be filters, not {f.kind_of(value)}", field=field)
    for name, check_field in FILTERS.items():
        check_field(getattr(value, name), f"{field}.{name}")


BUCKET: Checks = {
    "query": f.optional(_QUERY),
    "tags": f.tags,
    "kinds": f.each(f.one_of(q.FactKindName), 4),
}


def _buckets(value: Any, field: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} must be an object, not {f.kind_of(value)}", field=field)
    if len(value) > BUCKETS_MAX:
        raise InvalidInput(
            f"{field} has {len(value)} entries, at most {BUCKETS_MAX} are allowed", field=field
        )
    for name, bucket in value.items():
        _bucket_name(name, field)
        place = f"{field}.{name}"
        if not isinstance(bucket, q.Bucket):
            raise InvalidInput(f"{place} must be a bucket, not {f.kind_of(bucket)}", field=place)
        for part, check_field in BUCKET.items():
            check_field(getattr(bucket, part), f"{place}.{part}")
        if bucket == q.Bucket() and name not in get_args(q.BucketName):
            raise InvalidInput(
                f"{place} says nothing: give it a query, tags or kinds, or name one of "
                f"{f.either(get_args(q.BucketName))}",
                field=place,
            )


def _bucket_name(name: Any, field: str) -> None:
    what = f"a name in {field}"
    f.words(BUCKET_CHARS_MAX)(name, what)
    if " ".join(name.split()) != name or not name.isprintable():
        raise InvalidInput(
            f"{what} has line breaks or blanks to spare: write it in one line", field=field
        )
    if name.lower() in ("stable", "recent"):
        raise InvalidInput(
            f"{field} names {name}, which every profile has: name it otherwise", field=field
        )


LABEL: Checks = {
    "fact": _ID,
    "old": _ID,
    "outcome": f.optional(f.one_of(q.OutcomeName)),
    "confirm": f.optional(f.flag),
}


def _label(value: Any, field: str) -> None:
    if not isinstance(value, q.NewLabel):
        raise InvalidInput(f"{field} must be a label, not {f.kind_of(value)}", field=field)
    for name, check_field in LABEL.items():
        check_field(getattr(value, name), f"{field}.{name}")
    if (value.outcome is None) == (value.confirm is None):
        raise InvalidInput(
            f"{field} needs either an outcome or confirm: an outcome says how the two facts "
            "relate, confirm true or false whether what was found is right",
            field=f"{field}.outcome",
        )


_labels = f.each(_label, f.BATCH_MAX, empty=False)


def later(value: Any, field: str) -> None:
    """Checked by `sift`, item by item."""


_REQUEST: Checks = {"container": f.words(f.CONTAINER_CHARS_MAX)}
_WRITE: Checks = {
    **_REQUEST,
    "key": f.optional(f.words(f.ID_CHARS_MAX)),
    "scope": f.scope,
    "unless_after": _COUNT,
}
_READ: Checks = {
    **_REQUEST,
    "scope": f.scope,
    "as_of": f.optional(f.moment),
    "valid_at": f.optional(f.time_or_now),
    "include_forgotten": f.flag,
    "at_least": _COUNT,
}
_STAGES: Checks = dict.fromkeys(("rerank", "rewrite", "decompose"), f.optional(f.flag))

ITEMS: dict[type[msgspec.Struct], Checks] = {
    q.NewFact: {
        **_ITEM,
        **_HOLDS,
        "text": f.body,
        "kind": f.one_of(q.FactKindName),
        "forget_after": f.optional(f.duration),
        "subject": _LABEL,
        "attribute": _LABEL,
        "value": _LABEL,
    },
    q.NewDocument: {
        **_ITEM,
        "text": f.body,
        "title": _LABEL,
        "address": _LABEL,
        "media": f.one_of(q.MediaName),
        "said_at": _TIME,
    },
    q.NewMessage: {
        **_ITEM,
        "content": f.body,
        "role": f.one_of(q.RoleName),
        "name": _LABEL,
        "time": _TIME,
    },
}

REQUESTS: dict[type[q.Request], Checks] = {
    q.Remember: {**_WRITE, "facts": later, "infer": f.flag},
    q.Ingest: {**_WRITE, "documents": later, "infer": f.flag},
    q.AddMessages: {**_WRITE, "messages": later, "conversation": _ID, "infer": f.flag},
    q.Update: {
        **_WRITE,
        **_HOLDS,
        "id": _ID,
        "text": f.optional(f.statement),
        "corrects": f.flag,
        "metadata": f.optional(f.metadata),
        "add_tags": f.tags,
        "remove_tags": f.tags,
        "importance": f.optional(f.share),
    },
    q.Forget: {
        **_WRITE,
        "ids": f.each(_ID, f.BATCH_MAX),
        "filters": f.optional(_filters),
        "query": f.optional(_QUERY),
        "limit": f.optional(_LIMIT),
        "reason": _LABEL,
        "dry_run": f.optional(f.flag),
        "text": f.optional(f.words(f.TEXT_BYTES_MAX)),
        "similar": f.optional(_QUERY),
        "batch": f.optional(f.words(100)),
    },
    q.Restore: {**_WRITE, "ids": _IDS},
    q.Erase: {**_WRITE, "ids": _IDS, "dry_run": f.flag, "wait": f.flag},
    q.Undo: {**_WRITE, "id": f.event_or_group, "dry_run": f.flag, "cascade": f.flag},
    q.Configure: {**_WRITE, "zone": f.optional(f.words(200))},
    q.RemoveDocument: {**_WRITE, "id": _ID},
    q.Retry: {**_WRITE, "ids": f.each(_ID, f.BATCH_MAX)},
    q.Label: {**_WRITE, "labels": _labels},
    q.Search: {
        **_READ,
        "query": _QUERY,
        "limit": _LIMIT,
        "threshold": f.share,
        "nearest": f.flag,
        "filters": _filters,
        "include_superseded": f.flag,
        "read_times": f.flag,
        "explain": f.flag,
        **_STAGES,
    },
    q.Explain: {
        **_READ,
        **_STAGES,
        "query": _QUERY,
        "id": _ID,
        "limit": _LIMIT,
        "threshold": f.share,
        "filters": _filters,
        "include_superseded": f.flag,
        "read_times": f.flag,
    },
    q.Context: {
        **_READ,
        **_STAGES,
        "query": _QUERY,
        "read_times": f.flag,
        "threshold": f.share,
        "nearest": f.flag,
        "budget": f.whole(1, f.BUDGET_TOKENS_MAX),
        "filters": _filters,
        "conversation": _LABEL,
        "recent_chars": f.optional(f.whole(1, RECENT_CHARS_MAX)),
    },
    q.Recent: {
        **_READ,
        "conversation": f.words(f.LABEL_CHARS_MAX),
        "recent_chars": f.optional(f.whole(1, RECENT_CHARS_MAX)),
        "older_chars": f.whole(0, RECENT_CHARS_MAX),
    },
    q.Inquire: {
        **_READ,
        "query": _QUERY,
        "read_times": f.flag,
        "threshold": f.share,
        "confidence": f.optional(f.share),
        "timeout_s": f.optional(f.whole(1, q.ANSWER_TIMEOUT_S_MAX)),
        "budget": f.whole(1, f.BUDGET_TOKENS_MAX),
        "filters": _filters,
        **_STAGES,
    },
    q.Profile: {
        **_READ,
        "include_forgotten": f.never("a profile never holds what is forgotten: `list` shows it"),
        "budget": f.whole(1, f.BUDGET_TOKENS_MAX),
        "days": f.whole(1, DAYS_MAX),
        "subject": _LABEL,
        "buckets": f.optional(_buckets),
        "filters": _filters,
    },
    q.List: {
        **_READ,
        "what": f.one_of(q.What),
        "limit": _LIMIT,
        "cursor": _CURSOR,
        "filters": _filters,
        "include_superseded": f.flag,
    },
    q.Get: {**_READ, "id": _ID},
    q.History: {**_READ, "id": _ID},
    q.Events: {
        **_READ,
        "after": f.whole(0),
        "since": f.optional(f.moment),
        "types": f.each(f.words(100), 100),
        "about": f.optional(_ID),
        "limit": _LIMIT,
        "newest": f.flag,
    },
    q.Diff: {**_READ, "start": f.moment, "end": f.optional(f.moment)},
    q.Why: {**_READ, "id": _ID},
    q.Reviews: {**_READ, "limit": _LIMIT, "cursor": _CURSOR},
    q.Timeline: {
        **_READ,
        "subject": f.words(f.LABEL_CHARS_MAX),
        "attribute": _LABEL,
        "limit": _LIMIT,
    },
    q.Graph: {
        **_READ,
        "entity": f.words(f.LABEL_CHARS_MAX),
        "to": _LABEL,
        "depth": f.whole(1, DEPTH_MAX),
        "limit": _LIMIT,
    },
    q.Jobs: {**_READ, "limit": _LIMIT, "cursor": _CURSOR},
    q.Containers: {**_READ, "limit": _LIMIT, "cursor": _CURSOR},
    q.Stats: {**_READ, "store": f.flag, "brief": f.flag},
    q.Verify: {**_REQUEST, "expect": f.optional(f.words(200))},
    q.Reembed: {**_REQUEST, "action": f.one_of(q.SwitchAction), "now": f.flag},
    q.Rebuild: {**_REQUEST, "views": f.each(f.words(100), 100)},
    q.Replay: {**_REQUEST, "at": f.moment, "to": f.optional(f.words(4_000)), "verify": f.flag},
    q.Fit: {**_REQUEST, "dry_run": f.flag},
    q.Rejudge: {
        **_REQUEST,
        "extractor": f.flag,
        "judge": f.flag,
        "since": f.optional(f.moment),
        "dry_run": f.flag,
    },
    q.Seal: _REQUEST,
    q.AcceptClock: _REQUEST,
    q.Nodes: {
        **_REQUEST,
        "action": f.one_of(q.NodesAction),
        "name": f.optional(f.words(NAME_CHARS_MAX)),
        "host": f.optional(f.words(NAME_CHARS_MAX)),
        **dict.fromkeys(("embed", "rerank", "chat", "decide"), f.optional(f.words(2_000))),
        "lanes": f.each(f.one_of(q.LaneName), 2),
        "slots": f.optional(f.whole(1, SLOTS_MAX)),
        "model": f.optional(f.words(200)),
        "api_key": f.optional(f.words(4_000)),
    },
    q.Workers: {
        **_REQUEST,
        "action": f.one_of(q.WorkersAction),
        "timeout_s": f.whole(0, WAIT_S_MAX),
    },
}
"""Every request and every field of it (a test compares with `requests.py`)."""
