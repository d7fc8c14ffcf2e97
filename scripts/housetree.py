"""The files that the rules of the house are about: each is read, parsed and walked once, however many rules look at it.

It knows no rule. `read` gives the files; `SourceFile.of` gives a file's nodes by their type, `scopes` by where they stand.
"""

import ast
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

NodeT = TypeVar("NodeT", bound=ast.AST)
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_ASIDE = frozenset({"ctx", "op", "ops", "type_ignores", "type_comment", "kind"})
_CHILDREN = {
    kind: tuple(name for name in kind._fields if name not in _ASIDE)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and kind not in (ast.Name, ast.Constant, ast.alias)
}
"""The fields of a node that can hold others; those that no rule asks for are half of a tree."""


@dataclass(slots=True)
class Scope:
    """A module, a class or a function, and the nodes in it that are in no scope within it, by their type."""

    node: ast.Module | ast.ClassDef | Function
    above: "Scope | None"
    nodes: dict[type[ast.AST], list[ast.AST]] = field(default_factory=lambda: defaultdict(list))

    def of(self, *kinds: type[NodeT]) -> Iterator[NodeT]:
        """Its own nodes of these types."""
        for kind in kinds:
            for node in self.nodes.get(kind, ()):
                if isinstance(node, kind):
                    yield node


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A tracked file: its text, and for Python the scopes in it, the module first."""

    path: str
    text: str
    scopes: tuple[Scope, ...] = ()

    @property
    def root(self) -> str:
        """The folder at the top that it stands in."""
        return self.path.partition("/")[0]

    @property
    def is_python(self) -> bool:
        """It is a module."""
        return bool(self.scopes)

    def of(self, *kinds: type[NodeT]) -> Iterator[NodeT]:
        """All its nodes of these types."""
        for scope in self.scopes:
            yield from scope.of(*kinds)

    def imports(self) -> Iterator[ast.Import | ast.ImportFrom]:
        """Its imports, wherever they stand."""
        yield from self.of(ast.Import, ast.ImportFrom)


def read(root: Path) -> list[SourceFile]:
    """All tracked files below `root`."""
    return [read_file(root, path) for path in tracked(root)]


def tracked(root: Path) -> list[str]:
    """Files git knows or would add: what a clone of the next commit holds."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(name for name in names if name and (root / name).is_file())


def read_file(root: Path, path: str) -> SourceFile:
    """One file; bytes that are no UTF-8 are replaced, so binary files never match anything."""
    text = (root / path).read_text(encoding="utf-8", errors="replace")
    return SourceFile(path, text, tuple(scopes(ast.parse(text, path))) if path.endswith(".py") else ())


def scopes(tree: ast.Module) -> list[Scope]:
    """The scopes of a tree, outer ones first, in one walk. What a definition is decorated with belongs to its own."""
    found = [Scope(tree, None)]
    for scope in found:
        nodes = scope.nodes
        todo = list(_children(scope.node))
        for node in todo:
            nodes[type(node)].append(node)
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(Scope(node, scope))
            else:
                todo += _children(node)
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    found: list[ast.AST] = []
    for name in _CHILDREN.get(type(node), ()):
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [each for each in cast("list[object]", value) if isinstance(each, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def last_name(node: ast.expr) -> str:
    """The name at an expression's end: `c` of `c`, of `a.b.c` and of `c[x]`; "" for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return last_name(value)
        case _:
            return ""
