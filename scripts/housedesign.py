"""The rules of the house about classes: who assigns an attribute, how much a class is given, what a callback is called.

Pure functions from a syntax tree to the places that break a rule; `house.py` reads the files and prints. Each rule has
an exception dictionary, a path to the number of places it still has there. The numbers only go down.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

PARAMETER_LIMIT = 8

ASSIGNED_OUTSIDE: dict[str, int] = {}
"""Files that still assign an attribute of somebody else's object."""

WIDE_CLASSES: dict[str, int] = {}
"""Files that still have classes given more than `PARAMETER_LIMIT` things."""

UNNAMED_CALLBACKS: dict[str, int] = {}
"""Files that still have fields of type `Callable`."""

UNOWNED_TASKS: dict[str, int] = {}
"""Files that still make tasks without a group, shield them or use another library than asyncio for it."""

PATIENCE = "agents/sould/agents/patience.py"
MCP = "agents/sould/agents/mcp/"

Place: TypeAlias = tuple[int, str]

RECORDS = frozenset({"NamedTuple", "BaseModel", "TypedDict", "Enum", "StrEnum", "IntEnum"})
"""What makes a class data by its base, whatever small methods it has."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What breaks a rule, by file, and how many places each file may still have. `name` is the dictionary's."""

    name: str
    places: Mapping[str, list[Place]]
    exceptions: Mapping[str, int]


def rules(trees: Mapping[str, ast.Module]) -> list[Rule]:
    """All rules of this module over the files of the four roots."""
    working = {name for tree in trees.values() for name in working_classes(tree)}
    return [
        Rule("ASSIGNED_OUTSIDE", {path: assigned_outside(tree) for path, tree in trees.items()}, ASSIGNED_OUTSIDE),
        Rule("WIDE_CLASSES", {path: wide_classes(tree, working) for path, tree in trees.items()}, WIDE_CLASSES),
        Rule("UNNAMED_CALLBACKS", {path: unnamed_callbacks(tree) for path, tree in trees.items()}, UNNAMED_CALLBACKS),
        Rule("UNOWNED_TASKS", {path: unowned_tasks(path, tree) for path, tree in trees.items()}, UNOWNED_TASKS),
    ]


def ratchet(rule: Rule) -> Iterator[tuple[str, int, str]]:
    """What stands beyond a file's number, and numbers higher than what stands there."""
    for path, found in rule.places.items():
        allowed = rule.exceptions.get(path, 0)
        if len(found) > allowed:
            yield from ((path, line, text) for line, text in found)
        elif len(found) < allowed:
            yield path, 0, f"{allowed} exceptions, but it needs {len(found)}; lower it with --lower"


def lowered(source: str, rules: Iterable[Rule]) -> str:
    """This module's text with every number that is higher than it needs to be made as low as it can be."""
    for rule in rules:
        needed = {path: min(count, len(rule.places.get(path, []))) for path, count in rule.exceptions.items()}
        lines = "".join(f'    "{path}": {count},\n' for path, count in sorted(needed.items()) if count)
        dictionary = f"{rule.name}: dict[str, int] = {{{f'{chr(10)}{lines}' if lines else ''}}}"
        source = re.sub(
            rf"^{rule.name}: dict\[str, int\] = {{[^}}]*}}", lambda _, new=dictionary: new, source, flags=re.MULTILINE
        )
    return source


# -- no attribute is assigned from outside its class


def assigned_outside(tree: ast.Module) -> list[Place]:
    """Assignments, augmented ones, `del` and `setattr` of an attribute whose object is not the method's own.

    Its own are `self` and `cls`, an imported module, and in a classmethod, a staticmethod or `__new__` the name bound
    to an object that is being made (`made = cls(...)`). An object of a library (a parameter annotated `library.Class`,
    a name bound to `library.Class(...)`) is used as the library wants.
    """
    imports = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    modules = {alias.asname or alias.name.split(".")[0] for alias in imports}
    return sorted(_assigned_in(tree, frozenset(modules | {"self", "cls"}), None))


