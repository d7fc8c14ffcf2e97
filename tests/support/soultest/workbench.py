"""VS Code's workbench, as code-server has it, in a real browser, with our extension installed as a user installs it.

Everything a person does is done by the page: keys, clicks, the palette. What is asserted is what the page shows, and the files.
`make test-vscode` installs what is needed (scripts/workbench.sh) and packages the extension.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright
from playwright.sync_api import TimeoutError as NotThere

from soultest.daemon import until
from soultest.world import SOULD, World

HOUSE: Final = Path(__file__).parents[3]
INSTALLED: Final = HOUSE / ".workbench"
CODE_SERVER: Final = INSTALLED / "node_modules" / ".bin" / "code-server"
VSIX: Final = HOUSE / "vscode-extension" / "dist" / "sould.vsix"
FAILURES: Final = INSTALLED / "failures"
CHROMIUM: Final = "/usr/bin/chromium"

PATIENCE: Final = 60.0
"""Seconds for what a person waits for a moment for, on a busy machine (D46)."""

A_MOMENT: Final = 3_000.0
"""Milliseconds in which the palette has sorted what it lists."""

Failed: TypeAlias = Callable[[], str]
"""Under which name a test has failed; "" where it has not."""

SETTINGS: Final = {
    "workbench.startupEditor": "none",
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "extensions.ignoreRecommendations": True,
    "update.mode": "none",
    "workbench.tips.enabled": False,
    "workbench.enableExperiments": False,
    "chat.disableAIFeatures": True,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.reduceMotion": "on",
    "files.autoSave": "off",
    "window.confirmBeforeClose": "never",
    "editor.minimap.enabled": False,
    "editor.stickyScroll.enabled": False,
    "remote.autoForwardPorts": False,
    "workbench.colorTheme": "Default Dark Modern",
}
"""A new user's, without what asks for attention at the first start; nothing of it is about our extension."""

GALLERY: Final = json.dumps(
    dict.fromkeys(["serviceUrl", "itemUrl", "resourceUrlTemplate", "controlUrl", "recommendationsUrl"], "")
)
"""No marketplace: otherwise each start asks one."""

FLAGS: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@contextmanager
def new_world() -> Generator[World]:
    """A user with an empty project in git, and sould where installers put it."""
    root = Path(tempfile.mkdtemp(prefix="sould-vscode-"))
    made = World(root)
    # VS Code takes its PATH from the login shell, which is that of this system.
    programs = root / ".local" / "bin"
    programs.mkdir(parents=True)
    (programs / "sould").symlink_to(SOULD)
    subprocess.run(["git", "init", "-q", str(made.project)], check=True)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(root, ignore_errors=True)


