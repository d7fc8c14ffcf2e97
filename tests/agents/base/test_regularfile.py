"""What sould reads by itself is a regular file and has an end."""

import errno
import os
from pathlib import Path

import pytest

from sould.agents.base.regularfile import read_beginning, read_regular, read_text
from sould.agents.clients.review.reports import is_on_disk


@pytest.fixture(params=["pipe", "device", "link to a device", "directory"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "a"
    match request.param:
        case "pipe":
            os.mkfifo(path)
        case "device":
            return Path("/dev/zero")
        case "link to a device":
            path.symlink_to("/dev/zero")
        case _:
            path.mkdir()
    return path


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(special: Path) -> None:
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(special)
    assert not is_on_disk(special, "\0")


def test_a_file_is_read_up_to_the_limit_whatever_its_size_is_said_to_be(tmp_path: Path) -> None:
    endless = Path("/proc/self/maps")
    assert endless.stat().st_size == 0
    assert len(read_beginning(endless, 10)) == 10
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        read_regular(endless, 10)
    with (tmp_path / "disk.img").open("wb") as file:
        file.truncate(8 * 1024**3)
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        read_regular(tmp_path / "disk.img")


def test_a_text_has_the_line_ends_of_any_system(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("é\r\nb\rc\n".encode())
    assert read_text(tmp_path / "a") == "é\nb\nc\n"
