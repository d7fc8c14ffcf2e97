"""The schemas of docs/schemas/wire say what is sent: every type of Wire happens here, and each line is judged by its schema."""

from collections.abc import Mapping, Sequence
from typing import get_args

import pytest

from sould.agents.wire.content import (
    AudioPart,
    FunctionCall,
    ImagePart,
    MediaUrl,
    Origin,
    TextPart,
    ThinkPart,
    VideoPart,
)
from sould.agents.wire.display import BackgroundTaskBlock, BriefBlock, DiffBlock, ShellBlock, TodoBlock, TodoItem
from sould.agents.wire.messages import (
    ApprovalRequest,
    Extension,
    QuestionItem,
    QuestionRequest,
    SteerInput,
    SubagentEvent,
    ToolCall,
    ToolResult,
    ToolReturn,
    TurnBegin,
    WireEvent,
    WireMessage,
    WireRequest,
    parse_payload,
    type_name,
)
from sould.daemon.wire.versions import NEWEST, TYPES, WireReader
from soultest.bench import Bench, call
from soultest.bench.mcp import configure, entry, user_file
from soultest.reviewschema import FOLDER
from soultest.wireprogram import NEW, Json, WireProgram, wire_connected
from soultest.wireschema import WireJudge

ATTACHED = Origin(type="resource", uri="file:///a")
PARTS = (
    TextPart(text="a", origin=ATTACHED),
    ThinkPart(think="b"),
    ImagePart(image_url=MediaUrl(url="data:,"), origin=ATTACHED),
    AudioPart(audio_url=MediaUrl(url="data:,")),
    VideoPart(video_url=MediaUrl(url="data:,")),
)
BLOCKS: Sequence[Json] = [
    BriefBlock(text="a").model_dump(),
    DiffBlock(path="/a", old_text="", new_text="b", is_new=True).model_dump(),
    DiffBlock(path="/a", old_text="", new_text="b", secret=True).model_dump(),
    TodoBlock(items=(TodoItem(title="a", status="done"),)).model_dump(),
    ShellBlock(command="true").model_dump(),
    BackgroundTaskBlock(task_id="1", kind="shell", status="running", description="a").model_dump(),
    {"type": "vendor/chart", "values": [1, 2], "data": None},
]
RETURN = ToolReturn.model_validate({"is_error": False, "output": PARTS, "display": BLOCKS, "extras": {"a": 1}})
CALL = ToolCall(id="c", function=FunctionCall(name="Shell"))
MESSAGES: Sequence[WireMessage] = (
    *PARTS,
    TurnBegin(user_input=PARTS),
    SteerInput(user_input=PARTS),
    CALL,
    ToolResult(tool_call_id="c", return_value=RETURN),
    ApprovalRequest(id="a", tool_call_id="c", sender="s", action="a", description="d", display=RETURN.display),
    QuestionRequest(id="q", tool_call_id="c", questions=(QuestionItem(question="?", default="x"),)),
    SubagentEvent(parent_tool_call_id="c", event=SubagentEvent(parent_tool_call_id="d", event=CALL)),
)
"""With all that may be within them."""
OURS: Mapping[str, Json] = {
    "CompactionBegin": {"compaction_id": "c"},
    "PromptQueued": {"turn_id": "t", "position": 1, "user_input": "go"},
    "TurnEnd": {"turn_id": "t", "error": {"kind": "provider", "message": "m"}, "stop_reason": "error"},
}
"""Of ours, some with what they may have."""


@pytest.mark.parametrize("message", MESSAGES, ids=type_name)
@pytest.mark.parametrize("version", [(1, 5), NEWEST])
def test_a_message_is_sent_as_its_schema_says_whatever_is_in_it(message: WireMessage, version: tuple[int, int]) -> None:
    envelope = WireReader(version, questions=True).envelope(message)
    assert envelope is not None
    WireJudge().message(envelope)


def test_a_message_with_all_that_is_ours_is_sent_as_its_schema_says() -> None:
    judge = WireJudge(extended=True)
    reader = WireReader(NEWEST, questions=True, extensions=True)
    for message in (*MESSAGES, *(parse_payload(name, payload) for name, payload in OURS.items())):
        envelope = reader.envelope(message)
        assert envelope is not None
        judge.message(envelope)


