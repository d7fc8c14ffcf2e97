"""The floor: the least an ACP agent with a model can be in Python. Keeps nothing, checks nothing, survives nothing.

Run as a program with the model server's port. It shows what the machine allows, so that our own numbers can be given
as ratios to it in the same run.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

Json = dict[str, Any]


class FloorAgent:
    """One connection over stdin and stdout."""

    def __init__(self, writer: asyncio.StreamWriter, port: int) -> None:
        self.writer = writer
        self.port = port
        self.folders: dict[str, str] = {}

    def send(self, message: Json) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def handle(self, message: Json) -> None:
        """Answer one request."""
        method, identifier = message.get("method"), message.get("id")
        if identifier is None:
            return
        result: Json = {}
        if method == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}}
        elif method == "session/new":
            session = f"s{len(self.folders)}"
            self.folders[session] = message["params"]["cwd"]
            result = {"sessionId": session}
        elif method == "session/prompt":
            await self.prompt(message["params"])
            result = {"stopReason": "end_turn"}
        self.send({"jsonrpc": "2.0", "id": identifier, "result": result})

    async def prompt(self, params: Json) -> None:
        """Ask the model, run what it calls, and ask again until it calls nothing."""
        session = params["sessionId"]
        messages: list[Json] = [{"role": "user", "content": params["prompt"][0]["text"]}]
        while True:
            calls: list[Json] = []
            async for delta in self.ask(messages):
                if text := delta.get("content"):
                    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
                    params = {"sessionId": session, "update": update}
                    self.send({"jsonrpc": "2.0", "method": "session/update", "params": params})
                calls += delta.get("tool_calls", ())
            if not calls:
                return
            messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            for call in calls:
                output = await run(call["function"], self.folders[session])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": output})

    async def ask(self, messages: list[Json]) -> AsyncIterator[Json]:
        """One request of the model: its deltas."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = json.dumps({"stream": True, "messages": messages}).encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        async for line in reader:
            if line == b"data: [DONE]\n":
                break
            if line.startswith(b"data: ") and (choices := json.loads(line[6:])["choices"]):
                yield choices[0]["delta"]
        writer.close()


async def run(function: Json, folder: str) -> str:
    """What a tool gives."""
    arguments = json.loads(function["arguments"])
    if function["name"] == "ReadFile":
        with open(f"{folder}/{arguments['path']}") as file:  # noqa: ASYNC230 -- as little as it takes
            return file.read()
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", arguments["command"], cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return output.decode()


async def main(port: int) -> None:
    """Serve until stdin closes."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=64 * 1024 * 1024)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    agent = FloorAgent(asyncio.StreamWriter(transport, protocol, None, loop), port)
    async with asyncio.TaskGroup() as tasks:
        while line := await reader.readline():
            tasks.create_task(agent.handle(json.loads(line)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
