"""Values of the protocol, read and written: parsed once, at the edge."""

from typing import Any, TypeVar

from msgspec import ValidationError, convert, to_builtins

from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.editors.lsp import types

T = TypeVar("T")


def read(kind: type[T], raw: object) -> T:
    """A value that the editor sent. Raises RpcError."""
    try:
        return convert(raw, kind)
    except ValidationError as error:
        sentence = f"These are no parameters as the protocol has them: {error}."
        raise RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params"}) from error


def written(value: object) -> Any:
    """As it is sent."""
    return to_builtins(value)


def range_of(start: int, start_character: int, stop: int, stop_character: int) -> types.Range:
    """From one place to another, which is not included."""
    return types.Range(types.Position(start, start_character), types.Position(stop, stop_character))
