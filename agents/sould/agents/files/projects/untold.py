"""What the agents of a session do not know of their files: changes of theirs that were rejected, and what others wrote since they looked.

Rejects are told once, to the agent that wrote what was rejected, when it works, else to the one above it that does; that is the
session's own when it goes on, also when it was closed meanwhile. What was told is in the projects' logs, written after the words
are on disk, so that a daemon killed between the two tells it twice rather than never. What the user, or an agent of another
session, wrote is told to each agent that has read or written the file; what became of these files while nobody was looking,
because the session was closed or the daemon down, when it goes on (`knowntexts`). Nothing of a secret is in it.
"""

import asyncio
import contextlib
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.errors import SouldError
from sould.agents.base.filestamp import FileStamp, file_stamp
from sould.agents.base.workspace import NotAFileError, TextFile, TextFiles, WorkspaceError
from sould.agents.files.directories.secretblobs import SecretJudge
from sould.agents.files.edits.blobs import BlobMissingError
from sould.agents.files.edits.editlog import Decided, Told
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.reviewed import ChangedBy
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.projects.knowntexts import KnownText, KnownTexts
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.hunk import Hunk
from sould.agents.files.reviewing.review import Review
from sould.agents.permissions.callfiles import Looks

MOST_REMEMBERED: Final = 2 * 1024 * 1024
"""Characters of texts that an agent has read and nobody changed; what is beyond is forgotten, the oldest first."""
MOST_FILES: Final = 300
"""That an agent knows, those it looked at last: each is looked at before each step."""
MOST_AGENTS: Final = 16
MOST_KEPT: Final = 256 * 1024
"""Characters of a text that is kept beside the session."""
NOT_KEPT: Final = KnownTexts(None)
MOST_CHANGES: Final = 8
"""Of one file by others, with changes of the agent's between them."""


class RejectedEdit(Struct, frozen=True):
    """A change of the session's that was rejected. `hunk`: None for a change of the file as a whole, and where nobody knows it any more."""

    path: str
    reason: str
    hunk: Hunk | None = None
    writers: tuple[str, ...] = ()
    """The subagents that wrote it and are not told themselves."""


class Ancestry(Protocol):
    """Knows the agents of a session by id, "" being its own."""

    def at_work(self, agent_id: str) -> str:
        """The agent itself when it works, else the nearest above it that does, or the session's own."""
        ...


Who: TypeAlias = ChangedBy | Literal["both", "anybody"]
"""The user includes programs of theirs; agents are those of other sessions; `both` of these.

`anybody`: nobody saw it, because the session was closed.
"""


class OthersEdit(Struct, frozen=True):
    """What others made of a file; None: there is no file."""

    path: str
    before: str | None
    after: str | None
    by: Who = "user"


class Borrowed(Protocol):
    """The projects that the session has open."""

    def __iter__(self) -> Iterator[Project]:
        """All of them."""
        ...

    def review(self, project: Project) -> Review:
        """What is to be decided in one of them."""
        ...

    async def of(self, path: Path) -> Project:
        """The one a file belongs to, open from now on. Raises OSError, SouldError."""
        ...


class _Seen(Struct):
    """A file as an agent knows it. `text`: of one that is not under review; `changes` are others' since."""

    text: str | None = None
    changes: list[OthersEdit] = field(default_factory=list[OthersEdit])
    signature: FileStamp = ()
    known: str | None = None
    """What the agent knows it to hold."""
    kept: bool = False
    """That is on disk, as far as it may be."""
    since: float | None = None
    """When it was known, of what the agent knew when the session was closed and nobody looked at since."""

    def moves_to(self, signature: FileStamp) -> bool:
        """Whether the file on disk is not the one it was, which it is from now on."""
        before, self.signature = self.signature, signature
        return before != signature

    def holds(self, path: str, text: str | None, by: Who = "user") -> None:
        """One that is not under review holds this now."""
        self.others_changed(OthersEdit(path, self.text, text, by))
        self.text = text

    def was_away(self, path: str, before: str | None, after: str | None) -> None:
        """What became of it while the session was closed; what is known of it since is in that."""
        self.since, self.text = None, after
        self.changes = [OthersEdit(path, before, after, "anybody")]

    def keeps(self) -> str | None:
        """What the agent knows is on disk from now on."""
        self.kept = True
        return self.known

    def others_changed(self, change: OthersEdit) -> None:
        last = self.changes[-1] if self.changes else None
        if last is not None and last.after == change.before:
            self.changes[-1] = replace(last, after=change.after, by=_both(last.by, change.by))
        elif len(self.changes) < MOST_CHANGES:
            self.changes.append(change)

    def take(self) -> list[OthersEdit]:
        taken, self.changes = self.changes, []
        if taken:
            self.known, self.kept = taken[-1].after, False
        return [each for each in taken if each.before != each.after]


