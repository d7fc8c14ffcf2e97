"""What is answered from a terminal, as the daemon takes it."""

import pytest

from sould.agents.errors import OptionError
from sould.agents.sessions.port import SessionPort
from sould.agents.wire.messages import ApprovalRequest
from sould.daemon.control import AnswerParams
from sould.daemon.process.waiting import answer, shown_request
from soultest.bench import Bench, Watcher, call


async def asked(watcher: Watcher, number: int) -> ApprovalRequest:
    """The question with this number, from 0."""
    await watcher.wait_for(ApprovalRequest, lambda _: len(watcher.of(ApprovalRequest)) > number)
    return watcher.of(ApprovalRequest)[number]


def approve(session: SessionPort, request: ApprovalRequest, *, also_changed: bool = False) -> None:
    params = AnswerParams(id=request.id, decision="approve_for_session", also_changed=also_changed)
    assert answer(session, request, params).outcome == "accepted"


async def test_a_makefile_that_the_agent_rewrote_is_asked_about_until_it_may_change(bench: Bench) -> None:
    make = call("Shell", command="make test")
    texts = ("two", "three")
    writes = [call("WriteFile", path="Makefile", content=f"test:\n\t@echo {text}\n") for text in texts]
    bench.script(make, writes[0], make, writes[1], make, "text: Done.")
    (bench.project / "Makefile").write_text("test:\n\t@echo one\n")
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session, answer=None)
        turn = session.prompt("go", "someone")
        first = await asked(watcher, 0)
        with pytest.raises(OptionError, match="--also-changed"):
            approve(SessionPort(session), first, also_changed=True)
        approve(SessionPort(session), first)
        second = await asked(watcher, 1)
        shown = shown_request(session.id, second, None)
        assert shown.changed
        assert "Makefile changed since you allowed this." in shown.lines
        assert shown.lines[-2:] == ("-\t@echo one", "+\t@echo two")
        approve(SessionPort(session), second, also_changed=True)
        await turn.outcome()
        assert len(watcher.of(ApprovalRequest)) == 2
