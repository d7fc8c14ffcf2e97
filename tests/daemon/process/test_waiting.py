"""What is answered from a terminal, as the daemon takes it."""

import pytest

from sould.agents.base.errors import OptionError
from sould.agents.clients.inbox.answering import AnswerParams, response_to
from sould.agents.clients.inbox.shown import request_lines
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.scopes import offered
from sould.agents.sessions.session import Session
from sould.agents.wire.messages import ApprovalRequest
from soultest.bench import Bench, Watcher, call


async def asked(watcher: Watcher, number: int) -> ApprovalRequest:
    """The question with this number, from 0."""
    await watcher.wait_for(ApprovalRequest, lambda _: len(watcher.of(ApprovalRequest)) > number)
    return watcher.of(ApprovalRequest)[number]


def approve(session: Session, request: ApprovalRequest, scope: Scope) -> None:
    params = AnswerParams(id=request.id, decision="approve", scope=scope)
    assert session.parts.attached.answer(response_to(request, params), "the command line").outcome == "accepted"


async def test_a_makefile_that_the_agent_rewrote_is_asked_about_until_it_may_change(bench: Bench) -> None:
    make = call("Shell", command="make test")
    texts = ("two", "three")
    writes = [call("WriteFile", path="Makefile", content=f"test:\n\t@echo {text}\n") for text in texts]
    bench.script(make, writes[0], make, writes[1], make, "text: Done.")
    (bench.project / "Makefile").write_text("test:\n\t@echo one\n")
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session, answer=None)
        turn = session.turns.prompt("go", "someone")
        first = await asked(watcher, 0)
        with pytest.raises(OptionError, match="has changed"):
            approve(session, first, "session_also_changed")
        approve(session, first, "session")
        second = await asked(watcher, 1)
        assert "session_also_changed" in {each.scope for each in offered(second)}
        _, lines = request_lines(second)
        assert "Makefile changed since you allowed this." in lines
        assert lines[-2:] == ["-\t@echo one", "+\t@echo two"]
        approve(session, second, "session_also_changed")
        await turn.outcome()
        assert len(watcher.of(ApprovalRequest)) == 2
