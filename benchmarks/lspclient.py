"""A measuring LSP client: as `acpclient`, with headers in the place of lines, and no more than an editor sends."""

import re
from pathlib import Path
from typing import Any

import orjson

from acpclient import AcpClient, write_all

Json = dict[str, Any]
HEADER = re.compile(rb"Content-Length: (\d+)\r\n\r\n")
CAPABILITIES: Json = {"textDocument": {"codeAction": {"codeActionLiteralSupport": {}}}}


class LspClient(AcpClient):
    """One editor window and its pipes."""

    def write(self, message: Json) -> None:
        """One message behind its header."""
        body = orjson.dumps({"jsonrpc": "2.0", **message})
        write_all(self.to, b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def take(self, data: bytes) -> None:
        """The whole messages of what was read."""
        self.rest += data
        while found := HEADER.match(self.rest):
            end = found.end() + int(found[1])
            if len(self.rest) < end:
                return
            self.hear(orjson.loads(self.rest[found.end() : end]))
            self.rest = self.rest[end:]

    def begin(self, root: Path) -> None:
        """The handshake, until its answer."""
        self.request("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": CAPABILITIES})
        self.write({"method": "initialized", "params": {}})

    def open(self, path: Path) -> str:
        """Show a file; its URI."""
        document = {"uri": path.as_uri(), "languageId": "text", "version": 1, "text": path.read_text()}
        self.write({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return path.as_uri()

    def lenses(self, uri: str) -> int:
        """How many code lenses there are; all of them are waited for."""
        return len(self.request("textDocument/codeLens", {"textDocument": {"uri": uri}}))

    def actions(self, uri: str, line: int) -> int:
        """How many code actions there are at a line."""
        place = {"line": line, "character": 0}
        params: Json = {
            "textDocument": {"uri": uri},
            "range": {"start": place, "end": place},
            "context": {"diagnostics": []},
        }
        return len(self.request("textDocument/codeAction", params))

    def type(self, uri: str, version: int, line: int) -> None:
        """One key at the beginning of a line."""
        place = {"line": line, "character": 0}
        changes = [{"range": {"start": place, "end": place}, "text": "x"}]
        document = {"uri": uri, "version": version}
        self.write(
            {"method": "textDocument/didChange", "params": {"textDocument": document, "contentChanges": changes}}
        )
