"""Questions to the user, for tools: asked of whoever is attached, answered once.

Nobody's silence is an answer: a question waits until someone answers or the turn is cancelled.
"""

import secrets
from collections.abc import Mapping

from sould.agents.clock import waiting_for_the_user
from sould.agents.sessionlog.channel import Channel, RequestClosedError
from sould.agents.wire.messages import QuestionItem, QuestionRequest, QuestionResponse

OWN_WORDS = "The user wants to answer in their own words: ask in plain text and end your turn."
"""The answer of somebody who found no choice that fits, at a client that cannot take text."""


class Questions:
    """Asks in the session's stream; injectable."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    async def ask(self, call_id: str, items: tuple[QuestionItem, ...]) -> Mapping[str, str]:
        """Question to answer (several labels joined by commas, or the user's own words). Empty: dismissed."""
        request = QuestionRequest(id=secrets.token_hex(8), tool_call_id=call_id, questions=items)
        try:
            with waiting_for_the_user():
                response = await self._channel.request(request)
        except RequestClosedError:
            return {}
        return response.answers if isinstance(response, QuestionResponse) else {}
