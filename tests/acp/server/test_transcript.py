"""The transcript of a session in pages, and the live updates that go on from it: nothing lost, nothing twice."""

import os
import random
from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from sould.agents.clients.connections import ConnectionRecord
from sould.agents.sessions.session import Session
from sould.agents.wire import messages as wire
from sould.agents.wire.content import TextPart, ThinkPart
from sould.agents.wire.display import TodoBlock, TodoItem
from soultest.acpclient import AcpClient, AgentError, ignore
from soultest.acpscreen import DETAIL, REQUEST, result, tool_call
from soultest.bench import Bench, call
from soultest.bench.acp import Connect
from soultest.reviewschema import judge

Json = dict[str, Any]
PANEL: Json = {"session": {"notices": {}}, "_meta": {"sould": {"sequence": True}}}
MESSAGES = {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"}


def screen(updates: Iterable[Json]) -> list[Any]:
    """What stands on a screen after some updates: messages whole, cards as they are now, the plan as it was told last."""
    shown: dict[Any, Any] = {}
    for number, update in enumerate(updates):
        match update["sessionUpdate"]:
            case kind if kind in MESSAGES:
                key = kind, update["messageId"]
                shown[key] = shown.get(key, "") + update["content"]["text"]
            case "tool_call" | "tool_call_update":
                card = shown.setdefault(("call", update["toolCallId"]), {})
                card |= {key: value for key, value in update.items() if key != "sessionUpdate"}
            case "plan":
                shown.pop("plan", None)
                shown["plan"] = update["entries"]
            case "notice":
                shown["notice", number] = update["title"]
            case _:
                pass
    return [(key if isinstance(key, str) else key[0], value) for key, value in shown.items()]


class Surface:
    """A panel: one snapshot, then what comes after it, over the messages of one client after the other."""

    def __init__(self) -> None:
        self.session = ""
        self._heard: list[Json] = []
        self._from = 0
        self._snapshot: Json = {"updates": [], "sequence": 0}

    async def take(self, client: AcpClient, limit: int = 100) -> Json:
        """The whole conversation, by pages; the newest is what live updates follow."""
        newest = await page(client, self.session, limit=limit)
        updates, before = newest["updates"], newest["before"]
        self._heard, self._from = [], len(client.messages)
        while before is not None:
            older = await page(client, self.session, before=before, limit=limit)
            updates, before = older["updates"] + updates, older["before"]
        self._snapshot = {**newest, "updates": updates}
        return newest

    def hear(self, client: AcpClient) -> None:
        """Whatever the client was told since."""
        self._heard += client.messages[self._from :]
        self._from = len(client.messages)

    def begin_again(self) -> None:
        """The client is another one."""
        self._from = 0

    @property
    def shown(self) -> list[Any]:
        live: list[Json] = []
        for params in updates_in(self._heard):
            number = params.get("_meta", {}).get("sould", {}).get("sequence")
            if number is not None and number > self._snapshot["sequence"]:
                live.append(params["update"])
        return screen([*(each["update"] for each in self._snapshot["updates"]), *live])


def updates_in(messages: Iterable[Json]) -> list[Json]:
    return [each["params"] for each in messages if each.get("method") == "session/update"]


async def page(client: AcpClient, session: str, **more: Any) -> Json:
    answer: Json = await client.request("_sould/session/transcript", sessionId=session, **more)
    return answer


async def loaded(bench: Bench, connect: Connect, session: str) -> list[Any]:
    """What `session/load` shows a client of the same kind."""
    async with connect(permissions=ignore) as client:
        await client.initialize(PANEL)
        await client.request("session/load", sessionId=session, cwd=str(bench.project), mcpServers=[])
        return screen(client.updates())


class Stream:
    """What a session could say, at random: calls in steps, words between, subagents, notices, a plan."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._made = 0
        self._open: list[str] = []
        self._within: list[tuple[str, str]] = []
        self._turn = ""
        self._due: list[wire.WireMessage] = []

    def next(self) -> wire.WireMessage:
        if self._due:
            return self._due.pop()
        if not self._turn:
            self._made += 1
            self._turn = f"t{self._made}"
            return wire.TurnBegin(user_input=f"do {self._made}", turn_id=self._turn, client_id="somebody")
        match self.random.choice(
            ("text", "text", "think", "open", "detail", "ask", "child", "close", "close", "notice", "step", "end")
        ):
            case "think":
                return ThinkPart(think=self._words())
            case "open" if len(self._open) < 3:
                self._made += 1
                self._open.append(f"c{self._made}")
                return tool_call("StrReplaceFile", self._open[-1])
            case "detail" if self._open:
                return DETAIL.model_copy(update={"tool_call_id": self.random.choice(self._open)})
            case "ask" if self._open:
                self._made += 1
                asked = f"r{self._made}"
                self._due.append(wire.ApprovalResponse(request_id=asked, response="approve"))
                return REQUEST.model_copy(update={"id": asked, "tool_call_id": self.random.choice(self._open)})
            case "child" if self._open:
                self._made += 1
                parent, inner = self.random.choice(self._open), f"c{self._made}"
                self._within.append((parent, inner))
                return self._of(parent, tool_call("StrReplaceFile", inner))
            case "close" if self._within:
                parent, inner = self._within.pop()
                return self._of(parent, result(inner, output=self._words()))
            case "close" if self._open:
                return result(self._open.pop(self.random.randrange(len(self._open))), output=self._words())
            case "notice":
                self._made += 1
                return wire.Notification(id=f"n{self._made}", type="task", title=f"Finished {self._made}")
            case "step" if not self._open and not self._within:
                return wire.StepBegin(n=self._made)
            case "end":
                self._open, self._within, turn = [], [], self._turn
                self._turn = ""
                return wire.TurnEnd(turn_id=turn)
            case _:
                return TextPart(text=self._words())

    def _words(self) -> str:
        return self.random.choice(("a", "\U0001f99c ", "word " * 9, "line\n"))

    def _of(self, parent: str, event: wire.WireMessage) -> wire.SubagentEvent:
        return wire.SubagentEvent(parent_tool_call_id=parent, agent_id="a", subagent_type="x", event=event)


async def lived_through(surface: Surface, client: AcpClient, session: Session, stream: Stream) -> None:
    """Much is said; the surface takes snapshots, and its client reads or does not."""
    for _ in range(40):
        for _ in range(stream.random.randrange(12)):
            session.log.publish(stream.next())
        match stream.random.randrange(6):
            case 0:
                client.reading.set()
                await surface.take(client, stream.random.choice((1, 3, 100)))
            case 1:
                client.reading.clear()
            case 2:
                answer = client.start("_sould/session/transcript", sessionId=surface.session, limit=2)
                client.reading.set()
                await answer
            case _:
                client.reading.set()
        surface.hear(client)
    client.reading.set()
    await page(client, surface.session)
    surface.hear(client)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
async def test_snapshots_pages_and_live_updates_make_what_a_load_shows(
    bench: Bench, connect: Connect, seed: int
) -> None:
    """Whatever happens in between: a client that does not read, and a daemon that is another one from then on."""
    stream, surface, record = Stream(seed), Surface(), None
    records: list[ConnectionRecord] = []
    for _ in range(3):
        async with (
            bench.running(),
            connect(resume=record, remember=records.append, pipe=4096, check=record is None) as client,
        ):
            if record is None:
                await client.initialize(PANEL)
                surface.session = await client.new_session(bench.project)
            else:
                surface.begin_again()
            await lived_through(surface, client, await bench.open(surface.session), stream)
            assert surface.shown == await loaded(bench, connect, surface.session)
        record = ConnectionRecord.load(replace(records[-1], unanswered=(), asked=()).dump())
    async with bench.running():
        kept = await loaded(bench, connect, surface.session)
    async with bench.running() as host, connect() as client:
        await client.initialize(PANEL)
        await surface.take(client, 3)
        assert surface.shown == kept
        assert host.sessions.get(surface.session) is None


async def test_a_session_that_nobody_has_open_is_shown_by_its_newest_page(bench: Bench, connect: Connect) -> None:
    """It stays as it is: to read it opens nothing."""
    bench.script(*(f"text: answer {number}" for number in range(9)))
    async with bench.running(), connect() as client:
        await client.initialize()
        session = await client.new_session(bench.project)
        for number in range(9):
            await client.prompt(session, f"question {number}")
    async with bench.running() as host, connect() as client:
        await client.initialize(PANEL)
        newest = await page(client, session, limit=4)
        assert [each["update"]["content"]["text"] for each in newest["updates"]] == [
            "question 7", "answer 7", "question 8", "answer 8",
        ]  # fmt: skip
        older = await page(client, session, before=newest["before"], limit=100)
        assert older["before"] is None
        assert older["updates"][0]["update"]["content"]["text"] == "question 0"
        assert older["updates"][-1]["update"]["content"]["text"] == "answer 6"
        assert host.sessions.get(session) is None
        answer = await client.request("session/resume", sessionId=session, cwd=str(bench.project), mcpServers=[])
        assert answer["_meta"]["sould"]["sequence"] == newest["sequence"], "nothing came in between"
        assert {"session/transcript.params", "session/transcript.result"} <= judge(client.log)


async def test_a_place_where_no_page_ends_is_refused(bench: Bench, connect: Connect) -> None:
    bench.script("text: hello")
    async with bench.running(), connect() as client:
        await client.initialize(PANEL)
        session = await client.new_session(bench.project)
        await client.prompt(session, "hi")
        for wrong in (3, -1, 10**9):
            with pytest.raises(AgentError) as failure:
                await page(client, session, before=wrong)
            assert failure.value.code == -32602
        with pytest.raises(AgentError) as failure:
            await page(client, "nothing")
        assert failure.value.code == -32002


async def test_a_command_that_runs_is_shown_with_what_it_has_printed(bench: Bench, connect: Connect) -> None:
    """Its result brings all of it, also to somebody who came in the middle."""
    capabilities: Json = {**PANEL, "_meta": {**PANEL["_meta"], "terminal_output": True}}
    bench.script(call("Shell", command="echo one; read go < go; echo two"), "text: done")
    go = bench.project / "go"
    async with bench.running(), connect() as client:
        os.mkfifo(go)
        await client.initialize(capabilities)
        session = await client.new_session(bench.project)
        answer = client.prompt(session, "run it")
        await client.wait_update("tool_call_update", lambda update: "terminal_output" in update.get("_meta", {}))
        shown = (await page(client, session))["updates"]
        card = shown[-1]["update"]
        assert (card["sessionUpdate"], card["status"]) == ("tool_call", "in_progress")
        assert card["_meta"]["terminal_output"]["data"].split() == ["one"]
        go.write_text("go\n")
        await answer
        ended = [each["update"] for each in (await page(client, session))["updates"]]
        card = next(each for each in ended if each["sessionUpdate"] == "tool_call")
        assert card["_meta"]["terminal_output"]["data"].split() == ["one", "two"]
        assert card["_meta"]["terminal_exit"]["exit_code"] == 0


async def test_the_newest_page_has_the_plan_in_force(bench: Bench, connect: Connect) -> None:
    """However long ago it was told; of a turn that was cut off nobody works at anything."""
    todo = TodoBlock(items=(TodoItem(title="first", status="done"), TodoItem(title="then", status="in_progress")))
    async with bench.running():
        session = await bench.begin()
        said: list[wire.WireMessage] = [
            wire.TurnBegin(user_input="go", turn_id="t1"),
            tool_call("SetTodoList", "c1"),
            wire.ToolResult(tool_call_id="c1", return_value=wire.ToolReturn(is_error=False, display=(todo,))),
            wire.SubagentEvent(
                parent_tool_call_id="c1", agent_id="a", subagent_type="x", event=result("c2", display=(todo, todo))
            ),
            wire.TurnEnd(turn_id="t1", stop_reason="cancelled"),
            wire.TurnBegin(user_input="on", turn_id="t2"),
            TextPart(text="well"),
            wire.TurnEnd(turn_id="t2"),
        ]
        for each in said:
            session.log.publish(each)
    async with bench.running(), connect() as client:
        await client.initialize(PANEL)
        newest = await page(client, session.id, limit=1)
        plans = [each["update"] for each in newest["updates"] if each["update"]["sessionUpdate"] == "plan"]
        assert [[entry["status"] for entry in plan["entries"]] for plan in plans] == [["completed", "pending"]]
        older = await page(client, session.id, limit=1, before=newest["before"])
        assert older["updates"][-1]["update"]["sessionUpdate"] == "plan"


async def test_two_surfaces_of_a_client_may_show_a_session(bench: Bench, connect: Connect) -> None:
    """The second one changes nothing for the first: a question stays the same question, an update comes once."""
    bench.script(call("Shell", command="touch x"), "text: done")
    async with bench.running(), connect(permissions=ignore) as client:
        await client.initialize(PANEL)
        session = await client.new_session(bench.project)
        answer = client.prompt(session, "run it")
        asked = await client.wait_request("session/request_permission")
        again = await client.request("session/resume", sessionId=session, cwd=str(bench.project), mcpServers=[])
        snapshot = await page(client, session)
        assert again["_meta"]["sould"]["sequence"] == snapshot["sequence"]
        before = len(client.messages)
        client.answer(asked, {"outcome": {"outcome": "selected", "optionId": allowing(asked)}})
        await answer
        assert client.asked("session/request_permission") == [asked]
        said = [params["update"] for params in updates_in(client.messages[before:])]
        assert [each["content"]["text"] for each in said if each["sessionUpdate"] == "agent_message_chunk"] == ["done"]
        assert not [each for each in client.messages if each.get("method") == "$/cancel_request"]


async def test_what_a_client_sends_is_said_to_it_with_its_place(bench: Bench, connect: Connect) -> None:
    """So that its other surfaces see it; to clients that do not ask for places nothing of it is said."""
    bench.script("text: hello")
    for capabilities, said in ((PANEL, ["hi"]), ({}, [])):
        async with bench.running(), connect() as client:
            await client.initialize(capabilities)
            session = await client.new_session(bench.project)
            await client.prompt(session, "hi")
            assert [each["content"]["text"] for each in client.updates("user_message_chunk")] == said
            numbers = [params.get("_meta") for params in updates_in(client.messages)]
            assert any(numbers) is bool(said)


def allowing(asked: Json) -> str:
    return next(str(each["optionId"]) for each in asked["params"]["options"] if each["kind"] == "allow_once")


async def test_whether_a_turn_runs_is_told_to_every_surface(bench: Bench, connect: Connect) -> None:
    bench.script(call("WriteFile", path="b.txt", content="x"), "text: done")
    async with bench.running(), connect(permissions=ignore) as one, connect(permissions=ignore) as two:
        await one.initialize(PANEL)
        await two.initialize(PANEL)
        session = await one.new_session(bench.project)
        prompt = one.prompt(session, "write")
        asked = await one.wait_request("session/request_permission")
        await two.request("session/resume", sessionId=session, cwd=str(bench.project), mcpServers=[])
        one.answer(asked, {"outcome": {"outcome": "selected", "optionId": allowing(asked)}})
        assert (await prompt)["stopReason"] == "end_turn"
        for client, told in ((one, [False, True, False]), (two, [True, False])):
            await client.wait_for(lambda _, client=client, told=told: running(client) == told)


def running(client: AcpClient) -> list[bool]:
    """What a client was told of turns."""
    method = "_sould/running"
    return [message["params"]["running"] for message in client.messages if message.get("method") == method]
