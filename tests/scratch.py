"""Where files of tests may lie that need no disk: in memory, where there is a place with room."""

import os
import stat
from pathlib import Path

_ROOM_BYTES = 4 << 30
"""The whole suite writes 2.5 GB, and most of it is removed on the way."""


def _in_memory() -> Path | None:
    folder = Path("/dev/shm")
    try:
        found = os.statvfs(folder)
    except OSError:
        return None  # a system without it
    roomy = found.f_bavail * found.f_frsize >= _ROOM_BYTES
    usable = stat.S_ISDIR(folder.stat().st_mode) and os.access(folder, os.W_OK | os.X_OK)
    runs_programs = not found.f_flag & os.ST_NOEXEC
    return folder if roomy and usable and runs_programs else None


IN_MEMORY = _in_memory()
"""A folder, None where there is none: then whatever `tempfile` and pytest choose."""
