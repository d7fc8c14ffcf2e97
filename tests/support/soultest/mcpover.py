"""An MCP server that an editor serves over its own ACP connection: the stateless protocol, one request at a time.

`EditorServer.serve` is given to an ACP client; everything our side asked is kept, so that a test can judge it.
"""

import json
from collections.abc import Callable
from typing import Any

from soultest.acpclient import AcpClient

Json = dict[str, Any]

VERSION = "2026-07-28"
LISTEN = "subscriptions/listen"
_CACHED: Json = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def tool(name: str, **properties: str) -> Json:
    """A tool's definition."""
    schema = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return {"name": name, "description": f"The editor's {name}.", "inputSchema": schema}


class EditorServer:
    """One server of one client. `calls` answers tools by name: its arguments to a text."""

    def __init__(self, client: AcpClient, **calls: Callable[[Json], str]) -> None:
        self.client = client
        self.server_id = "s-1"
        self.calls = dict(calls)
        self.asked: list[Json] = []
        """Params of every `mcp/message`."""
        self.asks: dict[str, Json] = {}
        """Requests to the client that tools make before they answer, which then is made of the client's answer."""
        self.hang = False
        """Tool calls get no answer."""
        self.gone = False
        client.mcp = self.serve

    @property
    def declaration(self) -> Json:
        """As `mcpServers` has it."""
        return {"type": "acp", "name": "editor", "serverId": self.server_id}

    def serve(self, message: Json) -> None:
        """Answer one `mcp/message`."""
        params = message["params"]
        self.asked.append(params)
        if self.gone or params["serverId"] != self.server_id:
            error = {"code": -33001, "message": "MCP server registration unavailable"}
            self.client.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            return
        outcome = self.outcome(params)
        if outcome is not None:
            self.client.answer(message, outcome)

    def outcome(self, params: Json) -> Json | None:
        """The inner outcome; None: not yet."""
        given: Json = params.get("params") or {}
        if given.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion") != VERSION:
            return {"error": {"code": -32022, "message": "Unsupported protocol version"}}
        match params["method"]:
            case "server/discover":
                capabilities = {"tools": {"listChanged": True}, "resources": {}}
                return {"result": {**_CACHED, "supportedVersions": [VERSION], "capabilities": capabilities}}
            case "tools/list":
                return {"result": {**_CACHED, "tools": [tool(name, text="string") for name in self.calls]}}
            case "resources/list":
                return {"result": {**_CACHED, "resources": [{"uri": "editor://selection", "name": "selection"}]}}
            case "resources/templates/list":
                return {"result": {**_CACHED, "resourceTemplates": []}}
            case "resources/read":
                content: Json = {"uri": given["uri"], "text": "let answer = 42"}
                return {"result": {**_CACHED, "contents": [content]}}
            case "tools/call":
                return self.call(params, given)
            case "subscriptions/listen":
                self.tell(params, "notifications/subscriptions/acknowledged", notifications=given["notifications"])
                return None
            case method:
                return {"error": {"code": -32601, "message": f"no {method}"}}

    def call(self, params: Json, given: Json) -> Json | None:
        """A tool call, with its progress."""
        token = given["_meta"].get("progressToken")
        if token is not None:
            progress = {"progressToken": token, "progress": 1, "total": 2, "message": "half"}
            self.notify(params, "notifications/progress", progress)
        if self.hang:
            return None
        if given["name"] in self.asks and "inputResponses" not in given:
            return {"result": {"resultType": "input_required", "inputRequests": {"q": self.asks[given["name"]]}}}
        if given["name"] in self.asks:
            given = {**given, "arguments": given["inputResponses"]["q"]}
        try:
            said = self.calls[given["name"]](given.get("arguments", {}))
        except ValueError as error:
            return {"error": {"code": -32000, "message": str(error)}}
        return {"result": {"resultType": "complete", "content": [{"type": "text", "text": said}]}}

    def tell(self, params: Json, method: str, **more: Any) -> None:
        """Something on a subscription."""
        self.notify(params, method, {**more, "_meta": {"io.modelcontextprotocol/subscriptionId": params["requestId"]}})

    def tools_changed(self) -> None:
        """Have our side list the tools again."""
        listening = next(each for each in self.asked if each["method"] == LISTEN)
        self.tell(listening, "notifications/tools/list_changed")

    def notify(self, params: Json, method: str, inner: Json) -> None:
        """A notification about one request."""
        about = {"serverId": params["serverId"], "requestId": params["requestId"], "method": method, "params": inner}
        self.client.send({"jsonrpc": "2.0", "method": "mcp/message", "params": about})

    def methods(self) -> list[str]:
        """What was asked."""
        return [each["method"] for each in self.asked]

    def withdrawn(self) -> list[Any]:
        """The outer ids of what our side cancelled."""
        lines = [json.loads(line) for source, line in self.client.log if source == "agent"]
        return [each["params"]["requestId"] for each in lines if each.get("method") == "$/cancel_request"]
