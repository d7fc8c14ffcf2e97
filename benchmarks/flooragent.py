"""The floor: the least an ACP agent with a model can be in Python. Keeps nothing, checks nothing, survives nothing.

Run as a program with the model server's port. It shows what the machine allows, so that our own numbers can be given
as ratios to it in the same run.
"""

import asyncio
import json
import sys
from typing import Any

Json = dict[str, Any]


class FloorAgent:
    """One connection over stdin and stdout."""

    def __init__(self, writer: asyncio.StreamWriter, port: int) -> None:
        self.writer = writer
        self.port = port
        self.count = 0

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
            self.count += 1
            result = {"sessionId": f"s{self.count}"}
        elif method == "session/prompt":
            await self.prompt(message["params"])
            result = {"stopReason": "end_turn"}
        self.send({"jsonrpc": "2.0", "id": identifier, "result": result})

    async def prompt(self, params: Json) -> None:
        """Ask the model and pass each piece on as it comes."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = json.dumps(
            {"stream": True, "messages": [{"role": "user", "content": params["prompt"][0]["text"]}]}
        ).encode()
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        session = params["sessionId"]
        async for line in reader:
            if line == b"data: [DONE]\n":
                break
            if not line.startswith(b"data: "):
                continue
            choices = json.loads(line[6:])["choices"]
            if choices and (text := choices[0]["delta"].get("content")):
                content = {"type": "text", "text": text}
                update = {"sessionUpdate": "agent_message_chunk", "content": content}
                self.send(
                    {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
                )
        writer.close()


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
