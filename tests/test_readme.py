"""What README and the pages that it leads to tell people to type is accepted."""

import json
import re
import tomllib
from pathlib import Path

from sould.agents.base.config import Config
from sould.daemon.cli.main import COMMANDS
from sould.daemon.cli.setup.editors import EDITORS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()
DOCS = ROOT / "docs"


def blocks(language: str, text: str = README) -> list[str]:
    """The fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_the_configuration_it_shows_is_valid() -> None:
    for page in ("configuration", "scripted-model"):
        (block,) = blocks("toml", (DOCS / f"{page}.md").read_text())
        config = Config.model_validate(tomllib.loads(block))
        assert config.default_model in config.models


def test_the_settings_of_editors_are_json_and_start_our_command() -> None:
    pages = [(ROOT / "docs" / "editors" / f"{name}.md").read_text() for name in ("zed", "jetbrains", "sublime", "acp")]
    shown = [block for page in pages for block in blocks("json", page)]
    assert len(shown) == len(pages)
    for block in shown:
        (servers,) = json.loads(block).values()
        entry = servers["sould"]
        words = " ".join(entry["command"]) if "args" not in entry else f"{entry['command']} {entry['args'][0]}"
        assert re.fullmatch(r"(/.*/)?sould (acp|lsp)", words)


def test_each_editor_that_setup_knows_has_its_line() -> None:
    section = README.split("## Connect your editor")[1].split("\n## ")[0]
    rows = re.findall(r"^\| [^|]+ \| (`sould setup [^|]+) \|", section, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`(?:sould setup )?([a-z-]+)`", row)]
    assert sorted(named) == sorted(EDITORS)


def test_every_command_it_names_exists() -> None:
    named = set(re.findall(r"`sould ([a-z]+)", README)) | set(
        re.findall(r"^sould ([a-z]+)", "\n".join(blocks("sh")), re.MULTILINE)
    )
    assert named
    assert named <= set(COMMANDS)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_the_list_of_pages_has_every_page() -> None:
    contents = DOCS / "README.md"
    assert "](docs/README.md)" in README
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if path != contents}
    listed = set(re.findall(r"\]\(([^)#]+\.md)", contents.read_text())) - {"../README.md"}
    editors = set(re.findall(r"\]\(docs/(editors/[^)#]+\.md)", README))
    assert listed | editors == pages


def test_links_lead_to_what_is_there() -> None:
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")):
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (page.parent / link).exists(), f"{page}: {link}"


def test_every_mode_it_names_exists_and_the_other_way_round() -> None:
    rows = set(re.findall(r"^\| `([a-z]+)` \| ", README.split("## Modes")[1].split("\n## ")[0], re.MULTILINE))
    assert rows == {"plan", "ask", "review", "full"}


def test_every_target_that_tests_is_named_for_contributors() -> None:
    targets = set(re.findall(r"^(test[a-z-]*): ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert "test-quick" in targets
    assert targets <= set(re.findall(r"^make ([a-z-]+)", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
