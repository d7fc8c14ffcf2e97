"""The lines above hunks: keep, reject, which of how many it is, the next one."""

from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.editors.lsp import types
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.protocol import range_of
from sould.editors.lsp.review.hunks import OF_FILES, called, hunks_of, line_of, named


async def show(client: LspClient, params: types.DocumentParams) -> list[types.CodeLens]:
    """Those of a document."""
    uri = params.text_document.uri
    if client.editor is None or not client.editor.settings.lenses:
        return []
    hunks = await hunks_of(client, uri)
    return [lens for place, hunk in enumerate(hunks, 1) for lens in _of(uri, hunk, place, len(hunks))]


def _of(uri: str, hunk: ReviewedHunk, place: int, count: int) -> list[types.CodeLens]:
    line, what = line_of(hunk), OF_FILES.get(hunk.kind)
    at = range_of(line, 0, line, 0)
    if hunk.state == "rejecting":
        waits = types.Command("Rejected: goes when the agent's step ends", "sould.undo", arguments=[named(uri, hunk)])
        return [types.CodeLens(at, waits)]
    object_ = f" {what}" if what else ""
    title = called(hunk, place, count)
    commands = (
        types.Command(f"Keep{object_}", "sould.keep", arguments=[named(uri, hunk)]),
        types.Command(f"Reject{object_}", "sould.reject", arguments=[named(uri, hunk)]),
        types.Command(f"{title[:1].upper()}{title[1:]}: next", "sould.next", arguments=[{"uri": uri, "line": line}]),
    )
    return [types.CodeLens(at, command) for command in commands]
