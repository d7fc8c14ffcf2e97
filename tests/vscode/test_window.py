"""What a window does beside review and chat: the environment it gives agents, following them, its log, and the ways into the chat."""

import re
import subprocess
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from soultest.chatpanel import ChatPanel, open_chat
from soultest.daemon import until
from soultest.workbench import PATIENCE, Workbench
from soultest.world import World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]


def begun(world: World, open_window: Open, *scripts: str) -> Workbench:
    """A window of a project with two files."""
    (world.project / "here.txt").write_text("here\n")
    (world.project / "notes.txt").write_text("".join(f"note {number}\n" for number in range(1, 61)))
    world.script(scripts)
    world.start()
    window = open_window()
    expect(window.status("sould")).to_be_visible()  # before that, menus have nothing of ours
    return window


class TestStartedFromTheDesktop:
    """VS Code has nothing but what a session of a desktop gives it; what the user has set up is in their login shell."""

    @pytest.fixture
    def environment(self, world: World) -> dict[str, str]:
        programs = world.root / "programs"
        programs.mkdir()
        (programs / "of-the-profile").write_text("#!/bin/sh\necho found\n")
        (programs / "of-the-profile").chmod(0o755)
        own = [f"export {name}='{value}'" for name, value in world.environment.items() if name.startswith("XDG_")]
        profile = [*own, f'export PATH="{programs}:$PATH"', "export FROM_PROFILE=yes"]
        (world.root / ".profile").write_text("\n".join(profile) + "\n")
        given = {"XDG_RUNTIME_DIR": world.environment["XDG_RUNTIME_DIR"]}  # VS Code takes this one from no shell
        return given | {"HOME": str(world.root), "PATH": "/usr/bin:/bin", "SHELL": "/bin/bash", "LANG": "C.UTF-8"}

    def test_agents_have_what_the_login_shell_has(self, world: World, open_window: Open) -> None:
        command = call("Shell", "s", command='echo "$(of-the-profile), $FROM_PROFILE" > said.txt')
        window = begun(world, open_window, command, "text: Done.")
        panel = open_chat(window)
        panel.prompt("What have you got?")
        panel.approve()
        expect(panel.says("Done.")).to_be_visible()
        assert (world.project / "said.txt").read_text() == "found, yes\n"


def test_the_agent_is_followed_where_the_user_says_so(world: World, open_window: Open) -> None:
    window = begun(world, open_window, call("ReadFile", "r", path="notes.txt", line_offset=50), "text: I have read it.")
    panel = open_chat(window)
    window.page.locator('a.action-label[aria-label="Follow the Agent"]:visible').click()
    expect(window.page.locator('a.action-label[aria-label="Stop Following the Agent"]:visible')).to_have_count(1)
    panel.prompt("Read it")
    expect(panel.says("I have read it.")).to_be_visible()
    expect(window.page.locator(".tab", has_text="notes.txt")).to_be_visible()
    expect(window.page.locator(".view-line", has_text=re.compile("note[ \u00a0]50"))).to_be_visible()
    assert "webview" in window.focused()


def test_the_log_says_what_passes_and_nothing_of_what_it_says(world: World, open_window: Open) -> None:
    window = begun(world, open_window, "text: A whispered answer.")
    window.palette("Developer: Set Log Level...")
    window.page.locator('.quick-input-list .monaco-list-row[aria-label^="Trace"]').click()
    panel = open_chat(window)
    panel.prompt("A whispered question")
    expect(panel.says("A whispered answer.")).to_be_visible()
    [log] = (world.root / "code" / "logs").rglob("sould.sould/sould.log")
    until(lambda: "<- session/prompt answered" in log.read_text(), PATIENCE, "the answer in the log")
    text = log.read_text()
    assert re.search(r"-> session/prompt\? in \S+ \d+ characters", text)
    assert "<- session/update agent_message_chunk in" in text
    assert "whispered" not in text
    window.palette("sould: Show Log")
    lines = window.page.locator('.output-view[aria-label="sould - Output"]')
    window.palette("Output: Focus on Output View")
    window.key("Control+f")  # VS Code draws the lines in view only
    window.type("session/prompt\n")
    expect(lines).to_contain_text("session/prompt")


