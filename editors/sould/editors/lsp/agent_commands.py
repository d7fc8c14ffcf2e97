"""Commands about agents: prompts, what runs, which session, what is asked; and what code actions ask of an agent."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import Field

from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.params import Inbound, Lenient
from sould.agents.clients.review.params import Number, RangeParams
from sould.agents.clients.review.reported import before
from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.listing import ReviewedHunk
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.scopes import approved, offered
from sould.agents.sessions.port import SessionPort
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, QuestionResponse
from sould.editors.lsp.attachment import EditorAttachment
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.hunks import hunks_of
from sould.editors.lsp.opened import Place, file_of, place_of
from sould.editors.lsp.protocol import server
from sould.editors.lsp.words import tell

MOST_LINES: Final = 400
"""Of code that goes into a prompt; the agent reads the rest itself."""
MOST_DIAGNOSTICS: Final = 20
SEVERITIES: Final = {1: "error", 2: "warning", 3: "information", 4: "hint"}
_BACKQUOTES: Final = re.compile(r"`{3,}")
Json = dict[str, Any]
T = TypeVar("T")
LONGEST_PROMPT = 1_000_000
_SCOPES: Final[Mapping[str, Scope]] = {
    "approve": "once",
    "approve_for_session": "session",
    "approve_for_project": "project",
    "approve_always": "always",
}
"""By the `response` that gives each."""


class ReportedDiagnostic(Inbound):
    """A diagnostic, as far as an agent is told of it."""

    message: Lenient[str] = ""
    severity: Lenient[int] = 1
    source: Lenient[str] = ""
    code: Lenient[int | str] = ""
    range: Lenient[RangeParams | None] = None


def fix_prompt(path: Path, diagnostics: Sequence[ReportedDiagnostic], text: str = "") -> str:
    """Fix what the editor reports about a file."""
    told = [_diagnostic(path, each) for each in diagnostics[:MOST_DIAGNOSTICS]]
    return _joined(f"Fix {'this problem' if len(told) == 1 else 'these problems'} in {path}:", "\n".join(told), text)


def explain_prompt(path: Path, lines: Sequence[str], first: int, text: str = "") -> str:
    """Explain lines of a file; nothing is to be changed."""
    asked = text or "Explain this code. Change nothing."
    return _joined(f"{_where(path, first, len(lines))}:", fenced(lines), asked)


def edit_prompt(path: Path, lines: Sequence[str], first: int, text: str = "") -> str:
    """Change lines of a file."""
    asked = text or "Do what the comments in this code ask for; where there are none, improve it. Change nothing else."
    return _joined(f"{_where(path, first, len(lines))}:", fenced(lines), asked)


def why_prompt(hunk: ReviewedHunk) -> str:
    """Why an agent changed something."""
    removed = [f"-{line}" for line in hunk.base]
    added = [f"+{line}" for line in hunk.texts]
    what = fenced([*removed, *added]) if removed or added else f"({hunk.kind}: {hunk.before} → {hunk.after})"
    return _joined(f"{_where(Path(hunk.path), hunk.start, len(hunk.lines))}:", what, "Why this change? Change nothing.")


def fenced(lines: Iterable[str]) -> str:
    """Code as Markdown has it."""
    code = [*lines]
    left_out = len(code) - MOST_LINES
    shown = "".join(code[:MOST_LINES]).rstrip("\r\n")
    fence = "`" * max([3, *(len(each) + 1 for each in _BACKQUOTES.findall(shown))])
    return f"{fence}\n{shown}\n{fence}" + (f"\n({left_out} more lines)" if left_out > 0 else "")


def _where(path: Path, first: int, count: int) -> str:
    last = first + max(1, count)
    return f"{path}:{first + 1}" if last == first + 1 else f"{path}:{first + 1}-{last}"


def _diagnostic(path: Path, given: ReportedDiagnostic) -> str:
    at = f"{path.name}:{given.range.start.line + 1}: " if given.range is not None else ""
    severity = SEVERITIES.get(given.severity, "error")
    source = " ".join(str(each)[:100] for each in (given.source, given.code) if each != "")
    return f"- {at}{severity}: {given.message[:2000]}{f' ({source})' if source else ''}"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


class SessionArguments(Place):
    """A session by its id; without it, the one chosen for the place."""

    session: str = ""


class PromptCommandArguments(SessionArguments):
    """What the agent is asked."""

    text: Annotated[str, Field(min_length=1, max_length=LONGEST_PROMPT)]


class PickArguments(SessionArguments):
    """`new`: a new one."""

    new: bool = False


class AnswerArguments(SessionArguments):
    """A request by its id; without it, what is pending is answered. Without an answer, the editor's user is asked.

    An approval is answered by `response`, a question by `answers`, all of it, or its next part by `text`, or by what the
    document `uri` holds in `range`.
    """

    request: str = ""
    response: Literal["approve", "approve_for_session", "approve_for_project", "approve_always", "reject"] | None = None
    feedback: str = ""
    answers: dict[str, str] = Field(default_factory=dict)
    text: Annotated[str, Field(max_length=LONGEST_PROMPT)] = ""
    range: RangeParams | None = None

    @property
    def kinds(self) -> Sequence[str]:
        """What this can be an answer to; nothing: to nothing."""
        if self.response is not None:
            return () if self.answers or self.text or self.range else ("approval",)
        return ("question",) if self.answers or self.text or self.range else ("approval", "question")


class FixArguments(SessionArguments):
    """What the editor reports."""

    uri: str | None = None
    diagnostics: Annotated[list[ReportedDiagnostic], Field(min_length=1)]
    text: str = ""


class SelectionArguments(SessionArguments):
    """Lines of a document. `text`: what is asked, where the editor asked its user for it."""

    range: RangeParams
    text: Lenient[str] = ""


class WhyArguments(SessionArguments):
    """A hunk."""

    id: Number


@server.command("sould.prompt")
async def prompt(client: LspClient, given: PromptCommandArguments) -> Json:
    """A turn."""
    return _asked(await client.sessions.of(place_of(client, given), given.session), given.text)


@server.command("sould.steer")
async def steer(client: LspClient, given: PromptCommandArguments) -> Json:
    """More input for the running turn, or word that a prompt is needed."""
    attachment = await client.sessions.of(place_of(client, given), given.session)
    steered = attachment.session.turns.steer(given.text)
    return {"sessionId": attachment.session.id, "outcome": "injected" if steered else "promptRequired"}


@server.command("sould.cancel")
async def cancel(client: LspClient, given: SessionArguments) -> Json:
    """End the running turns of this window's sessions."""
    return {"cancelled": client.sessions.cancel()}


