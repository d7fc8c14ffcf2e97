"""What sessions tell their user at the beginning of a turn: things that happened to the daemon, not to the session (D23).

Each session says each thing once. What happened before a session began is no news to it, unless it still holds, or
nobody has been told yet.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.journal.log import SessionLog
from sould.agents.wire.notice import notice

Severity: TypeAlias = Literal["info", "warning", "error"]
_KEPT = 20


class NoticeItem(Struct, frozen=True):
    """One thing to say."""

    number: int
    title: str
    body: str
    severity: Severity


AboutClient: TypeAlias = Callable[[Mapping[str, str]], str]
"""A sentence about what is wrong between the daemon and the environment of a client, or ""."""


def _nothing_wrong(environment: Mapping[str, str]) -> str:
    return ""


class News:
    """What is known in one daemon. `about_client` says what is wrong between the daemon and a client's environment, or ""."""

    def __init__(self, about_client: AboutClient = _nothing_wrong) -> None:
        self.about_client = about_client
        self.last = 0
        self._items: deque[NoticeItem] = deque(maxlen=_KEPT)
        self._unheard: list[NoticeItem] = []
        self._standing: dict[str, NoticeItem] = {}

    def tell(self, title: str, body: str, severity: Severity = "info", *, keep: bool = False) -> NoticeItem:
        """Say it to every live session; with `keep`, to the next one that begins if there is none."""
        self.last += 1
        item = NoticeItem(self.last, title, body, severity)
        self._items.append(item)
        if keep:
            self._unheard.append(item)
        return item

    def stand(self, topic: str, title: str, body: str, severity: Severity = "warning") -> None:
        """Say it to every live session, and to each that begins until `settle`."""
        self._standing[topic] = self.tell(title, body, severity)

    def settle(self, topic: str) -> None:
        """It holds no longer."""
        self._standing.pop(topic, None)

    def after(self, heard: int | None) -> tuple[NoticeItem, ...]:
        """What a session has not heard that heard everything up to `heard`; None: that has only begun."""
        if heard is not None:
            new = tuple(item for item in self._items if item.number > heard)
        else:
            new = (*self._standing.values(), *self._unheard)
        self._unheard.clear()
        return new


class NewsReader:
    """One session's. Nothing is published before its first turn: there is nobody to read it."""

    def __init__(self, news: News, log: SessionLog, environment: Mapping[str, str]) -> None:
        self._news = news
        self._log = log
        self._environment = environment
        self._heard: int | None = None

    def tell(self) -> None:
        """Publish what is new."""
        new = self._news.after(self._heard)
        differing = self._news.about_client(self._environment) if self._heard is None else ""
        self._heard = self._news.last
        if differing:
            self._publish("The daemon uses another configuration", differing, "warning")
        for item in new:
            self._publish(item.title, item.body, item.severity)

    def _publish(self, title: str, body: str, severity: Severity) -> None:
        self._log.publish(notice("daemon", title, body, severity=severity))
