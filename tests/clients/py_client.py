"""An ACP client on the official Python SDK: the same scenarios and events as `ts_client.mjs`."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp.connection import StreamDirection, StreamEvent
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    Implementation,
    PermissionOption,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ToolCallUpdate,
    WriteTextFileResponse,
)

Json = dict[str, Any]


def say(event: Json) -> None:
    """One event on one line."""
    print(json.dumps(event), flush=True)


def plain(model: Any) -> Json:
    """An SDK model as it was on the wire."""
    return {} if model is None else cast("Json", model.model_dump(mode="json", by_alias=True, exclude_none=True))


class ScenarioClient:
    """Answers the agent as the scenario says; what the SDK calls for a client."""

    def __init__(self, scenario: Json) -> None:
        self.scenario = scenario
        self.sessions: list[str] = []
        self.cancel_on: str | None = None
        self.connection: acp.Agent | None = None

    def on_connect(self, conn: acp.Agent) -> None:
        """Part of the SDK's client interface."""
        self.connection = conn

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption], **_: Any
    ) -> RequestPermissionResponse:
        """Choose the first option of the scenario's kind; none of it: the dialog was closed."""
        chosen = next((each for each in options if each.kind == self.scenario["permission"]), None)
        outcome = (
            AllowedOutcome(outcome="selected", option_id=chosen.option_id)
            if chosen
            else DeniedOutcome(outcome="cancelled")
        )
        say(
            {
                "event": "permission",
                "session": session_id,
                "toolCall": plain(tool_call),
                "options": [plain(each) for each in options],
                "outcome": plain(outcome),
            }
        )
        return RequestPermissionResponse(outcome=outcome)

    async def read_text_file(
        self, session_id: str, path: str, line: int | None = None, limit: int | None = None, **_: Any
    ) -> ReadTextFileResponse:
        """Serve from disk, as an editor without unsaved changes does."""
        say({"event": "read", "path": path})
        lines = Path(path).read_text().split("\n")
        first = (line or 1) - 1
        return ReadTextFileResponse(content="\n".join(lines[first : first + limit if limit else None]))

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> WriteTextFileResponse:
        """Write as an editor that saves at once does."""
        say({"event": "write", "path": path, "content": content})
        Path(path).write_text(content)
        return WriteTextFileResponse()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """Report; cancel where the scenario says so."""
        body = plain(update)
        say({"event": "update", "session": session_id, "update": body})
        if self.cancel_on == body["sessionUpdate"] and self.connection is not None:
            self.cancel_on = None
            await self.connection.cancel(session_id=session_id)

    async def ext_method(self, method: str, params: Json) -> Json:
        """No extensions."""
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: Json) -> None:
        """No extensions."""

    def named(self, reference: str | int) -> str:
        """A session by its number in this run, or by its id."""
        return self.sessions[reference] if isinstance(reference, int) else reference


async def perform(client: ScenarioClient, connection: Any, name: str, rest: list[Any]) -> Json:
    """One step through the SDK's own method for it; `delete` is one that this SDK does not have."""
    cwd = client.scenario["cwd"]
    if name == "initialize":
        capabilities = ClientCapabilities.model_validate(client.scenario["capabilities"])
        info = Implementation(name="py-sdk-client", version="0")
        return plain(
            await connection.initialize(acp.PROTOCOL_VERSION, client_capabilities=capabilities, client_info=info)
        )
    if name == "new":
        result = await connection.new_session(cwd=cwd, mcp_servers=[])
        client.sessions.append(result.session_id)
        return plain(result)
    if name == "list":
        return plain(await connection.list_sessions(cwd=cwd))
    session = client.named(rest[0])
    match name:
        case "prompt":
            client.cancel_on = rest[2] if len(rest) > 2 else None
            return plain(await connection.prompt(session_id=session, prompt=[acp.text_block(rest[1])]))
        case "load":
            return plain(await connection.load_session(cwd=cwd, session_id=session, mcp_servers=[]))
        case "resume":
            return plain(await connection.resume_session(cwd=cwd, session_id=session, mcp_servers=[]))
        case "close":
            return plain(await connection.close_session(session_id=session))
        case "set_mode":
            return plain(await connection.set_session_mode(session_id=session, mode_id=rest[1]))
        case "set_option":
            return plain(await connection.set_config_option(config_id=rest[1], session_id=session, value=rest[2]))
        case _:
            raise ValueError(name)


async def main(scenario: Json) -> None:
    """Run the scenario to its end."""
    client = ScenarioClient(scenario)
    command, *arguments = scenario["command"]
    with Path(scenario["wire"]).open("a", buffering=1) as wire:

        def log(event: StreamEvent) -> None:
            source = "agent" if event.direction is StreamDirection.INCOMING else "client"
            wire.write(json.dumps({"from": source, "line": json.dumps(event.message)}) + "\n")

        spawned = acp.spawn_agent_process(
            cast("acp.Client", client),
            command,
            *arguments,
            cwd=scenario["cwd"],
            env=dict(os.environ),
            transport_kwargs={"stderr": None, "limit": 50_000_000},
            observers=[log],
            use_unstable_protocol=True,
        )
        async with spawned as (connection, process):
            for step, (name, *rest) in enumerate(scenario["steps"]):
                try:
                    result = await perform(client, connection, name, rest)
                    say({"event": "result", "step": step, "name": name, "result": result})
                except acp.RequestError as error:
                    say(
                        {
                            "event": "error",
                            "step": step,
                            "name": name,
                            "code": error.code,
                            "message": str(error),
                            "data": error.data,
                        }
                    )
        say({"event": "exit", "code": process.returncode, "signal": None})


if __name__ == "__main__":
    asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())))
