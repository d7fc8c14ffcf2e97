"""The inbox, asked of the daemon by a client that opens no session (docs/inbox-clients.md), as values.

What waits is kept as the daemon tells it, so that it is known at any moment. Nothing here decides anything or prints.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sould.agents.clients.inbox.shapes import Answered, EndedItem, InboxChanged, InboxItem, InboxList
from sould.daemon.cli.conversation import DaemonConversation, read
from sould.daemon.cli.daemon_client import Params

NAME: Final = "sould inbox"
CHANGED: Final = "_sould/inbox/changed"


class InboxClient:
    """One conversation; all of it raises CommandError."""

    def __init__(self, name: str) -> None:
        """`name`: who answers, as others are told."""
        self._conversation = DaemonConversation(name, self._heard)
        self._items: dict[str, InboxItem] = {}
        self._missed = False
        """The list is to be asked for anew."""
        self._ended: list[EndedItem] = []

    def open(self) -> None:
        """Reach the daemon, which is started when none runs, and be told what changes from then on."""
        self._conversation.open()
        self._keep(self._conversation.look_up("_sould/inbox/subscribe", {}))

    def close(self) -> None:
        """Let go of it."""
        self._conversation.close()

    @property
    def descriptors(self) -> tuple[int, ...]:
        """When one of them is readable, `take` has something to do."""
        return self._conversation.descriptors

    def wake_on(self, number: int) -> None:
        """One of `descriptors` is readable after this signal, too."""
        self._conversation.wake_on(number)

    @property
    def items(self) -> Sequence[InboxItem]:
        """What waits, longest first."""
        return tuple(self._items.values())

    def take(self) -> list[EndedItem]:
        """Hear what is there to be heard; what has ended since the last call."""
        self._conversation.take()
        if self._missed:
            self._missed = False
            self._keep(self._conversation.look_up("_sould/inbox/list", {}))
        ended, self._ended = self._ended, []
        return ended

    def show(self, request_id: str) -> InboxItem:
        """One request, whole."""
        return read(self._conversation.look_up("_sould/inbox/show", {"id": request_id}), InboxItem, NAME)

    def answer(self, request_id: str, decision: Mapping[str, Any]) -> Answered:
        """Answer it; what became of that."""
        return read(self._conversation.ask("_sould/inbox/answer", {"id": request_id, **decision}), Answered, NAME)

    def forget(self, request_id: str) -> None:
        """It was answered here; the news of it may come later."""
        self._items.pop(request_id, None)
        self._ended = [each for each in self._ended if each.id != request_id]

    def _keep(self, answer: Params) -> None:
        self._items = {item.id: item for item in read(answer, InboxList, NAME).items}

    def _heard(self, method: str, params: Params) -> None:
        if method != CHANGED:
            return
        news = read(params, InboxChanged, NAME)
        self._missed = self._missed or news.everything
        for item in news.items:
            self._items[item.id] = item
        for ended in news.ended:
            self._items.pop(ended.id, None)
            self._ended.append(ended)


@contextmanager
def looking(name: str = NAME) -> Generator[InboxClient]:
    """A conversation about the inbox; a daemon is started when none runs. Raises CommandError."""
    client = InboxClient(name)
    try:
        client.open()
        yield client
    finally:
        client.close()
