"""The table of a session's slash commands: what clients are told of each, and what carries it out.

Each group is given the parts of the session that it is about, and nothing else.
"""

from collections.abc import Iterable
from functools import partial

from sould.agents.sessions.commands.choosing import ChoosingCommands
from sould.agents.sessions.commands.context import ConversationCommands
from sould.agents.sessions.commands.review import ReviewCommands
from sould.agents.sessions.commands.servers import ServerCommands
from sould.agents.sessions.commands.skills import FlowCommands, SkillCommands
from sould.agents.sessions.commands.slash import CommandRegistry, Conversation, Entry, SlashCommand
from sould.agents.sessions.commands.status_commands import (
    GoOnInWorktree,
    ShowingCommands,
    WorkplaceCommands,
    WorktreeStatus,
)
from sould.agents.sessions.loops.commands import LoopCommands, LoopTasks
from sould.agents.sessions.loops.controls import LoopControls
from sould.agents.sessions.session_builder import Parts
from sould.agents.sessions.turns.queueing import PromptQueue


def command_sources(
    parts: Parts,
    conversation: Conversation,
    registry: CommandRegistry,
    waiting: PromptQueue,
    loops: LoopCommands,
    review: ReviewCommands,
    go_on: GoOnInWorktree,
) -> tuple[Iterable[Entry], ...]:
    """All of them, as they are listed. The session's own come first: they win over those of skills, flows and servers."""
    skills = SkillCommands(conversation, parts.services.workplace.skills)
    servers = ServerCommands(conversation, parts.mcp)
    loop = SlashCommand("loop", "Repeat a task until it is complete", "[N] prompt, or pause, off, resume, list, help")
    operations = parts.operations
    talk = ConversationCommands(conversation, operations.context, operations.sharing, operations.travel)
    choosing = _choosing_commands(parts, conversation)
    return (
        _about_conversation(talk, choosing, review),
        _about_session(
            _showing_commands(parts, conversation, registry, waiting),
            _workplace_commands(parts, conversation, go_on),
            talk,
            choosing,
        ),
        ((SlashCommand("skills", "List the skills of this session"), skills.show),),
        skills,
        loops.tasks.flows,
        ((loop, loops.loop), (SlashCommand("mcp", "Show the MCP servers of this session", "[server]"), servers.show)),
        servers,
    )


def _about_conversation(
    talk: ConversationCommands, choosing: ChoosingCommands, review: ReviewCommands
) -> tuple[Entry, ...]:
    """What the model knows, what it may do, and what became of it."""
    init = "Analyze the project and write its AGENTS.md"
    plan = "Plan first: change nothing until a plan is approved"
    undo = "Undo the last turn, files included, or the /clear after it"
    show = SlashCommand("review", "Show what is to be reviewed, or take a decision back", "[NUMBER|FILE|undo NUMBER]")
    reject = SlashCommand(
        "reject", "Reject changes of the agent; what you typed stays", "NUMBER|FILE|all … [mine|drop] [- reason]"
    )
    return (
        (SlashCommand("init", init, "what to focus on (optional)"), talk.init),
        (SlashCommand("context", "Show what fills the model's window"), talk.show),
        (SlashCommand("compact", "Compact the conversation", "[preview] [what to keep]"), talk.compact),
        (SlashCommand("clear", "Start over with an empty context", aliases=("reset",)), talk.clear),
        (SlashCommand("plan", plan, "[on|off|view|clear|what to plan]"), choosing.plan),
        (SlashCommand("yolo", "Stop asking in this session", "[off]"), choosing.yolo),
        (SlashCommand("afk", "Stop asking, and dismiss questions while you are away", "[off]"), choosing.afk),
        (SlashCommand("rewind", "Go back to an earlier point, files included", "[checkpoint]"), talk.rewind),
        (SlashCommand("undo", undo, "[kept]"), talk.undo),
        (SlashCommand("redo", "Redo what the last undo or rewind took back"), talk.redo),
        (show, partial(review.in_turn, "/review")),
        (SlashCommand("keep", "Keep changes of the agent", "NUMBER|FILE|all …"), partial(review.in_turn, "/keep")),
        (reject, partial(review.in_turn, "/reject")),
    )


def _about_session(
    showing: ShowingCommands, workplace: WorkplaceCommands, talk: ConversationCommands, choosing: ChoosingCommands
) -> tuple[Entry, ...]:
    """How the session stands, where it works, and what it is set to."""
    btw = "Ask a side question, also while a turn runs; the agent does not remember it"
    shown = "Show or choose whether agents here may see what you have open in the editor"
    mode = SlashCommand("mode", "Show or choose what happens without asking", "[mode]")
    agent = SlashCommand("agent", "Show or choose the agent", "[name or path]")
    return (
        (SlashCommand("btw", btw, "question"), showing.btw),
        (SlashCommand("queue", "Show or change the queued prompts", "[remove|edit|move NUMBER …]"), showing.queue),
        (SlashCommand("status", "Show the status of this session"), showing.status),
        (SlashCommand("help", "List these commands"), showing.help),
        (SlashCommand("add-dir", "Add a directory to the workspace", "path"), workplace.add_directory),
        (SlashCommand("trust", "Trust this project's own configuration, as it is now"), workplace.trust),
        (SlashCommand("tasks", "List, show or stop background tasks", "[output ID|stop ID]"), workplace.list_tasks),
        (
            SlashCommand("worktree", "Go on in a git worktree of its own, as another session", "[name]"),
            workplace.begin_worktree,
        ),
        (
            SlashCommand("export", "Export the conversation to a file", "[path ending in .md, .json or .jsonl]"),
            talk.export,
        ),
        (
            SlashCommand("import", "Import a conversation from a file or another session", "path or session id"),
            talk.bring,
        ),
        (mode, partial(choosing.choose, "mode")),
        (SlashCommand("model", "Show or choose the model", "[model]"), partial(choosing.choose, "model")),
        (agent, partial(choosing.choose, "agent")),
        (SlashCommand("editor-context", shown, "[off|ask|on]"), choosing.share_editor),
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


def _choosing_commands(parts: Parts, conversation: Conversation) -> ChoosingCommands:
    services, choices = parts.services, parts.choices
    modes, plan_mode = services.permission.modes, services.permission.plan_mode
    memory, cwd = services.host.memory, services.workplace.opening.cwd
    return ChoosingCommands(conversation, choices.options, modes, choices.mode_switch, plan_mode, memory, cwd)


def _workplace_commands(parts: Parts, conversation: Conversation, go_on: GoOnInWorktree) -> WorkplaceCommands:
    can_ask = "questions" in parts.services.workplace.opening.capabilities
    tasks = parts.work.tasks
    return WorkplaceCommands(conversation, parts.operations.directories, parts.choices.trusting, tasks, can_ask, go_on)


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
        parts.mcp,
        services.hooks,
    )
    return ShowingCommands(conversation, registry, shown)
