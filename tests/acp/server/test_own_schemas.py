"""The JSON Schemas of docs/schemas are those of the messages there are."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sould.acp.server.dispatch import ROUTES
from soultest.reviewschema import FOLDER

ROOT = Path(__file__).parents[3]
AREAS = {
    "review": (("write",), ("changed", "forgotten")),
    "inbox": ((), ("changed",)),
    "editor": (("call",), ("forgotten",)),
    "session": ((), ()),
    "files": ((), ()),
}
"""With what sould asks of clients there, and what it tells them."""
PAGES = {"files": "session-clients.md"}
"""Of areas that have no page of their own."""


def test_the_schemas_are_made_of_the_types_as_they_are() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/schemas.py", "check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


@pytest.mark.parametrize("area", AREAS)
def test_every_method_has_schemas_and_a_place_on_the_page(area: str) -> None:
    page = (ROOT / "docs" / PAGES.get(area, f"{area}-clients.md")).read_text(encoding="utf-8")
    prefix, (asks, tells) = f"_sould/{area}/", AREAS[area]
    methods = [method.removeprefix(prefix) for method in ROUTES if method.startswith(prefix)]
    for method in (*methods, *asks):
        name = method.replace("/", ".")
        assert (FOLDER / area / f"{name}.params.json").exists(), method
        assert (FOLDER / area / f"{name}.result.json").exists(), method
        assert f"`{prefix}{method}`" in page
    for told in tells:
        assert (FOLDER / area / f"{told}.params.json").exists()
        assert f"`{prefix}{told}`" in page


def test_the_queue_and_ways_back_have_schemas_beside_those_of_sessions() -> None:
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    methods = [method.removeprefix("_sould/") for method in ROUTES if re.match(r"_sould/(queue|\w+$)", method)]
    assert {"queue/edit", "timeline", "undo"} <= set(methods)
    for method in methods:
        name = method.replace("/", ".")
        assert (FOLDER / "session" / f"{name}.params.json").exists(), method
        assert (FOLDER / "session" / f"{name}.result.json").exists(), method
        assert f"`_sould/{method}`" in page
