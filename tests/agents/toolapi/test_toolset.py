"""Loading and calling tools: what is wrong is said with names, and a bad call never ends a turn."""

import asyncio
import importlib
import pkgutil
from pathlib import Path
from typing import Any, ClassVar, TypeGuard

import pytest
from pydantic import Field

from sould.agents import tools
from sould.agents.toolapi.decorator import SERVICES
from sould.agents.toolapi.toolset import check_tool
from sould.agents.tools import (
    CheckedCall,
    InvalidToolError,
    Tool,
    ToolCallContext,
    ToolParams,
    ToolReturn,
    Toolset,
    tool_ok,
)
from sould.agents.tools.todo import TodoList
from sould.agents.wire.messages import CallPreview
from soultest.bench.tools import FILE_TOOLS, ToolBench
from soultest.toolcalling import call_tool

HERE = "soultest.sampletools"


def context() -> ToolCallContext:
    return ToolCallContext("call_1", 1)


class Params(ToolParams):
    count: int = Field(ge=1, le=5)
    name: str = "x"


def load(*names: str, **services: object) -> Toolset:
    return Toolset.load([f"{HERE}:{name}" for name in names], {TodoList: TodoList(), **services})  # pyright: ignore[reportArgumentType] -- none in these tests


def test_an_unknown_service_names_tool_parameter_and_list() -> None:
    with pytest.raises(InvalidToolError, match=f"NeedsMore: parameter `clock` asks for Path.*{SERVICES}"):
        load("NeedsMore")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("no.such.module:Tool", "No module named"),
        (f"{HERE}:Missing", "no tool class Missing"),
        (f"{HERE}:NotATool", "no tool class NotATool"),
        (HERE, "module:Class"),
        ("kimi_cli.tools.file:Nonsense", "no such tool"),
        (f"{HERE}:Unresolvable", "cannot be resolved"),
    ],
)
def test_what_cannot_be_loaded_is_said(path: str, said: str) -> None:
    with pytest.raises(InvalidToolError, match=said):
        Toolset.load([path], {TodoList: TodoList()})


def test_two_tools_with_one_name_are_refused() -> None:
    with pytest.raises(InvalidToolError, match="two tools are called Counting"):
        load("Counting", "CountingToo")


def test_one_tool_by_two_of_its_names_is_one_tool() -> None:
    names = ["kimi_cli.tools.todo:SetTodoList", "sould.agents.tools.todo:SetTodoList", f"{HERE}:SetTodoListToo"]
    assert [spec.name for spec in Toolset.load(names, {TodoList: TodoList()}).specs] == ["SetTodoList"]


def test_the_paths_of_the_reference_mean_our_tools() -> None:
    """D15: both forms; what this version lacks is left out, and `sould agents explain` names it."""
    paths = ["kimi_cli.tools.todo:SetTodoList", "kimi_cli.tools.todo.list:SetTodoList"]
    for path in paths:
        assert [spec.name for spec in Toolset.load([path], {TodoList: TodoList()}).specs] == ["SetTodoList"]
    tools = Toolset.load([paths[0], "kimi_cli.tools.bash:CMD"], {TodoList: TodoList()})
    assert [spec.name for spec in tools.specs] == ["SetTodoList"]


async def test_bad_arguments_name_parameter_problem_and_example() -> None:
    tools = load("Counting")
    result = await call_tool(tools, "Counting", {"count": 9, "nmae": "y"}, context())
    assert result.is_error
    assert "`count`: must be less than or equal to 5" in result.message
    assert "`nmae`: is not a parameter of this tool" in result.message
    assert "The parameters are `count`, `name`" in result.message
    assert 'Example: {"count": 1}' in result.message
    missing = tools.check("Counting", {})
    assert isinstance(missing, ToolReturn)
    assert "`count`: is required" in missing.message


async def test_an_unknown_tool_is_an_error_that_lists_the_tools() -> None:
    result = await call_tool(load("Counting"), "Nope", {}, context())
    assert result.message == "Tool `Nope` not found. The tools are: Counting."


async def test_an_exception_of_a_tool_is_a_result(caplog: pytest.LogCaptureFixture) -> None:
    result = await call_tool(load("Failing"), "Failing", {}, context())
    assert result.is_error
    assert "ZeroDivisionError" in result.message
    assert "Failing" in caplog.text


async def test_what_the_system_does_not_permit_is_no_fault_of_the_tool() -> None:
    result = await call_tool(load("Forbidden"), "Forbidden", {}, context())
    assert result.is_error
    assert result.message.startswith("/proc/1/root/etc cannot be read or changed: the system does not permit it.")


async def test_cancelling_a_call_is_not_an_error_of_the_tool() -> None:
    running = asyncio.create_task(call_tool(load("Waiting"), "Waiting", {}, context()))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_tool_is_built_anew_for_each_call_when_a_service_wants_to_know_the_call() -> None:
    from soultest.sampletools import Announcer

    tools = Toolset.load([f"{HERE}:Announced"], {Announcer: Announcer("nobody")})
    assert (await call_tool(tools, "Announced", {}, context())).output == "call_1"
    found = tools.find("Announced")
    assert found is not None
    assert (await found.run(ToolParams(), context())).output == "nobody"