@server.command("sould.session")
async def session(client: LspClient, given: PickArguments) -> Json | None:
    """Choose where prompts go: the session named, a new one, or the one that the user picks."""
    about = place_of(client, given)
    if given.new:
        chosen: EditorAttachment | None = await client.sessions.new(about)
    elif given.session:
        chosen = await client.sessions.of(about, given.session)
    else:
        chosen = await client.sessions.pick(about)
    return {"sessionId": chosen.session.id, "title": chosen.session.info.title} if chosen is not None else None


@server.command("sould.answer")
async def answer(client: LspClient, given: AnswerArguments) -> Json:
    """Answer what an agent asks, or have the editor ask its user. Also without an argument: what is pending is in the answer."""
    pending = await client.sessions.pending()
    fitting = [each for each in pending if each["kind"] in given.kinds]
    wanted = next((each for each in fitting if given.request in ("", each["request"])), None)
    if wanted is not None:
        await _answer(client, wanted, given)
    elif any(given.request in ("", each["request"]) for each in pending):
        raise _wrong("response", "An approval is answered by response, a question by answers, text or range.")
    else:
        tell(client, "info", "No agent asks anything.")
    return {"pending": pending}


@server.command("sould.fix")
async def fix(client: LspClient, given: FixArguments) -> Json:
    """Have diagnostics fixed."""
    path = place_of(client, given)
    return _asked(await client.sessions.of(path, given.session), fix_prompt(path, given.diagnostics, given.text))


