"""Wire requests put to one ACP client: permissions and questions to its user, hooks to itself; and their withdrawal.

The first answer of any client wins; the others' dialogs close. No answer is ever made up in the user's favour: what
a client says wrongly is no permission.
"""

import asyncio
import logging
from collections.abc import Callable

from pydantic import ValidationError

from sould.acp.outbound import Json
from sould.acp.projection import UpdatesV1
from sould.acp.schema import ElicitationAnswer, HookAnswer, PermissionAnswer
from sould.agents.rpc.connection import Connection
from sould.agents.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.sessions.session import Session
from sould.agents.tools.questions import OWN_WORDS
from sould.agents.wire.messages import (
    ApprovalKind,
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    HookResponse,
    QuestionItem,
    QuestionRequest,
    QuestionResponse,
    ToolCallRequest,
    WireRequest,
)

logger = logging.getLogger(__name__)

NONE_OF_THESE = "None of these"
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
        self._hooks: set[str] = set()
        """Those of `_open` that ask the client itself."""

    def offer(self, request: WireRequest) -> None:
        """Put a request to the user, if this client can show its kind."""
        if request.id in self._open or self._updates.elsewhere:
            return
        match request:
            case ApprovalRequest():
                work = self._permission(request)
            case QuestionRequest():
                work = self._question(request)
            case HookRequest():
                if request.client_id != self._client_id:
                    return
                work = self._hook(request)
                self._hooks.add(request.id)
            case ToolCallRequest():
                return  # ACP clients offer no tools of their own but over MCP
        task = self._connection.spawn(work, f"dialog {request.id}")
        self._open[request.id] = task
        task.add_done_callback(lambda _: self._forget(request.id))

    def close(self, request_id: str) -> None:
        """Answered elsewhere or ended: withdraw the dialog (`$/cancel_request`)."""
        task = self._open.pop(request_id, None)
        if task is not None:
            task.cancel()

    def close_all(self) -> None:
        """Withdraw every dialog."""
        for request_id in tuple(self._open):
            self.close(request_id)

    def end_of_turn(self) -> None:
        """Withdraw what was asked of people. Hooks are not bound to a turn and answer for themselves."""
        for request_id in [each for each in self._open if each not in self._hooks]:
            self.close(request_id)

    def _forget(self, request_id: str) -> None:
        self._open.pop(request_id, None)
        self._hooks.discard(request_id)

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
            "mode": "form",
            "message": "\n\n".join(_worded(item) for item in request.questions),
            "requestedSchema": form_schema(request.questions),
        }
        if self._updates.knows(request.tool_call_id):
            params["toolCallId"] = request.tool_call_id
        raw = await self._connection.request("elicitation/create", params)
        answer = ElicitationAnswer.model_validate(raw)
        return form_answers(request.questions, answer.content or {}) if answer.action == "accept" else {}

    async def _buttons(self, request: QuestionRequest) -> dict[str, str]:
        """Without forms, each question with options is asked as a permission; free text cannot be, but can be asked for."""
        answers: dict[str, str] = {}
        for item in request.questions:
            if item.options:
                answer = await (self._several(request, item) if item.multi_select else self._one(request, item))
                if answer:
                    answers[item.question] = answer
        return answers

    async def _one(self, request: QuestionRequest, item: QuestionItem) -> str:
        option = await self._button(request, self._updates.choice(request, item))
        if option == "other":
            return OWN_WORDS
        number = _number(option, item)
        return item.options[number].label if number is not None else ""

    async def _several(self, request: QuestionRequest, item: QuestionItem) -> str:
        """One dialog after the other, until the user is done; dismissing one dismisses the question."""
        chosen: list[int] = []
        while len(chosen) < len(item.options):
            option = await self._button(request, self._updates.choice(request, item, chosen))
            number = _number(option, item)
            if option == "done":
                break
            if number is None or number in chosen:
                return ""
            chosen.append(number)
        return ", ".join(item.options[number].label for number in sorted(chosen)) or NONE_OF_THESE

    async def _button(self, request: QuestionRequest, params: Json) -> str:
        """What was pressed, "" for nothing. A question beside no call gets one: permissions are shown beside calls."""
        lonely = not self._updates.knows(request.tool_call_id)
        if lonely:
            self._show({"sessionUpdate": "tool_call", **params["toolCall"]})
        try:
            raw = await self._connection.request("session/request_permission", params)
        finally:
            if lonely:
                self._show(
                    {"sessionUpdate": "tool_call_update", "toolCallId": request.tool_call_id, "status": "completed"}
                )
        outcome = PermissionAnswer.model_validate(raw).outcome
        return outcome.option_id if outcome.outcome == "selected" else ""

    def _show(self, update: Json) -> None:
        self._connection.write(self._updates.line(update))

    # --- hooks ------------------------------------------------------------------------------------------------------

    async def _hook(self, request: HookRequest) -> None:
        """A client that fails at its own hook decides nothing."""
        params = {"sessionId": self._session.id, **request.model_dump(mode="json", exclude={"client_id"})}
        try:
            answer = HookAnswer.model_validate(await self._connection.request("_sould/hook", params))
        except ConnectionGoneError:
            return  # the session forgets the client's hooks, and what they were asked
        except (RpcError, ValidationError) as error:
            logger.warning("hook %s: %s", request.id, error)
            answer = HookAnswer()
        self._answer(HookResponse(request_id=request.id, action=answer.action, reason=answer.reason))

    def _answer(self, response: ApprovalResponse | QuestionResponse | HookResponse) -> None:
        """The dialog has done its work; the answer's own publication must not cancel it."""
        self._open.pop(response.request_id, None)
        resolution = self._session.answer(response, self._client_id)
        if resolution.outcome != "accepted":
            logger.info("%s was answered by %s before", response.request_id, resolution.by or "nobody")


def _number(option_id: str, item: QuestionItem) -> int | None:
    number = option_id.removeprefix("option_")
    known = option_id.startswith("option_") and number.isdecimal() and int(number) < len(item.options)
    return int(number) if known else None


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
