"""What clients ask of the inbox (docs/inbox-clients.md), and what an answer means to a request, checked against it. Pure.

A slip is never taken for an answer, and nothing is made up in the user's favour.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field, JsonValue

from sould.agents.base.errors import OptionError
from sould.agents.base.text import plural
from sould.agents.clients.choice_input import Choices
from sould.agents.clients.params import Inbound
from sould.agents.mcp.asking import answers_of, typed_answers
from sould.agents.mcp.forms import problem, typed
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.scopes import approved, is_command, may_be_rewritten, offered
from sould.agents.wire.display import DiffBlock
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    QuestionItem,
    QuestionRequest,
    QuestionResponse,
)

MOST_ANSWERS = 100
"""Questions of one request, and options of one question."""
LONGEST_WORDS = 20_000
"""Characters."""
LONGEST_TEXT = 8_000_000
"""Characters of a file that the user made another one of."""
_NOT_OFFERED: Final[Mapping[Scope, str]] = {
    "session_also_changed": "Nothing that was allowed for the session has changed.",
    "project": "This cannot be approved for a project.",
    "always": "This depends on the project, so it cannot be approved for all of them.",
}


class InboxParams(Inbound):
    """`_sould/inbox/list`, `subscribe`, `unsubscribe`: of all projects."""


class ShowParams(Inbound):
    """`_sould/inbox/show`: one request."""

    id: str


class GivenAnswer(Inbound):
    """To one question: labels of its options, words of the user's own where it takes them, or both; nothing of either skips it."""

    chosen: Annotated[list[str], Field(max_length=MOST_ANSWERS)] = Field(default_factory=list)
    words: Annotated[str, Field(max_length=LONGEST_WORDS)] = ""


class AnswerParams(Inbound):
    """`_sould/inbox/answer`: what the user decided about the request `id`.

    `approve`, for a `scope` that the request offers; once also with another `text` for the command, or the one file that would be written.
    `reject`, with `words` for the agent: without them its turn ends. Those of an approval reach it with the call's result.
    `answer` has `answers` in the order of the questions, or of a form `content`, its values by field; `dismiss` answers none,
    and is no "no": that is `decline`, of a form.
    """

    id: str
    decision: Literal["approve", "reject", "answer", "dismiss", "decline"]
    scope: Scope = "once"
    words: Annotated[str, Field(max_length=LONGEST_WORDS)] = ""
    text: Annotated[str, Field(max_length=LONGEST_TEXT)] | None = None
    answers: Annotated[list[GivenAnswer], Field(max_length=MOST_ANSWERS)] = Field(default_factory=list[GivenAnswer])
    content: dict[str, JsonValue] | None = None


def response_to(
    request: ApprovalRequest | QuestionRequest, params: AnswerParams
) -> ApprovalResponse | QuestionResponse:
    """The response. Raises OptionError for an answer that the request does not take."""
    if isinstance(request, ApprovalRequest):
        return _approval(request, params)
    return _question(request, params)


def choices(item: QuestionItem) -> Choices:
    """What can be chosen."""
    return Choices(tuple(option.label for option in item.options), item.multi_select, item.other_label)


def _approval(request: ApprovalRequest, params: AnswerParams) -> ApprovalResponse:
    if params.decision == "reject":
        return ApprovalResponse(request_id=request.id, response="reject", feedback=params.words.strip())
    if params.decision != "approve":
        raise OptionError("This asks for an approval: approve it or reject it.")
    if params.scope not in {each.scope for each in offered(request)}:
        raise OptionError(_NOT_OFFERED[params.scope] if request.scope else "This can be approved once only.")
    if params.text is not None:
        _require_editable(request, params)
    return approved(request, params.scope, params.text, words=params.words)


def _require_editable(request: ApprovalRequest, params: AnswerParams) -> None:
    """Another text is for a command, or the one file that is shown whole, and for this once.

    What is secret is kept nowhere, so not here.
    """
    if params.scope != "once":
        raise OptionError("What is allowed with another text can be approved once only.")
    if is_command(request):
        if not may_be_rewritten(request, params.text or ""):
            raise OptionError("This is no command that could be run.")
        return
    edits = [block for block in request.display if isinstance(block, DiffBlock)]
    if not request.action.startswith("edit file") or len(edits) != 1 or edits[0].is_summary:
        raise OptionError(
            "This is no command and no edit of one file that could be given another text: approve it or reject it."
        )
    if edits[0].secret:
        raise OptionError(
            "What this file holds is kept nowhere, so it can be given no other text: approve or reject it."
        )


def _question(request: QuestionRequest, params: AnswerParams) -> QuestionResponse:
    if params.decision == "dismiss":
        return QuestionResponse(request_id=request.id)
    if params.decision in ("decline", "reject"):
        return QuestionResponse(request_id=request.id, declined=request.form is not None)
    if params.decision != "answer":
        raise OptionError("This is a question: answer or dismiss it.")
    if request.form is not None and params.content is not None:
        content = typed(request.form, params.content)
        return _checked(request, answers_of(request.form, content), content)
    answers = _answers(request, params.answers)
    if request.form is not None:
        return _checked(request, answers, typed_answers(request.form, answers))
    return QuestionResponse(request_id=request.id, answers=answers)


def _checked(request: QuestionRequest, answers: dict[str, str], content: dict[str, JsonValue]) -> QuestionResponse:
    if request.form is not None and (why := problem(request.form, content)):
        raise OptionError(why)
    return QuestionResponse(request_id=request.id, answers=answers, content=content)


def _answers(request: QuestionRequest, given: Sequence[GivenAnswer]) -> dict[str, str]:
    if len(given) != len(request.questions):
        raise OptionError(
            f"{plural(len(request.questions), 'question')}, {plural(len(given), 'answer')}: give one for each."
        )
    found = {item.question: _choice(item, each) for item, each in zip(request.questions, given, strict=True)}
    answers = {question: answer for question, answer in found.items() if answer}
    if not answers and request.form is None:
        raise OptionError("There is no answer in this; dismiss the question if that is what is meant.")
    return answers


def _choice(item: QuestionItem, given: GivenAnswer) -> str:
    labels = [option.label for option in item.options]
    unknown = [each for each in given.chosen if each not in labels]
    if unknown:
        raise OptionError(
            f"{unknown[0][:200]!r} is not an option of {item.question!r}; there are: {', '.join(labels)}."
        )
    words = given.words.strip()
    if words and labels and not item.other_label:
        raise OptionError(f"{item.question!r} takes one of its options, no other words: {', '.join(labels)}.")
    if len(given.chosen) + bool(words and given.chosen) > 1 and not item.multi_select:
        raise OptionError(f"{item.question!r} takes one answer.")
    return ", ".join([*dict.fromkeys(given.chosen), *([words] if words else [])])
