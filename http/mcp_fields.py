"""The fields of the MCP tools' arguments, each described for the agent that fills it in."""

from typing import get_args

from rewound.http import mcp_schemas as s
from rewound.memory.checks import DAYS_MAX
from rewound.memory.conditions import FIELDS, Op
from rewound.memory.fields import BUDGET_TOKENS_MAX, LIMIT_MAX
from rewound.memory.requests import (
    PROFILE_BUDGET,
    PROFILE_DAYS,
    SIMILAR_LIMIT,
    SIMILAR_MAX,
    BucketName,
    FactKindName,
    RoleName,
    Scope,
    What,
)

CONTEXT_BUDGET = 1200
SEARCH_LIMIT = 10
LIST_LIMIT = 20
TIMELINE_LIMIT = 50

_TIME = "RFC 3339 time or a day, such as 2026-03-01T10:00:00Z or 2026-03-01"
_MOMENT = f"{_TIME}; or @123 (a position); or an event id (ev_…)"

SCOPE = s.fields(
    {name: s.text(f"Name or id of the {name}.") for name in Scope.__struct_fields__},
    description="Narrows to one user, agent, run or session inside the memory.",
)
TAGS = s.texts("Labels to file it under.")
METADATA = s.free("Any further JSON to keep with it.")
IMPORTANCE = s.share("How much it matters: of hits about equally near it comes sooner.")

_HOLDS = {
    "said_at": s.text(f"When it was said or observed, if not now: {_TIME}."),
    "valid_from": s.text(f"Since when it is true: {_TIME}."),
    "valid_to": s.text(f"Until when it is true: {_TIME}."),
    "expires_at": s.text(f"From then on it is no longer shown: {_TIME}."),
}
_ASKED = {
    "as_of": s.text(f"Answer as the memory stood then: {_MOMENT}."),
    "valid_at": s.text(f"Answer with what was true then: {_TIME}."),
}
_FILTERS = {
    "kinds": s.choices("Only facts of these kinds.", FactKindName),
    "tags": s.texts("Only items that have all of these tags."),
    "metadata": s.free("Only items whose metadata has these values."),
    "source": s.text("Only from this document, message or conversation (id or name)."),
    "since": s.text(f"Only what was said, or began to hold, from then on: {_TIME}."),
    "until": s.text(f"Only what was said, or began to hold, up to then: {_TIME}."),
    "where": s.free(
        "Only what meets a tree of conditions: {field, op, value}, joined by {and: […]}, {or: […]} "
        "and {not: {…}}. Fields: " + ", ".join(FIELDS) + ", metadata.NAME. "
        "Ops: " + ", ".join(get_args(Op)) + ". Such as: "
        '{"and": [{"field": "metadata.price", "op": "lt", "value": 20}, '
        '{"not": {"field": "tag", "op": "eq", "value": "draft"}}]}.'
    ),
    "scope": SCOPE,
}
_THRESHOLD = s.share("Leave out what is less likely to answer; most searches do well without.")
_STAGES = {
    "rerank": s.switch("Have the first hits read and ordered anew; slower. As is set if left out."),
    "rewrite": s.switch("Have other words for it sought too; slower. As is set if left out."),
    "decompose": s.switch(
        "Have a question of several parts taken apart, and each part sought too; slower. As is set "
        "if left out."
    ),
}
_NEAREST = s.flag("Where nothing fits the question, show the nearest all the same.")
_SUPERSEDED = s.flag("Also facts that newer ones replaced.")

