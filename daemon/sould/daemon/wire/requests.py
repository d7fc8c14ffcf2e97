"""The requests of a session that one Wire client is asked, and its answers.

The id of the JSON-RPC request is that of the request itself, which clients rely on. The first answer of any client wins; one that
comes later is passed over. No answer is made up in the user's favour.
"""

import asyncio
import logging
from typing import Any, TypeVar

from pydantic import ValidationError

from sould.agents.base.rpc.connection import Connection
from sould.agents.base.rpc.errors import ConnectionGoneError, RpcError
from sould.agents.sessions.port import SessionPort
from sould.agents.toolapi.base import tool_error
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    HookRequest,
    HookResponse,
    QuestionRequest,
    QuestionResponse,
    ToolCallRequest,
    WireRequest,
)
from sould.daemon.wire.params import ApprovalAnswer, HookVerdict, QuestionAnswer, ToolAnswer, WireParams
from sould.daemon.wire.versions import Json, WireReader

logger = logging.getLogger(__name__)

NOT_SHOWN = "The client could not show the request, so nothing was run."
LONGEST_ERROR = 2000
"""Characters of a client's error that the model reads."""
AnswerT = TypeVar("AnswerT", bound=WireParams)


class AskedRequests:
    """Those that one client was asked in one session."""

    def __init__(self, session: SessionPort, connection: Connection, client_id: str, reader: WireReader) -> None:
        self._session = session
        self._connection = connection
        self._client_id = client_id
        self._reader = reader
        self._open: dict[str, asyncio.Task[None]] = {}

    def offer(self, request: WireRequest) -> None:
        """Ask the client, if it reads such requests and this one is for it."""
        if request.id in self._open:
            return
        if isinstance(request, ToolCallRequest | HookRequest) and request.client_id != self._client_id:
            return
        envelope = self._reader.envelope(request)
        if envelope is None:
            return
        task = self._connection.spawn(self._ask(request, envelope), f"request {request.id}")
        self._open[request.id] = task
        task.add_done_callback(lambda _: self._open.pop(request.id, None))

    def close(self, request_id: str) -> bool:
        """It is answered elsewhere, or nobody waits for an answer any more. Whether the client was still asked."""
        task = self._open.pop(request_id, None)
        if task is not None:
            task.cancel()
        else:
            self._connection.expect_no_more(request_id)
        return task is not None

    def close_all(self) -> None:
        """The client looks at the session no longer."""
        for request_id in tuple(self._open):
            self.close(request_id)

    async def _ask(self, request: WireRequest, envelope: Json) -> None:
        answer: Any
        try:
            answer = await self._connection.request("request", envelope, request.id)
        except ConnectionGoneError:
            return  # it stays pending for whoever else looks
        except RpcError as error:
            answer = error
        self._open.pop(request.id, None)  # the answer's own publication must not cancel it
        match request:
            case ToolCallRequest():
                self._session.client_tools.answer(request.id, _tool_answer(answer), self._client_id)
            case ApprovalRequest():
                self._session.clients.answer(_approval(request.id, answer), self._client_id)
            case QuestionRequest():
                said = _read(QuestionAnswer, answer) or QuestionAnswer()
                self._session.clients.answer(
                    QuestionResponse(request_id=request.id, answers=said.answers), self._client_id
                )
            case HookRequest():
                said = _read(HookVerdict, answer) or HookVerdict()
                decision = HookResponse(request_id=request.id, action=said.action, reason=said.reason)
                self._session.clients.answer(decision, self._client_id)


def _approval(request_id: str, answer: object) -> ApprovalResponse:
    said = _read(ApprovalAnswer, answer) or ApprovalAnswer(response="reject", feedback=NOT_SHOWN)
    return ApprovalResponse(request_id=request_id, response=said.response, feedback=said.feedback)


def _tool_answer(answer: object) -> object:
    if isinstance(answer, RpcError):
        return tool_error(f"The client reports: {answer.message[:LONGEST_ERROR]}", brief="The client reports an error")
    said = _read(ToolAnswer, answer)
    return said.return_value if said is not None else None


def _read(shape: type[AnswerT], answer: object) -> AnswerT | None:
    """None: an error, or what is no such answer."""
    if isinstance(answer, RpcError):
        logger.warning("a request was answered with an error: %s", answer.message[:200])
        return None
    try:
        return shape.model_validate(answer)
    except ValidationError as error:
        logger.warning("a request was answered wrongly: %s", error)
        return None
