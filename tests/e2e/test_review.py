"""The review through the real daemon: two editors on one session, one decides and the other one sees it."""

import asyncio

from soultest.daemon import Sould
from soultest.editor import client_of, editor, said
from soultest.world import call

CHECKED = "def area(w, h):\n    if w < 0:\n        raise ValueError\n    return w * h\n"


async def test_one_editor_keeps_and_rejects_and_the_other_one_sees_it(sould: Sould) -> None:
    world, project = sould.world, sould.workspace
    (project / "area.py").write_text("def area(w, h):\n    return w * h\n")
    world.script(
        [
            call("WriteFile", "w", path="area.py", content=CHECKED),
            call("WriteFile", "x", path="b.txt", content="b\n"),
            "text: done",
        ]
    )
    async with editor(world, mode="review") as (one, session), client_of(world) as two:
        await two.request("session/load", sessionId=session, cwd=str(project), mcpServers=[])
        await one.prompt(session, "go")
        assert "2 hunks to review in 2 files." in await said(two, session, "/review")
        await said(one, session, "/keep b.txt")
        await two.wait_update(
            "agent_message_chunk", lambda update: "Kept hunk 2 in `b.txt`" in update["content"]["text"]
        )
        assert "Left: hunk 2 in `b.txt`." in await said(two, session, "/reject 2")
        await said(two, session, "/reject 1 - our callers check it")
        await one.wait_update("agent_message_chunk", lambda update: "Rejected hunk 1" in update["content"]["text"])
    assert (project / "area.py").read_text() == "def area(w, h):\n    return w * h\n"
    assert (project / "b.txt").read_text() == "b\n"


async def test_what_a_killed_editor_held_unsaved_is_printed_at_a_terminal(sould: Sould) -> None:
    world, project = sould.world, sould.workspace
    (project / "area.py").write_text("def area(w, h):\n    return w * h\n")
    world.script([call("WriteFile", "w", path="area.py", content=CHECKED), "text: done"])
    async with editor(world, mode="review") as (one, session):
        await one.prompt(session, "go")
        path = str(project / "area.py")
        await one.request("_sould/review/report", event="change", path=path, text=CHECKED + "# mine\n")

    def review(*words: str) -> str:
        return sould.cli("review", "unsaved", *words, "--cwd", str(project)).stdout

    assert "area.py  held by " in await asyncio.to_thread(review)
    assert await asyncio.to_thread(review, path) == CHECKED + "# mine\n"
    assert (project / "area.py").read_text() == CHECKED
