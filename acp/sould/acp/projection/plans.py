"""The plan a client is shown: the agent's list of what is to do, or how far a flow has come. Pure."""

from collections.abc import Iterator, Sequence

from sould.acp.outbound import Json
from sould.agents.wire.display import TodoItem

_STATUS = {"pending": "pending", "in_progress": "in_progress", "done": "completed"}


class Plan:
    """The plan as it was shown last."""

    def __init__(self) -> None:
        self._items: Sequence[TodoItem] = ()

    def show(self, items: Sequence[TodoItem]) -> Json:
        """The whole plan, as it is now."""
        self._items = items
        entries: list[Json] = [
            {"content": item.title, "priority": "medium", "status": _STATUS[item.status]} for item in items
        ]
        return {"sessionUpdate": "plan", "entries": entries}

    def put_down(self) -> Iterator[Json]:
        """The turn was cut off: what was in progress is to be done again, and nobody does it now."""
        if any(item.status == "in_progress" for item in self._items):
            yield self.show(
                [
                    item.model_copy(update={"status": "pending"}) if item.status == "in_progress" else item
                    for item in self._items
                ]
            )
