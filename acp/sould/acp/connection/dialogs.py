"""Wire requests put to one ACP client: permissions and questions to its user, hooks to itself; and their withdrawal.

The first answer of any client wins; the others' dialogs close. No answer is ever made up in the user's favour: what
a client says wrongly is no permission. Nor is one made up against them: a question that was not shown is not dismissed.
"""

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pydantic import ValidationError

from sould.acp.connection.asking import OPTIONS, buttons, elsewhere, form, form_answers, permission, pressed
from sould.acp.content import chunk, text_block
from sould.acp.features import Features
from sould.acp.outbound import Json
from sould.acp.projection.projection import UpdatesV1
from sould.acp.schema import ElicitationAnswer, HookAnswer, PermissionAnswer
from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.clients.text_questions import NONE_OF_THESE, TextQuestions
from sould.agents.mcp.asking import answers_of
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.questions import OWN_WORDS
from sould.agents.permissions.scopes import approved, may_be_rewritten
from sould.agents.sessions.port import SessionPort
from sould.agents.wire.messages import (
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
from sould.agents.wire.requests import ServerForm

logger = logging.getLogger(__name__)

NOT_SHOWN = "The editor could not show the permission request, so nothing was run."


TurnCancelled: TypeAlias = Callable[[], None]
"""Called when the client's user cancelled the turn in a dialog (the outcome `cancelled`)."""


class Dialogs:
    """The open dialogs of one session in one client."""

    def __init__(
        self,
        connection: Connection,
        session: SessionPort,
        client_id: str,
        updates: UpdatesV1,
        *,
        features: Features,
        cancel: TurnCancelled,
    ) -> None:
        self._connection = connection
        self._session = session
        self._client_id = client_id
        self._updates = updates
        self._features = features
        self._cancel = cancel
        self.in_words = asyncio.Event()
        """Set while a question stands that what the user types next is to answer."""
        self._typing: asyncio.Future[str] | None = None
        self._single = asyncio.Lock()
        """Where buttons do not say what they are, one thing is asked at a time; in words, everywhere."""
        self._said = itertools.count()
        """Numbers what is said in words."""
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
                return  # `ClientTools` has them made
        task = self._connection.spawn(work, f"dialog {request.id}")
        self._open[request.id] = task
        task.add_done_callback(lambda _: self._forget(request.id))

    def close(self, request_id: str, reason: str = "") -> None:
        """Answered elsewhere (`reason`: by whom and how) or ended: withdraw the dialog (`$/cancel_request`)."""
        task = self._open.pop(request_id, None)
        if task is not None:
            task.cancel(reason)

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
        async with contextlib.nullcontext() if self._features.names else self._single:
            await self._put(request)

    async def _put(self, request: ApprovalRequest) -> None:
        shown = self._updates.showing(request.tool_call_id) or self._updates
        call = shown.calls[request.tool_call_id]
        params = permission(shown.session_id, call, request, lasting=self._features.lasting)
        try:
            raw = await self._connection.request("session/request_permission", params)
            answer = PermissionAnswer.model_validate(raw)
        except ConnectionGoneError:
            return  # it stays pending for whoever else looks
        except (RpcError, ValidationError) as error:
            logger.warning("permission %s: %s", request.id, error)
            self._answer(ApprovalResponse(request_id=request.id, response="reject", feedback=NOT_SHOWN))
            return
        outcome = answer.outcome
        if outcome.outcome == "cancelled":
            self._open.pop(request.id, None)
            self._cancel()
            return
        offered = {option["optionId"] for option in params["options"]}
        if outcome.option_id not in offered:
            logger.warning("permission %s: option %r was not offered", request.id, outcome.option_id[:80])
            self._answer(ApprovalResponse(request_id=request.id, response="reject", feedback=NOT_SHOWN))
            return
        scope = OPTIONS.get(outcome.option_id)
        if scope is not None:
            self._approve(request, scope, answer)
        else:
            self._answer(ApprovalResponse(request_id=request.id, response="reject", feedback=answer.feedback))

    def _approve(self, request: ApprovalRequest, scope: Scope, answer: PermissionAnswer) -> None:
        command = answer.command
        if command is None or (scope == "once" and may_be_rewritten(request, command)):
            self._answer(approved(request, scope, command, words=answer.feedback))
        else:
            logger.warning("permission %s: its command cannot be another one", request.id)
            self._answer(ApprovalResponse(request_id=request.id, response="reject", feedback=NOT_SHOWN))

    # --- questions --------------------------------------------------------------------------------------------------

    async def _question(self, request: QuestionRequest) -> None:
        try:
            response = await self._response(request)
        except ConnectionGoneError:
            return
        if response is not None:
            self._answer(response)

    async def _response(self, request: QuestionRequest) -> QuestionResponse | None:
        """None: it waits. A client that cannot show it after all has not dismissed it: its user is asked in words."""
        try:
            if request.form is not None and shows(request.form, self._features):
                return await self._server_form(request, request.form)
            answers = await self._asked(request)
        except ConnectionGoneError:
            raise
        except ValidationError as error:
            logger.warning("question %s: %s", request.id, error)
            answers = {}
        except RpcError as error:
            logger.warning("question %s: %s", request.id, error)
            answers = await self._in_words(request, request.questions)
        return QuestionResponse(request_id=request.id, answers=answers) if answers is not None else None

    async def _asked(self, request: QuestionRequest) -> dict[str, str] | None:
        if self._features.forms:
            return await self._form(request)
        return await (self._buttons if self._features.names else self._in_words)(request, request.questions)

    async def _in_words(self, request: QuestionRequest, items: Sequence[QuestionItem]) -> dict[str, str] | None:
        """Each question is something the agent says, and what the user types next its answer. None: the request waits.

        That is so where no turn runs: what the user types would begin one, behind what asks.
        """
        if not self._session.turns.running:
            self._speak(request, elsewhere(request))
            return None
        questions = TextQuestions(items)
        async with self._single:
            while questions.text:
                self._speak(request, questions.text)
                questions.take(await self._typed())
        return questions.answers

    def _speak(self, request: QuestionRequest, text: str) -> None:
        said = chunk("agent_message_chunk", text_block(text), f"{request.id}-{next(self._said)}")
        self._connection.write(self._updates.line(said))

    async def _typed(self) -> str:
        typed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._typing = typed
        self.in_words.set()
        try:
            return await typed
        finally:
            self.in_words.clear()

    def say(self, text: str) -> None:
        """What the user typed in answer to a question that is asked in words."""
        self.in_words.clear()
        if self._typing is not None and not self._typing.done():
            self._typing.set_result(text)

    async def _form(self, request: QuestionRequest) -> dict[str, str]:
        params = form(self._session.id, request)
        if request.tool_call_id in self._updates.calls:
            params["toolCallId"] = request.tool_call_id
        raw = await self._connection.request("elicitation/create", params)
        answer = ElicitationAnswer.model_validate(raw)
        return form_answers(request.questions, answer.content or {}) if answer.action == "accept" else {}

    async def _buttons(self, request: QuestionRequest, items: Sequence[QuestionItem]) -> dict[str, str] | None:
        """Without forms, each question with options is asked as a permission, all others in words. None: the request waits."""
        if not self._session.turns.running and not all(item.options for item in items):
            return await self._in_words(request, items)
        answers: dict[str, str] = {}
        for item in items:
            if not item.options:
                answers |= await self._in_words(request, (item,)) or {}
                continue
            answer = await (self._several(request, item) if item.multi_select else self._one(request, item))
            if answer is None:
                break
            if answer:
                answers[item.question] = answer
        return answers

    async def _one(self, request: QuestionRequest, item: QuestionItem) -> str | None:
        """The answer, "" for none; None: the user cancelled the turn, and is asked nothing more."""
        option = await self._button(buttons(self._session.id, request, item))
        if option == "other":
            return OWN_WORDS
        if option is None:
            return None
        number = pressed(option, item)
        return item.options[number].label if number is not None else ""

    async def _several(self, request: QuestionRequest, item: QuestionItem) -> str | None:
        """As `_one`; one dialog after the other, until the user is done. Dismissing one dismisses the question."""
        chosen: list[int] = []
        while len(chosen) < len(item.options):
            option = await self._button(buttons(self._session.id, request, item, chosen))
            if option is None:
                return None
            if option == "done":
                break
            number = pressed(option, item)
            if number is None or number in chosen:
                return ""
            chosen.append(number)
        return ", ".join(item.options[number].label for number in sorted(chosen)) or NONE_OF_THESE

    async def _button(self, params: Json) -> str | None:
        """What was pressed; None: the turn was cancelled."""
        raw = await self._connection.request("session/request_permission", params)
        outcome = PermissionAnswer.model_validate(raw).outcome
        return outcome.option_id if outcome.outcome == "selected" else None

    async def _server_form(self, request: QuestionRequest, form: ServerForm) -> QuestionResponse:
        raw = await self._connection.request("elicitation/create", server_form(self._session.id, request, form))
        return form_response(request, form, ElicitationAnswer.model_validate(raw))

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
        resolution = self._session.clients.answer(response, self._client_id)
        if resolution.outcome != "accepted":
            logger.info("%s was answered by %s before", response.request_id, resolution.by or "nobody")


def shows(form: ServerForm | None, features: Features) -> bool:
    """Whether the client can be shown the form itself; else its questions are asked."""
    return form is not None and (features.pages if form.url else features.forms and bool(form.properties))


def server_form(session_id: str, request: QuestionRequest, form: ServerForm) -> Json:
    """Params of `elicitation/create`: types, limits, defaults and formats go as they are."""
    asked: Json = {"sessionId": session_id, "message": form.text, "_meta": {"sould": {"server": form.server}}}
    if form.url:
        return asked | {"mode": "url", "elicitationId": request.id, "url": form.url}
    schema: Json = {"type": "object", "properties": form.properties}
    if form.required:
        schema["required"] = list(form.required)
    return asked | {"mode": "form", "requestedSchema": schema}


def form_response(request: QuestionRequest, form: ServerForm, answer: ElicitationAnswer) -> QuestionResponse:
    """What the user did with it."""
    if answer.action != "accept":
        return QuestionResponse(request_id=request.id, declined=answer.action == "decline")
    content = answer.content or {}
    return QuestionResponse(request_id=request.id, answers=answers_of(form, content), content=content)
