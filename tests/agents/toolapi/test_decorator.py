"""`@tool`: schema from the signature, services from the annotations, mistakes named at load."""

import threading
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from sould.agents.toolapi.decorator import SERVICES, ToolFunction
from sould.agents.tools import (
    InvalidToolError,
    PromptArguments,
    Session,
    ToolCallContext,
    ToolReturn,
    Toolset,
    tool,
    tool_error,
)
from soultest.toolcalling import call_tool

CALL = ToolCallContext("call_1", 1, turn_id="turn")


@tool
async def greet_somebody(
    name: Annotated[str, Field(description="Whom.")], session: Session, call: ToolCallContext, loud: bool = False
) -> str:
    """Greet somebody."""
    text = f"hello {name} from {session.id} in {call.id}"
    return text.upper() if loud else text


@tool(name="Weigh", kind="think")
def weigh(unit: Literal["g", "kg"], session: Annotated[Session | None, "whose"] = None) -> ToolReturn:
    """Weigh."""
    return tool_error(f"{unit} {threading.current_thread() is threading.main_thread()} {session}")


@tool
async def needs_too_much(number: Fraction, clock: Path, other: object) -> str:
    return f"{number} {clock} {other}"


class Clock:
    pass


@tool
async def needs_a_clock(clock: Clock) -> str:
    return str(clock)


def load(function: str, **services: object) -> Toolset:
    here = Path(__file__)
    given = {Session: Session("s1", here.parent, here.parent), **services}
    return Toolset.load((f"{here}:{function}",), given)


async def test_a_function_is_a_tool_whose_services_are_not_in_its_schema() -> None:
    tools = load("greet_somebody")
    (spec,) = tools.specs
    assert (spec.name, spec.description) == ("GreetSomebody", "Greet somebody.")
    assert spec.parameters["properties"] == {
        "name": {"type": "string", "description": "Whom."},
        "loud": {"type": "boolean", "default": False},
    }
    assert spec.parameters["required"] == ["name"]
    result = await call_tool(tools, "GreetSomebody", {"name": "you", "loud": True}, CALL)
    assert (result.is_error, result.output) == (False, "HELLO YOU FROM S1 IN CALL_1")


async def test_bad_arguments_are_an_error_the_model_can_act_on() -> None:
    result = await call_tool(load("greet_somebody"), "GreetSomebody", {"nam": "you"}, CALL)
    assert result.is_error
    assert "`name`: is required" in result.message


async def test_a_plain_function_runs_beside_the_loop_and_may_return_a_whole_result() -> None:
    tools = load("weigh")
    assert tools.check("Weigh", {"unit": "g"})
    result = await call_tool(tools, "Weigh", {"unit": "g"}, CALL)
    assert result.message.startswith("g False Session(id='s1'")


def test_a_parameter_that_is_neither_service_nor_data_fails_at_load_with_the_list() -> None:
    with pytest.raises(InvalidToolError, match=f"NeedsAClock: parameter `clock` asks for Clock.*{SERVICES}"):
        load("needs_a_clock")


@pytest.mark.parametrize(("source", "said"), [("1 / 0", "ZeroDivisionError"), ("raise SystemExit(3)", "SystemExit")])
def test_a_file_that_cannot_be_loaded_is_named(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "bad.py").write_text(f"{source}\n")
    with pytest.raises(InvalidToolError, match=rf"bad\.py:x: {said}"):
        Toolset.load((f"{tmp_path / 'bad.py'}:x",), {})


@tool
async def has_a_private_parameter(_path: str) -> str:
    return _path


def test_a_parameter_the_model_could_not_send_fails_at_load() -> None:
    with pytest.raises(InvalidToolError, match="HasAPrivateParameter: parameter `_path` begins with an underscore"):
        load("has_a_private_parameter")


@tool
def says_much() -> str:
    return "word\n" * 20_000


async def test_long_text_is_cut_for_the_model_and_the_cut_is_said() -> None:
    result = await call_tool(load("says_much"), "SaysMuch", {}, CALL)
    assert isinstance(result.output, str)
    assert len(result.output) <= 50_000
    assert "Only the first and last part of 100000 characters" in result.message


async def test_a_changed_file_is_a_new_module_and_the_old_one_stays_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    source = "from sould.agents.tools import tool\n@tool\nasync def say() -> str:\n    return '{}'\n"
    path.write_text(source.format("old"))
    before = Toolset.load((f"{path}:say",), {})
    path.write_text(source.format("new"))
    after = before.rebuild((f"{path}:say",))
    assert (await call_tool(before, "Say", {}, CALL)).output == "old"
    before.replace_with(after)
    assert (await call_tool(before, "Say", {}, CALL)).output == "new"


def test_prompt_arguments_are_made_when_they_are_first_asked_for() -> None:
    made: list[int] = []
    arguments = PromptArguments(lambda: made.append(1) or {"A": "1"})
    assert made == []
    assert (arguments["A"], len(arguments), list(arguments), made) == ("1", 1, ["A"], [1])


def test_the_function_itself_can_still_be_called() -> None:
    assert isinstance(weigh, ToolFunction)
    assert isinstance(weigh("g"), ToolReturn)
