"""`sould debug wire`: what happened in a session, read from its journal, also while that is written.

The session is not opened for it, and no daemon is asked: a record is in the file before any client is shown it. Only what
is never kept is not there: a command's output while it runs, and the queue.
"""

import difflib
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, TypeAlias

import click

from sould.agents.journal.log import JOURNAL
from sould.agents.sessions.store.info import read_info
from sould.agents.wire.messages import MESSAGE_TYPES
from sould.daemon.cli.debug.lines import RecordLines
from sould.daemon.cli.debug.reading import JournalReader, ReadRecord
from sould.daemon.cli.output import (
    USAGE,
    Command,
    CommandError,
    CommandGroup,
    complain,
    plural,
    size,
    span,
    table,
    visible,
)
from sould.daemon.paths import Paths

POLL_S: Final = 0.25
LONGEST_S: Final = 86_400.0 * 365
"""That a replay waits for one record: a timestamp may be anything."""
MOST_NAMED: Final = 5

Shown: TypeAlias = Callable[[ReadRecord], Iterator[str]]
"""Makes the lines that are printed for a record."""


@click.group(cls=CommandGroup)
def debug() -> None:
    """Look inside: what happened in a session, message by message.

    Examples:
      sould debug wire 01JD
      sould debug wire --follow
    """


class _Types(click.ParamType[tuple[str, ...]]):
    """Types of messages, parted by commas."""

    name = "types"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        """As Wire spells them; one that is not known stays as it is, since a journal may be of another version."""
        known = {each.casefold(): each for each in MESSAGE_TYPES}
        return tuple(known.get(name.casefold(), name) for name in str(value).replace(",", " ").split())


@debug.command(cls=Command)
@click.argument("session", default="")
@click.option("--follow", "-f", is_flag=True, help="Go on with what happens from now on, until Ctrl-C.")
@click.option("--last", "-n", type=click.IntRange(0), help="Only this many records, from the end.")
@click.option("--type", "wanted", type=_Types(), multiple=True, help="Only records of this type, or of several: A,B.")
@click.option("--not", "unwanted", type=_Types(), multiple=True, help="No records of this type, or of several: A,B.")
@click.option(
    "--speed", type=click.FloatRange(0, min_open=True), help="Replay: 1 as it happened, 10 ten times as fast."
)
@click.option("--raw", is_flag=True, help="Print the records as they are kept, one JSON object per line.")
@click.option("--stats", is_flag=True, help="Only count the records and their bytes, by type.")
def wire(
    session: str,
    follow: bool,
    last: int | None,
    wanted: tuple[tuple[str, ...], ...],
    unwanted: tuple[tuple[str, ...], ...],
    speed: float | None,
    raw: bool,
    stats: bool,
) -> None:
    """Show what happened in a session, else in the latest of this directory: each Wire message, numbered, with its time.

    SESSION is an id, the beginning of one, or the path of a `wire.jsonl`, kimi-cli's too. Damage is named on standard
    error and passed over. A command's output while it runs is not kept, so it is not here.

    Examples:
      sould debug wire 01JD --type ToolCall,ToolResult
      sould debug wire 01JD --stats
      sould debug wire --follow --last 20 --not StatusUpdate
      sould debug wire bug-report/wire.jsonl --speed 10
      sould debug wire 01JD --raw | jq 'select(.message.type == "TurnEnd")'
    """
    if stats and (follow or raw or speed is not None):
        raise CommandError("--stats counts what is there; it goes with --type, --not and --last only.", USAGE)
    reader = JournalReader(_journal(session), whole=follow)
    chosen = _Chosen(reader, _all(wanted), _all(unwanted))
    records = chosen.records() if last is None else iter(deque(chosen.records(), last))
    if stats:
        _count(records)
    else:
        _show(records, _as_kept() if raw else _readable(), speed, follow=chosen if follow else None)
    for sentence in (*reader.damage(), *reader.ending()):
        complain(sentence)
    chosen.require_met()


