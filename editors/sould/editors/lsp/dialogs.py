"""What agents ask, as questions with buttons: the last resort, for users who look at no better client (D41).

Nobody's silence is an answer: what is dismissed stays pending.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from sould.agents.clients.text_questions import NONE_OF_THESE, TextQuestions
from sould.agents.permissions.actions import Scope
from sould.agents.permissions.outputs import output_text
from sould.agents.permissions.scopes import LASTING, approved, offered, rejection
from sould.agents.sessions.port import SessionPort
from sould.agents.wire.display import DiffBlock, ShellBlock
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    QuestionItem,
    QuestionRequest,
    QuestionResponse,
    WireRequest,
)
from sould.editors.lsp.connection import EditorConnection
from sould.editors.lsp.words import LONGEST, Importance, ask, tell

DONE: Final = "Done"
IN_WORDS: Final = (
    "To answer in words, write them into any document, select them and choose the code action “Answer sould with the "
    'selection”, or run the command sould.answer with {"text": "…"}.'
)
Press: TypeAlias = Callable[[Importance, str, Sequence[str]], Awaitable[str | None]]
"""Shows a message with buttons. Returns the one that was pressed; None: none."""


async def answer_with_buttons(client: EditorConnection, questions: TextQuestions, press: Press) -> None:
    """Ask one after the other, until all are answered, one is dismissed, or one needs words; the others stay open then.

    Words of the user's own no message with buttons can take: how to give them is told.
    """
    while (item := questions.item) is not None:
        answer = await (_several(item, press) if item.multi_select else _one(item, press)) if item.options else ""
        if answer == "":
            tell(client, "info", f"{_shown(item)}\n{IN_WORDS}")
        if not answer:
            return
        questions.give(answer)


async def _one(item: QuestionItem, press: Press) -> str | None:
    """The label; "": words are to come; None: it was dismissed."""
    pressed = await press("info", _shown(item), [*(option.label for option in item.options), *_other(item)])
    return "" if pressed in _other(item) else pressed


async def _several(item: QuestionItem, press: Press) -> str | None:
    """The labels in their order, as for `_one`; each message offers what is not chosen yet."""
    chosen: set[str] = set()
    labels = [option.label for option in item.options]
    while len(chosen) < len(labels):
        named = [label for label in labels if label in chosen]
        done = f"{DONE}: {', '.join(named)}" if named else f"{DONE}: {NONE_OF_THESE.lower()}"
        pressed = await press(
            "info", _shown(item), [*(each for each in labels if each not in chosen), *_other(item), done]
        )
        if pressed is None:
            return None
        if pressed in _other(item):
            return ""
        if pressed == done:
            break
        chosen.add(pressed)
    return ", ".join(label for label in labels if label in chosen) or NONE_OF_THESE


def _other(item: QuestionItem) -> list[str]:
    return [item.other_label] if item.other_label else []


def _shown(item: QuestionItem) -> str:
    described = [f"{option.label}: {option.description}" for option in item.options if option.description]
    return "\n".join(part for part in (item.question, item.body, *described) if part)


class EditorDialogs:
    """The open questions of one session in one editor window."""

    def __init__(self, client: EditorConnection, session: SessionPort) -> None:
        self._client = client
        self._session = session
        self._open: dict[str, asyncio.Task[None]] = {}
        self._wanted: set[str] = set()
        """What the user here wants to be asked, whoever else shows it."""
        self._answers: dict[str, TextQuestions] = {}
        """What was answered so far of requests with several questions."""
        self._elsewhere = self._seen_elsewhere
        self._one = asyncio.Lock()
        """Editors show such questions one over the other."""

    def offer(self, request: WireRequest) -> None:
        """Ask, unless somebody sees it who has a better client."""
        if not self._elsewhere:
            self._put(request)

    def put(self, request: WireRequest) -> None:
        """Ask, because the user here wants it."""
        self._wanted.add(request.id)
        self._put(request)

    def say(self, request: QuestionRequest, text: str) -> None:
        """What the user typed in answer to the first question that is open. What is open then is asked; a slip is told."""
        questions = self._of(request)
        before = questions.item
        questions.take(text)
        if questions.item is before:
            tell(self._client, "warning", questions.text)
            return
        self._withdraw(request.id)
        if questions.item is None:
            self._session.clients.answer(
                QuestionResponse(request_id=request.id, answers=questions.answers), self._client.id
            )
        else:
            self.put(request)

    def close(self, request_id: str) -> None:
        """It is answered."""
        self._withdraw(request_id)
        self._wanted.discard(request_id)
        self._answers.pop(request_id, None)

    def close_all(self) -> None:
        """Nothing is asked any more."""
        for request_id in tuple(self._open):
            self.close(request_id)

    def clients_changed(self) -> None:
        """Ask what waits when the last better client has left; leave it to the first one that comes."""
        before, self._elsewhere = self._elsewhere, self._seen_elsewhere
        if self._elsewhere and not before:
            for request_id in [each for each in self._open if each not in self._wanted]:
                self._withdraw(request_id)
        elif before and not self._elsewhere:
            for request in self._session.pending:
                self._put(request)

    @property
    def _seen_elsewhere(self) -> bool:
        if self._client.can.has_inbox:
            return True
        others = (each for key, each in self._session.clients.by_id.items() if key != self._client.id)
        return any(each.speaks_for_user and not isinstance(each, type(self._client)) for each in others)

    def _put(self, request: WireRequest) -> None:
        if request.id in self._open or not isinstance(request, ApprovalRequest | QuestionRequest):
            return
        task = self._open[request.id] = self._client.connection.spawn(self._ask(request), f"dialog {request.id}")
        task.add_done_callback(lambda ended: self._forget(request.id, ended))

    def _forget(self, request_id: str, ended: "asyncio.Task[None]") -> None:
        if self._open.get(request_id) is ended:
            del self._open[request_id]

    def _withdraw(self, request_id: str) -> None:
        task = self._open.pop(request_id, None)
        if task is not None:
            task.cancel()

    async def _ask(self, request: ApprovalRequest | QuestionRequest) -> None:
        if isinstance(request, ApprovalRequest):
            response: ApprovalResponse | QuestionResponse | None = await self._approval(request)
        else:
            response = await self._question(request)
        self._open.pop(request.id, None)  # the answer's own publication must not cancel this
        if response is not None:
            self._session.clients.answer(response, self._client.id)

    async def _pressed(self, importance: Importance, text: str, buttons: Sequence[str]) -> str | None:
        async with self._one:
            return await ask(self._client, importance, text, buttons)

    async def _approval(self, request: ApprovalRequest) -> ApprovalResponse | None:
        text = worded(request)
        scopes: dict[str, Scope]
        # what would outlive the session is offered only where all of it can be read
        scopes = {
            each.label: each.scope for each in offered(request) if len(text) <= LONGEST or each.scope not in LASTING
        }
        chosen = await self._pressed("warning", text, [*scopes, rejection(request)])
        if chosen is None:
            return None
        scope = scopes.get(chosen)
        if scope is None:
            return ApprovalResponse(request_id=request.id, response="reject")
        return approved(request, scope)

    async def _question(self, request: QuestionRequest) -> QuestionResponse | None:
        questions = self._of(request)
        await answer_with_buttons(self._client, questions, self._pressed)
        if questions.item is not None:
            return None
        return QuestionResponse(request_id=request.id, answers=questions.answers)

    def _of(self, request: QuestionRequest) -> TextQuestions:
        return self._answers.setdefault(request.id, TextQuestions(request.questions))


def worded(request: ApprovalRequest) -> str:
    """What will happen, as text."""
    shown = [request.description]
    for block in request.display:
        if isinstance(block, ShellBlock) and block.command not in request.description:
            shown.append(block.command)
        elif isinstance(block, DiffBlock):
            shown.append(block.path if block.secret else f"{block.path}:\n{block.new_text}")
    if request.held is not None:
        shown.append(output_text(request.held.result))
    shown += [f"{each.label}: {each.remembers}" for each in offered(request) if each.remembers]
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