def test_files_terminals_and_links_lead_into_the_composer(world: World, open_window: Open) -> None:
    window = begun(world, open_window, "text: I see.")
    window.page.locator(".explorer-folders-view .monaco-list-row", has_text="notes.txt").click(button="right")
    window.page.locator(".monaco-menu a.action-menu-item", has_text="Add File to Chat").hover()
    window.key("Enter")  # a menu that has just opened takes no click
    panel = ChatPanel(window)
    expect(panel.page.locator(".chip", has_text="notes.txt")).to_be_visible()
    window.palette("Terminal: Create New Terminal")
    terminal = window.page.locator(".terminal-wrapper .xterm-screen")
    terminal.click()
    window.type("echo said-$((40 + 2))\n")
    expect(window.page.locator(".terminal-command-decoration").first).to_be_visible()
    window.palette("Terminal: Select All")
    window.palette("sould: Add Terminal Selection to Chat")
    expect(panel.field).to_have_value(re.compile("said-42"))
    assert not panel.page.locator("article.user").count()


def test_a_commit_message_is_written_into_the_source_control_box(world: World, open_window: Open) -> None:
    write = call("WriteFile", "w", path="here.txt", content="there\n")
    window = begun(world, open_window, write, "text: Done.", "text: Say there, not here")
    git = ["git", "-C", str(world.project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "Notes"], check=True)
    assert world.sould("run", "--mode", "review", "Say there").returncode == 0
    window.open("here.txt")
    window.lenses("Keep").click()
    expect(window.lenses("Keep")).to_have_count(0)
    window.key("Control+Shift+g")
    window.page.locator('a.action-label[aria-label^="Write Commit Message From Kept Changes"]').first.click()
    expect(window.page.locator(".scm-editor .view-lines")).to_contain_text(
        re.compile("Say[ \u00a0]there,[ \u00a0]not[ \u00a0]here")
    )


@pytest.mark.parametrize(
    "settings", [{"security.workspace.trust.enabled": True, "security.workspace.trust.startupPrompt": "never"}]
)
def test_agents_ask_before_everything_until_their_user_trusts_the_workspace(world: World, open_window: Open) -> None:
    first = call("WriteFile", "w", path="one.txt", content="one\n")
    second = call("WriteFile", "v", path="two.txt", content="two\n")
    window = begun(world, open_window, first, "text: One.", second, "text: Two.")
    panel = open_chat(window)
    panel.prompt("Write one")
    panel.approve()
    expect(panel.says("One.")).to_be_visible()
    window.status("Restricted Mode").click()
    window.page.locator(".workspace-trust-editor a.monaco-button", has_text="Trust").first.click()
    expect(window.status("Restricted Mode")).to_have_count(0)
    window.page.locator(".monaco-modal-editor-block a.action-label.codicon-close").first.click()
    panel.prompt("Write two")
    expect(panel.says("Two.")).to_be_visible()
    expect(panel.question).to_have_count(0)
    assert "is not trusted" in world.sould("trust", "--show").stdout


def test_a_mistake_in_the_configuration_leads_to_its_line(world: World, open_window: Open) -> None:
    (world.project / "here.txt").write_text("here\n")
    world.script(["text: Done."])
    config = world.root / "config" / "sould" / "config.toml"
    right = config.read_text()
    config.write_text(f"{right}\n[loop_controls]\n")
    line = len(config.read_text().splitlines())
    window = open_window()
    panel = open_chat(window)
    panel.prompt("Hello")
    toast = window.toast("loop_controls")
    expect(toast).to_be_visible()
    toast.locator("a.monaco-button", has_text="Open").click()
    expect(window.tab("config.toml")).to_be_visible()
    expect(window.status(f"Ln {line}, Col 1")).to_be_visible()
    expect(window.page.locator(".squiggly-error").first).to_be_visible()
    window.key("Control+a")
    window.page.keyboard.insert_text(right)
    window.key("Control+s")
    expect(window.page.locator(".squiggly-error")).to_have_count(0)
    panel.prompt("Hello again")
    expect(panel.says("Done.")).to_be_visible()
