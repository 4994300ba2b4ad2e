"""The write side and the library: `from rewound.memory import Memory`."""

from rewound.eventlog.errors import RewoundError
from rewound.memory.library import AsyncMemory, Memory

__all__ = ["AsyncMemory", "Memory", "RewoundError"]
