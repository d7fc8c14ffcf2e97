"""The command line of the benchmarks: `make bench`, `make bench-peers`, `make bench-quick`.

Times move with the machine; what stands beside a figure was measured in the same run. A missed budget does not fail a
run: these are numbers to read, not tests. Only a whole run at full size writes the report.
"""

import argparse
import fnmatch
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import build
import peers
import performancepage
import report
from agents import raw_agent, sould
from figures import apart
from row import OURS, RAW, Measurement
from rows import commandline, commands, editors, history, journal, lsp, memory, review, search, startup, streaming
from runner import Finding, find
from world import MakeAgent, World, make_world

BASE = "before"
MOST_WITH_PEERS = 3
"""Rounds."""
SCALES = {"quick": 0.1}
MEASUREMENTS: tuple[Measurement, ...] = (
    startup.warm,
    startup.cold,
    streaming.first_token,
    streaming.first_token_paused,
    streaming.chunk_latency,
    streaming.full_speed,
    streaming.crowd,
    editors.eight,
    editors.fifty,
    commands.read_file,
    commands.again,
    *commands.TREES,
    *search.SEARCHES,
    search.glob,
    history.requests,
    history.load,
    history.newest_page,
    history.beside,
    commandline.warm,
    commandline.cold,
    memory.daemon,
    memory.after_trees,
    memory.visits,
    journal.append,
    review.review,
    review.large,
    lsp.first,
    lsp.warm,
    lsp.hunks,
    lsp.loaded,
    lsp.typing,
    lsp.windows,
)


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    rows: Sequence[str]
    """Patterns of names; empty for all."""
    rounds: int
    """0: as many as each measurement says."""
    scale: float
    against: str
    """The revision that `quick` compares with."""

    @property
    def whole(self) -> bool:
        """Whether the result may be published."""
        return not self.rows and not self.rounds and self.scale == 1


def bench(options: Options) -> None:
    """Everything, against the budgets."""
    python = build.this_tree()
    with make_world(python, ours(python), options.scale) as world:
        run = measured(world, options, MEASUREMENTS, {})
    if options.whole:
        publish(report.kept() | {"bench": run})


def bench_peers(options: Options) -> None:
    """What an editor can ask of any agent, of ours and of others."""
    python = build.this_tree()
    others = peers.installed()
    with make_world(python, ours(python) | others.agents, options.scale) as world:
        left_out = others.left_out | peers.drop_those_that_do_not_answer(world)
        asked = [replace(each, rounds=rounds_with_peers(each)) for each in MEASUREMENTS if each.peers]
        run = measured(world, options, asked, others.versions)
    run["left_out"] = left_out
    if options.whole:
        publish(report.kept() | {"peers": run})


def rounds_with_peers(measurement: Measurement) -> int:
    """Fewer, since some agents need seconds only to start: a whole run is to take less than 20 minutes."""
    return max(1, min(measurement.rounds - 1, MOST_WITH_PEERS))


def publish(record: report.Record) -> None:
    """Write everything that is written from the record."""
    report.keep(record)
    performancepage.keep(record)


def bench_quick(options: Options) -> None:
    """Whether a change cost something: this tree beside a revision, both in turns, in a minute."""
    begun = time.time()
    python, before = build.this_tree(), build.revision(options.against)
    agents: dict[str, MakeAgent] = {OURS: partial(sould, python), BASE: partial(sould, before)}
    with make_world(python, agents, options.scale) as world:
        for measurement in chosen(options.rows, [each for each in MEASUREMENTS if each.quick]):
            for finding in find(world, measurement, options.rounds or measurement.quick):
                print(compared(finding), flush=True)
        print(f"{time.time() - begun:.0f} s; CHANGED: in 95 of 100 pairs of rounds one was above the other")


def ours(python: Path) -> dict[str, MakeAgent]:
    """Ours and the floor."""
    return {OURS: partial(sould, python), RAW: partial(raw_agent, python)}


def chosen(patterns: Sequence[str], measurements: Iterable[Measurement]) -> Iterator[Measurement]:
    """Those with a row whose name fits a pattern."""
    for each in measurements:
        if not patterns or any(fnmatch.fnmatch(row.name, pattern) for row in each.rows for pattern in patterns):
            yield each


def measured(
    world: World, options: Options, measurements: Iterable[Measurement], versions: dict[str, str]
) -> report.Run:
    """Measure and print; each row at once, because a run takes minutes."""
    begun = time.time()
    findings: list[Finding] = []
    for measurement in chosen(options.rows, measurements):
        for finding in find(world, measurement, options.rounds or measurement.rounds):
            findings.append(finding)
            print(report.line(finding), flush=True)
    print(f"{time.time() - begun:.0f} s on {report.machine()}")
    return report.run_of(findings, begun, versions)


def compared(finding: Finding) -> str:
    """One row of `quick`: what is more than the machine does by itself is said to be so."""
    sides, row = finding.sides, finding.row
    if OURS not in sides or BASE not in sides:
        return f"         {row.name}: not measured: {'; '.join(finding.failed.values())}"
    now, before = sides[OURS], sides[BASE]
    verdict = "CHANGED " if apart(finding.samples[OURS], finding.samples[BASE]) else "the same"
    change = f"{(now.median / before.median - 1) * 100:+.0f} %" if before.median else ""
    return f"{verdict} {row.name}: {report.shown(now.median)} {row.unit}, before {report.shown(before.median)} {change}"


def end(*_: object) -> None:
    """Clear away when told to end, too; whoever says it twice, as make does, does not disturb that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit("bench: ended")


def main(words: Sequence[str]) -> int:
    """Do what the command line says; the exit status."""
    kinds = {"bench": bench, "peers": bench_peers, "quick": bench_quick}
    parser = argparse.ArgumentParser(prog="bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("kind", choices=[*kinds, "write"])
    parser.add_argument("rows", nargs="*", help="names of rows, with * if you like; all when there are none")
    parser.add_argument("--rounds", type=int, default=0, help="instead of what each measurement says")
    parser.add_argument("--scale", type=float, default=0.0, help="multiplies sizes; for trying only")
    parser.add_argument("--against", default="HEAD", help="the revision that `quick` compares with")
    parser.add_argument("--list", action="store_true", help="only name the rows")
    asked = parser.parse_intermixed_args(words)
    signal.signal(signal.SIGTERM, end)
    names = [row.name for each in MEASUREMENTS for row in each.rows]
    unknown = [pattern for pattern in asked.rows if not fnmatch.filter(names, pattern)]
    if unknown:
        parser.error(f"no row is called {', '.join(unknown)}; --list names them all")
    if asked.list:
        print(*(f"{row.name:32} {row.what}" for each in MEASUREMENTS for row in each.rows), sep="\n")
    elif asked.kind == "write":
        publish(report.kept())
    else:
        with build.exclusive():
            kinds[asked.kind](
                Options(asked.rows, asked.rounds, asked.scale or SCALES.get(asked.kind, 1.0), asked.against)
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
