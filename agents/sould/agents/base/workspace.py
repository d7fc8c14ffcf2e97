"""Where tools work: files as the user sees them, and commands in the session's environment.

The soul and the projects know these interfaces only. A `Workspace` is one of three: `LocalWorkspace` (disk), `SessionFiles` over
that, which keeps what is written over, and `CallFiles` round that, which judges: tools get no other. What editors have open is
`TextFiles` only.

WorkspaceError
├── NotAFileError       missing, a directory, a device …
├── FileChangedError    the file is not what it was when it was read
├── NotTextError        the bytes are no text, or a text has no bytes in its file's encoding
└── OutsideError        the path leaves the workspace, or goes through a link that does
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct, field

from sould.agents.base.textencoding import UTF_8, Encoding, NoBytesError, encoded


class WorkspaceError(Exception):
    """Base. The text is one sentence for the model and for people; it names the path."""


class NotAFileError(WorkspaceError):
    """Missing, a directory, a device, a socket."""


class FileChangedError(WorkspaceError):
    """The file is not what it was when it was read."""


class NotTextError(WorkspaceError):
    """The bytes are no text, or a text has no bytes in its file's encoding."""


class OutsideError(WorkspaceError):
    """The resolved path leaves the workspace."""


class TextFile(Struct, frozen=True):
    """A text as the user sees it. `digest` (sha256 hex of its bytes, BOM and line ends as they are) binds a later write to it.

    `unsaved`: the text comes from an editor buffer that differs from the disk. Of a text that was written: `by_editor`: an editor took
    it, which may make something else of it while it saves it; `shown_in`: the editor that lets its user review it (D43); `others`: the
    other names of the file (hard links) that hold it now, as far as they are known; `parted`: there are some that do not.
    """

    path: Path
    text: str
    digest: str
    unsaved: bool = False
    by_editor: bool = False
    shown_in: str = ""
    encoding: Encoding = UTF_8
    """Of the file's bytes on disk."""
    others: tuple[Path, ...] = ()
    parted: bool = False

    @property
    def content(self) -> bytes:
        """Its bytes; of unsaved text, which has none on disk, those in UTF-8."""
        return self.text.encode() if self.unsaved else self.text.encode(self.encoding.codec)


class JustRead(Struct, frozen=True):
    """What an edit replaces, `file` None where nothing is: read at this moment, so that writing need not ask an editor again.

    Only where nobody was waited for in between, and with the file held (`FileLocks`).
    """

    file: TextFile | None

    @property
    def digest(self) -> str | None:
        """Of the text, None where nothing is."""
        return self.file.digest if self.file is not None else None


class Linked(Struct, frozen=True):
    """What an edit replaces in a file of so many `names` (hard links), all of which change with it."""

    text: str | JustRead
    names: int


Expected: TypeAlias = str | JustRead | Linked | None
"""What a write may replace: the text with this digest, nothing (None), or what was read a moment ago; `Linked`: under all names."""


def digest_expected(expected: Expected) -> str | None:
    """The digest of what a write may replace, None for a file that must not exist."""
    text = expected.text if isinstance(expected, Linked) else expected
    return text.digest if isinstance(text, JustRead) else text


def expected_of(text: str | JustRead | None, names: int) -> Expected:
    """What a write may replace, in a file of which so many names change with it."""
    return Linked(text, names) if text is not None and names > 1 else text


def names_expected(expected: Expected) -> int:
    """How many names of a file may change with it."""
    return expected.names if isinstance(expected, Linked) else 1


def text_expected(expected: Expected) -> TextFile | None:
    """The text that a write replaces, where it was read a moment ago; None: there is none, or it is not known."""
    text = expected.text if isinstance(expected, Linked) else expected
    return text.file if isinstance(text, JustRead) else None


def is_utf_8(expected: Expected) -> bool:
    """Whether what a write replaces is in UTF-8, as far as it is known. Editors may have taken another encoding for what it is not."""
    before = text_expected(expected)
    return before is None or before.encoding == UTF_8


