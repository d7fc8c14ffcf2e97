"""One line to one JSON-RPC message, or to the error that answers it.

Pure: nothing here keeps state or writes. Whatever bytes come in, the outcome is one of four messages or an `Invalid`;
no exception and no text of a library's error reaches the peer.
"""

import json
import re
from typing import Any, TypeAlias, cast

import orjson
from msgspec import Struct

from sould.agents.base.rpc.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, RpcError

RequestId: TypeAlias = int | str | None
Params: TypeAlias = dict[str, Any]


class Request(Struct, frozen=True):
    """To be answered once."""

    id: RequestId
    method: str
    params: Params


class RpcNotification(Struct, frozen=True):
    """Never answered."""

    method: str
    params: Params


class Response(Struct, frozen=True):
    """The answer to a request of ours; exactly one of `result` and `error` counts."""

    id: RequestId
    result: Any
    error: RpcError | None


class Invalid(Struct, frozen=True):
    """A line that is no message. `answer`: whether the peer is told (never for notifications and responses)."""

    id: RequestId
    error: RpcError
    answer: bool = True


Inbound: TypeAlias = Request | RpcNotification | Response | Invalid

_LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1


def parse(line: bytes) -> Inbound:
    """What a line says."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError:
        return _with_lone_surrogates(line) or Invalid(None, RpcError(PARSE_ERROR, "The line is not valid JSON."))
    if isinstance(value, dict):
        return _classify(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return _invalid(None, "Batches are not supported: send one JSON object per line.")
    return _invalid(None, "A message is a JSON object.")


def _classify(message: dict[str, Any]) -> Inbound:
    identifier, valid_id = _checked_id(message)
    if message.get("jsonrpc") != "2.0":
        return _invalid(identifier, 'A message has "jsonrpc": "2.0".')
    if "method" in message:
        return _call(message, identifier, valid_id)
    if "error" in message or "result" in message:
        return _response(message, identifier)
    return _invalid(identifier, "A message has a method, a result or an error.")


def _call(message: dict[str, Any], identifier: RequestId, valid_id: bool) -> Inbound:
    method = message["method"]
    if not valid_id:
        return _invalid(None, "A request id is an integer of 64 bits, a string or null.")
    if not isinstance(method, str):
        return _invalid(identifier, "A method is a string.")
    params = message.get("params")
    if params is not None and not isinstance(params, dict):
        error = RpcError(INVALID_PARAMS, "The params of every method are a JSON object.")
        return Invalid(identifier, error, answer="id" in message)
    given = cast("Params", params or {})
    return Request(identifier, method, given) if "id" in message else RpcNotification(method, given)


def _response(message: dict[str, Any], identifier: RequestId) -> Response:
    raw = message.get("error")
    if raw is None:
        return Response(identifier, message.get("result"), None)
    error = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    code, text = error.get("code"), error.get("message")
    return Response(
        identifier,
        None,
        RpcError(
            code if isinstance(code, int) else 0,
            text if isinstance(text, str) else "The peer answered with an error it did not describe.",
            error.get("data"),
        ),
    )


def _checked_id(message: dict[str, Any]) -> tuple[RequestId, bool]:
    """The id, and whether it may be one; an id that may not be is answered as null."""
    value = message.get("id")
    if value is None or isinstance(value, str):
        return value, True
    if isinstance(value, int) and not isinstance(value, bool) and _MIN_INT64 <= value <= _MAX_INT64:
        return value, True
    return None, False


def _with_lone_surrogates(line: bytes) -> Invalid | Response | None:
    """A message that is JSON but for half characters, which must reach neither a file nor a model."""
    if not _LONE_SURROGATE.search(line):
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    message = cast("dict[str, Any]", value)
    identifier, _ = _checked_id(message)
    if isinstance(identifier, str) and not _encodable(identifier):
        identifier = None
    error = RpcError(INVALID_PARAMS, "A string holds half of a surrogate pair, which is not text.")
    if "method" not in message:
        return Response(identifier, None, error)
    return Invalid(identifier, error, answer="id" in message)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid(identifier: RequestId, sentence: str) -> Invalid:
    return Invalid(identifier, RpcError(INVALID_REQUEST, sentence))
