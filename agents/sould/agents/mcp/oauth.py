"""OAuth for remote MCP servers with fastmcp's helper, and where its tokens are kept (0600).

Loaded only for a server that somebody signed in to, and by `sould mcp auth`. Tokens appear in no log and no error.
"""

import contextlib
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsFloat, cast

import orjson
from fastmcp.client.auth import OAuth

from sould.agents.mcp.link import UnauthorizedError, http_client
from sould.agents.mcp.specs import ServerSpec
from sould.agents.privatefile import write_private

Value = dict[str, Any]


class TokenFile:
    """The key-value store the helper wants, in one file that only its owner may read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def get(self, key: str, *, collection: str | None = None) -> Value | None:
        """The value, unless it expired."""
        return (await self.ttl(key, collection=collection))[0]

    async def ttl(self, key: str, *, collection: str | None = None) -> tuple[Value | None, float | None]:
        """The value and the seconds it has left."""
        entry = self._read().get(f"{collection}\n{key}")
        if entry is None:
            return None, None
        expires: float | None = entry["expires"]
        if expires is not None and expires <= time.time():
            return None, None
        return entry["value"], None if expires is None else expires - time.time()

    async def put(
        self, key: str, value: Mapping[str, Any], *, collection: str | None = None, ttl: SupportsFloat | None = None
    ) -> None:
        """Keep a value."""
        entries = self._read()
        expires = None if ttl is None else time.time() + float(ttl)
        entries[f"{collection}\n{key}"] = {"value": dict(value), "expires": expires}
        self._write(entries)

    async def delete(self, key: str, *, collection: str | None = None) -> bool:
        """Forget a value."""
        entries = self._read()
        found = entries.pop(f"{collection}\n{key}", None) is not None
        if found:
            self._write(entries)
        return found

    async def get_many(self, keys: Sequence[str], *, collection: str | None = None) -> list[Value | None]:
        """As `get`."""
        return [await self.get(key, collection=collection) for key in keys]

    async def ttl_many(
        self, keys: Sequence[str], *, collection: str | None = None
    ) -> list[tuple[Value | None, float | None]]:
        """As `ttl`."""
        return [await self.ttl(key, collection=collection) for key in keys]

    async def put_many(
        self,
        keys: Sequence[str],
        values: Sequence[Mapping[str, Any]],
        *,
        collection: str | None = None,
        ttl: SupportsFloat | None = None,
    ) -> None:
        """As `put`."""
        for key, value in zip(keys, values, strict=True):
            await self.put(key, value, collection=collection, ttl=ttl)

    async def delete_many(self, keys: Sequence[str], *, collection: str | None = None) -> int:
        """As `delete`."""
        return sum([await self.delete(key, collection=collection) for key in keys])

    def _read(self) -> dict[str, Value]:
        try:
            document: object = orjson.loads(self._path.read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return {}
        return cast("dict[str, Value]", document) if isinstance(document, dict) else {}

    def _write(self, entries: dict[str, Value]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._path, orjson.dumps(entries))


class StoredOAuth(OAuth):
    """Uses and renews a stored sign-in; where a new one is needed it says so instead of opening a browser."""

    def __init__(self, spec: ServerSpec, file: Path, variables: Mapping[str, str]) -> None:
        super().__init__(
            spec.url,
            client_name="sould",
            token_storage=TokenFile(file),
            httpx_client_factory=http_client(spec, variables),
        )

    async def redirect_handler(self, authorization_url: str) -> None:
        """See `OAuth`."""
        raise UnauthorizedError


class InteractiveOAuth(StoredOAuth):
    """Sends the user to the server's page; `show` is told the address, for terminals without a browser."""

    def __init__(
        self,
        spec: ServerSpec,
        file: Path,
        variables: Mapping[str, str],
        *,
        show: Callable[[str], None],
        browser: bool,
    ) -> None:
        super().__init__(spec, file, variables)
        self._show = show
        self._browser = browser

    async def redirect_handler(self, authorization_url: str) -> None:
        """See `OAuth`."""
        self._show(authorization_url)
        if self._browser:
            with contextlib.suppress(webbrowser.Error):
                webbrowser.open(authorization_url)
