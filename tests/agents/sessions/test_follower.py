"""Following a session, with a frontend as small as one can be: nothing is missing and nothing comes twice, whatever the client does."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sould.agents.clients.connections import AttachedSession, ConnectionRecord, Unanswered
from sould.agents.journal.channel import MIB, Cursor, Record
from sould.agents.journal.journal import JournalWriter
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.follower import SessionFollower
from sould.agents.sessions.pendingprompts import PendingPrompts, recorded_end
from sould.agents.sessions.turns.turns import Prompt
from sould.agents.wire.content import FunctionCall, TextPart
from sould.agents.wire.messages import ToolCall, ToolCallPart, ToolOutput, TurnBegin, TurnEnd, WireMessage
from soultest.luck import examples
from soultest.streams import messages, new_log, rendered


class Pager:
    """A frontend: a client that takes `room` records and then no more until it has turned the page."""

    def __init__(self, log: SessionLog, room: int = 1_000_000) -> None:
        self.room = room
        self.gone = False
        self.shown: list[Record] = []
        self.history: list[Record] = []
        self.learnt: list[Record] = []
        self.live = 0
        self.tasks: list[asyncio.Task[None]] = []
        self._turned: list[Callable[[], None]] = []
        self.follower = SessionFollower(log, self, self, "s1")

    # --- as the sink ---

    def feed(self, record: Record) -> None:
        self.shown.append(record)
        self.room -= 1

    def feed_missed(self, record: Record) -> None:
        self.feed(record)

    def feed_history(self, record: Record) -> None:
        self.history.append(record)
        self.feed(record)

    def learn(self, record: Record) -> None:
        self.learnt.append(record)

    def went_live(self) -> None:
        self.live += 1

    # --- as the outlet ---

    @property
    def congested(self) -> bool:
        return self.room <= 0

    def on_drain(self, callback: Callable[[], None]) -> None:
        self._turned.append(callback)

    async def drained(self) -> None:
        turned = asyncio.Event()
        self.on_drain(turned.set)
        await turned.wait()

    def spawn(self, work: Coroutine[None, None, None], name: str) -> "asyncio.Task[None]":
        task = asyncio.create_task(work, name=name)
        self.tasks.append(task)
        return task

    # --- as the client ---

    def turn(self, room: int) -> None:
        """It has read what it had, and takes `room` records more."""
        self.room = room
        callbacks, self._turned = self._turned, []
        for callback in callbacks:
            callback()

    async def read_all(self) -> None:
        """It reads whatever comes until nothing does."""
        while self._turned or not all(task.done() for task in self.tasks):
            self.turn(1_000_000)
            await asyncio.sleep(0)


async def opened(client: Pager) -> None:
    """The client sees the history and what comes."""
    await client.follower.show_history()
    client.follower.go_live()


def durable(records: list[Record]) -> list[tuple[object, ...]]:
    """What a client has on its screen, without what is shown in passing."""
    shown = rendered(record for record in records if not record.volatile)
    return [entry for entry in shown if entry[0] != "streamed" or entry[3] is not None or entry[-1]]


def big(text: str) -> TextPart:
    """A piece of text that nobody holds many of."""
    return TextPart(text=text * MIB)


rooms = st.lists(st.integers(1, 5), max_size=12)
anything = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@anything
@given(before=st.lists(messages, max_size=15), after=st.lists(messages, max_size=15), rooms=rooms, data=st.data())
async def test_a_client_that_stops_reading_anywhere_sees_all_and_nothing_twice(
    before: list[WireMessage],
    after: list[WireMessage],
    rooms: list[int],
    data: st.DataObject,
    tmp_path: Path,
    writer: JournalWriter,
) -> None:
    log = await new_log(tmp_path / uuid4().hex, writer)
    whole, client = Pager(log), Pager(log, data.draw(st.integers(1, 5)))
    whole.follower.go_live()
    for message in before:
        log.publish(message)
    opening = asyncio.create_task(opened(client))
    meanwhile = data.draw(st.integers(0, len(after)))
    for message in after[:meanwhile]:
        log.publish(message)
        client.turn(rooms.pop() if rooms else 3)
        await asyncio.sleep(0)
    while not opening.done():
        client.turn(3)
        await asyncio.sleep(0)
    for message in after[meanwhile:]:
        log.publish(message)
        if data.draw(st.booleans()):
            client.turn(rooms.pop() if rooms else 2)
    await client.read_all()
    await client.follower.shown()
    assert durable(client.shown) == durable(whole.shown)
    assert client.follower.cursor == log.channel.position
    await log.aclose()


async def test_what_came_while_the_history_was_read_is_no_history(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    log.publish(TurnBegin(user_input="one"))
    client = Pager(log, 1)
    opening = asyncio.create_task(client.follower.show_history())
    await asyncio.sleep(0)
    log.publish(TurnEnd())
    client.turn(100)
    await opening
    assert [type(record.message) for record in client.history] == [TurnBegin]
    assert [type(record.message) for record in client.shown] == [TurnBegin, TurnEnd]
    await log.aclose()


async def test_a_client_too_far_behind_goes_on_from_the_journal(tmp_path: Path, writer: JournalWriter) -> None:
    """What is held for it is bounded; once it reads, it has missed nothing and is live again."""
    log = await new_log(tmp_path, writer)
    client = Pager(log, 2)
    client.follower.go_live()
    for letter in "abcdefghijklmnop":
        log.publish(big(letter))
    assert len(client.shown) == 2
    client.turn(1)
    await asyncio.sleep(0)
    assert len(client.shown) == 3  # one and the rest of the message, which is whole on disk
    log.publish(TurnEnd())
    await client.read_all()
    log.publish(TextPart(text="!"))
    text = "".join(record.message.text for record in client.shown if isinstance(record.message, TextPart))
    assert text == "".join(letter * MIB for letter in "abcdefghijklmnop") + "!"
    assert client.live == 2
    await log.aclose()


async def test_who_left_while_cut_off_is_fed_nothing_more(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    client = Pager(log, 1)
    client.follower.go_live()
    for letter in "abcdefghijkl":
        log.publish(big(letter))
    client.follower.end()
    await client.read_all()
    log.publish(TurnEnd())
    assert len(client.shown) == 1
    await client.follower.shown()
    await log.aclose()


async def test_waiting_for_what_was_shown_goes_on_with_the_successor(tmp_path: Path, writer: JournalWriter) -> None:
    log = await new_log(tmp_path, writer)
    before, after = Pager(log), Pager(log, 1)
    before.follower.go_live()
    before.follower.end(after.follower)
    after.follower.go_live()
    log.publish(TurnBegin(user_input="one"))
    log.publish(TurnEnd())
    waiting = asyncio.create_task(before.follower.shown())
    await asyncio.sleep(0)
    assert not waiting.done()
    after.turn(100)
    await waiting
    assert len(after.shown) == 2
    assert not before.shown
    await log.aclose()


@anything
@given(stream=st.lists(messages, min_size=1, max_size=25), data=st.data())
async def test_the_next_daemon_goes_on_from_the_record(
    stream: list[WireMessage], data: st.DataObject, tmp_path: Path, writer: JournalWriter
) -> None:
    """What the first one fed and what the second one feeds is the conversation, cut wherever it was; what it learnt is the first part."""
    directory = tmp_path / uuid4().hex
    log = await new_log(directory, writer)
    whole, first = Pager(log), Pager(log, data.draw(st.integers(1, 10)))
    whole.follower.go_live()
    first.follower.go_live()
    for message in stream:
        log.publish(message)
    cursor = first.follower.cursor
    known = ConnectionRecord("c", sessions={"s1": AttachedSession("/w", (), cursor.seq, cursor.offset)})
    left = ConnectionRecord.load(known.dump()).sessions["s1"]
    await log.aclose()

    again = await SessionLog.open(directory, writer)
    second = Pager(again)
    await second.follower.catch_up(Cursor(left.seq, left.offset))
    second.follower.go_live()
    again.publish(TurnEnd())
    shown = durable([*first.shown, *second.shown])
    assert shown == [*durable(whole.shown), ("whole", TurnEnd())]
    assert durable(second.learnt) == durable(first.shown)
    await again.aclose()


async def test_a_call_cut_in_its_arguments_is_learnt_as_far_as_it_was_fed(
    tmp_path: Path, writer: JournalWriter
) -> None:
    log = await new_log(tmp_path, writer)
    log.publish(ToolCall(id="1", function=FunctionCall(name="Shell")))
    client = Pager(log)
    for part in ('{"a"', ":1}"):
        log.publish(ToolCallPart(arguments_part=part))
    log.publish(ToolOutput(tool_call_id="1", text="shown, not kept"))
    await client.follower.catch_up(Cursor(1, 5))
    (learnt,) = (record.message for record in client.learnt)
    (fed,) = (record.message for record in client.shown)
    assert isinstance(learnt, ToolCall)
    assert isinstance(fed, ToolCallPart)
    assert (learnt.function.arguments, fed.arguments_part) == ('{"a"', ":1}")
    await log.aclose()


def test_a_record_survives_and_one_that_is_none_is_refused() -> None:
    record = ConnectionRecord(
        "c", "An editor", {"x": 1}, {"s": AttachedSession("/w")}, (Unanswered("r", "ask", "s", "t"),), (7,)
    )
    assert ConnectionRecord.load(record.dump()).unanswered == record.unanswered
    assert ConnectionRecord.load(record.dump()).client_name == "An editor"
    for data in (b"{}", b"[]", b"{", b"null", b'{"client_id":1}'):
        with pytest.raises(ValueError, match=r".*"):
            ConnectionRecord.load(data)


async def test_prompts_keep_their_order_over_a_restart_and_get_their_own_ends(
    tmp_path: Path, writer: JournalWriter
) -> None:
    log = await new_log(tmp_path, writer)
    log.publish(TurnBegin(user_input="one", turn_id="ended"))
    log.publish(TurnEnd(turn_id="ended", stop_reason="max_tokens"))
    pending, goes_on = PendingPrompts("c"), Prompt("two", "c", turn_id="runs", resumes=True)
    ended, resumed, never = (pending.take_up(turn, goes_on) for turn in ("ended", "runs", "waited"))
    assert pending.turns == ["ended", "runs", "waited"]
    assert resumed is goes_on
    assert (await recorded_end(ended.turn_id, log.replay())).stop_reason == "max_tokens"
    assert "before this prompt was started" in str((await recorded_end(never.turn_id, log.replay())).error)
    pending.cancel()
    assert (await resumed.outcome()).stop_reason == "cancelled"
    await log.aclose()
