"""The rules of the house that no linter knows, checked in one pass over the tracked files.

Prints one line per broken rule and exits 1; prints one line of numbers and exits 0 when all hold. It only reads, each
file once, and uses nothing but the standard library and git.
"""

import ast
import gc
import re
import statistics
import sys
import tomllib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import housecircles
import housedesign
import housefrontends
import housetests
from housetree import SourceFile, last_name, read

FILE_LIMIT = 500
FUNCTION_LIMIT = 60
RAISED: dict[str, int] = {}
"""Path, or path::function, to its own limit. An entry is added only in the commit that needs it, with the reason there."""

ALLOWED: dict[str, frozenset[str]] = {
    "agents": frozenset({"agents"}),
    "acp": frozenset({"agents", "acp"}),
    "editors": frozenset({"agents", "editors"}),
    "daemon": frozenset({"agents", "acp", "editors", "daemon"}),
}
"""Which portions of the `sould` namespace each portion may import."""

LAYERS: dict[str, tuple[str, ...]] = {
    "agents": (
        *("", "base", "wire", "llm", "journal", "toolapi", "permissions", "files"),
        *("soul", "mcp", "tools", "sessions", "clients"),
    ),
    "agents/base": ("", "network", "rpc", "process"),
    "agents/files": ("", "review", "directories", "edits", "reviewing", "projects"),
    "agents/soul": ("hooks", "dmail", "compaction", "", "subagents", "skills", "flows", "timetravel"),
    "agents/tools": ("web", "external", "", "editor", "languageservers"),
    "agents/sessions": ("worktrees", "store", "settings", "operations", "turns", "commands", "loops", ""),
    "agents/clients": ("", "review", "inbox", "editor", "frontend"),
    "acp": ("", "projection", "connection", "server"),
    "editors": ("", "lsp"),
    "daemon": ("", "configuration", "wire", "process", "cli"),
}
"""The packages of each portion, and those inside of large packages, lowest first: each imports only those before it. "" are
the modules beside the packages."""

TOOLS = re.compile(r"agents/sould/agents/(tools/[^/]+|toolapi/.+)")
"""Where tools stand whose paths a model names; what is in a folder below `tools` serves them, or an editor."""
OWN_FILES: dict[str, str] = {
    "tools/__init__.py": "none; it names `Workspace` for tools of the user's, who get a `CallFiles`",
    "toolapi/background.py": "records and output of its own tasks, in the session's directory",
    "toolapi/base.py": "the description beside a tool's module",
    "tools/globmatch.py": "names in directories of the project, which need no yes",
    "tools/grepmain.py": "the search program: a child of its own, told what to pass over",
    "toolapi/loading.py": "the code of tools",
    "tools/planmode.py": "the plan, in the session's directory",
    "toolapi/result.py": "the rest of an output that was too long, in the session's directory",
    "tools/commands.py": "the directory for long outputs",
}
"""Modules of tools that open files by themselves, and which: never those a model names. All else goes through `CallFiles`."""
OPENING_MODULES = frozenset(
    {
        "os",
        "io",
        "shutil",
        "glob",
        "sould.agents.base.diskfile",
        "sould.agents.base.localworkspace",
        "sould.agents.files.directories.nodes",
    }
)
OPENING_CALLS = frozenset(
    {
        *("exists", "glob", "is_dir", "is_file", "is_symlink", "iterdir", "lstat", "open", "read_bytes"),
        *("read_text", "readlink", "rglob", "samefile", "stat", "touch", "unlink", "write_bytes", "write_text"),
    }
)
"""Methods of a path. Those of `CallFiles` that have such a name are awaited."""

ARCHITECTURE = "ARCHITECTURE.md"
MAP_LIMIT = 250
"""Lines of it."""
PACKAGE_PAGE = re.compile(r"agents/sould/agents/[a-z]+/README\.md")
DECISIONS = "docs/decisions.md"
CITED = re.compile(r"\b(?!D2\b)D\d{1,2}\b")
"""A decision, by its number. D2 is a language of diagrams."""
SOURCE = frozenset({".py", ".ts", ".mjs", ".sh", ".el", ".lua"})
VERSIONED = {
    "daemon/sould/daemon/hello.py": r'^VERSION = "([^"]*)"',
    "vscode-extension/package.json": r'^  "version": "([^"]*)"',
    "acp/registry/sould/agent.json": r'^  "version": "([^"]*)"',
}
"""Files that name the package's version, which they cannot read where it stands, and how."""
# Written in pieces so that this file does not break its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:root|work|home/[a-z][\w-]*)(?:/|\b(?![\w-]))")
REGISTRY = re.compile(
    r"(?:registry\.npm" + r"js|registry\.yarn" + r"pkg|pypi" + r"\.org|pythonhost" + r"ed\.org)", re.IGNORECASE
)
RESOLVED = re.compile(r'"resolved"\s*:\s*"https?:')


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule. `line` 0: the whole file."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}" if self.line else f"{self.path}: {self.text}"


@dataclass(frozen=True, slots=True)
class Function:
    """A function and its length, decorators and docstring not counted."""

    name: str
    line: int
    length: int


