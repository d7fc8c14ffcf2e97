"""What the model is told about each tool is pinned: a change is seen in review, and costs every prompt cache once.

After a change that is meant: `PYTHONPATH=tests/support .venv/bin/python tests/agents/tools/test_schemas.py` writes the file
anew.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import sould.agents.tools
from sould.agents.toolapi.base import parameters_schema
from sould.agents.toolapi.portable import LONGEST_DESCRIPTION
from sould.agents.tools.shell import Shell
from soultest.bench.tools import ToolBench

GOLDEN = Path(__file__).with_name("schemas.json")


def current() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as root:
        of_files = {spec.name: spec.parameters for spec in ToolBench(Path(root)).tools.specs}
    return {**of_files, Shell.name: parameters_schema(Shell.params)}


def test_the_schema_of_every_tool_is_the_pinned_one() -> None:
    assert current() == json.loads(GOLDEN.read_text())


def test_every_description_is_short_enough_for_openais_servers() -> None:
    files = (Path(sould.agents.tools.__file__).parent).glob("[!R]*.md")  # not the README
    assert {file.name: size for file in files if (size := len(file.read_bytes())) > LONGEST_DESCRIPTION} == {}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(current(), indent=2, ensure_ascii=False) + "\n")
