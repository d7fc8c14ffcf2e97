"""What tests look at in a session that no client is told: what its model is given. By name, so that no test holds a part of it.

A look changes nothing; `choose` is what a client does. What a client is told is read there, and needs none of these.
"""

from sould.agents.llm.provider import ChatMessage
from sould.agents.sessions.session import Session
from sould.agents.soul.model_call import ModelCaller
from sould.agents.toolapi.toolset import Toolset


def messages_of(session: Session) -> tuple[ChatMessage, ...]:
    """The conversation as the model is given it."""
    return session.log.context.messages


def prompt_of(session: Session) -> str:
    """The system prompt."""
    return session.log.context.system_prompt


def turns_of(session: Session) -> tuple[int, ...]:
    """Where the turns begin to which it can go back."""
    return session.log.context.turns


def toolset_of(session: Session) -> Toolset:
    """The tools of its agent."""
    assert session.parts.soul.toolset is not None
    return session.parts.soul.toolset


def tool_names(session: Session) -> list[str]:
    """The names of the tools that the model is offered, in their order."""
    return [spec.name for spec in toolset_of(session).specs]


def tools_of(session: Session) -> set[str]:
    """The same without an order."""
    return set(tool_names(session))


def model_of(session: Session) -> ModelCaller:
    """The model that its agent asks."""
    assert session.parts.soul.model is not None
    return session.parts.soul.model


def used_of(session: Session) -> int:
    """How many tokens of the model's window are used."""
    assert session.parts.soul.compactor is not None
    return session.parts.soul.compactor.used


async def choose(session: Session, option: str, value: str, client: str = "c") -> None:
    """What a client does when its user sets an option."""
    await session.parts.choices.options.choose(option, value, client)
