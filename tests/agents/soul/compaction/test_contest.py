"""The contest: its committed report is what it says today, and the winner is the default."""

import re
import subprocess
import sys
from pathlib import Path

from sould.agents.base.config import Compaction

ROOT = Path(__file__).parents[4]


def test_the_committed_report_is_current_and_the_winner_is_the_default() -> None:
    report = (ROOT / "docs" / "compaction-contest.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^```sh\n(.*?)\n```$", report, re.MULTILINE)
    command = command.replace(".venv/bin/python", sys.executable)
    tables = subprocess.run(command.split(), cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    assert tables in report
    scores = {name: int(score) for name, score in re.findall(r"^\| (\w+) \| (\d+) %", tables, re.MULTILINE)[:3]}
    assert max(scores, key=scores.__getitem__) == Compaction().strategy
