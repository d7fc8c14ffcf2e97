"""The rules of the house about tests: they patch nothing, take no private name, import no other test, and wait for what happens.

Pure functions from a file to the places in it that break a rule. What broke one when the rule was made is listed by file; a list
only gets shorter. `tests/README.md` says the rules that no program can check.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from housetree import SourceFile

Place: TypeAlias = tuple[int, str]

SUPPORT = "tests/support/"
LIBRARIES = frozenset(
    {
        *(
            "tests.acp.server.test_inbox",
            "tests.acp.server.test_review",
            "tests.agents.files.directories.test_directory",
        ),
        *("tests.agents.tools.languageservers.test_tools", "tests.agents.files.reviewing.test_property"),
        *("tests.agents.soul.test_reviewed_turns", "tests.editors.lsp.test_program", "tests.editors.lsp.test_restarts"),
        "tests.faults.test_full_disk",
    }
)
"""Tests that others import: what is imported belongs into `tests/support`."""

WAITING = frozenset(
    {
        *(
            "tests/agents/files/projects/test_walking.py",
            "tests/agents/soul/test_subagents.py",
            "tests/agents/tools/test_grep.py",
        ),
        *("tests/agents/tools/web/test_fetch.py", "tests/daemon/test_fdstream.py", "tests/faults/test_limits.py"),
        *("tests/faults/test_model_stream.py", "tests/faults/test_start.py"),
    }
)
"""Tests that sleep: most are the slow peer themselves."""

INSIDE = frozenset({"tests/agents/llm/test_request_cache.py"})
"""Tests that read a private attribute."""

PATCHES = frozenset({"setattr", "delattr", "setitem", "delitem"})


def broken(files: Iterable[SourceFile]) -> Iterator[tuple[str, int, str]]:
    """Each place that breaks a rule of this module, with its path and line."""
    for file in files:
        if file.is_python and file.root == "tests" and not file.path.startswith(SUPPORT):
            for rule in (patches, private_names, other_tests, sleeps):
                yield from ((file.path, line, said) for line, said in rule(file))


def patches(file: SourceFile) -> Iterator[Place]:
    """Code is not patched; the environment and the working directory of a test may be."""
    for node in file.of(ast.Import, ast.ImportFrom):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
        if any(name.split(".")[0] == "mock" or name.startswith("unittest.mock") for name in names):
            yield node.lineno, "a mock; take the real thing, or a scripted one of tests/support"
    for node in file.of(ast.Call):
        match node.func:
            case ast.Attribute(value=ast.Name(id="monkeypatch"), attr=attr) if attr in PATCHES:
                yield node.lineno, f"monkeypatch.{attr}; give what is needed through the constructor"
            case _:
                pass


def private_names(file: SourceFile) -> Iterator[Place]:
    """What is private to a module or an object is not looked at."""
    for node in file.of(ast.ImportFrom) if file.path not in INSIDE else ():
        for alias in node.names:
            if (node.module or "").startswith("sould.") and alias.name.startswith("_"):
                yield node.lineno, f"{alias.name} is private to {node.module}"
    for node in file.of(ast.Attribute) if file.path not in INSIDE else ():
        own = ast.unparse(node.value) in ("self", "cls", "super()", "os")
        if node.attr.startswith("_") and not node.attr.startswith("__") and not own:
            yield node.lineno, f"{node.attr} is private; assert what somebody notices"


def other_tests(file: SourceFile) -> Iterator[Place]:
    """A test module is nobody's library."""
    for node in file.of(ast.ImportFrom):
        module = node.module or ""
        is_test = module.startswith("tests.") and module.rpartition(".")[2].startswith("test_")
        if is_test and module not in LIBRARIES:
            yield node.lineno, f"imports {module}; what tests share stands in tests/support or a module of the folder"


def sleeps(file: SourceFile) -> Iterator[Place]:
    """Nobody sleeps to wait. To let others run once (`asyncio.sleep(0)`) is no sleep."""
    for node in file.of(ast.Call) if file.path not in WAITING else ():
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio"), attr="sleep"), args=[ast.Constant(value=0)]):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Name(id="asyncio" | "time" | "anyio"), attr="sleep")):
                yield node.lineno, "a sleep; wait for what happens"
            case _:
                pass
