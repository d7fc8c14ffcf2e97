"""Hunks as diagnostics of the lowest severity, for users who want them in their editor's list of problems."""

from pathlib import Path
from typing import TYPE_CHECKING

from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.editors.lsp import types
from sould.editors.lsp.protocol import written
from sould.editors.lsp.review.hunks import called, hunks_of, span

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer


async def show_hints(peer: "Peer", paths: set[Path]) -> None:
    """Tell those of open documents, all of each; none where the user does not want them."""
    for path in paths:
        uri = peer.documents.uri(path)
        hunks = await hunks_of(peer, uri) if peer.hints else ()
        hints = [_hint(hunk, place, len(hunks)) for place, hunk in enumerate(hunks, 1)]
        told = types.PublishDiagnosticsParams(uri, hints)
        peer.connection.notify("textDocument/publishDiagnostics", written(told))


def _hint(hunk: ReviewedHunk, place: int, count: int) -> types.Diagnostic:
    return types.Diagnostic(
        span(hunk),
        f"To be reviewed: {called(hunk, place, count)}",
        severity=types.HINT,
        source="sould",
        code=str(hunk.id),
    )
