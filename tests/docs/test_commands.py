"""docs/commands.md and docs/hooks.md followed as written, with the real daemon."""

from pathlib import Path

from soultest.daemon import Sould
from soultest.docs import follow

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_about_commands_is_as_it_says(sould: Sould) -> None:
    walk = follow(DOCS / "commands.md", sould)
    assert "There is one library, next door." in (sould.workspace / "talk.md").read_text()
    assert "Imported" in walk.shown


def test_the_page_about_hooks_is_as_it_says(sould: Sould) -> None:
    follow(DOCS / "hooks.md", sould)
