"""The conversation of a session in pages, newest first: `_sould/session/transcript` (docs/clients.md).

The session need not be open. Where this client shows it, the answer comes when all before it was sent: what it includes,
and what follows it, never overlap.
"""

import asyncio
import time

from sould.acp.connection.attachment import Attachment
from sould.acp.connection.client import AcpClient
from sould.acp.features import features_of
from sould.acp.outbound import Json
from sould.acp.projection.transcript import TranscriptPart
from sould.acp.schema import TranscriptParams
from sould.agents.journal.channel import Record
from sould.agents.journal.pages import Page
from sould.agents.sessions.pages import SessionPages

SLICE = 0.001
"""Seconds of reading between two looks at the rest of the daemon."""


async def transcript(client: AcpClient, params: TranscriptParams) -> Json:
    """A page of it. From the last look at the journal to the answer nothing is awaited."""
    host = await client.host()
    pages = host.pages(params.session_id)
    page = await pages.find(params.before, params.limit)
    part = TranscriptPart(params.session_id, str(pages.info.cwd), features_of(client.capabilities, client.info))
    if not page.stop:
        for record in await pages.plan(page):
            part.recall(record)
    last = await _read(pages, page, part, None)
    while (shown := _shown_in(client, params.session_id)) is not None and not (pages.live and shown.at_rest):
        await shown.at_rest_again()
        pages = host.pages(params.session_id)  # it may have been opened meanwhile
        last = await _read(pages, page, part, last)
    if shown is not None:
        part.add_output(shown.updates.calls.printed(part.running))
    return {"updates": part.shown(), "before": page.before, "sequence": pages.position(last).number}


def _shown_in(client: AcpClient, session_id: str) -> Attachment | None:
    shown = client.attachments.get(session_id)
    return None if shown is None or shown.session.closed else shown


async def _read(pages: SessionPages, page: Page, part: TranscriptPart, last: Record | None) -> Record | None:
    """Go on from `last` as far as the page goes, and as its calls take; the last record of it, or behind it."""
    pause = time.monotonic() + SLICE
    for record in pages.records(page, last.after if last is not None else None):
        if page.stop and record.seq >= page.stop:
            part.end()
            if not part.running:
                return last
        part.take(record)
        last = record
        if time.monotonic() > pause:
            await asyncio.sleep(0)
            pause = time.monotonic() + SLICE
    return last
