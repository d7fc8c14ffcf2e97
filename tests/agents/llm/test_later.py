"""A provider whose HTTP library is loaded with the first question."""

import subprocess
import sys

PROGRAM = """
import asyncio, sys

from sould.agents.base.config import Config
from sould.agents.base.liveconfig import FixedConfig
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ChatRequest, ProviderError

config = Config.model_validate(
    {{
        "models": {{"m": {{"provider": "p", "model": "x", "max_context_size": 8000}}}},
        "providers": {{"p": {{"type": "openai_legacy", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"}}}},
    }}
)


async def main():
    pool = ProviderPool(FixedConfig(config))
    provider = await pool.get(None, {{}})
    assert "httpx2" not in sys.modules, "a session opens without it"
    {before}
    try:
        async with provider.stream(ChatRequest("", ())):
            pass
    except ProviderError as error:
        sys.stdout.write(error.message)
    await pool.aclose()


asyncio.run(main())
"""


def said(*, before: str = "") -> str:
    program = PROGRAM.format(before=before)
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_asks_like_any_other() -> None:
    assert said() == "Cannot reach 127.0.0.1:9: connection refused. Is the server running?"


def test_a_library_that_is_gone_costs_one_clear_error() -> None:
    """The package's files changed while the daemon ran."""
    gone = said(before="sys.modules['httpx2'] = None")
    assert gone.startswith("What asks model servers cannot be loaded (")
    assert gone.endswith("run `sould restart`.")
