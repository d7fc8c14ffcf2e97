"""The rules of the house that no linter knows, checked in one pass over the tracked files.

Prints one line per broken rule and exits 1; prints one line of numbers and exits 0 when all hold. It only reads, but with
`--lower`, which writes the exceptions of `housedesign` anew, as few as are needed. It uses nothing but the standard
library and git.
"""

import ast
import re
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import housedesign
import housefaces

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
        *("", "wire", "llm", "sessionlog", "rpc", "process", "toolapi", "permissions", "projects", "compaction"),
        *(
            "web",
            "hooks",
            "opening",
            "skills",
            "dmail",
            "soul",
            "mcp",
            "external",
            "timetravel",
            "tools",
            "flows",
            "store",
        ),
        *("settings", "turns", "sessions", "commands"),
    ),
    "daemon": ("", "configuration", "process", "cli"),
}
"""The packages of each portion, lowest first: each imports only those before it. "" are the modules beside the packages."""

TOOLS = ("agents/sould/agents/tools/", "agents/sould/agents/toolapi/")
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
        "sould.agents.diskfile",
        "sould.agents.localworkspace",
        "sould.agents.projects.nodes",
    }
)
OPENING_CALLS = frozenset(
    {
        *("exists", "glob", "is_dir", "is_file", "is_symlink", "iterdir", "lstat", "open", "read_bytes"),
        *("read_text", "readlink", "rglob", "samefile", "stat", "touch", "unlink", "write_bytes", "write_text"),
    }
)
"""Methods of a path. Those of `CallFiles` that have such a name are awaited."""

SOURCE = frozenset({".py", ".ts", ".mjs", ".sh", ".el", ".lua"})
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

    path: str
    name: str
    line: int
    length: int


def main(root: Path) -> int:
    """Check the tree at `root`; the exit status."""
    paths = tracked(root)
    findings = [
        *imports(root, paths),
        *layers(root, paths),
        *faces(root, paths),
        *opening(root, paths),
        *design(root, paths),
        *namespace(paths),
        *sizes(root, paths),
        *changelog(root),
        *addresses(root, paths),
    ]
    for finding in findings:
        print(finding)
    if findings:
        print(f"house: {len(findings)} broken rules")
        return 1
    print(summary(root, paths))
    return 0


def tracked(root: Path) -> list[str]:
    """Files git knows or would add: what a clone of the next commit holds."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(name for name in names if name and (root / name).is_file())


def imports(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """`agents` <- `acp`, `editors` <- `daemon`, absolute imports only, wherever in a file they stand."""
    for path in paths:
        portion = path.split("/", 1)[0]
        if portion not in ALLOWED or not path.endswith(".py"):
            continue
        for node in ast.walk(parse(root, path)):
            for name in imported(node):
                if name.startswith("."):
                    yield Finding(path, line_of(node), "relative import; write from sould... import ...")
                elif foreign(name, ALLOWED[portion]):
                    yield Finding(path, line_of(node), f"{portion} must not import {name}")


def layers(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """A package imports only packages before it in `LAYERS`."""
    for path in paths:
        portion, *parts = path.split("/")
        if portion not in LAYERS or not path.endswith(".py") or parts[:2] != ["sould", portion]:
            continue
        order = LAYERS[portion]
        own = parts[2] if len(parts) > 3 else ""
        if own not in order:
            yield Finding(path, 0, f"package {own} stands in no layer; add it to LAYERS")
            continue
        for node in ast.walk(parse(root, path)):
            for module in reached(node):
                other = package_of(root, portion, module)
                if other is not None and other in order and order.index(other) > order.index(own):
                    yield Finding(
                        path, line_of(node), f"{own or 'a module beside the packages'} must not import {other}"
                    )


def faces(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """A face reaches sessions and projects through their ports only."""
    for path in paths:
        if not path.startswith(housefaces.FACES) or not path.endswith(".py"):
            continue
        for node in ast.walk(parse(root, path)):
            for name in housefaces.past_ports(path, reached(node)):
                yield Finding(path, line_of(node), f"{name} in a face; use the ports of sessions and projects")


def reached(node: ast.AST) -> list[str]:
    """As `imported`, with what is taken from a package, which may be a module."""
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return imported(node)


def package_of(root: Path, portion: str, module: str) -> str | None:
    """The package of `portion` that `module` belongs to; None when it is another portion's."""
    if not f"{module}.".startswith(f"sould.{portion}."):
        return None
    name = module.split(".")[2:3]
    return name[0] if name and (root / portion / "sould" / portion / name[0]).is_dir() else ""


