"""Taking edits back: every file as it was before them, with what the user kept, typed or changed since, and nothing else touched.

Only files the session has edits of are touched. What a text becomes is `undoing`'s; what is no text goes back only where nobody
changed it since. What cannot go back stays, and is told. Every restored file is an edit itself, so a restore can be taken back
too, and one that was cut off by a crash can simply be done again: what is done already is found done.
"""

import asyncio
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import FileChangedError, WorkspaceError
from sould.agents.files.directories.nodes import FileNode, Put, digest_of_node, is_file, is_link, link_node
from sould.agents.files.directories.refs import DIRECTORY
from sould.agents.files.edits.blobs import BlobMissingError
from sould.agents.files.edits.past import PastWrite
from sould.agents.files.edits.project import Project
from sould.agents.files.edits.reviewed import digest_held
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.edits.texts import as_lines
from sould.agents.files.edits.undoing import WithoutWrites, without_writes
from sould.agents.files.projects.moves import RESTORE, Moves
from sould.agents.files.projects.sessionfiles import SessionFiles
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.text import ReviewedText

Chosen: TypeAlias = Callable[[LoggedEdit], bool]
Action: TypeAlias = Literal["restored", "deleted", "created", "conflict", "kept"]

BOTH = "it was changed since in the same place"
GONE = "it was deleted since"
EXTENDED = "it was made by the agent and changed since"
SHARED = "it changed while a command ran, and may be somebody else's work"
OCCUPIED = "something else is at {} by now"
NO_TEXT = "it is no text now, and what it holds is not kept"
KEPT = "you kept what was changed in it"


class FileOutcome(Struct, frozen=True):
    """What became of one file: how many `changes` went back, how many could not, for `reason`, and where what was kept stays.

    `kept`: see `WithoutWrites`.
    """

    path: Path
    action: Action
    reason: str = ""
    changes: int = 0
    kept: tuple[int, ...] = ()
    conflicts: int = 0


class _Conflict(Exception):  # noqa: N818 -- an outcome inside this module
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def restore_call(restore_id: str) -> str:
    """The call id that the edits of a restore carry in the files."""
    return f"{RESTORE}{restore_id}"


def is_of(edit: LoggedEdit, restore_id: str) -> bool:
    """Whether an edit is of a restore, or of one that took back what that had left (`kept_too`)."""
    return edit.call_id in (restore_call(restore_id), restore_call(kept_too(restore_id)))


def kept_too(restore_id: str) -> str:
    """The id of the restore that takes back what another one left because it was kept."""
    return f"{restore_id}.kept"


def touched(files: SessionFiles, chosen: Chosen) -> dict[Path, list[LoggedEdit]]:
    """The files a restore would look at, with the edits it is about."""
    return {
        path: some for path, edits in files.projects.edits.items() if (some := [edit for edit in edits if chosen(edit)])
    }


async def take_back(
    files: SessionFiles, chosen: Chosen, restore_id: str, turn_id: str, *, kept: bool = False
) -> list[FileOutcome]:
    """Take the chosen edits back; files that need nothing are left out. `kept`: also where the user kept what they did.

    Directories come before what is moved back into them, and go last, when they are empty.
    """
    edits = dict(sorted(touched(files, chosen).items()))
    moves = Moves(edits)
    restore = _Restore(files, (restore_call(restore_id), turn_id), moves.modes, kept=kept)
    others = sorted(edits.keys() - moves.paths)
    directories = [path for path in others if await asyncio.to_thread(_is_directory, path)]
    files_first = [(path, edits[path]) for path in others if path not in directories]
    directories_last = [(path, edits[path]) for path in reversed(directories)]
    outcomes: dict[Path, list[FileOutcome]] = {}
    for path, each in [*files_first, *moves.stretches(), *directories_last]:
        for outcome in await restore.outcomes(path, each):
            earlier = outcomes.setdefault(outcome.path, [])
            earlier[-1:] = _joined(earlier[-1], outcome) if earlier else [outcome]
    return [outcome for path in sorted(outcomes) for outcome in outcomes[path]]


