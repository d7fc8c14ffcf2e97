"""What files held, as the review needs it: lines of a text, or a file under review that was kept whole.

Those that were used last are held, so that an event is folded without reading what was just written.
"""

import threading
from collections import OrderedDict
from typing import Final

import msgspec

from sould.agents.base.diskfile import digest_of
from sould.agents.files.directories.refs import target_in
from sould.agents.files.edits.blobs import BlobMissingError, BlobStore
from sould.agents.files.review.file import TrackedFile
from sould.agents.files.review.lines import Lines, split

MOST_HELD: Final = 16
"""Texts, or files under review."""
LEAST_HELD: Final = 2
"""Texts: a write folds what was there and what is there now."""
MOST_LINES: Final = 100_000
"""Of all texts, where more than those are held."""
_DECODER: Final = msgspec.msgpack.Decoder(TrackedFile)
_ENCODER: Final = msgspec.msgpack.Encoder()


class Texts:
    """The contents in `store` as texts, for the loop and its threads. What is not held is read: that blocks."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._held: OrderedDict[str, Lines | None] = OrderedDict()
        self._files: OrderedDict[str, TrackedFile] = OrderedDict()

    def hold(self, data: bytes) -> Lines | None:
        """The lines of a content that is wanted in a moment; None: it is no text."""
        digest = digest_of(data)
        try:
            return self._again(digest)
        except KeyError:
            return self._hold(digest, as_lines(data))

    def lines(self, digest: str) -> Lines | None:
        """See `Contents`."""
        if target_in(digest) is not None:
            return None
        try:
            return self._again(digest)
        except KeyError:
            pass
        try:
            return self._hold(digest, as_lines(self._store.get(digest)))
        except (BlobMissingError, OSError):
            return None

    def hold_file(self, file: TrackedFile) -> str:
        """A file under review that is wanted in a moment, once; its digest."""
        digest = digest_of(encoded(file))
        self._files[digest] = file
        if len(self._files) > MOST_HELD:
            self._files.popitem(last=False)
        return digest

    def file(self, digest: str) -> TrackedFile | None:
        """See `Contents`."""
        held = self._files.pop(digest, None)
        if held is not None:
            return held
        try:
            return _DECODER.decode(self._store.get(digest))
        except (BlobMissingError, OSError, msgspec.DecodeError):
            return None

    def _again(self, digest: str) -> Lines | None:
        """What is held. Raises KeyError: it is not."""
        with self._lock:
            self._held.move_to_end(digest)
            return self._held[digest]

    def _hold(self, digest: str, lines: Lines | None) -> Lines | None:
        with self._lock:
            self._held[digest] = lines
            self._held.move_to_end(digest)
            count = sum(len(each) for each in self._held.values() if each)
            while len(self._held) > MOST_HELD or (len(self._held) > LEAST_HELD and count > MOST_LINES):
                _, gone = self._held.popitem(last=False)
                count -= len(gone or ())
        return lines


def encoded(file: TrackedFile) -> bytes:
    """How a file under review is kept whole."""
    return _ENCODER.encode(file)


def as_lines(data: bytes) -> Lines | None:
    """The lines of a text, None of anything else: bytes that are not UTF-8, or with a NUL."""
    if b"\0" in data:
        return None
    try:
        return split(data.decode())
    except UnicodeDecodeError:
        return None
