"""A project in git, with commands that are really looked at, an editor that reports its buffers, and a daemon that may be killed."""

import asyncio
import random
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from tests.agents.files.reviewing.gitdesk import GitDesk

from sould.agents.base.config import CaptureLimits
from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import Expected, FileChangedError, JustRead, TextFile, WorkspaceError
from sould.agents.files.edits.logkeeping import LOG
from sould.agents.files.projects.capture import Capture
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.findingwords import FindingWords
from sould.agents.files.projects.lookedat import LookedAt
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.projects.writers import Writers
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import AgentCall
from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.agents.files.reviewing.review import Review
from sould.agents.toolapi.base import AgentSource
from sould.agents.tools import ToolCallContext
from soultest.bench.tools import no_commands


class BufferEditor(LocalWorkspace):
    """Holds files as their user left them; `connect` says so to a daemon."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, (), no_commands)
        self.texts: dict[Path, str] = {}
        """Of the files it has open and that are not saved."""
        self._port: ProjectPort | None = None

    def connect(self, port: ProjectPort) -> None:
        """A daemon is there, to which all is told that is not saved."""
        self._port = port
        port.documents.serve(self, "the editor")
        for path, text in self.texts.items():
            port.documents.open(path)
            port.documents.change(path, text)

    def type(self, path: Path, text: str) -> None:
        """The user leaves the buffer like this, unsaved."""
        assert self._port is not None
        self.texts[path] = text
        self._port.documents.change(path, text)

    def save(self, path: Path) -> None:
        """What the buffer holds is on disk."""
        assert self._port is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.texts.pop(path).encode())
        self._port.documents.save(path)
        self._port.documents.close(path)

    def discard(self, path: Path) -> None:
        """The user closes the file without saving it."""
        assert self._port is not None
        del self.texts[path]
        self._port.documents.close(path)

    def die(self) -> None:
        """It is killed, with all that is not saved."""
        assert self._port is not None
        self.texts.clear()
        self._port.documents.leave()
        self._port.documents.serve(self, "the editor")

    async def read_text(self, path: Path) -> TextFile:
        """Of the buffer."""
        if path not in self.texts:
            return await super().read_text(path)
        text = self.texts[path]
        return TextFile(path, text, digest_of(text.encode()), unsaved=True)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Into the buffer, which stays unsaved."""
        if path not in self.texts:
            return await super().write_text(path, text, expected=expected)
        wanted = expected.digest if isinstance(expected, JustRead) else expected
        if wanted != digest_of(self.texts[path].encode()):
            raise FileChangedError("the buffer holds something else")
        self.type(path, text)
        return TextFile(path, text, digest_of(text.encode()), unsaved=True)


