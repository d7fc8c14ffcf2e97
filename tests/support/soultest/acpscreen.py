"""One client's screen over the projection: what it is shown of Wire messages, every line judged by the official schema."""

from typing import Any

import orjson

from sould.acp.features import Facts, Features, LiveState
from sould.acp.projection.projection import UpdatesV1
from sould.agents.journal.channel import Record
from sould.agents.sessions.commands.slash import SlashCommand
from sould.agents.sessions.settings.modeswitch import MODES
from sould.agents.sessions.settings.options import SessionOption
from sould.agents.wire import messages as wire
from sould.agents.wire.content import FunctionCall
from sould.agents.wire.display import DiffBlock
from soultest.schema import faults

Json = dict[str, Any]

EVERYTHING = Features(notices=True, compaction=True, terminals=True, redraws=True)


class Screen:
    """A client's view: feed it messages, get updates, every one of them lawful."""

    def __init__(self, features: Features = EVERYTHING) -> None:
        mode = SessionOption("mode", "Mode", "mode", "What.", "ask", tuple(MODES.values()))
        commands = (SlashCommand("init", "Begin", "what"), SlashCommand("help", "List"))
        state = LiveState(options=lambda: (mode,), commands=lambda: commands)
        self.updates = UpdatesV1(Facts("s1", "/project", state), features, "me")
        self.seq = 0

    def show(self, *messages: wire.WireMessage, history: bool = False) -> list[Json]:
        feed = self.updates.feed_history if history else self.updates.feed
        shown: list[Json] = []
        for message in messages:
            self.seq += 1
            shown += lawful(feed(Record(self.seq, 0, message, 1_700_000_000.5)))
        return shown


def lawful(lines: bytes) -> list[Json]:
    """The updates in some lines."""
    found: list[Json] = []
    for line in lines.splitlines():
        message = orjson.loads(line)
        assert message["method"] == "session/update"
        assert message["params"]["sessionId"] == "s1"
        assert not faults("SessionNotification", message["params"])
        found.append(message["params"]["update"])
    return found


PREVIEWS = {
    "Shell": wire.CallPreview(title="Run a command", kind="execute", command=True),
    "StrReplaceFile": wire.CallPreview(title="Edit a file", kind="edit"),
}
"""What tools declare that projections are tried with; all others are tools that are not there."""


def tool_call(name: str = "Shell", identifier: str = "c1", **arguments: Any) -> wire.ToolCall:
    given = orjson.dumps(arguments).decode() if arguments else None
    return wire.ToolCall(id=identifier, function=FunctionCall(name=name, arguments=given), preview=PREVIEWS.get(name))


def result(identifier: str = "c1", **fields: Any) -> wire.ToolResult:
    fields.setdefault("is_error", False)
    return wire.ToolResult(tool_call_id=identifier, return_value=wire.ToolReturn(**fields))


DETAIL = wire.ToolCallDetail(
    tool_call_id="c1",
    name="StrReplaceFile",
    title="Edit a.py",
    kind="edit",
    locations=(wire.Location(path="/project/a.py", line=3),),
    arguments={"path": "a.py"},
    display=(DiffBlock(path="a.py", old_text="a\n", new_text="b\n"),),
)
REQUEST = wire.ApprovalRequest(
    id="r1",
    tool_call_id="c1",
    sender="StrReplaceFile",
    action="edit file",
    description="Edit a.py",
    display=DETAIL.display,
    scope="edits in this project",
    scope_button="Allow edits this session",
)
DIFF = {"type": "diff", "path": "/project/a.py", "oldText": "a\n", "newText": "b\n"}