@server.command("sould.explain")
async def explain(client: LspClient, given: SelectionArguments) -> Json:
    """Have a selection explained."""
    path, first, lines = await _selected(client, given)
    return _asked(await client.sessions.of(path, given.session), explain_prompt(path, lines, first, given.text))


@server.command("sould.edit")
async def edit(client: LspClient, given: SelectionArguments) -> Json:
    """Have a selection edited."""
    path, first, lines = await _selected(client, given)
    return _asked(await client.sessions.of(path, given.session), edit_prompt(path, lines, first, given.text))


@server.command("sould.why")
async def why(client: LspClient, given: WhyArguments) -> Json:
    """Ask the agent that wrote a hunk last why it did."""
    path = place_of(client, given)
    hunk = next((each for each in await hunks_of(client, path.as_uri()) if each.id == given.id), None)
    if hunk is None:
        raise _wrong("id", f"No hunk {given.id} is to be reviewed in {path}.")
    writer = hunk.agents[-1].session_id if hunk.agents else ""
    return _asked(await client.sessions.of(path, given.session or writer), why_prompt(hunk))


def _asked(attachment: EditorAttachment, text: str) -> Json:
    return {"sessionId": attachment.session.id, "turnId": attachment.prompt(text)}


def _approval(session: SessionPort, request_id: str, response: str, feedback: str) -> ApprovalResponse:
    scope = _SCOPES.get(response)
    request = next((each for each in session.pending if each.id == request_id), None)
    if scope is None or not isinstance(request, ApprovalRequest):
        return ApprovalResponse(request_id=request_id, response="reject", feedback=feedback)
    if scope not in {each.scope for each in offered(request)}:
        raise _wrong("response", f"This cannot be answered by {response}.")
    return approved(request, scope, words=feedback)


async def _answer(client: LspClient, wanted: Json, given: AnswerArguments) -> None:
    live, request = (await client.host()).live(wanted["sessionId"]), wanted["request"]
    if live is None:
        return
    if given.response is not None:
        live.clients.answer(_approval(live, request, given.response, given.feedback), client.id)
    elif given.answers:
        live.clients.answer(QuestionResponse(request_id=request, answers=given.answers), client.id)
    elif given.text:
        await client.sessions.say(request, given.text)
    elif given.range is not None:
        await client.sessions.say(request, await _text(client, given, given.range))
    else:
        await client.sessions.put(request)


async def _text(client: LspClient, given: Place, at: RangeParams) -> str:
    """What a document holds in a range, as the user sees it."""
    lines = split(await client.documents.text(_document(given)))[at.start.line : at.end.line + 1]
    if not lines:
        return ""
    last = (
        before(lines[-1], at.end.character, client.can.encoding)
        if at.end.line < at.start.line + len(lines)
        else lines[-1]
    )
    whole = "".join((*lines[:-1], last))
    return whole[len(before(lines[0], at.start.character, client.can.encoding)) :]


async def _selected(client: LspClient, given: SelectionArguments) -> "tuple[Path, int, tuple[str, ...]]":
    """The file, the first of its lines that a range touches, and these lines as the user sees them."""
    path = _document(given)
    lines = split(await client.documents.text(path))
    first, last = given.range.start.line, given.range.end.line + (1 if given.range.end.character else 0)
    return path, first, lines[first : max(last, first + 1)]


def _document(given: Place) -> Path:
    if given.uri is None:
        raise _wrong("uri", "uri is required.")
    return file_of(given.uri)


def _wrong(field: str, sentence: str) -> RpcError:
    return RpcError(INVALID_PARAMS, sentence, {"kind": "invalid_params", "field": field})
