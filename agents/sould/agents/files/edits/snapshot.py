"""What a project's edit log comes to, kept in a file beside it, so that opening folds only the events behind.

A cache: it may be deleted at any time. It counts as long as the log has the bytes it was made of at its end; else the log is
folded from its beginning. Nothing of a file of secrets is written here. It is made and read in pieces, between which other
threads go on. Blocks: use it in a thread.
"""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.privatefile import write_private
from sould.agents.files.edits.blobs import BlobStore
from sould.agents.files.edits.editlog import Decided, EditLogFile
from sould.agents.files.edits.reviewed import KeptReview
from sould.agents.files.edits.reviewstate import ReviewState
from sould.agents.files.edits.state import KeptEdits, LoggedEdit
from sould.agents.files.edits.texts import Texts
from sould.agents.files.review.file import TrackedFile

T = TypeVar("T")
SNAPSHOT: Final = "review.msgpack"
_FORMAT: Final = b"sould review 7\n"
"""Another one wherever an event is folded in another way, or what is kept means something else."""
_SUM: Final = 4
_ENDING: Final = 1024
"""Bytes of the log by which it is known again: they hold times and numbers that no other log has at that place."""
_ENCODER: Final = msgspec.msgpack.Encoder()


class Snapshot(Struct, frozen=True):
    """A project as it is when the log has `size` bytes, and nothing is about to be added."""

    size: int
    root: Path
    edits: KeptEdits
    review: KeptReview


_EACH: Final = 500
"""Edits or decisions in a piece."""


class _Head(Struct, frozen=True, array_like=True):
    """`edits` and `review` have what is not in pieces of its own."""

    size: int
    ending: bytes
    root: str
    edits: KeptEdits
    review: KeptReview
    secret: dict[str, str]
    """Files of secrets by path: the digest of each, which only the daemon's memory has."""


class _Pieces(Struct, frozen=True, array_like=True):
    head: bytes
    edits: list[bytes]
    verdicts: list[bytes]
    files: list[bytes]


_PIECES: Final = msgspec.msgpack.Decoder(_Pieces)
_HEAD: Final = msgspec.msgpack.Decoder(_Head)
_EDITS: Final = msgspec.msgpack.Decoder(list[tuple[int, LoggedEdit]])
_VERDICTS: Final = msgspec.msgpack.Decoder(list[tuple[int, Decided]])
_FILE: Final = msgspec.msgpack.Decoder(tuple[str, TrackedFile])


class Snapshots(Struct, frozen=True):
    """The snapshot in `directory`, of the log that is held open there."""

    directory: Path
    file: EditLogFile
    store: BlobStore

    def read(self) -> Snapshot | None:
        """The snapshot of the log as it is; None: there is none."""
        try:
            data = (self.directory / SNAPSHOT).read_bytes()
            found = _sealed(data)
            pieces = _PIECES.decode(found) if found is not None else None
            head = _HEAD.decode(pieces.head) if pieces is not None else None
            if pieces is None or head is None or not self._is_of_log(head):
                return None
            return Snapshot(head.size, Path(head.root), _edits(head, pieces), self._review(head, pieces))
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _is_of_log(self, head: _Head) -> bool:
        return head.size <= self.file.size and self._ending(head.size) == head.ending

    def _review(self, head: _Head, pieces: _Pieces) -> KeptReview:
        state = head.review.state
        for piece in pieces.files:
            path, file = _FILE.decode(piece)
            state.files[path] = file
        for piece in pieces.verdicts:
            state.verdicts.update(_VERDICTS.decode(piece))
        texts = Texts(self.store)
        for path, digest in head.secret.items():
            file = texts.file(digest)
            if file is not None:
                state.files[path] = file
                state.secret.add(path)
        return head.review

    def write(self, snapshot: Snapshot) -> None:
        """Put it in the place of the one before. Raises OSError: that one stays."""
        state, secret = self._without_secrets(snapshot.review.state)
        head = _Head(
            snapshot.size,
            self._ending(snapshot.size),
            str(snapshot.root),
            replace(snapshot.edits, edits=[]),
            KeptReview(replace(state, files={}, verdicts={}), snapshot.review.places),
            secret,
        )
        pieces = _Pieces(
            _ENCODER.encode(head),
            [_ENCODER.encode(each) for each in _batched(snapshot.edits.edits)],
            [_ENCODER.encode(each) for each in _batched([*state.verdicts.items()])],
            [_ENCODER.encode(each) for each in state.files.items()],
        )
        write_private(self.directory / SNAPSHOT, _seal(_ENCODER.encode(pieces)))

    def _without_secrets(self, state: ReviewState) -> tuple[ReviewState, dict[str, str]]:
        secret = {path: file for path, file in state.files.items() if path in state.secret}
        files = {path: file for path, file in state.files.items() if path not in secret}
        held = {path: self.store.put(_ENCODER.encode(file), secret=True) for path, file in secret.items()}
        return replace(state, files=files, secret=set()), held

    def _ending(self, size: int) -> bytes:
        return self.file.piece(max(0, size - _ENDING), size)


def _batched(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """All of them, in lists of `_EACH`."""
    return (items[start : start + _EACH] for start in range(0, len(items), _EACH))


def _edits(head: _Head, pieces: _Pieces) -> KeptEdits:
    return replace(head.edits, edits=[each for piece in pieces.edits for each in _EDITS.decode(piece)])


def _seal(data: bytes) -> bytes:
    return _FORMAT + zlib.crc32(data).to_bytes(_SUM) + data


def _sealed(data: bytes) -> bytes | None:
    """What was sealed, None if it is not that any more."""
    head, rest = data[: len(_FORMAT)], data[len(_FORMAT) + _SUM :]
    is_whole = head == _FORMAT and zlib.crc32(rest).to_bytes(_SUM) == data[len(_FORMAT) : len(_FORMAT) + _SUM]
    return rest if is_whole else None
