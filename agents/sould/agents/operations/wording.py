"""What an operation came to, in words: the same in the answer of a slash command and in the notice to all clients. Pure."""

from collections.abc import Callable

from sould.agents.operations.travel import NothingToGoTo, Returned, TookKeptBack, TravelResult
from sould.agents.timetravel.outcome import describe, headline
from sould.agents.wire.messages import FilesRestored

CLEARED = "The context has been cleared."
COMPACTED = "The context has been compacted."
_NOTHING = {
    "unknown_checkpoint": "There is no such checkpoint to go back to. `/rewind` lists them.",
    "nothing_to_undo": "There is no turn to undo.",
    "nothing_to_redo": "There is nothing to redo: `/redo` reverses an `/undo` or `/rewind`, until you continue from there.",
}


def travelled(done: TravelResult) -> tuple[str, str]:
    """What was done, and what became of the files and comes next."""
    return _worded(done, describe)


def travelled_in_short(done: TravelResult) -> str:
    """The same for those who are shown beside it what became of each file."""
    return " ".join(
        _worded(done, lambda restored: f"{headline(restored)}." if restored.files else describe(restored))
    ).strip()


def _worded(done: TravelResult, of_files: Callable[[FilesRestored], str]) -> tuple[str, str]:
    if isinstance(done, NothingToGoTo):
        return _NOTHING[done.reason], ""
    files = of_files(done.restored)
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
