"""The review through the real daemon: two editors on one session, one decides and the other one sees it."""

import asyncio

from soultest.acpclient import Json
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


async def test_of_five_thousand_hunks_some_are_decided_and_all_while_another_session_is_answered(sould: Sould) -> None:
    world, project = sould.world, sould.workspace
    path, many = project / "a.txt", 5_000
    before, after = ("".join(f"{word} {n}\n{n}\n" for n in range(many)) for word in ("line", "agent"))
    path.write_text(before)
    world.script([call("WriteFile", "w", path="a.txt", content=after), "text: written"])
    everything = {"cwd": str(project), "all": True}
    async with editor(world, mode="review") as (one, session), client_of(world) as other:
        await one.prompt(session, "go")
        elsewhere = world.root / "elsewhere"
        elsewhere.mkdir()
        second = await other.new_session(elsewhere)

        async def hunks() -> list[Json]:
            files = (await one.request("_sould/review/list", cwd=str(project)))["files"]
            return [{"id": each["id"], "digest": each["digest"]} for file in files for each in file["hunks"]]

        all_of_them = await hunks()
        assert len(all_of_them) == many
        await one.request("_sould/review/keep", cwd=str(project), hunks=all_of_them[:1])
        await one.request("_sould/review/reject", cwd=str(project), hunks=all_of_them[-1:])
        assert path.read_text() == after.replace(f"agent {many - 1}\n", f"line {many - 1}\n")
        assert await hunks() == all_of_them[1:-1]

        keeping = one.start("_sould/review/keep", everything)
        assert await said(other, second, "/review") == "Nothing is to be reviewed.\n"
        assert len((await keeping)["done"]) == many - 2
        assert await hunks() == []
        latest = all_of_them[-201:-1]
        undoing = one.start("_sould/review/undo", cwd=str(project), hunks=latest)
        assert await said(other, second, "/review") == "Nothing is to be reviewed.\n"
        assert len((await undoing)["done"]) == len(latest)
        assert await hunks() == latest
        await one.request("_sould/review/reject", everything)
        assert sum(line.startswith("line") for line in path.read_text().splitlines()) == len(latest) + 1
