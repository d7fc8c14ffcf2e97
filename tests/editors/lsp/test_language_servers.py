"""What an editor holds unsaved is what the daemon's own language servers are shown, as long as it holds it."""

from pathlib import Path

from tests.agents.tools.languageservers.test_tools import Agent, agent

from soultest.bench.lsp import editor_connected
from soultest.lspclient import FULL


async def problems(asking: Agent) -> list[str]:
    said = await asking.data("diagnostics", files=["a.py"], waitMs=20_000)
    assert not said.get("stillAnalyzing")
    return [item["message"] for item in said["items"]]


async def test_a_language_server_is_shown_what_the_user_types(tmp_path: Path) -> None:
    async with agent(tmp_path) as asking, editor_connected(asking.bench) as editor:
        path = asking.bench.project / "a.py"
        await editor.initialize(FULL, asking.bench.project)
        uri = editor.open(path)
        assert await problems(asking) == ["bad: BAD two"]
        editor.type(uri, "one\ngr", "BAD unsaved\ngr")
        await editor.lenses(uri)  # by then what was typed is known
        assert await problems(asking) == ["bad: BAD unsaved", "bad: BAD two"]
        editor.close(uri)
        await editor.request("_sould/review/list", cwd=str(asking.bench.project))
        assert await problems(asking) == ["bad: BAD two"]
