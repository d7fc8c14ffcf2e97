"""Grep: search in files and unsaved buffers, by ripgrep where there is one, else by our own child program.

Patterns come from a model: they are never evaluated in this process.
"""

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Final, Literal

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field, JsonValue

from sould.agents.base.environment import Environment
from sould.agents.base.process.searching import (
    BUNDLED,
    DEFAULT_LIMITS,
    FileHits,
    Overlay,
    Ran,
    Ripgrep,
    SearchLimits,
    batched_by_size,
    by_encoding,
    parse_hits,
    run_program,
)
from sould.agents.base.workspace import ResolvedPath, WorkspaceError
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, failure, tool_error
from sould.agents.toolapi.result import ToolResultBuilder
from sould.agents.tools.globmatch import PatternError, otherwise
from sould.agents.tools.searchquery import SearchQuery
from sould.agents.wire.messages import ToolKind, ToolReturn

_ANY_CHARACTER: Final = frozenset(".\\[")
"""With one of these a pattern may be about characters beyond ASCII."""
PROGRAM = Path(__file__).with_name("grepmain.py")


class Params(ToolParams):
    """What to search for, where, and what to show."""

    pattern: str = Field(min_length=1, max_length=10_000, description="The regular expression.")
    path: str = Field(
        default=".", min_length=1, description="File or directory to search; the working directory if absent."
    )
    glob: str | None = Field(default=None, description="Only files whose path fits, such as `*.ts` or `src/**/*.py`.")
    type: str | None = Field(
        default=None, description="Only files of this type, such as py, js, ts, go, rust, java, md."
    )
    output_mode: Literal["files_with_matches", "content", "count_matches"] = Field(
        default="files_with_matches", description="Paths only, matching lines, or matches per file."
    )
    after: int | None = Field(default=None, alias="-A", ge=0, le=1000, description="Lines of context after (content).")
    before: int | None = Field(
        default=None, alias="-B", ge=0, le=1000, description="Lines of context before (content)."
    )
    context: int | None = Field(
        default=None, alias="-C", ge=0, le=1000, description="Lines of context around (content)."
    )
    line_numbers: bool = Field(default=True, alias="-n", description="Show line numbers (content).")
    ignore_case: bool = Field(default=False, alias="-i", description="Upper and lower case are the same.")
    head_limit: int = Field(default=250, ge=0, description="At most so many lines of output; 0 for no limit.")
    offset: int = Field(default=0, ge=0, description="Leave out so many lines of output first.")
    multiline: bool = Field(default=False, description="Let the pattern span lines.")
    include_ignored: bool = Field(default=False, description="Search files that .gitignore excludes too.")

    def lines_around(self) -> tuple[int, int]:
        """Lines of context before and after."""
        if self.output_mode != "content":
            return 0, 0
        both = self.context or 0
        return (both if self.before is None else self.before, both if self.after is None else self.after)

    def query(self, never: Sequence[str], file: str | None) -> SearchQuery:
        """What is asked of a search program; `never` are globs of files that are not opened, `file` the only one that is."""
        return SearchQuery(
            self.pattern,
            globs=(self.glob,) if self.glob else (),
            type=self.type,
            never=never,
            around=self.lines_around(),
            ignore_case=self.ignore_case,
            multiline=self.multiline,
            include_ignored=self.include_ignored,
            first_only=self.output_mode == "files_with_matches",
            files=(file,) if file else (),
        )


