"""Time travel through the real daemon, as an editor and the command line see it."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from soultest.acpclient import AgentError
from soultest.scenarios import scenarios, session_of
from soultest.world import World, call

SCRIPTS: dict[str, list[str]] = {
    "files": [
        call("WriteFile", "1", path="a.txt", content="1\nTWO\n3\n4\n5\n")
        + "\n"
        + call("WriteFile", "2", path="c.txt", content="agent\n"),
        call("Shell", "3", command="mkdir made; echo x > made/x; chmod 755 a.txt; printf '\\0' > b.bin; rm gone.txt"),
        "text: first",
        call("Shell", "4", command="echo 6 >> a.txt"),
        "text: second",
        "text: after",
    ],
}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-travel-"))
    made = scenarios(root, SCRIPTS)
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (path.lstat().st_mode, b"" if path.is_dir() else path.read_bytes())
        for path in sorted(root.rglob("*"))
    }


def outcomes(answer: dict[str, Any]) -> dict[str, str]:
    return {Path(file["path"]).name: file["action"] for file in answer["files"]}


async def test_an_editor_goes_back_and_returns_with_all_that_tools_and_commands_changed(
    world: World, tmp_path: Path
) -> None:
    a = tmp_path / "a.txt"
    a.write_text("1\n2\n3\n4\n5\n")
    (tmp_path / "gone.txt").write_text("gone\n")
    (tmp_path / "c.txt").write_text("old\n")
    before = tree(tmp_path)
    async with session_of(world, tmp_path, "files", mode="full") as (client, session):
        assert client.messages[0]["result"]["_meta"]["sould"]["timeTravel"] == {"supported": True}
        await client.prompt(session, "first")
        between = tree(tmp_path)
        await client.prompt(session, "second")
        after = tree(tmp_path)

        shown = await client.request("_sould/timeline", sessionId=session)
        turns = [moment for moment in shown["moments"] if moment["kind"] == "turn"]
        assert [(turn["text"], turn["reachable"]) for turn in turns] == [("first", True), ("second", True)]
        assert (shown["canUndo"], shown["canRedo"]) == (True, False)
        steps = (await client.request("_sould/timeline", sessionId=session, steps=True))["moments"]
        assert [len(moment["files"]) for moment in steps if moment["kind"] == "step"] == [2, 5, 0, 1, 0]

        assert outcomes(await client.request("_sould/undo", sessionId=session)) == {"a.txt": "restored"}
        assert tree(tmp_path) == between
        await client.request("_sould/rewind", sessionId=session, checkpoint=turns[0]["checkpoint"])
        assert tree(tmp_path) == before
        for _ in range(2):
            assert (await client.request("_sould/redo", sessionId=session))["outcome"] == "done"
        assert tree(tmp_path) == after
        assert await client.request("_sould/redo", sessionId=session) == {"outcome": "nothing", "files": []}
        assert (await client.request("_sould/rewind", sessionId=session, checkpoint=99))["outcome"] == "nothing"
        with pytest.raises(AgentError):
            await client.request("_sould/rewind", sessionId=session, checkpoint=-1)

        # three ways: what the user typed stays, merged or as a reported conflict
        a.write_text("mine\n" + a.read_text())
        (tmp_path / "c.txt").write_text("mine\n")
        went = await client.request("_sould/rewind", sessionId=session, checkpoint=turns[0]["checkpoint"])
        assert outcomes(went)["c.txt"] == "conflict"
        assert a.read_text() == "mine\n1\n2\n3\n4\n5\n"
        assert (tmp_path / "c.txt").read_text() == "mine\n"
        await client.request("_sould/redo", sessionId=session)
        assert a.read_text() == "mine\n1\nTWO\n3\n4\n5\n6\n"
        assert (tmp_path / "c.txt").read_text() == "mine\n"