def _joined(one: FileOutcome, then: FileOutcome) -> list[FileOutcome]:
    """What became of a file that was put back where it had been, and taken further back there."""
    match one.action, then.action:
        case "created", "deleted":
            return []
        case ("created" | "restored" as action, "restored"):
            pass
        case "deleted", "created":
            action = "restored"
        case _:
            return [one, then]
    kept = tuple(sorted({*one.kept, *then.kept}))
    changes, conflicts = one.changes + then.changes, one.conflicts + then.conflicts
    return [FileOutcome(then.path, action, then.reason or one.reason, changes, kept, conflicts)]


class _Restore:
    """One restore, file by file, by a call of a turn. `modes`: which modes moved files had where they had been."""

    def __init__(
        self,
        files: SessionFiles,
        by: tuple[str, str],
        modes: Mapping[Path, int | None],
        *,
        kept: bool,
    ) -> None:
        self._files = files
        self._call_id, self._turn_id = by
        self._modes = modes
        self._kept = kept

    async def outcomes(self, path: Path, edits: Sequence[LoggedEdit]) -> list[FileOutcome]:
        """What became of one file; of two, where one was moved."""
        ours = [edit for edit in edits if not edit.shared]
        try:
            outcomes = await self._taken_back(path, ours)
        except _Conflict as conflict:
            outcomes = [FileOutcome(path, "conflict", conflict.reason)]
        except (WorkspaceError, BlobMissingError) as error:
            outcomes = [FileOutcome(path, "conflict", str(error))]
        shared = [FileOutcome(path, "conflict", SHARED)] if len(ours) < len(edits) else []
        done = [outcome for outcome in outcomes if outcome.action != "conflict"]
        return [*done, *shared] if done else shared or outcomes

    async def _taken_back(self, path: Path, edits: Sequence[LoggedEdit]) -> list[FileOutcome]:
        try:
            return await self._try(path, edits)
        except FileChangedError:  # somebody typed just now: look once more
            return await self._try(path, edits)

    async def _try(self, path: Path, edits: Sequence[LoggedEdit]) -> list[FileOutcome]:
        async with self._files.writes.locks.editing(
            path, *(Path(edit.moved_from) for edit in edits if edit.moved_from)
        ):
            project = await self._files.writes.looked_at(path)
            now = await self._files.writes.node(path)
            await project.judge(path, digest_of_node(now))
            keys = {edit.key for edit in edits}
            edits = [edit for edit in self._files.projects.edits_of(path) if edit.key in keys]
            is_reviewed = is_file(now) or (now is not None and is_link(now.mode))
            reviewed = await self._reviewed(project, path, now, edits) if is_reviewed else None
            if reviewed is None:
                return await self._take_back_nodes(project, path, now, edits)
            return await self._take_back_text(project, path, now, edits, *reviewed)

    async def _reviewed(
        self, project: Project, path: Path, now: FileNode | None, edits: Sequence[LoggedEdit]
    ) -> tuple[TrackedFile, list[PastWrite]] | None:
        """The file under review with the writes that are to be taken back; None: they are about something that is no text."""
        file = project.review.state.files.get(str(path))
        if file is None:
            lines = as_lines(now.data) if is_file(now) and now is not None else () if now is None else None
            if lines is None:
                return None
            there = now is not None
            file = TrackedFile(str(path), ReviewedText.of(lines, 1), there, there)
        known = await asyncio.to_thread(project.history, path)
        writes: list[PastWrite] = []
        for edit in edits:
            found = known.get(edit.n)
            if found is None or found.call_id != edit.call_id or _was_seen_before(edit, found):
                found = await self._of_texts(path, edit)
            if found is None:
                return None
            writes.append(found)
        return file, writes

    async def _of_texts(self, path: Path, edit: LoggedEdit) -> PastWrite | None:
        """An edit that the review does not know."""
        nodes = [await self._version(edit.before, edit.before_mode), await self._version(edit.after, edit.after_mode)]
        texts = [as_lines(node.data) if node is not None else None for node in nodes]
        if any(
            node is not None and (not is_file(node) or text is None) for node, text in zip(nodes, texts, strict=True)
        ):
            return None
        return PastWrite.of_texts(path, texts[0], texts[1], edit.call_id)

    # --- files under review -----------------------------------------------------------------------------------------------

    async def _take_back_text(
        self,
        project: Project,
        path: Path,
        now: FileNode | None,
        edits: Sequence[LoggedEdit],
        file: TrackedFile,
        writes: Sequence[PastWrite],
    ) -> list[FileOutcome]:
        result = await self._without(project, file, writes)
        reason = GONE if "deleted" in result.conflicts else BOTH if result.conflicts else KEPT if result.kept else ""
        left = FileOutcome(
            path, "conflict" if result.conflicts else "kept", reason, 0, result.kept, len(result.conflicts)
        )
        wanted = await self._node(now, edits, result)
        target = Path(result.file.path)
        if target == path and wanted == now:
            return [left] if reason else []
        if target != path:
            return await self._move_back(path, now, wanted, result)
        await self._files.writes.put(path, Put(now, wanted, result.file), self._turn_id, self._call_id)
        action: Action = "deleted" if wanted is None else "created" if now is None else "restored"
        return [replace(left, action=action, changes=max(1, result.changes))]

    async def _without(self, project: Project, file: TrackedFile, writes: Sequence[PastWrite]) -> WithoutWrites:
        state = project.review.state
        while True:
            first = state.next_id
            result = await asyncio.to_thread(without_writes, file.numbered(first), writes, kept=self._kept)
            up_to = result.file.text.next_id
            if up_to == first or state.next_id == first:  # else another file has these ids by now
                state.claim(up_to)
                return result

    async def _node(self, now: FileNode | None, edits: Sequence[LoggedEdit], result: WithoutWrites) -> FileNode | None:
        """What is to be there, with the mode it is to have: what edits changed is changed back, what others changed stays."""
        file = result.file
        if not file.exists:
            return None
        link = link_node(file.content)
        if link is not None:
            return link
        data = await self._no_text(file.content) if file.content else "".join(file.text.current).encode()
        mode = now.mode if now is not None else None
        for edit in () if result.mode_decided else reversed(edits):
            mode = _mode(mode, edit)
        return FileNode(mode if not is_link(mode) else None, data)

    async def _no_text(self, digest: str) -> bytes:
        try:
            return await self._files.projects.content(digest)
        except BlobMissingError:
            raise _Conflict(NO_TEXT) from None

    async def _move_back(
        self, path: Path, now: FileNode | None, wanted: FileNode | None, result: WithoutWrites
    ) -> list[FileOutcome]:
        target = Path(result.file.path)
        if wanted is not None:
            wanted = replace(wanted, mode=self._modes.get(target) or wanted.mode)
        there = await self._files.writes.node(target)
        if there is not None and not _same(there, wanted):
            raise _Conflict(OCCUPIED.format(target))
        if there != wanted:  # else a restore that was cut off has put it there
            await self._files.writes.put(target, Put(there, wanted, result.file), self._turn_id, self._call_id)
        gone = TrackedFile(str(path), ReviewedText((), result.file.text.next_id), exists=False, in_base=False)
        await self._files.writes.put(path, Put(now, None, gone), self._turn_id, self._call_id)
        left = len(result.conflicts)
        made = FileOutcome(target, "created", BOTH if left else "", result.changes, result.kept, left)
        return [made, FileOutcome(path, "deleted")]

    # --- whatever is no text ----------------------------------------------------------------------------------------------

    async def _take_back_nodes(
        self, project: Project, path: Path, now: FileNode | None, edits: Sequence[LoggedEdit]
    ) -> list[FileOutcome]:
        wanted = now
        for edit in reversed(_joined_halves(edits)):
            wanted = await self._without_edit(edit, wanted)
        if wanted == now or await asyncio.to_thread(_in_use, path, now, wanted):
            return []
        is_directory = stat.S_IFDIR in {node.kind for node in (now, wanted) if node is not None}
        becomes = await self._beside_directory(project, path, wanted, edits) if is_directory else None
        if is_file(now) and is_file(wanted):
            file = TrackedFile(str(path), ReviewedText((), 1), wanted is not None, wanted is not None)
            becomes = replace(file, content=digest_of(wanted.data)) if wanted is not None else file
        await self._files.writes.put(path, Put(now, wanted, becomes), self._turn_id, self._call_id)
        if is_directory:
            return []  # people care for files
        action: Action = "deleted" if wanted is None else "created" if now is None else "restored"
        return [FileOutcome(path, action, changes=1)]

    async def _beside_directory(
        self, project: Project, path: Path, wanted: FileNode | None, edits: Sequence[LoggedEdit]
    ) -> TrackedFile | None:
        """What the review knows of a file without the edits, where a directory has its place, or gives way to it; None: nothing."""
        file = project.review.state.files.get(str(path))
        known = await asyncio.to_thread(project.history, path) if file is not None else {}
        writes = [known[edit.n] for edit in edits if edit.n in known]
        if file is None or not writes:
            return None
        result = await self._without(project, file, writes)
        held = digest_of(wanted.data) if wanted is not None and is_file(wanted) else None
        return result.file if digest_held(result.file) == held and not result.conflicts else None

    async def _without_edit(self, edit: LoggedEdit, now: FileNode | None) -> FileNode | None:
        """`now` with one edit taken back."""
        before = await self._version(edit.before, edit.before_mode)
        if not edit.settled and _same(now, before):  # nobody knew if it happened
            return now
        if _same(now, await self._version(edit.after, edit.after_mode)):
            return _with_mode(before, edit, now)
        if _same(now, before):
            return _with_mode(now, edit, now)
        raise _Conflict(GONE if now is None else EXTENDED if before is None else BOTH)

    async def _version(self, digest: str | None, mode: int | None) -> FileNode | None:
        if digest is None:
            return None
        if digest == DIRECTORY and mode is None:
            mode = stat.S_IFDIR | (0o777 & ~self._files.writes.umask)
        return FileNode(mode, await self._files.projects.content(digest))


