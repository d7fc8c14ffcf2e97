"""The least an MCP server can be: one tool, over standard input and output. It never does anything."""

import json
import sys
from typing import Any

TOOL: dict[str, Any] = {
    "name": "nothing",
    "description": "Does nothing.",
    "inputSchema": {"type": "object", "properties": {}},
}


def result(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bench", "version": "0"},
        }
    return {"tools": [TOOL]} if method == "tools/list" else {}


def main() -> None:
    """Answer until stdin closes."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message and "method" in message:
            answer = result(message["method"], message.get("params", {}))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)


if __name__ == "__main__":
    main()
