"""Which language server serves a file of a project, and how it is started there. Looks for programs; starts none.

Only for trusted projects: a project's own programs come first, because they fit its versions. What they are started with is
little of the session's environment, so that no key reaches them and sessions of one project share them.
"""

import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from sould.agents.base.config import LanguageName, LanguageServers
from sould.agents.base.environment import find_program
from sould.agents.tools.languageservers.sources import PASSED_OVER


class KnownServer(Struct, frozen=True):
    """A program that speaks the language server protocol on its standard streams."""

    name: str
    command: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`initializationOptions`."""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What it is answered when it asks for its configuration, by section."""


class Language(Struct, frozen=True):
    """`ids`: what the protocol calls a file, by its suffix. `servers`: the one to be preferred first."""

    name: LanguageName
    ids: Mapping[str, str]
    servers: tuple[KnownServer, ...] = ()
    project_files: tuple[str, ...] = ()
    """Files that say what a project of it consists of."""


LANGUAGES: Final = msgspec.json.decode(
    Path(__file__).with_name("languages.json").read_bytes(), type=tuple[Language, ...]
)
"""All languages, and the servers that sould looks for.

Only servers stand there that run nothing of the project by themselves: no build file, no macro, no plugin of it. Otherwise
what an agent may write, it could run by asking a question. Where a server does so unless told otherwise, it is told otherwise.
Languages without one have servers that run what the project says: these are used when the user names them. TypeScript's gets
no second server for syntax alone, which would answer half of a question while the first one still reads the project.
"""
_BY_SUFFIX: Final = {suffix: language for language in LANGUAGES for suffix in language.ids}


def language_of(path: Path) -> Language | None:
    """The language of a file, by its suffix."""
    return _BY_SUFFIX.get(path.suffix.lower())


def language_id(path: Path) -> str:
    """What the protocol calls the language of a file."""
    language = language_of(path)
    return language.ids[path.suffix.lower()] if language is not None else "plaintext"


OWN_PROGRAMS: Final = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Where a project has programs of its own."""
MOST_LOOKED_AT: Final = 5000
"""Names, to know which languages a project is written in."""
_PYTHONS: Final = (".venv", "venv")
PASSED: Final = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR", "VOLTA_HOME", "COMPOSER_HOME", "JAVA_HOME"),
        *("GOPATH", "GOROOT", "GOFLAGS", "GOPROXY", "GOMODCACHE", "GOTOOLCHAIN"),
        *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE"),
    }
)
"""The variables that a language server gets: what it takes to find compilers and libraries."""


class ServerLaunch(Struct, frozen=True):
    """One server for one project: what is equal is the same process. `identity`: which directory `root` was."""

    name: str
    language: Language
    argv: tuple[str, ...]
    root: Path
    identity: tuple[int, int]
    variables: Mapping[str, str]
    known: KnownServer

    @property
    def key(self) -> tuple[object, ...]:
        """What two of them have in common that share a process."""
        return self.argv, self.root, self.identity, tuple(sorted(self.variables.items()))


def launch_for(
    language: Language, root: Path, variables: Mapping[str, str], settings: LanguageServers
) -> ServerLaunch | None:
    """The server of a language in a trusted project; None: none is installed, or the user wants none.

    `root` is resolved. A few looks at the disk for each program that is known.
    """
    given = {name: value for name, value in variables.items() if name in PASSED}
    path = os.pathsep.join([*_own_programs(root), given.get("PATH", os.defpath)])
    try:
        status = root.stat()
    except OSError:
        return None
    for known in candidates(language, settings):
        program = known.command[0]
        file = program if os.path.isabs(program) else find_program(program, path)
        if file is not None and os.access(file, os.X_OK):
            name = known.name or Path(program).name
            identity = (status.st_dev, status.st_ino)
            place = {**given, "PATH": path, **_environment(root)}
            return ServerLaunch(name, language, (file, *known.command[1:]), root, identity, place, known)
    return None


def candidates(language: Language, settings: LanguageServers) -> tuple[KnownServer, ...]:
    """The servers of a language, the user's own instead of those that are known; what they name is told as it is known to be."""
    if not settings.enabled:
        return ()
    command = settings.commands.get(language.name)
    if command is None:
        return language.servers
    if not command:
        return ()
    program = Path(command[0]).name
    known = next((each for each in language.servers if each.command[0] == program), KnownServer(program, command))
    return (KnownServer(known.name, command, known.options, known.settings),)


def any_installed(root: Path, variables: Mapping[str, str], settings: LanguageServers) -> bool:
    """Whether some language has a server in this trusted project."""
    return any(launch_for(language, root, variables, settings) is not None for language in LANGUAGES)


def told(settings: Mapping[str, Any], section: str) -> Any:
    """What a server is answered that asks for a section of its configuration; None: nothing is set."""
    found: Any = settings
    for part in filter(None, section.split(".")):
        found = found.get(part) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] -- JSON
    return found  # pyright: ignore[reportUnknownVariableType] -- JSON


def program_places(root: Path, variables: Mapping[str, str]) -> tuple[tuple[str, int], ...]:
    """Where programs are looked for, and when something came or went there last."""
    path = variables.get("PATH", os.defpath).split(os.pathsep)
    return tuple((place, _changed(place)) for place in (*(str(root / each) for each in OWN_PROGRAMS), *path))


def _changed(place: str) -> int:
    try:
        return os.stat(place).st_mtime_ns
    except (OSError, ValueError):
        return 0


def languages_in(root: Path) -> list[Language]:
    """The languages of a project, those with most files first, as far as a short look at it tells. Blocks."""
    found: Counter[LanguageName] = Counter()
    pending, seen = deque([root]), 0
    while pending and seen < MOST_LOOKED_AT:
        try:
            with os.scandir(pending.popleft()) as listing:
                entries = list(listing)
        except OSError:
            continue
        seen += len(entries)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(".") and entry.name not in PASSED_OVER:
                    pending.append(Path(entry.path))
            elif (language := language_of(Path(entry.name))) is not None:
                found[language.name] += 1
    by_name = {language.name: language for language in LANGUAGES}
    return [by_name[name] for name, _ in found.most_common()]


def _own_programs(root: Path) -> Iterator[str]:
    return (str(root / directory) for directory in OWN_PROGRAMS if (root / directory).is_dir())


def _environment(root: Path) -> Mapping[str, str]:
    """The project's Python environment, which servers for Python look into."""
    found = next((root / name for name in _PYTHONS if (root / name / "pyvenv.cfg").is_file()), None)
    return {"VIRTUAL_ENV": str(found)} if found is not None else {}
