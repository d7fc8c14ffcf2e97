"""The rules of the house about classes: who assigns an attribute, how much a class is given, what a callback is called.

Pure functions from a file to the places in it that break a rule; `housetree` reads the files and `house.py` prints.
There are no exceptions.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from housetree import Function, Scope, SourceFile, last_name

PARAMETER_LIMIT = 8
PUBLIC_LIMIT = 20

TASKS = "agents/sould/agents/base/tasks.py"
MCP = "agents/sould/agents/mcp/"
CLIENTS = "agents/sould/agents/base/network/clients.py"

Place: TypeAlias = tuple[int, str]

RECORDS = frozenset({"NamedTuple", "BaseModel", "TypedDict", "Enum", "StrEnum", "IntEnum"})
"""What makes a class data by its base, whatever small methods it has."""


def broken(files: Iterable[SourceFile]) -> Iterator[tuple[str, int, str]]:
    """Each place that breaks a rule of this module, with its path and line, in the files of the four roots."""
    modules = [file for file in files if file.is_python]
    working = {name for file in modules for name in working_classes(file)}
    for file in modules:
        yield from ((file.path, line, said) for line, said in assigned_outside(file))
        yield from ((file.path, line, said) for line, said in wide_classes(file, working))
        yield from ((file.path, line, said) for line, said in large_classes(file))
        yield from ((file.path, line, said) for line, said in unnamed_callbacks(file))
        yield from ((file.path, line, said) for line, said in unowned_tasks(file))
        yield from ((file.path, line, said) for line, said in stray_clients(file))


# -- no attribute is assigned from outside its class


def assigned_outside(file: SourceFile) -> Iterator[Place]:
    """Assignments, augmented ones, `del` and `setattr` of an attribute whose object is not the method's own.

    Its own are `self` and `cls`, an imported module, and in a classmethod, a staticmethod or `__new__` the name bound
    to an object that is being made (`made = cls(...)`). An object of a library (a parameter annotated `library.Class`,
    a name bound to `library.Class(...)`) is used as the library wants.
    """
    modules = {alias.asname or alias.name.split(".")[0] for node in file.of(ast.Import) for alias in node.names}
    for scope in file.scopes:
        targets = list(_targets(scope))
        if targets:
            own = modules | {"self", "cls"} | _bound_above(scope, modules)
            for line, target, value in targets:
                if not _is_own(value, own):
                    yield line, f"{ast.unparse(target)} is assigned outside its class"


def _targets(scope: Scope) -> Iterator[tuple[int, ast.expr, ast.expr]]:
    """What assigns or deletes an attribute of something other than `self`, and of what."""
    for node in scope.of(ast.Attribute, ast.Call):
        match node:
            case ast.Attribute(value=ast.Name(id="self")):
                pass
            case ast.Attribute(value=value, ctx=ast.Store() | ast.Del()):
                yield node.lineno, node, value
            case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[value, *_]):
                yield node.lineno, node, value
            case ast.Call(func=ast.Attribute(attr="__setattr__" | "__delattr__"), args=[value, *_]):
                yield node.lineno, node, value
            case _:
                pass


def _bound_above(scope: Scope, modules: set[str]) -> set[str]:
    """The names that a scope and those around it bind to what may be changed there."""
    found: set[str] = set()
    within: Scope | None = scope
    while within is not None:
        if isinstance(within.node, Function):
            found |= _being_made(within, within.node) | _of_libraries(within, within.node, modules)
        within = within.above
    return found


def _being_made(scope: Scope, function: Function) -> set[str]:
    """The names a constructor of the class around it binds to the object it makes."""
    owner = _class_around(scope)
    decorators = {last_name(decorator) for decorator in function.decorator_list}
    if owner is None or not (decorators & {"classmethod", "staticmethod"} or function.name == "__new__"):
        return set()
    makers = {"cls", owner, "cls.__new__", "super().__new__", "object.__new__"}
    return {name for name, maker in _bound_to_calls(scope) if ast.unparse(maker) in makers}


def _class_around(scope: Scope) -> str | None:
    above = scope.above
    while above is not None and not isinstance(above.node, ast.ClassDef):
        above = above.above
    return above.node.name if above is not None and isinstance(above.node, ast.ClassDef) else None


def _of_libraries(scope: Scope, function: Function, modules: set[str]) -> set[str]:
    """The names of a function for objects of a library's classes. (What is ours is imported by its name.)"""
    typed = [(each.arg, each.annotation) for each in _parameters(function) if each.annotation is not None]
    return {
        name
        for name, of in [*typed, *_bound_to_calls(scope)]
        if isinstance(of, ast.Attribute) and _is_own(of.value, modules)
    }


