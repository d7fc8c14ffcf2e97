"""The requirements of the official conformance kit (acp-tck) for version 1, each kept by a check with its number.

What the kit asks of every line (TRANSPORT, SCHEMA, JSONRPC-002) is judged by `soultest.schema` in each of these
conversations. Where the kit waits whether something more comes, a further request is answered first.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from soultest.acpclient import AcpClient, AgentError
from soultest.bench import Bench, call
from soultest.bench.acp import Connect, Keys
from soultest.bench.memory import MemoryStream

Json = dict[str, Any]
Check = Callable[[AcpClient, Bench], Awaitable[None]]

KIT = {
    "TRANSPORT": 2, "JSONRPC": 5, "INIT": 4, "SCHEMA": 2, "SESSION": 2, "PROMPT": 3, "CANCEL": 2, "LOAD": 3, "RESUME": 2,
    "LIST": 2, "DELETE": 2, "CLOSE": 2, "ADDDIRS": 1, "MODES": 2, "CONFIG": 3, "PROMPTCAP": 3, "AUTH": 5, "CLIENTCAP": 3,
    "EXT": 1, "META": 1, "ERROR": 1, "SHUTDOWN": 1, "STDERR": 1, "INFO-PARSE": 1, "INFO-INVALIDREQ": 1,
    "INFO-UNKNOWNSESSION": 1,
}  # fmt: skip
"""The kit's areas and how many requirements each has, as published in August 2026."""
STOP_REASONS = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
HISTORY = {"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"}
CHECKS: dict[str, Check] = {}


def requires(*numbers: str) -> Callable[[Check], Check]:
    """These requirements are proven by the function below."""

    def note(check: Check) -> Check:
        CHECKS[" ".join(numbers)] = check
        return check

    return note


async def opened(client: AcpClient, bench: Bench) -> str:
    """A session after the handshake of a client that can do nothing."""
    await client.initialize()
    return await client.new_session(bench.project)


async def talked(client: AcpClient, bench: Bench) -> str:
    """A session with one turn behind it."""
    session = await opened(client, bench)
    assert (await client.prompt(session, "hello"))["stopReason"] == "end_turn"
    return session


def where(bench: Bench, session: str) -> Json:
    """Parameters that open a stored session."""
    return {"sessionId": session, "cwd": str(bench.project), "mcpServers": []}


@requires("INIT-001", "INIT-002", "INIT-003", "INIT-004")
async def check_versions(client: AcpClient, bench: Bench) -> None:
    answer = await client.request("initialize", protocolVersion=65535, clientCapabilities={}, info={"name": "future"})
    assert answer["protocolVersion"] == 1, "never echoed, never lower than what a client of version 1 is told"
    assert {"name", "version"} <= set(answer["agentInfo"])


@requires("JSONRPC-001", "JSONRPC-002", "JSONRPC-003", "TRANSPORT-001", "TRANSPORT-002", "SCHEMA-001", "SCHEMA-002")
async def check_envelopes(client: AcpClient, bench: Bench) -> None:
    client.send({"jsonrpc": "2.0", "id": "a string", "method": "initialize", "params": {"protocolVersion": 1}})
    client.notify("session/cancel", sessionId="none")
    client.notify("_vendor/notification")
    await client.wait_for(lambda message: message.get("id") == "a string" and "result" in message)
    await client.prompt(await client.new_session(bench.project), "hello")
    assert all("method" in message or {"result", "error"} & set(message) for message in client.messages)


@requires("JSONRPC-004", "JSONRPC-005", "EXT-001", "ERROR-001")
async def check_errors(client: AcpClient, bench: Bench) -> None:
    await client.initialize()
    for method, params in (("no/such", {}), ("_vendor/request", {}), ("session/new", {"cwd": 5})):
        with pytest.raises(AgentError) as failure:
            await client.request(method, params)
        assert failure.value.code == (-32602 if params else -32601)
        assert failure.value.message
        assert "\n" not in failure.value.message
    assert await client.new_session(bench.project)


@requires("SESSION-001", "SESSION-002", "ADDDIRS-001")
async def check_sessions(client: AcpClient, bench: Bench) -> None:
    one = await opened(client, bench)
    two = await client.new_session(bench.project, additionalDirectories=[str(bench.root)])
    assert one != two


