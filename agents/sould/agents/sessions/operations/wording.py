"""What an operation came to, in words: the same in the answer of a slash command and in the notice to all clients. Pure."""

from collections.abc import Iterator

from sould.agents.base.text import plural
from sould.agents.sessions.operations.travel import NothingToGoTo, Returned, TookKeptBack, TravelResult
from sould.agents.soul.compaction.breakdown import Breakdown, ToolShare
from sould.agents.soul.timetravel.outcome import describe, headline

CLEARED = "The context has been cleared."
COMPACTED = "The context has been compacted."
_NOTHING = {
    "unknown_checkpoint": "There is no such checkpoint to go back to. `/rewind` lists them.",
    "nothing_to_undo": "There is no turn to undo.",
    "nothing_to_redo": "There is nothing to redo: `/redo` reverses an `/undo` or `/rewind`, until you continue from there.",
}


def breakdown_text(found: Breakdown) -> str:
    """What fills the window, as lines of Markdown."""
    return "\n".join(_breakdown_lines(found))


def _breakdown_lines(found: Breakdown) -> Iterator[str]:
    share = f" ({found.used / found.window:.0%})" if found.window else ""
    yield f"{found.used:,} of {found.window:,} tokens of the model's window are used{share}."
    counted = (
        "The model's server counted the whole; how"
        if found.counted
        else "Nobody has counted them yet: all this and how"
    )
    yield f"{counted} it divides is estimated from the texts.\n"
    yield f"- instructions: {found.instructions:,}"
    yield f"- what you said, with notes and summaries: {found.asked:,}"
    yield f"- what the agent said and thought: {found.answered:,}"
    yield from map(_tool_line, found.tools)


def _tool_line(tool: ToolShare) -> str:
    name = f"MCP server `{tool.name}`" if tool.server else f"`{tool.name}`"
    if not tool.calls:
        return f"- {name}: {tool.described:,}, its description; no calls"
    return f"- {name}: {tool.used + tool.described:,}, of which its description {tool.described:,}; {plural(tool.calls, 'call')}"


def travelled(done: TravelResult) -> tuple[str, str]:
    """What was done, and what comes next; what became of each file everybody is shown beside it."""
    if isinstance(done, NothingToGoTo):
        return _NOTHING[done.reason], ""
    files = f"{headline(done.restored)}." if done.restored.files else describe(done.restored)
    if isinstance(done, Returned):
        return "Returned.", files
    if isinstance(done, TookKeptBack):
        return "What you had kept was taken back, too.", f"{files} `/redo` reverses both."
    match done.undid:
        case "turn":
            return "The last turn was undone.", f"{files} `/redo` reverses this."
        case "clearing":
            return "The /clear was undone: the conversation is as before.", f"{files} `/redo` reverses this."
        case None:
            return f"Back at checkpoint {done.checkpoint}.", f"{files} `/redo` reverses this."
