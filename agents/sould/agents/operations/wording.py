"""What an operation came to, in words: the same in the answer of a slash command and in the notice to all clients. Pure."""

from sould.agents.operations.travel import NothingToGoTo, Returned, TookKeptBack, TravelResult
from sould.agents.timetravel.outcome import describe, headline

CLEARED = "The context has been cleared."
COMPACTED = "The context has been compacted."
_NOTHING = {
    "unknown_checkpoint": "There is no such checkpoint to go back to. `/rewind` lists them.",
    "nothing_to_undo": "There is no turn to undo.",
    "nothing_to_redo": "There is nothing to redo: `/redo` reverses an `/undo` or `/rewind`, until you continue from there.",
}


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
