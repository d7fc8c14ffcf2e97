"""Which task a loop is asked to repeat, by what the user wrote."""

from sould.agents.commands.flows import sound_flow
from sould.agents.commands.skills import require_known, skill_prompt
from sould.agents.errors import OptionError
from sould.agents.flows.looptask import LoopTask
from sould.agents.sessions.session import Session


def loop_task(session: Session, prompt: str) -> LoopTask:
    """The task that a prompt stands for.

    Raises:
        OptionError: it names a skill or flow that cannot be used, or another command.
    """
    limits = session.config.flows
    word, _, rest = prompt.strip().partition(" ")
    kind, _, name = word.removeprefix("/").partition(":")
    skill = session.skills.skills.get(name) if word.startswith("/") else None
    if skill is not None and kind == ("flow" if skill.flow else "skill"):
        if skill.flow:
            return LoopTask(prompt, limits, sound_flow(session, skill, rest.strip()))
        return LoopTask(skill_prompt(skill, rest.strip()), limits)
    require_known(session, prompt)
    names = {name for command in session.commands() for name in (command.name, *command.aliases)}
    if word.startswith("/") and word[1:] in names:
        raise OptionError(f"`{word}` cannot be the task of a loop; a prompt, a skill or a flow can.")
    return LoopTask(prompt, limits)
