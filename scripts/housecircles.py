"""The rule of the house about circles: no module of a root needs itself, through others.

Every import counts, wherever it stands: late ones in a function, and those under `if TYPE_CHECKING`. Modules that know one
another only so cannot be understood or replaced singly either. Importing `a.b.c` also needs the package `a.b`, unless one is
in it oneself.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from housetree import SourceFile

Imports: TypeAlias = Mapping[str, Mapping[str, int]]
"""What each module imports, with the line."""


def circles(files: Iterable[SourceFile]) -> Iterator[tuple[str, int, str]]:
    """One import of each circle, with the path and line of it and the modules on the way."""
    modules = {module_name(file.path): file for file in files}
    imports = {name: _imports(name, file, modules) for name, file in modules.items()}
    for circle in _circles(imports):
        first, second = circle[0], circle[1 % len(circle)]
        yield modules[first].path, imports[first][second], f"a circle of imports: {' -> '.join([*circle, first])}"


def module_name(path: str) -> str:
    """`sould.x.y` of `root/sould/x/y.py`."""
    return path.partition("/")[2].removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(name: str, file: SourceFile, modules: Mapping[str, SourceFile]) -> Mapping[str, int]:
    """The modules of its own root that this one needs."""
    found: dict[str, int] = {}
    for node in file.imports():
        for module in _named(node, modules):
            other = modules.get(module)
            if other is not None and other.root == file.root and module != name:
                found.setdefault(module, node.lineno)
            for package in _packages(module):
                if (
                    package in modules
                    and modules[package].root == file.root
                    and not f"{name}.".startswith(f"{package}.")
                ):
                    found.setdefault(package, node.lineno)
    return found


def _named(node: ast.Import | ast.ImportFrom, modules: Mapping[str, SourceFile]) -> Iterator[str]:
    """The modules a statement imports; what is taken from a package may be one."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif node.module:
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield inner if inner in modules else node.module


def _packages(module: str) -> Iterator[str]:
    parts = module.split(".")
    return (".".join(parts[:length]) for length in range(1, len(parts)))


def _circles(imports: Imports) -> Iterator[list[str]]:
    """A circle for each import that leads back to a module whose own imports are being followed."""
    done: set[str] = set()
    for start in imports:
        way = {start: iter(imports[start])}
        while way and start not in done:
            module, rest = next(reversed(way.items()))
            other = next(rest, None)
            if other is None:
                done.add(module)
                del way[module]
            elif other in way:
                names = list(way)
                yield names[names.index(other) :]
            elif other not in done:
                way[other] = iter(imports[other])
