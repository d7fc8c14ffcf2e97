"""Judges what was said below `_sould/review` and `_sould/inbox` by the JSON Schemas in docs/schemas, as strictly as they can be read."""

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, cast

from jsonschema_rs import Draft202012Validator

Json = dict[str, Any]

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "schemas"
AREAS = tuple(f"_sould/{folder.name}/" for folder in FOLDER.iterdir())


def judge(log: Iterable[tuple[Literal["agent", "client"], str]]) -> set[str]:
    """The messages that were judged, as `review/list.result`; fails with the first fault.

    Parameters of a client that are answered with an error are its own affair.
    """
    asked: dict[tuple[str, str], tuple[str, Json]] = {}
    judged: set[str] = set()
    for side, line in log:
        message = _message(line)
        method, identifier = str(message.get("method", "")), json.dumps(message.get("id"))
        if method.startswith(AREAS):
            _, area, rest = method.split("/", 2)
            name = f"{area}/{rest.replace('/', '.')}"
            if "id" in message:
                asked[side, identifier] = name, message.get("params", {})
            elif side == "agent":
                judged.add(_valid(f"{name}.params", message.get("params")))
        other = "client" if side == "agent" else "agent"
        if "result" in message and (other, identifier) in asked:
            name, params = asked.pop((other, identifier))
            judged |= {_valid(f"{name}.params", params), _valid(f"{name}.result", message["result"])}
    return judged


def _message(line: str) -> Json:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return cast("Json", found) if isinstance(found, dict) else {}


def _valid(name: str, value: object) -> str:
    faults = [
        f"{'.'.join(map(str, each.instance_path))}: {each.message[:300]}" for each in _schema(name).iter_errors(value)
    ]
    assert not faults, f"{name}: {faults[0]}"
    return name


@functools.cache
def _schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(closed(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))))


def closed(node: Any) -> Any:
    """With no property allowed but those that are named."""
    if isinstance(node, list):
        return [closed(each) for each in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    walked = {key: closed(each) for key, each in cast("Json", node).items()}
    named = "properties" in walked and "additionalProperties" not in walked
    return {**walked, "additionalProperties": False} if named else walked
