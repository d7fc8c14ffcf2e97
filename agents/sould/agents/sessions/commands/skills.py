"""Skills as slash commands: `/skills`, and `/skill:NAME` for each."""

import difflib
from collections.abc import Iterator
from functools import partial

from msgspec import Struct

from sould.agents.base.errors import OptionError
from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.slash import Entry, SlashCommand, for_people
from sould.agents.soul.loop import Ending
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.soul.skills.skill import Skill
from sould.agents.soul.turn import Turn


class SkillCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    catalog: SkillCatalog

    def __iter__(self) -> Iterator[Entry]:
        """One for each skill that is no flow."""
        for skill in self.catalog.skills.values():
            if not skill.flow:
                about = for_people(skill.description) or "Use this skill"
                command = SlashCommand(f"skill:{skill.name}", about, "what for (optional)")
                yield command, partial(self._use, skill)

    async def _use(self, skill: Skill, turn: Turn, argument: str) -> Ending:
        return await self.conversation.ask(turn, skill_prompt(skill, argument))

    async def show(self, _turn: Turn, _: str) -> Ending:
        """`/skills`."""
        lines = [
            f"- `/{'flow' if skill.flow else 'skill'}:{skill.name}` ({skill.scope}) {skill.description}"
            for skill in self.catalog.skills.values()
        ]
        lines += [f"- problem: {problem}" for problem in self.catalog.problems]
        lines += [f"- note: {remark}" for remark in self.catalog.remarks]
        return self.conversation.say("\n".join(lines) or "There are no skills.")


def require_known(catalog: SkillCatalog, text: str) -> None:
    """A skill or flow that is called for and not there is no prompt for the model.

    Raises:
        OptionError: with what is there in its place.
    """
    kind, name = _called_for(text)
    if not name:
        return
    other = catalog.skills.get(name)
    if other is not None:
        what = "flow" if other.flow else "skill"
        raise OptionError(f"{name} is a {what}: `/{what}:{name}`. {other.mistake}".strip())
    wanted = [said for said in (*catalog.problems, *catalog.remarks) if name in said]
    near = difflib.get_close_matches(name, catalog.skills, 1)
    advice = wanted[0] if wanted else f"Did you mean {near[0]!r}?" if near else "`/skills` lists all of them."
    raise OptionError(f"There is no {kind} {name!r}. {advice}")


def calls_for_skill(text: str) -> bool:
    """Whether a prompt begins with the name of a skill or flow, be it there or not."""
    return bool(_called_for(text)[1])


def _called_for(text: str) -> tuple[str, str]:
    """`skill` or `flow` and a name; the name is "" when the text calls for neither."""
    word = text.split(None, 1)[0] if text.strip() else ""
    kind, _, name = word.removeprefix("/").partition(":")
    return (kind, name) if word.startswith("/") and kind in ("skill", "flow") else ("", "")


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
