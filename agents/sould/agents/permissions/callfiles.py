"""The session's files as one tool call may have them: judged before they are opened, for every tool and in every mode.

Tools get no other way to a file. Nothing about a file outside the project, not even whether it is there, and nothing of a
secret leaves this module before the user said yes. What a tool writes it asks about itself, with the difference.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, cast

from msgspec import Struct

from sould.agents.base.filelocks import FileLocks
from sould.agents.base.workspace import (
    Command,
    Expected,
    JustRead,
    NotAFileError,
    ResolvedPath,
    RunningCommand,
    TextFile,
    Workspace,
)
from sould.agents.permissions import meantpaths
from sould.agents.permissions.approval import Approval, denied
from sould.agents.permissions.meantpaths import NamedPaths
from sould.agents.permissions.policy import ReadFile, Verdict
from sould.agents.permissions.secretnames import certain_globs
from sould.agents.permissions.visible import file_name
from sould.agents.toolapi.base import PerCall, RefusedError, ToolCallContext

NO_CALL = ToolCallContext("", 0)
"""As long as there is no call, files can be named and not opened."""
READ, TO_EDIT = "Read file {}", "Read file {} before it is changed"


Reading: TypeAlias = Callable[[Path], Awaitable[TextFile]]
"""One of a workspace's ways to read a file."""


class Changes(Protocol):
    """What of a `Workspace` changes something."""

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """See there."""
        ...

    async def delete(self, path: Path, *, expected: str) -> None:
        """See there."""
        ...

    async def run(self, command: Command) -> RunningCommand:
        """See there."""
        ...


class Looks:
    """Is told which files an agent knows: subclass it and override what is heard; `agent_id` is "" for the session's own agent."""

    __slots__ = ()

    def looked(self, agent_id: str, file: TextFile) -> None:
        """The agent was shown the file."""

    def passed(self, agent_id: str, file: TextFile) -> None:
        """A tool of the agent saw the file, and the agent did not."""

    def wrote(self, agent_id: str, file: TextFile) -> None:
        """The agent wrote the file, and knows what it holds now."""


UNHEARD: Final = Looks()


class Contest(Struct, frozen=True):
    """A write meets what another session's agent wrote and nobody reviewed yet: the hunks `ids`. `can_ask`: a person is there."""

    ids: tuple[int, ...]
    why: str
    can_ask: bool


class OtherWork:
    """What other sessions have under review in one file: subclass it. As it is, they have nothing."""

    __slots__ = ()

    async def contest(self, text: str) -> Contest | None:
        """What the file is about to lose or meet when this is written, and is to be asked about first; None: nothing."""

    def allowed(self, contest: Contest) -> None:
        """A person said yes: it is not asked about again."""

    async def beside(self) -> str:
        """What of them is in the file now, in words; "" when there is nothing."""
        return ""


OthersWork: TypeAlias = Callable[[Path], Awaitable[OtherWork]]
"""What other sessions have under review in a file."""


async def nobody_else(path: Path) -> OtherWork:
    """No other session works in its files."""
    del path
    return OtherWork()


class KnownProblems(Protocol):
    """What was wrong in a file before it was written."""


class WriteProblems:
    """What is wrong in files, as editors know: subclass it. As it is, nothing is known."""

    __slots__ = ()

    async def known(self, files: "CallFiles", path: Path) -> KnownProblems | None:
        """What is wrong in a file now; None: nobody knows. Does not take long, and fails never."""

    async def new(self, files: "CallFiles", path: Path, known: KnownProblems) -> Sequence[str]:
        """What is wrong now and was not then, a line each."""
        return ()


UNKNOWN: Final = WriteProblems()


class JudgedFile:
    """A file that a call is to change, as it was judged and read. `before` None: nothing is there; `secret`: why it is one, or ""."""

    def __init__(self, path: ResolvedPath, before: TextFile | None, secret: str, held: AsyncExitStack | None) -> None:
        """`held` holds the file; None: a person is asked before it is changed."""
        self.path = path
        self.before = before
        self.secret = secret
        self.asks = held is None
        self._held = held

    @property
    def expected(self) -> Expected:
        """What may be written over: as long as nobody was waited for, what was read need not be read again."""
        read = JustRead(self.before)
        return read if self._held is not None else read.digest

    async def let_go(self) -> None:
        """Nobody may hold a file while a person is asked."""
        if self._held is not None:
            await self._held.aclose()
            self._held = None


