"""A repository of the user's as worktrees are made in it and taken from it, by git itself, of which nothing of theirs is run.

A repository is hostile until somebody looked at it: no hook, filter, monitor or helper that it names gets to run, and where
that cannot be known nothing is made. What git is told to change is a worktree of ours and a branch of ours. The user's
index, files, branch and HEAD are never written. Blocks.
"""

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.errors import SouldError
from sould.agents.base.gitplaces import work_tree_of
from sould.agents.files.directories.gitprogram import GitAnswer, GitProgram
from sould.agents.permissions.visible import cut_to, visible

LOOK_S: Final = 20.0
"""How long a question to git may take;"""
CHECKOUT_S: Final = 900.0
"""and all files of a commit."""
_HOOKS: Final = ("reference-transaction", "post-checkout", "post-index-change")
"""Those that git would run meanwhile, where they are configured and no files (2.54); `GitProgram` leaves out files."""
_OWN_SCOPES: Final = ("local", "worktree")


class WorktreeError(SouldError):
    """It cannot be had, or not so: one sentence, with the next step."""

    kind = "worktree"


class Repository(Struct, frozen=True):
    """`top`: the worktree that the user stands in. `common`: the git directory that all its worktrees share."""

    git: GitProgram
    common: Path

    @classmethod
    def at(cls, directory: Path, variables: Mapping[str, str], umask: int = -1) -> "Repository":
        """The one that a directory belongs to.

        Raises:
            WorktreeError: there is none, or it says of its files that they are elsewhere.
        """
        real = Path(os.path.realpath(directory))
        top = work_tree_of(real)
        if top is None:
            raise WorktreeError(
                f"{directory} is in no git repository, so it can have no worktree. Begin one with `git init` and a commit, "
                "or work in the directory itself."
            )
        git = GitProgram(top, variables, umask)
        asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        said = cls._required(git.answer(asked, time.monotonic() + LOOK_S), f"{top} cannot be used as a git repository")
        lines = os.fsdecode(said).rstrip("\n").split("\n")
        if len(lines) != 2 or os.path.realpath(lines[0]) != str(top):
            raise WorktreeError(f"{top} is no git worktree with its files in it; no other one is made of it.")
        return cls(git, Path(os.path.realpath(lines[1])))

    def locked(self, descriptor: int) -> "Repository":
        """The same, with git holding the lock of an open file as long as it runs."""
        return replace(self, git=replace(self.git, holding=(descriptor,)))

    @property
    def top(self) -> Path:
        """See above."""
        return self.git.root

    def head(self) -> str:
        """The commit that is checked out. Raises WorktreeError: there is none."""
        commit = self._look("rev-parse", "-q", "--verify", "HEAD^{commit}")
        if not commit:
            raise WorktreeError(
                f"{self.top} has no commit yet, and a worktree begins with one. Commit first, then try again."
            )
        return commit

    def tip(self, branch: str) -> str:
        """The commit of a branch; "": there is no such branch."""
        return self._look("rev-parse", "-q", "--verify", f"refs/heads/{branch}^{{commit}}")

    def branch(self) -> str:
        """The one that is checked out; "" where there is none."""
        return self._look("symbolic-ref", "-q", "--short", "HEAD")

    def common_ancestor(self, one: str, other: str) -> str:
        """Where two commits parted; "": nowhere."""
        return self._look("merge-base", one, other)

    def read(self, *arguments: str, seconds: float = LOOK_S) -> GitAnswer:
        """What git answers that reads or writes files of the worktree: without any filter's program."""
        deadline = time.monotonic() + seconds
        options = self.git.without_filters(deadline)
        if options is None:
            return GitAnswer(failed="a filter of the repository has a name that cannot be switched off")
        return self.git.answer((*options, *arguments), deadline)

    def _look(self, *arguments: str) -> str:
        return self.git.run(arguments, time.monotonic() + LOOK_S).decode(errors="replace").strip()

    # --- worktrees of ours ----------------------------------------------------------------------------------------------

    def add(self, path: Path, branch: str, commit: str) -> None:
        """Check a commit out at a path that is not there, on a branch, which is made at the commit if it is not there.

        Raises:
            WorktreeError: git did not do it, as it says; what it did by then is left to `remove`.
        """
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = (str(path), branch) if self.tip(branch) else ("--no-track", "-b", branch, str(path), commit)
        why = f"No worktree could be made in {path}"
        # without its files: which filters there are is known in it only, where a configuration may hold for its branch alone
        made = (*self._without_hooks(), "worktree", "add", "--quiet", "--no-checkout", *place)
        self._required(self.git.answer(made, time.monotonic() + LOOK_S), why)
        own = replace(self, git=replace(self.git, root=path))
        checked_out = (*own._without_hooks(), "reset", "--quiet", "--hard", "--no-recurse-submodules")
        self._required(own.read(*checked_out, seconds=CHECKOUT_S), why)

    def remove(self, path: Path) -> None:
        """Take away the worktree at a path and all that is in it, also what of it is half made; none is fine.

        Raises:
            WorktreeError: something of it is left.
        """
        removed = GitAnswer()
        if any(self._registered(path)) or os.path.lexists(path):
            arguments = ("worktree", "remove", "--force", "--force", str(path))
            removed = self.git.answer((*self._without_hooks(), *arguments), time.monotonic() + CHECKOUT_S)
        delete_files(path)
        if any(self._registered(path)):
            raise WorktreeError(f"The worktree {path} could not be removed: {_said(removed)}.")

    def delete_branch(self, branch: str, commit: str) -> bool:
        """Delete a branch that is still at this commit; whether it is gone."""
        arguments = ("update-ref", "-d", f"refs/heads/{branch}", commit)
        return not self.git.answer((*self._without_hooks(), *arguments), time.monotonic() + LOOK_S).failed

    def _registered(self, path: Path) -> list[bytes]:
        listed = self.git.run(("worktree", "list", "--porcelain", "-z"), time.monotonic() + LOOK_S).split(b"\0")
        return [line for line in listed if line == b"worktree " + os.fsencode(path)]

    def _without_hooks(self) -> list[str]:
        """The options with which no configured hook runs.

        Raises:
            WorktreeError: the repository's own configuration holds under conditions, so nobody knows what it says elsewhere.
        """
        words = ("config", "-z", "--list", "--show-scope", "--name-only")
        listed = self._required(
            self.git.answer(words, time.monotonic() + LOOK_S), f"The configuration of {self.top} cannot be read"
        )
        parts = listed.decode(errors="surrogateescape").split("\0")
        settings = list(zip(parts[::2], parts[1::2], strict=False))
        if any(scope in _OWN_SCOPES and name.startswith("includeif.") for scope, name in settings):
            raise WorktreeError(
                f"The git configuration of {self.top} includes other files under conditions, so what git would run in another "
                "worktree is not known. Make one yourself with `git worktree add`, and work there."
            )
        hooks = {name[5:].rpartition(".")[0] for _, name in settings if name.startswith("hook.")} - {""}
        if any("=" in name for name in hooks):
            raise WorktreeError(
                f"A hook in the git configuration of {self.top} has a name that cannot be switched off."
            )
        return [word for name in sorted({*hooks, *_HOOKS}) for word in ("-c", f"hook.{name}.enabled=false")]

    @staticmethod
    def _required(answer: GitAnswer, why: str) -> bytes:
        if answer.failed:
            raise WorktreeError(f"{why}: {_said(answer)}.")
        return answer.printed


def delete_files(path: Path) -> None:
    """Delete a directory with all that is in it; none is fine. Raises WorktreeError."""
    try:
        if os.path.lexists(path):
            shutil.rmtree(path)
    except OSError as error:
        raise WorktreeError(f"{path} could not be removed: {error.strerror or 'the system refused'}.") from error


def _said(answer: GitAnswer) -> str:
    """What git said last is what went wrong; it names files of the repository, which may be called anything."""
    lines = [line.strip() for line in answer.failed.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if line.startswith(("fatal:", "error:"))), lines[-1] if lines else "")
    return f"git: {cut_to(visible(last), 300).rstrip('.')}"
