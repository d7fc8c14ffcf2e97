"""The files of a session that hold secrets: by name, by content, or as the copy of another.

One for each session. Reads files only to judge them, as regular files and within limits; keeps digests, never content.
All of it blocks: call it in a thread.
"""

import hashlib
import os
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from sould.agents.base.regularfile import without_waiting
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.secretnames import LARGEST, is_fixture, is_template, likelihood

MOST_REMEMBERED: Final = 4_096
SMALLEST: Final = 8
"""Bytes of a content that is known again: fewer say nothing."""
_HEAD: Final = 512
_KEY = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:-----BEGIN[ A-Z0-9]{0,100}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d|AGE-SECRET-KEY-1)"
)
_MAY_HOLD_SECRET = re.compile(r"[:=@]|\S{20,}")
"""What a text without a secret rarely has: most need not be looked at closely."""

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


def secret_name(names: Iterable[Path], where: PolicyContext) -> str:
    """Why a file with these names (as resolved, as written) is a secret, as far as names tell for certain; else ""."""
    for name in names:
        if likelihood(name, where) == "certain":
            return f"{name} holds secrets"
    return ""


def secret_file(names: Iterable[Path], where: PolicyContext) -> str:
    """Why the file with these names is a secret, or "": its names, its content where they make it likely, its links."""
    names = tuple(names)
    if reason := secret_name(names, where):
        return reason
    likely = any(likelihood(name, where) == "likely" for name in names)
    if is_template(names[0]) and not likely:
        return ""
    return where.secret_look(names[0], likely=likely, fixture=is_fixture(names[0], where))


def is_private_key(data: bytes) -> bool:
    """Whether a file is a private key, whatever its name: it begins as one."""
    return _KEY.match(data[:_HEAD]) is not None


class _Identity(Struct, frozen=True):
    """What changes when a file's content may have."""

    device: int
    inode: int
    size: int
    changed: int
    written: int

    @classmethod
    def of(cls, status: os.stat_result) -> "_Identity":
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_ctime_ns, status.st_mtime_ns)


class SecretFiles:
    """Looks into files, and knows those again that are the same as, or a copy of, a secret that was met before."""

    def __init__(self) -> None:
        self._judged: dict[tuple[_Identity, bool, bool, str], str] = {}
        self._copies: dict[str, Path] = {}
        """By digest: of which secret a content is."""
        self._sizes: set[int] = set()
        self._remembered: dict[Path, _Identity] = {}
        self._lock = threading.Lock()

    def look(self, path: Path, *, likely: bool, fixture: bool) -> str:
        """Why the content of a file is a secret, or ""; what cannot be looked into is judged by nothing but its name."""
        try:
            with open(path, "rb", opener=without_waiting) as file:
                status = os.fstat(file.fileno())
                identity = (_Identity.of(status), likely, fixture, path.name)
                if (known := self._judged.get(identity)) is None or status.st_size in self._sizes:
                    known = self._content(
                        file.read(LARGEST + 1 if self._whole(likely, status) else _HEAD), path, likely, fixture
                    )
                    self._keep(self._judged, identity, known)
                return known
        except (OSError, ValueError):  # no file can have such a name
            return ""

    def content(self, path: Path, data: bytes, where: PolicyContext) -> str:
        """Why this content of a file is a secret, or "": what an editor holds, or what was read since the file was judged."""
        kind = likelihood(path, where)
        if kind == "certain":
            return f"{path} holds secrets"
        if is_template(path):
            return ""
        fixture = (kind == "likely" or is_private_key(data)) and is_fixture(path, where)
        return self._content(data, path, kind == "likely", fixture)

    def remember(self, path: Path) -> None:
        """A file that is known to be a secret: copies of what it holds now are, too."""
        try:
            with open(path, "rb", opener=without_waiting) as file:
                identity = _Identity.of(os.fstat(file.fileno()))
                if self._remembered.get(path) == identity:
                    return
                self._keep(self._remembered, path, identity)
                data = file.read(LARGEST + 1)
        except OSError:
            return
        if SMALLEST <= len(data) <= LARGEST:
            self._keep(self._copies, hashlib.sha256(data).hexdigest(), path)
            self._sizes.add(len(data))

    def remember_beside(self, where: PolicyContext) -> None:
        """The secrets that lie at the top of the project, before a command may copy them."""
        for root in (where.root, *where.additional):
            self.remember_all(_listed(root), where)

    def remember_all(self, paths: Iterable[Path], where: PolicyContext) -> None:
        """Those of the files that are secrets by name."""
        for path in paths:
            if likelihood(path, where) == "certain":
                self.remember(path)

    def _keep(self, known: dict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
        with self._lock:
            if len(known) >= MOST_REMEMBERED:
                known.pop(next(iter(known)))
            known[key] = value

    def _whole(self, likely: bool, status: os.stat_result) -> bool:
        return likely or status.st_size in self._sizes

    def _content(self, data: bytes, path: Path, likely: bool, fixture: bool) -> str:
        if len(data) in self._sizes and (original := self._copies.get(hashlib.sha256(data).hexdigest())) not in (
            None,
            path,
        ):
            return f"{path} holds the same as {original}, which holds secrets"
        if is_private_key(data) and not fixture:
            return f"{path} is a private key"
        kind = _kind_of(data, path.name, fixture=fixture) if likely else ""
        return f"{path} holds {kind}" if kind else ""


def text_holds_secret(text: str) -> bool:
    """Whether a text that is about to be kept as it is has a secret in it. Blocks."""
    if not _MAY_HOLD_SECRET.search(text):
        return False
    return bool(_kind_of(text.encode(errors="replace"), "", fixture=False))


def _kind_of(data: bytes, name: str, *, fixture: bool) -> str:
    from sould.agents.permissions.secretcontent import secret_in  # noqa: PLC0415 -- rules that few sessions need

    return secret_in(data, name, fixture=fixture)


def _listed(directory: Path) -> list[Path]:
    try:
        with os.scandir(directory) as entries:
            return [Path(entry.path) for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
