"""SetTodoList: the agent's plan, shown to the user; the list itself lives in the injected `TodoList`."""

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, JsonValue

from sould.agents.base.parsed import Parsed
from sould.agents.toolapi.base import CallView, Tool, ToolCallContext, ToolParams, tool_ok
from sould.agents.wire.display import TodoBlock, TodoItem
from sould.agents.wire.messages import ToolKind, ToolReturn


class TodoList:
    """The list of one agent in one session."""

    def __init__(self, items: tuple[TodoItem, ...] = ()) -> None:
        self.items = items

    def set(self, items: tuple[TodoItem, ...]) -> None:
        """Replace them all."""
        self.items = items


class Todo(Parsed):
    """One item."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field(min_length=1, description="What is to be done, in a few words.")
    status: Literal["pending", "in_progress", "done"] = Field(description="How far it is.")


class Params(ToolParams):
    """The new list, or none to read it."""

    todos: list[Todo] | None = Field(
        default=None, description="The complete new list; empty to clear it, null to read the current one."
    )


class SetTodoList(Tool[Params]):
    """Show and replace the todo list."""

    name = "SetTodoList"
    title = "Update the todo list"
    kind: ClassVar[ToolKind] = "think"
    example: ClassVar[dict[str, JsonValue]] = {"todos": [{"title": "Find the failing test", "status": "in_progress"}]}
    params = Params

    def __init__(self, todos: TodoList) -> None:
        self._todos = todos

    def view(self, params: Params) -> CallView:
        """What happens to the list."""
        if params.todos is None:
            return CallView(title="Read the todo list")
        return CallView(title="Update the todo list" if params.todos else "Clear the todo list")

    async def run(self, params: Params, call: ToolCallContext) -> ToolReturn:
        """Replace or read."""
        if params.todos is None:
            items = self._todos.items
            text = "\n".join(f"- [{item.status}] {item.title}" for item in items)
            return tool_ok(text, message="" if items else "The todo list is empty.")
        items = tuple(TodoItem(title=todo.title, status=todo.status) for todo in params.todos)
        self._todos.set(items)
        return tool_ok(
            message="Todo list updated." if items else "Todo list cleared.", display=(TodoBlock(items=items),)
        )
