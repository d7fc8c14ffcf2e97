"""Where the daemon's socket, state, configuration and logs are: one answer for bridge, daemon and command line.

The bridge imports this before anything else, so it may import only what the interpreter has loaded already. It never
changes what it finds: a directory that others can enter is refused with the command that fixes it, not fixed.
"""

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DIRECTORY = 84
"""`sun_path` holds 104 bytes on macOS, 108 on Linux; `/s.<pid>` is the longest name in the runtime directory."""


class UnsafePathError(Exception):
    """A directory that must be ours alone is not. The text is one sentence that names the path and the remedy."""


class Paths:
    """The places for one environment. Pure: looks at the disk only to see whether `XDG_RUNTIME_DIR` can be used."""

    def __init__(self, environment: "Mapping[str, str]") -> None:
        self.environment = environment
        home = environment.get("HOME") or os.path.expanduser("~")
        self.state = _base(environment, "XDG_STATE_HOME", home + "/.local/state") + "/sould"
        self.config = _base(environment, "XDG_CONFIG_HOME", home + "/.config") + "/sould"
        self.worktrees = _base(environment, "XDG_DATA_HOME", home + "/.local/share") + "/sould/worktrees"
        self.runtime = _runtime(environment, home, self.state)
        self.socket = self.runtime + "/sock"
        self.lock = self.runtime + "/daemon.lock"
        self.starts = self.runtime + "/starts"
        self.logs = self.state + "/log"
        self.log = self.logs + "/daemon.log"


def _base(environment: "Mapping[str, str]", name: str, default: str) -> str:
    """The XDG rule: a relative value counts as unset."""
    value = environment.get(name, "")
    return value.rstrip("/") if value.startswith("/") and value.strip("/") else default


def _runtime(environment: "Mapping[str, str]", home: str, state: str) -> str:
    """The first usable of $XDG_RUNTIME_DIR/sould, the state directory's `run`, and a short hashed name.

    That name is in HOME; of a HOME that is itself too long, in /run/user or /tmp, in a directory of ours alone.

    An editor that passes on neither this variable nor HOME is still to find the daemon that the user's others started:
    it is where systemd makes the directory.
    """
    base = _base(environment, "XDG_RUNTIME_DIR", "" if environment.get("HOME") else f"/run/user/{os.geteuid()}")
    if base and _short(base + "/sould") and _usable(base):
        return base + "/sould"
    fallback = state + "/run"
    if _short(fallback):
        return fallback
    from hashlib import sha256  # noqa: PLC0415 -- rare, and slow to import

    digest = sha256(os.fsencode(fallback)).hexdigest()[:8]
    if _short(home + "/.sould-" + digest):
        return home + "/.sould-" + digest
    system, uid = f"/run/user/{os.geteuid()}", os.geteuid()
    return f"{system}/sould-{digest}" if os.access(system, os.W_OK | os.X_OK) else f"/tmp/sould-{uid}-{digest}"  # noqa: S108 -- made and checked by `ensure_private`


def _short(directory: str) -> bool:
    return len(os.fsencode(directory)) <= MAX_DIRECTORY


def _usable(base: str) -> bool:
    """Whether our directory is in `base` already (in any form: the check refuses a bad one), or can be made there."""
    try:
        os.lstat(base + "/sould")
    except OSError:
        return os.access(base, os.W_OK | os.X_OK)
    return True


def ensure_private(directory: str) -> None:
    """Make `directory` (0700) when it is missing, then check it as `check_private` does.

    Raises:
        UnsafePathError: it cannot be made, or is not ours alone.
    """
    try:
        os.mkdir(directory, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        try:
            os.makedirs(os.path.dirname(directory), 0o700, exist_ok=True)
            os.mkdir(directory, 0o700)
        except FileExistsError:
            pass
        except OSError as error:
            raise UnsafePathError(f"{directory} cannot be created: {error.strerror}") from None
    except OSError as error:
        raise UnsafePathError(f"{directory} cannot be created: {error.strerror}") from None
    check_private(directory)


def check_private(directory: str) -> None:
    """A directory, not a link, ours, closed to others, in a parent where nobody else can replace it.

    Raises:
        UnsafePathError: names the path, what is wrong and what to run.
    """
    found = os.lstat(directory)
    uid = os.geteuid()
    quoted = quote(directory)
    if stat.S_ISLNK(found.st_mode):
        raise UnsafePathError(f"{directory} is a symbolic link, which sould does not follow; run: rm {quoted}")
    if not stat.S_ISDIR(found.st_mode):
        raise UnsafePathError(f"{directory} is not a directory; run: mv {quoted} {quote(directory + '.old')}")
    if found.st_uid != uid:
        raise UnsafePathError(
            f"{directory} belongs to uid {found.st_uid}, not to you (uid {uid}); "
            f"have its owner remove it, or set XDG_RUNTIME_DIR to a directory of your own"
        )
    if found.st_mode & 0o077:
        raise UnsafePathError(
            f"{directory} has mode {stat.S_IMODE(found.st_mode):04o} and is open to other users; "
            f"run: chmod 700 {quoted}"
        )
    parent = os.path.dirname(directory)
    above = os.stat(parent)
    if above.st_mode & 0o002 and not above.st_mode & stat.S_ISVTX:
        raise UnsafePathError(
            f"{parent} has mode {stat.S_IMODE(above.st_mode):04o}: any user can replace {directory}; "
            f"run: chmod o-w {quote(parent)}"
        )
    if above.st_uid not in (0, uid):
        raise UnsafePathError(
            f"{parent} belongs to uid {above.st_uid}, who can replace {directory}; "
            f"set XDG_RUNTIME_DIR to a directory of your own"
        )


def quote(path: str) -> str:
    """`path` as one word of a shell command."""
    plain = all(c.isalnum() or c in "/._-+=:@%" for c in path)
    return path if plain and path else "'" + path.replace("'", "'\"'\"'") + "'"
