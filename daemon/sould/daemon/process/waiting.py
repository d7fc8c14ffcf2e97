"""What sessions wait for a person with, and the answer from a terminal. The first answer wins, whoever gives it (D12).

An answer names its request, never only its session: what is approved is what was shown. The agent's own commands give
no answers.
"""

from typing import TYPE_CHECKING

from sould.agents.base.errors import OptionError, SouldError
from sould.agents.base.text import plural
from sould.agents.clients.frontend.inbox import session_of
from sould.agents.clients.inbox.answering import choices, response_to
from sould.agents.clients.inbox.params import AnswerParams as Decision
from sould.agents.clients.inbox.params import GivenAnswer
from sould.agents.clients.inbox.shown import asker, request_lines
from sould.agents.permissions.visible import both_ends
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    QuestionItem,
    QuestionRequest,
    QuestionResponse,
    WireRequest,
)
from sould.daemon.control import Answered, AnswerParams, Asked, LastingScope, Waiting

if TYPE_CHECKING:
    from sould.agents.clients.connections import ClientProcess
    from sould.agents.sessions.hostport import HostPort
    from sould.agents.sessions.inbox import Waiting as InboxItem
    from sould.agents.sessions.port import SessionPort

SHOWN = 20
"""Lines of a request in a list."""
LEAST = 4
"""Characters of an id that are enough: a slip of the finger approves nothing."""
TERMINAL = "the command line"


class NotWaitingError(SouldError):
    """Nothing waits under this id."""

    kind = "not_waiting"


def waiting(session: "SessionPort", most: int | None = SHOWN) -> tuple[Waiting, ...]:
    """The requests of a session that nobody has answered, oldest first. `most`: lines of each, None for all."""
    return tuple(shown_request(session.id, request, most) for request in session.pending)


async def find(host: "HostPort", beginning: str) -> "InboxItem":
    """The one request for a person whose id begins so, of all sessions, in memory or not. Raises NotWaitingError."""
    if len(beginning) < LEAST:
        raise NotWaitingError(f"Give at least {LEAST} characters of the request's id, as `sould inbox` shows it.")
    found = [each for each in await host.inbox.all() if each.request.id.startswith(beginning)]
    if len(found) > 1:
        raise NotWaitingError(f"{len(found)} requests begin with {beginning!r}; give more of the id.")
    if not found:
        raise _not_waiting(beginning)
    return found[0]


def _not_waiting(request_id: str) -> NotWaitingError:
    return NotWaitingError(
        f"No request {request_id!r} waits: it was answered already, or never was. `sould inbox` shows those that do."
    )


async def answer(host: "HostPort", process: "ClientProcess", params: AnswerParams) -> Answered:
    """Answer it, unless somebody was faster. Raises NotWaitingError, and OptionError for an answer it does not take."""
    found = await find(host, params.id)
    request, response = found.request, _response(found.request, params)
    session = await session_of(found, host, process)
    if session is None:
        raise _not_waiting(request.id)
    resolution = session.answer(response, TERMINAL)
    return Answered(
        session=session.id,
        title=shown_request(session.id, request, 0).title,
        outcome="accepted" if resolution.outcome == "accepted" else "already",
        by=resolution.by,
        answers=tuple(response.answers.values()) if isinstance(response, QuestionResponse) else (),
    )


def _response(request: WireRequest, params: AnswerParams) -> ApprovalResponse | QuestionResponse:
    if isinstance(request, ApprovalRequest) and params.decision != "answer":
        if params.decision == "approve_for_session" and not request.scope:
            raise OptionError("This can be approved once only; leave --for-session out.")
        if params.also_changed and not request.changed:
            raise OptionError("Nothing that was allowed for the session has changed; leave --also-changed out.")
        if params.decision == "reject":
            return response_to(request, Decision(id=request.id, decision="reject", words=params.feedback))
        widest = params.lasting or ("session_also_changed" if params.also_changed else "session")
        scope = widest if params.decision == "approve_for_session" else "once"
        return response_to(request, Decision(id=request.id, decision="approve", scope=scope))
    if isinstance(request, QuestionRequest) and params.decision == "reject":
        return response_to(request, Decision(id=request.id, decision="decline"))
    if isinstance(request, QuestionRequest) and params.decision == "answer":
        if not params.answers:
            return response_to(request, Decision(id=request.id, decision="dismiss"))
        return response_to(request, Decision(id=request.id, decision="answer", answers=_given(request, params.answers)))
    if isinstance(request, ApprovalRequest | QuestionRequest):
        verb = "sould approve` or `sould reject" if isinstance(request, ApprovalRequest) else "sould answer"
        raise OptionError(f"Request {request.id} takes another kind of answer: `{verb}`.")
    raise OptionError(f"Request {request.id} is for a program, not for a person.")


def _given(request: QuestionRequest, typed: tuple[str, ...]) -> list[GivenAnswer]:
    """What was typed, one for each question; in a form "" leaves an answer out."""
    if len(typed) != len(request.questions):
        raise OptionError(
            f"{plural(len(request.questions), 'question')}, {plural(len(typed), 'answer')}: give one for each."
        )
    pairs = zip(request.questions, typed, strict=True)
    return [_read(item, words) if words or request.form is None else GivenAnswer() for item, words in pairs]


def _read(item: QuestionItem, typed: str) -> GivenAnswer:
    """An option by its number or its label, several separated by commas where that is allowed; or the user's own words."""
    offered = choices(item)
    chosen = offered.read(typed)
    if chosen is None:
        there_are = ", ".join(f"{number}. {label}" for number, label in offered.numbered.items())
        raise OptionError(f"{typed!r} is not an answer to {item.question!r}; the options are: {there_are}.")
    if chosen.wants_words:
        number = len(offered.numbered)
        raise OptionError(f"{number}. {item.other_label}: add your words, as in '{number} your words'.")
    return GivenAnswer(chosen=list(chosen.labels), words=chosen.words)


def shown_request(session_id: str, request: WireRequest, most: int | None) -> Waiting:
    """A request as a terminal shows it. `most`: lines of it, None for all."""
    match request:
        case ApprovalRequest():
            title, lines = request_lines(request)
            return Waiting(
                id=request.id,
                session=session_id,
                kind="approval",
                title=title,
                who=asker(request),
                lines=both_ends(lines, most),
                more=len(lines[most:]) if most is not None else 0,
                scope=request.scope,
                changed=request.changed,
                lasting=tuple(LastingScope(scope=each.scope, remembers=each.remembers) for each in request.lasting),
            )
        case QuestionRequest():
            title, lines = request_lines(request)
            return Waiting(
                id=request.id,
                session=session_id,
                kind="question",
                title=title,
                lines=tuple(lines[:most]),
                more=len(lines[most:]) if most is not None else 0,
                questions=tuple(map(_asked, request.questions)),
                form=request.form.model_dump(mode="json") if request.form is not None else {},
            )
        case _:
            return Waiting(id=request.id, session=session_id, kind="program", title=type(request).__name__)


def _asked(item: QuestionItem) -> Asked:
    return Asked(
        question=item.question,
        options=tuple(option.label for option in item.options),
        details=tuple(f"{option.label}: {option.description}" for option in item.options if option.description),
        several=item.multi_select,
        words=item.other_label,
        default=item.default,
    )
