"""Judges what an agent says on an ACP connection by the official JSON Schema, line by line.

The schema is a copy of the one inside the locked npm package (`tests/e2e/test_clients_and_schema.py` compares them). It is
read strictly: a property the schema does not name is an error, because the protocol forbids custom root fields (they
belong in `_meta`). `Transcript` adds what a schema cannot say: one response per request, the response that introduces a
session before its updates, calls announced before they are updated.
"""

import functools
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from jsonschema_rs import Draft202012Validator

Json = dict[str, Any]

SCHEMAS = Path(__file__).resolve().parents[1] / "schema"
PACKAGE = SCHEMAS.parents[1] / "clients" / "node_modules" / "@agentclientprotocol" / "sdk"


@functools.cache
def schema(unstable: bool = False) -> Json:
    """The official schema of protocol version 1."""
    return cast("Json", json.loads((SCHEMAS / ("schema.unstable.json" if unstable else "schema.json")).read_text()))


Side = Literal["agent", "client", "protocol"]


@functools.cache
def methods(side: Side, unstable: bool = False) -> dict[str, dict[str, str]]:
    """Methods that `side` handles: name to {"Request" | "Response" | "Notification": definition}."""
    table: dict[str, dict[str, str]] = {}
    for name, definition in schema(unstable)["$defs"].items():
        if definition.get("x-side") == side:
            suffix = next(each for each in ("Request", "Response", "Notification") if name.endswith(each))
            table.setdefault(definition["x-method"], {})[suffix] = name
    return table


@functools.cache
def validator(definition: str, unstable: bool) -> Draft202012Validator:
    """A strict validator of one definition."""
    whole = strict(schema(unstable))
    return Draft202012Validator(
        {"$ref": f"#/$defs/{definition}", "$defs": whole["$defs"], "unevaluatedProperties": False}
    )


def strict(whole: Json) -> Json:
    """The schema with `unevaluatedProperties: false` wherever a property or an item is an object the schema describes."""
    definitions = whole["$defs"]

    def describes(node: Json) -> bool:
        if "$ref" in node:
            return describes(definitions[node["$ref"].removeprefix("#/$defs/")])
        parts = [part for key in ("allOf", "anyOf", "oneOf") for part in node.get(key, [])]
        return "properties" in node or any(describes(part) for part in parts)

    def closed(node: Any) -> Any:
        walked = walk(node)
        if isinstance(node, dict) and describes(cast("Json", node)) and "additionalProperties" not in node:
            return {"allOf": [walked], "unevaluatedProperties": False}
        return walked

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(each) for each in cast("list[Any]", node)]
        if not isinstance(node, dict):
            return node
        built: Json = {}
        for key, value in cast("Json", node).items():
            if key == "properties":
                built[key] = {name: closed(each) for name, each in value.items()}
            elif key == "items":
                built[key] = closed(value)
            else:
                built[key] = walk(value)
        return built

    return {"$defs": {name: walk(each) for name, each in definitions.items()}}


def faults(definition: str, value: Any) -> list[str]:
    """What is wrong with `value`; empty when the stable or, for what only that knows, the unstable schema accepts it."""
    stable = (
        broken(definition, value, unstable=False) if definition in schema()["$defs"] else ["not in the stable schema"]
    )
    if not stable or not broken(definition, value, unstable=True):
        return []
    return stable


def broken(definition: str, value: Any, *, unstable: bool) -> list[str]:
    """What one of the two schemas says about `value`."""
    found = validator(definition, unstable).iter_errors(value)
    return [f"{'.'.join(map(str, (definition, *error.instance_path)))}: {error.message[:400]}" for error in found]


