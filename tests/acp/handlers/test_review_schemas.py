"""The JSON Schemas of docs/schemas/review are those of the messages there are."""

import subprocess
import sys
from pathlib import Path

from sould.acp.server.dispatch import ROUTES
from soultest.reviewschema import FOLDER, PREFIX

ROOT = Path(__file__).parents[3]


def test_the_schemas_are_made_of_the_types_as_they_are() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/schemas.py", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_every_method_has_schemas_and_a_place_on_the_page() -> None:
    page = (ROOT / "docs" / "review-clients.md").read_text(encoding="utf-8")
    methods = [method for method in ROUTES if method.startswith(PREFIX)]
    for method in (*methods, f"{PREFIX}write"):
        name = method.removeprefix(PREFIX).replace("/", ".")
        assert (FOLDER / f"{name}.params.json").exists(), method
        assert (FOLDER / f"{name}.result.json").exists(), method
        assert f"`{method}`" in page
    for told in ("changed", "forgotten"):
        assert (FOLDER / f"{told}.params.json").exists()
        assert f"`{PREFIX}{told}`" in page
