"""The manual page says what the commands' help says."""

import shutil
import subprocess

import pytest
from manpage import PAGE, page

from sould.daemon.cli.main import COMMANDS


def test_it_is_as_make_manpage_writes_it() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: make manpage"


@pytest.mark.skipif(shutil.which("man") is None, reason="there is no man here")
def test_man_shows_each_command() -> None:
    shown = subprocess.run(
        ["man", "-l", PAGE], env={"PATH": "/usr/bin:/bin", "MANWIDTH": "100"}, capture_output=True, text=True
    )
    for name in COMMANDS:
        assert f"sould {name}" in shown.stdout.replace("\x08", ""), shown.stderr
