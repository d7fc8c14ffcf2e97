"""The prompts that wait for a running turn, as one client sees them. Pure."""

import orjson

from sould.acp.content import input_blocks
from sould.acp.features import Facts
from sould.acp.outbound import Json
from sould.agents.wire import messages as wire
from sould.agents.wire.content import UserInput


class Waiting:
    """One client's view of its session's queue."""

    def __init__(self, facts: Facts, client_id: str) -> None:
        self._facts = facts
        self._client_id = client_id
        self._asked: dict[str, UserInput] = {}
        """What this client asked for in the prompts of its own that waited, before anybody changed them."""
        self._told: list[Json] = []

    def shown(self) -> list[Json]:
        """The prompts that wait, next first."""
        return [
            {
                "id": prompt.turn_id,
                "position": number,
                "mine": prompt.client_id == self._client_id,
                "prompt": input_blocks(prompt.user_input),
            }
            for number, prompt in enumerate(self._facts.state.queue(), 1)
        ]

    def news(self) -> bytes:
        """`_sould/queue`, a notification of ours with the whole list; nothing when it is as this client knows it."""
        queue = self.shown()
        if queue == self._told:
            return b""
        self._told = queue
        params = {"sessionId": self._facts.session_id, "prompts": queue}
        return orjson.dumps({"jsonrpc": "2.0", "method": "_sould/queue", "params": params}) + b"\n"

    def moved(self, message: wire.PromptQueued) -> str:
        """A prompt waits, moved or left; a sentence when it is this client's own and waits."""
        if not message.position:
            self._asked.pop(message.turn_id, None)
        elif message.client_id == self._client_id:
            self._asked.setdefault(message.turn_id, message.user_input)
            return f"Queued ({_nth(message.position)}): starts after the current turn."
        return ""

    def was_changed(self, turn: wire.TurnBegin) -> bool:
        """Whether the turn that begins is about something else than this client had asked for."""
        return self._asked.pop(turn.turn_id, turn.user_input) != turn.user_input


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
