"""What sessions wait for a person with, and the answer from a terminal. The first answer wins, whoever gives it (D12).

An answer names its request, never only its session: what is approved is what was shown. The agent's own commands give
no answers.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sould.agents.errors import OptionError, SouldError
from sould.agents.mcp.asking import typed_answers
from sould.agents.mcp.forms import problem
from sould.agents.permissions.difftext import diff_lines
from sould.agents.permissions.visible import both_ends
from sould.agents.wire.choosing import Choices
from sould.agents.wire.display import BriefBlock, DiffBlock, DisplayBlock, ShellBlock
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    QuestionItem,
    QuestionRequest,
    QuestionResponse,
    Response,
    WireRequest,
)
from sould.agents.wording import plural, subagent_of
from sould.daemon.control import Answered, AnswerParams, Asked, Waiting

if TYPE_CHECKING:
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


def find(sessions: Iterable["SessionPort"], beginning: str) -> tuple["SessionPort", WireRequest]:
    """The one request whose id begins so. Raises NotWaitingError."""
    if len(beginning) < LEAST:
        raise NotWaitingError(f"Give at least {LEAST} characters of the request's id, as `sould status` shows it.")
    found = [
        (session, request) for session in sessions for request in session.pending if request.id.startswith(beginning)
    ]
    if len(found) > 1:
        raise NotWaitingError(f"{len(found)} requests begin with {beginning!r}; give more of the id.")
    if not found:
        raise NotWaitingError(
            f"No request {beginning!r} waits: it was answered already, or never was. `sould status` shows those that do."
        )
    return found[0]


def answer(session: "SessionPort", request: WireRequest, params: AnswerParams) -> Answered:
    """Answer it, unless somebody was faster. Raises OptionError for an answer it does not take."""
    response = _response(request, params)
    resolution = session.answer(response, TERMINAL)
    return Answered(
        session=session.id,
        title=shown_request(session.id, request, 0).title,
        outcome="accepted" if resolution.outcome == "accepted" else "already",
        by=resolution.by,
        answers=tuple(response.answers.values()) if isinstance(response, QuestionResponse) else (),
    )


def _response(request: WireRequest, params: AnswerParams) -> Response:
    if isinstance(request, ApprovalRequest) and params.decision != "answer":
        if params.decision == "approve_for_session" and not request.scope:
            raise OptionError("This can be approved once only; leave --for-session out.")
        if params.also_changed and not request.changed:
            raise OptionError("Nothing that was allowed for the session has changed; leave --also-changed out.")
        return ApprovalResponse(
            request_id=request.id,
            response=params.decision,
            feedback=params.feedback,
            also_changed=params.also_changed,
        )
    if isinstance(request, QuestionRequest) and params.decision in ("answer", "reject"):
        return _answered(request, params)
    if isinstance(request, ApprovalRequest | QuestionRequest):
        verb = "sould approve` or `sould reject" if isinstance(request, ApprovalRequest) else "sould answer"
        raise OptionError(f"Request {request.id} takes another kind of answer: `{verb}`.")
    raise OptionError(f"Request {request.id} is for a program, not for a person.")


def _answered(request: QuestionRequest, params: AnswerParams) -> QuestionResponse:
    response = QuestionResponse(
        request_id=request.id,
        answers=_answers(request, params.answers),
        declined=request.form is not None and params.decision == "reject",
    )
    if request.form is not None and params.answers:
        content = typed_answers(request.form, response.answers)
        if why := problem(request.form, content):
            raise OptionError(why)
        response = response.model_copy(update={"content": content})
    return response


def _answers(request: QuestionRequest, given: tuple[str, ...]) -> dict[str, str]:
    """Question to answer; none at all dismisses the questions."""
    if given and len(given) != len(request.questions):
        raise OptionError(
            f"{plural(len(request.questions), 'question')}, {plural(len(given), 'answer')}: give one for each."
        )
    pairs = zip(request.questions, given, strict=False)
    return {item.question: _choice(item, words) for item, words in pairs if words or request.form is None}


def _choice(item: QuestionItem, typed: str) -> str:
    """An option by its number or its label, several separated by commas where that is allowed; or the user's own words."""
    choices = Choices(tuple(option.label for option in item.options), item.multi_select, item.other_label)
    chosen = choices.read(typed)
    if chosen is None:
        there_are = ", ".join(f"{number}. {label}" for number, label in choices.numbered.items())
        raise OptionError(f"{typed!r} is not an answer to {item.question!r}; the options are: {there_are}.")
    if chosen.wants_words:
        number = len(choices.numbered)
        raise OptionError(f"{number}. {item.other_label}: add your words, as in '{number} your words'.")
    return chosen.words or ", ".join(chosen.labels)


def shown_request(session_id: str, request: WireRequest, most: int | None) -> Waiting:
    """A request as a terminal shows it. `most`: lines of it, None for all."""
    match request:
        case ApprovalRequest():
            title, *more = request.description.split("\n")
            lines = [*more, *(line for block in request.display for line in _lines(block))]
            kind = request.subagent_type
            who = f"the {subagent_of(kind, request.subagent_chain)}" if kind else ""
            return Waiting(
                id=request.id,
                session=session_id,
                kind="approval",
                title=title or request.action,
                who=who,
                lines=both_ends(lines, most),
                more=len(lines[most:]) if most is not None else 0,
                scope=request.scope,
                changed=request.changed,
            )
        case QuestionRequest():
            lines = [line for item in request.questions for line in item.body.splitlines()]
            return Waiting(
                id=request.id,
                session=session_id,
                kind="question",
                title=request.questions[0].question if request.questions else "a question",
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


def _lines(block: DisplayBlock) -> Iterator[str]:
    match block:
        case ShellBlock():
            yield from (f"$ {line}" for line in block.command.split("\n"))
        case DiffBlock():
            yield from diff_lines(block.path, block.old_text, block.new_text)
        case BriefBlock():
            yield block.text
        case _:
            return
