"""A web server on the loopback interface that answers what a test says, and remembers what it was asked."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Asked:
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Website:
    """`pages`: path to status, headers, body; a path nobody named is a 404. `asked`: what came, in order."""

    port: int
    pages: dict[str, tuple[int, Mapping[str, str], bytes]] = field(
        default_factory=dict[str, tuple[int, Mapping[str, str], bytes]]
    )
    asked: list[Asked] = field(default_factory=list[Asked])

    def page(self, path: str, body: bytes, kind: str = "text/html", status: int = 200, **headers: str) -> None:
        """Answer `path` so; `_` in header names stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = (status, {"Content-Type": kind, **named}, body)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """Where a page is."""
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request a connection."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, target, _ = head[0].split(" ")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.asked.append(Asked(method, target, headers, body))
            status, given, content = self.pages.get(target.partition("?")[0], (404, {}, b"no such page"))
            sent = {"Content-Length": str(len(content)), "Connection": "close", **given}
            lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in sent.items())]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def website() -> AsyncGenerator[Website, None]:
    """A site until the block is left."""
    site = Website(0)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site