def test_every_type_has_a_schema_and_wires_own_have_no_field_of_ours() -> None:
    for kind in get_args(WireEvent | WireRequest):
        assert (FOLDER / "wire" / f"{kind.__name__}.json").exists()
    for kind in get_args(Extension):
        assert (FOLDER / "wire-extensions" / f"{kind.__name__}.json").exists()
    with pytest.raises(AssertionError, match="origin"):
        WireJudge().message(
            {"type": "ToolResult", "payload": ToolResult(tool_call_id="c", return_value=RETURN).model_dump()}
        )


def test_a_display_block_of_an_unknown_type_is_passed_on_as_it_came() -> None:
    result = ToolResult(tool_call_id="c", return_value=RETURN)
    envelope = WireReader(NEWEST).envelope(result)
    assert envelope is not None
    assert envelope["payload"]["return_value"]["display"][-1] == BLOCKS[-1]


async def obliging(program: WireProgram, asked: str) -> Json:
    """The answer to a request; meanwhile everything is allowed, and each question gets its first answer."""
    while True:
        said = await program.read()
        if said.get("id") == asked and "method" not in said:
            return said
        if said.get("method") == "request":
            program.send({"id": said["id"], "result": {"request_id": said["id"], **granted(**said["params"])}})


def granted(type: str, payload: Json) -> Json:  # noqa: A002 -- Wire's name
    match type:
        case "ApprovalRequest":
            return {"response": "approve"}
        case "QuestionRequest":
            return {"answers": {each["question"]: each["options"][0]["label"] for each in payload["questions"]}}
        case "HookRequest":
            return {"action": "allow", "reason": ""}
        case _:
            return {"tool_call_id": payload["id"], "return_value": {"is_error": False, "output": "Opened"}}


@pytest.mark.parametrize("extended", [False, True])
async def test_every_type_of_wire_happens_as_its_schema_says(bench: Bench, *, extended: bool) -> None:
    configure(user_file(bench), {"tools": entry()})
    question = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}
    bench.script(
        "error: 429 slow down",
        "think: hmm\ntext: a\n" + call("Shell", command="until [ -e go ]; do sleep 0.01; done"),
        call("Agent", prompt="help", description="Help"),
        "text: child",
        call("AskUserQuestion", questions=[question]),
        call("open_in_ide", path="a.py"),
        'tool_call: {"id": "1", "name": "WriteFile", "arguments": "{\\"path\\": \\"b.txt\\", "}\n'
        'tool_call_part: \\"content\\": \\"b\\"}',
        call("Shell", command="until [ -e over ]; do sleep 0.01; done", run_in_background=True, description="Wait"),
        "text: done",
        call("ExitPlanMode", plan="1. Nothing"),
        "text: planned",
        "text: aside",
        "text: a summary",
        "error: 400 bad",
    )
    async with bench.running(), wire_connected(bench) as program:
        await program.result(
            "initialize",
            **{**NEW, "capabilities": {"supports_question": True, "supports_plan_mode": True}},
            hooks=[{"id": "h", "event": "PreToolUse", "matcher": "Shell"}],
            external_tools=[{"name": "open_in_ide", "description": "Opens a file", "parameters": {"type": "object"}}],
            sould={"extensions": extended},
        )
        asked = program.ask("prompt", user_input="go")
        while "ToolCall" not in program.types:
            await program.read()
        await program.result("steer", user_input=[{"type": "text", "text": "also"}])
        (bench.project / "go").touch()
        await obliging(program, asked)
        await program.result("set_plan_mode", enabled=True)
        for text in ("plan", "/btw why?", "/compact"):
            assert "result" in await obliging(program, program.ask("prompt", user_input=text))
        assert (await program.error("prompt", user_input="fail"))["code"] == -32003
        await program.result("replay")
        (bench.project / "over").touch()
        await program.until("Notification")
    missing = {"ContentPart", *TYPES} - set(program.types)
    assert missing == set()