def _assigned_in(node: ast.AST, own: frozenset[str], owner: str | None) -> Iterator[Place]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _assigned_in(child, own, child.name)
            continue
        inner = own
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = own | _being_made(child, owner) | _of_libraries(child, own - {"self", "cls"})
        yield from ((line, f"{what} is assigned outside its class") for line, what in _targets(child, inner))
        yield from _assigned_in(child, inner, owner)


def _being_made(function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str | None) -> set[str]:
    """The names a constructor of the class `owner` binds to the object it makes."""
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    if owner is None or not (decorators & {"classmethod", "staticmethod"} or function.name == "__new__"):
        return set()
    makers = {"cls", owner, "cls.__new__", "super().__new__", "object.__new__"}
    return {name for name, maker in _bound_to_calls(function) if ast.unparse(maker) in makers}


def _of_libraries(function: ast.FunctionDef | ast.AsyncFunctionDef, modules: frozenset[str]) -> set[str]:
    """The names of a function for objects of a library's classes. (What is ours is imported by its name.)"""
    imports = [alias for node in ast.walk(function) if isinstance(node, ast.Import) for alias in node.names]
    known = modules | {alias.asname or alias.name.split(".")[0] for alias in imports}
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    typed = [(each.arg, each.annotation) for each in parameters if each.annotation is not None]
    return {
        name
        for name, of in [*typed, *_bound_to_calls(function)]
        if isinstance(of, ast.Attribute) and _is_own(of.value, known)
    }


def _bound_to_calls(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The names a function binds to what a call gives, with what is called."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called)):
                yield name, called
            case _:
                pass


def _targets(node: ast.AST, own: frozenset[str]) -> Iterator[Place]:
    """The attributes a statement assigns or deletes whose object is not one of `own`."""
    match node:
        case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()) if not _is_own(value, own):
            yield node.lineno, ast.unparse(node)
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[value, *_]) if not _is_own(value, own):
            yield node.lineno, ast.unparse(node)
        case ast.Call(func=ast.Attribute(attr="__setattr__" | "__delattr__"), args=[value, *_]) if not _is_own(
            value, own
        ):
            yield node.lineno, ast.unparse(node)
        case _:
            pass


def _is_own(value: ast.expr, own: Collection[str]) -> bool:
    return isinstance(value, ast.Name) and value.id in own


# -- no class is given more than it can hold together


