"""What a project's sessions have said before, so that each session does not say it again.

It keeps digests, never what was said. A file that is lost, damaged or cannot be written costs one repetition.
"""

import contextlib
import hashlib
import os
from pathlib import Path

from pydantic import TypeAdapter

from sould.agents.base.answerfile import JsonAnswers
from sould.agents.base.errors import ConfigError

MOST = 1000
"""Projects remembered; the oldest are forgotten first."""
_SAID: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


class ToldOnce:
    """The file `told.json` of the state directory, for all sessions of the user."""

    def __init__(self, path: Path) -> None:
        self._file = JsonAnswers(path, _SAID)

    def is_news(self, topic: str, workspace: Path, text: str) -> bool:
        """Whether `text` is not what was said last of the topic in this workspace; from now on it is. Blocks."""
        digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
        key = f"{topic} {os.path.realpath(workspace)}"
        if (self._file.read() or {}).get(key) == digest:
            return False

        def updated(said: dict[str, str] | None) -> dict[str, str]:
            others = {each: what for each, what in (said or {}).items() if each != key}
            return dict(list({**others, key: digest}.items())[-MOST:])

        with contextlib.suppress(OSError, ConfigError):
            self._file.change(updated)
        return True
