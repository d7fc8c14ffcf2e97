"""Skills as slash commands: `/skills`, and `/skill:NAME` for each."""

import difflib
from collections.abc import Iterator
from functools import partial

from sould.agents.commands.replies import say
from sould.agents.errors import OptionError
from sould.agents.sessions.session import Session
from sould.agents.sessions.slash import Entry, SlashCommand, for_people
from sould.agents.skills.skill import Skill
from sould.agents.soul.loop import Ending
from sould.agents.wire.messages import ContextNote


def skill_commands(session: Session) -> Iterator[Entry]:
    """`/skills`, and `/skill:NAME` for every skill that is no flow."""
    yield SlashCommand("skills", "List the skills of this session"), partial(_list, session)
    for skill in session.skills.skills.values():
        if not skill.flow:
            command = SlashCommand(
                f"skill:{skill.name}", for_people(skill.description) or "Use this skill", "what for (optional)"
            )
            yield command, partial(_use, skill, session)


def require_known(session: Session, text: str) -> None:
    """A skill or flow that is called for and not there is no prompt for the model.

    Raises:
        OptionError: with what is there in its place.
    """
    word = text.split(None, 1)[0] if text.strip() else ""
    kind, _, name = word.removeprefix("/").partition(":")
    if not word.startswith("/") or kind not in ("skill", "flow") or not name:
        return
    other = session.skills.skills.get(name)
    if other is not None:
        what = "flow" if other.flow else "skill"
        raise OptionError(f"{name} is a {what}: `/{what}:{name}`. {other.mistake}".strip())
    wanted = [said for said in (*session.skills.problems, *session.skills.remarks) if name in said]
    near = difflib.get_close_matches(name, session.skills.skills, 1)
    advice = wanted[0] if wanted else f"Did you mean {near[0]!r}?" if near else "`/skills` lists those there are."
    raise OptionError(f"There is no {kind} {name!r}. {advice}")


async def _use(skill: Skill, session: Session, request: str) -> Ending:
    session.log.publish(ContextNote(text=skill_prompt(skill, request)))
    return await session.soul.turn(session.current_turn)


def skill_prompt(skill: Skill, request: str) -> str:
    """What the model is told when the user calls for a skill. `$ARGUMENTS` in the skill is what the user added."""
    place = f"Its other files are in `{skill.directory}`." if skill.directory else ""
    body = skill.body.replace("$ARGUMENTS", request)
    parts = [
        f"The user asks you to use the skill `{skill.name}` (`{skill.path}`). Follow it now. {place}".strip(),
        body,
    ]
    if request and "$ARGUMENTS" not in skill.body:
        parts.append(f"What the user wants done with it: {request}")
    return "\n\n".join(parts)


async def _list(session: Session, _: str) -> Ending:
    catalog = session.skills
    lines = [
        f"- `/{'flow' if skill.flow else 'skill'}:{skill.name}` ({skill.scope}) {skill.description}"
        for skill in catalog.skills.values()
    ]
    lines += [f"- problem: {problem}" for problem in catalog.problems]
    lines += [f"- note: {remark}" for remark in catalog.remarks]
    return say(session, "\n".join(lines) or "There are no skills.")
