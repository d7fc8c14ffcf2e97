"""Sessions as kimi-cli leaves them in its own directory, written as it writes them (Wire 1.10, or as an older one)."""

import hashlib
import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
STARTED = 1_760_000_000.0


def folder_of(share: Path, cwd: Path) -> Path:
    return share / "sessions" / hashlib.md5(str(cwd).encode()).hexdigest()


def text(said: str) -> tuple[str, Json]:
    return "ContentPart", {"type": "text", "text": said}


def tool_call(call_id: str, name: str, **arguments: object) -> tuple[str, Json]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return "ToolCall", {"type": "function", "id": call_id, "function": function, "extras": None}


def tool_result(call_id: str, output: str) -> tuple[str, Json]:
    value: Json = {"is_error": False, "output": output, "message": "", "display": [], "extras": None}
    return "ToolResult", {"tool_call_id": call_id, "return_value": value}


def turn(prompt: str, *said: tuple[str, Json], ended: bool = True) -> list[tuple[str, Json]]:
    end = [("TurnEnd", Json())] if ended else []
    return [("TurnBegin", {"user_input": prompt}), ("StepBegin", {"n": 1}), *said, *end]


def wire_lines(*messages: tuple[str, Json], version: str | None = "1.10") -> bytes:
    """What `wire.jsonl` holds; `version` None: of the time before it was written down."""
    head = [{"type": "metadata", "protocol_version": version}] if version is not None else []
    records = [
        {"timestamp": STARTED + number, "message": {"type": kind, "payload": payload}}
        for number, (kind, payload) in enumerate(messages)
    ]
    return lines_of(*head, *records)


def lines_of(*values: object) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in values)


def keep(
    share: Path, cwd: Path, session_id: str, wire: bytes | None, context: bytes | None = None, state: Json | None = None
) -> Path:
    """Put a session where kimi-cli keeps those of a directory."""
    directory = folder_of(share, cwd) / session_id
    directory.mkdir(parents=True)
    if wire is not None:
        (directory / "wire.jsonl").write_bytes(wire)
    if context is not None:
        (directory / "context.jsonl").write_bytes(context)
    if state is not None:
        (directory / "state.json").write_text(json.dumps(state))
    return directory
