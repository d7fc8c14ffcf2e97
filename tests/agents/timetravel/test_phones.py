"""The phones of a session's agents: who reaches whom, and who is never born."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from sould.agents.timetravel.dmail import DenwaRenji, DMail, DMailRefusedError, Exchange
from sould.agents.wire.journal import JournalWriter
from sould.agents.wire.log import SessionLog
from sould.agents.wire.messages import TurnBegin


class Family:
    """A main agent and two children, with journals of their own."""

    def __init__(self, base: Path, writer: JournalWriter) -> None:
        self.base = base
        self.writer = writer
        self.exchange = Exchange()
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


async def test_a_sibling_gets_a_message_that_does_not_turn_time_back(family: Family) -> None:
    main, one, two = [await family.phone(name) for name in ("", "agent_1", "agent_2")]
    one.parent = two.parent = main
    one.send(DMail("look at b.txt", "agent agent_1"), "agent_2")
    assert two.fetch(past=True) is None
    mail = two.fetch(past=False)
    assert mail is not None
    assert mail.message == "look at b.txt"
    assert two.fetch(past=False) is None


async def test_two_children_sending_at_once_the_second_is_refused_unless_it_matters_more(family: Family) -> None:
    main, one, two = [await family.phone(name) for name in ("", "agent_1", "agent_2")]
    main.log.publish(TurnBegin(user_input="go"))
    one.parent = two.parent = main
    told: list[str] = []
    one.send(DMail("one", checkpoint_id=0, told=told.append), "parent")
    with pytest.raises(DMailRefusedError, match="higher priority"):
        two.send(DMail("two", checkpoint_id=0), "parent")
    two.send(DMail("two", checkpoint_id=0, priority=1), "parent")
    assert told == ["Your D-Mail was replaced by one of a higher priority before it arrived."]
    mail = main.fetch(past=True)
    assert mail is not None
    assert mail.message == "two"


async def test_a_parent_that_goes_back_to_before_a_birth_cancels_that_child_and_the_later_ones(family: Family) -> None:
    main, early, late = [await family.phone(name) for name in ("", "early", "late")]
    ready = asyncio.Barrier(2)

    async def live(phone: DenwaRenji) -> str:
        with main.child(phone):
            await ready.wait()
            await asyncio.Event().wait()
        return ""

    main.log.publish(TurnBegin(user_input="one"))
    tasks = [asyncio.ensure_future(live(early))]
    await ready.wait()
    main.log.publish(TurnBegin(user_input="two"))
    tasks.append(asyncio.ensure_future(live(late)))
    await ready.wait()
    assert (early.born, late.born) == (0, 1)
    assert main.cancel_unborn(1) == [late]
    await asyncio.wait(tasks[1:])
    assert tasks[1].cancelled()
    assert not tasks[0].done()
    main.cancel_unborn(0)
    await asyncio.wait(tasks)


async def test_only_open_sessions_of_the_same_project_answer(family: Family, tmp_path: Path) -> None:
    main = await family.phone("")
    other = Exchange().open("elsewhere", tmp_path / "other")
    for to in ("elsewhere", "s2"):
        with pytest.raises(DMailRefusedError, match="Nobody answers"):
            main.send(DMail("m"), to)
    assert other.main is None
    assert family.exchange.find("s1", tmp_path) is main
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


async def test_a_lower_priority_is_refused_like_an_equal_one(family: Family) -> None:
    main = await family.phone("")
    main.put(DMail("first", priority=1))
    for priority in (0, 1):
        with pytest.raises(DMailRefusedError, match="only a higher priority"):
            main.put(DMail("second", priority=priority))
    main.put(DMail("third", priority=2))
    mail = main.fetch(past=False)
    assert mail is not None
    assert mail.message == "third"
