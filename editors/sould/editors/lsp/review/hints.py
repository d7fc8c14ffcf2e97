"""Hunks as diagnostics of the lowest severity, for users who want them in their editor's list of problems."""

from collections.abc import Iterable

from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.editors.lsp import types
from sould.editors.lsp.connection.editor import EditorConnection
from sould.editors.lsp.protocol import written
from sould.editors.lsp.review.hunks import called, hunks_of, span


async def show_hints(client: EditorConnection, uris: Iterable[str]) -> None:
    """Tell those of open documents, all of each; none where the user does not want them."""
    for uri in uris:
        hunks = await hunks_of(client, uri) if client.hints else ()
        hints = [_hint(hunk, place, len(hunks)) for place, hunk in enumerate(hunks, 1)]
        told = types.PublishDiagnosticsParams(uri, hints)
        client.connection.notify("textDocument/publishDiagnostics", written(told))


def _hint(hunk: ReviewedHunk, place: int, count: int) -> types.Diagnostic:
    return types.Diagnostic(
        span(hunk),
        f"To be reviewed: {called(hunk, place, count)}",
        severity=types.HINT,
        source="sould",
        code=str(hunk.id),
    )
