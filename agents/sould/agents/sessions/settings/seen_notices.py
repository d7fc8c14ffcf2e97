"""What a project's sessions have said before, so that each session does not say it again.

It keeps digests, never what was said. A file that is lost, damaged or cannot be written costs one repetition.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sould.agents.base.privatefile import write_private

MOST = 1000
"""Projects remembered; the oldest are forgotten first."""
_SAID: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


class ToldOnce:
    """The file `told.json` of the state directory, for all sessions of the user."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def is_news(self, topic: str, workspace: Path, text: str) -> bool:
        """Whether `text` is not what was said last of the topic in this workspace; from now on it is. Blocks."""
        try:
            said = _SAID.validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            said = {}
        digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
        key = f"{topic} {os.path.realpath(workspace)}"
        if said.pop(key, "") == digest:
            return False
        said[key] = digest
        with contextlib.suppress(OSError):
            write_private(self._path, _SAID.dump_json(dict(list(said.items())[-MOST:])))
        return True
