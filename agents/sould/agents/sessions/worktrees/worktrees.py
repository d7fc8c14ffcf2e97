"""The worktrees that sessions have of their own: made when a user asks for one, found, made again, removed.

One is a directory of ours on a branch of ours, `sould/NAME`. Nothing here is done by itself: nobody's worktree is made or
removed but by the user's word. What a kill left half made is taken away when the repository's next one is made. Which
there are stands in small files of our own state. Whether something of one is still wanted is for the caller to ask.
Blocks: use it in a thread.
"""

import contextlib
import hashlib
import itertools
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct
from pydantic import ValidationError

from sould.agents.base.errors import why_refused
from sould.agents.base.parsed import Parsed
from sould.agents.base.privatefile import write_private
from sould.agents.base.processlock import exclusive_lock
from sould.agents.files.directories.gitprogram import GitProgram
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.worktrees.repository import Repository, WorktreeError, delete_files
from sould.agents.soul.session_request import SessionRequest

State: TypeAlias = Literal["making", "restoring", "ready", "removed"]
BRANCHES: Final = "sould/"
"""What the branches of worktrees begin with."""
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
_USUAL: Final = "work-"


class Worktree(Parsed):
    """One of them. `making`, `restoring`: it is not whole, or is made just now; `removed`: its branch can bring it back."""

    name: str
    state: State
    path: Path
    repository: Path
    """The worktree it was made in, with the commit that was checked out there."""
    common: Path
    """The git directory that all worktrees of the repository share."""
    branch: str
    commit: str
    """Where the branch began."""
    inside: str = ""
    """Where in it its session works: the directory it was asked for in, seen from the repository."""
    made: float = 0.0

    @property
    def directory(self) -> Path:
        """Where its session works; the worktree itself where the commit has no such directory."""
        inside = self.path / self.inside
        return inside if self.inside and inside.is_dir() else self.path

    def become(self, state: State) -> "Worktree":
        """The same, another way."""
        return self.model_copy(update={"state": state})

    def is_near(self, directory: Path) -> bool:
        """Whether somebody who stands there means this repository."""
        return any(directory.is_relative_to(each) for each in (self.path, self.repository))


