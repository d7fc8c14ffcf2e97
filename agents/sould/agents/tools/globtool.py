"""Glob: files and directories by name, inside the workspace only."""

import asyncio
from typing import ClassVar

from pydantic import Field, JsonValue

from sould.agents.permissions.callfiles import CallFiles
from sould.agents.process.searching import DEFAULT_LIMITS, SearchLimits
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_error, tool_ok
from sould.agents.toolapi.paths import failure
from sould.agents.tools.globmatch import PatternError, Walk, top_names
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

    def __init__(self, files: CallFiles, limits: SearchLimits = DEFAULT_LIMITS) -> None:
        self._seconds = limits.seconds
        self._files = files

    def view(self, params: Params) -> CallView:
        """`Find src/**/*.py in web`."""
        if not params.directory:
            return CallView(title=f"Find {params.pattern}")
        title, locations = self._files.named(params.directory)
        return CallView(title=f"Find {params.pattern} in {title}", locations=locations)

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Walk in a thread; a cancelled call stops the walk."""
        directory = self._files.meant(params.directory or ".")
        if not directory.inside:
            return tool_error(
                f"{directory.written} is outside the project, or a link that leads out of it; Glob works only inside.",
                brief="Outside the project",
            )
        if params.pattern.startswith("**"):
            return await self._refuse_everything()
        if params.pattern.startswith(("/", "~")):
            return tool_error("`pattern` is relative: put the directory into `directory`.", brief="Absolute pattern")
        if not await self._files.is_directory(directory):
            return failure(await self._files.missing(directory, "a directory"))
        try:
            walk = Walk.of(
                directory.path,
                params.pattern,
                limit=MAX_RESULTS,
                seconds=self._seconds,
                include_dirs=params.include_dirs,
            )
        except PatternError as error:
            return tool_error(f"Bad pattern: {error}.", brief="Bad pattern")
        await _run(walk)
        count = len(walk.found)
        said = f"{count or 'No'} match{'' if count == 1 else 'es'} for `{params.pattern}`."
        if walk.ended == "limit":
            said += f" There are more than {MAX_RESULTS}: narrow the pattern."
        elif walk.ended == "stopped":
            said += f" Stopped after {self._seconds:.0f} s, so this is not all: narrow the pattern."
        return tool_ok("\n".join(self._files.shown(path) for path in walk.found), message=said)

    async def _refuse_everything(self) -> ToolReturn:
        names = await asyncio.to_thread(top_names, self._files.root, MAX_LISTED)
        return tool_error(
            "A pattern must not begin with `**`: it would search everything, dependencies included. Begin with a directory, "
            "as in `src/**/*.py`. At the top of the project there are:",
            brief="Pattern too wide",
            output="\n".join(names),
        )


async def _run(walk: Walk) -> None:
    try:
        await asyncio.to_thread(walk.run)
    finally:
        walk.cancel()
