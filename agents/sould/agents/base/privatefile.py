"""Small files that only their owner may read: records, sessions' facts, keys. One way to write them.

The start of the daemon imports it, so it needs nothing but what the interpreter has loaded already. It makes no
directory and reads nothing.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


def write_private(path: "str | Path", data: bytes, *, durable: bool = False) -> None:
    """Replace a file in one step, mode 0600; whoever reads it finds the old content or the new one.

    `durable`: it is on the disk when this returns, for what cannot be had again. Raises OSError; the old content stays.
    """
    # another process that writes the same file has another name for its draft
    draft = f"{os.fspath(path)}.{os.getpid()}.tmp"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600)  # a draft that a killed process left has the mode it had
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise
