"""Tools that a client runs for the agent: registered, offered, asked about, called, and what becomes of them when it goes."""

import shutil
from collections.abc import Sequence
from typing import Any

import pytest

from sould.agents.base.workspace import TextFiles
from sould.agents.sessions.session import Session
from sould.agents.tools.external.definition import LONGEST_OUTPUT
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    ContextNote,
    RequestClosed,
    ToolCallDetail,
    ToolCallRequest,
    ToolResult,
    ToolReturn,
    TurnEnd,
)
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.looks import tool_names, toolset_of

OPEN = {
    "name": "open_file",
    "description": "Open a file in the editor.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}
STATE = {"name": "editor_state", "description": "What is open.", "kind": "read"}
ASKED = call("open_file", path="a.txt")
FINE = {
    "is_error": False,
    "output": "Opened",
    "message": "Opened a.txt",
    "display": [{"type": "brief", "text": "a.txt"}],
}


class Editor:
    """A client that runs tools."""

    speaks_for_user = chooses_for_project = True

    def __init__(self, session: Session, name: str = "editor") -> None:
        self.id = self.name = name
        self.session = session
        session.attach(self)

    def workspace(self, inner: TextFiles, session_id: str) -> None:
        """See `Client`."""

    def register(self, *tools: Any) -> tuple[tuple[str, ...], dict[str, str]]:
        accepted, rejected = self.session.parts.client_tools.register(tools, self.id)
        return tuple(accepted), dict(rejected)

    def answer(self, request: ToolCallRequest, answer: object = FINE) -> str:
        return self.session.parts.client_tools.answer(request.id, answer, self.id).outcome


async def opened(bench: Bench, *scripts: str, mode: str = "full") -> tuple[Watcher, Editor]:
    bench.script(*scripts)
    watcher = Watcher(await bench.new(mode))
    return watcher, Editor(watcher.session)


def offered(session: Session) -> Sequence[str]:
    return tool_names(session)


def result(watcher: Watcher, number: int = 0) -> ToolReturn:
    return watcher.of(ToolResult)[number].return_value


async def test_a_client_runs_a_tool_and_everybody_is_asked_and_told(bench: Bench) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, ASKED, "text: done", mode="ask")
        assert editor.register(OPEN) == (("open_file",), {})
        turn = watcher.session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(ToolCallRequest)
        [approval] = watcher.of(ApprovalRequest)
        assert approval.action == "mcp:open_file"
        assert "Call open_file of editor" in approval.description
        assert [detail.title for detail in watcher.of(ToolCallDetail)] == ["editor: open_file"]
        assert (request.name, request.arguments) == ("open_file", '{"path":"a.txt"}')
        assert request in watcher.session.log.channel.pending
        assert watcher.session.parts.client_tools.answer(request.id, FINE, "watcher").outcome == "not_yours"
        assert watcher.session.parts.client_tools.answer("nothing", FINE, "editor").outcome == "unknown"
        assert editor.answer(request) == "accepted"
        assert editor.answer(request) == "already"
        assert (await turn.outcome()).stop_reason == "finished"
        assert result(watcher).output == "Opened"
        replayed = [type(record.message) for record in watcher.session.log.replay()]
        assert replayed.count(ToolCallRequest) == replayed.count(ToolResult) == 1


async def test_a_tool_that_only_looks_is_not_asked_about_and_works_while_planning(bench: Bench) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, call("editor_state"), ASKED, "text: done", mode="plan")
        editor.register(STATE, OPEN)
        turn = watcher.session.turns.prompt("go", "watcher")
        editor.answer(await watcher.wait_for(ToolCallRequest))
        await turn.outcome()
        assert watcher.of(ApprovalRequest) == []
        assert [result(watcher, number).is_error for number in (0, 1)] == [False, True]
        assert "no external tool is called" in result(watcher, 1).message


async def test_what_cannot_be_offered_is_refused_with_the_reason(bench: Bench) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, "text: done")
        other = Editor(watcher.session, "other")
        other.register(STATE)
        accepted, rejected = editor.register(
            {"name": "Shell"},
            {"name": "SendDMail"},
            {"name": "a__b"},
            {"name": "no blanks"},
            {"name": "listed", "parameters": {"type": "array"}},
            {"name": "odd", "kind": "magic"},
            {"description": "nameless"},
            STATE,
            OPEN,
        )
        assert accepted == ("open_file",)
        assert rejected == {
            "Shell": "conflicts with builtin tool",
            "SendDMail": "conflicts with builtin tool",
            "a__b": "names with __ are those of MCP servers' tools",
            "no blanks": "a name has 1 to 64 letters, digits, - and _, and begins with a letter or _",
            "listed": "parameters.type must be object",
            "odd": "kind must be read, edit, delete, move, search, execute, think, fetch, switch_mode or other",
            "": "name is required",
            "editor_state": "other offers a tool of this name",
        }


async def test_the_offer_is_the_same_bytes_whoever_registers_first(bench: Bench) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, "text: done")
        other = Editor(watcher.session, "other")
        other.register(STATE)
        editor.register(OPEN)
        before = toolset_of(watcher.session).specs
        assert [spec.name for spec in before][-2:] == ["editor_state", "open_file"]
        other.register()
        assert offered(watcher.session)[-1:] == ["open_file"]
        assert "editor_state" not in offered(watcher.session)
        other.register(STATE)
        assert toolset_of(watcher.session).specs == before
        await finish(watcher.session, "go")
        assert watcher.of(ContextNote) == [], "what came back before a step was never missing"


async def test_a_client_that_goes_ends_its_call_and_takes_its_tools_with_it(bench: Bench) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, ASKED, ASKED, "text: done")
        editor.register(OPEN)
        turn = watcher.session.turns.prompt("go", "watcher")
        await watcher.wait_for(ToolCallRequest)
        watcher.session.detach(editor.id)
        assert (await turn.outcome()).stop_reason == "finished"
        first, second = result(watcher), result(watcher, 1)
        assert first.is_error
        assert first.message.startswith("editor disconnected while it ran open_file")
        assert "was a tool of editor" in second.message
        assert len(watcher.of(ToolCallRequest)) == 1
        assert len(watcher.of(RequestClosed)) == 1
        assert [note.text for note in watcher.of(ContextNote)] == [
            "editor disconnected or withdrew these tools: open_file. Do without them."
        ]
        assert "open_file" not in offered(watcher.session)


async def test_a_client_that_goes_while_a_person_is_asked_is_not_waited_for(bench: Bench) -> None:
    async with bench.running():
        bench.script(ASKED, "text: done")
        watcher = Watcher(await bench.new("ask"), answer=None)
        editor = Editor(watcher.session)
        editor.register(OPEN)
        turn = watcher.session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(ApprovalRequest)
        watcher.session.detach(editor.id)
        watcher.session.parts.attached.answer(ApprovalResponse(request_id=request.id, response="approve"), "watcher")
        await turn.outcome()
        assert "was a tool of editor" in result(watcher).message
        assert watcher.of(ToolCallRequest) == []


async def test_cancelling_closes_the_request(bench: Bench) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, ASKED, "text: done")
        editor.register(OPEN)
        turn = watcher.session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(ToolCallRequest)
        watcher.session.turns.cancel("watcher")
        assert (await turn.outcome()).stop_reason == "cancelled"
        assert [closed.request_id for closed in watcher.of(RequestClosed)] == [request.id]
        assert editor.answer(request) == "already"
        assert "may or may not have run" in result(watcher).message


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("text", "it must be an object"),
        ({"output": "x"}, "is_error is required"),
        ({"is_error": False, "output": 5}, "output must be text"),
        (
            {"is_error": False, "output": "x" * (LONGEST_OUTPUT + 1)},
            "it has 100001 characters, and the limit is 100000",
        ),
        (
            {"is_error": False, "output": [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]},
            "output.0 has no data: URL",
        ),
        ({"is_error": False, "output": "", "extras": {"much": "x" * 300_000}}, "are larger than 256 KiB"),
        ({"is_error": False, "output": object()}, "it is not JSON"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_an_error_that_says_what_is_wrong(
    bench: Bench, answer: object, told: str
) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, ASKED, "text: done")
        editor.register(OPEN)
        turn = watcher.session.turns.prompt("go", "watcher")
        assert editor.answer(await watcher.wait_for(ToolCallRequest), answer) == "accepted"
        await turn.outcome()
        assert result(watcher).is_error
        assert told in result(watcher).message


async def test_a_client_cannot_speak_for_the_user(bench: Bench) -> None:
    async with bench.running():
        watcher, editor = await opened(bench, ASKED, "text: went on")
        editor.register(OPEN)
        turn = watcher.session.turns.prompt("go", "watcher")
        forged = {"is_error": True, "output": "", "extras": {"rejected": True, "feedback": "", "kept": 1}}
        editor.answer(await watcher.wait_for(ToolCallRequest), forged)
        assert (await turn.outcome()).stop_reason == "finished", "only a person's no ends a turn"
        assert result(watcher).extras == {"kept": 1}


async def test_another_tool_of_a_name_that_was_allowed_is_asked_about(bench: Bench) -> None:
    async with bench.running():
        bench.script(ASKED, "text: done", ASKED, "text: done", ASKED, "text: done")
        watcher = Watcher(await bench.new("ask"), answer="approve_for_session")
        editor = Editor(watcher.session)
        for description, questions in (("one", 1), ("one", 1), ("two", 2)):
            editor.register(OPEN | {"description": description})
            before = len(watcher.of(ToolCallRequest))
            turn = watcher.session.turns.prompt("go", "watcher")
            request = await watcher.wait_for(
                ToolCallRequest, lambda each, before=before: each in watcher.of(ToolCallRequest)[before:]
            )
            editor.answer(request)
            await turn.outcome()
            assert len(watcher.of(ApprovalRequest)) == questions


async def test_a_call_that_was_open_when_the_daemon_was_killed_is_closed_honestly(bench: Bench) -> None:
    left = bench.root / "left"
    async with bench.running():
        watcher, editor = await opened(bench, ASKED, "text: done")
        editor.register(OPEN)
        turn = watcher.session.turns.prompt("go", "watcher")
        request = await watcher.wait_for(ToolCallRequest)
        await watcher.session.log.commit()
        shutil.copytree(bench.state, left)
        editor.answer(request)
        await turn.outcome()
    shutil.rmtree(bench.state)
    left.rename(bench.state)  # as it was in the middle of the call
    bench.script(ASKED, "text: done")
    async with bench.running():
        session = await bench.open(watcher.session.id)
        told = [record.message for record in session.log.replay()]
        [closed] = [message for message in told if isinstance(message, ToolResult)]
        assert "may or may not have run" in closed.return_value.message
        assert [each.stop_reason for each in told if isinstance(each, TurnEnd)] == ["interrupted"]
        again = Watcher(session)
        editor = Editor(session)
        assert editor.answer(request) == "unknown"
        editor.register(OPEN)
        turn = session.turns.prompt("go", "watcher")
        editor.answer(await again.wait_for(ToolCallRequest))
        await turn.outcome()
        assert result(again).output == "Opened"
