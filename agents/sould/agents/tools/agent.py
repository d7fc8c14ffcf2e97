"""Agent: give a task to a subagent, or to several in a pipeline. The injected `Crew` does it; this is its face to the model."""

from functools import cached_property
from typing import ClassVar

from msgspec.structs import replace
from pydantic import AliasChoices, ConfigDict, Field, JsonValue, model_validator

from sould.agents.base.parsed import Parsed
from sould.agents.soul.subagents.crew import Crew, Job, SubagentOutcome, new_agent_id
from sould.agents.soul.subagents.market import SubagentError
from sould.agents.toolapi.background import BackgroundTasks, Printed, TaskEnded, TaskError, Work
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.toolapi.portable import LONGEST_DESCRIPTION
from sould.agents.wire.messages import ToolKind, ToolReturn

_KIND = AliasChoices("subagent_type", "subagent_name", "subagent", "agent")


class Stage(Parsed):
    """One stage of a pipeline."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    subagent_type: str = Field(validation_alias=_KIND, description="Which kind of subagent.")
    prompt: str = Field(min_length=1, description="Its task; `{previous}` is the result of the stage before.")


class Params(ToolParams):
    """One task, or a pipeline of them."""

    description: str = Field(default="", description="The task in three to five words, for the user.")
    prompt: str = Field(default="", description="The whole task, with everything the subagent must know.")
    subagent_type: str = Field(default="coder", validation_alias=_KIND, description="Which kind of subagent.")
    model: str | None = Field(default=None, description="Another model for this subagent, by its key.")
    resume: str | None = Field(default=None, description="The id of an agent that is to go on.")
    run_in_background: bool = Field(
        default=False, description="Let it go on by itself; you are told when it ends, see TaskOutput."
    )
    timeout: int | None = Field(default=None, ge=30, le=3600, description="Seconds after which it is stopped.")
    pipeline: tuple[Stage, ...] = Field(
        default=(), description="In place of `prompt`: stages that run one after the other."
    )

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "Params":
        if bool(self.prompt) == bool(self.pipeline):
            raise ValueError("give either `prompt` or `pipeline`")
        if self.pipeline and self.run_in_background:
            raise ValueError("a pipeline cannot run in the background")
        return self


class Agent(Tool[Params]):
    """Start a subagent."""

    name = "Agent"
    title = "Start a subagent"
    aliases = ("Task",)
    kind: ClassVar[ToolKind] = "other"
    example: ClassVar[dict[str, JsonValue]] = {
        "description": "Find the parser's tests",
        "prompt": "Find every test of src/parser.py and say what each covers.",
        "subagent_type": "explore",
    }
    params = Params

    def __init__(self, crew: Crew, tasks: BackgroundTasks) -> None:
        self._crew = crew
        self._tasks = tasks

    @cached_property
    def description(self) -> str:
        """What it is for, and the kinds there are: by their names alone where servers would refuse a text so long."""
        kinds = self._crew.kinds
        told = "\n".join(f"- {name}: {what}" for name, what in kinds.items()) or "- none; create one first"
        text = f"{super().description}\n\nThe types of subagents are:\n"
        return f"{text}{told}" if len(f"{text}{told}".encode()) <= LONGEST_DESCRIPTION else f"{text}{', '.join(kinds)}"

    @property
    def has_effects(self) -> bool:
        """What a subagent does is in order in the subagent's own steps."""
        return False

    def view(self, params: Params) -> CallView:
        """The task and who does it."""
        if params.pipeline:
            chain = " → ".join(stage.subagent_type for stage in params.pipeline)
            return CallView(title=f"{params.description or 'Pipeline'} ({chain})")
        return CallView(title=f"{params.description or params.prompt[:60]} ({params.subagent_type})")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Wait for the answer, or for the last stage's."""
        try:
            if params.pipeline:
                return await self._pipeline(params, call)
            if params.run_in_background:
                return self._begin(params, call)
            return result_of(await self._crew.work(job_of(params, params.subagent_type, params.prompt), call))
        except (SubagentError, TaskError) as error:
            return tool_error(error.message, brief="Not started")

    def _begin(self, params: Params, call: ToolCallContext) -> ToolReturn:
        if self._crew.depth:
            return tool_error(
                "Only the main agent can start agents in the background; wait for this one.", brief="Not started"
            )
        job = job_of(params, params.subagent_type, params.prompt)
        job = replace(job, agent_id=job.resume or new_agent_id())
        work = in_background(self._crew, job, call)
        record = self._tasks.begin("agent", params.description or params.prompt[:60], work, call.id, job.agent_id)
        return tool_ok(
            message=f"The agent {job.agent_id} works in the background as {record.id}. You are told when it has finished.",
            display=(record.block,),
        )

    async def _pipeline(self, params: Params, call: ToolCallContext) -> ToolReturn:
        previous = ""
        outcome: SubagentOutcome | None = None
        first = max(1, self._crew.begun(call.id))
        for number, stage in enumerate(params.pipeline[first - 1 :], first):
            job = job_of(params, stage.subagent_type, _with_previous(stage.prompt, previous, first=number == 1))
            try:
                outcome = await self._crew.work(job, call)
            except SubagentError as error:
                said = f"Stage {number} did not begin: {error.message}"
                told = " This is what the stage before it found." if previous else ""
                return tool_error(f"{said}{told}", brief="Pipeline broke off", output=previous)
            if outcome.problem:
                failed = result_of(outcome)
                return failed.model_copy(
                    update={"message": f"The pipeline broke off at stage {number}. {failed.message}"}
                )
            previous = outcome.text
        assert outcome is not None
        return result_of(outcome)


def in_background(crew: Crew, job: Job, call: ToolCallContext) -> Work:
    """A subagent's job as a task of its own."""

    async def work(printed: Printed) -> TaskEnded:
        outcome = await crew.work(job, call)
        printed.write(outcome.text)
        again = f"`resume` with {outcome.agent_id} goes on with it."
        if outcome.problem:
            return TaskEnded("failed", f"It did not finish: {outcome.problem.rstrip('.')}. {again}")
        return TaskEnded("completed", again)

    return work


def job_of(params: Params, kind: str, prompt: str) -> Job:
    """The job a call describes."""
    return Job(
        prompt=prompt,
        kind=kind,
        description=params.description,
        model=params.model or "",
        resume="" if params.pipeline else params.resume or "",
        timeout=params.timeout,
        background=params.run_in_background,
    )


def result_of(outcome: SubagentOutcome) -> ToolReturn:
    """The outcome as the model that asked for it is told."""
    again = f"`resume` with {outcome.agent_id} goes on with it."
    if outcome.problem:
        problem = outcome.problem.rstrip(".")
        return tool_error(
            f"The subagent {outcome.agent_id} did not finish: {problem}. {again}",
            brief=f"Did not finish: {problem[:200]}",
            output=outcome.text,
        )
    return tool_ok(
        outcome.text or "(It had nothing to say.)",
        message=f"The {outcome.kind} subagent {outcome.agent_id} has finished. {again}",
        extras={"agent_id": outcome.agent_id, "subagent_type": outcome.kind},
    )


def _with_previous(prompt: str, previous: str, *, first: bool) -> str:
    if first or "{previous}" in prompt:
        return prompt.replace("{previous}", previous)
    return f"{prompt}\n\nThe result of the stage before:\n{previous}"
