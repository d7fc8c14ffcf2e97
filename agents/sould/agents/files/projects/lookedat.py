"""The directories that a session works in, as they were when somebody looked last, with copies of what calls may change.

Says what differs since then, and nothing of who did it. Everything here blocks, but for what says so.
"""

import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from sould.agents.base.config import CaptureLimits
from sould.agents.files.directories.comparing import Difference, portions
from sould.agents.files.directories.copying import PreimageStore
from sould.agents.files.directories.directory import Directory
from sould.agents.files.directories.folders import FileVersion
from sould.agents.files.directories.gitfiles import GitFiles
from sould.agents.files.directories.refs import DIRECTORY, UNKEPT
from sould.agents.files.directories.secretblobs import SecretJudge
from sould.agents.files.projects.changes import CallChange
from sould.agents.files.projects.projects import Projects

CLOCK_S = 0.01
"""The times of files are that much behind the clock at most."""


class LookedAt(Struct):
    """Of one session, whose own directory is `own`; the contents of what changed go to the projects' store."""

    projects: Projects
    own: Path
    variables: Mapping[str, str]
    hidden: tuple[Path, ...]
    limits: CaptureLimits
    secrets: SecretJudge | None = None
    by_root: dict[Path, Directory] = field(default_factory=dict[Path, Directory])
    _kept: PreimageStore | None = None

    # --- without waiting ----------------------------------------------------------------------------------------------

    def calls_run(self) -> None:
        """What changes from now on may be a call's."""
        for directory in self.by_root.values():
            directory.calls_run()

    def calls_ended(self) -> None:
        """It is nobody's of ours."""
        for directory in self.by_root.values():
            directory.calls_ended()

    def rest(self) -> None:
        """Let looking that nobody waits for stand still."""
        for directory in self.by_root.values():
            directory.rest()

    def go_on(self) -> None:
        """No more."""
        for directory in self.by_root.values():
            directory.go_on()

    @property
    def late(self) -> int | None:
        """What can be read when more of a look that goes on is known; None: none does."""
        return next((each.late for each in self.by_root.values() if each.late is not None), None)

    @property
    def to_copy(self) -> Directory | None:
        """One of which not all is copied that calls may change."""
        return next((each for each in self.by_root.values() if each.uncopied), None)

    # --- looking ------------------------------------------------------------------------------------------------------

    def differences(
        self, roots: Sequence[Path], *, told: bool, touched: Sequence[Path] = (), patience: float | None = None
    ) -> dict[Path, list[Difference]]:
        """What the first look at a directory finds was there before, even when a call runs in which it was added."""
        latest = time.monotonic() + (self.limits.wait_s if patience is None else patience)
        found: dict[Path, list[Difference]] = {}
        for root in _topmost(roots):
            inside = [str(path.relative_to(root)) for path in touched if path.is_relative_to(root)]
            left = max(0.0, latest - time.monotonic())
            found[root] = self._at(root).update(told=told, patience=left, touched=inside)
            linked = self._at(root).other_names(each.path for each in found[root])
            if linked:
                found[root] += self._at(root).update(told=told, patience=left, touched=linked)
        return found

    def caught_up(self, *, told: bool) -> dict[Path, list[Difference]]:
        """What looks that went on have found since."""
        return {root: directory.catch_up(told=told) for root, directory in self.by_root.items()}

    def changed_since(self, roots: Sequence[Path], moment: float) -> tuple[list[Path], bool]:
        """The files that changed since then (wall seconds); False: not all were looked at."""
        looks = {root: self._at(root).changed_since(int((moment - CLOCK_S) * 1e9)) for root in _topmost(roots)}
        paths = [root / path for root, (found, _) in looks.items() for path in found]
        return sorted(paths), all(whole for _, whole in looks.values())

    def not_kept(self, paths: Sequence[Path]) -> list[Path]:
        """Those of the files of which no copy is kept, as far as is known by now."""
        return [
            root / path
            for root, directory in self.by_root.items()
            for path in directory.not_kept(str(each.relative_to(root)) for each in paths if each.is_relative_to(root))
        ]

    def close(self) -> None:
        """Let go of all copies."""
        if self._kept is not None:
            self._kept.close()
        for directory in self.by_root.values():
            directory.close()
        self.by_root.clear()

    def _at(self, root: Path) -> Directory:
        if self._kept is None:
            self._kept = PreimageStore(self.own, self.limits.max_kept_bytes)
        if root not in self.by_root:
            git = GitFiles(root, self.variables)
            watches = self.projects.watches
            self.by_root[root] = Directory(root, git, self._kept, self.limits, self.hidden, self.secrets, watches)
        return self.by_root[root]

    # --- contents -----------------------------------------------------------------------------------------------------

    def saved(self, differences: Mapping[Path, Sequence[Difference]]) -> list[CallChange]:
        """The differences with their contents in the store."""
        changes: list[CallChange] = []
        for root, found in ((root, some) for root, all_found in differences.items() for some in portions(all_found)):
            held = (each for difference in found for each in (difference.before, difference.after) if each)
            contents = self.by_root[root].contents(held)
            for difference in found:
                path = root / difference.path
                both = (difference.before, difference.after)
                secret = any(self._is_secret(path, each, contents) for each in both)
                before, after = (self._digest(each, contents, secret=secret) for each in both)
                modes = [each.seen[0] if each is not None else None for each in both]
                if (before, modes[0]) != (after, modes[1]) or before == UNKEPT:
                    shared = not difference.sure
                    change = CallChange(path, before, after, modes[0], modes[1], shared, secret)
                    changes.append(replace(change, changed_at=difference.changed_at))
        return changes

    def _is_secret(self, path: Path, held: FileVersion | None, contents: Mapping[str, bytes]) -> bool:
        data = contents.get(held.ref) if held is not None else None
        return data is not None and self.secrets is not None and bool(self.secrets.secret_in(path, data))

    def _digest(self, held: FileVersion | None, contents: Mapping[str, bytes], *, secret: bool) -> str | None:
        if held is None or held.ref == DIRECTORY:
            return held.ref if held is not None else None
        data = contents.get(held.ref)
        if data is None or len(data) != held.seen[1]:  # git has it in another form than the disk
            return UNKEPT
        with contextlib.suppress(OSError):
            return self.projects.store.put(data, sync=False, secret=secret)
        return UNKEPT


def _topmost(roots: Sequence[Path]) -> list[Path]:
    top = [root for root in roots if not any(root != other and root.is_relative_to(other) for other in roots)]
    return [root for root in dict.fromkeys(top) if root.is_dir()]
