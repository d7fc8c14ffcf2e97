"""Wire requests put to the user of one ACP client: permissions and questions, and their withdrawal.

The first answer of any client wins; the others' dialogs close. No answer is ever made up in the user's favour: what
a client says wrongly is no permission.
"""

import asyncio
import logging
from collections.abc import Callable

from pydantic import ValidationError

from sould.acp.outbound import Json
from sould.acp.projection import UpdatesV1
from sould.acp.schema import ElicitationAnswer, PermissionAnswer
from sould.agents.rpc.connection import Connection
from sould.agents.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.sessions.session import Session
from sould.agents.wire.messages import (
    ApprovalKind,
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    QuestionItem,
    QuestionRequest,
    QuestionResponse,
    ToolCallRequest,
    WireRequest,
)

logger = logging.getLogger(__name__)

NOT_SHOWN = "The editor could not show the permission request, so nothing was run."
_CHOICES: dict[str, ApprovalKind] = {
    "approve": "approve",
    "approve_for_session": "approve_for_session",
    "reject": "reject",
}


class Dialogs:
    """The open dialogs of one session in one client. `forms`: the client shows elicitation forms.

    `cancel` is called when the client reports the turn as cancelled by its user (the outcome `cancelled`).
    """

    def __init__(
        self,
        connection: Connection,
        session: Session,
        client_id: str,
        updates: UpdatesV1,
        *,
        forms: bool,
        cancel: Callable[[], None],
    ) -> None:
        self._connection = connection
        self._session = session
        self._client_id = client_id
        self._updates = updates
        self._forms = forms
        self._cancel = cancel
        self._open: dict[str, asyncio.Task[None]] = {}

    def offer(self, request: WireRequest) -> None:
        """Put a request to the user, if this client can show its kind."""
        if request.id in self._open:
            return
        match request:
            case ApprovalRequest():
                work = self._permission(request)
            case QuestionRequest():
                work = self._question(request)
            case ToolCallRequest() | HookRequest():
                return  # ACP clients offer neither tools nor hooks
        task = self._connection.spawn(work, f"dialog {request.id}")
        self._open[request.id] = task
        task.add_done_callback(lambda _: self._open.pop(request.id, None))

    def close(self, request_id: str) -> None:
        """Answered elsewhere or ended: withdraw the dialog (`$/cancel_request`)."""
        task = self._open.pop(request_id, None)
        if task is not None:
            task.cancel()

    def close_all(self) -> None:
        """Withdraw every dialog."""
        for request_id in tuple(self._open):
            self.close(request_id)

    # --- permissions ------------------------------------------------------------------------------------------------

    async def _permission(self, request: ApprovalRequest) -> None:
        params = self._updates.permission(request)
        try:
            raw = await self._connection.request("session/request_permission", params)
            outcome = PermissionAnswer.model_validate(raw).outcome
        except ConnectionGoneError:
            return  # it stays pending for whoever else looks (F28)
        except (RpcError, ValidationError) as error:
            logger.warning("permission %s: %s", request.id, error)
            self._answer(ApprovalResponse(request_id=request.id, response="reject", feedback=NOT_SHOWN))
            return
        if outcome.outcome == "cancelled":
            self._open.pop(request.id, None)
            self._cancel()
            return
        offered = {option["optionId"] for option in params["options"]}
        if outcome.option_id not in offered:
            logger.warning("permission %s: option %r was not offered", request.id, outcome.option_id[:80])
            self._answer(ApprovalResponse(request_id=request.id, response="reject", feedback=NOT_SHOWN))
            return
        self._answer(ApprovalResponse(request_id=request.id, response=_CHOICES[outcome.option_id]))

    # --- questions --------------------------------------------------------------------------------------------------

    async def _question(self, request: QuestionRequest) -> None:
        try:
            answers = await self._form(request) if self._forms else await self._buttons(request)
        except ConnectionGoneError:
            return
        except (RpcError, ValidationError) as error:
            logger.warning("question %s: %s", request.id, error)
            answers = {}
        self._answer(QuestionResponse(request_id=request.id, answers=answers))

    async def _form(self, request: QuestionRequest) -> dict[str, str]:
        params: Json = {
            "sessionId": self._session.id,
            "toolCallId": request.tool_call_id,
            "mode": "form",
            "message": "\n\n".join(_worded(item) for item in request.questions),
            "requestedSchema": form_schema(request.questions),
        }
        raw = await self._connection.request("elicitation/create", params)
        answer = ElicitationAnswer.model_validate(raw)
        return form_answers(request.questions, answer.content or {}) if answer.action == "accept" else {}

    async def _buttons(self, request: QuestionRequest) -> dict[str, str]:
        """Without forms, each question with options is asked as a permission; free text cannot be."""
        answers: dict[str, str] = {}
        for item in request.questions:
            if not item.options:
                continue
            params = self._updates.choice(request, item)
            raw = await self._connection.request("session/request_permission", params)
            outcome = PermissionAnswer.model_validate(raw).outcome
            chosen = outcome.option_id.removeprefix("option_")
            if outcome.outcome == "selected" and chosen.isdecimal() and int(chosen) < len(item.options):
                answers[item.question] = item.options[int(chosen)].label
        return answers

    def _answer(self, response: ApprovalResponse | QuestionResponse) -> None:
        """The dialog has done its work; the answer's own publication must not cancel it."""
        self._open.pop(response.request_id, None)
        resolution = self._session.answer(response, self._client_id)
        if resolution.outcome != "accepted":
            logger.info("%s was answered by %s before", response.request_id, resolution.by or "nobody")


def form_schema(questions: tuple[QuestionItem, ...]) -> Json:
    """The form for some questions: one property each, `q1` and so on, and one for words of the user's own."""
    properties: Json = {}
    for number, item in enumerate(questions, 1):
        shown: Json = {"title": item.header or item.question}
        if item.header or item.body:
            shown["description"] = _worded(item)
        choices = [_choice(option.label, option.description) for option in item.options]
        if not choices:
            shown["type"] = "string"
            if item.default:
                shown["default"] = item.default
        elif item.multi_select:
            shown |= {"type": "array", "items": {"anyOf": choices}}
        else:
            shown |= {"type": "string", "oneOf": choices}
        properties[f"q{number}"] = shown
        if choices and item.other_label:
            other: Json = {"type": "string", "title": item.other_label}
            if item.other_description:
                other["description"] = item.other_description
            properties[f"q{number}_other"] = other
    return {"type": "object", "properties": properties}


def form_answers(questions: tuple[QuestionItem, ...], content: Json) -> dict[str, str]:
    """Question to chosen label, or to the user's own words; unanswered ones are left out."""
    answers: dict[str, str] = {}
    for number, item in enumerate(questions, 1):
        value = content.get(f"q{number}_other") or content.get(f"q{number}")
        if isinstance(value, list):
            value = ", ".join(str(each) for each in value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- JSON
        if isinstance(value, str) and value:
            answers[item.question] = value
    return answers


def _choice(label: str, description: str) -> Json:
    return {"const": label, "title": label, **({"description": description} if description else {})}


def _worded(item: QuestionItem) -> str:
    return f"{item.question}\n\n{item.body}" if item.body else item.question
