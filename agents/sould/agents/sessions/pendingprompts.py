"""The prompts of one client in one session that wait for their answer, also over restarts of the daemon (D11, D16).

For every frontend. A frontend that shows the same session anew to the same client goes on with the same object.
"""

import asyncio
from collections.abc import Iterable

from sould.agents.sessions.follower import YIELD_EVERY
from sould.agents.sessions.turns.turns import Prompt, not_begun
from sould.agents.wire.messages import TurnEnd
from sould.agents.wire.stream import Record


class PendingPrompts:
    """In the order in which they came."""

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._prompts: dict[Prompt, None] = {}

    def __len__(self) -> int:
        return len(self._prompts)

    @property
    def turns(self) -> list[str]:
        """Their turns."""
        return [prompt.turn_id for prompt in self._prompts]

    def add(self, prompt: Prompt) -> None:
        """It waits from now on."""
        self._prompts[prompt] = None

    def discard(self, prompt: Prompt) -> None:
        """It is answered, or nobody wants an answer any more."""
        self._prompts.pop(prompt, None)

    def take_up(self, turn_id: str, resumed: Prompt | None) -> Prompt:
        """One that an earlier daemon left without an answer: that of the turn which goes on, or of a turn to be looked up."""
        prompt = resumed if resumed is not None and resumed.turn_id == turn_id else None
        prompt = prompt or Prompt("", self._client_id, turn_id=turn_id)
        self.add(prompt)
        return prompt

    def cancel(self) -> None:
        """The client does not look at the session any more: each ends as cancelled, for the client; the turns go on."""
        for prompt in tuple(self._prompts):
            prompt.settle(TurnEnd(turn_id=prompt.turn_id, stop_reason="cancelled"))


async def recorded_end(turn_id: str, records: Iterable[Record]) -> TurnEnd:
    """How a turn ended by a session's journal. One that does not stand there never began."""
    if turn_id:
        for number, record in enumerate(records, 1):
            if isinstance(record.message, TurnEnd) and record.message.turn_id == turn_id:
                return record.message
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)
    return not_begun(turn_id)
