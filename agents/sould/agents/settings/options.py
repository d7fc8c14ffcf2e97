"""The options of a session: mode, model, thought level. One list for every face (D20)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sould.agents.llm.provider import ModelInfo, ThoughtLevel
from sould.agents.permissions.policy import Mode


@dataclass(frozen=True, slots=True)
class Choice:
    """One value an option can take. `name` says by itself what it is: clients show the values of several options in one row."""

    value: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class SessionOption:
    """One option with its current value. `category` is ACP's: mode, model, thought_level."""

    id: str
    name: str
    category: str
    description: str
    value: str
    choices: tuple[Choice, ...]


MODES: dict[Mode, Choice] = {
    "plan": Choice("plan", "Plan mode", "Read and think only: no file is changed, no command with effects runs."),
    "ask": Choice("ask", "Ask mode", "Every edit and every command that is not known to be harmless asks first."),
    "review": Choice("review", "Review mode", "Edits are made at once and reviewed afterwards; commands ask first."),
    "full": Choice("full", "Full access", "Nothing asks, except secrets and changes to protected files."),
}
"""The modes on offer. `auto` needs a sandbox, and there is none yet."""

YOLO, AFK = "yolo", "afk"
FULL_NAMES = frozenset({YOLO, AFK})
"""Names users know for full access; `afk` also dismisses questions (D20)."""

THOUGHT_LEVELS: dict[ThoughtLevel, Choice] = {
    "off": Choice("off", "Thinking off", "Answer without extended reasoning."),
    "low": Choice("low", "Thinking low", "A little reasoning."),
    "medium": Choice("medium", "Thinking medium", "Balanced."),
    "high": Choice("high", "Thinking high", "As much reasoning as the model offers."),
}


def session_options(
    mode: Mode, model: ModelInfo, models: Sequence[ModelInfo], thought_level: ThoughtLevel
) -> tuple[SessionOption, ...]:
    """The options in the order clients show them."""
    options = [
        SessionOption("mode", "Mode", "mode", "What happens without asking.", mode, tuple(MODES.values())),
        SessionOption(
            "model",
            "Model",
            "model",
            "Which model answers, from the next step on.",
            model.key,
            tuple(Choice(info.key, info.display_name or info.key, info.provider) for info in models),
        ),
    ]
    if "thinking" in model.capabilities:
        choices = tuple(THOUGHT_LEVELS.values())
        description = "How much the model reasons before it answers."
        options.append(SessionOption("thought_level", "Thinking", "thought_level", description, thought_level, choices))
    return tuple(options)