@dataclass(slots=True)
class Transcript:
    """One connection, fed with both sides' lines in the order of the wire. `faults` is empty while all is well."""

    faults: list[str] = field(default_factory=list[str])
    seen: set[str] = field(default_factory=set[str])
    """What the agent has used: method names, `update:<kind>`, `content:<type>`, `response:<method>`."""
    of_client: dict[str, tuple[str, Json]] = field(default_factory=dict[str, tuple[str, Json]])
    of_agent: dict[str, str] = field(default_factory=dict[str, str])
    sessions: set[str] = field(default_factory=set[str])
    opening: set[str] = field(default_factory=set[str])
    calls: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    def client_said(self, line: str | bytes) -> None:
        """A line to the agent; it is only remembered, and may be anything."""
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict):
            return
        request = cast("Json", message)
        identifier = json.dumps(request.get("id"))
        if "method" not in request:
            self.of_agent.pop(identifier, None)
        elif "id" in request:
            params = request.get("params")
            known = cast("Json", params) if isinstance(params, dict) else {}
            self.of_client[identifier] = (str(request["method"]), known)
            if request["method"] == "session/load":
                self.opening.add(str(known.get("sessionId")))

    def agent_said(self, line: str | bytes) -> None:
        """A line from the agent; everything about it is judged."""
        try:
            message = json.loads(line)
        except ValueError as error:
            self.faults.append(f"not JSON: {error}: {line[:200]!r}")
            return
        said = cast("Json", message) if isinstance(message, dict) else {}
        if said.get("jsonrpc") != "2.0":
            self.faults.append(f"not a JSON-RPC 2.0 message: {line[:200]!r}")
        elif "method" in said:
            self.asked(said)
        else:
            self.answered(said)

    def asked(self, message: Json) -> None:
        """A request or notification of the agent."""
        method, params = str(message["method"]), message.get("params")
        self.seen.add(method)
        kind = "Request" if "id" in message else "Notification"
        if kind == "Request":
            self.of_agent[json.dumps(message["id"])] = method
        if method.startswith("_"):
            return
        table = {**methods("client", True), **methods("client"), **methods("protocol")}
        definition = table.get(method, {}).get(kind)
        if definition is None:
            self.faults.append(f"the protocol has no {kind.lower()} {method} from the agent")
            return
        self.faults += faults(definition, params)
        if method in ("session/update", "session/request_permission"):
            self.followed(method, cast("Json", params or {}))

    def followed(self, method: str, params: Json) -> None:
        """The order within a session."""
        session = str(params.get("sessionId"))
        if session not in self.sessions | self.opening:
            self.faults.append(f"{method} for session {session}, which no response has introduced")
        if method == "session/request_permission":
            call = params.get("toolCall", {}).get("toolCallId")
            if (session, call) not in self.calls:
                self.faults.append(f"permission asked for call {call}, which was not announced")
            self.note_content(params.get("toolCall", {}).get("content") or ())
            return
        update = cast("Json", params.get("update", {}))
        self.seen.add(f"update:{update.get('sessionUpdate')}")
        match update.get("sessionUpdate"):
            case "subagent_update":
                self.sessions.add(update["sessionId"])
            case "tool_call":
                self.calls.add((session, update["toolCallId"]))
                self.note_content(update.get("content") or ())
            case "tool_call_update":
                if (session, update.get("toolCallId")) not in self.calls:
                    self.faults.append(f"update of call {update.get('toolCallId')}, which was not announced")
                self.note_content(update.get("content") or ())
            case "agent_message_chunk" | "user_message_chunk" | "agent_thought_chunk":
                self.seen.add(f"content:{update['content'].get('type')}")
            case _:
                pass

    def note_content(self, content: Iterable[Json]) -> None:
        """Which kinds of tool content and content blocks were used."""
        for item in content:
            self.seen.add(f"tool_content:{item.get('type')}")
            if item.get("type") == "content":
                self.seen.add(f"content:{item['content'].get('type')}")

    def answered(self, message: Json) -> None:
        """A response of the agent: one for each request, of the right shape."""
        if message.get("id") is None and "error" in message:
            self.faults += faults("Error", message["error"])
            return
        identifier = json.dumps(message.get("id"))
        if identifier not in self.of_client:
            self.faults.append(f"a response to {identifier}, which was not asked or was answered before")
            return
        method, params = self.of_client.pop(identifier)
        self.seen.add(f"response:{method}" if "result" in message else f"error:{method}")
        if ("result" in message) == ("error" in message):
            self.faults.append(f"the response to {method} must have either a result or an error")
        elif "error" in message:
            self.faults += faults("Error", message["error"])
        elif definition := {**methods("agent", True), **methods("agent")}.get(method, {}).get("Response"):
            self.faults += faults(definition, message["result"])
        self.introduced(method, params, message)

    def introduced(self, method: str, params: Json, message: Json) -> None:
        """Sessions the client now knows of."""
        if method in ("session/new", "session/fork") and "result" in message:
            self.sessions.add(str(message["result"].get("sessionId")))
        elif method in ("session/load", "session/resume"):
            self.opening.discard(str(params.get("sessionId")))
            if "result" in message:
                self.sessions.add(str(params.get("sessionId")))

    @property
    def unanswered(self) -> list[str]:
        """Requests of the client that got no response."""
        return [method for method, _ in self.of_client.values()]

    def check(self) -> None:
        """Fail with every fault."""
        assert not self.faults, "\n".join(self.faults)


def judged(lines: Iterable[tuple[Literal["agent", "client"], str]], known: Iterable[str] = ()) -> Transcript:
    """A connection whose lines are known to come from one side or the other; `known` sessions were introduced before it."""
    transcript = Transcript(sessions=set(known))
    for source, line in lines:
        if source == "agent":
            transcript.agent_said(line)
        else:
            transcript.client_said(line)
    return transcript


def sided(messages: Iterable[Json]) -> Iterator[tuple[Literal["agent", "client"], str]]:
    """Give each message of a wire log that does not say who spoke its side: by its method, or by who asked."""
    from_client = set(methods("agent", True)) | set(methods("protocol"))
    asked: set[str] = set()
    for message in messages:
        if "method" in message:
            source: Literal["agent", "client"] = "client" if message["method"] in from_client else "agent"
            if source == "agent" and "id" in message:
                asked.add(json.dumps(message["id"]))
        else:
            source = "client" if json.dumps(message.get("id")) in asked else "agent"
            asked.discard(json.dumps(message.get("id")))
        yield source, json.dumps(message)