class Untold(Looks):
    """Of one session; "" is its own agent, the others are its subagents by id."""

    def __init__(
        self,
        session_id: str,
        borrowed: Borrowed,
        files: TextFiles,
        secrets: SecretJudge | None,
        texts: KnownTexts = NOT_KEPT,
    ) -> None:
        self._session_id = session_id
        self._borrowed = borrowed
        self._files = files
        self._secrets = secrets
        self._texts = texts
        self._seen: dict[str, dict[str, _Seen]] = {}

    # --- rejects ------------------------------------------------------------------------------------------------------

    def rejects(self, agent_id: str, agents: Ancestry) -> list[tuple[Project, Told, list[RejectedEdit]]]:
        """Those of which this agent is to be told and was not, by project, with what says there that it was."""
        found: list[tuple[Project, Told, list[RejectedEdit]]] = []
        for project in self._borrowed:
            events: list[RejectedEdit] = []
            numbers: set[int] = set()
            writers: set[str] = set()
            for event, wrote in project.review.state.untold(self._session_id):
                own = [each for each in wrote if agents.at_work(each) == agent_id]
                if own:
                    numbers.add(event.n)
                    writers.update(own)
                    events.append(_described(project, event, tuple(each for each in own if each != agent_id)))
            if events:
                told = Told(n=0, session_id=self._session_id, rejects=tuple(numbers), subagents=tuple(writers))
                found.append((project, told, events))
        return found

    async def rejects_told(self, told: Iterable[tuple[Project, Told]]) -> None:
        """The agent was told, and the words are on disk."""
        for project, event in told:
            await project.told(event)

    # --- what others wrote ---------------------------------------------------------------------------------------------

    def looked(self, agent_id: str, file: TextFile) -> None:
        """The agent was shown the file."""
        self._remember(agent_id, str(file.path), _Seen(file.text, known=file.text))

    def passed(self, agent_id: str, file: TextFile) -> None:
        """A tool of the agent saw the file, and the agent did not."""
        seen = self._seen.get(agent_id, {}).get(str(file.path))
        if seen is not None and not self._is_reviewed(str(file.path)):
            seen.holds(str(file.path), file.text)

    def wrote(self, agent_id: str, file: TextFile) -> None:
        """The agent wrote the file, and knows what it holds now."""
        known = self._seen.get(agent_id, {})
        for path in (str(file.path), *(str(name) for name in file.others if str(name) in known)):
            before = known.get(path)
            changes = before.changes if before is not None else []
            self._remember(agent_id, path, _Seen(file.text, changes, known=file.text))

    def known(self, agent_id: str) -> Collection[str]:
        """The paths of the files that the agent knows."""
        return self._seen.get(agent_id, {}).keys()

    def others_changed(self, path: str, before: TrackedFile | None, after: TrackedFile | None, by: ChangedBy) -> None:
        """The user, an agent of another session, or what an agent left running, changed a file under review."""
        for files in self._seen.values():
            if path in files:
                was = _text(before) if before is not None else files[path].text
                files[path].others_changed(OthersEdit(path, was, _text(after), by))

    async def others_edits(self, agent_id: str) -> Sequence[OthersEdit]:
        """What others made of the files the agent knows since it looked, or was told last."""
        files = self._seen.get(agent_id, {})
        await self._look_back(files)
        touched = await asyncio.to_thread(self._touched, tuple(files.items()))
        if touched:  # it may be the doing of what an agent left running
            for project in self._borrowed:
                await self._borrowed.review(project).git.activity.find()
        for path in touched:
            await self._look(path, files)
        edits = [edit for seen in tuple(files.values()) for edit in seen.take()]
        return await asyncio.to_thread(self._without_secrets, edits) if edits else ()

    # --- while the session was closed -----------------------------------------------------------------------------------

    async def restore(self) -> None:
        """The session goes on: its agents know what they knew when it was closed."""
        known = await asyncio.to_thread(self._texts.all)
        for each in known[-MOST_FILES:]:
            seen = _Seen(each.text, known=each.text, kept=True, since=each.at)
            self._remember(each.agent_id, each.path, seen)

    async def keep(self) -> None:
        """What the agents know by now is on disk when this returns."""
        found = [
            KnownText(agent_id, path, seen.keeps(), time.time())
            for agent_id, files in self._seen.items()
            for path, seen in files.items()
            if not seen.kept
        ]
        if found:
            await asyncio.to_thread(self._keep, found)

    def _keep(self, found: Sequence[KnownText]) -> None:
        small = (each for each in found if len(each.text or "") <= MOST_KEPT)
        self._texts.add(each for each in small if not self._is_secret(OthersEdit(each.path, None, each.text)))

    async def _look_back(self, files: Mapping[str, _Seen]) -> None:
        """What became of files since, whoever did it; an agent of the session knows what it wrote."""
        waiting = {path: seen for path, seen in files.items() if seen.since is not None}
        if not waiting:
            return
        written: dict[Path, LoggedEdit] = {}
        for project in self._borrowed:
            written |= {path: edits[-1] for path, edits in project.edits(self._session_id).items()}
        for path, seen in waiting.items():
            await self._look(path, waiting)  # so that the review does not say it again
            try:
                now: str | None = (await self._files.known_text(Path(path))).text
            except NotAFileError:
                now = None
            except (WorkspaceError, OSError):
                now = seen.known
            seen.was_away(path, await self._last_known(seen, written.get(Path(path))), now)

    async def _last_known(self, seen: _Seen, edit: LoggedEdit | None) -> str | None:
        """What the agent knew, or an agent of the session wrote after that, while nobody could keep it."""
        if edit is None or edit.timestamp <= (seen.since or 0.0) or not edit.settled:
            return seen.known
        for project in self._borrowed:
            with contextlib.suppress(BlobMissingError, UnicodeDecodeError):
                return (await project.content(edit.after)).decode() if edit.after is not None else None
        return seen.known

    def _touched(self, files: Collection[tuple[str, _Seen]]) -> list[str]:
        """The files that may hold something else than when this was asked last."""
        unsaved = {
            str(path) for project in self._borrowed for path in self._borrowed.review(project).files.buffers.unsaved()
        }
        return [path for path, seen in files if path in unsaved or seen.moves_to(file_stamp(path))]

    async def _look(self, path: str, files: Mapping[str, _Seen]) -> None:
        try:
            text = (await self._files.known_text(Path(path))).text
        except NotAFileError:
            text = None
        except (WorkspaceError, OSError):
            return
        review = next((self._borrowed.review(each) for each in self._borrowed if path in each.review.state.files), None)
        seen = files[path]
        if review is None:
            of_agents = text != seen.text and await self._is_of_agents(path, text)
            seen.holds(path, text, "agents" if of_agents else "user")
        elif review.files.buffers.text(Path(path)) is not None or text != review.text(path):
            await review.look(path, {self._session_id})

    async def _is_of_agents(self, path: str, text: str | None) -> bool:
        """Whether a file of a project that the session had nothing to do with holds what another session's agent wrote."""
        try:
            project = await self._borrowed.of(Path(path))
        except (OSError, SouldError):
            return False
        edits = project.edits_of(Path(path))
        digest = digest_of(text.encode(errors="replace")) if text is not None else None
        return bool(edits) and edits[-1].after == digest and edits[-1].session_id not in ("", self._session_id)

    def _is_reviewed(self, path: str) -> bool:
        return any(path in project.review.state.files for project in self._borrowed)

    def _remember(self, agent_id: str, path: str, seen: _Seen) -> None:
        files = self._seen.setdefault(agent_id, {})
        while len(self._seen) > MOST_AGENTS:
            del self._seen[next(each for each in self._seen if each)]
        files.pop(path, None)
        files[path] = seen
        size = sum(len(each.text or "") for each in files.values())
        while (size > MOST_REMEMBERED and len(files) > 1) or len(files) > MOST_FILES:
            size -= len(files.pop(next(iter(files))).text or "")

    def _without_secrets(self, edits: Sequence[OthersEdit]) -> Sequence[OthersEdit]:
        return [each for each in edits if not self._is_secret(each)]

    def _is_secret(self, edit: OthersEdit) -> bool:
        texts = [text.encode(errors="replace") for text in (edit.before, edit.after) if text is not None]
        if any(edit.path in project.review.state.secret for project in self._borrowed):
            return True
        judge = self._secrets
        return judge is not None and bool(judge.secret_in(Path(edit.path), *texts))


def _both(last: Who, now: Who) -> Who:
    """Whose one change is that two made."""
    if last in (now, "anybody"):
        return last
    return "program" if {last, now} == {"user", "program"} else "both"


def _text(file: TrackedFile | None) -> str | None:
    return "".join(file.text.current) if file is not None and file.exists and not file.content else None


def _described(project: Project, event: Decided, writers: tuple[str, ...]) -> RejectedEdit:
    file = project.review.state.files.get(event.path)
    away = file.text.gone(event.hunk_id) if file is not None and event.path not in project.review.state.secret else None
    return RejectedEdit(event.path, event.reason, away.hunk if away is not None else None, writers)
