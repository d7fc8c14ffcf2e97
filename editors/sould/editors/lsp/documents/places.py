"""What a command is about, by its argument: a document, a directory, or the window's first root."""

from pathlib import Path

from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.params import Inbound, absolute
from sould.editors.lsp.connection.editor import EditorConnection
from sould.editors.lsp.documents.opened import file_of, path_of


class Place(Inbound):
    """A document, or a directory of a project; without both, the window's first root."""

    uri: str | None = None
    cwd: str | None = None


def place_of(client: EditorConnection, given: Place) -> Path:
    """What it is about. Raises RpcError."""
    if given.uri is not None:
        return file_of(given.uri)
    if given.cwd is not None:
        return absolute(given.cwd, "cwd")
    roots = roots_of(client)
    if not roots:
        data = {"kind": "invalid_params", "field": "uri"}
        raise RpcError(INVALID_PARAMS, "Name a document by uri, or a directory by cwd: this window has no root.", data)
    return roots[0]


def roots_of(client: EditorConnection) -> list[Path]:
    """The window's roots, the first one first; those that are no directories of this machine are none."""
    folders = client.editor.folders if client.editor is not None else ()
    return [path for path in map(path_of, folders) if path is not None]
