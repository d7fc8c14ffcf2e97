"""The prompts that wait for the running turn: seen and changed by every client, and by `/queue` where one has no menu.

`/queue` acts at once, also while a turn runs, and is no turn itself: it could not wait behind what it is about.
"""

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.wire.content import UserInput, input_summary, typed_text
from sould.agents.wire.notice import answer_to

PREFIX = "/queue"
Removed: TypeAlias = Literal["removed", "not_waiting"]
Edited: TypeAlias = Literal["edited", "not_waiting"]
Moved: TypeAlias = Literal["moved", "not_waiting"]
"""What became of a change: it is made, or the prompt does not wait (any more)."""
IsCommand: TypeAlias = Callable[[UserInput], bool]
"""Tells slash commands from prompts."""
SHOWN = 100
"""Characters of a prompt in the list."""
USAGE = "Use `/queue`, `/queue remove NUMBER`, `/queue edit NUMBER new text` or `/queue move NUMBER PLACE`."


class PromptQueue(Struct, frozen=True):
    """Of one session. A prompt that does not wait may have begun a moment ago."""

    _log: SessionLog
    _turns: Turns
    _is_command: IsCommand

    @property
    def waiting(self) -> tuple[Prompt, ...]:
        """Next first."""
        return self._turns.queue

    def remove(self, turn_id: str) -> Removed:
        """Take a prompt out; whoever sent it is answered that it was cancelled."""
        return "removed" if self._turns.remove(turn_id) else "not_waiting"

    def edit(self, turn_id: str, user_input: UserInput) -> Edited:
        """Give a prompt another text."""
        changed = self._turns.edit(turn_id, user_input, command=self._is_command(user_input))
        return "edited" if changed else "not_waiting"

    def move(self, turn_id: str, position: int) -> Moved:
        """Let a prompt come at another place, 1 being next."""
        return "moved" if self._turns.move(turn_id, position) else "not_waiting"

    def take(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """See `ImmediateCommand`: do what `/queue` says, if this is it."""
        command, _, rest = typed_text(user_input).strip().partition(" ")
        if command != PREFIX:
            return None
        said = "\n\n".join(filter(None, (self._act(rest), self.text())))
        self._log.publish(answer_to(f"{PREFIX} {rest}".strip(), said, client_id, ""))
        return Prompt.answered(user_input, client_id)

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        yield f"- queued prompts: {len(self.waiting)}"
        yield from (f"  {line}" for line in self.text().splitlines())

    def text(self) -> str:
        """The prompts, a line each."""
        return "\n".join(f"{number}. {first_line(prompt)}" for number, prompt in enumerate(self.waiting, 1))

    def _act(self, argument: str) -> str:
        verb, _, rest = argument.strip().partition(" ")
        number, _, more = rest.strip().partition(" ")
        if not verb:
            return "Queued prompts" if self.waiting else "No prompts are queued"
        waiting = self.waiting
        if verb not in ("remove", "edit", "move") or not number.isdecimal() or not 0 < int(number) <= len(waiting):
            return f"There is no such prompt. {USAGE}" if verb in ("remove", "edit", "move") else USAGE
        turn_id, more = waiting[int(number) - 1].turn_id, more.strip()
        match verb:
            case "remove" if self.remove(turn_id) == "removed":
                return f"Prompt {number} was removed"
            case "edit" if more and self.edit(turn_id, more) == "edited":
                return f"Prompt {number} was edited"
            case "move" if more.isdecimal() and self.move(turn_id, int(more)) == "moved":
                return f"Prompt {number} was moved"
            case _:
                return USAGE


def first_line(prompt: Prompt) -> str:
    """How a prompt is named in a list."""
    first = input_summary(prompt.user_input).strip().partition("\n")[0]
    return first[:SHOWN] or "(attachments)"
