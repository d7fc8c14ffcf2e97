"""The loop of a session: how often its prompts are repeated, whether a loop runs, and what is said to it while it runs.

What is about a running loop could not wait behind it: stopping and pausing end the running turn and come next, looks are
answered at once. Nothing here begins a loop.
"""

from collections.abc import Collection, Generator
from contextlib import contextmanager

from sould.agents.base.errors import OptionError
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.text import plural
from sould.agents.journal.log import SessionLog
from sould.agents.sessions.loops.request import USAGE, is_about_loops, read_request
from sould.agents.sessions.loops.state import LoopState, LoopStore
from sould.agents.sessions.settings.options import OptionChoice, SessionOption, SessionOptions
from sould.agents.sessions.settings.state import SessionState
from sould.agents.sessions.turns.turns import Prompt, Turns
from sould.agents.wire.content import UserInput, input_summary
from sould.agents.wire.notice import notice

_OFFERED = (0, 1, 3, 5, 10, 25, -1)


class LoopOption:
    """The `loop` option of one session: how often its prompts are repeated."""

    def __init__(self, config: LiveConfig, state: SessionState, options: SessionOptions) -> None:
        self._config = config
        self._state = state
        self._options = options

    @property
    def limit(self) -> int:
        """How often prompts are repeated; -1 without limit."""
        chosen = self._state.loop_limit
        return self._config.now.loop_control.max_ralph_iterations if chosen is None else chosen

    async def set(self, limit: int) -> None:
        """Repeat the prompts from now on so often, which may be a number that clients do not list."""
        self._state.choose_loop_limit(limit)
        await self._options.keep()

    def option(self) -> SessionOption:
        """See `OptionSource`."""
        limit = self.limit
        offered = list(_OFFERED) if limit in _OFFERED else sorted({*_OFFERED, limit}, key=lambda n: (n < 0, n))
        choices = tuple(OptionChoice(loop_value(n), _named(n)) for n in offered)
        description = "Repeat each prompt until the agent finds it complete."
        return SessionOption("loop", "Loop", "_loop", description, loop_value(limit), choices)

    async def choose(self, value: str, client_id: str) -> None:
        """See `OptionSource`."""
        self._state.choose_loop_limit(loop_limit(value))


def loop_value(limit: int) -> str:
    """A limit as the value of the option."""
    return {0: "off", -1: "unlimited"}.get(limit, str(limit))


def loop_limit(value: str) -> int:
    """The limit that a value of the option stands for."""
    return -1 if value == "unlimited" else 0 if value == "off" else int(value)


def _named(limit: int) -> str:
    if limit == 0:
        return "No loop"
    return "Loop until it is complete" if limit < 0 else f"Loop up to {plural(limit, 'more time')}"


class LoopControls:
    """Of one session."""

    def __init__(self, session_id: str, log: SessionLog, turns: Turns, store: LoopStore, option: LoopOption) -> None:
        """`store`: the loops of all sessions; `option`: how often prompts of this one are repeated."""
        self.session_id = session_id
        self.store = store
        self.running = False
        """A loop runs in the current turn."""
        self._log = log
        self._turns = turns
        self._option = option

    @property
    def interrupted(self) -> bool:
        """The daemon lets go of the session: a loop that ends now was not ended by a person."""
        return self._turns.closing

    @contextmanager
    def run(self) -> Generator[None]:
        """A loop runs in the current turn while the block runs."""
        self.running = True
        try:
            yield
        finally:
            self.running = False

    def load(self) -> LoopState | None:
        """The session's loop, as it stands on disk."""
        return self.store.load(self.session_id)

    def take(self, user_input: UserInput, client_id: str) -> Prompt | None:
        """See `ImmediateCommand`: do what a `/loop` says that begins none, if a loop runs."""
        current = self._turns.current
        if current is None or not is_about_loops(user_input):
            return None
        repeats = self.running or self._option.limit != 0
        runs = (repeats and not current.command) or is_about_loops(current.user_input)
        try:
            request = read_request(user_input)
        except OptionError as error:
            return self._told(user_input, client_id, error.message, "") if runs else None
        if request.action in ("off", "pause"):
            self._forget_waiting()
            return self._end(Prompt(user_input, client_id, command=True)) if runs else None
        elsewhere = request.action == "resume" and request.session_id not in ("", self.session_id)
        if not runs or request.action == "start" or elsewhere:
            return None
        return self._told(user_input, client_id, *self._answer(request.action))

    def _forget_waiting(self) -> None:
        """Loops that have not begun do not begin behind the word that ends them."""
        for prompt in self._turns.queue:
            if is_about_loops(prompt.user_input):
                self._turns.remove(prompt.turn_id)

    def _end(self, prompt: Prompt) -> Prompt:
        self._turns.supersede(prompt)
        return prompt

    def _told(self, user_input: UserInput, client_id: str, title: str, body: str) -> Prompt:
        self._log.publish(notice("loop", title, body))
        return Prompt.answered(user_input, client_id)

    def _answer(self, action: str) -> tuple[str, str]:
        match action:
            case "list":
                return "Loops", describe_loops(self.store, {self.session_id})
            case "help":
                return "Loops", USAGE
            case "resume":
                return "The loop is already running", ""
            case _:
                return "Loop", describe_loop(self.load())


def describe_loop(loop: LoopState | None) -> str:
    """How one stands, for its session."""
    if loop is None:
        return f"There is no loop in this session. {USAGE}"
    of = f" of {loop.runs}" if loop.runs is not None else ""
    reason = f": {loop.reason.removesuffix('.')}" if loop.reason else ""
    money = f", {loop.spent.cost:.2f} in money" if loop.spent.cost is not None else ""
    return (
        f"The loop is {loop.status}{reason}. {count(loop.completed)}{of}, {loop.spent.tokens} tokens{money}, "
        f"{loop.spent.seconds:.0f} s.\n\n> {loop.prompt}"
    )


def describe_loops(loops: LoopStore, running: Collection[str]) -> str:
    """All of the user's, the latest first. `running`: sessions in which one is known to run."""
    lines = [
        f"- `{loop.session_id}` {loop.status if loop.session_id not in running else loop.standing(running)}, "
        f"{count(loop.completed)}, {loop.cwd}: {' '.join(input_summary(loop.prompt).split())[:60]}"
        for loop in loops.list()
    ]
    return "\n".join(lines) or f"There are no loops. {USAGE}"


def count(completed: int) -> str:
    """So many iterations, in words."""
    return f"{completed} iteration{'' if completed == 1 else 's'}"