class CallFiles:
    """A `Workspace` in which opening asks; one for each call. Whoever is refused gets a RefusedError, which ends the call."""

    def __init__(
        self,
        workspace: Workspace,
        approval: Approval,
        locks: FileLocks,
        call: ToolCallContext = NO_CALL,
        looks: Looks = UNHEARD,
        others: OthersWork = nobody_else,
        problems: WriteProblems = UNKNOWN,
    ) -> None:
        self.paths = NamedPaths(workspace)
        """What paths are meant, and how they are shown."""
        self.locks = locks
        self.others = others
        """What a write may meet."""
        self.problems = problems
        """What a write may break."""
        self._looks = looks
        self._workspace = workspace
        self._changes = cast("Changes", workspace.for_call(call)) if isinstance(workspace, PerCall) else workspace
        self._approval = approval
        self._call = call
        self._opened: set[Path] = set()
        """What this call was allowed to read."""

    def for_call(self, call: ToolCallContext) -> "CallFiles":
        """The files as `call` may have them."""
        return CallFiles(self._workspace, self._approval, self.locks, call, self._looks, self.others, self.problems)

    @property
    def root(self) -> Path:
        """The session's working directory."""
        return self._workspace.root

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        return self._workspace.additional

    def resolve(self, path: str) -> ResolvedPath:
        """A path as it is written; see `NamedPaths`."""
        return self.paths.resolve(path)

    # --- opening -----------------------------------------------------------------------------------------------------

    async def admit(self, path: ResolvedPath, question: str) -> Literal["file", "directory"] | None:
        """Ask, where that is needed, whether what is there may be looked at; what it is, None: nothing that can be.

        `question` words it: "Search in {}".
        """
        await self._ask_for(path, question)
        if await asyncio.to_thread(path.path.is_dir):
            return "directory"
        return "file" if await asyncio.to_thread(path.path.is_file) else None

    async def is_directory(self, path: ResolvedPath) -> bool:
        """Whether a path is a directory of the project, whose names may be known; no other is one."""
        return path.inside and await asyncio.to_thread(path.path.is_dir)

    async def read_text(self, path: Path | ResolvedPath) -> TextFile:
        """What the user sees on screen, when it may be read.

        Raises:
            NotAFileError, NotTextError, OutsideError, WorkspaceError
        """
        file = await self._read(self._found(path), self._workspace.read_text)
        self._looks.looked(self._agent_id, file)
        return file

    async def known_text(self, path: Path | ResolvedPath) -> TextFile:
        """As `read_text`, from what is known without asking an editor."""
        file = await self._read(self._found(path), self._workspace.known_text)
        self._looks.looked(self._agent_id, file)
        return file

    async def pass_text(self, path: Path | ResolvedPath) -> TextFile:
        """As `read_text`, for a tool that looks something up in it: the agent does not know the file after."""
        file = await self._read(self._found(path), self._workspace.read_text)
        self._looks.passed(self._agent_id, file)
        return file

    @property
    def _agent_id(self) -> str:
        return self._call.source.agent_id if self._call.source is not None else ""

    async def _read(self, path: ResolvedPath, reading: Reading) -> TextFile:
        try:
            file, _ = await self._open(path, reading)
            return file
        except NotAFileError as error:
            raise await self._explained(error, path) from None

    async def _open(self, path: ResolvedPath, reading: Reading) -> tuple[TextFile, str]:
        """The text, and why it is a secret, which was asked about."""
        await self._ask_for(path, READ)
        file = await reading(path.path)
        return file, await self._ask_about(path, file.text.encode(errors="replace"))

    async def read_bytes(self, path: Path | ResolvedPath, limit: int) -> bytes:
        """The first `limit` bytes on disk, when they may be read. Raises NotAFileError, OutsideError, WorkspaceError."""
        found = self._found(path)
        await self._ask_for(found, READ)
        try:
            data = await self._workspace.read_bytes(found.path, limit)
        except NotAFileError as error:
            raise await self._explained(error, found) from None
        await self._ask_about(found, data)
        return data

    async def missing(self, path: ResolvedPath, wanted: str) -> NotAFileError:
        """That nothing is there, with the paths of the project that are near; else that it is not `wanted`, "a directory"."""
        return await self._explained(NotAFileError(f"{path.written} is not {wanted}"), path)

    async def _explained(self, error: NotAFileError, path: ResolvedPath) -> NotAFileError:
        """The error itself where something is there, and outside the project."""
        if not path.inside or await asyncio.to_thread(os.path.lexists, path.path):
            return error
        return NotAFileError(await asyncio.to_thread(meantpaths.missing, path.written, self.root))

    @asynccontextmanager
    async def to_edit(self, path: ResolvedPath) -> AsyncGenerator[JudgedFile]:
        """A file that is to be changed, judged and read by one decision; refused edits end the call here.

        It is held as long as the block lasts, unless a person will be asked: then it is read without asking an editor, which
        is asked for its text after the answer, when the edit is written. That is the look that counts.

        Raises:
            NotAFileError, NotTextError, OutsideError, WorkspaceError
        """
        verdict = await self._judged_to_edit(path)
        async with AsyncExitStack() as held:
            if verdict.decision == "allow":
                waits = self.locks.is_held(path.path)
                await held.enter_async_context(self.locks.editing(path.path))
                if waits:  # what was judged before may be another file by now
                    verdict = await self._judged_to_edit(path)
            asks = verdict.decision == "ask"
            if asks:
                await held.aclose()
            before, secret = await self._read_judged(path, verdict)
            yield JudgedFile(path, before, secret, held if not asks else None)

    async def _judged_to_edit(self, path: ResolvedPath) -> Verdict:
        verdict = await self._approval.judge_to_edit(path, self._call)
        if verdict.decision == "deny":
            raise RefusedError(denied(verdict.reason))
        return verdict

    async def _read_judged(self, path: ResolvedPath, verdict: Verdict) -> tuple[TextFile | None, str]:
        """The text, None where nothing is, and why the file is a secret. Where a person was waited for, it is looked at once more."""
        if verdict.reads == "allow":
            self._opened.add(path.path)
        before, found = await self._read_to_edit(path, unasked=verdict.decision == "allow")
        if verdict.reads == "allow" and not found:
            return before, verdict.secret
        return before, await self._approval.secret(path, before.text if before is not None else "")

    async def read_to_edit(self, path: ResolvedPath) -> TextFile | None:
        """What an edit is to replace, None where nothing is; an editor is asked for it.

        Raises:
            NotAFileError, NotTextError, OutsideError, WorkspaceError
        """
        before, _ = await self._read_to_edit(path, unasked=True)
        return before

    async def _read_to_edit(self, path: ResolvedPath, *, unasked: bool) -> tuple[TextFile | None, str]:
        await self._ask_for(path, TO_EDIT, to_edit=True)
        try:
            file, secret = await self._open(path, self._workspace.read_text if unasked else self._workspace.known_text)
        except NotAFileError:
            if await asyncio.to_thread(os.path.lexists, path.path):  # a directory or a device
                raise
            return None, ""
        self._looks.passed(self._agent_id, file)
        return file, secret

    def passed_over(self, searched: ResolvedPath) -> tuple[str, ...]:
        """Globs of names and of the ends of paths, without case, that a search opens only where the search itself was asked about: secrets.

        That nothing of them is shown would not do: how long a pattern takes tells what it met.
        """
        return () if self._approval.judge_found_file(searched.path).decision == "ask" else certain_globs()

    async def found_in(self, searched: ResolvedPath, paths: Collection[Path]) -> frozenset[Path]:
        """Which of the files that a search came upon may be shown; what is asked about only where the search itself was.

        Nor may it be said that there were others: whether a pattern matches a secret tells the secret, pattern by pattern.
        """
        found = await asyncio.to_thread(self._found_in, searched, paths)
        self._opened |= found
        return found

    def _found_in(self, searched: ResolvedPath, paths: Collection[Path]) -> frozenset[Path]:
        asked = self._approval.judge_found_file(searched.path).decision == "ask"
        return frozenset(path for path in paths if self._may_show(path, searched.path, asked=asked))

    def _may_show(self, path: Path, searched: Path, *, asked: bool) -> bool:
        """`asked`: the search was. What took a file's place since it was asked about is no file that was asked about."""
        if os.path.realpath(path) != str(path):
            return False
        verdict = self._approval.judge_found_file(path)
        if path == searched:
            return verdict.decision != "deny" and verdict.grant is None
        return verdict.decision == "allow" or (asked and verdict.decision == "ask")

    def changed_at(self, path: Path) -> float:
        """When a file that this call may show was last changed; 0 for all others. Blocks."""
        try:
            return path.stat().st_mtime if path in self._opened else 0.0
        except OSError:
            return 0.0

    async def unsaved(self) -> Collection[Path]:
        """The files, resolved, whose buffer differed from the disk when it was last read."""
        return await self._workspace.unsaved()

    def _found(self, path: Path | ResolvedPath) -> ResolvedPath:
        return path if isinstance(path, ResolvedPath) else self._workspace.resolve(str(path))

    async def _ask_for(self, path: ResolvedPath, question: str, *, to_edit: bool = False) -> None:
        """Before anything is opened."""
        # not in a thread: it looks as briefly as `resolve`, and calls are to be judged, and asked about, in their order
        if not path.inside and (said := meantpaths.misplaced(path.written, self.paths.directories)):
            raise NotAFileError(said)
        if path.path not in self._opened:
            await self._ask(ReadFile(path, to_edit=to_edit), question)
            self._opened.add(path.path)

    async def _ask_about(self, path: ResolvedPath, data: bytes) -> str:
        """Why it is a secret. Before anything shows of what was read: an editor's text, or a file that is no longer what was judged."""
        secret = await asyncio.to_thread(self._approval.secret_in, path.path, data)
        if secret:
            await self._ask(ReadFile(path, secret=secret), READ)
        return secret

    async def _ask(self, action: ReadFile, question: str) -> None:
        described = question.format(f"`{file_name(action.path.path)}`")
        refused = await self._approval.request(self._call, action, sender=self._call.tool, description=described)
        if refused is not None:
            raise RefusedError(refused)

    # --- changing and running, which tools ask about themselves --------------------------------------------------------

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """See `Workspace`."""
        written = await self._changes.write_text(path, text, expected=expected)
        self._looks.wrote(self._agent_id, written)
        return written

    async def delete(self, path: Path, *, expected: str) -> None:
        """See `Workspace`."""
        await self._changes.delete(path, expected=expected)

    async def run(self, command: Command) -> RunningCommand:
        """See `Workspace`; once it runs, whoever follows the call is told."""
        running = await self._changes.run(command)
        self._call.command_begins()
        return running
