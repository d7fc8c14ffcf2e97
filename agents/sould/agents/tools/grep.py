"""Grep: search in files and unsaved buffers, by ripgrep where there is one, else by our own child program.

Patterns come from a model: they are never evaluated in this process.
"""

import asyncio
import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

import orjson
from msgspec import Struct
from pydantic import Field, JsonValue

from sould.agents.environment import Environment
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.process.ripgrep import Ripgrep
from sould.agents.process.searching import (
    DEFAULT_LIMITS,
    FileHits,
    Overlay,
    Ran,
    SearchLimits,
    parse_hits,
    run_program,
)
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error
from sould.agents.toolapi.paths import failure
from sould.agents.toolapi.result import ToolResultBuilder
from sould.agents.tools.globmatch import VCS, PatternError, expand_braces
from sould.agents.wire.messages import ToolKind, ToolReturn
from sould.agents.workspace import ResolvedPath, WorkspaceError

PROGRAM = Path(__file__).with_name("grepmain.py")
BUNDLED = Ripgrep()


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

    def globs(self) -> list[str]:
        """The given glob and those that hide version control."""
        return [*([self.glob] if self.glob else []), *(f"!{name}" for name in sorted(VCS))]


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
        title, locations = self._files.named(params.path)
        where = "" if title == "." else f" in {title}"
        return CallView(title=f'Search for "{pattern}"{where}', locations=locations)

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Ask when the rules say so, search the disk and the buffers, put both together."""
        path = self._files.meant(params.path)
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
        ran = await self._run(params, base, path.path.name if is_file else None, never)
        if not ran.output and ran.code not in {0, 1}:
            return self._failed(ran)
        hits = await asyncio.to_thread(parse_hits, ran.output, base)
        unsaved = await self._unsaved(path)
        visible = await self._files.found_in(path, hits.keys() - unsaved.keys())
        found = {at: hits[at] for at in hits if at in visible}
        if unsaved:
            found.update(await self._search_buffers(params, base, unsaved))
        return _Searched(list(found.values()), ran, bool(unsaved))

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

    async def _search_buffers(self, params: Params, base: Path, unsaved: Mapping[Path, str]) -> Mapping[Path, FileHits]:
        overlay = await asyncio.to_thread(Overlay, base, unsaved)
        try:
            ran = await self._run(params, overlay.directory, None)
            found = await asyncio.to_thread(parse_hits, ran.output, base)
        finally:
            await asyncio.to_thread(overlay.close)
        return found

    async def _run(self, params: Params, base: Path, file: str | None, never: Sequence[str] = ()) -> Ran:
        ripgrep = await asyncio.to_thread(self._ripgrep.program, self._environment)
        if ripgrep is not None:
            argv = [ripgrep, *_ripgrep_arguments(params, never), "--", file or "./"]
            return await run_program(argv, cwd=base, environment=self._environment.variables, limits=self._limits)
        # The path of the interpreter, not the session's: this program is ours.
        argv = [sys.executable, "-I", "-X", "utf8", str(PROGRAM)]
        return await run_program(
            argv, cwd=base, environment={}, stdin=_request(params, file, never), limits=self._limits
        )

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
            return [self._files.shown(found.path) for found in newest]
        by_path = sorted(hits, key=lambda found: str(found.path))
        if params.output_mode == "count_matches":
            return [f"{self._files.shown(found.path)}:{found.matches}" for found in by_path]
        around = any(params.lines_around())
        lines: list[str] = []
        for found in by_path:
            name = self._files.shown(found.path)
            previous = None
            for number, text, matched in found.rows:
                if around and lines and (previous is None or number > previous + 1):
                    lines.append("--")
                mark = ":" if matched else "-"
                lines.append(f"{name}{mark}{number}{mark}{text}" if params.line_numbers else f"{name}{mark}{text}")
                previous = number
        return lines


class _Searched(Struct, frozen=True):
    hits: list[FileHits]
    ran: Ran
    unsaved: bool


def _ripgrep_arguments(params: Params, never: Sequence[str]) -> list[str]:
    before, after = params.lines_around()
    arguments = ["--json", "--no-config", "--no-messages", "--hidden", "--no-require-git", "--crlf", "--threads=2"]
    arguments += [f"--before-context={before}", f"--after-context={after}"]
    arguments += [f"--glob={glob}" for glob in params.globs()]
    arguments += [f"--iglob=!{'**/' if '/' in glob else ''}{glob}" for glob in never]
    if params.type is not None:
        arguments.append(f"--type={params.type}")
    if params.ignore_case:
        arguments.append("--ignore-case")
    if params.multiline:
        arguments += ["--multiline", "--multiline-dotall"]
    if params.include_ignored:
        arguments.append("--no-ignore")
    if params.output_mode == "files_with_matches":
        arguments.append("--max-count=1")
    return [*arguments, f"--regexp={params.pattern}"]


def _request(params: Params, file: str | None, never: Sequence[str]) -> bytes:
    before, after = params.lines_around()
    return orjson.dumps(
        {
            "pattern": params.pattern,
            "file": file,
            "passed_over": [one for glob in never for one in expand_braces(glob)],
            "globs": [one for glob in params.globs() for one in expand_braces(glob)],
            "type": params.type,
            "before": before,
            "after": after,
            "ignore_case": params.ignore_case,
            "multiline": params.multiline,
            "include_ignored": params.include_ignored,
            "first_only": params.output_mode == "files_with_matches",
        }
    )


def _count(number: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("h") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"
