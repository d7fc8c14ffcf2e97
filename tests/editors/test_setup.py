"""`sould setup` in front of real editors: what it wrote makes them start sould, and they say so themselves."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from soultest.editors.helix import helix
from soultest.editors.scene import AFTER, BEFORE, PROGRAMS
from soultest.screen import screen
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

PLUGINS = [
    ("neovim", "nvim-0.10", "nvim", "-i NONE -n"),
    ("neovim", "nvim-0.12", "nvim", "-i NONE -n"),
    ("emacs", "emacs-28", "emacs", "-nw"),
    ("emacs", "emacs-30", "emacs", "-nw"),
]
LANGUAGES = """\
# mine
[[language]]
name = "python"
language-servers = [ # none of my own
]

[language-server.other]
command = "other"

[[language]]
name = "rust" # and a comment
auto-format = true
"""


@pytest.fixture
def world() -> Generator[World]:
    """A user with a project in which an agent has changed a file."""
    root = Path(tempfile.mkdtemp(prefix="sould-setup-"))
    made = World(root)
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    (made.project / "area.py").write_text(BEFORE)
    (root / "bin").mkdir()
    made.environment["PATH"] = os.pathsep.join([str(root / "bin"), made.environment["PATH"]])
    made.script([call("WriteFile", "w", path="area.py", content=AFTER), "text: Done."])
    made.start()
    assert made.sould("run", "--mode", "review", "improve it").returncode == 0
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


def installed(world: World, name: str, command: str) -> Path:
    """That editor, as the user calls it."""
    if not (PROGRAMS / name).exists():
        pytest.skip(f"{name} is not installed: make test-editors")
    link = world.root / "bin" / command
    link.symlink_to(PROGRAMS / name)
    return link


def done(world: World, *arguments: str) -> str:
    ended = world.sould("setup", *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize(("editor", "name", "command", "options"), PLUGINS, ids=[row[1] for row in PLUGINS])
def test_an_editor_with_a_plugin_shows_hunks_after_one_command(
    world: World, editor: str, name: str, command: str, options: str
) -> None:
    installed(world, name, command)
    done(world, editor)
    assert f"{SOULD} lsp answers: sould" in done(world, editor, "--check")
    with screen(world, f"exec {command} {options} area.py", world.project) as shown:
        shown.wait("return abs(w * h)", "return w * h")
    done(world, editor, "--undo")
    with screen(world, f"exec {command} {options} area.py", world.project, "again") as shown:
        assert "return w * h" not in shown.wait("return abs(w * h)", "area.py")
    assert "nothing to take back" in world.sould("setup", editor, "--undo").stderr


@pytest.mark.parametrize(("editor", "name", "command", "options"), PLUGINS, ids=[row[1] for row in PLUGINS])
def test_a_check_says_what_the_editor_says(world: World, editor: str, name: str, command: str, options: str) -> None:
    del options
    installed(world, name, command)
    done(world, editor)
    (written,) = [*world.root.glob("config/nvim/plugin/sould.lua"), *world.root.glob(".emacs.d/init.el")]
    written.write_text(written.read_text().replace("/editors/", "/gone/"))
    ended = world.sould("setup", editor, "--check")
    assert ended.returncode == 1
    assert "with its configuration" in ended.stderr
    assert "does not load sould" in ended.stderr


def test_helix_has_the_actions_beside_its_own_servers(world: World) -> None:
    program = installed(world, "hx", "hx")
    file = world.root / "config" / "helix" / "languages.toml"
    file.parent.mkdir(parents=True)
    file.write_text(LANGUAGES)
    done(world, "helix")
    assert f"{SOULD} lsp answers: sould" in done(world, "helix", "--check")
    text = file.read_text()
    assert 'language-servers = ["rust-analyzer", "sould"]\nname = "rust" # and a comment\n' in text
    assert 'name = "go"\nlanguage-servers = ["gopls", "golangci-lint-lsp", "sould"]\n' in text
    with helix(world, program, text, world.project / "area.py") as editor:
        editor.ready()
        editor.go(2)
        assert any(title.startswith("Keep") for title in editor.offered())
    file.write_text(text.replace("# mine", "# changed"))
    done(world, "helix", "--undo")
    assert file.read_text() == LANGUAGES.replace("# mine", "# changed")


def test_helix_says_itself_which_servers_a_language_has(world: World) -> None:
    """What is asked is still answered as it was: each language that gets sould keeps the others."""
    program = installed(world, "hx", "hx")

    def servers(language: str) -> str:
        ended = subprocess.run([program, "--health", language], env=world.environment, capture_output=True, text=True)
        return ended.stdout.split("Configured debug")[0]

    before = {language: servers(language) for language in ("python", "tsx", "bash")}
    done(world, "helix")
    for language, had in before.items():
        has = servers(language)
        assert all(line in has for line in had.splitlines())
        assert str(SOULD) in has
