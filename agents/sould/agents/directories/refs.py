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


def digest_in(ref: str) -> str:
    """What is the same for the same content, wherever it is kept."""
    return ref.partition("@")[0]


def is_kept(ref: str) -> bool:
    """Whether there is a content that can be had."""
    return ref not in (DIRECTORY, UNKEPT, PENDING)