def _all(given: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    return frozenset(name for names in given for name in names)


class _Chosen:
    """The records of these types, all where none is named, without those of others."""

    def __init__(self, reader: JournalReader, wanted: frozenset[str], unwanted: frozenset[str]) -> None:
        self.reader = reader
        self._wanted = wanted
        self._unwanted = unwanted
        self._met = set[str]()

    def records(self) -> Iterator[ReadRecord]:
        """Those that were not given yet."""
        for each in self.reader.read():
            kind = each.record.type
            self._met.add(kind)
            if kind not in self._unwanted and (not self._wanted or kind in self._wanted):
                yield each

    def require_met(self) -> None:
        """Raises CommandError: a type was asked for that neither we nor the journal knows."""
        known = {*MESSAGE_TYPES, *self._met}
        for name in sorted((self._wanted | self._unwanted) - known):
            near = difflib.get_close_matches(name, known, 1)
            raise CommandError(f"There is no type {name!r}.{f' Did you mean {near[0]!r}?' if near else ''}", USAGE)


# --- showing --------------------------------------------------------------------------------------------------------


def _readable() -> Shown:
    lines = RecordLines()
    return lambda each: lines.lines(each.record)


def _as_kept() -> Shown:
    def kept(each: ReadRecord) -> Iterator[str]:
        text = each.kept.decode("utf-8", "replace")
        yield visible(text) if sys.stdout.isatty() else text

    return kept


def _show(records: Iterable[ReadRecord], shown: Shown, speed: float | None, follow: _Chosen | None) -> None:
    """Print them; with `follow` also those that come, until the journal is deleted."""
    clock = _Clock(speed) if speed is not None else None
    while True:
        for each in records:
            if clock is not None:
                clock.wait_for(each.record.timestamp)
            for line in shown(each):
                click.echo(line)
        if follow is None or not follow.reader.is_there:
            return
        for sentence in follow.reader.damage():
            complain(sentence)
        follow.require_met()
        time.sleep(POLL_S)
        records = follow.records()


class _Clock:
    """When a replay shows what: as far from the first record as it was, divided by the speed."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._begun: tuple[float, float] | None = None

    def wait_for(self, timestamp: float) -> None:
        """Return when it is time."""
        now = time.monotonic()
        if self._begun is None:
            self._begun = timestamp, now
        first, begun = self._begun
        due = begun + (timestamp - first) / self._speed
        time.sleep(max(0.0, min(due - now, LONGEST_S)))


# --- counting -------------------------------------------------------------------------------------------------------


def _count(records: Iterable[ReadRecord]) -> None:
    counts, sizes, times = Counter[str](), Counter[str](), list[float]()
    for each in records:
        counts[each.record.type] += 1
        sizes[each.record.type] += each.size
        times[1:] = [each.record.timestamp]
    rows = [("type", "records", "bytes")]
    rows += [(visible(kind), str(counts[kind]), str(bytes_)) for kind, bytes_ in sizes.most_common()]
    rows.append(("in all", str(counts.total()), str(sizes.total())))
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[1:]]
    click.echo(table((kind, *map(str.rjust, numbers, widths)) for kind, *numbers in rows))
    between = f" within {span(max(0.0, times[-1] - times[0]))}" if times else ""
    click.echo(f"{plural(counts.total(), 'record')}, {size(sizes.total())}{between}")


# --- which session --------------------------------------------------------------------------------------------------


def _journal(session: str) -> Path:
    """The journal that is meant. Raises CommandError: there is none, or it may be one of several."""
    path = Path(session).expanduser()
    if session and (os.sep in session or path.is_file()):
        return path / JOURNAL if path.is_dir() else path
    stored = Path(Paths(os.environ).state) / "sessions"
    names = sorted((each.name for each in stored.iterdir()), reverse=True) if stored.is_dir() else []
    if not session:
        latest = _latest(stored, names)
        click.echo(f"Session {latest}", err=True)
        return stored / latest / JOURNAL
    found = [session] if session in names else [name for name in names if name.startswith(session)]
    if len(found) != 1:
        if not found:
            raise CommandError(f"No session begins with {session!r}. See: sould sessions list --all")
        more = ", …" if len(found) > MOST_NAMED else ""
        raise CommandError(f"Several sessions begin with {session!r}: {', '.join(found[:MOST_NAMED])}{more}")
    return stored / found[0] / JOURNAL


def _latest(stored: Path, names: Iterable[str]) -> str:
    here = Path(os.path.realpath("."))
    infos = (read_info(stored / name) for name in names)
    found = [each for each in infos if each and each.directory == here and not (each.blank or each.archived)]
    if not found:
        raise CommandError(f"There is no session in {here}; name one. See: sould sessions list --all")
    return max(found, key=lambda info: info.updated).id