@contextmanager
def chromium() -> Generator[Browser]:
    """A browser without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def install(root: Path, *more: Path) -> Path:
    """Install the extension, and `more`, into a directory of extensions, to be copied for each workbench."""
    for needed in (CODE_SERVER, VSIX):
        if not needed.exists():
            pytest.skip(f"{needed.name} is not there: make test-vscode")
    extensions = root / "extensions"
    environment = {**os.environ, "HOME": str(root), "EXTENSIONS_GALLERY": GALLERY, "PATH": _path()}
    command = [CODE_SERVER, "--user-data-dir", root / "data", "--extensions-dir", extensions]
    wanted = [argument for each in (VSIX, *more) for argument in ("--install-extension", each)]
    run = [*command, "--config", root / "none.yaml", *wanted]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return extensions


def _path() -> str:
    return os.pathsep.join([str(INSTALLED / "bin"), os.environ["PATH"]])


class Server:
    """One code-server, on a port of its own choice."""

    def __init__(
        self,
        world: World,
        extensions: Path,
        settings: dict[str, object],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`environment`: what it is started with, instead of the world's."""
        self.data = world.root / "code"
        user = self.data / "User"
        user.mkdir(parents=True)
        (user / "settings.json").write_text(json.dumps(SETTINGS | settings))
        shutil.copytree(extensions, world.root / "extensions")
        (world.root / "code.yaml").write_text("bind-addr: 127.0.0.1:0\nauth: none\ncert: false\n")
        command = [
            *(
                INSTALLED / "bin" / "node",
                CODE_SERVER.resolve(),
                "--config",
                world.root / "code.yaml",
                "--auth",
                "none",
                "--bind-addr",
                "127.0.0.1:0",
            ),
            *("--user-data-dir", self.data, "--extensions-dir", world.root / "extensions"),
            *("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"),
            *([] if settings.get("security.workspace.trust.enabled") else ["--disable-workspace-trust"]),
        ]
        given = world.environment | {"PATH": _path()} if environment is None else environment
        self.process = subprocess.Popen(
            command,
            env={**given, "EXTENSIONS_GALLERY": GALLERY},
            cwd=world.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = until(self._listening, PATIENCE, "code-server")

    def _read(self) -> None:
        assert self.process.stdout is not None
        self.said.extend(self.process.stdout)

    def _listening(self) -> str:
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+)", "".join(self.said))
        return found[1] if found else ""

    def choose(self, settings: dict[str, object]) -> None:
        """Windows that are opened from now on have these settings, too."""
        path = self.data / "User" / "settings.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | settings))

    def close(self) -> None:
        """End it, and all that it started: extensions that outlive it would start a daemon in place of one that was ended."""
        os.killpg(self.process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(20)
        self._reader.join(20)
        assert self.process.stdout is not None
        self.process.stdout.close()


_STORED: Final = """async (text) => {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  for (const { name } of await indexedDB.databases()) {
    const database = await done(indexedDB.open(name));
    for (const store of database.objectStoreNames) {
      const values = await done(database.transaction(store).objectStore(store).getAll());
      if (values.some((value) => JSON.stringify(value ?? null).includes(text))) {
        return true;
      }
    }
    database.close();
  }
  return false;
}"""


_PAINTED: Final = """(editor) => {
  const top = (node) => Math.round(node.getBoundingClientRect().top);
  const lines = new Map([...editor.querySelectorAll(".view-line")].map((line) => [top(line), line]));
  const ours = [...editor.querySelectorAll('.view-overlays .cdr[class*="TextEditorDecorationType"]')];
  const painted = ours.filter((node) => getComputedStyle(node).backgroundColor !== "rgba(0, 0, 0, 0)");
  const notes = [...editor.querySelectorAll(".view-line span")].filter((node) => {
    const { content } = getComputedStyle(node, "::after");
    return content !== "none" && content.includes("\\u2212");
  });
  const marked = new Set([...painted, ...notes.map((node) => node.closest(".view-line"))].map(top));
  const tops = [...marked].sort((a, b) => a - b);
  return tops.map((each) => (lines.get(each)?.textContent ?? "").replaceAll("\\u00a0", " "));
}"""


_TEXT: Final = """(editor) => {
  const top = (line) => line.getBoundingClientRect().top;
  const lines = [...editor.querySelectorAll(".view-line")].sort((one, other) => top(one) - top(other));
  return lines.map((line) => line.textContent.replaceAll("\\u00a0", " ")).join("\\n");
}"""


class Workbench:
    """A window of VS Code with a folder open."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def editor(self) -> Locator:
        """The editor that was used last."""
        return self.page.locator(".editor-group-container.active .editor-instance").first

    def palette(self, command: str) -> None:
        """Runs a command by its title, once it can be run: the list has what could be when it was opened."""
        until(lambda: self._found(command), PATIENCE, f"the command {command}")
        self.page.locator(".quick-input-list .monaco-list-row", has_text=command).first.click()

    def _found(self, command: str) -> bool:
        self.page.keyboard.press("F1")
        box = self.page.locator(".quick-input-widget input").first
        expect(box).to_be_visible()
        box.fill(f">{command}")
        found = self.page.locator(".quick-input-list .monaco-list-row", has_text=command).first
        try:
            found.wait_for(timeout=A_MOMENT)
        except NotThere:
            self.page.keyboard.press("Escape")
            expect(box).to_be_hidden()
            return False
        return True

    def open(self, name: str) -> None:
        """Opens a file of the folder, with the cursor in it."""
        self.page.keyboard.press("Control+p")
        box = self.page.locator(".quick-input-widget input").first
        expect(box).to_be_visible()
        box.fill(name)
        expect(self.page.locator(".quick-input-list .monaco-list-row", has_text=name).first).to_be_visible()
        self.page.keyboard.press("Enter")
        expect(self.tab(name)).to_be_visible()
        expect(self.editor.locator(".view-lines")).to_be_visible()

    def tab(self, name: str) -> Locator:
        """The active tab, if it has this name."""
        return self.page.locator(".tab.active", has_text=name)

    def go(self, line: int) -> None:
        """Puts the cursor at the end of a line, counted from 1."""
        self.page.keyboard.press("Control+g")
        box = self.page.locator(".quick-input-widget input").first
        expect(box).to_be_visible()
        box.fill(f":{line}")
        self.page.keyboard.press("Enter")
        expect(self.page.locator(".quick-input-widget")).to_be_hidden()
        # Until VS Code knows where the cursor is, it loses an Enter: one of eight here.
        expect(self.status(f"Ln {line}, Col")).to_be_visible()
        self.page.keyboard.press("End")

    def type(self, text: str) -> None:
        """Types where the cursor is."""
        self.page.keyboard.type(text, delay=10)

    def key(self, key: str) -> None:
        self.page.keyboard.press(key)

    def lenses(self, title: str | re.Pattern[str]) -> Locator:
        """The words above hunks that have this text."""
        return self.page.locator(".editor-group-container.active .codelens-decoration a", has_text=title)

    def shows(self, *lines: str) -> None:
        """Waits until each of these stands in a line of the active editor."""
        for line in lines:
            expect(self.line(line)).to_be_visible()

    def line(self, text: str) -> Locator:
        """A line of the active editor, by its text. VS Code draws blanks as non-breaking ones."""
        pattern = re.compile(re.escape(text).replace(r"\ ", "[ \u00a0]"))
        return self.editor.locator(".view-line", has_text=pattern).first

    def text(self) -> str:
        """The text of the active editor, as far as it is in sight."""
        return str(self.editor.evaluate(_TEXT))

    def painted(self) -> list[str]:
        """The lines of the active editor that are drawn as written by an agent, or have a note of what was removed there."""
        return [str(line) for line in self.editor.evaluate(_PAINTED)]

    def status(self, text: str) -> Locator:
        """A part of the status bar."""
        return self.page.locator(".statusbar-item", has_text=text)

    def has_stored(self, text: str) -> bool:
        """Whether VS Code has written this into the browser's storage, where its state outlives a reload."""
        return bool(self.page.evaluate(_STORED, text))

    def leave(self) -> None:
        """The user works in another window from now on, as far as VS Code is told."""
        self.page.evaluate("document.hasFocus = () => false; window.dispatchEvent(new Event('blur'))")

    def toast(self, text: str) -> Locator:
        """A notification."""
        return self.page.locator(".notification-toast", has_text=text)

    def focused(self) -> str:
        """What has the focus: its classes."""
        return str(self.page.evaluate("document.activeElement?.className ?? ''"))

    def tree(self, text: str | re.Pattern[str]) -> Locator:
        """A row of one of our views."""
        return self.page.locator(".pane-body .monaco-list-row", has_text=text)

    def show_sould(self) -> None:
        """Opens our views by a click on their icon."""
        self.page.locator('.activitybar a.action-label[aria-label^="sould"]').click(force=True)
        expect(self.page.locator(".pane-header", has_text="Changes")).to_be_visible()


@contextmanager
def window(server: Server, browser: Browser, folder: Path, zoom: int = 1, language: str = "") -> Generator[Workbench]:
    """A window of the folder, on a screen of 1280 x 800, zoomed as browsers do; in a language that VS Code itself need not know."""
    context = browser.new_context(
        viewport={"width": 1280 // zoom, "height": 800 // zoom},
        device_scale_factor=zoom,
        permissions=["clipboard-read", "clipboard-write"],  # as its user says when the browser asks
    )
    context.set_default_timeout(PATIENCE * 1000)
    expect.set_options(timeout=PATIENCE * 1000)
    try:
        page = context.new_page()
        if language:
            page.add_init_script(f"globalThis._VSCODE_NLS_LANGUAGE = {json.dumps(language)}")
        page.goto(f"{server.address}/?folder={folder}")
        expect(page.locator(".monaco-workbench")).to_be_visible()
        expect(page.locator(".explorer-folders-view .monaco-list-row").first).to_be_visible()
        yield Workbench(page)
    finally:
        context.close()


@contextmanager
def windows(server: Server, browser: Browser, world: World, failed: Failed) -> Generator[Callable[[], Workbench]]:
    """Opens windows of the project, all of one VS Code. Of a test that `failed` it is kept what they looked like."""
    opened: list[Workbench] = []
    with ExitStack() as stack:

        def another() -> Workbench:
            opened.append(stack.enter_context(window(server, browser, world.project)))
            return opened[-1]

        yield another
        if name := failed():
            keep(opened, server, name)


def keep(opened: list[Workbench], server: Server, name: str) -> None:
    """What the windows looked like when a test failed, and VS Code's logs, go below .workbench/failures."""
    where = FAILURES / name
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    for number, each in enumerate(opened):
        each.page.screenshot(path=where / f"{number}.png")
    logs = server.data / "logs"
    if logs.exists():
        shutil.copytree(logs, where / "logs")
