"""Every page of docs/ can be followed as written, in a fresh home, with the installed program."""

from pathlib import Path

import pytest

from soultest.daemon import Sould
from soultest.docs import follow

DOCS = Path(__file__).parents[2] / "docs"
OTHERS = {"agents", "commands", "flows", "hooks", "mcp", "skills", "subagents", "tools", "tour"}
"""Followed by tests of their own."""


@pytest.mark.parametrize(
    "page", sorted({str(path.relative_to(DOCS).with_suffix("")) for path in DOCS.rglob("*.md")} - OTHERS)
)
def test_the_page_can_be_followed(page: str, sould: Sould) -> None:
    follow(DOCS / f"{page}.md", sould)
