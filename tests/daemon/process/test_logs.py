"""The daemon's log: old ones are kept, and what is printed is in the newest."""

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import logging, os, sys
from sould.daemon.process import main
main.SIZE = 1000
main.start_logging(sys.argv[1], foreground=sys.argv[2] == "foreground")
for number in range(100):
    logging.info("line %d, %s", number, "x" * 500)
print("the last words", file=sys.stderr)
"""


def logged(path: Path, where: str) -> str:
    """What a process says on standard error that writes more than the logs hold."""
    command = [sys.executable, "-c", PROGRAM, str(path), where]
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def test_five_old_logs_are_kept_and_last_words_are_in_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "log" / "daemon.log"
    assert logged(path, "background") == ""
    names = {each.name for each in path.parent.iterdir()}
    assert names == {"daemon.log", *(f"daemon.log.{number}" for number in range(1, 6))}
    text = "".join(path.with_name(f"daemon.log{end}").read_text() for end in (".5", ".4", ".3", ".2", ".1", ""))
    assert [int(line.split("line ")[1].split(",")[0]) for line in text.splitlines() if "line " in line] == [
        *range(88, 100)
    ]
    assert path.read_text().endswith("the last words\n")


def test_in_the_foreground_people_see_all_of_it(tmp_path: Path) -> None:
    seen = logged(tmp_path / "daemon.log", "foreground")
    assert seen.count("line ") == 100
    assert seen.endswith("the last words\n")
