"""The hooks a project brings in `.sould/hooks.toml`: read only when the user trusts the project, and only as trusted.

What counts is the content of the file and of the project's files that its commands name. One changed byte and none of
them runs until the user trusts the workspace anew (D23).
"""

import hashlib
import logging
import os
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from sould.agents.base.answerfile import JsonAnswers
from sould.agents.base.config import Hook, Section
from sould.agents.base.errors import ConfigError
from sould.agents.base.parsed import Parsed
from sould.agents.base.regularfile import read_beginning, read_regular
from sould.agents.base.text import faulty
from sould.agents.permissions.projectfiles import HOOKS_FILE, WRITTEN, pieces
from sould.agents.permissions.shelltext import words_of
from sould.agents.permissions.trust import TrustStore

logger = logging.getLogger(__name__)

LARGEST = 8 * 1024 * 1024


class _File(Section):
    hooks: tuple[Hook, ...] = ()


class _Accepted(Parsed):
    digest: str
    since: float
    """Of the trust it was accepted under."""


class _Record(Parsed):
    workspaces: dict[str, _Accepted] = Field(default_factory=dict)


_RECORD: TypeAdapter[_Record] = TypeAdapter(_Record)


class ProjectHooks:
    """The file `hooks.json` of the state directory remembers which hooks of each workspace were accepted."""

    def __init__(self, accepted: Path, trust: TrustStore, workspace: Path) -> None:
        self._accepted = JsonAnswers(accepted, _RECORD)
        self._trust = trust
        self._workspace = Path(os.path.realpath(workspace))
        self._file = self._workspace / HOOKS_FILE

    def hooks(self) -> Sequence[Hook]:
        """The hooks that may run now; none when something is in the way."""
        return self._read()[0]

    def problem(self) -> str:
        """Why the project's hooks do not run; "" when they do, there are none, or the user has not decided yet (D1)."""
        if not os.path.isfile(self._file) or self._trust.state(self._workspace) == "unknown":
            return ""
        return self._read()[1]

    def _read(self) -> tuple[Sequence[Hook], str]:
        path = self._file
        if not os.path.isfile(path):  # asked several times a call, and most projects have none
            return (), ""
        state = self._trust.state(self._workspace)
        if state == "restricted":
            return (), f"The hooks of {HOOKS_FILE} do not run: you restricted this project."
        if state != "trusted":
            return (), f"The hooks of {HOOKS_FILE} do not run until you trust this project: run `sould trust`."
        try:
            text = read_regular(path)
            hooks = _File.model_validate(tomllib.loads(text.decode())).hooks
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as error:
            return (), f"The hooks of {HOOKS_FILE} do not run: {_why(error)}"
        named = sorted({file for hook in hooks for file in self._named(hook.command)})
        if not self._is_accepted((path, *named), self._digest(text, named)):
            return (), (
                f"The hooks of {HOOKS_FILE} changed since you trusted this project, so none of them runs: review the "
                "change, then run `sould trust` again."
            )
        return hooks, ""

    def _is_accepted(self, files: Sequence[Path], digest: str) -> bool:
        since = self._trust.since(self._workspace)
        known = (self._accepted.read() or _Record()).workspaces.get(str(self._workspace))
        if known is not None and known.since == since:
            return known.digest == digest
        if self._trust.changed(self._workspace, files):
            return False
        accepted = {str(self._workspace): _Accepted(digest=digest, since=since)}
        try:
            self._accepted.change(lambda record: _Record(workspaces={**(record or _Record()).workspaces, **accepted}))
        except (OSError, ConfigError) as error:  # looked at again the next time, and found to be the same
            logger.warning("which hooks were accepted cannot be saved: %s", error)
        return True

    def _digest(self, text: bytes, named: Sequence[Path]) -> str:
        content = hashlib.sha256(text)
        for path in named:
            content.update(f"\0{path}\0".encode(errors="surrogateescape"))
            content.update(hashlib.sha256(read_beginning(path, LARGEST)).digest())
        return content.hexdigest()

    def _named(self, command: str) -> list[Path]:
        words = {*pieces(command), *(piece for word in words_of(WRITTEN.sub(" ", command)) for piece in pieces(word))}
        paths = [Path(os.path.realpath(self._workspace / word)) for word in words]
        return [path for path in paths if path.is_relative_to(self._workspace) and path.is_file()]


def _why(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"the file cannot be read ({str(error).splitlines()[0]})."
    first = error.errors(include_url=False, include_input=False)[0]
    return faulty(".".join(map(str, first["loc"])), first)
