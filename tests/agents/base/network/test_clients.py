"""What clients of servers do on the network, as the system sees it."""

import asyncio
import sys
from pathlib import Path

import httpx2
import pytest

from sould.agents.base.network.clients import client_to
from sould.agents.base.network.settings import NetworkSettings

KEEPALIVE = "02"
"""The timer of a connection in `/proc/net/tcp` (Linux, Documentation/networking/proc_net_tcp.rst)."""


def timer(local: int, remote: int) -> str:
    """The timer of the connection between two ports of this machine."""
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        ports = [int(address.rpartition(":")[2], 16) for address in fields[1:3]]
        if ports == [local, remote]:
            return fields[5].partition(":")[0]
    raise AssertionError("there is no such connection")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system shows it elsewhere")
async def test_a_silent_server_is_asked_whether_it_is_still_there() -> None:
    timers = asyncio.Queue[str]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        timers.put_nowait(timer(writer.get_extra_info("peername")[1], writer.get_extra_info("sockname")[1]))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with client_to(url, NetworkSettings(), httpx2.Timeout(10)) as client:
            assert (await client.get(url)).status_code == 204
    assert timers.get_nowait() == KEEPALIVE
