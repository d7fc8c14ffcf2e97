"""Nothing of stable ACP is left out (D4): the official schema is read, and everything it names must have been used.

One conversation with the real `sould acp` uses all it can; what it used is compared with the schema. A method, update or
content block that a newer schema adds fails here until it has a handler and a step in the conversation.
"""

import asyncio
import json
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from sould.acp.server.dispatch import ROUTES
from soultest.acpclient import FULL, AcpClient, ProcessStream
from soultest.schema import Transcript, methods, schema
from soultest.world import SOULD, World, call

NOT_SENT = {
    "terminal/create": "commands run under the daemon, also when an editor offers a terminal (D13)",
    "terminal/output": "as terminal/create",
    "terminal/wait_for_exit": "as terminal/create",
    "terminal/kill": "as terminal/create",
    "terminal/release": "as terminal/create",
    "elicitation/create": "no built-in tool asks questions yet; the dialog itself is proven in tests/acp/connection/test_questions.py",
    "elicitation/complete": "questions are forms; nothing is asked by URL",
    "update:compaction_summary_chunk": "the summary is sent whole, in compaction_update",
}
"""What an agent may say and ours does not say in this conversation. An entry that is used after all fails the test too."""

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "Look at these."},
    "image": {"type": "image", "data": PIXEL, "mimeType": "image/png"},
    "audio": {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
    "resource_link": {"type": "resource_link", "uri": "file:///x/notes.md", "name": "notes.md"},
    "resource": {
        "type": "resource",
        "resource": {"uri": "file:///x/a.py", "text": "x = 1\n", "mimeType": "text/x-python"},
    },
}

SCRIPTS = [
    "think: Hm.\ntext: Hello.\nusage: input_other=10 output=5",
    call("ReadFile", "read", path="a.txt"),
    call("WriteFile", "write", path="a.txt", content="new\n"),
    call("SetTodoList", "plan", todos=[{"title": "Look", "status": "pending"}]),
    "text: Done.",
    "text: Seen.",
    "error: 429 slow down",
    "text: At the second attempt.",
    "text: Working.\nwait: 600",
    "text: Working too.\nwait: 600",
    *["text: The user greeted; a.txt was written."] * 4,
]


@pytest.fixture
def world() -> Generator[World]:
    root = Path(tempfile.mkdtemp(prefix="sould-e2e-"))
    made = World(root)
    made.script(SCRIPTS)
    (made.project / "a.txt").write_text("old\n")
    made.start()
    yield made
    made.close()
    shutil.rmtree(root, ignore_errors=True)


@asynccontextmanager
async def agent(world: World) -> AsyncGenerator[AcpClient]:
    stream = await ProcessStream.start(str(SOULD), "acp", cwd=world.project, environment=world.environment)
    async with AcpClient(stream) as client:
        yield client


async def converse(client: AcpClient, world: World) -> str:
    """The conversation; the session's id."""
    hello = await client.initialize(FULL)
    await client.request("authenticate", methodId=hello["authMethods"][0]["id"])
    session = await client.new_session(world.project)
    for text in ("Hello.", "Write it."):
        assert (await client.prompt(session, text))["stopReason"] == "end_turn"
    await client.prompt(session, *BLOCKS.values())
    await client.prompt(session, "Be patient.")
    working = client.prompt(session, "Take long.")
    await client.wait_update("agent_message_chunk", lambda update: update["content"]["text"] == "Working.")
    client.notify("session/cancel", sessionId=session)
    assert (await working)["stopReason"] == "cancelled"
    working = client.prompt(session, "Take long again.")
    await client.wait_update("agent_message_chunk", lambda update: update["content"]["text"] == "Working too.")
    client.notify("$/cancel_request", requestId=json.loads(list(client.transcript.of_client)[-1]))
    await asyncio.wait([working])
    outcome = working.exception() or working.result()
    assert outcome == {"stopReason": "cancelled"} or getattr(outcome, "code", None) == -32800
    await client.prompt(session, "/compact")
    await client.prompt(session, "/yolo")
    return session


async def manage(client: AcpClient, world: World, session: str) -> None:
    """Everything around a conversation."""
    where: dict[str, Any] = {"sessionId": session, "cwd": str(world.project), "mcpServers": []}
    await client.request("session/set_mode", sessionId=session, modeId="plan")
    await client.request("session/set_config_option", sessionId=session, configId="mode", value="ask")
    await client.request("session/list", cwd=str(world.project))
    await client.request("session/close", sessionId=session)
    await client.request("session/load", where)
    await client.request("session/close", sessionId=session)
    await client.request("session/resume", where)
    await client.request("session/delete", sessionId=session)
    await client.request("logout")


@pytest.fixture
async def used(world: World) -> Transcript:
    """What the agent used in all of it; nothing of it may break the schema."""
    async with agent(world) as client:
        session = await converse(client, world)
        await manage(client, world, session)
    client.check()
    assert not client.transcript.unanswered
    return client.transcript


def tags(definition: str, key: str) -> set[str]:
    """The values of a union's discriminator."""
    variants = schema()["$defs"][definition]
    found = [each["properties"][key]["const"] for each in variants.get("oneOf") or variants["anyOf"]]
    return set(found)


def test_every_stable_request_of_a_client_has_a_handler() -> None:
    assert set(methods("agent")) <= set(ROUTES)


def test_every_stable_content_block_has_its_step() -> None:
    assert tags("ContentBlock", "type") == set(BLOCKS)


async def test_every_stable_method_and_update_is_used_in_a_conversation(used: Transcript) -> None:
    served = {f"response:{name}" for name, kinds in methods("agent").items() if "Request" in kinds}
    asked = {name for name in methods("client") if name != "session/update"}
    updates = {f"update:{kind}" for kind in tags("SessionUpdate", "sessionUpdate")}
    assert served | asked | updates == (used.seen & (served | asked | updates)) | set(NOT_SENT)
    assert not used.seen & set(NOT_SENT)
    # What the user sent comes back when the session is loaded.
    assert {f"content:{kind}" for kind in BLOCKS} <= used.seen