REMEMBER = {
    "text": s.text("The statement, such as: Ann Berg moved from Oslo to Rome on 3 May 2026."),
    "kind": s.choice("What it is.", FactKindName, default="fact"),
    "updates": s.text("Id of the fact (fact_…) that this one replaces because things changed."),
    "corrects": s.flag("With `updates`: the old fact was wrong all along."),
    **_HOLDS,
    "forget_after": s.text("Instead of expires_at, how long it is kept: 30 days, PT12H."),
    "subject": s.text("Whom or what it is about."),
    "attribute": s.text("What it says of the subject, such as: home city."),
    "value": s.text("And what that is, such as: Rome."),
    "tags": TAGS,
    "metadata": METADATA,
    "importance": IMPORTANCE,
    "caller_id": s.text("Your own stable id for it: sent again with another text, it updates."),
    "scope": SCOPE,
}
MESSAGE = s.fields(
    {
        "content": s.text("What was said, verbatim."),
        "role": s.choice("Who spoke.", RoleName, default="user"),
        "name": s.text("The speaker's name."),
        "time": s.text(f"When it was said: {_TIME}."),
        "id": s.text("Your own id of the message."),
        "tags": TAGS,
        "metadata": METADATA,
        "importance": IMPORTANCE,
    },
    ("content",),
)
ADD_CONVERSATION = {
    "messages": s.listed("The messages, in the order they were said.", MESSAGE),
    "conversation": s.text("Your own id or name of the conversation; default: default."),
    "infer": s.flag("Derive facts from them.", default=True),
    "scope": SCOPE,
}
SEARCH = {
    "query": s.text("What to look for: a question or keywords."),
    "limit": s.whole("At most so many hits.", 1, LIMIT_MAX, SEARCH_LIMIT),
    "threshold": _THRESHOLD,
    "nearest": _NEAREST,
    "what": s.choices("Only items of these sorts.", What),
    **_FILTERS,
    **_ASKED,
    "include_superseded": _SUPERSEDED,
    **_STAGES,
}
CONTEXT = {
    "query": s.text("The topic, task or question at hand."),
    "budget": s.whole("At most so many tokens.", 1, BUDGET_TOKENS_MAX, CONTEXT_BUDGET),
    "conversation": s.text("Also the last messages of this one, your own id or name of it."),
    "threshold": _THRESHOLD,
    "nearest": _NEAREST,
    "what": s.choices("Only items of these sorts.", What),
    **_FILTERS,
    **_ASKED,
    **_STAGES,
}
BUCKETS = get_args(BucketName)
PROFILE = {
    "budget": s.whole("At most so many tokens.", 1, BUDGET_TOKENS_MAX, PROFILE_BUDGET),
    "days": s.whole("What began within so many days is recent.", 1, DAYS_MAX, PROFILE_DAYS),
    "subject": s.text("Only what names this person or thing."),
    "buckets": s.free(
        "Which named buckets, when not all of "
        f"{', '.join(BUCKETS)}: each with a query, or an object of query, tags and kinds, or {{}} "
        "for one of these."
    ),
    "scope": SCOPE,
    **_ASKED,
}
LIST = {
    "what": s.choice("What to list.", What, default="fact"),
    "limit": s.whole("At most so many on a page.", 1, LIMIT_MAX, LIST_LIMIT),
    "cursor": s.text("Where the last page ended: the `cursor` of its answer."),
    **_FILTERS,
    **_ASKED,
    "include_superseded": _SUPERSEDED,
    "include_forgotten": s.flag("Also what was forgotten, to find what to restore."),
}
PENDING = {
    "limit": s.whole("At most so many on a page.", 1, LIMIT_MAX, LIST_LIMIT),
    "cursor": s.text("Where the last page ended: the `cursor` of its answer."),
    "scope": SCOPE,
}
WHY = {"id": s.text("Id of a fact (fact_…)."), **_ASKED}
TIMELINE = {
    "subject": s.text("Whom or what it is about, such as: Nina."),
    "attribute": s.text("Only this of it, such as: employer."),
    "limit": s.whole("At most so many periods.", 1, LIMIT_MAX, TIMELINE_LIMIT),
    **_ASKED,
}
HISTORY = {
    "id": s.text("Id of a fact, document or message."),
    **_ASKED,
    "include_forgotten": s.flag("Also if it was forgotten."),
}
FORGET = {
    "ids": s.texts(
        "Ids of facts, documents, messages or events. Give these, or one of `text`, `query` and "
        "`similar`."
    ),
    "text": s.text("Forget what says just this, word for word."),
    "query": s.text("Forget the best hits of a search for this, up to `limit`."),
    "similar": s.text(
        "What is similar in meaning is only told at first, with scores and a `batch`; to forget "
        "it, call again with that `batch` and `dry_run` false."
    ),
    "batch": s.text("With `similar`: what the look at it answered."),
    "limit": s.whole_or_own(
        f"At most so many: with `query` 1 when left out, with `similar` {SIMILAR_LIMIT}, at most "
        f"{SIMILAR_MAX}.",
        1,
        LIMIT_MAX,
    ),
    "reason": s.text("Why, in a few words; kept with the event."),
    "dry_run": s.switch(
        "Only tell what would be forgotten; when left out, true with `similar`, else false."
    ),
}
RESTORE = {"ids": s.texts("Ids of forgotten items.")}
UNDO = {
    "id": s.text("Id of an event (ev_…) or of a whole request (grp_…)."),
    "dry_run": s.flag("Only tell what would change."),
    "cascade": s.flag("Also take back later commands that stand on it."),
}
