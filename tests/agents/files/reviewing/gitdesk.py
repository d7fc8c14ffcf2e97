"""A project under review that is a git repository, with the real git and its user."""

import os
import subprocess
from pathlib import Path

from tests.agents.files.reviewing.reviewdesk import ReviewDesk

BASE = "a\nb\nc\nd\ne\n"
IDENTITY = ("-c", "user.name=u", "-c", "user.email=u@example.invalid")
BOTH = "a\nB\nc\nD\ne\n"


def git_in(directory: Path, *arguments: str, given: str = "") -> str:
    """The user's git."""
    done = subprocess.run(
        ["git", *IDENTITY, *arguments],
        cwd=directory,
        env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"},
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


class GitDesk(ReviewDesk):
    """Its project is a git repository, in which `a.txt` is committed."""

    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.git("init", "-q", "-b", "main")
        self.user("a.txt", BASE)
        self.commit()

    def git(self, *arguments: str, given: str = "") -> str:
        """The user's git."""
        return git_in(self.root, *arguments, given=given)

    def commit(self) -> None:
        """Commit everything there is."""
        self.git("add", "-A")
        self.git("commit", "-qm", "all")

    def branch(self, name: str, text: str) -> None:
        """A branch on which a.txt has this text."""
        self.git("switch", "-qc", name)
        self.user("a.txt", text)
        self.commit()
        self.git("switch", "-q", "main")

    def stage(self, name: str, text: str) -> None:
        """Stage this text of a file, as `git add -p` does with a part of it."""
        blob = self.git("hash-object", "-w", "--stdin", given=text).strip()
        self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")

    async def states(self) -> dict[int, str]:
        """All hunks there are."""
        return {hunk.id: hunk.state for hunk in await self.hunks(absent=True)}
