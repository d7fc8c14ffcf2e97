"""What agents ask, as questions with buttons: the last resort, for users who look at no better client (D41).

Nobody's silence is an answer: what is dismissed stays pending.
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from sould.agents.permissions.scopes import ALSO_CHANGED
from sould.agents.sessions.port import SessionPort
from sould.agents.wire.display import DiffBlock, ShellBlock
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse, QuestionRequest, QuestionResponse, WireRequest
from sould.editors.lsp.words import ask

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer

ALLOW: Final = "Allow once"
FOR_SESSION: Final = "Allow this session"
REJECT: Final = "Reject"


class EditorDialogs:
    """The open questions of one session in one editor window."""

    def __init__(self, peer: "Peer", session: SessionPort) -> None:
        self._peer = peer
        self._session = session
        self._open: dict[str, asyncio.Task[None]] = {}
        self._one = asyncio.Lock()
        """Editors show such questions one over the other."""

    def offer(self, request: WireRequest) -> None:
        """Ask, unless somebody sees it who has a better client."""
        if not self._seen_elsewhere:
            self.put(request)

    def put(self, request: WireRequest) -> None:
        """Ask."""
        if request.id in self._open or not isinstance(request, ApprovalRequest | QuestionRequest):
            return
        task = self._peer.connection.spawn(self._ask(request), f"dialog {request.id}")
        self._open[request.id] = task
        task.add_done_callback(lambda _: self._open.pop(request.id, None))

    def close(self, request_id: str) -> None:
        """It is answered."""
        task = self._open.pop(request_id, None)
        if task is not None:
            task.cancel()

    def close_all(self) -> None:
        """Nothing is asked any more."""
        for request_id in tuple(self._open):
            self.close(request_id)

    @property
    def _seen_elsewhere(self) -> bool:
        others = (each for key, each in self._session.clients.items() if key != self._peer.id)
        return any(each.speaks_for_user and not isinstance(each, type(self._peer)) for each in others)

    async def _ask(self, request: ApprovalRequest | QuestionRequest) -> None:
        async with self._one:
            if isinstance(request, ApprovalRequest):
                response: ApprovalResponse | QuestionResponse | None = await self._approval(request)
            else:
                response = await self._question(request)
        self._open.pop(request.id, None)  # the answer's own publication must not cancel this
        if response is not None:
            self._session.answer(response, self._peer.id)

    async def _approval(self, request: ApprovalRequest) -> ApprovalResponse | None:
        buttons = [ALLOW]
        scoped = request.scope_button or FOR_SESSION
        buttons += [scoped] if request.scope else []
        buttons += [ALSO_CHANGED] if request.changed else []
        chosen = await ask(self._peer, "warning", worded(request), [*buttons, REJECT])
        if chosen is None:
            return None
        if chosen == REJECT:
            return ApprovalResponse(request_id=request.id, response="reject")
        response = "approve" if chosen == ALLOW else "approve_for_session"
        return ApprovalResponse(request_id=request.id, response=response, also_changed=chosen == ALSO_CHANGED)

    async def _question(self, request: QuestionRequest) -> QuestionResponse | None:
        """Those that have answers to choose from; others a message cannot ask."""
        answers: dict[str, str] = {}
        for item in request.questions:
            if item.options:
                text = "\n".join(filter(None, (item.question, item.body)))
                chosen = await ask(self._peer, "info", text, [option.label for option in item.options])
                if chosen is None:
                    return None
                answers[item.question] = chosen
        return QuestionResponse(request_id=request.id, answers=answers) if answers else None


def worded(request: ApprovalRequest) -> str:
    """What will happen, as text."""
    shown = [request.description]
    for block in request.display:
        if isinstance(block, ShellBlock) and block.command not in request.description:
            shown.append(block.command)
        elif isinstance(block, DiffBlock):
            shown.append(block.path if block.secret else f"{block.path}:\n{block.new_text}")
    return "\n".join(("sould asks: may this be done?", *shown))


def listed(session: SessionPort) -> list[dict[str, Any]]:
    """What nobody has answered in a session."""
    found: list[dict[str, Any]] = []
    for request in session.pending:
        if isinstance(request, ApprovalRequest):
            found.append({"sessionId": session.id, "request": request.id, "kind": "approval", "text": worded(request)})
        elif isinstance(request, QuestionRequest):
            text = "\n".join(item.question for item in request.questions)
            found.append({"sessionId": session.id, "request": request.id, "kind": "question", "text": text})
    return found
