"""Building a soul: one agent with its own log and tools, over what its session shares.

Serves the root agent and its subagents alike.
"""

from datetime import datetime
from typing import Any

from sould.agents.compaction.compactor import Compactor
from sould.agents.config import Config
from sould.agents.dmail.router import DenwaRenji
from sould.agents.environment import Environment
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.sessionlog.log import SessionLog
from sould.agents.sessions.shared import Shared
from sould.agents.settings.agents import offered_paths
from sould.agents.soul.answer import ModelCaller
from sould.agents.soul.calls import ToolRunner
from sould.agents.soul.instructions import prompt_arguments, render_prompt
from sould.agents.soul.loop import Soul, StepExtension
from sould.agents.soul.reminders import AwayReminder, PlanReminder
from sould.agents.soul.spec import AgentSpec
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket
from sould.agents.soul.usage import Meter
from sould.agents.timetravel.machine import TimeMachine
from sould.agents.timetravel.rewind import Rewinder
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.toolapi.questions import Questions
from sould.agents.toolapi.session import ModelCapabilities, PromptArguments
from sould.agents.toolapi.session import Session as ToolSession
from sould.agents.toolapi.toolset import Toolset
from sould.agents.tools.commands import OutputDirectory
from sould.agents.tools.planmode import PlanMode
from sould.agents.tools.todo import TodoList
from sould.agents.wire.messages import SystemPrompt
from sould.agents.workspace import Workspace

OUTPUTS = "outputs"
"""Below the session's directory: what tools put aside because it was too long for the model."""


def build_soul(
    shared: Shared,
    spec: AgentSpec,
    log: SessionLog,
    todos: TodoList,
    crew: Crew,
    extensions: tuple[StepExtension, ...] = (),
) -> Soul:
    """One agent with its own log, over what its session shares. A new log gets its system prompt.

    Raises:
        ConfigError, InvalidToolError
    """
    phone = crew.phone = shared.mailbox.connect(crew.agent_id, log)
    toolset = load_tools(shared, spec, injected(shared, spec, phone, todos, crew))
    if not log.context.system_prompt:
        log.publish(SystemPrompt(text=system_prompt(shared, spec), made_of=spec.made_of))
    meter = Meter(log)
    compactor = Compactor(
        log,
        lambda: shared.models.provider,
        shared.limits,
        shared.session_id,
        settings=lambda: shared.services.config.now.compaction,
        tools=lambda: toolset.specs,
        charge=meter.charge,
        hook=shared.hooks.compaction,
    )
    meter.estimate = lambda: compactor.used
    return Soul(
        log=log,
        model=model_caller(shared, log, toolset, meter, crew.market),
        tools=tool_runner(shared, spec, log, toolset),
        compactor=compactor,
        extensions=(
            shared.budgets,
            PlanReminder(log, shared.approval),
            AwayReminder(log, shared.modes, shared.services.config),
            TimeMachine(phone, shared.rewinder, toolset, shared.files, shared.approval),
            *extensions,
        ),
    )


def load_tools(shared: Shared, spec: AgentSpec, injectable: dict[Any, object]) -> Toolset:
    """The spec's tools as far as they are offered now, and those of the session's sources that it names."""
    paths, places = offered_paths(spec, shared.situation())
    return Toolset.load(paths, injectable, places, sources=shared.sources, patterns=spec.fields.mcp_tools)


def injected(shared: Shared, spec: AgentSpec, phone: DenwaRenji, todos: TodoList, crew: Crew) -> dict[Any, object]:
    """What an agent's tools may ask for, by type (D30)."""
    return {
        DenwaRenji: phone,
        Rewinder: shared.rewinder,
        CallFiles: shared.files,
        Workspace: shared.files,
        Config: shared.services.config.now,
        Approval: shared.approval,
        Environment: shared.environment,
        TodoList: todos,
        Crew: crew,
        LaborMarket: crew.market,
        BackgroundTasks: crew.market.tasks,
        OutputDirectory: OutputDirectory(shared.directory / OUTPUTS),
        Questions: shared.questions,
        PlanMode: shared.plan_mode,
        ToolSession: ToolSession(shared.session_id, shared.opening.cwd, shared.directory, shared.directories),
        ModelCapabilities: ModelCapabilities(lambda: frozenset(shared.models.provider.info.capabilities)),
        PromptArguments: PromptArguments(lambda: arguments_of(shared, spec)),
    }


def model_caller(shared: Shared, log: SessionLog, toolset: Toolset, meter: Meter, market: LaborMarket) -> ModelCaller:
    """Asks the session's model in an agent's name."""
    model, session_id = shared.models.model, shared.session_id
    return ModelCaller(log, model, lambda: toolset.specs, shared.limits, meter, session_id, market.call_ids)


def tool_runner(shared: Shared, spec: AgentSpec, log: SessionLog, toolset: Toolset) -> ToolRunner:
    """Runs an agent's calls, and sees what they do to files."""
    cwd, files = str(shared.opening.cwd), shared.rewinder.files
    return ToolRunner(
        log,
        toolset,
        shared.approval,
        files,
        cwd,
        hooks=shared.hooks,
        capture=files.capture,
        read_only=spec.fields.read_only,
    )


def system_prompt(shared: Shared, spec: AgentSpec) -> str:
    """The spec's prompt with its arguments; frozen in the session's first record."""
    path = spec.fields.system_prompt_path
    return render_prompt(path.read_text(encoding="utf-8"), arguments_of(shared, spec), path)


def arguments_of(shared: Shared, spec: AgentSpec) -> dict[str, str]:
    """What the prompt can use: the builtin arguments and the spec's own."""
    opening, now = shared.opening, datetime.now().astimezone()
    builtin = prompt_arguments(opening.cwd, shared.directories, shared.environment.shell, now, shared.skills.describe())
    return builtin | {"ROLE_ADDITIONAL": ""} | spec.fields.system_prompt_args
