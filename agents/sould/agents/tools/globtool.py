"""Glob: files and directories by name, inside the workspace only."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field, JsonValue

from sould.agents.base.environment import Environment
from sould.agents.base.process.searching import (
    BUNDLED,
    DEFAULT_LIMITS,
    LISTING,
    Ripgrep,
    SearchLimits,
    listed,
    run_program,
)
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, failure, tool_error, tool_ok
from sould.agents.tools.globmatch import VCS, GlobWalk, PatternError, otherwise, top_names
from sould.agents.wire.messages import ToolKind, ToolReturn

MAX_RESULTS = 1000
MAX_LISTED = 100


class Params(ToolParams):
    """What to find."""

    pattern: str = Field(
        min_length=1, max_length=4096, description="The pattern, relative to `directory`, such as `src/**/*.py`."
    )
    directory: str | None = Field(default=None, description="Where to begin; the working directory if absent.")
    include_dirs: bool = Field(default=True, description="List directories too.")


class Glob(Tool[Params]):
    """Find files by name."""

    name = "Glob"
    title = "Find files"
    kind: ClassVar[ToolKind] = "search"
    example: ClassVar[dict[str, JsonValue]] = {"pattern": "src/**/*.py"}
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
        """`Find src/**/*.py in web`."""
        if not params.directory:
            return CallView(title=f"Find {params.pattern}")
        title, locations = self._files.paths.named(params.directory)
        return CallView(title=f"Find {params.pattern} in {title}", locations=locations)

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Walk in a thread; a cancelled call stops the walk."""
        directory = self._files.paths.meant(params.directory or ".")
        if not directory.inside:
            return tool_error(
                f"{directory.written} is outside the project, or a link that leads out of it; Glob works only inside.",
                brief="Outside the project",
            )
        if any(pattern.startswith("**") for pattern in (params.pattern, *otherwise(params.pattern))):
            return await self._refuse_everything()
        if params.pattern.startswith(("/", "~")):
            return tool_error("`pattern` is relative: put the directory into `directory`.", brief="Absolute pattern")
        if not await self._files.is_directory(directory):
            return failure(await self._files.missing(directory, "a directory"))
        try:
            walk = await self._walk(directory.path, params)
        except PatternError as error:
            return tool_error(f"Bad pattern: {error}.", brief="Bad pattern")
        found, said = walk.found, ""
        if walk.ended == "limit":
            found = await self._own_first(walk, (params.pattern, *otherwise(params.pattern)))
            said = f" There are more than {MAX_RESULTS}, of which those that git ignores come last: narrow the pattern."
        elif walk.ended == "stopped":
            said = f" Stopped after {self._limits.seconds:.0f} s, so this is not all: narrow the pattern."
        count = len(found)
        said = f"{count or 'No'} match{'' if count == 1 else 'es'} for `{params.pattern}`.{said}"
        return tool_ok("\n".join(self._files.paths.shown(path) for path in found), message=said)

    async def _walk(self, directory: Path, params: Params) -> GlobWalk:
        """For the pattern as it is written; where that fits nothing, as it may be meant. Raises PatternError."""

        async def walk(patterns: Sequence[str]) -> GlobWalk:
            dirs, seconds = params.include_dirs, self._limits.seconds
            made = GlobWalk.of(directory, patterns, limit=MAX_RESULTS, seconds=seconds, include_dirs=dirs)
            await _run(made)
            return made

        found, meant = await walk([params.pattern]), otherwise(params.pattern)
        return await walk(meant) if meant and not found.found and found.ended == "complete" else found

    async def _own_first(self, walk: GlobWalk, patterns: Sequence[str]) -> Sequence[Path]:
        """The files that git does not ignore, then what the walk found: ignored ones must not take the place of the project's own."""
        program = await asyncio.to_thread(self._ripgrep.program, self._environment)
        if program is None:
            return walk.found
        globs = (*(f"--glob=/{pattern}" for pattern in patterns), *(f"--glob=!{name}" for name in sorted(VCS)))
        ran = await run_program(
            [program, *LISTING, *globs], cwd=walk.root, environment=self._environment.variables, limits=self._limits
        )
        own = sorted(walk.root / name for name in listed(ran.output) if walk.fits(name))
        return list(dict.fromkeys((*own, *walk.found)))[:MAX_RESULTS]

    async def _refuse_everything(self) -> ToolReturn:
        names = await asyncio.to_thread(top_names, self._files.root, MAX_LISTED)
        return tool_error(
            "A pattern must not begin with `**`: it would search everything, dependencies included. Begin with a directory, "
            "as in `src/**/*.py`. At the top of the project there are:",
            brief="Pattern too wide",
            output="\n".join(names),
        )


async def _run(walk: GlobWalk) -> None:
    try:
        await asyncio.to_thread(walk.run)
    finally:
        walk.cancel()
