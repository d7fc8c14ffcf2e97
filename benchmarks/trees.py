"""Projects of a given size to work in: many small files in directories of twenty, in git or not.

They are made once a run, below a temporary directory that is in no repository itself, and never inside this one.
"""

import subprocess
from pathlib import Path

IN_A_DIRECTORY = 20
DIRECTORIES_TOGETHER = 20
EVERY = 1000
"""One file in so many holds the word that searches look for."""
NEEDLE = "needle_in_the_hay"
LINES = "".join(f"line {number} of a file that says nothing in particular\n" for number in range(20))


def make_tree(root: Path, files: int, *, git: bool) -> Path:
    """A tree of so many files at `root`."""
    root.mkdir(parents=True)
    for number in range(files):
        place, name = divmod(number, IN_A_DIRECTORY)
        directory = root / f"part{place // DIRECTORIES_TOGETHER}" / f"module{place}"
        if name == 0:
            directory.mkdir(parents=True, exist_ok=True)
        text = LINES if number % EVERY else f"{LINES}{NEEDLE}\n"
        (directory / f"file{number}.py").write_text(f"# {number}\n{text}")
    if git:
        commit(root)
    return root


def commit(root: Path) -> None:
    """Make it a repository in which everything is committed, and nothing goes on in the background."""
    run = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "tree"]):
        subprocess.run([*run, *words], cwd=root, check=True, stdout=subprocess.DEVNULL)
