"""What a restore of files came to, in words: the same for the user, the model and every face. Pure."""

from collections.abc import Sequence
from pathlib import Path

from sould.agents.permissions.visible import visible
from sould.agents.wire.messages import FilesRestored, RestoredFile
from sould.agents.wording import plural

LEFT = ("conflict", "kept")
"""Actions that leave a file as it is."""
NOT_ASKED = "it changed after you were asked"
"""Why a file is kept that the user was not asked about."""
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
    said += [f"Left unchanged: `{visible(file.path)}` ({file.reason})." for file in left(done)]
    return " ".join(said)


def line(file: RestoredFile, root: str) -> str:
    """`src/a.py: restored`, below `root` without its directories."""
    path = Path(file.path)
    name = path.relative_to(root) if path.is_relative_to(root) else path
    shown = visible(str(name)).replace("\n", "\\n")
    return f"{shown}: {_DONE.get(file.action) or f'left as it is ({file.reason})'}"
