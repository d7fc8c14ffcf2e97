"""The commands of a session: each group given the parts of the session that it is about, and nothing else."""

from sould.agents.sessions.commands.choosing import ModeCommands, OptionCommands
from sould.agents.sessions.commands.context import ContextCommands
from sould.agents.sessions.commands.conversation import Conversation
from sould.agents.sessions.commands.directory_commands import WorkplaceCommands
from sould.agents.sessions.commands.editorcontext import EditorContextCommands
from sould.agents.sessions.commands.flows import FlowCommands
from sould.agents.sessions.commands.loops import LoopCommands
from sould.agents.sessions.commands.looptasks import LoopTasks
from sould.agents.sessions.commands.review import ReviewCommands
from sould.agents.sessions.commands.servers import ServerCommands
from sould.agents.sessions.commands.sharing import SharingCommands
from sould.agents.sessions.commands.skills import SkillCommands
from sould.agents.sessions.commands.slash import CommandRegistry, CommandSource
from sould.agents.sessions.commands.status_commands import ShowingCommands
from sould.agents.sessions.commands.travel import TravelCommands
from sould.agents.sessions.commands.worktree import WorktreeCommands, WorktreeStatus
from sould.agents.sessions.furthertools import project_memory
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.turns.loopcontrols import LoopControls
from sould.agents.sessions.turns.queueing import PromptQueue


def command_sources(
    parts: Parts,
    conversation: Conversation,
    registry: CommandRegistry,
    waiting: PromptQueue,
    loops: LoopCommands,
    review: ReviewCommands,
    worktree: WorktreeCommands,
) -> tuple[CommandSource, ...]:
    """All of them. The session's own come first: they win over those of skills, flows and servers."""
    operations, workplace = parts.operations, parts.services.workplace
    return (
        ContextCommands(conversation, operations.context),
        _mode_commands(parts, conversation),
        TravelCommands(conversation, operations.travel),
        review,
        _showing_commands(parts, conversation, registry, waiting),
        _workplace_commands(parts, conversation),
        worktree,
        SharingCommands(conversation, operations.sharing),
        OptionCommands(conversation, parts.choices.options),
        EditorContextCommands(conversation, project_memory(parts.services.host), workplace.opening.cwd),
        SkillCommands(conversation, workplace.skills),
        loops.tasks.flows,
        loops,
        ServerCommands(conversation, parts.further.mcp),
    )


def make_review(parts: Parts, conversation: Conversation) -> ReviewCommands:
    """`/review`, `/keep`, `/reject`."""
    return ReviewCommands(conversation, parts.operations.review, parts.attached, parts.entry.info.cwd)


def make_loops(
    parts: Parts, conversation: Conversation, registry: CommandRegistry, controls: LoopControls
) -> LoopCommands:
    """`/loop`, and what repeats the prompts of the session."""
    services = parts.services
    flows = FlowCommands(conversation, services.workplace.skills)
    tasks = LoopTasks(conversation.config, flows, registry)
    return LoopCommands(
        conversation,
        tasks,
        controls,
        parts.choices.repeats,
        services.model,
        services.files.rewinder,
        parts.entry.info.cwd,
    )


def _mode_commands(parts: Parts, conversation: Conversation) -> ModeCommands:
    choices, permission = parts.choices, parts.services.permission
    return ModeCommands(conversation, choices.options, permission.modes, choices.mode_switch, permission.plan_mode)


def _workplace_commands(parts: Parts, conversation: Conversation) -> WorkplaceCommands:
    can_ask = "questions" in parts.services.workplace.opening.capabilities
    tasks = parts.work.tasks
    return WorkplaceCommands(conversation, parts.operations.directories, parts.choices.trusting, tasks, can_ask)


def _showing_commands(
    parts: Parts, conversation: Conversation, registry: CommandRegistry, waiting: PromptQueue
) -> ShowingCommands:
    services = parts.services
    shown = (
        parts.entry,
        parts.choices.options,
        parts.operations.context,
        services.workplace.directories,
        WorktreeStatus(services.host.files.worktrees, parts.entry.info.cwd),
        services.permission.modes,
        waiting,
        parts.work.tasks,
        parts.further.mcp,
        services.hooks,
    )
    return ShowingCommands(conversation, registry, shown)
