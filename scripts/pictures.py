"""Takes the pictures of VS Code that README.md and docs/ show, in the workbench that `make test-vscode` drives.

A project, an agent with a script and a daemon of their own; nothing of the user's is read. Look at each picture before you commit it.
"""

import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Browser, expect

from soultest.chatpanel import open_chat
from soultest.daemon import Bridge
from soultest.workbench import Server, Workbench, chromium, install, new_world, window
from soultest.world import SOULD, World, call

FOLDER: Final = Path(__file__).parents[1] / "docs" / "images"
DARK, LIGHT = "Default Dark Modern", "Default Light Modern"
CONTRAST, CONTRAST_LIGHT = "Default High Contrast", "Default High Contrast Light"

OLD: Final = '''"""What is in the cart, and what it costs."""

from decimal import Decimal

from shop.catalogue import Item


class Cart:
    """Of one customer."""

    def __init__(self) -> None:
        self.items: list[Item] = []

    def add(self, item: Item) -> None:
        self.items.append(item)

    def debug(self) -> None:
        print(self.items)
        print(self.total())

    def total(self) -> Decimal:
        total = 0
        for item in self.items:
            total = total + item.price
        return total
'''
NEW: Final = (
    OLD.replace(
        "        total = 0\n        for item in self.items:\n            total = total + item.price\n        return total\n",
        "        return sum((item.price * item.count for item in self.items), Decimal())\n",
    )
    .replace(
        "        self.items.append(item)\n",
        '        if item.count < 1:\n            raise ValueError(f"{item.name}: {item.count} of it")\n        self.items.append(item)\n',
    )
    .replace("    def debug(self) -> None:\n        print(self.items)\n        print(self.total())\n\n", "")
)
ITEM: Final = "from decimal import Decimal\n\n\nclass Item:\n    name: str\n    price: Decimal\n"


def prepare(world: World) -> None:
    """A project in git, which an agent has just changed."""
    shop = world.project / "shop"
    shop.mkdir()
    (shop / "cart.py").write_text(OLD)
    (shop / "catalogue.py").write_text(ITEM)
    (world.project / "README.md").write_text("# Shop\n")
    git = ["git", "-C", str(world.project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "A shop"], check=True)
    item = {"old": "    price: Decimal\n", "new": "    price: Decimal\n    count: int = 1\n"}
    writes = [
        call("WriteFile", "w1", path="shop/cart.py", content=NEW),
        call("StrReplaceFile", "w2", path="shop/catalogue.py", edit=item),
    ]
    world.script(["\n".join(writes), "text: The total counts each item now."])
    world.start()
    run = world.sould("run", "--mode", "review", "Count items in the total")
    assert run.returncode == 0, run.stderr