class LiveDesk(GitDesk):
    """`shown` is what a client knows that is told of each file that changed, and lists nothing by itself."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.editor = BufferEditor(self.root)
        self.shown: dict[str, tuple[ReviewedHunk, ...]] = {}
        self.certain_within = 60.0
        """Seconds; 0: whatever changes while a command runs may be the user's."""
        self._told: set[str] = set()
        self._writers = Writers()
        self._stack = AsyncExitStack()

    async def aclose(self) -> None:
        """End what runs."""
        await self._stack.aclose()
        await super().aclose()

    async def review(self) -> Review:
        """Of the project, with an editor in it, and a client that follows."""
        if self._project is None:
            review = await super().review()
            opened = ProjectPort.opened(self.projects, self.root, self.state, "editor")
            self.editor.connect(await self._stack.enter_async_context(opened))
            self._stack.enter_context(review.following(self._note))
            self.shown = {each.path: each.hunks for each in review.pending()}
        return await super().review()

    def _note(self, path: str) -> None:
        self._told.add(path)

    async def told(self) -> dict[str, tuple[ReviewedHunk, ...]]:
        """What the client that follows knows by now."""
        review = await self.review()
        moved = self.shown.keys() - review.pending_files()  # a file that was moved is told by its new path only
        for each in review.now(self._told | moved):
            self.shown[each.path] = each.hunks
        self._told.clear()
        return {path: hunks for path, hunks in self.shown.items() if hunks}

    async def files(self) -> dict[str, TrackedFile]:
        """All that is known of files, whether or not something of them is pending."""
        await self.review()
        assert self._project is not None
        return dict(self._project.review.state.files)

    async def session(self, session_id: str = "S1") -> SessionFiles:
        """The files of a session, whose commands are looked at."""
        if session_id not in self._sessions:
            await self.review()
            own = self.state / "sessions" / session_id
            own.mkdir(parents=True, exist_ok=True)
            disk = LocalWorkspace(self.root, (), no_commands)
            clients = ClientFiles(disk, self.projects.buffers)
            files = await SessionFiles.open(disk, self.projects, Author(session_id, own, self.state), clients)
            looked_at = LookedAt(self.projects, own, {}, (), CaptureLimits(wait_s=60.0))
            words = FindingWords(files.projects, session_id, 1, str)
            files.watch(
                Capture(files.found, files.commands, looked_at, words, self._writers, lambda: self.certain_within)
            )
            self._sessions[session_id] = files
        return self._sessions[session_id]

    async def writes(self, name: str, text: str | None, turn: str, session: str, subagent: str = "") -> bool:
        """A tool of a session's agent writes a file as its user sees it, None: removes it; False: it could not."""
        path = self.root / name
        source = AgentSource("its agent", subagent) if subagent else None
        context = ToolCallContext(f"call of {turn}", 1, turn_id=turn, source=source)
        files = await self.session(session)
        changes = files.for_call(context)
        try:
            found = await files.read_text(path) if path.exists() or path in self.editor.texts else None
            if text is not None:
                await changes.write_text(path, text, expected=found.digest if found else None)
            elif found is not None:
                await changes.delete(path, expected=found.digest)
        except WorkspaceError:
            return False
        return True

    async def runs(self, work: Callable[[], None], turn: str, session: str, subagent: str = "") -> None:
        """A command of a session's agent does this."""
        files = await self.session(session)
        assert files.capture is not None
        call = AgentCall(session, turn, f"call of {turn}", subagent)
        await files.capture.begin(call)
        await asyncio.to_thread(work)
        await files.capture.finish(call.call_id)

    def tries(self, *arguments: str, given: str = "") -> bool:
        """The user's git, which may refuse."""
        try:
            self.git(*arguments, given=given)
        except subprocess.CalledProcessError:
            return False
        return True

    @property
    def log(self) -> Path:
        """The edit log."""
        return self.state / "projects" / self._log_id / LOG

    async def killed(self, cut: Callable[[bytes], int], then: Callable[[], None] = lambda: None) -> bytes:
        """The daemon is killed when its log had come to so many of the bytes it has, and the next one begins; what was left of it."""
        await self.review()
        data = self.log.read_bytes()
        left = self.state.with_name("left")
        shutil.copytree(self.state, left, symlinks=True)
        texts = dict(self.editor.texts)
        await self.aclose()
        shutil.rmtree(self.state)
        left.rename(self.state)
        self.editor.texts = texts
        kept = data[: cut(data)]
        self.log.write_bytes(kept)
        then()
        self.projects = Projects(self.state)
        return kept


def some_hunk_staged(desk: LiveDesk, chance: random.Random) -> None:
    """`git add -p`: one hunk of what differs from the index."""
    diff = desk.git("diff", "-U0", "--no-color", "--no-renames", "--diff-filter=M")
    files = ["diff --git" + each for each in diff.split("diff --git")[1:] if "\n@@" in each]
    if files:
        head, *hunks = chance.choice(files).split("\n@@")
        desk.tries(
            "apply", "--cached", "--unidiff-zero", "-", given=f"{head}\n@@{chance.choice(hunks)}".rstrip("\n") + "\n"
        )
