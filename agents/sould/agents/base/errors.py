"""Errors that reach a user: one sentence naming the thing, the place and the next step.

SouldError
├── ConfigError              a configuration file or option is wrong
├── NoModelError             no model is configured and none was found
├── SessionNotFoundError     no session has this id
├── SessionOpenElsewhereError another process holds the session's journal
├── ProjectOpenElsewhereError another process holds the project's edit log
├── WorkspaceGoneError       the session's directory is missing or not the one it was
├── JournalFullError         the disk refuses what is to be kept
├── DaemonLeavingError       the daemon is stopping or restarting, and takes nothing new
└── OptionError              an unknown option, or a value it does not offer
"""

import errno

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


class SouldError(Exception):
    """Base. `message` is safe to show: one sentence, no secrets. `kind` is stable for programs."""

    kind = "internal"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConfigError(SouldError):
    """A configuration file or option is wrong."""

    kind = "config"


class NoModelError(SouldError):
    """No model is configured and none was found in the environment."""

    kind = "no_model"


class SessionNotFoundError(SouldError):
    """No session has this id."""

    kind = "session_not_found"


class SessionOpenElsewhereError(SouldError):
    """Another process holds the session's journal."""

    kind = "session_open_elsewhere"


class ProjectOpenElsewhereError(SouldError):
    """Another process holds the project's edit log."""

    kind = "project_open_elsewhere"


class WorkspaceGoneError(SouldError):
    """The session's directory is missing or is not the one it was."""

    kind = "workspace_gone"


class JournalFullError(SouldError):
    """The disk refuses what is to be kept; where it is a session's records, that is read-only until it accepts them again."""

    kind = "disk_full"


class DaemonLeavingError(SouldError):
    """The daemon is stopping or restarting, and takes nothing new."""

    kind = "stopping"

    def __init__(self) -> None:
        super().__init__("The daemon is stopping; try again in a moment.")


class OptionError(SouldError):
    """An unknown session option, or a value it does not offer."""

    kind = "option"


def why_refused(error: OSError) -> str:
    """Why a disk does not take what is written, as a clause."""
    return "the disk is full" if error.errno in _FULL else f"the disk reports: {error.strerror}"


def as_disk_full(error: BaseException) -> JournalFullError | None:
    """What is said of an error that reached a boundary because a disk is full; None for any other."""
    if not isinstance(error, OSError) or error.errno not in _FULL:
        return None
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return JournalFullError(f"The disk is full{where}, so this was not finished. Free some space and try again.")
