"""Questions to the user: asked of whoever is attached, answered once. What prints nothing is shown as marks.

Nobody's silence is an answer: a question waits until someone answers or the turn is cancelled.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping

from sould.agents.base.clock import waiting_for_the_user
from sould.agents.journal.channel import Channel, RequestClosedError
from sould.agents.permissions.asking import shown_item
from sould.agents.wire.messages import QuestionItem, QuestionRequest, QuestionResponse, RequestClosed, WireRequest
from sould.agents.wire.requests import ServerForm

OWN_WORDS = "The user wants to answer in their own words: ask in plain text and end your turn."
"""The answer of somebody who found no choice that fits, at a client that cannot take text."""


class Questions:
    """Asks in the session's stream; injectable."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._before: dict[str, QuestionRequest] = {}
        """What the last daemon left waiting, by the call that asks it again."""

    def restore(self, pending: Iterable[WireRequest]) -> None:
        """Requests that were pending when the daemon stopped: who asks one again gets the same, whoever looks at it."""
        self._before = {each.tool_call_id: each for each in pending if isinstance(each, QuestionRequest)}

    @property
    def unasked(self) -> tuple[QuestionRequest, ...]:
        """Those of them that were not asked again so far."""
        return tuple(self._before.values())

    def left_waiting(self, call_id: str) -> bool:
        """Whether the last daemon had asked what this call asks again."""
        return call_id in self._before

    def forget(self) -> None:
        """Leave what was not asked again to the next daemon."""
        self._before.clear()

    def expire(self, request_ids: Collection[str]) -> None:
        """These will not be asked again: whoever asked has ended."""
        for request in self.unasked:
            if request.id in request_ids:
                self._close(request)

    def _close(self, request: QuestionRequest) -> None:
        self._before.pop(request.tool_call_id, None)
        self._channel.publish(RequestClosed(request_id=request.id, reason="expired"))

    async def ask(self, call_id: str, items: tuple[QuestionItem, ...]) -> Mapping[str, str]:
        """Question to answer (several labels joined by commas, or the user's own words). Empty: dismissed."""
        shown = tuple(map(shown_item, items))
        response = await self.put(call_id, shown)
        if response is None:
            return {}
        asked = {each.question: item.question for each, item in zip(shown, items, strict=True)}
        return {asked.get(question, question): answer for question, answer in response.answers.items()}

    async def put(
        self, call_id: str, items: tuple[QuestionItem, ...], form: ServerForm | None = None
    ) -> QuestionResponse | None:
        """The response to what is shown as it stands; `form`: the same, as an MCP server put it. None: nobody will answer."""
        request = self._before.get(call_id)
        if request is not None and request.questions != items:
            self._close(request)
            request = None
        self._before.pop(call_id, None)
        request = request or QuestionRequest(id=secrets.token_hex(8), tool_call_id=call_id, questions=items, form=form)
        try:
            with waiting_for_the_user():
                response = await self._channel.request(request)
        except RequestClosedError:
            return None
        return response if isinstance(response, QuestionResponse) else None
