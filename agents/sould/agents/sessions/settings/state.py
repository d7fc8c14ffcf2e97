"""What a session keeps beside its journal: choices of the user that are not part of the conversation (`state.json`).

Losing the file loses choices, never history. Keys of the reference layout are kept; unknown ones survive a rewrite.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import orjson
from pydantic import Field, PrivateAttr, ValidationError

from sould.agents.base.errors import JournalFullError, why_refused
from sould.agents.base.parsed import Parsed
from sould.agents.llm.provider import ThoughtLevel
from sould.agents.permissions.policy import Mode
from sould.agents.sessions.settings.budgets import Account
from sould.agents.sessions.store.kimilayout import LARGEST_STATE, STATE, change_state, open_own
from sould.agents.wire.display import TodoItem


class SessionState(Parsed):
    """The file's content; None means the configured default."""

    version: int = 1
    directory: str = ""
    """Where the session's directory really was when the session began, all links followed."""
    mode: Mode | None = None
    agent: str = ""
    """The chosen agent's name or path; empty for the default one."""
    agent_files: dict[str, str] = Field(default_factory=dict[str, str])
    """Files of the project that the user chose by that path, by content."""
    model: str | None = None
    thought_level: ThoughtLevel | None = None
    loop_limit: int | None = None
    """How often prompts are repeated; None: as the configuration says."""
    todos: tuple[TodoItem, ...] = ()
    account: Account = Field(default_factory=Account)
    """What the session has spent."""
    _unsaved: bool = PrivateAttr(default=False)
    _saving: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    """A choice may be saved in the loop while a thread saves what a turn left: what is newer is written last."""

    @property
    def unsaved(self) -> bool:
        """The disk refused it: it is to be saved again."""
        return self._unsaved

    def begin_in(self, directory: Path) -> None:
        """The session begins in this directory."""
        self.directory = str(directory.resolve())

    def keep_todos(self, todos: tuple[TodoItem, ...]) -> None:
        """The list as it is at the end of a turn."""
        self.todos = todos

    def choose_mode(self, mode: Mode | None) -> None:
        """None: the project's usual one."""
        self.mode = mode

    def choose_agent(self, agent: str, files: Mapping[str, str]) -> None:
        """Its name or path, with the files of the project that the user chose by it."""
        self.agent, self.agent_files = agent, dict(files)

    def choose_model(self, key: str) -> None:
        """By its key in the configuration."""
        self.model = key

    def choose_thought_level(self, level: ThoughtLevel) -> None:
        """How much the model reasons."""
        self.thought_level = level

    def choose_loop_limit(self, limit: int) -> None:
        """How often prompts are repeated; -1 without limit."""
        self.loop_limit = limit

    def save(self, directory: Path) -> None:
        """Replace the file in one step, readable by its owner only. It waits for the disk: after turns, in a thread.

        What it says by now beyond these fields stays, as a title that was given meanwhile.

        Raises:
            JournalFullError: the disk refuses, or it is no file of the user's own; the old content stays.
        """
        self._unsaved, fields = True, dict.fromkeys(type(self).model_fields)
        try:
            with self._saving:
                said = self.model_dump(mode="json", exclude_none=True, include=set(fields))
                change_state(directory, {**fields, **said})
        except OSError as error:
            raise JournalFullError(
                f"Choices and tasks of this session cannot be saved in {directory / STATE}: {why_refused(error)}. "
                "They last until it is closed, and saving them is tried again after the next turn."
            ) from error
        self._unsaved = False


def load_state(directory: Path) -> SessionState:
    """The state of the session in `directory`, or a fresh one when the file is missing, damaged or not the user's own.

    A field that does not validate, as of a newer program, is as if it were not there; the others stay.
    """
    try:
        with open_own(directory / STATE) as source:
            found: object = orjson.loads(source.read(LARGEST_STATE))
    except (OSError, orjson.JSONDecodeError):
        return SessionState()
    if not isinstance(found, dict):
        return SessionState()
    fields = cast("dict[str, object]", found)
    try:
        return _state(fields)
    except ValidationError as error:
        wrong = {each["loc"][0] for each in error.errors() if each["loc"]}
        return _state({key: value for key, value in fields.items() if key not in wrong})


def _state(fields: Mapping[str, object]) -> SessionState:
    return SessionState.model_validate_json(orjson.dumps(fields))
