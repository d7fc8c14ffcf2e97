"""Running git so that nothing of the project's git configuration is run: no hook, no filter, no monitor. Blocks.

It takes no lock that it needs not, and asks nobody. `run` and what stands on it are for looking: a failure is nothing. What
changes a repository asks with `answer`, and hears why git did not do it.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from sould.agents.base.environment import find_program
from sould.agents.base.process.bounded import Bounds, Why

LEAST_S: Final = 0.05
"""Seconds that git gets, however late it is."""
_SAFE: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_WHY: Final[Mapping[Why, str]] = {
    "time": "it takes too long",
    "output": "it prints too much",
    "stopping": "sould is stopping",
}
_FILTERS: Final = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$")


class GitAnswer(Struct, frozen=True):
    """What git printed, or why it did not do what it was asked: `failed`, as it says itself, "" when it did.

    `code`: how it ended; None: it never began, or `was_stopped`.
    """

    printed: bytes = b""
    failed: str = ""
    code: int | None = None
    was_stopped: bool = False


class GitProgram(Struct, frozen=True):
    """In `root`, with the PATH, the home and the like of `variables`, and the `umask` for what it makes (-1: the daemon's).

    `holding`: descriptors that git keeps open. The lock of one ends with the last git, also when the daemon is killed before.
    `grouped`: see `Bounds`.
    """

    root: Path
    variables: Mapping[str, str]
    umask: int = -1
    holding: tuple[int, ...] = ()
    grouped: bool = False

    def run(self, arguments: Sequence[str], deadline: float, given: bytes = b"") -> bytes:
        """What git prints; nothing when it fails or takes too long."""
        return self.answer(arguments, deadline, given).printed

    def answer(self, arguments: Sequence[str], deadline: float, given: bytes = b"") -> GitAnswer:
        """What git does. When the time is up it is killed, where it stands, with all that it started."""
        environment = {name: value for name, value in self.variables.items() if not name.startswith("GIT_")}
        environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
        environment |= {"GIT_ALLOW_PROTOCOL": ""}  # an older git fetches what is missing, by the project's own commands
        program = find_program("git", environment.get("PATH", ""), (self.root,))
        if program is None:
            return GitAnswer(failed="it is not installed, or not on the PATH")
        bounded = Bounds(
            cwd=self.root,
            env=environment,
            deadline=max(deadline, time.monotonic() + LEAST_S),
            umask=self.umask,
            holding=self.holding,
            grouped=self.grouped,
        )
        try:
            done = bounded.run([program, *_SAFE, *arguments], given)
        except OSError as error:
            return GitAnswer(failed=error.strerror or "the system refused")
        if done.code:
            said = done.complaint.decode(errors="replace").strip()
            return GitAnswer(failed=said or f"it ended with {done.code}", code=done.code)
        return (
            GitAnswer(failed=_WHY[done.why], was_stopped=True) if done.why else GitAnswer(done.output, code=done.code)
        )

    def run_comparing(self, arguments: Sequence[str], deadline: float) -> bytes:
        """Likewise, of a command that reads files of the worktree.

        Git gives a file that was changed within the grain of its index's time to the filters that the configuration names, to
        know whether it differs: they have no program here, so such a file may be said to differ that does not. Nothing is
        printed where that cannot be said of a filter.
        """
        without = self.without_filters(deadline)
        return b"" if without is None else self.run([*without, *arguments], deadline)

    def without_filters(self, deadline: float) -> list[str] | None:
        """The options with which no filter has a program, by the configuration as it is here; None: there are none."""
        names = self.run(_FILTERS, deadline).decode(errors="surrogateescape").split("\0")
        if any("=" in name for name in names):
            return None  # such a name cannot be given to git
        without = [f"{name}={'false' if name.endswith('required') else ''}" for name in dict.fromkeys(names) if name]
        return [word for each in without for word in ("-c", each)]

    def sizes(self, blobs: Collection[str], deadline: float) -> dict[str, int]:
        """The bytes of each blob; those that are gone are left out."""
        output = self.run(("cat-file", "--batch-check"), deadline, _lines(blobs))
        headers = (line.split(b" ") for line in output.split(b"\n"))
        return {header[0].decode(): int(header[2]) for header in headers if header[1:2] == [b"blob"]}

    def contents(self, blobs: Collection[str], deadline: float) -> dict[str, bytes]:
        """What the blobs hold, which are there."""
        if not blobs:
            return {}
        output = self.run(("cat-file", "--batch"), deadline, _lines(blobs))
        found: dict[str, bytes] = {}
        at = 0
        for blob in dict.fromkeys(blobs):
            end = output.find(b"\n", at)
            header = output[at:end].split(b" ")
            at = end + 1
            if len(header) == 3 and header[1] == b"blob":
                size = int(header[2])
                found[blob] = output[at : at + size]
                at += size + 1
        return found


def _lines(blobs: Collection[str]) -> bytes:
    return "".join(f"{blob}\n" for blob in dict.fromkeys(blobs)).encode()
