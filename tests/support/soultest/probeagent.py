"""A tiny ACP agent in plain blocking code: proves that the test clients work before they judge ours.

Run as a program; the first word of a prompt chooses what happens: `text`, `edit FILE NEW`, `plan`, `wait`, `fail`.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any, cast

Json = dict[str, Any]

CAPABILITIES: Json = {
    "loadSession": True,
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
}
ALLOW: Json = {"optionId": "yes", "name": "Allow", "kind": "allow_once"}
REJECT: Json = {"optionId": "no", "name": "Reject", "kind": "reject_once"}


class ProbeAgent:
    """One connection over stdin and stdout. Sessions live as long as the process, or in `PROBE_STORE` when it is set."""

    def __init__(self) -> None:
        store = os.environ.get("PROBE_STORE")
        self.store = Path(store) if store else None
        self.sessions: dict[str, Json] = {}
        if self.store and self.store.exists():
            self.sessions = json.loads(self.store.read_text())
        self.asked = 0

    def run(self) -> None:
        """Answer until the client closes its end."""
        while message := self.receive():
            if "method" in message:
                self.dispatch(message)

    def receive(self) -> Json | None:
        line = sys.stdin.buffer.readline()
        return cast("Json", json.loads(line)) if line else None

    def send(self, message: Json) -> None:
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()

    def dispatch(self, message: Json) -> None:
        handler = HANDLERS.get(message["method"])
        if "id" not in message:
            return
        if handler is None:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "method not found"}})
            return
        outcome = handler(self, message.get("params") or {})
        self.send({"id": message["id"], **({"error": outcome} if "code" in outcome else {"result": outcome})})
        if self.store:
            self.store.write_text(json.dumps(self.sessions))

    def initialize(self, params: Json) -> Json:
        return {"protocolVersion": 1, "agentCapabilities": CAPABILITIES, "agentInfo": {"name": "probe", "version": "0"}}

    def new(self, params: Json) -> Json:
        session = f"probe-{os.getpid()}-{len(self.sessions)}"
        self.sessions[session] = {"cwd": params["cwd"], "said": []}
        return {"sessionId": session}

    def load(self, params: Json) -> Json:
        session = params["sessionId"]
        if session not in self.sessions:
            return {"code": -32002, "message": "no such session"}
        for kind, words in self.sessions[session]["said"]:
            self.update(session, {"sessionUpdate": kind, "content": {"type": "text", "text": words}})
        return {}

    def resume(self, params: Json) -> Json:
        return {} if params["sessionId"] in self.sessions else {"code": -32002, "message": "no such session"}

    def list(self, params: Json) -> Json:
        return {"sessions": [{"sessionId": name, "cwd": each["cwd"]} for name, each in self.sessions.items()]}

    def close(self, params: Json) -> Json:
        return {}

    def delete(self, params: Json) -> Json:
        self.sessions.pop(params["sessionId"], None)
        return {}

    def prompt(self, params: Json) -> Json:
        session = params["sessionId"]
        words = params["prompt"][0]["text"]
        self.sessions[session]["said"].append(["user_message_chunk", words])
        verb, _, rest = words.partition(" ")
        return {"edit": self.edit, "plan": self.plan, "wait": self.wait, "fail": self.fail}.get(verb, self.text)(
            session, rest
        )

    def text(self, session: str, words: str) -> Json:
        for piece in ("Hello", " from", " the probe."):
            self.say(session, piece)
        return {"stopReason": "end_turn"}

    def say(self, session: str, words: str) -> None:
        self.sessions[session]["said"].append(["agent_message_chunk", words])
        self.update(session, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}})

    def edit(self, session: str, rest: str) -> Json:
        name, _, new = rest.partition(" ")
        path = str(Path(self.sessions[session]["cwd"]) / name)
        old = self.call("fs/read_text_file", {"sessionId": session, "path": path})["result"]["content"]
        diff = {"type": "diff", "path": path, "oldText": old, "newText": new}
        call: Json = {
            "toolCallId": "c1",
            "title": f"Edit {name}",
            "kind": "edit",
            "content": [diff],
            "rawInput": {"path": path},
        }
        self.update(session, {"sessionUpdate": "tool_call", "status": "pending", **call})
        asked = {"sessionId": session, "toolCall": call, "options": [ALLOW, REJECT]}
        allowed = self.call("session/request_permission", asked)["result"]["outcome"].get("optionId") == "yes"
        if allowed:
            self.call("fs/write_text_file", {"sessionId": session, "path": path, "content": new})
        status = "completed" if allowed else "failed"
        self.update(session, {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": status})
        self.say(session, "Done." if allowed else "Then not.")
        return {"stopReason": "end_turn"}

    def plan(self, session: str, rest: str) -> Json:
        entries = [{"content": "Look", "priority": "high", "status": "in_progress"}]
        self.update(session, {"sessionUpdate": "plan", "entries": entries})
        return {"stopReason": "end_turn"}

    def wait(self, session: str, rest: str) -> Json:
        self.say(session, "Waiting.")
        while message := self.receive():
            if message.get("method") == "session/cancel":
                break
        return {"stopReason": "cancelled"}

    def fail(self, session: str, rest: str) -> Json:
        return {"code": -32603, "message": "The model answered 500."}

    def update(self, session: str, update: Json) -> None:
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def call(self, method: str, params: Json) -> Json:
        """Ask the client and wait; anything else that arrives meanwhile is not for us."""
        self.asked += 1
        self.send({"id": f"probe-{self.asked}", "method": method, "params": params})
        while message := self.receive():
            if message.get("id") == f"probe-{self.asked}" and "method" not in message:
                return message
        raise EOFError(method)


HANDLERS = {
    "initialize": ProbeAgent.initialize,
    "session/new": ProbeAgent.new,
    "session/load": ProbeAgent.load,
    "session/resume": ProbeAgent.resume,
    "session/list": ProbeAgent.list,
    "session/close": ProbeAgent.close,
    "session/delete": ProbeAgent.delete,
    "session/prompt": ProbeAgent.prompt,
}

if __name__ == "__main__":
    ProbeAgent().run()
