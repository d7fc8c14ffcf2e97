"""One call of an editor tool, answered by a language server: which one, what it is shown before, and how it fails in words."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from sould.agents.base.workspace import WorkspaceError
from sould.agents.files.reviewing.buffers import Buffers
from sould.agents.tools.editor.backends import Arguments, EditorResult, Where
from sould.agents.tools.editor.errors import EditorToolError
from sould.agents.tools.editor.results import Problem, Problems, Symbol, Symbols
from sould.agents.tools.languageservers.answers import SEVERITIES
from sould.agents.tools.languageservers.pool import LanguageServerPool
from sould.agents.tools.languageservers.programs import Language, ServerLaunch, language_of, languages_in, launch_for
from sould.agents.tools.languageservers.questions import ServerQuestions
from sould.agents.tools.languageservers.server import ServerBusyError, ServerGoneError

__all__ = ["Calls", "LanguageServerPool"]

START: Final = 20.0
"""Seconds that a call waits for a server that is being started."""
ANSWER: Final = 20.0
"""Seconds that it waits for the answer."""
MOST_FILES: Final = 50
"""Of which a call wants problems, where it does not name them."""
MOST_UNSAVED: Final = 20
"""Files that others are shown besides, because what they hold is not on disk."""
MOST_LANGUAGES: Final = 2
"""That are searched for a symbol of the project: those with most files."""


class Calls(Struct, frozen=True):
    """For one place. `root` is resolved."""

    pool: LanguageServerPool
    buffers: Buffers
    root: Path

    async def make(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        """See `EditorBackend.call`."""
        if not where.site.trusted:
            raise EditorToolError("untrusted_workspace", "No language server is run for a project that is not trusted.")
        try:
            return await self._made(tool, given, where)
        except WorkspaceError as error:
            raise EditorToolError("not_found", str(error)) from error

    async def _made(self, tool: str, given: Arguments, where: Where) -> EditorResult:
        if tool == "diagnostics":
            return await self._diagnostics(given, where)
        if tool == "symbols" and not given.get("file"):
            return await self._find(given, where)
        file = where.file
        if file is None:
            raise EditorToolError("invalid", "The call names no file.")
        async with self._asked(self._launch(file, where), where) as questions:
            match tool:
                case "symbols":
                    return await questions.outline(given, file)
                case "definition":
                    return await questions.definition(given)
                case "references":
                    return await questions.references(given)
                case "hover":
                    return await questions.hover()
                case "rename":
                    return await questions.rename(given)
                case _:
                    raise EditorToolError("not_supported", f"{tool} needs an editor.")

    # --- servers ----------------------------------------------------------------------------------------------------

    def _launch_of(self, language: Language, where: Where) -> ServerLaunch | None:
        settings = self.pool.config.look().languageservers
        return launch_for(language, self.root, where.site.environment, settings)

    def _launch(self, file: Path, where: Where) -> ServerLaunch:
        language = language_of(file)
        launch = self._launch_of(language, where) if language is not None else None
        if launch is None:
            kind = f"{language.name} files" if language is not None else f"{file.name}"
            raise EditorToolError("not_supported", f"No language server for {kind} is installed here.")
        return launch

    @asynccontextmanager
    async def _asked(self, launch: ServerLaunch, where: Where) -> AsyncGenerator[ServerQuestions, None]:
        """A server that is up and knows the project as it is now.

        Raises:
            EditorToolError: it is not there, or ended in the block.
        """
        try:
            async with self.pool.used(launch, START) as server:
                unsaved = {path for path in self.buffers.unsaved() if path.is_relative_to(self.root)}
                outdated = await server.look(unsaved)
                questions = ServerQuestions(server, where, asyncio.get_running_loop().time() + ANSWER)
                other = (path for path in sorted(unsaved)[:MOST_UNSAVED] if language_of(path) is launch.language)
                for path in dict.fromkeys((*outdated, *other)):
                    if await questions.shown_if_readable(path) is None:
                        server.documents.hide(path)
                yield questions
        except ServerBusyError as error:
            doing = f" ({error})" if str(error) else ""
            said = f"The language server {launch.name} has not answered yet{doing}; ask again in a while."
            raise EditorToolError("busy", said) from error
        except ServerGoneError as error:
            raise EditorToolError("failed", f"The language server {launch.name} is of no use. {error}") from error

    # --- what no single file is asked for -----------------------------------------------------------------------------

    async def _languages(self, where: Where) -> list[ServerLaunch]:
        """The servers of the project's languages, as far as they are installed."""
        found = await asyncio.to_thread(languages_in, self.root)
        launches = (self._launch_of(language, where) for language in found)
        return [launch for launch in launches if launch is not None][:MOST_LANGUAGES]

    async def _find(self, given: Arguments, where: Where) -> EditorResult:
        found: list[Symbol] = []
        failed: EditorToolError | None = None
        launches = await self._languages(where)
        for launch in launches:
            try:
                async with self._asked(launch, where) as questions:
                    found += (await questions.find(given)).symbols
            except EditorToolError as error:
                failed = failed or error
        if not launches:
            raise EditorToolError("not_supported", "No language server for this project's languages is installed here.")
        if not found and failed is not None:
            raise failed
        return EditorResult(Symbols(tuple(found)))

    async def _diagnostics(self, given: Arguments, where: Where) -> EditorResult:
        named = [Path(file) for file in given.get("files", ())]
        paths = named or await self._in_scope(given.get("scope", ""), where)
        if not named and given.get("scope") == "workspace":
            return await self._of_project(given, where, paths)
        launches = {path: self._launch(path, where) for path in named}
        if not named:
            launches = {path: launch for path in paths if (launch := self._launch_or_none(path, where)) is not None}
        return await self._problems(_by_launch(launches), given, where)

    def _launch_or_none(self, path: Path, where: Where) -> ServerLaunch | None:
        language = language_of(path)
        return self._launch_of(language, where) if language is not None else None

    async def _in_scope(self, scope: str, where: Where) -> Sequence[Path]:
        """The files that somebody has open, and those with changes to be reviewed."""
        found: set[Path] = set()
        if scope != "changed":
            found |= self.buffers.opened_files()
        if scope != "open":
            found |= {Path(file.path) for file in await where.reader.pending(())}
        return sorted(path for path in found if path.is_relative_to(self.root))

    async def _of_project(self, given: Arguments, where: Where, first: Sequence[Path]) -> EditorResult:
        groups: list[tuple[ServerLaunch, Sequence[Path]]] = []
        for launch in await self._languages(where):
            async with self._asked(launch, where) as questions:
                own = [path for path in first if language_of(path) is launch.language]
                groups.append((launch, tuple(dict.fromkeys((*own, *questions.newest(MOST_FILES + 1))))))
        return await self._problems(groups, given, where)

    async def _problems(
        self, groups: Iterable[tuple[ServerLaunch, Sequence[Path]]], given: Arguments, where: Where
    ) -> EditorResult:
        most = MOST_FILES if not given.get("files") else len(given["files"])
        found: list[Problem] = []
        more, whole, looked = "", True, False
        for launch, paths in groups:
            if len(paths) > most:
                more = f"Only {most} files were looked at, those that changed last; name others in `files`."
            async with self._asked(launch, where) as questions:
                problems, known = await questions.problems(paths[:most], given.get("waitMs", 1500) / 1000)
            found += problems
            looked = looked or bool(paths)
            whole = whole and known
        if not looked:
            raise EditorToolError("not_found", _nothing_looked_at(given))
        counts = Counter(each.severity for each in found)
        worst = SEVERITIES.index(given.get("minSeverity", "warning"))
        kept = [each for each in found if SEVERITIES.index(each.severity) <= worst]
        kept.sort(key=lambda each: (SEVERITIES.index(each.severity), each.file, each.range.start.line))
        return EditorResult(Problems(tuple(kept), dict(counts), not whole), more=more)


def _nothing_looked_at(given: Arguments) -> str:
    """Why a call for problems looked at no file: that is another thing than that there are none."""
    scope = given.get("scope", "open")
    where = "in the project" if scope == "workspace" else "among those to be reviewed" if scope == "changed" else "open"
    return f"Nothing was looked at: no file {where} has a language server here. Name files in `files`, or ask with another scope."


def _by_launch(launches: dict[Path, ServerLaunch]) -> list[tuple[ServerLaunch, Sequence[Path]]]:
    by_key: dict[Any, tuple[ServerLaunch, list[Path]]] = {}
    for path, launch in launches.items():
        by_key.setdefault(launch.key, (launch, []))[1].append(path)
    return list(by_key.values())
