"""The phones of a session's agents: who reaches whom, and what waits there when the daemon stops."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from sould.agents.journal.journal import JournalWriter
from sould.agents.journal.log import SessionLog
from sould.agents.soul.dmail.dmail import DenwaRenji, DMail, DMailRefusedError, DMailRouter
from sould.agents.wire.messages import TurnBegin


class Family:
    """A main agent and two children, with journals of their own."""

    def __init__(self, base: Path, writer: JournalWriter) -> None:
        self.base = base
        self.writer = writer
        self.exchange = DMailRouter()
        self.post = self.exchange.open("s1", base)
        self.logs: list[SessionLog] = []

    async def phone(self, agent_id: str) -> DenwaRenji:
        directory = self.base / (agent_id or "main")
        directory.mkdir()
        log = await SessionLog.create(directory, self.writer, session_id="s", cwd=self.base)
        self.logs.append(log)
        return self.post.connect(agent_id, log)


@pytest.fixture
async def family(tmp_path: Path) -> AsyncGenerator[Family, None]:
    writer = JournalWriter()
    made = Family(tmp_path, writer)
    yield made
    for log in made.logs:
        await log.aclose()
    writer.close()


async def test_only_open_sessions_of_the_same_project_answer(family: Family, tmp_path: Path) -> None:
    main = await family.phone("")
    other = DMailRouter().open("elsewhere", tmp_path / "other")
    for to in ("elsewhere", "s2"):
        with pytest.raises(DMailRefusedError, match="Nobody answers"):
            main.send(DMail("m"), to)
    assert other.main is None
    assert family.exchange.find("s1", tmp_path) is main
    assert main.receiver("s1") is main
    assert family.exchange.find("s1", tmp_path / "other") is None
    family.post.close()
    assert family.exchange.find("s1", tmp_path) is None


async def test_what_waited_when_the_daemon_stopped_is_delivered_or_told(family: Family) -> None:
    main, one = [await family.phone(name) for name in ("", "agent_1")]
    main.log.publish(TurnBegin(user_input="go"))
    main.send(DMail("back to the start", checkpoint_id=0))
    one.put(DMail("look at b.txt", "agent agent_2"))
    for log in family.logs:
        await log.aclose()
    family.logs = [await SessionLog.open(family.base / name, family.writer) for name in ("main", "agent_1")]
    main, one = (family.post.connect(name, log) for name, log in zip(("", "agent_1"), family.logs, strict=True))
    assert main.fetch(past=True) is None
    assert "back to the start" in main.notes[0]
    assert "time was not turned back" in main.notes[0]
    mail = one.fetch(past=False)
    assert mail is not None
    assert (mail.message, mail.sender) == ("look at b.txt", "agent agent_2")
