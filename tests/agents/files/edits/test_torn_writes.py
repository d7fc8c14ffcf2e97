"""What a killed daemon left of a write in place is taken back, also where nothing but the write itself kept the two texts."""

import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.files.edits.blobs import BlobStore
from sould.agents.files.edits.state import LoggedEdit
from sould.agents.files.edits.tornwrites import take_back_edit

BEFORE, AFTER = b"KEY=a long secret\n", b"KEY=short\n"
TORN = AFTER + BEFORE[len(AFTER) :]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of secrets that was being written, with what the write keeps beside it."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / ".env").write_bytes(TORN)
    (folder / f".sould-{'a' * 16}.tmp").write_bytes(BEFORE)
    (folder / f".sould-{'b' * 16}.tmp").write_bytes(AFTER)
    (folder / f".sould-{'c' * 16}.tmp").write_bytes(b"somebody's")
    return folder / ".env"


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    """The next daemon's, which has never seen the secret."""
    return BlobStore(tmp_path / "blobs")


def edit(*, in_place: bool = True) -> LoggedEdit:
    return LoggedEdit(
        1, digest_of(BEFORE), digest_of(AFTER), "S", "T", "c", time.time(), secret=True, in_place=in_place
    )


def test_a_secret_is_put_back_from_what_lies_beside_it(path: Path, store: BlobStore) -> None:
    take_back_edit(path, edit(), store)
    assert path.read_bytes() == BEFORE
    assert sorted(os.listdir(path.parent)) == [".env", f".sould-{'c' * 16}.tmp"]


@pytest.mark.parametrize("text", [BEFORE, AFTER, b"KEY=another\n", BEFORE + AFTER])
def test_what_is_no_part_of_the_write_stays(path: Path, store: BlobStore, text: bytes) -> None:
    path.write_bytes(text)
    take_back_edit(path, edit(), store)
    assert path.read_bytes() == text


def test_a_part_of_the_text_that_somebody_left_at_another_time_stays(path: Path, store: BlobStore) -> None:
    take_back_edit(path, replace(edit(), timestamp=time.time() - 3600), store)
    assert path.read_bytes() == TORN


def test_a_write_that_replaces_the_file_leaves_no_part(path: Path, store: BlobStore) -> None:
    take_back_edit(path, edit(in_place=False), store)
    assert path.read_bytes() == TORN
