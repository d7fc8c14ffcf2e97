"""Skills and flows as slash commands: `/skills`, `/skill:NAME` for each skill, and `/flow:NAME arguments` for every flow."""

import difflib
import re
import shlex
from collections.abc import Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.errors import OptionError
from sould.agents.sessions.commands.slash import Conversation, Entry, SlashCommand, for_people
from sould.agents.soul.flows.graph import Flow, FlowError
from sould.agents.soul.flows.runner import FlowRunner
from sould.agents.soul.loop import Ending
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.soul.skills.skill import Skill
from sould.agents.soul.turn import Turn
from sould.agents.wire.notice import notice

_PLACE = re.compile(r"\$(ARGUMENTS\b|[1-9]\d*)", re.ASCII)


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


def with_arguments(flow: Flow, arguments: str) -> Flow:
    """`$ARGUMENTS` is everything, `$1`, `$2` … the words; a flow without such places gets them at its first step (D33)."""
    arguments = arguments.strip()
    if any(_PLACE.search(node.label) for node in flow.nodes.values()):
        words = _words(arguments)

        def fill(found: "re.Match[str]") -> str:
            name = found.group(1)
            if name == "ARGUMENTS":
                return arguments
            return dict(enumerate(words, 1)).get(int(name[:9]), "")

        nodes = {node.id: replace(node, label=_PLACE.sub(fill, node.label)) for node in flow.nodes.values()}
        return replace(flow, nodes=nodes)
    steps = flow.steps()
    if not arguments or not steps:
        return flow
    first = steps[0]
    return replace(flow, nodes=flow.nodes | {first.id: replace(first, label=f"{first.label}\n\n{arguments}")})


def _words(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an open quote is a mistake of no weight here
        return arguments.split()


_MOST_TOLD = 5
"""Lines of a notice."""


class FlowCommands(Struct, frozen=True):
    """Of one session."""

    conversation: Conversation
    catalog: SkillCatalog

    def __iter__(self) -> Iterator[Entry]:
        """One for each flow; a flow that cannot run says so when it is asked for."""
        for skill in self.catalog.skills.values():
            if skill.flow:
                about = for_people(skill.description) or "Run this flow"
                yield SlashCommand(f"flow:{skill.name}", about, "arguments (optional)"), partial(self._run, skill)

    async def _run(self, skill: Skill, turn: Turn, argument: str) -> Ending:
        return await self.run(turn, self.flow(skill, argument))

    async def run(self, turn: Turn, flow: Flow) -> Ending:
        """From its beginning to its end, once, within the turn."""
        agent = self.conversation.agent(turn)
        runner = FlowRunner(flow, agent, agent.config.now.flows)
        try:
            return await runner.run()
        finally:
            runner.show(None)  # also when it is cancelled or fails: nothing is under way any more

    def flow(self, skill: Skill, arguments: str) -> Flow:
        """The flow of a flow skill, with what the user wrote behind it.

        Raises:
            OptionError: it cannot run.
        """
        from sould.agents.soul.flows.source import skill_flow  # noqa: PLC0415 -- parsers that few sessions need

        try:
            flow = with_arguments(skill_flow(skill), arguments)
        except FlowError as error:
            lines = "\n".join(f"{skill.path}:{problem}" for problem in error.problems)
            raise OptionError(f"The flow {skill.name} cannot run:\n{lines}") from error
        silent = next((node.id for node in flow.nodes.values() if not node.label.strip()), "")
        if silent:
            raise OptionError(f"The flow {skill.name} needs an argument: without one its step {silent} has no prompt.")
        self._tell_passed_over(skill, flow)
        return flow

    def _tell_passed_over(self, skill: Skill, flow: Flow) -> None:
        """What of the drawing does not count, once a session for each version of it."""
        said = [f"{skill.path}:{warning}" for warning in flow.warnings]
        if said and self.catalog.is_news("\n".join(said)):
            shown = said if len(said) <= _MOST_TOLD else said[: _MOST_TOLD - 1]
            left = len(said) - len(shown)
            more = f"\nand {left} more: `sould flow check {skill.name}` lists them" if left else ""
            title = f"The flow {skill.name} has constructs that are ignored"
            self.conversation.log.publish(notice("flow", title, "\n".join(shown) + more))
