"""From the .vsix to the first reviewed change, as somebody goes who has neither sould nor a key of it yet."""

import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from soultest.chatpanel import ChatPanel
from soultest.daemon import until
from soultest.faulty import asked_of, model_server
from soultest.wheelhouse import fill
from soultest.workbench import PATIENCE, Workbench
from soultest.world import World

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(600)]

Open = Callable[[], Workbench]

KEY = "sk-very-secret-0123456789"
CONFIG = """\
default_model = "first"

[models.first]
provider = "openai"
model = "test-model"
max_context_size = 100000

[providers.openai]
type = "openai_legacy"
base_url = "{url}"
api_key_env = "NOT_SET_ANYWHERE"
"""
"""A server of the test's own in the place of OpenAI's."""


@pytest.fixture
def environment(world: World, tmp_path: Path) -> dict[str, str]:
    """What a session of a desktop has; what the user has set up is in their login shell."""
    (world.root / ".local" / "bin" / "sould").unlink()
    programs, wheels = tmp_path / "programs", tmp_path / "wheels"
    for each in (programs, wheels):
        each.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {Path(sys.executable).resolve()} "$@"\n')
    (programs / "python3").chmod(0o755)
    own = {name: value for name, value in world.environment.items() if name.startswith("XDG_")}
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "UV_OFFLINE": "1", "UV_FIND_LINKS": str(wheels)}
    own |= offline | {"PATH": f"{programs}:{os.defpath}", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    profile = "".join(f"export {name}='{value}'\n" for name, value in own.items())
    (world.root / ".profile").write_text(profile)
    given = {"XDG_RUNTIME_DIR": world.environment["XDG_RUNTIME_DIR"]}  # VS Code takes this one from no shell
    return given | {"HOME": str(world.root), "PATH": os.defpath, "SHELL": "/bin/bash", "LANG": "C.UTF-8"}


@pytest.fixture
def model() -> Generator[str]:
    """Where a model answers."""
    with model_server() as url:
        yield url


def test_it_is_installed_signed_in_to_prompted_and_reviewed(
    world: World, open_window: Open, model: str, tmp_path: Path
) -> None:
    (world.project / "here.txt").write_text("here\n")
    config = Path(world.environment["XDG_CONFIG_HOME"]) / "sould"
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.toml").write_text(CONFIG.format(url=model))
    window = open_window()
    [lock] = (world.root / "extensions").glob("sould.sould-*/carried/runtime.lock")
    fill(tmp_path / "wheels", lock)  # there is no index to ask

    window.page.locator('.statusbar-item a[aria-label^="sould: Open the chat"]').click()
    toast = window.toast("not installed here")
    expect(toast).to_be_visible()
    panel = ChatPanel(window)
    expect(panel.page.get_by_role("alert").filter(has_text="not installed here")).to_be_visible()
    expect(panel.page.get_by_text("Open a folder")).to_have_count(0)  # one is
    toast.locator("a.monaco-button", has_text="Install").click()
    expect(window.status("sould is installed").or_(window.toast("could not be installed")).first).to_be_visible()
    expect(window.toast("could not be installed")).to_have_count(0)

    prompt = '[[tool:WriteFile {"path": "here.txt", "content": "there\\n"}]]'
    panel.prompt(prompt)
    form = panel.page.get_by_role("form", name="A key")
    form.get_by_label("Provider").select_option("openai")
    form.get_by_label("Key", exact=True).fill(KEY)
    form.get_by_role("checkbox").check()
    form.get_by_role("button", name="Keep the key").click()
    expect(form).to_have_count(0)

    panel.prompt(prompt)
    expect(panel.says("Done.")).to_be_visible()
    assert asked_of(model)[0]["headers"]["authorization"] == f"Bearer {KEY}"
    window.open("here.txt")
    window.lenses("Keep").click()
    expect(window.lenses("Keep")).to_have_count(0)
    assert (world.project / "here.txt").read_text() == "there\n"
    window.palette("Terminal: Create New Terminal")
    expect(window.page.locator(".terminal-wrapper .xterm-screen")).to_be_visible()
    window.type("sould --version > version.txt\n")
    version = world.project / "version.txt"
    until(lambda: version.exists() and version.read_text().startswith("sould"), PATIENCE, "sould in the terminal")