@requires("PROMPT-001", "PROMPT-002", "PROMPT-003", "META-001")
async def check_prompts(client: AcpClient, bench: Bench) -> None:
    session = await opened(client, bench)
    link: Json = {"type": "resource_link", "uri": "file:///a.txt", "name": "a.txt"}
    text: Json = {"type": "text", "text": "see"}
    meta = {"traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01"}
    answer = await client.request("session/prompt", sessionId=session, prompt=[text, link], _meta=meta)
    assert answer["stopReason"] in STOP_REASONS
    told = [message["params"]["sessionId"] for message in client.messages if message.get("method") == "session/update"]
    assert set(told) == {session}


@requires("CANCEL-001", "CANCEL-002")
async def check_cancel(client: AcpClient, bench: Bench) -> None:
    bench.script("text: Working.\nwait: 600")
    session = await opened(client, bench)
    turn = client.prompt(session, "be slow")
    await client.wait_update("agent_message_chunk")
    client.notify("session/cancel", sessionId=session)
    assert (await turn)["stopReason"] == "cancelled"
    await nothing_more(client, session)


@requires("LOAD-001", "LOAD-002", "LOAD-003")
async def check_load(client: AcpClient, bench: Bench) -> None:
    session = await talked(client, bench)
    before = len(client.messages)
    assert isinstance(await client.request("session/load", where(bench, session)), dict)
    replayed = [each["params"]["update"]["sessionUpdate"] for each in client.messages[before:-1]]
    assert HISTORY & set(replayed)
    assert "available_commands_update" in replayed, "what introduces the session comes before the answer, too"
    await nothing_more(client, session)


@requires("RESUME-001", "RESUME-002")
async def check_resume(client: AcpClient, bench: Bench) -> None:
    session = await talked(client, bench)
    before = len(client.messages)
    params = where(bench, session)
    del params["mcpServers"]
    assert isinstance(await client.request("session/resume", params), dict)
    assert "result" in client.messages[before], "nothing comes before the answer"


async def nothing_more(client: AcpClient, session: str) -> None:
    """The last thing said was an answer, and no update of the session follows it."""
    last = len(client.messages)
    assert "result" in client.messages[-1]
    await client.request("session/list", cwd="/nowhere")
    late = [message for message in client.messages[last:] if message.get("method") == "session/update"]
    assert not [message for message in late if message["params"]["sessionId"] == session]


@requires("LIST-001", "LIST-002")
async def check_list(client: AcpClient, bench: Bench) -> None:
    session = await talked(client, bench)
    assert [each["sessionId"] for each in (await client.request("session/list", {}))["sessions"]] == [session]
    assert (await client.request("session/list", cwd=str(bench.root)))["sessions"] == []


@requires("DELETE-001", "DELETE-002")
async def check_delete(client: AcpClient, bench: Bench) -> None:
    session = await opened(client, bench)
    for identifier in (session, session, "never-created"):
        assert await client.request("session/delete", sessionId=identifier) == {}


@requires("CLOSE-001", "CLOSE-002")
async def check_close(client: AcpClient, bench: Bench) -> None:
    bench.script("text: Working.\nwait: 600")
    session = await opened(client, bench)
    turn = client.prompt(session, "be slow")
    await client.wait_update("agent_message_chunk")
    assert await client.request("session/close", sessionId=session) == {}
    assert (await turn)["stopReason"] == "cancelled"
    idle = await client.new_session(bench.project)
    assert await client.request("session/close", sessionId=idle) == {}


@requires("MODES-001", "MODES-002")
async def check_modes(client: AcpClient, bench: Bench) -> None:
    await client.initialize()
    opening = await client.request("session/new", cwd=str(bench.project), mcpServers=[])
    modes, session = opening["modes"], opening["sessionId"]
    known = [mode["id"] for mode in modes["availableModes"]]
    assert modes["currentModeId"] in known
    other = next(mode for mode in known if mode != modes["currentModeId"])
    await client.request("session/set_mode", sessionId=session, modeId=other)
    assert (await client.wait_update("current_mode_update"))["currentModeId"] == other


