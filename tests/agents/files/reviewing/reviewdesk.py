"""A project whose files agents and users change, and the review of it, without a model and without a client."""

import asyncio
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.files.directories.nodes import read_node
from sould.agents.files.edits.moments import moment
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.projects.changes import CallChange
from sould.agents.files.projects.moves import RESTORE
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.restore import FileOutcome, is_of, take_back
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.review.decisions import Choice
from sould.agents.files.review.filedecisions import ConflictChoice
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.answers import Outcome
from sould.agents.files.reviewing.listing import ReviewedHunk, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.files.reviewing.review import Review
from sould.agents.files.reviewing.shapes import Verdict
from sould.agents.tools import ToolCallContext
from soultest.bench.tools import no_commands


class ReviewDesk:
    """`restart` is what a new daemon does: everything in memory is gone."""

    def __init__(self, base: Path, root: Path | None = None) -> None:
        """`root`: where the project is, when there is one already."""
        self.root = root or base / "project"
        self.state = base / "state"
        for directory in (self.root, self.state):
            directory.mkdir(parents=True, exist_ok=root is not None)
        self.projects = Projects(self.state)
        self._sessions: dict[str, SessionFiles] = {}
        self._log_id = ""
        self._project: Project | None = None

    @property
    def log(self) -> Path:
        """The file of what happened in its one project."""
        [log] = self.state.glob("projects/*/edits.jsonl")
        return log

    async def restart(self) -> None:
        """End what runs, and begin again."""
        await self.aclose()
        self.projects = Projects(self.state)

    async def aclose(self) -> None:
        """End what runs."""
        for files in self._sessions.values():
            await files.aclose()
        self._sessions.clear()
        if self._project is not None:
            self._project = None
            await self.projects.give_back(self._log_id)

    async def session(self, session_id: str = "S1") -> SessionFiles:
        """The files of a session."""
        if session_id not in self._sessions:
            directory = self.state / "sessions" / session_id
            directory.mkdir(parents=True, exist_ok=True)
            disk = LocalWorkspace(self.root, (), no_commands)
            author = Author(session_id, directory, self.state)
            self._sessions[session_id] = await SessionFiles.open(disk, self.projects, author)
        return self._sessions[session_id]

    async def review(self) -> Review:
        """Of the project, which is open from now on; what had waited is done."""
        if self._project is not None:
            return self.projects.review(self._project)
        self._log_id, self._project = await self.projects.borrow(self.root)
        review = self.projects.review(self._project)
        await review.carry_out_waiting()
        return review

    def user(self, name: str, text: str | None) -> None:
        """The user saves a file in an editor that says nothing; None: removes it.

        That was some seconds ago, so that no look waits for the end of a save; but not for git, which goes by times.
        """
        path = self.root / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        if not (self.root / ".git").exists():
            at = time.time() - 5
            os.utime(path if path.exists() else path.parent, (at, at))

    def text(self, name: str) -> str:
        """What a file holds."""
        return (self.root / name).read_bytes().decode()

    async def agent(self, name: str, text: str | None, turn: str = "T1", session: str = "S1") -> None:
        """A tool of a session's agent writes a file; None: removes it."""
        path = self.root / name
        files = (await self.session(session)).for_call(ToolCallContext(f"call of {turn}", 1, turn_id=turn))
        expected = digest_of(path.read_bytes()) if path.exists() else None
        if text is None:
            await files.delete(path, expected=expected or "")
        else:
            await files.write_text(path, text, expected=expected)

    async def command(
        self, before: Mapping[str, str | None], after: Mapping[str, str | None], turn: str = "T1", session: str = "S1"
    ) -> None:
        """A command of a session's agent leaves these files so, where they were so; None: no file."""
        files = await self.session(session)
        call = AgentCall(session, turn, f"call of {turn}")
        activity = self.projects.activities.at(self.root)
        activity.begin(call.call_id, await asyncio.to_thread(activity.git.now), _nothing_found)
        try:
            await files.found.keep(
                [self._changed(name, before.get(name), after.get(name)) for name in {**before, **after}], moment(), call
            )
        finally:
            activity.end(call.call_id)
        await (await self.review()).command_ended()

    async def relinks(self, name: str, target: str | None, turn: str = "T1", session: str = "S1") -> None:
        """A command of a session's agent has a symbolic link lead there, whatever stood in its place; None: removes it."""
        path = self.root / name
        before, before_mode = self._node(path)
        path.unlink(missing_ok=True)
        if target is not None:
            path.symlink_to(target)
        after, after_mode = self._node(path)
        change = CallChange(path, before, after, before_mode, after_mode)
        await (await self.session(session)).found.keep([change], moment(), AgentCall(session, turn, f"call of {turn}"))

    async def makes_executable(self, name: str, turn: str = "T1", session: str = "S1") -> None:
        """A command of a session's agent does that to a file."""
        path = self.root / name
        held, before = self._node(path)
        path.chmod(0o755)
        change = CallChange(path, held, held, before, path.stat().st_mode)
        await (await self.session(session)).found.keep([change], moment(), AgentCall(session, turn, f"call of {turn}"))

    def _node(self, path: Path) -> tuple[str | None, int | None]:
        node = read_node(path)
        return (self.projects.store.put(node.data), node.mode) if node is not None else (None, None)

    def _changed(self, name: str, old: str | None, new: str | None) -> CallChange:
        kept, left = (self.projects.store.put(text.encode()) if text is not None else None for text in (old, new))
        self.user(name, new) if new is not None else (self.root / name).unlink(missing_ok=True)
        return CallChange(self.root / name, kept, left)

    async def undo(self, *turns: str, session: str = "S1", name: str = "u1", kept: bool = False) -> list[FileOutcome]:
        """Take turns of a session back."""
        files = await self.session(session)
        chosen = {edit.key for edits in files.projects.edits.values() for edit in _since_first(edits, turns)}
        return await take_back(files, lambda edit: edit.key in chosen, name, "", kept=kept)

    async def redo(self, undone: str = "u1", session: str = "S1", name: str = "r1") -> list[FileOutcome]:
        """Take an undo back."""
        return await take_back(await self.session(session), lambda edit: is_of(edit, undone), name, "")

    async def hunks(self, selection: Selection = Selection(), *, absent: bool = False) -> list[ReviewedHunk]:  # noqa: B008
        """What is pending after a look at all files."""
        review = await self.review()
        await review.look_at_all()
        return [hunk for each in review.pending(selection, absent=absent) for hunk in each.hunks]

    async def decide(
        self,
        verdict: Verdict,
        *ids: int,
        choice: Choice | ConflictChoice | None = None,
        paths: Collection[str] = (),
        session: str = "",
        turn: str = "",
        digests: Mapping[int, str] | None = None,
        lines: tuple[int, int] | None = None,
        by: str = "test",
        reason: str = "",
    ) -> Outcome:
        """Keep, reject or undo."""
        named = tuple(str(self.root / path) for path in paths)
        order = Order(verdict, Selection(ids, named, session, turn), by, reason, choice, digests or {}, lines)
        return await (await self.review()).decide(order)


async def _nothing_found() -> None:
    """What the command changed is told when it has ended."""


def _since_first(edits: Iterable[LoggedEdit], turns: Collection[str]) -> Iterator[LoggedEdit]:
    """Those of the turns in one file, and the restores that came after the first of them."""
    begun = False
    for edit in edits:
        begun = begun or edit.turn_id in turns
        if edit.turn_id in turns or (begun and edit.call_id.startswith(RESTORE)):
            yield edit
