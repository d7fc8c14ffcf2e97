"""How a session stands: its title, options, commands and usage, told when it is introduced and when they change. Pure."""

from collections.abc import Iterator, Sequence

from sould.acp.features import Facts
from sould.acp.outbound import ConfigOption, Json, Mode, SelectOption, SessionModes, SessionState
from sould.agents.base.text import iso_time
from sould.agents.sessions.settings.options import OptionChoice, SessionOption
from sould.agents.wire import messages as wire


class SessionStatus:
    """One session's. Usage is learnt from the stream, the rest is looked up."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._used: int | None = None
        self._size: int | None = None
        self._cost: Json | None = None

    def introduction(self, title: str, updated: float) -> Iterator[Json]:
        """All of it at once."""
        yield self._commands()
        if title:
            yield {"sessionUpdate": "session_info_update", "title": title, "updatedAt": iso_time(updated)}
        yield from self._usage()

    def learn(self, message: wire.StatusUpdate) -> bool:
        """Take in a status; whether it says anything of the usage."""
        if message.context_tokens is not None:
            self._used = message.context_tokens
        if message.max_context_tokens is not None:
            self._size = message.max_context_tokens
        if message.cost is not None:
            self._cost = {"amount": message.cost, "currency": message.currency or "USD"}
        return (message.context_tokens, message.max_context_tokens, message.cost) != (None,) * 3

    def status(self, message: wire.StatusUpdate) -> Iterator[Json]:
        """A status as it comes."""
        if self.learn(message):
            yield from self._usage()

    def changed(self, message: wire.SessionChanged, timestamp: float) -> Iterator[Json]:
        """Title, options or commands are others now."""
        if message.title is not None:
            title = message.title or None
            yield {"sessionUpdate": "session_info_update", "title": title, "updatedAt": iso_time(timestamp)}
        if message.options is not None:
            yield from self.options()
        if message.commands:
            yield self._commands()

    def options(self) -> Iterator[Json]:
        """All options, in both ways."""
        options = self._facts.state.options()
        yield {"sessionUpdate": "config_option_update", "configOptions": config_options(options)}
        modes = session_modes(options)
        if modes is not None:
            yield {"sessionUpdate": "current_mode_update", "currentModeId": modes["currentModeId"]}

    def _usage(self) -> Iterator[Json]:
        if self._used is None or self._size is None:
            return
        update: Json = {"sessionUpdate": "usage_update", "used": self._used, "size": self._size}
        if self._cost is not None:
            update["cost"] = self._cost
        yield update

    def _commands(self) -> Json:
        commands: list[Json] = []
        for command in self._facts.state.commands():
            shown: Json = {"name": command.name, "description": command.description}
            if command.hint:
                shown["input"] = {"hint": command.hint}
            commands.append(shown)
        return {"sessionUpdate": "available_commands_update", "availableCommands": commands}


def turn_usage(counted: wire.TokenUsage | None) -> Json:
    """`usage` of the answer to a prompt: each token in one of its counts, but those thought are output, too."""
    if counted is None:
        return {}
    usage: Json = {"totalTokens": counted.total, "inputTokens": counted.input_other, "outputTokens": counted.output}
    more = {
        "thoughtTokens": counted.output_thought,
        "cachedReadTokens": counted.input_cache_read,
        "cachedWriteTokens": counted.input_cache_creation,
    }
    return {"usage": usage | {name: count for name, count in more.items() if count}}


def session_state(options: Sequence[SessionOption]) -> SessionState:
    """The fields with which every way to open a session answers."""
    state = SessionState(configOptions=config_options(options))
    modes = session_modes(options)
    if modes is not None:
        state["modes"] = modes
    return state


def config_options(options: Sequence[SessionOption]) -> list[ConfigOption]:
    """Session options as config options, the complete list in the order clients show it."""
    return [_option(option) for option in options]


def session_modes(options: Sequence[SessionOption]) -> SessionModes | None:
    """The mode option as modes, for clients that know only those."""
    for option in options:
        if option.category == "mode":
            return SessionModes(currentModeId=option.value, availableModes=[_mode(choice) for choice in option.choices])
    return None


def _option(option: SessionOption) -> ConfigOption:
    shown = ConfigOption(
        id=option.id,
        name=option.name,
        category=option.category,
        type="select",
        currentValue=option.value,
        options=[_choice(choice) for choice in option.choices],
    )
    if option.description:
        shown["description"] = option.description
    return shown


def _choice(choice: OptionChoice) -> SelectOption:
    shown = SelectOption(value=choice.value, name=choice.name)
    if choice.description:
        shown["description"] = choice.description
    return shown


def _mode(choice: OptionChoice) -> Mode:
    shown = Mode(id=choice.value, name=choice.name)
    if choice.description:
        shown["description"] = choice.description
    return shown
