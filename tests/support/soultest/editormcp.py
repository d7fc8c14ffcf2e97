"""`sould editor-mcp --http` in a world's project, for as long as a block lasts."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from soultest.world import SOULD, World


@asynccontextmanager
async def serving_http(world: World) -> AsyncGenerator[dict[str, Any]]:
    """What it says when it serves: its `url`, and the `headers` that let somebody in."""
    serving = await asyncio.create_subprocess_exec(
        SOULD, "editor-mcp", "--http", cwd=world.project, env=world.environment, stdout=asyncio.subprocess.PIPE
    )
    assert serving.stdout is not None
    try:
        yield json.loads(await serving.stdout.readline())
    finally:
        serving.terminate()
        await serving.wait()
