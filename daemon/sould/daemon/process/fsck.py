"""`sould fsck`: read every journal and say what is wrong. Changes nothing; runs in a thread."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sould.agents.journal.records import Scan
from sould.daemon.methods import FsckProblem, FsckReport


def check_sessions(state: Path, directories: Sequence[Path] | None) -> FsckReport:
    """Check these sessions, or all below `state`. One unreadable session never hides the others."""
    found_all = (path for path in (state / "sessions").glob("*") if path.exists())  # a link's session may be away
    chosen = sorted(found_all) if directories is None else directories
    problems: list[FsckProblem] = []
    records = 0
    for directory in chosen:
        try:
            found, count = _check(directory)
        except OSError as error:
            found, count = [_problem(directory, "wire.jsonl", f"cannot be read: {error.strerror}")], 0
        problems += found
        records += count
    return FsckReport(sessions=len(chosen), records=records, problems=tuple(problems))


def _check(directory: Path) -> tuple[list[FsckProblem], int]:
    problems = list(_set_aside(directory))
    journal = directory / "wire.jsonl"
    if not journal.is_file():
        if directory.is_symlink() and (directory / "context.jsonl").is_file():
            return problems, 0  # kimi-cli has not always kept a journal; it is made when the session is opened
        return [*problems, _problem(directory, "wire.jsonl", "is missing")], 0
    with journal.open("rb") as file:
        scan = Scan(file)
        expected = 0
        for record in scan:
            if scan.ours and expected and record.seq > expected and not scan.damage:
                problems.append(
                    _problem(directory, "wire.jsonl", f"records {expected} to {record.seq - 1} are missing")
                )
            expected = record.seq + 1
    if scan.newer:
        newer = f"was written by a newer sould (journal format {scan.newer}); update sould, then run `sould restart`"
        return [*problems, _problem(directory, "wire.jsonl", newer)], scan.records
    if scan.metadata is None and scan.ours:
        problems.append(_problem(directory, "wire.jsonl", "has no header line"))
    problems += [
        FsckProblem(
            session=directory.name,
            file="wire.jsonl",
            severity="warning",  # the session opens without them, and nothing more can be done
            problem=f"{bad.length} damaged bytes at {bad.position}; they are ignored",
        )
        for bad in scan.damage
    ]
    if scan.size > scan.good_end:
        problems.append(
            FsckProblem(
                session=directory.name,
                file="wire.jsonl",
                severity="repaired",
                problem=f"{scan.size - scan.good_end} bytes of an unfinished record, set aside at the next open",
            )
        )
    return problems, scan.records


def _set_aside(directory: Path) -> Iterator[FsckProblem]:
    for torn in _torn(directory):
        yield FsckProblem(
            session=directory.name,
            file=torn.name,
            severity="repaired",
            problem=f"{torn.stat().st_size} bytes of an unfinished record were set aside",
        )


def _torn(directory: Path) -> Iterable[Path]:
    return sorted(path for path in directory.iterdir() if ".torn-" in path.name)


def _problem(directory: Path, file: str, problem: str) -> FsckProblem:
    return FsckProblem(session=directory.name, file=file, severity="error", problem=problem)