def test_a_call_is_described_before_it_runs(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path)
    cases = {
        "Read src/a.py": ("ReadFile", {"path": "src/a.py"}),
        "Read /etc/hosts": ("ReadFile", {"path": "/etc/hosts"}),
        "Write a.py": ("WriteFile", {"path": str(tmp_path / "a.py"), "content": ""}),
        "Append to a.py": ("WriteFile", {"path": "a.py", "content": "", "mode": "append"}),
        "Edit a.py": ("StrReplaceFile", {"path": "a.py", "edit": {"old": "a", "new": "b"}}),
        "Find *.py in src": ("Glob", {"pattern": "*.py", "directory": "src"}),
        'Search for "x" in src': ("Grep", {"pattern": "x", "path": "src"}),
        'Search for "x"': ("Grep", {"pattern": "x"}),
        "Update the todo list": ("SetTodoList", {"todos": [{"title": "x", "status": "done"}]}),
    }
    for title, (name, arguments) in cases.items():
        checked = bench.tools.check(name, arguments)
        assert isinstance(checked, CheckedCall)
        assert checked.view.title == title
    edit = bench.tools.check("StrReplaceFile", cases["Edit a.py"][1])
    assert isinstance(edit, CheckedCall)
    assert (edit.kind, edit.view.locations[0].path) == ("edit", str(tmp_path / "a.py"))
    odd = bench.tools.check("ReadFile", {"path": "a\0b"})
    assert isinstance(odd, CheckedCall)
    assert odd.view.locations == ()


def test_every_tool_has_a_description_and_the_order_of_the_spec(tmp_path: Path) -> None:
    specs = ToolBench(tmp_path).tools.specs
    assert [spec.name for spec in specs] == [path.partition(":")[2] for path in FILE_TOOLS]
    assert all(len(spec.description) > 100 for spec in specs)


def test_every_tool_of_ours_says_what_a_call_does_before_its_arguments_are_known() -> None:
    names = [f"{tools.__name__}.{module.name}" for module in pkgutil.iter_modules(tools.__path__)]
    ours = [each for name in names for each in vars(importlib.import_module(name)).values() if is_tool_of(name, each)]
    assert len(ours) > 20
    assert [each.name for each in ours if each.title in ("", each.name)] == []


def is_tool_of(module: str, value: object) -> TypeGuard[type[Tool[Any]]]:
    return isinstance(value, type) and issubclass(value, Tool) and value.__module__ == module


def test_a_tool_that_declares_what_no_tool_can_be_is_only_shown_worse() -> None:
    toolset = load("Counting", "Juggling")
    assert toolset.preview("Counting") == CallPreview()
    assert toolset.preview("Juggling") is None
    assert toolset.preview("Nobody") is None


class Local(Tool[Params]):
    """Here to show that a tool needs nothing but a name, parameters and `run`."""

    name = "Local"
    example: ClassVar = {"count": 2}
    params = Params

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        return tool_ok(params.name * params.count)


async def test_parameters_are_typed_when_run_sees_them() -> None:
    assert (await Local().run(Params(count=2), context())).output == "xx"


async def test_a_constructor_may_ask_for_the_call_and_gets_the_present_one(tmp_path: Path) -> None:
    tools = load_file(tmp_path, BROKEN["call"])
    assert (await call_tool(tools, "Broken", {}, context())).output == "call_1"


CLASS = """\
import sys
from sould.agents.tools import Tool, ToolCallContext, ToolParams, tool_ok

class Params(ToolParams):
    {params}

class Broken(Tool[Params]):
    name = "Broken"
    description = "Broken."
    params = Params
    {init}

    def view(self, params):
        {view}

    async def run(self, params, call):
        {run}
"""
BROKEN: dict[str, dict[str, str]] = {
    "call": {
        "init": "def __init__(self, call: ToolCallContext): self.call = call",
        "run": "return tool_ok(self.call.id)",
    },
    "exit": {"run": "sys.exit(3)"},
    "text": {"run": "return 'text'"},
    "view": {"view": "sys.exit(3)"},
    "constructor": {"init": "def __init__(self): 1 / 0"},
    "name": {"init": "name = 'not a name'"},
    "description": {"init": "description = Tool.description"},
    "params": {"params": "tool: ToolCallContext"},
}


def file_with(folder: Path, parts: dict[str, str]) -> str:
    """The path of a tool in a file of the user's."""
    whole = {
        "params": "pass",
        "init": "",
        "view": "return super().view(params)",
        "run": "return tool_ok('ran')",
    } | parts
    (folder / "broken.py").write_text(CLASS.format(**whole))
    return f"{folder / 'broken.py'}:Broken"


def load_file(folder: Path, parts: dict[str, str]) -> Toolset:
    return Toolset.load([file_with(folder, parts)], {})


@pytest.mark.parametrize(("how", "said"), [("exit", "SystemExit"), ("text", "TypeError")])
async def test_a_tool_that_leaves_or_answers_wrongly_is_a_result(tmp_path: Path, how: str, said: str) -> None:
    result = await call_tool(load_file(tmp_path, BROKEN[how]), "Broken", {}, context())
    assert result.is_error
    assert said in result.message


def test_a_tool_that_cannot_say_what_it_does_is_shown_by_its_name(tmp_path: Path) -> None:
    checked = load_file(tmp_path, BROKEN["view"]).check("Broken", {})
    assert isinstance(checked, CheckedCall)
    assert checked.view.title == "Broken"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("constructor", "cannot be created: ZeroDivisionError"),
        ("name", "'not a name' is not a valid tool name"),
        ("description", r"cannot be created: FileNotFoundError.*broken\.md"),
        ("params", "cannot be created: PydanticSchemaGenerationError"),
    ],
)
def test_a_tool_that_cannot_be_made_is_named_before_any_turn(tmp_path: Path, how: str, said: str) -> None:
    with pytest.raises(InvalidToolError, match=rf"broken\.py:Broken: .*{said}"):
        load_file(tmp_path, BROKEN[how])


def test_whoever_only_looks_is_told_of_parameters_that_no_model_can_be_told(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidToolError, match=r"broken\.py:Broken: its parameters cannot be described: .*ToolCallContext"
    ):
        check_tool(file_with(tmp_path, BROKEN["params"]), {}, {})