def _joined_halves(edits: Sequence[LoggedEdit]) -> list[LoggedEdit]:
    """The edits, with one for the two that put a directory in the place of something else, or the other way round (`halves`)."""
    joined: list[LoggedEdit] = []
    for edit in edits:
        last = joined[-1] if joined else None
        is_second = last is not None and last.after is None and edit.before is None and last.call_id == edit.call_id
        if last is not None and is_second and DIRECTORY in (last.before, edit.after):
            joined[-1] = replace(edit, before=last.before, before_mode=last.before_mode)
        else:
            joined.append(edit)
    return joined


def _was_seen_before(edit: LoggedEdit, write: PastWrite) -> bool:
    """What the edit made was taken for somebody else's, until it was found whose it was."""
    return edit.captured and not edit.moved_from and edit.before != edit.after and write.before == write.after


def _is_directory(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _in_use(path: Path, now: FileNode | None, wanted: FileNode | None) -> bool:
    """A directory that was made, and in which there is something by now that is to stay."""
    return wanted is None and now is not None and now.kind == stat.S_IFDIR and bool(os.listdir(path))


def _same(one: FileNode | None, other: FileNode | None) -> bool:
    """The same thing with the same content, whatever its mode."""
    if one is None or other is None:
        return one is other
    return one.kind == other.kind and one.data == other.data


def _with_mode(result: FileNode | None, edit: LoggedEdit, now: FileNode | None) -> FileNode | None:
    """`result` with the mode it is to have."""
    if result is None or (now is not None and result.kind != now.kind):
        return result
    mode = _mode(now.mode if now is not None else None, edit)
    return FileNode(mode if mode is not None else result.mode, result.data)


def _mode(now: int | None, edit: LoggedEdit) -> int | None:
    """The mode without an edit: what it changed is changed back, what others changed since stays."""
    if edit.before_mode is None or (now is not None and now != edit.after_mode):
        return now
    return edit.before_mode if now is None or edit.after_mode is not None else now
