"""Building the loop of one agent with its own log and tools, over what its session shares.

Serves the root agent and its subagents alike.
"""

from functools import partial
from typing import Any

from sould.agents.base.config import Config
from sould.agents.base.environment import Environment
from sould.agents.base.workspace import Workspace
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.services import OUTPUTS, SessionServices
from sould.agents.sessions.settings.agents import offered_paths
from sould.agents.sessions.told_once import UnreadInstructions
from sould.agents.soul.change_capture import LookingBeside
from sould.agents.soul.compaction.breakdown import ContextSize
from sould.agents.soul.compaction.compactor import Audience, Compactor, no_audience
from sould.agents.soul.dmail.dmail import DenwaRenji
from sould.agents.soul.edit_previews import Foresight
from sould.agents.soul.loop import AgentLoop, StepExtension
from sould.agents.soul.model_call import ModelCaller, UsageCounter
from sould.agents.soul.reminders import AwayReminder, FolderInstructions, LeakedCalls, PlanReminder, ReviewNews
from sould.agents.soul.repairs import Repairs
from sould.agents.soul.spec import AgentSpec
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket
from sould.agents.soul.timetravel.machine import TimeMachine
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.soul.tool_runner import ToolRunner
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.toolapi.session import ModelCapabilities, PromptArguments
from sould.agents.toolapi.session import Session as ToolSession
from sould.agents.toolapi.toolset import Toolset
from sould.agents.tools.commands import OutputDirectory
from sould.agents.tools.planmode import PlanMode
from sould.agents.tools.todo import TodoList
from sould.agents.wire.messages import GivenPrompt


def build_loop(
    services: SessionServices,
    spec: AgentSpec,
    log: SessionLog,
    todos: TodoList,
    crew: Crew,
    extensions: tuple[StepExtension, ...] = (),
    audience: Audience = no_audience,
    given: GivenPrompt | None = None,
) -> AgentLoop:
    """One agent with its own log, over what its session shares. A new log gets its system prompt, with what a client `given`.

    `audience` may be asked whether a summary of the agent's conversation will do.

    Raises:
        ConfigError, InvalidToolError
    """
    model, config, permission = services.model, services.host.configuration.live, services.permission
    toolset = load_tools(services, spec, injected(services, spec, todos, crew))
    if not log.context.system_prompt:
        log.publish(services.workplace.system_prompt(spec, given))
    size = ContextSize(log, toolset)
    meter = UsageCounter(log, model.costs, size)
    rewinder, judged = services.files.rewinder, services.files.judged
    compactor = Compactor(
        log, size, lambda: model.models.provider, model.costs, config, services.hooks, audience, services.session_id
    )
    counts = services.host.models.providers.repairs
    return AgentLoop(
        log=log,
        model=ModelCaller(log, model.models, toolset, config, meter, services.session_id, crew.market.call_ids),
        tools=tool_runner(services, spec, log, toolset),
        compactor=compactor,
        repairs=Repairs(log, model.models, compactor, toolset, counts),
        extensions=(
            model.budgets,
            LeakedCalls(log, toolset, counts),
            PlanReminder(log, permission.approval),
            AwayReminder(log, lambda: permission.modes.away, config),
            TimeMachine(crew.phone, rewinder, toolset, judged, permission.approval),
            ReviewNews(log, services.files.recorded.untold, judged.root, crew.market, crew.agent_id),
            FolderInstructions(
                log,
                services.files.recorded.untold,
                judged.root,
                judged.additional,
                services.workplace.waits,
                UnreadInstructions.of(services, crew.market.log).tell,
                crew.agent_id,
            ),
            *(LookingBeside(capture) for capture in (services.files.recorded.capture,) if capture is not None),
            *extensions,
        ),
        watching=Foresight(services.session_id, toolset, services.files.recorded.foreseen),
    )


def tool_runner(services: SessionServices, spec: AgentSpec, log: SessionLog, toolset: Toolset) -> ToolRunner:
    """Runs an agent's calls, and sees what they do to files."""
    cwd, files = str(services.workplace.opening.cwd), services.files.recorded
    return ToolRunner(
        log,
        toolset,
        services.permission.approval,
        files,
        cwd,
        hooks=services.hooks,
        capture=files.capture,
        work=files.work,
        read_only=spec.fields.read_only,
    )


def load_tools(services: SessionServices, spec: AgentSpec, injectable: dict[Any, object]) -> Toolset:
    """The spec's tools as far as they are offered now, and those of the session's sources that it names."""
    paths, places = offered_paths(spec, services.workplace.situation(services.model.models.info))
    return Toolset.load(paths, injectable, places, sources=services.sources, patterns=spec.fields.mcp_tools)


def injected(services: SessionServices, spec: AgentSpec, todos: TodoList, crew: Crew) -> dict[Any, object]:
    """What an agent's tools may ask for, by type (D30)."""
    workplace, permission, files = services.workplace, services.permission, services.files
    directory, cwd = services.directory, workplace.opening.cwd
    return {
        DenwaRenji: crew.phone,
        Rewinder: files.rewinder,
        CallFiles: files.judged,
        Workspace: files.judged,
        Config: services.host.configuration.live.now,
        Approval: permission.approval,
        Environment: workplace.environment,
        TodoList: todos,
        Crew: crew,
        LaborMarket: crew.market,
        BackgroundTasks: crew.market.tasks,
        OutputDirectory: OutputDirectory(directory / OUTPUTS),
        Questions: permission.questions,
        PlanMode: permission.plan_mode,
        ToolSession: ToolSession(services.session_id, cwd, directory, workplace.directories),
        ModelCapabilities: ModelCapabilities(services.model.models.capabilities),
        PromptArguments: PromptArguments(partial(workplace.arguments, spec)),
    }
