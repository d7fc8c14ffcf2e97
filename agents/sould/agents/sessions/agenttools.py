"""The tools of one agent: those its spec lists and its session's sources offer, and what they may ask for by type."""

from functools import partial
from typing import Any

from sould.agents.base.config import Config
from sould.agents.base.environment import Environment
from sould.agents.base.workspace import Workspace
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.services import SessionServices
from sould.agents.sessions.settings.agents import offered_paths
from sould.agents.soul.dmail.dmail import DenwaRenji
from sould.agents.soul.spec import AgentSpec
from sould.agents.soul.subagents.crew import Crew
from sould.agents.soul.subagents.market import LaborMarket
from sould.agents.soul.timetravel.rewind import Rewinder
from sould.agents.toolapi.background import BackgroundTasks
from sould.agents.toolapi.session import ModelCapabilities, PromptArguments
from sould.agents.toolapi.session import Session as ToolSession
from sould.agents.toolapi.toolset import Toolset
from sould.agents.tools.commands import OutputDirectory
from sould.agents.tools.planmode import PlanMode
from sould.agents.tools.todo import TodoList

OUTPUTS = "outputs"
"""Below the session's directory: what tools put aside because it was too long for the model."""


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
