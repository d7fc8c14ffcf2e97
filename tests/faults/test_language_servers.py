"""Language servers through the real daemon: none outlives it, none costs anything before it is asked, none is left by a restart."""

import os
import sys
from pathlib import Path

import pytest

from soultest.cliuser import User
from soultest.daemon import Sould, until
from soultest.languageservers import SERVER
from soultest.world import call

HOVER = call("hover", "1", file="a.py", anchor={"line": 1, "column": 1})


def servers(notes: Path) -> list[int]:
    """The processes of language servers that write down there what they are told."""
    found: list[int] = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(SERVER) in words and os.fsencode(notes) in words:
            found.append(int(entry))
    return found


def asking(sould: Sould, mode: str) -> tuple[User, Path]:
    """A user of a trusted project, with this language server, whose model asks it something in each turn."""
    user = User(sould)
    notes = user.home / "notes"
    notes.mkdir()
    words = ", ".join(f'"{word}"' for word in (sys.executable, SERVER, mode, str(notes)))
    user.daemon.world.script([HOVER, "text: done"] * 3, f"[languageservers.commands]\npython = [{words}]\n")
    (user.project / "a.py").write_text("one\n")
    assert user.sould("trust").returncode == 0
    return user, notes


@pytest.mark.parametrize("mode", ["ok", "clinging"])
def test_a_killed_daemon_leaves_no_language_server(sould: Sould, mode: str) -> None:
    user, notes = asking(sould, mode)
    assert user.sould("run", "look").returncode == 0
    [pid] = servers(notes)
    user.daemon.kill9()
    until(lambda: not servers(notes), what="the end of the server")
    assert user.sould("run", "look").returncode == 0  # the next daemon starts one of its own
    assert servers(notes) != [pid]


def test_a_stopped_daemon_leaves_no_language_server(sould: Sould) -> None:
    user, notes = asking(sould, "clinging")
    assert user.sould("run", "look").returncode == 0
    assert len(servers(notes)) == 1
    assert user.sould("stop").returncode == 0
    until(lambda: not servers(notes), what="the end of the server")


def test_two_sessions_share_one_and_a_session_that_asks_nothing_starts_none(sould: Sould) -> None:
    user, notes = asking(sould, "ok")
    user.daemon.start()
    assert not servers(notes)
    assert user.sould("run", "look").returncode == 0
    first = servers(notes)
    assert user.sould("run", "look").returncode == 0
    assert len(first) == 1
    assert servers(notes) == first
