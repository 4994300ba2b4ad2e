"""The answer to what was said last: the short-term view of a conversation."""

from rewound.memory import requests as q
from rewound.memory.answering import Asking, answers
from rewound.memory.moments import resolve
from rewound.memory.recounting import recount
from rewound.memory.replies import Recounted
from rewound.memory.showing import Shower
from rewound.memory.showing_recent import Bounds, Recounter


@answers(q.Recent)
def recent(asked: q.Recent, asking: Asking) -> Recounted:
    """The last messages, and what stands for those before. Raises NotFound, WrongKind."""
    view = asking.views.container(asking.home())
    when = resolve(view, asked, asking.now_us)
    shower = Shower(view, when, forgotten=asked.include_forgotten)
    chars = asking.recent_chars if asked.recent_chars is None else asked.recent_chars
    recounter = Recounter(shower, Bounds(chars, asked.older_chars), asking.counter)
    found = recount(
        view,
        asked.conversation,
        when,
        recounter.fits,
        scope=asked.scope,
        forgotten=asked.include_forgotten,
    )
    return Recounted(
        container=asking.name,
        recent=recounter.told(asked.conversation, found),
        moment=when.moment,
        notes=found.notes(),
    )
