"""`sould setup` where an editor keeps its settings in a place of its own: Flatpak's, or a server's that is worked on over SSH."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from soultest.cliuser import User
from soultest.world import SOULD

USUAL = {
    "zed": "config/zed/settings.json",
    "vscodium": "config/VSCodium/User/settings.json",
    "kate": "config/kate/lspclient/settings.json",
    "cursor": "config/Cursor/User/settings.json",
}
BOXES = {
    "zed": (".var/app/dev.zed.Zed", "config/zed/settings.json"),
    "vscodium": (".var/app/com.vscodium.codium", "config/VSCodium/User/settings.json"),
    "kate": (".var/app/org.kde.kate", "config/kate/lspclient/settings.json"),
    "cursor": (".cursor-server", "data/Machine/settings.json"),
}


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def tree(home: Path) -> dict[str, str]:
    """Every file of the user's, but for the daemon's own."""
    own = {home / name for name in ("state", "run", "project", "cache")}
    found = (Path(folder, name) for folder, _, names in os.walk(home) for name in names)
    return {str(file): file.read_text() for file in found if not own & set(file.parents)}


def done(user: User, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    ended = user.sould("setup", *arguments, env=env)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("editor", BOXES)
def test_an_editor_that_is_installed_elsewhere_gets_it_there_and_nowhere_else(user: User, editor: str) -> None:
    folder, file = BOXES[editor]
    path = write(user.home / folder / file, "{}\n")
    before = tree(user.home)
    said = done(user, editor)
    assert "It was not found here" not in said
    assert str(SOULD) in path.read_text()
    assert not (user.home / USUAL[editor]).exists()
    assert "answers: sould " in done(user, editor, "--check")
    assert "set up already" in done(user, editor)
    if editor != "kate":
        assert user.finding("editors")["level"] == "ok"
    done(user, editor, "--undo")
    assert tree(user.home) == before


def test_an_editor_in_a_sandbox_starts_sould_outside_of_it(user: User) -> None:
    path = write(user.home / ".var/app/com.visualstudio.code/config/Code/User/settings.json", "{}")
    done(user, "vscode")
    entry = json.loads(path.read_text())["acp.agents"]["sould"]
    assert [entry["command"], *entry["args"]] == ["flatpak-spawn", "--host", str(SOULD), "acp"]


def test_an_editor_that_is_there_twice_is_connected_twice_and_taken_back_twice(user: User) -> None:
    write(user.home / USUAL["zed"], "{}\n")
    write(user.home / ".var/app/dev.zed.Zed/config/zed/settings.json", "{}")
    before = tree(user.home)
    said = done(user, "zed")
    assert "Zed: sould is set up" in said
    assert "Zed (Flatpak): sould is set up" in said
    done(user, "zed", "--undo")
    assert tree(user.home) == before


def test_in_the_terminal_of_a_sandbox_the_users_own_settings_are_meant(user: User) -> None:
    path = write(user.home / ".config/zed/settings.json", "{}")
    sandbox = user.home / ".var/app/com.visualstudio.code/config"
    done(user, "zed", env={"XDG_CONFIG_HOME": str(sandbox)})
    assert str(SOULD) in path.read_text()
    assert not (sandbox / "zed").exists()


def test_an_editor_that_is_not_installed_is_set_up_and_that_is_said(user: User) -> None:
    assert "It was not found here" in done(user, "kate", env={"PATH": "/nowhere"})
