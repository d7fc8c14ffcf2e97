"""Errors that reach a user: one sentence naming the thing, the place and the next step.

SouldError
├── ConfigError              a configuration file or option is wrong
├── NoModelError             no model is configured and none was found
├── SessionNotFoundError     no session has this id
├── SessionOpenElsewhereError another process holds the session's journal
├── WorkspaceGoneError       the session's directory is missing or not the one it was
├── JournalFullError         the disk refuses records: the session is read-only until it does not
└── OptionError              an unknown option, or a value it does not offer
"""


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


class WorkspaceGoneError(SouldError):
    """The session's directory is missing or is not the one it was."""

    kind = "workspace_gone"


class JournalFullError(SouldError):
    """The disk refuses records: the session is read-only until it accepts them again."""

    kind = "disk_full"


class OptionError(SouldError):
    """An unknown session option, or a value it does not offer."""

    kind = "option"
