"""What a program's command line means, and how it goes on after the daemon died."""

from pathlib import Path

import pytest

from sould.agents.base.errors import OptionError
from sould.agents.clients.connections import ConnectionRecord
from sould.daemon.wire.arguments import read_arguments
from soultest.bench import Bench, call
from soultest.wireprogram import NEW, wire_connected


async def test_a_prompt_is_answered_by_the_next_daemon_and_what_was_asked_is_not_asked_again(bench: Bench) -> None:
    bench.script(call("Shell", command="touch made"), "text: done")
    kept: list[ConnectionRecord] = []
    async with bench.running(), wire_connected(bench, kept=kept) as program:
        await program.result("initialize", **NEW)
        asked = program.ask("prompt", user_input="go")
        request = await program.until("ApprovalRequest")
        record = ConnectionRecord.load(kept[-1].dump())
    assert record.asked == (request["id"],)
    bench.script("text: done")
    async with bench.running(), wire_connected(bench, resume=record) as program:
        program.send({"id": request["id"], "result": {"request_id": request["id"], "response": "approve"}})
        assert (await program.answer(asked))["result"] == {"status": "finished"}
    assert "ApprovalRequest" not in program.types
    assert program.types[-1] == "TurnEnd"
    assert (bench.project / "made").exists()


async def test_the_latest_session_of_the_directory_is_continued(bench: Bench) -> None:
    bench.script("text: one", "text: two")
    async with bench.running():
        async with wire_connected(bench) as program:
            session = (await program.result("initialize", **NEW))["sould"]["session_id"]
            await program.result("prompt", user_input="first")
        async with wire_connected(bench, "--continue") as program:
            assert (await program.result("initialize", **NEW))["sould"]["session_id"] == session
            await program.result("replay")
            assert program.events("TurnBegin") == [{"user_input": "first"}]
        assert bench.host.stored.find(session).info.origin == "wire"


async def test_a_session_that_is_not_there_is_named(bench: Bench) -> None:
    async with bench.running():
        async with wire_connected(bench, "--session", "nowhere") as program:
            assert "nowhere" in (await program.error("initialize", **NEW))["message"]
        async with wire_connected(bench, "--continue") as program:
            assert "no session in" in (await program.error("initialize", **NEW))["message"]
        async with wire_connected(bench, "--model", "nothing") as program:
            assert "nothing" in (await program.error("initialize", **NEW))["message"]


def test_paths_are_meant_from_where_the_program_was_started() -> None:
    said = read_arguments(("-w", "sub", "--add-dir", "/other", "--agent", "mine.yaml", "--yolo"), "/here")
    assert (said.directory, said.additional) == (Path("/here/sub"), (Path("/other"),))
    assert (said.agent, said.modes) == ("/here/mine.yaml", ("full",))
    assert read_arguments((), "/here").directory == Path("/here")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--nonsense",), "--nonsense"),
        (("--mode", "loud"), "loud"),
        (("--session", "x", "--continue"), "--continue"),
        (("--mode", "ask", "--yolo"), "ask, full"),
        (("words",), "words"),
    ],
)
def test_a_wrong_command_line_is_named(given: tuple[str, ...], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        read_arguments(given, "/here")