@requires("CONFIG-001", "CONFIG-002", "CONFIG-003")
async def check_options(client: AcpClient, bench: Bench) -> None:
    await client.initialize()
    opening = await client.request("session/new", cwd=str(bench.project), mcpServers=[])
    options = {option["id"]: option for option in opening["configOptions"]}
    assert {option["type"] for option in options.values()} == {"select"}, "booleans are for clients that know them"
    for option in options.values():
        assert option["currentValue"] in values(option)
    changed = next(option for option in options.values() if len(values(option)) > 1)
    value = next(value for value in values(changed) if value != changed["currentValue"])
    setting: Json = {"sessionId": opening["sessionId"], "configId": changed["id"], "value": value}
    answer = {
        option["id"]: option for option in (await client.request("session/set_config_option", setting))["configOptions"]
    }
    assert set(answer) == set(options), "the complete list"
    assert answer[changed["id"]]["currentValue"] == value


def values(option: Json) -> list[str]:
    """What can be chosen, in groups or not."""
    return [each["value"] for entry in option["options"] for each in entry.get("options", [entry])]


@requires("PROMPTCAP-001", "PROMPTCAP-002", "PROMPTCAP-003")
async def check_media(client: AcpClient, bench: Bench) -> None:
    able = (await client.initialize())["agentCapabilities"]["promptCapabilities"]
    session = await client.new_session(bench.project)
    blocks: dict[str, Json] = {
        "image": {"type": "image", "data": "aGk=", "mimeType": "image/png"},
        "audio": {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        "embeddedContext": {"type": "resource", "resource": {"uri": "file:///a.py", "text": "x = 1"}},
    }
    assert able == dict.fromkeys(blocks, True)
    for block in blocks.values():
        bench.script("text: Seen.")
        assert (await client.prompt(session, "look", block))["stopReason"] in STOP_REASONS


@requires("AUTH-001", "AUTH-002", "AUTH-003", "AUTH-004", "AUTH-005")
async def check_signing_in(client: AcpClient, bench: Bench) -> None:
    answer = await client.initialize()
    methods = answer["authMethods"]
    assert methods, "so that -32000 has a remedy"
    assert len({method["id"] for method in methods}) == len(methods)
    assert not [method for method in methods if method.get("type") == "terminal"], "the client has not said it can"
    assert await client.request("authenticate", methodId=methods[0]["id"]) == {}
    assert await client.new_session(bench.project)
    assert await client.request("logout") == {}


@requires("CLIENTCAP-001", "CLIENTCAP-002", "CLIENTCAP-003")
async def check_what_the_client_cannot_do(client: AcpClient, bench: Bench) -> None:
    question = {"question": "Tabs?", "header": "Style", "options": [{"label": "Yes"}, {"label": "No"}]}
    bench.script(
        call("ReadFile", path="a.txt"),
        call("WriteFile", path="b.txt", content="x"),
        call("Shell", command="true"),
        call("AskUserQuestion", questions=[question]),
        "text: Done.",
    )
    await talked(client, bench)
    asked = {message["method"] for message in client.messages if "method" in message and "id" in message}
    assert asked == {"session/request_permission"}


@requires("INFO-PARSE-001", "INFO-INVALIDREQ-001", "INFO-UNKNOWNSESSION-001", "STDERR-001")
async def check_rubbish(client: AcpClient, bench: Bench) -> None:
    """The kit only notes what happens; this is what it notes of us. Nothing is ever written to the standard error."""
    await client.initialize()
    client.send_raw(b"no json")
    await client.wait_for(lambda message: message.get("error", {}).get("code") == -32700)
    client.send({"foo": "bar"})
    await client.wait_for(lambda message: message.get("error", {}).get("code") == -32600)
    with pytest.raises(AgentError) as failure:
        await client.prompt("never-created", "hello")
    assert failure.value.code == -32002
    assert await client.new_session(bench.project)


@requires("SHUTDOWN-001")
async def check_shutdown(client: AcpClient, bench: Bench) -> None:
    await opened(client, bench)
    assert isinstance(client.stream, MemoryStream)
    client.stream.end()
    async with asyncio.timeout(60):
        await client.ended.wait()


@pytest.mark.parametrize("numbers", CHECKS)
async def test_conformance_kit(bench: Bench, connect: Connect, numbers: str) -> None:
    bench.script("text: Hello.")
    async with bench.running(), connect(accounts=Keys("openai")) as client:
        await CHECKS[numbers](client, bench)


def test_every_requirement_of_the_kit_has_a_check() -> None:
    published = {f"{area}-{number:03}" for area, count in KIT.items() for number in range(1, count + 1)}
    assert len(published) == 56
    assert {number for numbers in CHECKS for number in numbers.split()} == published
