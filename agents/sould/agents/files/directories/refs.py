"""How a version of a file names its content: a digest, git's blob, or why there is none. Loads nothing, for `walkmain`."""

from typing import Final

DIRECTORY: Final = "directory"
"""In place of a digest: a directory."""
UNKEPT: Final = "unkept"
"""In place of a digest: a content that was not saved, and will not be as long as the file is as it is."""
PENDING: Final = "pending"
"""In place of a digest: a content that nobody has read yet."""
GIT: Final = "git:"
"""Before the blob of a content that git has."""
LINK: Final = "link:"
"""Before where a symbolic link leads, in place of the digest of what would stand there: it is never followed."""


def digest_in(ref: str) -> str:
    """What is the same for the same content, wherever it is kept."""
    return ref.partition("@")[0]


def is_kept(ref: str) -> bool:
    """Whether there is a content that can be had."""
    return ref not in (DIRECTORY, UNKEPT, PENDING)


def link_ref(target: bytes) -> str:
    """How a link that leads there is named: any bytes, as text that has none which a terminal would obey."""
    return LINK + "".join(chr(byte) if 0x20 < byte < 0x7F and byte != 0x25 else f"%{byte:02X}" for byte in target)


def target_in(ref: str) -> bytes | None:
    """Where the link of that name leads; None: it names something else."""
    if not ref.startswith(LINK):
        return None
    first, *rest = ref.removeprefix(LINK).split("%")
    return first.encode() + b"".join(bytes((int(each[:2], 16),)) + each[2:].encode() for each in rest)
