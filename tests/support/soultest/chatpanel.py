"""The agent panel in VS Code's workbench, as its user sees it: a page within the page."""

import re
from typing import Final

from playwright.sync_api import FrameLocator, Locator, Page, expect

from soultest.panelpage import APP
from soultest.workbench import Workbench

VIEW: Final = "iframe.webview"


class ChatPanel:
    """One panel of a window; the newest one opened has the highest number. `page`: of another window that belongs to it."""

    def __init__(self, window: Workbench, number: int = 0, page: Page | None = None) -> None:
        self.window = window
        self.page: FrameLocator = (
            (page or window.page).locator(VIEW).nth(number).content_frame.locator("iframe#active-frame").content_frame
        )

    @property
    def field(self) -> Locator:
        """Where the user writes."""
        return self.page.locator(APP).get_by_role("textbox", name="Message", exact=True)

    @property
    def question(self) -> Locator:
        """The permission that waits."""
        return self.page.get_by_role("alertdialog")

    def says(self, text: str | re.Pattern[str]) -> Locator:
        """What the agent said, if it has this text."""
        return self.page.locator("article.agent", has_text=text)

    def asked(self, text: str) -> Locator:
        """What the user said, if it has this text."""
        return self.page.locator("article.user", has_text=text)

    def call(self, text: str | re.Pattern[str]) -> Locator:
        """The card of a call, if it has this text."""
        return self.page.locator("section.tool", has_text=text)

    def prompt(self, text: str) -> None:
        """Writes it and sends it."""
        self.field.click()
        self.field.fill(text)
        self.field.press("Enter")

    def approve(self) -> None:
        """Allows what waits, once."""
        expect(self.question).to_be_visible()
        self.question.get_by_role("button", name="Allow once").click()


def open_chat(window: Workbench) -> ChatPanel:
    """Opens the chat in its side bar, from the palette."""
    window.palette("sould: Open Chat")
    panel = ChatPanel(window)
    expect(panel.field).to_be_visible()
    return panel
