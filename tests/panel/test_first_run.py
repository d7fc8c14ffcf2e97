"""The panel of somebody who has no model yet: a key is pasted, kept as the command line keeps it, and never shown."""

import json
import stat

import pytest
from playwright.sync_api import WebSocketRoute, expect

from soultest.world import World

from .conftest import Open

pytestmark = [pytest.mark.panel, pytest.mark.timeout(300)]

TYPED = """() => new Promise((resolve) => {
    const type = () => {
        const field = document.querySelector("textarea");
        if (field === null) return requestAnimationFrame(type);
        field.focus();
        field.value = "typed at once";
        resolve(true);
    };
    type();
})"""
KEY = "sk-very-secret-0123456789"


def test_a_key_is_pasted_kept_after_consent_and_nowhere_shown(world: World, open_panel: Open) -> None:
    world.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    world.environment["HTTPS_PROXY"] = "http://127.0.0.1:9"  # no service is asked about the key
    panel = open_panel(width=380)
    panel.send("Hello")
    form = panel.page.get_by_role("form", name="A key")
    form.get_by_label("Provider").select_option("openai")
    form.get_by_label("Key", exact=True).fill(KEY)
    form.get_by_role("button", name="Keep the key").press("Enter")

    alert = panel.page.get_by_role("alert").filter(has_text="--file")
    expect(alert).to_be_visible()
    file = world.root / "state" / "sould" / "credentials.json"
    assert not file.exists()

    form.get_by_role("checkbox").check()
    form.get_by_role("button", name="Keep the key").click()

    expect(panel.composer).to_be_visible()
    expect(form).to_have_count(0)
    assert KEY in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert KEY not in panel.page.content()
    logs = (world.root / "state" / "sould" / "log").glob("*")
    assert all(KEY not in log.read_text() for log in logs)


def test_any_server_that_answers_as_openais_does_is_named_by_its_address(world: World, open_panel: Open) -> None:
    world.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    panel = open_panel(width=380)
    panel.send("Hello")
    form = panel.page.get_by_role("form", name="A key")
    form.get_by_label("Provider").select_option("")
    form.get_by_label("Address").fill("http://127.0.0.1:9/v1")
    form.get_by_label("Model").fill("small")
    form.get_by_label("Key", exact=True).fill(KEY)
    form.get_by_role("checkbox").check()
    form.get_by_role("button", name="Keep the key").click()

    expect(form).to_have_count(0)
    assert KEY in (world.root / "state" / "sould" / "credentials.json").read_text()
    assert 'base_url = "http://127.0.0.1:9/v1"' in (world.root / "config" / "sould" / "config.toml").read_text()


def test_what_is_typed_before_the_app_is_there_is_its_draft(open_panel: Open) -> None:
    panel = open_panel()
    panel.page.route("**/panel.js", lambda route: panel.page.evaluate(TYPED) and route.continue_())
    panel.page.reload()
    expect(panel.composer).to_have_value("typed at once")
    expect(panel.composer).to_be_focused()


def test_where_sould_is_missing_the_panel_offers_to_install_it(open_panel: Open) -> None:
    """The browser's panel has no such state: what VS Code says and answers is said here in its place."""
    panel = open_panel(width=380)
    asked: list[str] = []

    def link(socket: WebSocketRoute) -> None:
        missing = {"state": "missing", "problem": "sould was not found.", "version": ""}
        socket.on_message(lambda said: asked.append(json.loads(said)["method"]))
        socket.send(json.dumps({"jsonrpc": "2.0", "method": "_panel/connection", "params": missing}))

    panel.page.route_web_socket("**/link*", link)
    panel.page.reload()
    banner = panel.page.get_by_role("alert").filter(has_text="sould was not found.")
    banner.get_by_role("button", name="Install").press("Enter")
    expect(banner.get_by_role("button", name="Installing…")).to_be_disabled()
    assert "_panel/install" in asked