def working_classes(tree: ast.Module) -> Iterator[str]:
    """The names of the classes that do something: what a bundle would carry."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(map(_does_something, _methods(node))) and not _is_record(node):
            yield node.name


def _is_record(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).split("[")[0].split(".")[-1] in RECORDS for base in node.bases)


def wide_classes(tree: ast.Module, working: Collection[str]) -> list[Place]:
    """Classes that are given more than eight things.

    A class counts the parameters of its `__init__`. A dataclass, or another record, that does something counts its
    fields without a default; one that does nothing counts only fields of a class in `working` or of a `Callable`:
    data may be as wide as what it describes, but a bundle of nine services is a constructor with nine parameters.
    """
    return [
        (node.lineno, f"{node.name} is given {given} things; the limit is {PARAMETER_LIMIT}")
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and (given := _given(node, working)) > PARAMETER_LIMIT
    ]


def _given(node: ast.ClassDef, working: Collection[str]) -> int:
    for method in _methods(node):
        if method.name == "__init__":
            arguments = method.args
            return len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]) - 1
    fields = [child for child in node.body if isinstance(child, ast.AnnAssign) and "ClassVar" not in ast.unparse(child)]
    if any(_does_something(method) for method in _methods(node)):
        return sum(map(_is_required, fields))
    return sum(1 for field in fields if not {*working, "Callable"}.isdisjoint(_names(field.annotation)))


def _methods(node: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [child for child in node.body if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)]


def _names(annotation: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}


def _does_something(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return not (method.name.startswith("__") and method.name.endswith("__"))


def _is_required(field: ast.AnnAssign) -> bool:
    match field.value:
        case None:
            return True
        case ast.Call(func=func, args=[], keywords=keywords) if ast.unparse(func).split(".")[-1] in ("field", "Field"):
            return not {keyword.arg for keyword in keywords} & {"default", "default_factory", "init"}
        case _:
            return False


# -- a callback that is kept has a name


def unnamed_callbacks(tree: ast.Module) -> list[Place]:
    """Fields whose type is a `Callable` that nobody named: annotated in the class, or kept from a parameter.

    A named alias says what the callback is, and is allowed where a Protocol could add no names of parameters.
    """
    found: set[Place] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for name, line in _callable_fields(node):
                found.add((line, f"{node.name}.{name} is a bare Callable; give it a named Protocol"))
    return sorted(found)


def _callable_fields(node: ast.ClassDef) -> Iterator[tuple[str, int]]:
    for child in node.body:
        match child:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if _is_callable(annotation):
                yield name, child.lineno
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _kept(child)
            case _:
                pass


def _kept(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, int]]:
    """What a method assigns to `self` that is a `Callable`."""
    parameters = [*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs]
    callables = {p.arg for p in parameters if p.annotation is not None and _is_callable(p.annotation)}
    for node in ast.walk(method):
        match node:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation):
                if _is_callable(annotation):
                    yield name, node.lineno
            case ast.Assign(targets=targets, value=value):
                kept = {child.id for child in ast.walk(value) if isinstance(child, ast.Name)} & callables
                if isinstance(value, ast.Name | ast.BoolOp | ast.IfExp | ast.Tuple) and kept:
                    yield from ((t.attr, node.lineno) for t in targets if isinstance(t, ast.Attribute))
            case _:
                pass


def _is_callable(annotation: ast.expr) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id == "Callable")
        or (isinstance(node, ast.Attribute) and node.attr == "Callable")
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and "Callable[" in node.value)
        for node in ast.walk(annotation)
    )


# -- a task has an owner

LOOPS = frozenset({"loop", "asyncio.get_running_loop()"})
BY_PATIENCE = frozenset({"asyncio.create_task", "asyncio.ensure_future", "asyncio.shield", "asyncio.wait_for"})


def unowned_tasks(path: str, tree: ast.Module) -> list[Place]:
    """Tasks made without a group, shields and waits through a cancellation outside `patience`; anyio outside MCP."""
    return [] if path == PATIENCE else sorted(_unowned_in(tree, may_anyio=path.startswith(MCP)))


def _unowned_in(tree: ast.Module, *, may_anyio: bool) -> Iterator[Place]:
    for node in ast.walk(tree):
        match node:
            case ast.Attribute() if ast.unparse(node) in BY_PATIENCE:
                yield node.lineno, f"{ast.unparse(node)}; use a task group, asyncio.timeout or a function of patience"
            case ast.Attribute(attr="create_task", value=value) if ast.unparse(value) in LOOPS:
                yield node.lineno, "a task of the loop; use a task group or a function of patience"
            case ast.Call(func=func, args=args) if ast.unparse(func).endswith("suppress"):
                if any(ast.unparse(arg).endswith("CancelledError") for arg in args):
                    yield node.lineno, "a cancellation is lost; use a function of patience"
            case ast.ImportFrom(module="asyncio"):
                yield node.lineno, "names of asyncio stand behind its own: import asyncio"
            case ast.Import(names=names) if not may_anyio and any(a.name.split(".")[0] == "anyio" for a in names):
                yield node.lineno, "anyio is for mcp; see Concurrency in ARCHITECTURE.md"
            case ast.ImportFrom(module=str(module)) if not may_anyio and module.split(".")[0] == "anyio":
                yield node.lineno, "anyio is for mcp; see Concurrency in ARCHITECTURE.md"
            case _:
                pass