def main(root: Path) -> int:
    """Check the tree at `root`; the exit status."""
    files = read(root)
    ours = [file for file in files if file.root in ALLOWED and file.is_python]
    findings = [
        *imports(ours),
        *layers(ours),
        *circles(ours),
        *frontends(ours),
        *opening(ours),
        *quick_to_define(ours),
        *design(ours),
        *testing(files),
        *namespace(files),
        *sizes(files),
        *versions(root),
        *pages(files),
        *addresses(files),
    ]
    for finding in findings:
        print(finding)
    if findings:
        print(f"house: {len(findings)} broken rules")
        return 1
    print(summary(ours))
    return 0


def imports(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """`agents` <- `acp`, `editors` <- `daemon`, absolute imports only, wherever in a file they stand."""
    for file in files:
        for node in file.imports():
            for name in imported(node):
                if name.startswith("."):
                    yield Finding(file.path, node.lineno, "relative import; write from sould... import ...")
                elif foreign(name, ALLOWED[file.root]):
                    yield Finding(file.path, node.lineno, f"{file.root} must not import {name}")


def layers(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """A package imports only packages before it in `LAYERS`."""
    files = [file for file in files if file.path.split("/")[1:3] == ["sould", file.root]]
    placed = [(file, file.path.split("/")[2:]) for file in files]
    folders = {"/".join(parts[:length]) for _, parts in placed for length in range(1, len(parts))}
    for file, parts in placed:
        for above, order in LAYERS.items():
            own = package_in(above, parts[:-1], folders)
            if own is None:
                continue
            if own not in order:
                yield Finding(file.path, 0, f"package {own} stands in no layer of {above}; add it to LAYERS")
                continue
            for node in file.imports():
                for module in reached(node):
                    other = package_in(above, module.split(".")[1:], folders)
                    if other in order[order.index(own) + 1 :]:
                        by = own or "a module beside the packages"
                        yield Finding(file.path, node.lineno, f"{by} must not import {other or module}")


def package_in(above: str, parts: list[str], folders: Collection[str]) -> str | None:
    """The package directly below `above` that a module with this path is in, "" beside them; None outside of `above`."""
    top = above.split("/")
    if parts[: len(top)] != top:
        return None
    inner = "/".join(parts[: len(top) + 1])
    return inner.rpartition("/")[2] if inner in folders and inner != above else ""


def circles(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """No module of a root needs itself, through others, wherever it imports them."""
    for path, line, said in housecircles.circles(files):
        yield Finding(path, line, said)


def frontends(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """A frontend reaches sessions and projects through their ports only."""
    for file in files:
        if not file.path.startswith(housefrontends.FRONTENDS):
            continue
        for node in file.imports():
            for name in housefrontends.past_ports(file.path, reached(node)):
                yield Finding(file.path, node.lineno, f"{name} in a frontend; use the ports of sessions and projects")


def reached(node: ast.AST) -> list[str]:
    """As `imported`, with what is taken from a package, which may be a module."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return imported(node)


def opening(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """A tool opens what a model names through `CallFiles` only, which judges it first."""
    for file in files:
        if file.root != "agents" or file.path.removeprefix("agents/sould/agents/") in OWN_FILES:
            continue
        if TOOLS.fullmatch(file.path) or any(map(defines_tool, file.of(ast.ClassDef))):
            for line, name in openings(file):
                yield Finding(file.path, line, f"{name} in a tool; open files through CallFiles")


def defines_tool(node: ast.ClassDef) -> bool:
    """Whether it is a class `X(Tool[...])`."""
    return "Tool" in map(last_name, node.bases)


def openings(file: SourceFile) -> Iterator[tuple[int, str]]:
    """What opens files, or looks for them, with its line and name."""
    for node in file.imports():
        yield from ((node.lineno, name) for name in imported(node) if name in OPENING_MODULES)
        if "sould.agents.base.workspace.Workspace" in reached(node):
            yield node.lineno, "Workspace"
    awaited = {node.value for node in file.of(ast.Await)}
    for node in file.of(ast.Call):
        match node.func:
            case ast.Name(id="open"):
                yield node.lineno, "open"
            case ast.Attribute(attr=attr) if attr in OPENING_CALLS and node not in awaited:
                yield node.lineno, attr
            case _:
                pass


def quick_to_define(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """Values are a `msgspec.Struct`: defining hundreds of dataclasses delays every cold start."""
    for file in files:
        for node in file.imports():
            if not {"dataclasses", "dataclasses.dataclass"}.isdisjoint(reached(node)):
                yield Finding(file.path, node.lineno, "a dataclass; make it a msgspec.Struct")


def imported(node: ast.AST) -> list[str]:
    """The module names an import statement reaches; relative ones start with a dot."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(level=level) if level:
            return ["."]
        case ast.ImportFrom(module="sould", names=names):
            return [f"sould.{alias.name}" for alias in names]
        case ast.ImportFrom(module=str(module)):
            return [module]
        case _:
            return []


def foreign(module: str, allowed: frozenset[str]) -> bool:
    """Whether `module` belongs to a portion outside `allowed`. The test-only ACP SDK (`acp`) counts as foreign everywhere."""
    head, _, rest = module.partition(".")
    return head == "acp" or (head == "sould" and rest.split(".", 1)[0] not in allowed)


def design(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """The rules about classes."""
    for path, line, said in housedesign.broken(files):
        yield Finding(path, line, said)


def testing(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """The rules about tests."""
    for path, line, said in housetests.broken(files):
        yield Finding(path, line, said)


def namespace(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """One `sould/__init__.py` in any root would hide the other three."""
    for file in files:
        if re.fullmatch(r"[^/]+/sould/__init__\.py", file.path):
            yield Finding(file.path, 0, "must not exist: sould is a namespace shared by four roots")


def sizes(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """The size ratchet."""
    for file in files:
        if Path(file.path).suffix not in SOURCE:
            continue
        lines = file.text.count("\n")
        limit = RAISED.get(file.path, FILE_LIMIT)
        if lines > limit:
            yield Finding(file.path, 0, f"{lines} lines; the limit is {limit}")
        for function in functions(file):
            limit = RAISED.get(f"{file.path}::{function.name}", FUNCTION_LIMIT)
            if function.length > limit:
                said = f"{function.name} has {function.length} lines; the limit is {limit}"
                yield Finding(file.path, function.line, said)


def functions(file: SourceFile) -> Iterator[Function]:
    """Every function of a file, nested ones too."""
    for node in file.of(ast.FunctionDef, ast.AsyncFunctionDef):
        body = node.body[1:] if is_docstring(node.body[0]) else node.body
        length = (node.end_lineno or node.lineno) - (body[0].lineno if body else node.lineno) + 1
        header = node.body[0].lineno - node.lineno
        yield Function(node.name, node.lineno, length + header if body else header)


def is_docstring(statement: ast.stmt) -> bool:
    """Whether it is one, when it stands first."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return False


def versions(root: Path) -> Iterator[Finding]:
    """The package's version stands in pyproject.toml; the newest in the changelog, and what else names it, is that one."""
    version = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    heading = re.search(r"^## \[?(\d+\.\d+\.\d+\S*?)\]?(?:\s|$)", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if heading is None:
        yield Finding("CHANGELOG.md", 0, "names no version")
    elif heading[1] != version:
        yield Finding("CHANGELOG.md", 0, f"its newest version is {heading[1]}, the package's is {version}")
    for name, pattern in VERSIONED.items():
        named = re.search(pattern, (root / name).read_text(), re.MULTILINE) if (root / name).exists() else None
        if named is not None and named[1] != version:
            yield Finding(name, 0, f"its version is {named[1]}, the package's is {version}")


def pages(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """Each package below `agents` has a short page of its own, and each decision that is cited can be looked up."""
    by_path = {file.path: file for file in files}
    for package in LAYERS["agents"][1:] if ARCHITECTURE in by_path else ():
        page = f"agents/sould/agents/{package}/README.md"
        if f"agents/sould/agents/{package}/__init__.py" in by_path and page not in by_path:
            yield Finding(page, 0, "must say what the package is and where to start")
    for path, most in {
        "ARCHITECTURE.md": MAP_LIMIT,
        **dict.fromkeys(filter(PACKAGE_PAGE.fullmatch, by_path), 40),
    }.items():
        if path in by_path and (lines := by_path[path].text.count("\n")) > most:
            yield Finding(path, 0, f"{lines} lines; the limit is {most}")
    if DECISIONS not in by_path:
        return
    known = set(re.findall(r"^\*\*(D\d+)\.", by_path[DECISIONS].text, re.MULTILINE))
    for path, file in by_path.items():
        if Path(path).suffix in SOURCE | {".md"}:
            for found in CITED.finditer(file.text):
                if found[0] not in known:
                    yield Finding(
                        path, file.text.count("\n", 0, found.start()) + 1, f"{found[0]} is not in {DECISIONS}"
                    )


def addresses(files: Iterable[SourceFile]) -> Iterator[Finding]:
    """No path of somebody's machine and no package registry's address in any file."""
    rules = {MACHINE_PATH: "a path of one machine"}
    rules |= {REGISTRY: "the address of a package registry", RESOLVED: "the address of a package registry"}
    for file in files:
        for rule, said in rules.items() if file.path != "LICENSE" else ():
            for line in sorted({file.text.count("\n", 0, found.end()) + 1 for found in rule.finditer(file.text)}):
                yield Finding(file.path, line, said)


def summary(files: Iterable[SourceFile]) -> str:
    """The numbers worth watching: the tail is where quality decays."""
    files = list(files)
    lengths = sorted(function.length for file in files for function in functions(file))
    if len(lengths) < 2:
        return "house: in order"
    tail = statistics.quantiles(lengths, n=20)[-1]
    return (
        f"house: in order; {len(files)} modules, {len(lengths)} functions, "
        f"median {statistics.median(lengths):.0f} lines, p95 {tail:.0f}, longest {lengths[-1]}"
    )


if __name__ == "__main__":
    gc.disable()  # trees are many objects and stay until the end: looking for circles among them takes a third of the time
    here = Path(__file__).resolve().parent.parent
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else here))
