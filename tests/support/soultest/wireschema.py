"""Judges the lines of `sould wire` by the JSON Schemas in docs/schemas: no field more, none less."""

import functools
import json
from typing import Any

from jsonschema_rs import Draft202012Validator

from soultest.reviewschema import FOLDER, closed

Json = dict[str, Any]


class WireJudge:
    """Of one connection. It fails with the first fault."""

    def __init__(self, *, extended: bool = False) -> None:
        self._extended = extended
        self._asked: dict[str, tuple[str, Json]] = {}

    def asked(self, message: Json) -> None:
        """The program says this, right or wrong."""
        method, params = message.get("method"), message.get("params", {})
        if method is not None and isinstance(message.get("id"), str):
            self._asked[message["id"]] = method, params

    def said(self, message: Json) -> None:
        """The program is told this."""
        assert message["jsonrpc"] == "2.0"
        if "method" not in message:
            self._answered(message)
        elif message["method"] == "event":
            assert message.keys() == {"jsonrpc", "method", "params"}
            self.message(message["params"])
        else:
            assert message.keys() == {"jsonrpc", "method", "id", "params"}
            assert message["method"] == "request"
            assert message["id"] == message["params"]["payload"]["id"]
            self.message(message["params"])

    def message(self, envelope: Json) -> None:
        """An event or a request."""
        assert envelope.keys() == {"type", "payload"}
        kind, payload = envelope["type"], envelope["payload"]
        further = f"wire-extensions/{kind}"
        _judge(further if self._extended and _exists(further) else f"wire/{kind}", payload, strict=True)
        if kind == "SubagentEvent":
            self.message(payload["event"])

    def _answered(self, message: Json) -> None:
        method, params = self._asked.pop(message["id"] or "", ("", {}))
        if "error" in message:
            assert message.keys() == {"jsonrpc", "id", "error"}
            _judge("wire/error", message["error"], strict=True)
            return
        assert message.keys() == {"jsonrpc", "id", "result"}
        if method:  # otherwise it was asked of an earlier daemon
            _judge(f"wire/{method}.params", params, strict=False)
            _judge(f"wire/{method}.result", message["result"], strict=True)
        if method == "initialize":
            self._extended = params.get("sould", {}).get("extensions", False)


def _judge(name: str, value: object, *, strict: bool) -> None:
    faults = [
        f"{'.'.join(map(str, each.instance_path))}: {each.message[:300]}"
        for each in _schema(name, strict=strict).iter_errors(value)
    ]
    assert not faults, f"{name}: {faults[0]}"


def _exists(name: str) -> bool:
    return (FOLDER / f"{name}.json").exists()


@functools.cache
def _schema(name: str, *, strict: bool) -> Draft202012Validator:
    schema = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return Draft202012Validator(closed(schema) if strict else schema)
