"""A workspace that an editor's user does not trust there: sessions opened in it are restricted until that editor says otherwise."""

from typing import Any

import pytest

from soultest.acpclient import AcpClient
from soultest.bench import Bench, call
from soultest.bench.acp import Connect

Json = dict[str, Any]


def says(restricted: bool) -> Json:
    return {"sould": {"restricted": restricted}}


async def opened(client: AcpClient, bench: Bench, **meta: Any) -> str:
    await client.initialize()
    answer = await client.request("session/new", {"cwd": str(bench.project), "mcpServers": [], "_meta": meta})
    session: str = answer["sessionId"]
    await client.request("session/set_mode", {"sessionId": session, "modeId": "full"})
    return session


async def resumed(client: AcpClient, bench: Bench, session: str, **meta: Any) -> None:
    given: Json = {"sessionId": session, "cwd": str(bench.project), "mcpServers": [], "_meta": meta}
    await client.request("session/resume", given)


def asked(client: AcpClient) -> int:
    return len(client.asked("session/request_permission"))


RUN = call("Shell", command="touch made")


async def test_a_restricted_session_asks_before_everything_whatever_the_mode(bench: Bench, connect: Connect) -> None:
    bench.script(RUN, "text: Done.", RUN, "text: Done.")
    async with bench.running(), connect() as client:
        session = await opened(client, bench, **says(True))
        await client.prompt(session, "do it")
        assert asked(client) == 1
        await resumed(client, bench, session, **says(False))
        await client.prompt(session, "and again")
        assert asked(client) == 1


async def test_a_client_that_says_nothing_of_it_changes_nothing(bench: Bench, connect: Connect) -> None:
    bench.script(RUN, "text: Done.")
    async with bench.running(), connect() as client:
        session = await opened(client, bench, **says(True))
        async with connect() as other:
            await other.initialize()
            await resumed(other, bench, session)
            await client.prompt(session, "do it")
        assert asked(client) == 1


async def test_it_stays_restricted_in_the_next_daemon(bench: Bench, connect: Connect) -> None:
    bench.script(RUN, "text: Done.")
    async with bench.running(), connect() as client:
        session = await opened(client, bench, **says(True))
    bench.script(RUN, "text: Done.")
    async with bench.running(), connect() as client:
        await client.initialize()
        await resumed(client, bench, session)
        await client.prompt(session, "do it")
        assert asked(client) == 1


@pytest.mark.parametrize("restricted", [True, False])
async def test_what_the_user_trusts_is_neither_more_nor_forgotten_by_it(
    bench: Bench, connect: Connect, restricted: bool
) -> None:
    """An editor that trusts a workspace says nothing about the configuration in it."""
    (bench.project / ".mcp.json").write_text('{"mcpServers": {"own": {"command": "true"}}}')
    trust = bench.trust
    async with bench.running(), connect() as client:
        await opened(client, bench, **says(restricted))
        assert trust.state(bench.project) == "unknown"
