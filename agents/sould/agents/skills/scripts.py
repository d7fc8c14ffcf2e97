"""Skills that bring programs: which do, and which version of one the user has trusted.

Trust is given to a workspace; the programs in it are accepted as they are when they are first seen under that trust.
A changed program waits until the user trusts the workspace anew (D23).
"""

import hashlib
import os
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.projects import write_private

_SUFFIXES = frozenset(
    {
        *(".sh", ".bash", ".zsh", ".fish", ".py", ".pyz", ".rb", ".pl", ".php", ".lua"),
        *(".js", ".mjs", ".cjs", ".ts", ".ps1", ".bat", ".cmd", ".exe", ".jar", ".so", ".dylib", ".wasm"),
    }
)
MAX_FILES = 500


def has_scripts(directory: Path) -> bool:
    """Whether anything in a skill's directory could be run; one too large to be looked through could."""
    for count, path in enumerate(_files(directory)):
        if count >= MAX_FILES or path.suffix.lower() in _SUFFIXES:
            return True
        try:
            if path.stat().st_mode & 0o111:
                return True
            with path.open("rb") as file:
                if file.read(2) == b"#!":
                    return True
        except OSError:
            continue
    return False


class _Accepted(BaseModel):
    digest: str
    since: float
    """Of the trust it was accepted under."""


class _Record(BaseModel):
    skills: dict[str, _Accepted] = Field(default_factory=dict)


class TrustedScripts:
    """The file `skills.json` of the state directory: which version of each skill with programs was accepted."""

    def __init__(self, path: Path, trust: TrustStore, workspace: Path) -> None:
        self._path = path
        self._trust = trust
        self._workspace = workspace

    def refusal(self, directory: Path) -> str:
        """Why the skill in `directory` may not be used now; "" when it may."""
        if self._trust.state(self._workspace) != "trusted":
            return "it is used once you trust this project (`sould trust`)."
        since = self._trust.since(self._workspace)
        digest = _digest(directory)
        record = self._read()
        known = record.skills.get(str(directory))
        if known is None or known.since != since:
            record.skills[str(directory)] = _Accepted(digest=digest, since=since)
            write_private(self._path, record.model_dump_json(indent=1).encode())
            return ""
        if known.digest != digest:
            return "it has changed since you trusted this project; look at it and run `sould trust` again."
        return ""

    def _read(self) -> _Record:
        try:
            return _Record.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return _Record()


def _files(directory: Path) -> list[Path]:
    found: list[Path] = []
    for root, directories, names in os.walk(directory):
        directories.sort()
        found += [Path(root, name) for name in sorted(names)]
        if len(found) > MAX_FILES:
            break
    return found


def _digest(directory: Path) -> str:
    digest = hashlib.sha256()
    for path in _files(directory):
        digest.update(os.fsencode(path.relative_to(directory)) + b"\0")
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError:
            digest.update(b"?")
    return digest.hexdigest()