def content_in_place_of(before: TextFile | None, path: Path, text: str) -> bytes:
    """The bytes of a text that takes the place of `before`, in its encoding; what is new is in UTF-8.

    Raises:
        NotTextError: a character has none; the text says what to do.
    """
    try:
        return encoded(text, before.encoding, before.text) if before is not None else encoded(text, UTF_8, "")
    except NoBytesError as error:
        raise NotTextError(f"{path} was not written: {error}") from None


class ResolvedPath(Struct, frozen=True):
    """A path judged after resolution: `path` is absolute with all links resolved (the last component may not exist)."""

    path: Path
    inside: bool
    """Below the workspace root or one of the additional directories."""
    named: Path | None = None
    """As it was written, absolute, where a link makes that another path: what is forbidden by name is not had by a link."""
    others: tuple[Path, ...] = ()
    """Further names of the same file (hard links), as far as they are known."""

    @property
    def names(self) -> tuple[Path, ...]:
        """Every path that rules about this file may mean."""
        return (self.path, *((self.named,) if self.named is not None else ()), *self.others)

    @property
    def written(self) -> Path:
        """The path as it was given, absolute: the name that tells nothing about where links lead."""
        return self.named or self.path


class Command(Struct, frozen=True):
    """A command line for bash, exactly as approved. `timeout` in seconds."""

    line: str
    cwd: Path
    timeout: float
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Beside those of the session."""


class CommandExit(Struct, frozen=True):
    """How a command ended: an exit code, or the signal that killed it; `timed_out` when we did."""

    code: int | None
    signal: int | None = None
    timed_out: bool = False
    strays: int = 0
    """Processes it had left behind, which were ended."""


class RunningCommand(Protocol):
    """A command in flight. Leaving it un-awaited is a bug: `wait` or `kill` it."""

    def output(self) -> AsyncIterator[bytes]:
        """Standard output and error as they come, ending when the command and everything it started is gone.

        Each piece is given once: who reads after a reader that was cancelled goes on behind it.
        """
        ...

    async def wait(self) -> CommandExit:
        """The exit, after `output` is drained."""
        ...

    async def kill(self) -> None:
        """TERM, two seconds of grace (D7), KILL; returns when nothing it started is alive."""
        ...


class TextFiles(Protocol):
    """The texts of files as somebody has them: the disk, or an editor over it."""

    async def read_text(self, path: Path) -> TextFile:
        """What the user sees on screen: an unsaved buffer when an editor has one and the disk is not newer, else the disk.

        Raises:
            NotAFileError, NotTextError, WorkspaceError
        """
        ...

    async def known_text(self, path: Path) -> TextFile:
        """As `read_text`, without asking an editor: what it last showed, unless the disk is newer, else the disk.

        What is computed from it is written by the digest, so that an editor's text that changed since is noticed then.
        """
        ...

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        """Write whole, through the editor when it offers that, else as `replace_file`; parent directories are made.

        Returns the text as it is now: an editor may have formatted it while saving.

        Raises:
            FileChangedError: the pre-image differs; nothing was written.
        """
        ...

    async def delete(self, path: Path, *, expected: str) -> None:
        """Remove a file from the disk; `expected` is the digest the caller read. Its directories stay.

        Raises:
            FileChangedError: it holds something else by now; it is still there.
        """
        ...

    async def unsaved(self) -> Collection[Path]:
        """The files, resolved, whose buffer differed from the disk when it was last read; no buffer is asked for."""
        ...


class Workspace(TextFiles, Protocol):
    """Files and commands of one session."""

    @property
    def root(self) -> Path:
        """The session's working directory, absolute and resolved."""
        ...

    @property
    def additional(self) -> Sequence[Path]:
        """Further directories that count as inside."""
        ...

    def resolve(self, path: str) -> ResolvedPath:
        """Make `path` absolute (relative ones against `root`, `~` expanded) and follow every link before judging it.

        Raises:
            OutsideError: for a path that can name nothing (NUL, too long).
        """
        ...

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        """The first `limit` bytes on disk. Raises NotAFileError."""
        ...

    async def run(self, command: Command) -> RunningCommand:
        """Start a command under the daemon's guard, in the session's environment, stdin closed (D13)."""
        ...


WriteOperation = Literal["create", "modify", "delete"]
