"""Which language server serves a file of a project, and how it is started there. Looks for programs; starts none.

Only for trusted projects: a project's own programs come first, because they fit its versions. What they are started with is
little of the session's environment, so that no key reaches them and sessions of one project share them.
"""

import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from sould.agents.base.config import LanguageName, LanguageServers
from sould.agents.base.environment import find_program
from sould.agents.tools.languageservers.sources import PASSED_OVER

# The language servers that sould looks for, by language, and what each is told at its start. Data.
# Only those stand here that run nothing of the project by themselves: no build file, no macro, no plugin of it.
# Otherwise what an agent may write, it could run by asking a question. Where a server does so unless told otherwise,
# it is told otherwise. Users may name any server for any language in their configuration.


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


def _all(name: str, suffixes: str) -> Mapping[str, str]:
    return dict.fromkeys(suffixes.split(), name)


_PYRIGHT: Final = {
    "python": {"analysis": {"diagnosticMode": "openFilesOnly", "autoSearchPaths": True, "useLibraryCodeForTypes": True}}
}
_NO_DOWNLOADS: Final = {"disableAutomaticTypingAcquisition": True}
_TSSERVER: Final = {**_NO_DOWNLOADS, "hostInfo": "sould", "tsserver": {"useSyntaxServer": "never"}}
"""A second server for syntax alone would answer half of a question while the first one still reads the project."""
_CARGO: Final = {
    "cargo": {"buildScripts": {"enable": False}},
    "procMacro": {"enable": False},
    "checkOnSave": False,
}

LANGUAGES: Final = (
    Language(
        "python",
        _all("python", ".py .pyi .pyw"),
        (
            KnownServer(
                "basedpyright",
                ("basedpyright-langserver", "--stdio"),
                settings={**_PYRIGHT, "basedpyright": _PYRIGHT["python"]},
            ),
            KnownServer("pyright", ("pyright-langserver", "--stdio"), settings=_PYRIGHT),
            KnownServer("ty", ("ty", "server")),
            KnownServer("pylsp", ("pylsp",)),
            KnownServer("jedi-language-server", ("jedi-language-server",)),
        ),
        ("pyproject.toml", "pyrightconfig.json", "setup.cfg", "setup.py"),
    ),
    Language(
        "typescript",
        {
            **_all("typescript", ".ts .mts .cts"),
            ".tsx": "typescriptreact",
            **_all("javascript", ".js .mjs .cjs"),
            ".jsx": "javascriptreact",
        },
        (
            KnownServer("typescript-language-server", ("typescript-language-server", "--stdio"), options=_TSSERVER),
            KnownServer("vtsls", ("vtsls", "--stdio"), settings={"typescript": _NO_DOWNLOADS}),
        ),
        ("tsconfig.json", "jsconfig.json", "package.json"),
    ),
    Language("go", _all("go", ".go"), (KnownServer("gopls", ("gopls",)),), ("go.mod", "go.sum", "go.work")),
    Language(
        "rust",
        _all("rust", ".rs"),
        (KnownServer("rust-analyzer", ("rust-analyzer",), options=_CARGO, settings={"rust-analyzer": _CARGO}),),
        ("Cargo.toml", "Cargo.lock"),
    ),
    Language(
        "c",
        {**_all("c", ".c .h"), **_all("cpp", ".cc .cpp .cxx .c++ .hh .hpp .hxx .ipp"), ".m": "objective-c"},
        (KnownServer("clangd", ("clangd", "--background-index=false")),),
        ("compile_commands.json", "compile_flags.txt"),
    ),
    Language(
        "php",
        _all("php", ".php"),
        (
            KnownServer("intelephense", ("intelephense", "--stdio")),
            KnownServer("phpactor", ("phpactor", "language-server")),
        ),
        ("composer.json",),
    ),
    Language("lua", _all("lua", ".lua"), (KnownServer("lua-language-server", ("lua-language-server",)),)),
    Language(
        "shell",
        _all("shellscript", ".sh .bash"),
        (KnownServer("bash-language-server", ("bash-language-server", "start")),),
    ),
    Language("dart", _all("dart", ".dart"), (KnownServer("dart", ("dart", "language-server")),), ("pubspec.yaml",)),
    Language(
        "yaml", _all("yaml", ".yaml .yml"), (KnownServer("yaml-language-server", ("yaml-language-server", "--stdio")),)
    ),
    Language(
        "json",
        {".json": "json", ".jsonc": "jsonc"},
        (KnownServer("vscode-json-language-server", ("vscode-json-language-server", "--stdio")),),
    ),
    Language(
        "css",
        {".css": "css", ".scss": "scss", ".less": "less"},
        (KnownServer("vscode-css-language-server", ("vscode-css-language-server", "--stdio")),),
    ),
    Language(
        "html",
        _all("html", ".html .htm"),
        (KnownServer("vscode-html-language-server", ("vscode-html-language-server", "--stdio")),),
    ),
    Language("toml", _all("toml", ".toml"), (KnownServer("taplo", ("taplo", "lsp", "stdio")),)),
    Language("tex", _all("latex", ".tex .sty .cls"), (KnownServer("texlab", ("texlab",)),)),
    # Their servers run what the project says: they are used when the user names them.
    Language("ruby", _all("ruby", ".rb .rake .gemspec"), (), ("Gemfile",)),
    Language("java", _all("java", ".java"), (), ("pom.xml", "build.gradle")),
    Language("kotlin", _all("kotlin", ".kt .kts"), (), ("build.gradle.kts",)),
    Language("csharp", _all("csharp", ".cs")),
    Language("swift", _all("swift", ".swift"), (), ("Package.swift",)),
    Language("zig", _all("zig", ".zig"), (), ("build.zig",)),
    Language("haskell", _all("haskell", ".hs")),
    Language("elixir", _all("elixir", ".ex .exs"), (), ("mix.exs",)),
    Language("scala", _all("scala", ".scala .sbt")),
    Language("ocaml", {".ml": "ocaml", ".mli": "ocaml.interface"}),
    Language("erlang", _all("erlang", ".erl .hrl")),
    Language("nix", _all("nix", ".nix")),
    Language("terraform", _all("terraform", ".tf .tfvars")),
    Language("vue", _all("vue", ".vue")),
    Language("svelte", _all("svelte", ".svelte")),
)

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
