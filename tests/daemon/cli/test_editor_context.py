"""What agents in a terminal may know of an editor: refused where nobody can be asked, shown where it was chosen."""

import asyncio
import subprocess

from soultest.daemon import Sould
from soultest.editor import client_of
from soultest.world import call

STATE = call("editor_state", "s", include=["open"])


async def test_what_was_shared_stands_on_standard_error(sould: Sould) -> None:
    world = sould.world
    (world.project / "a.txt").write_text("one\n")
    world.script([STATE, STATE, "text: Seen."])

    async def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(world.sould, "run", *arguments)

    async with client_of(world) as editor:
        opened = [{"file": str(world.project / "a.txt")}]
        await editor.request("_sould/editor/state", workspaceFolders=[str(world.project)], app="Vim", open=opened)
        unasked = await run("look")
        assert unasked.returncode == 3
        assert "needs your approval" in unasked.stderr
        assert "a.txt" not in unasked.stdout + unasked.stderr
        assert (await run("/editor-context on")).returncode == 0
        shown = await run("look")
        assert shown.returncode == 0, shown.stderr
        assert "Shared with the agent: 1 open file" in shown.stderr
