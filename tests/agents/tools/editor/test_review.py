"""The review as agents ask for it: what waits, what was decided, and the user's answer."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.tools.editor.backends import Arguments, Where
from sould.agents.tools.editor.results import ReviewState
from sould.agents.wire.messages import ToolResult
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.editors import FakeEditor

Json = dict[str, Any]


def shows(given: Arguments, where: Where) -> ReviewState:
    """An editor that asks its user, who does not answer."""
    return ReviewState(())


@asynccontextmanager
async def writing(bench: Bench, editor: FakeEditor, *looks: str) -> AsyncGenerator[Watcher]:
    """An agent that changes two lines of a file, and looks then; with an editor there."""
    (bench.project / "a.txt").write_text("one\nsame\nsame\ntwo\n")
    bench.script(call("WriteFile", path="a.txt", content="1\nsame\nsame\n2\n"), *looks, "text: done")
    async with bench.running():
        bench.port.editors.add(editor)
        yield Watcher(await bench.new("review"))


def results(watcher: Watcher) -> list[Json]:
    """What it was told."""
    found = [each.return_value for each in watcher.of(ToolResult)[1:]]
    return [json.loads(str(each.output)) if not each.is_error else {"error": each.message} for each in found]


async def told(bench: Bench, *looks: str) -> list[Json]:
    async with writing(bench, FakeEditor(review=shows), *looks) as watcher:
        await finish(watcher.session, "write it")
        return results(watcher)


async def test_a_user_is_asked_and_the_agent_reads_what_they_decided(bench: Bench) -> None:
    asking = asyncio.Event()

    def ask(given: Arguments, where: Where) -> ReviewState:
        assert (given["hunkIds"], given["message"]) == ([1, 2], "The numbers")
        asking.set()
        return ReviewState(())

    asked = call("review", action="request", message="The numbers", timeoutSec=60)
    async with writing(bench, FakeEditor(review=ask), asked) as watcher:
        turn = asyncio.create_task(finish(watcher.session, "write it"))
        await asking.wait()
        async with bench.port.project(bench.project, bench.root, "the user") as project:
            await project.review.decide(Order("keep", Selection((1,)), "the user"))
            await project.review.decide(Order("reject", Selection((2,)), "the user", "too short"))
        await turn
        [said] = results(watcher)
    assert said["data"]["pending"] == []
    assert [(each["hunkId"], each["verdict"], each.get("reason")) for each in said["data"]["verdicts"]] == [
        (1, "keep", None),
        (2, "reject", "too short"),
    ]
    assert {each["by"] for each in said["data"]["verdicts"]} == {"the user"}


async def test_a_user_who_is_asked_and_does_not_answer_in_time_leaves_all_pending(bench: Bench) -> None:
    asked = call("review", action="request", message="The numbers", timeoutSec=1)
    [said] = await told(bench, asked)
    assert [each["hunkId"] for each in said["data"]["pending"]] == [1, 2]
    assert "verdicts" not in said["data"]


async def test_what_does_not_wait_is_not_asked_about(bench: Bench) -> None:
    asked = [call("review", action=action, hunkIds=[99], message="See") for action in ("request", "explain")]
    for said in await told(bench, *asked):
        assert said["error"].startswith("not_found")


async def test_an_explanation_says_what_about(bench: Bench) -> None:
    [said] = await told(bench, call("review", action="explain", message="See"))
    assert "say which hunks" in said["error"]
