"""The review of one project, asked of the daemon by a client that opens no session and asks no model (docs/review-clients.md).

Answers are given as they came, for JSON; `files_of` and `outcome_of` read them. Nothing here decides anything or prints.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from sould.agents.files.review.lines import split
from sould.agents.files.reviewing.shapes import ReviewList, ReviewOutcome, ShownFile, ShownHunk, texts_of
from sould.daemon.cli.conversation import Answer, DaemonConversation, read
from sould.daemon.cli.daemon_client import Params

if TYPE_CHECKING:
    from sould.agents.files.review.decisions import Verdict

NAME = "sould review"
NO_PROJECT: Final = "/"
"""The root of files that belong to no project, wherever they lie."""


class Chosen(NamedTuple):
    """What a decision is about: hunks by their numbers, with what was seen of them ("": as it is now); else all that holds of the rest."""

    hunks: Mapping[int, str] = {}
    paths: tuple[str, ...] = ()
    session_id: str = ""
    turn_id: str = ""


class How(NamedTuple):
    """How it is decided. `lines`: of one hunk, some of its lines; `base_lines`: what it removed that goes with them."""

    choice: str | None = None
    reason: str = ""
    lines: tuple[int, int] | None = None
    base_lines: tuple[int, int] | None = None


EVERYTHING: Final = Chosen()
AS_IT_IS: Final = How()


class ReviewClient:
    """One conversation; `cwd` names the project. It begins with `open` and ends with `close`; all else raises CommandError."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd
        self._conversation = DaemonConversation(NAME)

    def open(self) -> None:
        """Reach the daemon, which is started when none runs, and say who we are."""
        self._conversation.open()

    def close(self) -> None:
        """Let go of it."""
        self._conversation.close()

    # --- what is asked ----------------------------------------------------------------------------------------------

    def unsaved(self, paths: tuple[str, ...] = ()) -> list[Answer]:
        """What editors held unsaved when they ended, by path, where the files do not hold it now."""
        return self._look_up("rejected", {"paths": list(paths)}).get("unsaved", [])

    def pending(self, chosen: Chosen = EVERYTHING, *, absent: bool = False) -> Answer:
        """What is pending of what was chosen, in the files as they are now."""
        about = {"paths": list(chosen.paths), "sessionId": chosen.session_id, "turnId": chosen.turn_id}
        return self._look_up("list", {**about, "absent": absent})

    def decide(self, verdict: "Verdict", chosen: Chosen, how: How = AS_IT_IS) -> Answer:
        """Keep or reject; of nothing in particular: everything. Raises InterruptedRequestError, too."""
        params: Params = {"choice": how.choice, "reason": how.reason, "lines": how.lines, "baseLines": how.base_lines}
        if chosen.hunks:
            params["hunks"] = _named(chosen.hunks)
        elif chosen == EVERYTHING:
            params["all"] = True
        else:
            params |= {"paths": list(chosen.paths), "sessionId": chosen.session_id, "turnId": chosen.turn_id}
        return self._ask(verdict, params)

    def undo(self, numbers: Iterable[int]) -> Answer:
        """Take decisions back. Raises InterruptedRequestError, too."""
        return self._ask("undo", {"hunks": _named(dict.fromkeys(numbers, ""))})

    def deleted(self, path: str) -> str:
        """The text of a file that agents deleted; "" where there is none."""
        return self._look_up("base", {"path": path}).get("text") or ""

    def _look_up(self, method: str, params: Params) -> Answer:
        return self._conversation.look_up(f"_sould/review/{method}", {"cwd": self._cwd, **params})

    def _ask(self, method: str, params: Params) -> Answer:
        return self._conversation.ask(f"_sould/review/{method}", {"cwd": self._cwd, **params})


@contextmanager
def reviewing(cwd: str) -> Generator[ReviewClient]:
    """A conversation about the project of a directory; a daemon is started when none runs. Raises CommandError."""
    client = ReviewClient(cwd)
    try:
        client.open()
        yield client
    finally:
        client.close()


def files_of(answer: Answer) -> Sequence[ShownFile]:
    """Of a list. Raises CommandError."""
    return read(answer, ReviewList, NAME).files


def outcome_of(answer: Answer) -> ReviewOutcome:
    """Of a decision. Raises CommandError."""
    return read(answer, ReviewOutcome, NAME)


def _named(hunks: Mapping[int, str]) -> list[Params]:
    return [{"id": number, "digest": digest} for number, digest in hunks.items()]


class SurroundingLines:
    """The lines around hunks, from the user's files as they are on disk; of deleted files, from the daemon. Each file is read once."""

    def __init__(self, client: ReviewClient) -> None:
        self._client = client
        self._texts: dict[str, Sequence[str]] = {}

    def text(self, hunk: ShownHunk) -> Sequence[str]:
        """The lines of its file, which may be deleted.

        () when they cannot be read, or others stand there: what an editor has is not saved.
        """
        if hunk.kind == "delete":
            return split(self._client.deleted(hunk.path))
        if hunk.kind != "text":
            return ()
        lines = self._texts.get(hunk.path)
        if lines is None:
            lines = self._texts[hunk.path] = _read(hunk.path)
        fits = tuple(lines[hunk.start : hunk.start + len(hunk.lines)]) == texts_of(hunk)
        return lines if fits and hunk.state not in ("absent", "stale") else ()


def _read(path: str) -> Sequence[str]:
    try:
        with open(path, "rb") as file:
            return split(file.read().decode(errors="replace"))
    except OSError:
        return ()