@contextmanager
def asking(world: World) -> Generator[None]:
    """An agent in another project waits for an answer about a command."""
    elsewhere = world.root / "website"
    elsewhere.mkdir()
    world.script([call("Shell", "s", command="npm run build && rsync -a dist/ www:/srv/website"), "text: Done."])
    pipe = subprocess.PIPE
    with subprocess.Popen([SOULD, "acp"], env=world.environment, cwd=elsewhere, stdin=pipe, stdout=pipe) as process:
        bridge = Bridge(process)
        bridge.initialize()
        session = bridge.request(2, "session/new", cwd=str(elsewhere), mcpServers=[])["result"]["sessionId"]
        prompt = [{"type": "text", "text": "Publish the website"}]
        params = {"sessionId": session, "prompt": prompt}
        bridge.send({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": params})
        while b"session/request_permission" not in bridge.line():
            pass
        try:
            yield
        finally:
            bridge.close_input()
            bridge.wait()


def reviewed(shown: Workbench) -> None:
    """The file with its changes, and the view of all of them."""
    shown.show_sould()
    expect(shown.tree("cart.py")).to_be_visible()
    expect(shown.page.locator(".pane-body", has_text="No agent waits for you")).to_be_attached()
    shown.open("cart.py")
    expect(shown.lenses("Keep").first).to_be_visible()
    expect(shown.page.locator(".dirty-diff-glyph").first).to_be_attached()
    shown.go(1)


def review(shown: Workbench) -> None:
    reviewed(shown)


def large(shown: Workbench) -> None:
    """Where there is room for the text alone."""
    shown.key("Control+b")
    shown.open("cart.py")
    shown.go(16)
    shown.key("Home")
    expect(shown.lenses("Keep").first).to_be_visible()


def peek(shown: Workbench) -> None:
    reviewed(shown)
    shown.lenses("2 of 3").click()
    expect(shown.page.locator(".peekview-widget .view-line").first).to_be_visible()


def comment(shown: Workbench) -> None:
    reviewed(shown)
    shown.lenses("Comment").first.click()
    shown.page.locator(".review-thread-reply-button").click()
    shown.type("A count of 0 is fine: it is how an item is taken out.")


def multi(shown: Workbench) -> None:
    shown.show_sould()
    expect(shown.tree("cart.py")).to_be_visible()
    shown.palette("Review All Changes")
    expect(shown.page.locator(".multiDiffEntry")).to_have_count(2)
    expect(shown.page.locator(".multiDiffEntry .line-insert").first).to_be_visible()


def panel(shown: Workbench) -> None:
    """It opens with the session whose changes wait."""
    reviewed(shown)
    shown.key("Control+b")
    chat_shown(shown)


def panel_large(shown: Workbench) -> None:
    """Our icon stands behind the dots where there is so little room."""
    shown.key("Control+b")
    chat_shown(shown)


def chat_shown(shown: Workbench) -> None:
    chat = open_chat(shown)
    expect(chat.says("The total counts each item now.")).to_be_visible()


def inbox(shown: Workbench) -> None:
    shown.show_sould()
    expect(shown.tree("npm run build").last).to_be_visible()
    expect(shown.tree("Count items")).to_be_visible()
    inbox_large(shown)


def inbox_large(shown: Workbench) -> None:
    shown.status("1 waiting").click()
    expect(shown.page.locator(".quick-input-list .monaco-list-row").first).to_be_visible()


INBOX: Final = (inbox, inbox_large)
"""Those for which an agent has to wait."""

Picture = tuple[str, Callable[[Workbench], None], str, int]
PICTURES: Final[list[Picture]] = [
    ("review", review, DARK, 1),
    ("review-light", review, LIGHT, 1),
    ("review-contrast", review, CONTRAST, 1),
    ("review-contrast-light", review, CONTRAST_LIGHT, 1),
    ("peek", peek, DARK, 1),
    ("peek-light", peek, LIGHT, 1),
    ("peek-contrast", peek, CONTRAST, 1),
    ("comment", comment, DARK, 1),
    ("comment-contrast", comment, CONTRAST, 1),
    ("comment-light", comment, LIGHT, 1),
    ("all", multi, LIGHT, 1),
    ("all-contrast", multi, CONTRAST, 1),
    ("review-large", large, DARK, 2),
    ("panel", panel, DARK, 1),
    ("panel-light", panel, LIGHT, 1),
    ("panel-contrast", panel, CONTRAST, 1),
    ("panel-large", panel_large, DARK, 2),
    ("inbox", inbox, DARK, 1),
    ("inbox-contrast", inbox, CONTRAST, 1),
    ("inbox-large", inbox_large, LIGHT, 2),
]


def take(server: Server, browser: Browser, world: World, picture: Picture, into: Path) -> None:
    """One picture, in a window of its own. `zoom` 2: everything twice as large, as with the browser's zoom at 200 %."""
    name, shows, theme, zoom = picture
    server.choose({"workbench.colorTheme": theme})
    with window(server, browser, world.project, zoom) as shown:
        shows(shown)
        shown.page.screenshot(path=into / f"vscode-{name}.png", animations="disabled", caret="hide")


def main(into: Path, *wanted: str) -> None:
    """Take those, or all."""
    into.mkdir(parents=True, exist_ok=True)
    chosen = [each for each in PICTURES if not wanted or each[0] in wanted]
    with chromium() as browser, TemporaryDirectory(prefix="sould-vsix-") as root, new_world() as world:
        extensions = install(Path(root))
        prepare(world)
        with closing(Server(world, extensions, {})) as server:
            for picture in (each for each in chosen if each[1] not in INBOX):
                take(server, browser, world, picture, into)
            with asking(world):
                for picture in (each for each in chosen if each[1] in INBOX):
                    take(server, browser, world, picture, into)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER, *sys.argv[2:])
