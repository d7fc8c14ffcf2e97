"""A live session's entry in the store: what lists show of it, kept up to date as it is used.

Whoever has the entry sees it change. A change that clients show is published.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from sould.agents.base.text import plural
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.store.store import SessionInfo, SessionStore
from sould.agents.soul.session_request import Origin
from sould.agents.wire.content import UserInput, input_summary
from sould.agents.wire.messages import SessionChanged


class SessionEntry:
    """Of one session. Every method raises JournalFullError when the disk refuses."""

    def __init__(self, info: SessionInfo, store: SessionStore, log: SessionLog) -> None:
        self.info = info
        self._store = store
        self._log = log

    def count_turn(self, user_input: UserInput) -> None:
        """A turn begins; the first one gives the session its title."""
        title = self.info.title
        self.info = self._store.touch(self.info.id, prompt=input_summary(user_input), turns=self.info.turns + 1)
        if self.info.title != title:
            self._log.publish(SessionChanged(title=self.info.title))

    def continue_from(self, source: SessionInfo) -> None:
        """It is a fork: it has as many turns as the session it was made from."""
        self.info = self._store.touch(self.info.id, turns=source.turns)

    def import_from(self, turns: int, began: float) -> None:
        """It begins with a conversation that was held elsewhere; `began`: when, in wall seconds, 0 where nobody knows."""
        created = began if 0 < began < self.info.created else None
        self.info = self._store.touch(self.info.id, turns=turns, created=created)

    def note_opening(self, origin: Origin) -> None:
        """It is opened there."""
        self.info = self._store.note_opening(self.info.id, origin)

    def work_in(self, directories: Sequence[Path]) -> None:
        """The directories beside its own in which it works, all of them."""
        self.info = self._store.touch(self.info.id, additional=tuple(directories))

    def rename(self, title: str) -> None:
        """Give the session a title of the user's, as it can be shown."""
        self.info = self._store.rename(self.info.id, title)
        self._log.publish(SessionChanged(title=self.info.title))

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        yield f"- session: `{self.info.id}` in `{self.info.cwd}`, {plural(self.info.turns, 'turn')}"
