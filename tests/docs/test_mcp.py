"""docs/mcp.md followed as written: its server, its commands, the real daemon; and its table of limits."""

import re
import tomllib
from pathlib import Path

from sould.agents.base.config import McpClient
from soultest.daemon import Sould
from soultest.docs import follow

PAGE = Path(__file__).parents[2] / "docs" / "mcp.md"


def block(language: str, beginning: str = "") -> str:
    """The first block in a language that begins so."""
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return next(each for each in found if each.startswith(beginning))


def test_the_page_makes_a_server_and_uses_it(sould: Sould) -> None:
    shown = follow(PAGE, sould).shown
    assert "bees is connected and has 1 tool" in shown
    assert re.search(r"bees\s+connected", shown)
    assert "Removed bees." in shown
    journal = "".join(path.read_text() for path in Path(sould.paths.state).glob("sessions/*/wire.jsonl"))
    assert '<resource server=\\"bees\\" uri=\\"bees://facts\\">\\nbees://facts\\nBees see no red.' in journal
    assert "Beezzz zzzee no red." in journal


def test_the_limits_are_the_defaults() -> None:
    assert tomllib.loads(block("toml"))["mcp"]["client"] == McpClient().model_dump()
