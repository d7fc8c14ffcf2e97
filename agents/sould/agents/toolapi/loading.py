"""Finding what a tool path names: a class or a `@tool` function in a module, or in a Python file of the user's.

The reference's paths are understood (D15). A file is loaded once for each content it has had, so that a changed file is a
new module and a session that still uses the old one is not disturbed.
"""

import hashlib
import importlib.util
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from sould.agents.toolapi.decorator import InvalidToolError

REFERENCE_PACKAGE = "kimi_cli.tools."
REFERENCE_TOOLS = {
    "ReadFile": "sould.agents.tools.readfile:ReadFile",
    "WriteFile": "sould.agents.tools.writefile:WriteFile",
    "StrReplaceFile": "sould.agents.tools.strreplace:StrReplaceFile",
    "Glob": "sould.agents.tools.globtool:Glob",
    "Grep": "sould.agents.tools.grep:Grep",
    "Shell": "sould.agents.tools.shell:Shell",
    "Bash": "sould.agents.tools.shell:Shell",
    "SetTodoList": "sould.agents.tools.todo:SetTodoList",
    "Agent": "sould.agents.tools.agent:Agent",
    "Task": "sould.agents.tools.agent:Agent",
    "TaskList": "sould.agents.tools.tasks:TaskList",
    "TaskOutput": "sould.agents.tools.tasks:TaskOutput",
    "TaskStop": "sould.agents.tools.tasks:TaskStop",
    "CreateSubagent": "sould.agents.tools.createsubagent:CreateSubagent",
    "SendDMail": "sould.agents.tools.senddmail:SendDMail",
    "ReadMediaFile": "sould.agents.tools.readmedia:ReadMediaFile",
    "FetchURL": "sould.agents.tools.fetchurl:FetchURL",
    "SearchWeb": "sould.agents.tools.searchweb:SearchWeb",
    "Think": "sould.agents.tools.think:Think",
    "AskUserQuestion": "sould.agents.tools.askuser:AskUserQuestion",
    "EnterPlanMode": "sould.agents.tools.planmode:EnterPlanMode",
    "ExitPlanMode": "sould.agents.tools.planmode:ExitPlanMode",
}
"""Class names of the reference's tools, wherever in its package they live (D15): `file:ReadFile`, `file.read:ReadFile`."""

RETIRED_TOOLS = {"sould.agents.tools.runtests:RunTests": "Shell runs tests"}
"""Tools of the last version, and what does their work now: files that name them go on working."""

REFERENCE_TOOLS_WE_LACK = frozenset({"CMD"})


def resolve_alias(path: str) -> str | None:
    """Our path for `path`; None for a tool that we do not have: of the reference, or of the last version.

    Raises:
        InvalidToolError: it is in the reference's package, and the reference has no such tool.
    """
    module, _, name = path.partition(":")
    if not f"{module}.".startswith(REFERENCE_PACKAGE):
        return path if path not in RETIRED_TOOLS else None
    if name in REFERENCE_TOOLS:
        return REFERENCE_TOOLS[name]
    if name in REFERENCE_TOOLS_WE_LACK:
        return None
    raise InvalidToolError(
        f"{path}: no such tool; those of the reference that work here are {', '.join(REFERENCE_TOOLS)}"
    )


def same_tool(named: str, path: str) -> bool:
    """Whether `named`, a path or only a tool's name, means the tool at `path`."""
    if ":" not in named:
        own = resolve_alias(path) or path
        return named in (own.rpartition(":")[2], path.rpartition(":")[2])
    return named == path or (resolve_alias(named) or named) == (resolve_alias(path) or path)


def is_retired(named: str) -> bool:
    """Whether it means a tool of the last version."""
    return any(same_tool(named, path) for path in RETIRED_TOOLS)


def find_factory(path: str) -> object:
    """What `module:name` or `file.py:name` names.

    Raises:
        InvalidToolError: there is no such thing.
    """
    module, colon, name = path.rpartition(":")
    if not colon:
        raise InvalidToolError(f"{path}: a tool is written `module:Class`")
    try:
        found = _from_file(Path(module)) if module.endswith(".py") else import_module(module)
    except (ImportError, OSError, SyntaxError) as error:
        raise InvalidToolError(f"{path}: {error}") from error
    except (Exception, SystemExit) as error:  # a script that ends the process must not end ours
        raise InvalidToolError(f"{path}: {type(error).__name__} while it was loaded: {error}") from error
    factory = getattr(found, name, None)
    if factory is None:
        raise InvalidToolError(f"{path}: {module} has no tool class {name}")
    return factory


def _from_file(path: Path) -> ModuleType:
    content = path.read_bytes()
    name = f"sould_tools_{hashlib.sha256(str(path).encode() + content).hexdigest()[:24]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # annotations are resolved through it
    try:
        exec(compile(content, path, "exec"), module.__dict__)  # noqa: S102 -- the bytes whose hash was taken, not the file read again
    except BaseException:
        del sys.modules[name]
        raise
    return module
