"""The extension in the language of its window: in a made-up one, in which a text stands between brackets."""

import json
import re
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from soultest.chatpanel import ChatPanel
from soultest.failed import has_failed
from soultest.panelpage import APP
from soultest.workbench import Server, Workbench, keep, window
from soultest.world import World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

LANGUAGE = "qps-ploc"
SOURCES = Path(__file__).parents[2] / "vscode-extension"


def bracketed(texts: dict[str, str]) -> str:
    """A translation that keeps icons, links and what is filled in."""
    return json.dumps({key: f"[{text}]" for key, text in texts.items()})


def collected() -> dict[str, str]:
    """The texts of the program, by themselves."""
    found = [each.read_text() for folder in ("src", "panel") for each in (SOURCES / folder).rglob("*.ts*")]
    texts = re.findall(r'l10n\.t\(\s*("(?:[^"\\]|\\.)*")', "\n".join(found))
    return {text: text for text in map(json.loads, texts)}


@pytest.fixture
def opened(world: World, browser: Browser, extensions: Path, request: pytest.FixtureRequest) -> Generator[Workbench]:
    """A window in that language, with a file that an agent has changed."""
    (world.project / "list.txt").write_text("one\n")
    world.script([call("WriteFile", "w", path="list.txt", content="two\n"), "text: Done."])
    world.start()
    assert world.sould("run", "--mode", "review", "two, please").returncode == 0
    with closing(Server(world, extensions, {})) as server:
        [extension] = (world.root / "extensions").glob("sould.sould-*")
        (extension / "l10n").mkdir(exist_ok=True)
        (extension / "l10n" / f"bundle.l10n.{LANGUAGE}.json").write_text(bracketed(collected()))
        manifest = json.loads((extension / "package.nls.json").read_text())
        (extension / f"package.nls.{LANGUAGE}.json").write_text(bracketed(manifest))
        with window(server, browser, world.project, language=LANGUAGE) as shown:
            yield shown
            if has_failed(request):
                keep([shown], server, request.node.name)


def test_all_that_a_window_shows_is_in_its_language(opened: Workbench) -> None:
    opened.open("list.txt")
    expect(opened.lenses("[ Keep")).to_have_count(1)
    expect(opened.status("[ 1 to review]")).to_be_visible()
    opened.palette("sould: [Open Chat]")
    page = ChatPanel(opened).page
    field = page.locator(APP).get_by_role("textbox", name="[Message]", exact=True)
    expect(field).to_have_attribute("placeholder", re.compile(r"^\[Ask, or describe a change\..*\]$"))
    expect(page.locator("html")).to_have_attribute("lang", LANGUAGE)
