"""What a session is asked to make of its conversation: a code block put into a file, a commit message (docs/session-clients.md)."""

import re
from collections.abc import Sequence
from functools import partial

from msgspec import to_builtins

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import ApplyParams, CommitMessageParams
from sould.acp.shapes import Applied, CommitMessage
from sould.agents.clients.review.params import PositionParams, RangeParams
from sould.agents.clients.review.textbuffer import before
from sould.agents.files.review.lines import split
from sould.agents.sessions.operations.applying import NotAppliedError
from sould.agents.tools.lineends import dominant, with_line_ends
from sould.agents.tools.writefile import new_text

_FENCE = re.compile(r"\A```[a-z]*\n|\n```\Z")


async def apply(client: AcpClient, params: ApplyParams) -> Json:
    """Write it where what was seen is still there. What the client said of its buffers is known first."""
    session = client.attached(params.session_id).session
    await client.reports_taken()
    done = await session.applying.apply(params.path, partial(_changed, params))
    return to_builtins(Applied("applied" if done.changed else "unchanged", str(done.path)))


async def commit_message(client: AcpClient, params: CommitMessageParams) -> Json:
    """By the session's model, without what some models put around a text."""
    await client.reports_taken()
    said = await client.attached(params.session_id).session.commit_message()
    return to_builtins(CommitMessage(_FENCE.sub("", said.strip()).strip()))


def _changed(params: ApplyParams, text: str | None) -> str:
    """A `Change`: with the line ends that the file has."""
    if params.range is None:
        _require(params, text or "")
        return new_text(text, params.text, "overwrite")
    start, stop = _places(params.range, text or "")
    old = text or ""
    _require(params, old[start:stop])
    return old[:start] + with_line_ends(params.text, dominant(old)) + old[stop:]


def _require(params: ApplyParams, found: str) -> None:
    if params.expected is not None and with_line_ends(found, "\n") != with_line_ends(params.expected, "\n"):
        raise NotAppliedError("Nothing was written: another text stands there by now. Look at it and apply again.")


def _places(given: RangeParams, text: str) -> tuple[int, int]:
    lines = split(text)
    start, stop = (_offset(each, lines) for each in (given.start, given.end))
    if start > stop:
        raise NotAppliedError("Nothing was written: the range ends before it begins.")
    return start, stop


def _offset(place: PositionParams, lines: Sequence[str]) -> int:
    """In characters; what is behind the end of a line, or of the text, is there."""
    above = sum(map(len, lines[: place.line]))
    return above + (len(before(lines[place.line], place.character, "utf-16")) if place.line < len(lines) else 0)
