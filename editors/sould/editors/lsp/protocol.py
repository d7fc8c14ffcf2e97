"""The protocol's shapes, which are lsprotocol's, read and written. The only module that imports cattrs.

Slow to load: imported beside the loop, behind the first editor's `initialize` (D9).
"""

from typing import Any, Final, TypeVar

from cattrs.errors import BaseValidationError
from lsprotocol import types
from lsprotocol.converters import get_converter

from sould.agents.rpc.errors import INVALID_PARAMS, RpcError

T = TypeVar("T")

_CONVERTER: Final = get_converter()


def read(kind: type[T], raw: object) -> T:
    """A value that the editor sent. Raises RpcError."""
    try:
        return _CONVERTER.structure(raw, kind)
    except (BaseValidationError, TypeError, ValueError, KeyError, AttributeError) as error:
        sentence = f"These are no {kind.__name__} as the protocol has them."
        raise RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params"}) from error


def written(value: object) -> Any:
    """As it is sent."""
    return _CONVERTER.unstructure(value)


def range_of(start: int, start_character: int, stop: int, stop_character: int) -> types.Range:
    """From one place to another, which is not included."""
    return types.Range(types.Position(start, start_character), types.Position(stop, stop_character))


def warm_up() -> None:
    """Have made what reads the requests that come first: it is made when it is needed, in several milliseconds."""
    document = {"uri": "file:///"}
    place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}
    opened = {**document, "languageId": "", "version": 0, "text": ""}
    read(types.DidOpenTextDocumentParams, {"textDocument": opened})
    changes = [{"range": place, "text": ""}]
    read(types.DidChangeTextDocumentParams, {"textDocument": {**document, "version": 0}, "contentChanges": changes})
    read(types.CodeLensParams, {"textDocument": document})
    read(types.CodeActionParams, {"textDocument": document, "range": place, "context": {"diagnostics": []}})
    read(types.ExecuteCommandParams, {"command": "", "arguments": []})
    lens = types.CodeLens(range_of(0, 0, 0, 0), types.Command("", ""))
    written([lens, types.CodeAction("", command=types.Command("", ""))])


warm_up()
