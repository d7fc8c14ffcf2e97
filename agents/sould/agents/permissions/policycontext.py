"""What a decision needs to know about the machine, given to it so that the decision itself stays pure."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from sould.agents.base.environment import Environment
from sould.agents.base.filenames import ONE_NAME, FileNames
from sould.agents.permissions.gitlooks import bare_repository, plain_history, plain_repository


def _resolve(word: str, cwd: Path) -> Path:
    return Path(os.path.realpath(os.path.join(cwd, word)))


def _is_not_known(cwd: Path, hidden: Callable[[Path], bool]) -> bool:
    del cwd, hidden
    return False


def _finds_nothing(program: str) -> Path | None:
    del program


def _has_one(path: Path) -> FileNames:
    del path
    return ONE_NAME


def _knows_none(path: Path) -> tuple[Path, ...]:
    del path
    return ()


def _is_elsewhere(path: Path) -> Path | None:
    del path


class SecretNames(Struct, frozen=True):
    """What the user's configuration adds: patterns of a name, or of the end of a path when they hold a `/`."""

    certain: tuple[str, ...] = ()
    likely: tuple[str, ...] = ()


class SecretLook(Protocol):
    """Looks into a file whose name alone does not make it a secret."""

    def __call__(self, path: Path, *, likely: bool, fixture: bool) -> str:
        """Why the file is a secret all the same, or "". `path` is resolved; it need not exist."""
        ...


def _looks_nowhere(path: Path, *, likely: bool, fixture: bool) -> str:
    del path, likely, fixture
    return ""


ResolveWord: TypeAlias = Callable[[str, Path], Path]
"""The path that a word of a command names: absolute, every link followed."""


FindProgram: TypeAlias = Callable[[str], Path | None]
"""The file that a bare program name runs, resolved; None when it is not certain."""


ConfiguredNames: TypeAlias = Callable[[], SecretNames]
"""The names of secrets that the user added, as configured now."""


OtherNames: TypeAlias = Callable[[Path], tuple[Path, ...]]
"""The secrets that a file is by names it has elsewhere (hard links). Blocks."""


NamesOf: TypeAlias = Callable[[Path], FileNames]
"""The names of a file (hard links) in the project, and whether there are others. Blocks."""


RepositoryCheck: TypeAlias = Callable[[Path, Callable[[Path], bool]], bool]
"""Looks whether git may be run in a directory without asking.

Whether nothing that is `hidden` would be shown there, and nothing of the project's run. Blocks.
"""


BareRepository: TypeAlias = Callable[[Path], Path | None]
"""Knows which directories git takes for repositories, whatever they are called.

The one that a path lies in, or would once something is there; None: it lies in none. Blocks.
"""


InWorktree: TypeAlias = Callable[[Path], Path | None]
"""Knows which file of the session's worktree stands for one of its repository's main checkout.

That file; None: the path is none of the main checkout, or the session works there. Blocks.
"""


class PolicyContext(Struct, frozen=True):
    """One session's place. Paths are absolute and resolved."""

    root: Path
    additional: Sequence[Path] = ()
    """May grow."""
    home: Path = field(default_factory=Path.home)
    path: tuple[Path, ...] = ()
    """Directories of the session's PATH."""
    account: tuple[Path, ...] = ()
    """Where files of the user's account lie that their home directory only has links to."""
    own: tuple[Path, ...] = ()
    """Our configuration, state and run-time directories, which no tool changes unasked."""
    readable: tuple[Path, ...] = ()
    """Directories of ours that the model may read, such as the one that holds long outputs."""
    resolve: ResolveWord = _resolve
    """A word of a command to the path it names, every link followed."""
    find: FindProgram = _finds_nothing
    """The resolved file a bare program name runs; None when that is not certain."""
    secret_names: ConfiguredNames = SecretNames
    """As they are configured now."""
    secret_look: SecretLook = _looks_nowhere

    other_names: OtherNames = _knows_none
    """The secrets that a file is by names it has elsewhere (hard links). Blocks."""
    names_of: NamesOf = _has_one
    """All names that a file has, secret or not. Blocks."""
    in_worktree: InWorktree = _is_elsewhere
    """What a file of the main checkout is in the worktree that the session works in. Blocks."""
    bare_repository: BareRepository = _is_elsewhere
    """The repository without a work tree that a path lies in. Blocks."""
    plain_repository: RepositoryCheck = _is_not_known
    """Whether git's showing commands run nothing of the project's there, and show none of the files that are hidden."""
    plain_history: RepositoryCheck = _is_not_known
    """Whether nothing that is hidden was ever committed there. Blocks."""

    @classmethod
    def of(
        cls,
        root: Path,
        additional: Sequence[Path],
        environment: Environment,
        own: tuple[Path, ...] = (),
        readable: tuple[Path, ...] = (),
        account: tuple[Path, ...] = (),
    ) -> "PolicyContext":
        """Of a session with this environment. `additional` is resolved already."""
        return cls(
            root=_resolve("", root),
            additional=additional,
            home=_resolve("", environment.home),
            path=tuple(_resolve("", directory) for directory in environment.path),
            account=account,
            own=tuple(_resolve("", directory) for directory in own),
            readable=tuple(_resolve("", directory) for directory in readable),
            find=lambda program: _find(program, environment),
            bare_repository=bare_repository,
            plain_repository=plain_repository,
            plain_history=lambda cwd, hidden: plain_history(
                cwd, _find("git", environment), environment.variables, hidden
            ),
        )

    def inside(self, path: Path) -> bool:
        """Below the workspace root or an additional directory."""
        return any(path.is_relative_to(directory) for directory in (self.root, *self.additional))

    def readable_unasked(self, path: Path) -> bool:
        """Below a directory that the model was told to read."""
        return any(path.is_relative_to(directory) for directory in self.readable)


def _find(program: str, environment: Environment) -> Path | None:
    """Like bash, but a relative entry before the hit makes the answer uncertain."""
    for part in environment.variables["PATH"].split(os.pathsep):
        if not os.path.isabs(part):
            return None
        candidate = os.path.join(part, program)
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return _resolve(candidate, Path("/"))
    return None