class WorktreeRecords:
    """Those below `directory`, in a folder for each repository."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def folder(self, common: Path) -> str:
        """What the repository with this git directory is called among our own."""
        name = common.parent.name if common.name == ".git" else common.name
        digest = hashlib.sha256(os.fsencode(common)).hexdigest()[:8]
        return f"{''.join(char if char.isalnum() and char.isascii() else '-' for char in name)[:40]}-{digest}"

    def lock_of(self, common: Path) -> Path:
        """What whoever makes or removes a worktree of the repository holds."""
        return self._directory / self.folder(common) / ".lock"

    def all(self) -> Iterator[Worktree]:
        """All of them; what cannot be read is none."""
        for file in sorted(self._directory.glob("*/*.json")):
            with contextlib.suppress(OSError, ValidationError):
                yield Worktree.model_validate_json(file.read_bytes())

    def of(self, common: Path) -> list[Worktree]:
        """Those of one repository."""
        return [each for each in self.all() if each.common == common]

    def put(self, worktree: Worktree) -> None:
        """Write it down. Raises WorktreeError."""
        file = self._file(worktree)
        try:
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(file, worktree.model_dump_json().encode(), durable=True)
        except OSError as error:
            why = f"The worktree {worktree.name} cannot be written down: {why_refused(error)}."
            raise WorktreeError(why) from error

    def drop(self, worktree: Worktree) -> None:
        """Know of it no more. Raises WorktreeError."""
        try:
            self._file(worktree).unlink(missing_ok=True)
        except OSError as error:
            raise WorktreeError(f"The worktree {worktree.name} is still written down: {why_refused(error)}.") from error

    def _file(self, worktree: Worktree) -> Path:
        return self._directory / self.folder(worktree.common) / f"{worktree.name}.json"


class Worktrees(Struct, frozen=True):
    """Of one user. `checkouts`: where they are; `records`: what is known of them."""

    checkouts: Path
    records: WorktreeRecords
    trust: TrustStore

    def all(self) -> list[Worktree]:
        """Those that are whole or can be made again, the newest last."""
        return sorted((each for each in self.records.all() if each.state != "making"), key=lambda each: each.made)

    def named(self, name: str, directory: Path) -> Worktree:
        """The one of this name: of the repository that `directory` is in, else the only one.

        Raises:
            WorktreeError: there is none, or there are several.
        """
        found = [each for each in self.all() if each.name == name]
        near = [each for each in found if each.is_near(Path(os.path.realpath(directory)))]
        match near or found:
            case [only]:
                return only
            case []:
                raise WorktreeError(f"There is no worktree called {name[:80]!r}. See: sould worktree list --all")
            case several:
                places = ", ".join(str(each.repository) for each in several)
                raise WorktreeError(
                    f"Several worktrees are called {name}, of {places}: name it in the directory it is of."
                )

    def around(self, directory: Path) -> Worktree | None:
        """The one that a directory is in, also when it was removed."""
        return self.around_each((directory,)).get(directory)

    def around_each(self, directories: Iterable[Path]) -> Mapping[Path, Worktree]:
        """Likewise, of many: those that are in one."""
        checkouts = os.path.realpath(self.checkouts)
        real = {each: Path(os.path.realpath(each)) for each in directories}
        inside = {each: place for each, place in real.items() if place.is_relative_to(checkouts)}
        known = {worktree.path: worktree for worktree in self.all()} if inside else {}
        found = ((each, known.get(above)) for each, place in inside.items() for above in (place, *place.parents))
        return {each: worktree for each, worktree in found if worktree is not None}

    def make(self, asked: SessionRequest) -> Worktree:
        """A new one for a session, from the commit that is checked out where the user stands.

        What is trusted there is trusted in it as far as it is the same: see `TrustStore.inherit`. What was allowed there is not
        allowed in it: an answer is about a directory, and about programs that may be others at this commit.

        Raises:
            WorktreeError: and nothing was made.
        """
        repository = Repository.at(asked.cwd, asked.environment, asked.umask)
        commit = repository.head()
        with exclusive_lock(self.records.lock_of(repository.common)) as lock:
            repository = repository.locked(lock)
            self._clear_half_made(repository)
            name = self._free(repository, asked.worktree) if asked.worktree else self._next(repository)
            inside = os.path.relpath(os.path.realpath(asked.cwd), repository.top)
            worktree = Worktree(
                name=name,
                state="making",
                path=self._place(repository, name),
                repository=repository.top,
                common=repository.common,
                branch=BRANCHES + name,
                commit=commit,
                inside="" if inside == "." else inside,
                made=time.time(),
            )
            return self._made(repository, worktree)

    def restore(self, worktree: Worktree, variables: Mapping[str, str], umask: int) -> Worktree:
        """Make one again that was removed, from its branch, else from the commit where that began.

        Raises:
            WorktreeError: and nothing was made.
        """
        repository = self._repository_of(worktree, variables, umask)
        with exclusive_lock(self.records.lock_of(repository.common)) as lock:
            repository = repository.locked(lock)
            self._clear_half_made(repository)
            if worktree.state == "ready" and (worktree.path / ".git").is_file():
                return worktree
            if os.path.lexists(worktree.path):
                raise WorktreeError(f"{worktree.path} is there, but is no worktree any more; move it away first.")
            return self._made(repository, worktree.become("restoring"))

    def remove(self, worktree: Worktree, variables: Mapping[str, str]) -> bool:
        """Take one away, with all that is in it; whether its branch stays, which it does when it has a commit of its own.

        Raises:
            WorktreeError: something of it is left, and it is still known.
        """
        if not worktree.common.is_dir():  # without its repository it is a directory like any other
            delete_files(worktree.path)
            self._forget(worktree)
            return False
        repository = self._repository_of(worktree, variables)
        with exclusive_lock(self.records.lock_of(worktree.common)) as lock:
            repository = repository.locked(lock)
            repository.remove(worktree.path)
            self.trust.forget_below(worktree.path)
            left = repository.tip(worktree.branch)
            gone = left == worktree.commit and repository.delete_branch(worktree.branch, left)
            self.records.put(worktree.become("removed"))
        return bool(left) and not gone

    def discard(self, worktree: Worktree, variables: Mapping[str, str]) -> None:
        """Take back one that was made in vain. Raises WorktreeError."""
        self.remove(worktree, variables)
        self.records.drop(worktree)

    def unsaved(self, worktree: Worktree, variables: Mapping[str, str]) -> Sequence[str]:
        """The paths in it that no commit has as they are, with what git says of each.

        Raises:
            WorktreeError: git does not say.
        """
        there = Repository(GitProgram(worktree.path, variables), worktree.common)
        answer = there.read(
            "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules"
        )
        if answer.failed:
            raise WorktreeError(f"What is uncommitted in {worktree.path} cannot be known: {answer.failed}.")
        return [line for line in answer.printed.decode(errors="replace").split("\0") if line]

    # --- how ------------------------------------------------------------------------------------------------------------

    @staticmethod
    def _repository_of(worktree: Worktree, variables: Mapping[str, str], umask: int = -1) -> Repository:
        repository = Repository.at(worktree.repository, variables, umask)
        if repository.common != worktree.common:
            raise WorktreeError(f"{worktree.repository} is another repository by now, not the one of {worktree.name}.")
        return repository

    def _made(self, repository: Repository, worktree: Worktree) -> Worktree:
        ready, new_branch = worktree.become("ready"), not repository.tip(worktree.branch)
        self.records.put(worktree)
        try:
            repository.remove(worktree.path)  # of one whose files somebody deleted git still knows
            repository.add(worktree.path, worktree.branch, worktree.commit)
            self.trust.inherit(ready.directory, repository.top / worktree.inside, ready.path, repository.top)
            self.records.put(ready)
        except BaseException:
            self._take_back(repository, worktree, new_branch=new_branch)
            raise
        return ready

    def _clear_half_made(self, repository: Repository) -> None:
        """Whoever made one of these was killed: it would hold the lock else."""
        for each in self.records.of(repository.common):
            if each.state in ("making", "restoring"):
                self._take_back(repository, each, new_branch=each.state == "making")

    def _take_back(self, repository: Repository, worktree: Worktree, *, new_branch: bool) -> None:
        repository.remove(worktree.path)
        if new_branch:
            repository.delete_branch(worktree.branch, worktree.commit)
        if worktree.state == "making":
            self._forget(worktree)
        else:
            self.records.put(worktree.become("removed"))

    def _free(self, repository: Repository, name: str) -> str:
        if _NAME.fullmatch(name) is None:
            raise WorktreeError(
                f"{name[:80]!r} is no name for a worktree: it takes 1 to 40 small letters, digits and hyphens, such as mend-parser."
            )
        if self._is_known(repository, name):
            raise WorktreeError(
                f"There is a worktree called {name} already. Choose another name, or see: sould worktree list"
            )
        if repository.tip(BRANCHES + name):
            raise WorktreeError(
                f"The branch {BRANCHES}{name} exists already. Choose another name, or delete it: git branch -D {BRANCHES}{name}"
            )
        return name

    def _next(self, repository: Repository) -> str:
        names = (f"{_USUAL}{number}" for number in itertools.count(1))
        free = (name for name in names if not self._is_known(repository, name) and not repository.tip(BRANCHES + name))
        return next(free)

    def _is_known(self, repository: Repository, name: str) -> bool:
        """A path that is not ours is nobody's to take, either."""
        there = os.path.lexists(self._place(repository, name))
        return there or any(each.name == name for each in self.records.of(repository.common))

    def _place(self, repository: Repository, name: str) -> Path:
        return Path(os.path.realpath(self.checkouts), self.records.folder(repository.common), name)

    def _forget(self, worktree: Worktree) -> None:
        self.trust.forget_below(worktree.path)
        self.records.drop(worktree)
