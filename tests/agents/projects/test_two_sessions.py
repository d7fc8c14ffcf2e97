"""Two sessions of one daemon and one file: they edit one after the other, and nobody waits for another's question."""

import asyncio

from sould.agents.wire.messages import ApprovalRequest
from soultest.bench import Bench, Watcher, call, finish

EDITS = [call("StrReplaceFile", path="a.txt", edit={"old": f"line {n};", "new": f"LINE {n};"}) for n in range(8)]


async def test_two_sessions_that_edit_one_file_at_once_lose_no_edit(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("".join(f"line {n};\n" for n in range(8)))
    bench.script(*EDITS, "text: done", "text: done")
    async with bench.running():
        sessions = [await bench.new("review") for _ in range(2)]
        await asyncio.gather(*(finish(session, "go") for session in sessions))
        assert path.read_text() == "".join(f"LINE {n};\n" for n in range(8))


async def test_a_question_of_one_session_holds_up_no_edit_of_another(bench: Bench) -> None:
    path = bench.project / "a.txt"
    path.write_text("line 0;\nline 1;\n")
    bench.script(*EDITS[:2], "text: done", "text: done")
    async with bench.running():
        asking = Watcher(await bench.new("ask"), answer=None)
        turn = asyncio.create_task(finish(asking.session, "go"))
        await asking.wait_for(ApprovalRequest)
        await finish(await bench.new("review"), "go")
        assert path.read_text() in ("LINE 0;\nline 1;\n", "line 0;\nLINE 1;\n", "LINE 0;\nLINE 1;\n")
        asking.session.cancel(None)
        await turn
