"""The entry for the ACP registry (`acp/registry/sould`, to be copied there as it is) keeps the registry's rules.

`agent.schema.json` is the registry's own, from github.com/agentclientprotocol/registry at 172d5034b0aa (Apache-2.0). The
rules for versions, icons and sign-in are those of its CI (`build_registry.py`, `verify_agents.py`).
"""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from jsonschema_rs import Draft7Validator

from soultest.bench import Bench
from soultest.bench.acp import Connect

HOUSE = Path(__file__).parents[3]
FOLDER = HOUSE / "acp" / "registry" / "sould"
MANIFEST: dict[str, Any] = json.loads((FOLDER / "agent.json").read_text())
PROJECT: dict[str, Any] = tomllib.loads((HOUSE / "pyproject.toml").read_text())["project"]


def test_the_manifest_fits_the_schema() -> None:
    schema = json.loads(Path(__file__).with_name("agent.schema.json").read_text())
    validator = Draft7Validator(schema, validate_formats=True)
    assert [error.message for error in validator.iter_errors(MANIFEST)] == []
    assert MANIFEST["id"] == FOLDER.name
    assert "icon" not in MANIFEST, "the registry's build sets it"


def test_it_is_this_version_of_this_program() -> None:
    assert MANIFEST["version"] == PROJECT["version"]
    assert MANIFEST["distribution"]["uvx"] == {"package": f"{PROJECT['name']}=={PROJECT['version']}", "args": ["acp"]}
    assert MANIFEST["license"] == PROJECT["license"]


def test_the_icon_is_small_square_and_takes_the_colour_of_the_theme() -> None:
    text = (FOLDER / "icon.svg").read_text()
    icon = ElementTree.fromstring(text)
    assert icon.tag == "{http://www.w3.org/2000/svg}svg"
    assert (icon.get("width"), icon.get("height"), icon.get("viewBox")) == ("16", "16", "0 0 16 16")
    assert set(re.findall(r'\b(?:fill|stroke)="([^"]+)"', text)) == {"currentColor"}
    assert "style" not in text


async def test_one_can_sign_in_as_the_registry_asks(bench: Bench, connect: Connect) -> None:
    async with bench.running(), connect() as client:
        answer = await client.request("initialize", protocolVersion=1, clientCapabilities={})
        assert any(method.get("type", "agent") in ("agent", "terminal") for method in answer["authMethods"])
