"""The pages about skills and flows: their shell blocks run as written, and what they promise is there."""

import re
from pathlib import Path

import pytest

from soultest.daemon import Sould

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^(`{3,})sh\n(.*?)^\1$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["skills.md", "flows.md"])
def test_the_shell_blocks_of_a_page_run_as_written(page: str, sould: Sould) -> None:
    import subprocess

    from soultest.world import SOULD

    environment = sould.environment | {"PATH": f"{SOULD.parent}:{sould.environment['PATH']}"}
    blocks = [found.group(2) for found in _BLOCK.finditer((DOCS / page).read_text())]
    assert blocks
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euc", block], cwd=sould.workspace, env=environment, capture_output=True, text=True, timeout=30
        )
        assert done.returncode == 0, done.stderr


def test_the_example_skill_and_flow_are_found_and_sound(sould: Sould) -> None:
    from sould.agents.flows.source import skill_flow
    from sould.agents.skills.discovery import discover, skill_roots

    test_the_shell_blocks_of_a_page_run_as_written("skills.md", sould)
    test_the_shell_blocks_of_a_page_run_as_written("flows.md", sould)
    found = discover(skill_roots(sould.workspace, {}), lambda _: "")
    assert found.problems == ()
    assert found.skills["release-notes"].description.startswith("Write release notes")
    assert [step.kind for step in skill_flow(found.skills["fix"]).steps()] == ["task", "decision"]
