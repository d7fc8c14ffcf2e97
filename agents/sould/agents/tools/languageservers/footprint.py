"""How much memory and processor time a process has taken, with all that it started. Reads /proc; elsewhere nothing is known."""

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

MOST: Final = 1000
"""Processes of one tree that are looked at."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Footprint(Struct, frozen=True):
    """`memory`: resident bytes; `seconds`: of a processor."""

    memory: int = 0
    seconds: float = 0.0


def footprint(pid: int) -> Footprint:
    """Of a process and its descendants; of what has ended, or cannot be looked at, nothing."""
    pending, seen = [pid], set[int]()
    memory = ticks = 0
    while pending and len(seen) < MOST:
        each = pending.pop()
        if each in seen:
            continue
        seen.add(each)
        try:
            fields = Path(f"/proc/{each}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
            pages = Path(f"/proc/{each}/statm").read_text("ascii").split()[1]
            tasks = os.listdir(f"/proc/{each}/task")
            children = [Path(f"/proc/{each}/task/{task}/children").read_text("ascii") for task in tasks]
            ticks += int(fields[11]) + int(fields[12])
            memory += int(pages) * _PAGE
        except (OSError, ValueError, IndexError):  # it has ended, or this is no Linux
            continue
        pending += [int(child) for line in children for child in line.split()]
    return Footprint(memory, ticks / _TICKS)
