"""Where a store lies: its data folder, and the socket by which other programs reach its owner.

    DATA/log          events and bodies          DATA/owner.lock   held by the owning process
    DATA/views        what is folded from them   DATA/clock        written by `accept-clock`
    DATA/paused       there while the workers are paused

The socket lies in a runtime folder and not in DATA, since an AF_UNIX path may have only some 100
bytes. Its name is a hash of DATA's real path; its whole path also stands in `owner.lock`, because
two programs of one user need not have the same XDG_RUNTIME_DIR.
"""

import hashlib
import os
import stat
import tempfile
from pathlib import Path
from typing import NamedTuple

from rewound.eventlog.errors import InvalidInput, ReadOnly

SOCKET_PATH_BYTES_MAX = 100  # sun_path holds 104 (macOS) or 108 (Linux) with its closing zero


class Layout(NamedTuple):
    """The paths of one data folder, which is absolute and free of links."""

    data: Path

    @property
    def log(self) -> Path:
        return self.data / "log"

    @property
    def views(self) -> Path:
        return self.data / "views"

    @property
    def lock(self) -> Path:
        return self.data / "owner.lock"

    @property
    def clock(self) -> Path:
        return self.data / "clock"

    @property
    def paused(self) -> Path:
        return self.data / "paused"

    def socket(self) -> Path:
        """Where an owner listens. Makes the runtime folder."""
        digest = hashlib.sha256(os.fsencode(self.data)).hexdigest()
        return runtime_folder() / f"{digest[:20]}.sock"

    def accepted_clock_us(self) -> int:
        """The log's last time when a person accepted that the clock was set back; 0 if never."""
        try:
            return int(self.clock.read_text(encoding="ascii"))
        except FileNotFoundError:
            return 0
        except ValueError:
            return 0  # torn by a crash: then it is asked for once more

    def accept_clock(self, at_us: int) -> None:
        """Keep what a person accepted, across restarts."""
        fresh = self.clock.with_suffix(".new")
        fresh.write_text(str(at_us), encoding="ascii")
        fresh.replace(self.clock)

    def pause(self, paused: bool) -> None:
        """Keep that the workers are paused, across restarts, or that they no longer are."""
        if paused:
            self.paused.touch(mode=0o600)
        else:
            self.paused.unlink(missing_ok=True)


def default_data() -> Path:
    """REWOUND_DATA, else ~/.rewound."""
    return Path(os.environ.get("REWOUND_DATA") or "~/.rewound")


def open_layout(data: str | os.PathLike[str] | None = None) -> Layout:
    """The layout of a data folder, which is made (readable by its owner only) where missing.

    Raises InvalidInput for a path that cannot be a folder, ReadOnly for one that cannot be written.
    """
    path = default_data() if data is None else Path(data)
    try:
        real = path.expanduser().resolve()
        real.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InvalidInput(
            f"{path} is a file: the data of a store is a folder", field="data"
        ) from None
    except PermissionError:
        raise ReadOnly(f"the folder {path} cannot be made here: no permission") from None
    except (ValueError, RuntimeError, OSError) as error:  # a zero byte, no home, a name too long
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(
            f"{str(path)!r} cannot be a data folder: {reason}", field="data"
        ) from None
    return Layout(real)


def runtime_folder() -> Path:
    """The first of the user's runtime folders in which a socket's path is short enough."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    folders = [Path(given) / "rewound"] if given and os.path.isabs(given) else []
    mine = f"rewound-{os.getuid()}"
    folders += [Path(tempfile.gettempdir()) / mine, Path("/tmp") / mine]
    for folder in folders:
        if len(os.fsencode(folder)) + len("/.sock") + 20 <= SOCKET_PATH_BYTES_MAX:
            if folder.parent.is_dir() and os.access(folder.parent, os.W_OK | os.X_OK):
                return private_folder(folder)
            if folder.is_dir():
                return private_folder(folder)
    raise InvalidInput("no folder for sockets: set XDG_RUNTIME_DIR to a short path of your own")


def slots_folder() -> Path:
    """Where processes of this user share the slots of model servers."""
    return runtime_folder() / "slots"


def private_folder(folder: Path) -> Path:
    """Make a folder that only this user can enter; refuse one that somebody else prepared."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise ReadOnly(f"{folder} belongs to somebody else: remove it or set XDG_RUNTIME_DIR")
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)
    return folder
