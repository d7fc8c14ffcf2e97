"""Scenarios through the real daemon: a world with a model for each, clients with and without a session, what was kept."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from soultest.acpclient import ALLOW_ONCE, FULL, AcpClient, Json, Policy, ProcessStream
from soultest.world import SOULD, World


@contextmanager
def scenarios(scripts: Mapping[str, list[str]], more: str = "") -> Generator[World]:
    """A world whose configuration has one scripted model a scenario, by the scenario's name; gone afterwards."""
    root = Path(tempfile.mkdtemp(prefix="sould-scenarios-"))  # not tmp_path: the socket's path must stay short
    world = World(root)
    world.script([], more + "\n".join(_model(root, name, script) for name, script in scripts.items()))
    yield world
    world.close()
    shutil.rmtree(root, ignore_errors=True)


def _model(root: Path, name: str, scripts: list[str]) -> str:
    path = root / f"{name}.json"
    path.write_text(json.dumps(scripts))
    return (
        f'[models.{name}]\nprovider = "{name}"\nmodel = "scripted"\nmax_context_size = 100000\n'
        f'[providers.{name}]\ntype = "_scripted_echo"\nenv = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = "{path}" }}\n'
    )


@asynccontextmanager
async def client_of(
    world: World,
    *,
    capabilities: Json | None = None,
    meta: Json | None = None,
    permissions: Policy = ALLOW_ONCE,
    **more: Any,
) -> AsyncGenerator[AcpClient]:
    """An initialized client without a session. `meta` is what it says to us alone."""
    stream = await ProcessStream.start(str(SOULD), "acp", cwd=world.project, environment=world.environment)
    async with AcpClient(stream, permissions=permissions, **more) as client:
        said = FULL if capabilities is None else capabilities
        own: Json = {"_meta": {**said.get("_meta", {}), "sould": meta}} if meta else {}
        await client.initialize(said | own)
        yield client
    client.check()


@asynccontextmanager
async def session_of(
    world: World, project: Path, model: str, *, mode: str = "", agent: str = "", **options: Any
) -> AsyncGenerator[tuple[AcpClient, str]]:
    async with client_of(world, **options) as client:
        session = await client.new_session(project)
        for option, value in (("agent", agent), ("model", model), ("mode", mode)):
            if value:
                await client.request("session/set_config_option", sessionId=session, configId=option, value=value)
        yield client, session


def run(world: World, project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SOULD, *arguments], cwd=project, env=world.environment, capture_output=True, text=True, timeout=60
    )


async def said(client: AcpClient, session: str, prompt: str) -> str:
    """What a command answers."""
    before = len(client.text(session))
    assert (await client.prompt(session, prompt))["stopReason"] == "end_turn"
    return client.text(session)[before:]


def journal(world: World, session: str) -> list[Json]:
    (path,) = (world.root / "state").glob(f"**/sessions/{session}/wire.jsonl")
    found: list[Json] = [json.loads(line).get("message", {}) for line in path.read_text().splitlines()]
    return [message for message in found if "type" in message]