class Grep(Tool[Params]):
    """Search the contents of files."""

    name = "Grep"
    title = "Search files"
    kind: ClassVar[ToolKind] = "search"
    example: ClassVar[dict[str, JsonValue]] = {"pattern": "def main", "glob": "*.py", "output_mode": "content"}
    params = Params

    def __init__(
        self,
        files: CallFiles,
        environment: Environment,
        limits: SearchLimits = DEFAULT_LIMITS,
        ripgrep: Ripgrep = BUNDLED,
    ) -> None:
        self._limits = limits
        self._ripgrep = ripgrep
        self._files = files
        self._environment = environment

    def view(self, params: Params) -> CallView:
        """`Search for "pattern" in src`."""
        pattern = params.pattern if len(params.pattern) <= 80 else f"{params.pattern[:80]}..."
        title, locations = self._files.paths.named(params.path)
        where = "" if title == "." else f" in {title}"
        return CallView(title=f'Search for "{pattern}"{where}', locations=locations)

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Ask when the rules say so, search the disk and the buffers, put both together."""
        path = self._files.paths.meant(params.path)
        kind = await self._files.admit(path, "Search in {}")
        if kind is None:
            return failure(await self._files.missing(path, "a file or directory"))
        try:
            searched = await self._search(params, path, is_file=kind == "file")
        except PatternError as error:
            return tool_error(f"Bad `glob`: {error}.", brief="Bad glob")
        except (WorkspaceError, OSError) as error:
            return failure(WorkspaceError(f"{path.path} cannot be searched: {error}"))
        if isinstance(searched, ToolReturn):
            return searched
        return await asyncio.to_thread(self._report, params, searched)

    async def _search(self, params: Params, path: ResolvedPath, *, is_file: bool) -> "_Searched | ToolReturn":
        base = path.path.parent if is_file else path.path
        never = await asyncio.to_thread(self._files.passed_over, path)
        query, ran, found = await self._search_disk(
            params.query(never, path.path.name if is_file else None), base, path
        )
        if not ran.output and ran.code not in {0, 1}:
            return self._failed(ran)
        ended = not (ran.timed_out or ran.overflowed)
        if ended and (not params.pattern.isascii() or (not found and set(params.pattern) & _ANY_CHARACTER)):
            others, ended = await self._search_other_encodings(query, base)
            found |= await self._visible(others, path)
            ran = replace(ran, timed_out=ended.timed_out, overflowed=ended.overflowed)
        unsaved = await self._unsaved(path)
        found = {at: each for at, each in found.items() if at not in unsaved}
        if unsaved:
            found.update(await self._search_buffers(query, base, unsaved))
        if query.by_ending and not found:
            return tool_error(
                f"The search failed: unrecognized file type: {query.type}, and nothing was found in files that end in `.{query.type}`. "
                "Say with `glob` which files you mean.",
                brief="Search failed",
            )
        return _Searched(list(found.values()), ran, bool(unsaved), query, is_file)

    async def _visible(self, hits: Mapping[Path, FileHits], searched: ResolvedPath) -> dict[Path, FileHits]:
        """Those that may be shown. Nothing may depend on the others, which would show that they are there."""
        visible = await self._files.found_in(searched, hits.keys())
        return {at: hits[at] for at in hits if at in visible}

    async def _search_disk(
        self, query: SearchQuery, base: Path, path: ResolvedPath
    ) -> tuple[SearchQuery, Ran, dict[Path, FileHits]]:
        """Search for the query as it is written and, where nothing fits, as it may be meant. Returns the query of the last search.

        Raises:
            PatternError, OSError
        """
        ran = await self._run(query, base)
        if "unrecognized file type" in ran.complaint and query.type is not None and query.type.isalnum():
            query = replace(query, by_ending=True)
            ran = await self._run(query, base)
        found = await self._visible(await asyncio.to_thread(parse_hits, ran.output, base), path)
        meant = tuple(each for glob in query.globs for each in otherwise(glob))
        if meant and not found and ran.code in {0, 1}:
            query = replace(query, globs=meant)
            ran = await self._run(query, base)
            found = await self._visible(await asyncio.to_thread(parse_hits, ran.output, base), path)
        return query, ran, found

    async def _search_other_encodings(self, query: SearchQuery, base: Path) -> tuple[Mapping[Path, FileHits], "_Ended"]:
        """What is found in files that are not in UTF-8, each read in its own encoding, and whether that is all.

        Characters have other bytes there, so this is another look at all files, for as long as one search may take. It is
        spared where the pattern is ASCII and something was found already.
        """
        found: dict[Path, FileHits] = {}
        ended = _Ended()
        looking = replace(query, not_utf_8=True, around=(0, 0), multiline=False, first_only=False)
        try:
            async with asyncio.timeout(self._limits.seconds):
                ran = await self._run(looking, base)
                ended = ended.after(ran)
                for encoding, names in (await asyncio.to_thread(by_encoding, ran.output)).items():
                    for files in batched_by_size(names):
                        ran = await self._run(replace(query, files=files, globs=(), type=None, encoding=encoding), base)
                        ended = ended.after(ran)
                        found.update(await asyncio.to_thread(parse_hits, ran.output, base))
        except TimeoutError:
            ended = replace(ended, timed_out=True)
        return found, ended

    async def _unsaved(self, searched: ResolvedPath) -> Mapping[Path, str]:
        """The editor's texts of files that may be shown."""
        within = [at for at in await self._files.unsaved() if at.is_relative_to(searched.path)]
        texts: dict[Path, str] = {}
        for at in await self._files.found_in(searched, within):
            with contextlib.suppress(WorkspaceError):
                file = await self._files.read_text(at)
                if file.unsaved:
                    texts[at] = file.text
        return texts

    async def _search_buffers(
        self, query: SearchQuery, base: Path, unsaved: Mapping[Path, str]
    ) -> Mapping[Path, FileHits]:
        overlay = await asyncio.to_thread(Overlay, base, unsaved)
        try:
            ran = await self._run(replace(query, files=(), never=()), overlay.directory)
            found = await asyncio.to_thread(parse_hits, ran.output, base)
        finally:
            await asyncio.to_thread(overlay.close)
        return found

    async def _run(self, query: SearchQuery, base: Path) -> Ran:
        ripgrep = await asyncio.to_thread(self._ripgrep.program, self._environment)
        if ripgrep is not None:
            argv = [ripgrep, *query.arguments()]
            return await run_program(argv, cwd=base, environment=self._environment.variables, limits=self._limits)
        # The path of the interpreter, not the session's: this program is ours.
        argv = [sys.executable, "-I", "-X", "utf8", str(PROGRAM)]
        return await run_program(argv, cwd=base, environment={}, stdin=query.request(), limits=self._limits)

    def _failed(self, ran: Ran) -> ToolReturn:
        if ran.timed_out:
            return tool_error(
                f"Nothing was found within {self._limits.seconds:.0f} s. Simplify the pattern (nested repetition such as `(a+)+` can take "
                "for ever), or narrow `path` and `glob`.",
                brief="Search took too long",
            )
        return tool_error(
            f"The search failed: {ran.complaint.strip() or 'the search program ended early'}", brief="Search failed"
        )

    def _report(self, params: Params, searched: "_Searched") -> ToolReturn:
        lines = self._lines(params, searched.hits)
        page = lines[params.offset :][: params.head_limit or None]
        result = ToolResultBuilder()
        result.write("\n".join(page))
        matches = sum(found.matches for found in searched.hits)
        said = [f"{_count(matches, 'match')} in {_count(len(searched.hits), 'file')}."]
        if params.output_mode == "files_with_matches":
            said = [f"{_count(len(searched.hits), 'file')} with matches."]
        if not searched.hits:
            said = ["No matches."]
            if not params.include_ignored and not searched.is_file:
                said.append("Files that git ignores were not searched; `include_ignored` has them searched, too.")
        if searched.query.by_ending:
            said.append(f"`{params.type}` is no type of files; those that end in `.{params.type}` were searched.")
        left = len(lines) - params.offset - len(page)
        if left > 0:
            said.append(f"{left} more lines: go on with offset={params.offset + len(page)}.")
        if searched.unsaved:
            said.append("Unsaved text in the editor was searched as it is on screen.")
        if searched.ran.timed_out:
            said.append(
                f"Ended after {self._limits.seconds:.0f} s, so this is not all: narrow the path or simplify the pattern."
            )
        if searched.ran.code not in {None, 0, 1}:
            said.append(
                f"Not everything could be searched: {searched.ran.complaint.strip() or 'the search ended early'}"
            )
        if searched.ran.overflowed:
            said.append(
                f"Ended at {self._limits.bytes // (1024 * 1024)} MB of matches, so this is not all: narrow the search."
            )
        return result.ok(" ".join(said))

    def _lines(self, params: Params, hits: list[FileHits]) -> list[str]:
        if params.output_mode == "files_with_matches":
            newest = sorted(hits, key=lambda found: (-self._files.changed_at(found.path), str(found.path)))
            return [self._files.paths.shown(found.path) for found in newest]
        by_path = sorted(hits, key=lambda found: str(found.path))
        if params.output_mode == "count_matches":
            return [f"{self._files.paths.shown(found.path)}:{found.matches}" for found in by_path]
        around = any(params.lines_around())
        lines: list[str] = []
        for found in by_path:
            name = self._files.paths.shown(found.path)
            previous = None
            for number, text, matched in found.rows:
                if around and lines and (previous is None or number > previous + 1):
                    lines.append("--")
                mark = ":" if matched else "-"
                lines.append(f"{name}{mark}{number}{mark}{text}" if params.line_numbers else f"{name}{mark}{text}")
                previous = number
        return lines


class _Ended(Struct, frozen=True):
    """What cut several searches, if anything did."""

    timed_out: bool = False
    overflowed: bool = False

    def after(self, ran: Ran) -> "_Ended":
        """With one search more."""
        return _Ended(self.timed_out or ran.timed_out, self.overflowed or ran.overflowed)


class _Searched(Struct, frozen=True):
    hits: list[FileHits]
    ran: Ran
    unsaved: bool
    query: SearchQuery
    """That of the last search."""
    is_file: bool


def _count(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("h") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
