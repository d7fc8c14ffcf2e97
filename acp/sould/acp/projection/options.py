"""Session options as ACP config options, mirrored as modes for clients that know only those. Pure."""

from collections.abc import Sequence

from sould.acp.outbound import ConfigOption, Mode, Modes, SelectOption, SessionState
from sould.agents.sessions.settings.options import Choice, SessionOption


def session_state(options: Sequence[SessionOption]) -> SessionState:
    """The fields with which every way to open a session answers."""
    state = SessionState(configOptions=config_options(options))
    modes = session_modes(options)
    if modes is not None:
        state["modes"] = modes
    return state


def config_options(options: Sequence[SessionOption]) -> list[ConfigOption]:
    """The complete list, in the order clients show it."""
    return [_option(option) for option in options]


def session_modes(options: Sequence[SessionOption]) -> Modes | None:
    """The mode option as modes."""
    for option in options:
        if option.category == "mode":
            return Modes(currentModeId=option.value, availableModes=[_mode(choice) for choice in option.choices])
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


def _choice(choice: Choice) -> SelectOption:
    shown = SelectOption(value=choice.value, name=choice.name)
    if choice.description:
        shown["description"] = choice.description
    return shown


def _mode(choice: Choice) -> Mode:
    shown = Mode(id=choice.value, name=choice.name)
    if choice.description:
        shown["description"] = choice.description
    return shown
