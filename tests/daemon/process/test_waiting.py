"""What is answered from a terminal, as the daemon takes it."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from sould.agents.base.errors import OptionError
from sould.agents.clients.connections import ClientProcess
from sould.agents.sessions.hostport import HostPort
from sould.agents.sessions.store.store import SessionStore
from sould.agents.wire.messages import ApprovalRequest
from sould.daemon.control import AnswerParams
from sould.daemon.process.waiting import answer, shown_request
from soultest.bench import Bench, Watcher, call


async def asked(watcher: Watcher, number: int) -> ApprovalRequest:
    """The question with this number, from 0."""
    await watcher.wait_for(ApprovalRequest, lambda _: len(watcher.of(ApprovalRequest)) > number)
    return watcher.of(ApprovalRequest)[number]


@pytest.fixture
def store(bench: Bench) -> Iterator[SessionStore]:
    with closing(SessionStore(bench.state)) as store:
        yield store


async def approve(host: HostPort, request: ApprovalRequest, *, also_changed: bool = False) -> None:
    params = AnswerParams(id=request.id, decision="approve_for_session", also_changed=also_changed)
    assert (await answer(host, ClientProcess({}, 0o022), params)).outcome == "accepted"


async def test_a_makefile_that_the_agent_rewrote_is_asked_about_until_it_may_change(
    bench: Bench, store: SessionStore
) -> None:
    make = call("Shell", command="make test")
    texts = ("two", "three")
    writes = [call("WriteFile", path="Makefile", content=f"test:\n\t@echo {text}\n") for text in texts]
    bench.script(make, writes[0], make, writes[1], make, "text: Done.")
    (bench.project / "Makefile").write_text("test:\n\t@echo one\n")
    async with bench.running():
        session, host = await bench.new("review"), HostPort(bench.host, store)
        watcher = Watcher(session, answer=None)
        turn = session.prompt("go", "someone")
        first = await asked(watcher, 0)
        with pytest.raises(OptionError, match="--also-changed"):
            await approve(host, first, also_changed=True)
        await approve(host, first)
        second = await asked(watcher, 1)
        shown = shown_request(session.id, second, None)
        assert shown.changed
        assert "Makefile changed since you allowed this." in shown.lines
        assert shown.lines[-2:] == ("-\t@echo one", "+\t@echo two")
        await approve(host, second, also_changed=True)
        await turn.outcome()
        assert len(watcher.of(ApprovalRequest)) == 2
