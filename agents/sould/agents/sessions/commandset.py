"""The table of a session's slash commands: what clients are told of each, and what carries it out.

Each group is given the parts of the session that it is about, and nothing else.
"""

from collections.abc import Iterable
from functools import partial

from sould.agents.sessions.commands.choosing import EditorContextCommands, ModeCommands, OptionCommands
from sould.agents.sessions.commands.context import ContextCommands, SharingCommands, TravelCommands
from sould.agents.sessions.commands.review import ReviewCommands
from sould.agents.sessions.commands.servers import ServerCommands
from sould.agents.sessions.commands.skills import FlowCommands, SkillCommands
from sould.agents.sessions.commands.slash import CommandRegistry, Conversation, Entry, SlashCommand
from sould.agents.sessions.commands.status_commands import (
    GoOnInWorktree,
    ShowingCommands,
    WorkplaceCommands,
    WorktreeCommands,
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
    return (
        _about_conversation(parts, conversation, review),
        _about_session(parts, conversation, registry, waiting, go_on),
        ((SlashCommand("skills", "List the skills of this session"), skills.show),),
        skills,
        loops.tasks.flows,
        ((loop, loops.loop), (SlashCommand("mcp", "Show the MCP servers of this session", "[server]"), servers.show)),
        servers,
    )


def _about_conversation(parts: Parts, conversation: Conversation, review: ReviewCommands) -> tuple[Entry, ...]:
    """What the model knows, what it may do, and what became of it."""
    operations, modes = parts.operations, _mode_commands(parts, conversation)
    context = ContextCommands(conversation, operations.context)
    travel = TravelCommands(conversation, operations.travel)
    init = "Analyze the project and write its AGENTS.md"
    plan = "Plan first: change nothing until a plan is approved"
    undo = "Undo the last turn, files included, or the /clear after it"
    show = SlashCommand("review", "Show what is to be reviewed, or take a decision back", "[NUMBER|FILE|undo NUMBER]")
    reject = SlashCommand(
        "reject", "Reject changes of the agent; what you typed stays", "NUMBER|FILE|all … [mine|drop] [- reason]"
    )
    return (
        (SlashCommand("init", init, "what to focus on (optional)"), context.init),
        (SlashCommand("context", "Show what fills the model's window"), context.show),
        (SlashCommand("compact", "Compact the conversation", "[preview] [what to keep]"), context.compact),
        (SlashCommand("clear", "Start over with an empty context", aliases=("reset",)), context.clear),
        (SlashCommand("plan", plan, "[on|off|view|clear|what to plan]"), modes.plan),
        (SlashCommand("yolo", "Stop asking in this session", "[off]"), modes.yolo),
        (SlashCommand("afk", "Stop asking, and dismiss questions while you are away", "[off]"), modes.afk),
        (SlashCommand("rewind", "Go back to an earlier point, files included", "[checkpoint]"), travel.rewind),
        (SlashCommand("undo", undo, "[kept]"), travel.undo),
        (SlashCommand("redo", "Redo what the last undo or rewind took back"), travel.redo),
        (show, partial(review.in_turn, "/review")),
        (SlashCommand("keep", "Keep changes of the agent", "NUMBER|FILE|all …"), partial(review.in_turn, "/keep")),
        (reject, partial(review.in_turn, "/reject")),
    )


def _about_session(
    parts: Parts, conversation: Conversation, registry: CommandRegistry, waiting: PromptQueue, go_on: GoOnInWorktree
) -> tuple[Entry, ...]:
    """How the session stands, where it works, and what it is set to."""
    showing = _showing_commands(parts, conversation, registry, waiting)
    workplace = _workplace_commands(parts, conversation)
    worktree = WorktreeCommands(conversation, go_on)
    sharing = SharingCommands(conversation, parts.operations.sharing)
    options = OptionCommands(conversation, parts.choices.options)
    services = parts.services
    editor = EditorContextCommands(conversation, services.host.memory, services.workplace.opening.cwd)
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
        (SlashCommand("worktree", "Go on in a git worktree of its own, as another session", "[name]"), worktree.begin),
        (
            SlashCommand("export", "Export the conversation to a file", "[path ending in .md, .json or .jsonl]"),
            sharing.export,
        ),
        (
            SlashCommand("import", "Import a conversation from a file or another session", "path or session id"),
            sharing.bring,
        ),
        (mode, partial(options.choose, "mode")),
        (SlashCommand("model", "Show or choose the model", "[model]"), partial(options.choose, "model")),
        (agent, partial(options.choose, "agent")),
        (SlashCommand("editor-context", shown, "[off|ask|on]"), editor.choose),
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
        parts.mcp,
        services.hooks,
    )
    return ShowingCommands(conversation, registry, shown)