def _bound_to_calls(scope: Scope) -> Iterator[tuple[str, ast.expr]]:
    """The names a scope binds to what a call gives, with what is called."""
    for node in scope.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=called)):
                yield name, called
            case _:
                pass


def _parameters(function: Function) -> list[ast.arg]:
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _is_own(value: ast.expr, own: Collection[str]) -> bool:
    return isinstance(value, ast.Name) and value.id in own


# -- no class is given more than it can hold together


def working_classes(file: SourceFile) -> Iterator[str]:
    """The names of the classes that do something: what a bundle would carry."""
    for node in file.of(ast.ClassDef):
        if any(map(_does_something, _methods(node))) and RECORDS.isdisjoint(map(last_name, node.bases)):
            yield node.name


def wide_classes(file: SourceFile, working: Collection[str]) -> Iterator[Place]:
    """Classes that are given more than eight things.

    A class counts the parameters of its `__init__`. A dataclass, or another record, that does something counts its
    fields without a default; one that does nothing counts only fields of a class in `working` or of a `Callable`:
    data may be as wide as what it describes, but a bundle of nine services is a constructor with nine parameters.
    """
    for node in file.of(ast.ClassDef):
        given = _given(node, working)
        if given > PARAMETER_LIMIT:
            yield node.lineno, f"{node.name} is given {given} things; the limit is {PARAMETER_LIMIT}"


def large_classes(file: SourceFile) -> Iterator[Place]:
    """Classes with more than twenty public methods, properties too: such a class has parts that could be given out."""
    for node in file.of(ast.ClassDef):
        public = {method.name for method in _methods(node) if not method.name.startswith("_")}
        if len(public) > PUBLIC_LIMIT:
            yield node.lineno, f"{node.name} has {len(public)} public methods; the limit is {PUBLIC_LIMIT}"


def _given(node: ast.ClassDef, working: Collection[str]) -> int:
    methods = _methods(node)
    for method in methods:
        if method.name == "__init__":
            return len(_parameters(method)) - 1
    fields = [child for child in node.body if isinstance(child, ast.AnnAssign)]
    if len(fields) <= PARAMETER_LIMIT:
        return len(fields)
    fields = [field for field in fields if "ClassVar" not in _names(field.annotation)]
    if any(map(_does_something, methods)):
        return sum(map(_is_required, fields))
    return sum(1 for field in fields if not {*working, "Callable"}.isdisjoint(_names(field.annotation)))


def _methods(node: ast.ClassDef) -> list[Function]:
    return [child for child in node.body if isinstance(child, Function)]


def _names(annotation: ast.expr) -> set[str]:
    return {last_name(node) for node in ast.walk(annotation) if isinstance(node, ast.Name | ast.Attribute)}


def _does_something(method: Function) -> bool:
    return not (method.name.startswith("__") and method.name.endswith("__"))


def _is_required(field: ast.AnnAssign) -> bool:
    match field.value:
        case None:
            return True
        case ast.Call(func=func, args=[], keywords=keywords) if last_name(func) in ("field", "Field"):
            return not {keyword.arg for keyword in keywords} & {"default", "default_factory", "init"}
        case _:
            return False


# -- a callback that is kept has a name


def unnamed_callbacks(file: SourceFile) -> list[Place]:
    """Fields whose type is a `Callable` that nobody named: annotated in the class, or kept from a parameter.

    A named alias says what the callback is, and is allowed where a Protocol could add no names of parameters.
    """
    found = {place for scope in file.scopes if (owner := _class_around(scope)) for place in _kept(scope, owner)}
    for node in file.of(ast.ClassDef):
        for child in node.body:
            match child:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if _is_callable(annotation):
                    found.add(_bare(child.lineno, node.name, name))
                case _:
                    pass
    return sorted(found)


