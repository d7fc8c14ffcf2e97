"""Writes what a full run of the fault catalogue found, from pytest's own record of it. Never decides whether it passed.

python scripts/faultreport.py JUNIT.xml REPORT.md
"""

import os
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree


def main(record: Path, report: Path) -> None:
    """One table a file of tests, slowest fault first, behind a summary."""
    suite = ElementTree.parse(record).getroot().find("testsuite")
    assert suite is not None, f"{record} is not a record of pytest's"
    report.write_text("\n".join(lines(suite)) + "\n")


def lines(suite: ElementTree.Element) -> Iterator[str]:
    """The report as Markdown."""
    cases = sorted(suite.iter("testcase"), key=lambda case: -float(case.get("time", "0")))
    bad = [case for case in cases if outcome(case) != "passed"]
    yield "# The fault catalogue at its full sizes\n"
    yield "Written by `make faults`; `make test` runs the same faults small.\n"
    machine = f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
    seconds = float(suite.get("time", "0"))
    yield f"{time.strftime('%Y-%m-%d')}, {machine}: {len(cases)} tests, {len(bad)} not passed, {seconds:.0f} s.\n"
    for name in sorted({place(case) for case in cases}):
        yield f"## {name}\n\n| fault | seconds | |\n| --- | --- | --- |"
        for case in (case for case in cases if place(case) == name):
            yield f"| {sentence(case)} | {float(case.get('time', '0')):.1f} | {outcome(case)} |"
        yield ""


def place(case: ElementTree.Element) -> str:
    """The topic: what the file of tests is called."""
    return case.get("classname", "").rpartition("test_")[2].replace("_", " ")


def sentence(case: ElementTree.Element) -> str:
    """What the test says, as one reads it."""
    return case.get("name", "").removeprefix("test_").replace("_", " ").replace("|", "\\|")


def outcome(case: ElementTree.Element) -> str:
    """As pytest recorded it."""
    return next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