def opening(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """A tool opens what a model names through `CallFiles` only, which judges it first."""
    for path in paths:
        if not path.startswith("agents/") or not path.endswith(".py"):
            continue
        tree = parse(root, path)
        if not path.startswith(TOOLS) and not any(defines_tool(node) for node in ast.walk(tree)):
            continue
        if path.startswith(TOOLS) and path.removeprefix("agents/sould/agents/") in OWN_FILES:
            continue
        for node, name in openings(tree):
            yield Finding(path, node.lineno, f"{name} in a tool; open files through CallFiles")


def defines_tool(node: ast.AST) -> bool:
    """Whether it is a class `X(Tool[...])`."""
    return isinstance(node, ast.ClassDef) and any(ast.unparse(base).split("[")[0] == "Tool" for base in node.bases)


def openings(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What opens files, or looks for them, with its name."""
    awaited = {node.value for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node, name) for name in imported(node) if name in OPENING_MODULES)
        match node:
            case ast.ImportFrom(module="sould.agents.workspace", names=names) if any(
                n.name == "Workspace" for n in names
            ):
                yield node, "Workspace"
            case ast.Call(func=ast.Name(id="open")):
                yield node, "open"
            case ast.Call(func=ast.Attribute(attr=attr)) if attr in OPENING_CALLS and node not in awaited:
                yield node, attr
            case _:
                pass


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


def design(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """The rules about classes, each with the exceptions it still has."""
    for rule in design_rules(root, paths):
        yield from (Finding(*finding) for finding in housedesign.ratchet(rule))


def design_rules(root: Path, paths: Iterable[str]) -> list[housedesign.Rule]:
    """The rules about classes over the files of the four roots."""
    ours = [path for path in paths if path.split("/", 1)[0] in ALLOWED and path.endswith(".py")]
    return housedesign.rules({path: parse(root, path) for path in ours})


def lower(root: Path) -> int:
    """Write the exceptions anew, as few as are needed; it never raises a number."""
    file = Path(housedesign.__file__)
    file.write_text(housedesign.lowered(file.read_text(), design_rules(root, tracked(root))))
    return 0


def namespace(paths: Iterable[str]) -> Iterator[Finding]:
    """One `sould/__init__.py` in any root would hide the other three."""
    for path in paths:
        if re.fullmatch(r"[^/]+/sould/__init__\.py", path):
            yield Finding(path, 0, "must not exist: sould is a namespace shared by four roots")


def sizes(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """The size ratchet."""
    for path in paths:
        if Path(path).suffix not in SOURCE:
            continue
        lines = text(root, path).count("\n")
        limit = RAISED.get(path, FILE_LIMIT)
        if lines > limit:
            yield Finding(path, 0, f"{lines} lines; the limit is {limit}")
        if path.endswith(".py"):
            for function in functions(root, path):
                limit = RAISED.get(f"{path}::{function.name}", FUNCTION_LIMIT)
                if function.length > limit:
                    yield Finding(
                        path, function.line, f"{function.name} has {function.length} lines; the limit is {limit}"
                    )


def functions(root: Path, path: str) -> Iterator[Function]:
    """Every function of a file, nested ones too."""
    for node in ast.walk(parse(root, path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            length = (node.end_lineno or node.lineno) - (body[0].lineno if body else node.lineno) + 1
            header = node.body[0].lineno - node.lineno
            yield Function(path, node.name, node.lineno, length + header if body else header)


def changelog(root: Path) -> Iterator[Finding]:
    """The newest version in the changelog is the package's."""
    version = tomllib.loads(text(root, "pyproject.toml"))["project"]["version"]
    heading = re.search(r"^## \[?(\d+\.\d+\.\d+\S*?)\]?(?:\s|$)", text(root, "CHANGELOG.md"), re.MULTILINE)
    if heading is None:
        yield Finding("CHANGELOG.md", 0, "names no version")
    elif heading[1] != version:
        yield Finding("CHANGELOG.md", 0, f"its newest version is {heading[1]}, the package's is {version}")


def addresses(root: Path, paths: Iterable[str]) -> Iterator[Finding]:
    """No path of somebody's machine and no package registry's address in any file."""
    for path in paths:
        if path == "LICENSE":
            continue
        for number, line in enumerate(text(root, path).splitlines(), 1):
            if MACHINE_PATH.search(line):
                yield Finding(path, number, "a path of one machine")
            if REGISTRY.search(line) or RESOLVED.search(line):
                yield Finding(path, number, "the address of a package registry")


def summary(root: Path, paths: Iterable[str]) -> str:
    """The numbers worth watching: the tail is where quality decays."""
    ours = [path for path in paths if path.split("/", 1)[0] in ALLOWED and path.endswith(".py")]
    lengths = sorted(function.length for path in ours for function in functions(root, path))
    if len(lengths) < 2:
        return "house: in order"
    tail = statistics.quantiles(lengths, n=20)[-1]
    return (
        f"house: in order; {len(ours)} modules, {len(lengths)} functions, "
        f"median {statistics.median(lengths):.0f} lines, p95 {tail:.0f}, longest {lengths[-1]}"
    )


def parse(root: Path, path: str) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(text(root, path), path)


def text(root: Path, path: str) -> str:
    """A file as text; bytes that are no UTF-8 are replaced, so binary files never match anything."""
    return (root / path).read_text(encoding="utf-8", errors="replace")


def line_of(node: ast.AST) -> int:
    """Where a statement stands."""
    return node.lineno if isinstance(node, ast.stmt) else 0


if __name__ == "__main__":
    here = Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--lower"]:
        sys.exit(lower(here))
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else here))
