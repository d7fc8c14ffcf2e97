"""Scenarios through the real daemon: a world with a scripted model for each, and what was kept."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from soultest.acpclient import Json
from soultest.world import World


@contextmanager
def scenarios(scripts: Mapping[str, list[str]], more: str = "") -> Generator[World]:
    """A world whose configuration has one scripted model a scenario, by the scenario's name; gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="sould-scenarios-"))  # not tmp_path: the socket's path must stay short
    world = World(root)
    world.script([], more + "\n".join(model_of(root, name, script) for name, script in scripts.items()))
    world.start()
    yield world
    world.close()
    shutil.rmtree(root, ignore_errors=True)


def model_of(root: Path, name: str, scripts: list[str]) -> str:
    """What the configuration says of a scripted model with a provider of its own."""
    path = root / f"{name}.json"
    path.write_text(json.dumps(scripts))
    return (
        f'[models.{name}]\nprovider = "{name}"\nmodel = "scripted"\nmax_context_size = 100000\n'
        f'[providers.{name}]\ntype = "_scripted_echo"\nenv = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = "{path}" }}\n'
    )


def run(world: World, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return world.sould(*arguments, cwd=project)


def journal(world: World, session: str) -> list[Json]:
    (path,) = (world.root / "state").glob(f"**/sessions/{session}/wire.jsonl")
    found: list[Json] = [json.loads(line).get("message", {}) for line in path.read_text().splitlines()]
    return [message for message in found if "type" in message]
