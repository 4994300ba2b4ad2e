"""Conversations as ChatGPT and Claude export them, read as messages of ours.

    ChatGPT  [{"title": …, "current_node": …, "mapping": {id: {"parent": …, "message": …}}}]
    Claude   [{"name": …, "uuid": …, "chat_messages": [{"sender": "human", "text": …}]}]

Of an edited ChatGPT conversation only the branch that was chosen last is read. A conversation goes
by its id, which stays when its title changes; the title is metadata of its messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from rewound.http.export_records import Read, Reader, Record, text_of
from rewound.memory import RewoundError
from rewound.memory.inputs import as_time
from rewound.memory.requests import NewMessage, RoleName

_SPEAKERS: Final[dict[str, RoleName]] = {
    "user": "user", "assistant": "assistant", "human": "user",
}  # fmt: skip


def chatgpt(conversation: Record) -> list[tuple[Record, Reader]] | None:
    """The messages of a conversation; None when it is none of ChatGPT's."""
    mapping = conversation.get("mapping")
    if not isinstance(mapping, dict):
        return None
    read = partial(_of_chatgpt, name=_name(conversation), title=text_of(conversation, "title"))
    return [(node, read) for node in _branch(mapping, conversation.get("current_node"))]


def claude(conversation: Record) -> list[tuple[Record, Reader]] | None:
    """The messages of a conversation; None when it is none of Claude's."""
    messages = conversation.get("chat_messages")
    if not isinstance(messages, list):
        return None
    read = partial(_of_claude, name=_name(conversation), title=text_of(conversation, "name"))
    return [(each if isinstance(each, dict) else {}, read) for each in messages]


def _name(conversation: Record) -> str:
    return text_of(conversation, "conversation_id", "id", "uuid", "title", "name") or "untitled"


def _branch(mapping: Record, leaf: Any) -> list[Record]:
    """The nodes with a message, from the first to the one that was shown last."""
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    if not isinstance(leaf, str) or leaf not in nodes:
        leaf = _latest(nodes)
    found: list[Record] = []
    seen: set[str] = set()
    while isinstance(leaf, str) and leaf in nodes and leaf not in seen:
        seen.add(leaf)
        node = nodes[leaf]
        if isinstance(node.get("message"), dict):
            found.append(node["message"])
        leaf = node.get("parent")
    return found[::-1]


def _latest(nodes: dict[str, Record]) -> str | None:
    """The last of the nodes that no other follows, as the file has them; where they run in a
    circle the first one."""
    parents = {text_of(node, "parent") for node in nodes.values()}
    return next((name for name in reversed(nodes) if name not in parents), next(iter(nodes), None))


def _of_chatgpt(message: Record, *, name: str, title: str | None) -> Read:
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    parts = parts if isinstance(parts, list) else [parts]
    texts = [part for part in parts if isinstance(part, str) and part.strip()]
    return _message(role, "\n".join(texts), message.get("create_time"), message, name, title)


def _of_claude(message: Record, *, name: str, title: str | None) -> Read:
    text = text_of(message, "text") or "\n".join(_blocks(message.get("content")))
    time = message.get("created_at")
    return _message(message.get("sender"), text, time, message, name, title)


def _blocks(content: Any) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        text = text_of(block, "text") if isinstance(block, dict) else None
        if text is not None:
            yield text


def _message(role: Any, text: str, time: Any, record: Record, name: str, title: str | None) -> Read:
    speaker = _SPEAKERS.get(role) if isinstance(role, str) else None
    if speaker is None:
        return Read(left_out="a message that neither a person nor the assistant wrote")
    if not text:
        return Read(left_out="a message without words")
    try:
        new = NewMessage(
            content=text,
            role=speaker,
            id=text_of(record, "id", "uuid"),
            time=as_time(time, "time"),
            metadata={} if title is None else {"title": title},
        )
    except RewoundError as error:
        return Read(wrong=error.message)
    return Read(new, conversation=name)
