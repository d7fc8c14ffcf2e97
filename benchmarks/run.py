"""`make bench`: measure everything that has a budget, each beside a floor measured in the same run, and print a table.

Times move with the machine; the ratios are what to compare. Name parts to run only those: make bench ARGS="startup memory".
A missed budget does not fail the run: these are numbers to read, not tests.
"""

import platform
import sys

import history
import memory
import startup
import streaming
from report import Report
from rig import rig

PARTS = {
    "startup": startup.measure,
    "memory": memory.measure,
    "streaming": streaming.measure,
    "history": history.measure,
}


def main(names: list[str]) -> int:
    """Run the named parts, or all; the exit status."""
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"bench: no part {', '.join(unknown)}; the parts are {', '.join(PARTS)}", file=sys.stderr)
        return 2
    report = Report()
    with rig() as world:
        print(f"Python {platform.python_version()}, {platform.machine()}, Linux {platform.release()}\n")
        report.head()
        for name in names or PARTS:
            PARTS[name](world, report)
    report.conclude()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
