"""The tools that an agent has over MCP: one table, the same behind stdio, HTTP and the bridge.

A tool turns its arguments into one request to a store; `mcp_calls` asks it and tells the reply.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from rewound.http import mcp_fields as f
from rewound.http import mcp_schemas as s
from rewound.http.mcp_requests import (
    add_conversation,
    context,
    forget,
    history,
    list_items,
    pending,
    profile,
    remember,
    restore,
    search,
    timeline,
    undo,
    why,
)
from rewound.memory import replies as r
from rewound.memory import requests as q


class Annotations(NamedTuple):
    """What a client may assume of a tool before it lets it run. None reaches out of the store."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False

    def as_json(self) -> dict[str, bool]:
        return {
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": False,
        }


READS = Annotations(read_only=True, idempotent=True)


class Tool(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One tool. `request` makes the request to the store from arguments that fit `arguments`."""

    name: str
    title: str
    description: str
    arguments: s.Schema
    reply: type[r.Reply]
    request: Callable[[str, Mapping[str, Any]], q.Request]
    annotations: Annotations

    @cached_property
    def as_json(self) -> dict[str, Any]:
        """The tool as `tools/list` tells it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.arguments,
            "outputSchema": s.of_reply(self.reply),
            "annotations": self.annotations.as_json(),
        }


TABLE = (
    Tool(
        name="profile",
        title="Load the profile",
        description="What is known, in short, within a budget of tokens: what is stable, what is "
        "recent, and buckets such as preferences, people and work. Dated lines with ids. Load it "
        "once at the start of every task, before anything else.",
        arguments=s.fields(f.PROFILE),
        reply=r.Portrait,
        request=profile,
        annotations=READS,
    ),
    Tool(
        name="remember",
        title="Remember a fact",
        description="Store one self-contained statement, word for word. Write it so that it "
        "stands alone: names and dates instead of he, she, I, today. One fact a call. To change "
        "what is remembered, name the old fact in `updates` instead of storing a second one.",
        arguments=s.fields(f.REMEMBER, ("text",)),
        reply=r.Written,
        request=remember,
        annotations=Annotations(),
    ),
    Tool(
        name="add_conversation",
        title="Add messages of a conversation",
        description="Keep messages verbatim, with speakers and times, and let facts be derived "
        "from them. Sending a conversation again adds only what is new.",
        arguments=s.fields(f.ADD_CONVERSATION, ("messages",)),
        reply=r.Written,
        request=add_conversation,
        annotations=Annotations(idempotent=True),
    ),
    Tool(
        name="search",
        title="Search memory",
        description="Find remembered facts, and passages of conversations and documents, by "
        "words and meaning. Answers with ids, dates and sources, the best first. Search before "
        "you answer or ask anything that may have been told before.",
        arguments=s.fields(f.SEARCH, ("query",)),
        reply=r.Found,
        request=search,
        annotations=READS,
    ),
    Tool(
        name="context",
        title="Pack context from memory",
        description="What is remembered about a topic, packed as dated lines with ids into a "
        "budget of tokens: best when a topic comes up. `search` gives more detail.",
        arguments=s.fields(f.CONTEXT, ("query",)),
        reply=r.Packed,
        request=context,
        annotations=READS,
    ),
    Tool(
        name="list",
        title="List what is remembered",
        description="List facts, documents, messages or passages, oldest first, page by page.",
        arguments=s.fields(f.LIST),
        reply=r.Page,
        request=list_items,
        annotations=READS,
    ),
    Tool(
        name="pending",
        title="Tell what is still to come",
        description="What was sent and has not been read for facts yet, and what failed and why. "
        "Look here when what was told lately is not found.",
        arguments=s.fields(f.PENDING),
        reply=r.JobList,
        request=pending,
        annotations=READS,
    ),
    Tool(
        name="history",
        title="Tell an item's history",
        description="All versions of a fact, document or message and every event about it: what "
        "was believed when, what replaced it, and the event ids that `undo` takes.",
        arguments=s.fields(f.HISTORY, ("id",)),
        reply=r.Versions,
        request=history,
        annotations=READS,
    ),
    Tool(
        name="why",
        title="Say why a fact is believed",
        description="The sources' own words behind a fact, what it was compared with, its "
        "versions, and every step with the event id that `undo` takes. Look before you doubt or "
        "correct what is remembered.",
        arguments=s.fields(f.WHY, ("id",)),
        reply=r.Explained,
        request=why,
        annotations=READS,
    ),
    Tool(
        name="timeline",
        title="Tell what held when",
        description="What held of a person or thing from when to when, for each attribute or for "
        "one: where somebody lived and worked before, since when something is so.",
        arguments=s.fields(f.TIMELINE, ("subject",)),
        reply=r.Chronicle,
        request=timeline,
        annotations=READS,
    ),
    Tool(
        name="forget",
        title="Forget",
        description="Hide facts, documents or messages so that no search finds them, with a "
        "reason. `restore` brings them back. Forget what a person asks to be forgotten; for "
        "what has changed use `remember` with `updates`, so that the past stays known.",
        arguments=s.fields(f.FORGET),
        reply=r.Forgot,
        request=forget,
        annotations=Annotations(destructive=True, idempotent=True),
    ),
    Tool(
        name="restore",
        title="Restore what was forgotten",
        description="Show forgotten items again, by the ids that `forget` answered with.",
        arguments=s.fields(f.RESTORE, ("ids",)),
        reply=r.Forgot,
        request=restore,
        annotations=Annotations(idempotent=True),
    ),
    Tool(
        name="undo",
        title="Undo an event",
        description="Take back one event (`ev_…`) or all of one request (`grp_…`), as if it had "
        "never happened; what the memory said until now stays visible in its history. An undo "
        "is an event too and can be undone.",
        arguments=s.fields(f.UNDO, ("id",)),
        reply=r.Undid,
        request=undo,
        annotations=Annotations(destructive=True, idempotent=True),
    ),
)
TOOLS = {tool.name: tool for tool in TABLE}


def listed() -> list[dict[str, Any]]:
    """The tools as `tools/list` tells them."""
    return [tool.as_json for tool in TABLE]