def _bare(line: int, owner: str, name: str) -> Place:
    return line, f"{owner}.{name} is a bare Callable; give it a named Protocol"


def _kept(scope: Scope, owner: str) -> Iterator[Place]:
    """What a method, or a function in it, assigns to `self` that is a `Callable`."""
    for node in scope.of(ast.AnnAssign):
        match node:
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), annotation=annotation):
                if _is_callable(annotation):
                    yield _bare(node.lineno, owner, name)
            case _:
                pass
    callables = _callable_parameters(scope)
    for node in scope.of(ast.Assign) if callables else ():
        names = {child.id for child in ast.walk(node.value) if isinstance(child, ast.Name)}
        if isinstance(node.value, ast.Name | ast.BoolOp | ast.IfExp | ast.Tuple) and callables & names:
            yield from (_bare(node.lineno, owner, t.attr) for t in node.targets if isinstance(t, ast.Attribute))


def _callable_parameters(scope: Scope) -> set[str]:
    """Of the function and those around it, up to its class."""
    found: set[str] = set()
    within: Scope | None = scope
    while within is not None and isinstance(within.node, Function):
        parameters = _parameters(within.node)
        found |= {each.arg for each in parameters if each.annotation is not None and _is_callable(each.annotation)}
        within = within.above
    return found


def _is_callable(annotation: ast.expr) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id == "Callable")
        or (isinstance(node, ast.Attribute) and node.attr == "Callable")
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and "Callable[" in node.value)
        for node in ast.walk(annotation)
    )


# -- a task has an owner

LOOPS = frozenset({"loop", "asyncio.get_running_loop()"})
BY_TASKS = frozenset({"create_task", "ensure_future", "shield", "wait_for"})


def unowned_tasks(file: SourceFile) -> list[Place]:
    """Tasks made without a group, shields and waits through a cancellation outside `base.tasks`; anyio outside MCP."""
    if file.path == TASKS:
        return []
    found = [*_made_alone(file), *_lost_cancellations(file)]
    return sorted(found if file.path.startswith(MCP) else [*found, *_of_anyio(file)])


def _made_alone(file: SourceFile) -> Iterator[Place]:
    for node in file.of(ast.Attribute):
        if node.attr not in BY_TASKS:
            continue
        if isinstance(node.value, ast.Name) and node.value.id == "asyncio":
            yield node.lineno, f"asyncio.{node.attr}; use a task group, asyncio.timeout or a function of base.tasks"
        elif node.attr == "create_task" and ast.unparse(node.value) in LOOPS:
            yield node.lineno, "a task of the loop; use a task group or a function of base.tasks"
    for node in file.of(ast.ImportFrom):
        if node.module == "asyncio":
            yield node.lineno, "names of asyncio stand behind its own: import asyncio"


def _lost_cancellations(file: SourceFile) -> Iterator[Place]:
    for node in file.of(ast.Call):
        if last_name(node.func) == "suppress" and "CancelledError" in map(last_name, node.args):
            yield node.lineno, "a cancellation is lost; use a function of base.tasks"


def _of_anyio(file: SourceFile) -> Iterator[Place]:
    for node in file.imports():
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        if any(module.split(".")[0] == "anyio" for module in modules):
            yield node.lineno, "anyio is for mcp; see Concurrency in ARCHITECTURE.md"


# -- one module makes HTTP clients

MAKES_CLIENTS = re.compile(r"(Async)?(Client|HTTPTransport)|get|post|request|stream")


def stray_clients(file: SourceFile) -> Iterator[Place]:
    """HTTP clients made outside `base.network.clients`: they would take proxies and certificates of the daemon's environment."""
    if file.path == CLIENTS:
        return
    for node in file.of(ast.Call):
        match node.func:
            case ast.Attribute(value=ast.Name(id="httpx2"), attr=made) if MAKES_CLIENTS.fullmatch(made):
                yield node.lineno, f"httpx2.{made}; use sould.agents.base.network.clients"
            case _:
                pass
