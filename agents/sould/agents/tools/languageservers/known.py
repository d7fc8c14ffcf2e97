"""The language servers that sould looks for, by language, and what each is told at its start. Data.

Only those stand here that run nothing of the project by themselves: no build file, no macro, no plugin of it. Otherwise what an
agent may write, it could run by asking a question. Where a server does so unless told otherwise, it is told otherwise.
Users may name any server for any language in their configuration.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field

from sould.agents.base.config import LanguageName


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
