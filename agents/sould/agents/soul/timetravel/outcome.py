"""What a restore of files came to, in words: the same for the user, the model and every frontend. Pure."""

from collections.abc import Sequence
from pathlib import Path

from sould.agents.base.text import plural
from sould.agents.permissions.visible import visible
from sould.agents.wire.messages import FilesRestored, RestoredFile

LEFT = ("conflict", "kept")
"""Actions that leave a file as it is."""
NOT_ASKED = "it changed after you were asked"
"""Why a file is kept that the user was not asked about."""
TAKE_KEPT = "`/undo kept` takes back what you kept, too."
_DONE = {"restored": "restored", "deleted": "deleted", "created": "brought back"}


def left(done: FilesRestored) -> Sequence[RestoredFile]:
    """The files that were left as they are."""
    return [file for file in done.files if file.action in LEFT]


def headline(done: FilesRestored) -> str:
    """`2 files restored, 1 left as it is`."""
    kept = len(left(done))
    restored = f"{plural(len(done.files) - kept, 'file')} restored" if len(done.files) > kept else "No file restored"
    return f"{restored}, {kept} left as {'it is' if kept == 1 else 'they are'}" if kept else restored


def describe(done: FilesRestored) -> str:
    """What became of the files, in sentences."""
    restored = len(done.files) - len(left(done))
    nothing = [] if left(done) else ["No file needed restoring."]
    said = [f"{plural(restored, 'file')} restored."] if restored else nothing
    for file in done.files:
        stays = what_stays(file)
        if stays and file.action not in LEFT:
            said.append(f"In `{visible(file.path)}` {stays}.")
    said += [f"Left unchanged: `{visible(file.path)}` ({what_stays(file) or file.reason})." for file in left(done)]
    return " ".join([*said, TAKE_KEPT] if done.can_take_kept else said)


def line(file: RestoredFile, root: str) -> str:
    """`src/a.py: restored`, below `root` without its directories; `1 change taken back; 1 kept change stays (line 2)`."""
    path = Path(file.path)
    name = path.relative_to(root) if path.is_relative_to(root) else path
    shown = visible(str(name)).replace("\n", "\\n")
    stays = what_stays(file)
    if file.action in LEFT:
        return f"{shown}: left as it is ({stays or file.reason})"
    done = _DONE.get(file.action, file.action)
    if stays and file.action == "restored":
        done = f"{plural(file.changes, 'change')} taken back"
    return f"{shown}: {done}; {stays}" if stays else f"{shown}: {done}"


def what_stays(file: RestoredFile) -> str:
    """`1 kept change stays (line 2); 1 change stays: it was changed since in the same place`; "" when nothing is counted."""
    said: list[str] = []
    if file.kept:
        at = ", ".join("the file as a whole" if number == 0 else f"line {number}" for number in file.kept)
        said.append(f"{_stay(len(file.kept), 'kept change')} ({at})")
    if file.conflicts:
        said.append(f"{_stay(file.conflicts, 'change')}: {file.reason}")
    return "; ".join(said)


def _stay(count: int, noun: str) -> str:
    return f"{plural(count, noun)} {'stays' if count == 1 else 'stay'}"
