"""What waits for a person in all sessions of a daemon, be they in memory or not: one list, and news of it for who follows.

The requests are the sessions' own, and so are the answers; nothing here gives one, or knows a client. Which sessions wait is
noted on disk; what those wait for that nobody has opened since the daemon began is read from their journals.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.errors import SessionNotFoundError
from sould.agents.journal.channel import Channel, Listening, Record
from sould.agents.journal.log import JOURNAL
from sould.agents.journal.records import read_records
from sould.agents.sessions.store.entry import SessionEntry
from sould.agents.sessions.store.store import SessionInfo, SessionStore
from sould.agents.sessions.store.waitingnotes import WaitingNotes
from sould.agents.soul.unfinished import unfinished
from sould.agents.wire.messages import (
    ApprovalRequest,
    ApprovalResponse,
    QuestionRequest,
    QuestionResponse,
    RequestClosed,
    WireMessage,
)

logger = logging.getLogger(__name__)

ForAPerson: TypeAlias = ApprovalRequest | QuestionRequest
"""The requests that people answer."""
How: TypeAlias = Literal[
    "approved",
    "approved_for_session",
    "approved_for_project",
    "approved_always",
    "rejected",
    "answered",
    "declined",
    "dismissed",
    "cancelled",
    "expired",
]
"""What became of a request; the last two are nobody's answer."""
REMEMBERED: Final = 1_000
"""Requests that ended."""
_KINDS: Final = (ApprovalRequest, QuestionRequest, ApprovalResponse, QuestionResponse, RequestClosed)
_DECIDED: Final[Mapping[str, How]] = {
    "approve": "approved",
    "approve_for_session": "approved_for_session",
    "reject": "rejected",
}
_LASTING: Final[Mapping[str, How]] = {"project": "approved_for_project", "always": "approved_always"}
_TOLD_BY: Final = {
    *("ApprovalRequest", "ApprovalResponse", "ApprovalRequestResolved", "RequestClosed"),
    *("QuestionRequest", "QuestionResponse"),
}


class Waiting(Struct, frozen=True):
    """A request that nobody has answered. `since`: wall seconds. `is_open`: its session is in memory."""

    request: ForAPerson
    since: float
    session: SessionInfo
    is_open: bool


class Ended(Struct, frozen=True):
    """A request that waits no more: how it ended, by whose answer ("" for nobody's), and when. `words`: what they said."""

    id: str
    session_id: str
    how: How
    by: str
    at: float
    words: str = ""


InboxFollower: TypeAlias = Callable[[str], None]
"""Called when a request waits, or waits no more. Never raises or blocks."""


class Following(Struct, frozen=True, eq=False):
    """That somebody is told of changes, until `close`. Made by `Inbox.follow`."""

    inbox: "Inbox"
    tell: InboxFollower

    def close(self) -> None:
        """Tell them nothing more."""
        self.inbox.unfollow(self)


class _Watched(Struct, frozen=True):
    """A session in memory."""

    entry: SessionEntry
    channel: Channel
    listening: Listening


class Inbox:
    """Of one daemon. The host says which sessions come into memory and leave it."""

    def __init__(self, store: SessionStore, notes: WaitingNotes) -> None:
        """Reads the notes: blocks."""
        self._store = store
        self._notes = notes
        self._since = notes.load()
        self._live: dict[str, _Watched] = {}
        self._stored: dict[str, tuple[Waiting, ...]] = {}
        """What was read of those that are not in memory."""
        self._ended: dict[str, Ended] = {}
        self._followers: tuple[Following, ...] = ()

    # --- for the host -----------------------------------------------------------------------------------------------

    def watch(self, entry: SessionEntry, channel: Channel) -> None:
        """A session comes into memory; nothing was said in it yet."""
        session_id = entry.info.id
        listening = channel.listen(_KINDS, lambda record: self._take(session_id, record))
        self._live[session_id] = _Watched(entry, channel, listening)
        self._stored.pop(session_id, None)

    def unwatch(self, session_id: str) -> None:
        """It has left the memory; what still waits in it does so on disk."""
        watched = self._live.pop(session_id, None)
        if watched is not None:
            watched.listening.close()

    def forget(self, session_id: str) -> None:
        """It is gone."""
        self._stored.pop(session_id, None)
        waited = tuple(self._since.get(session_id, {}))
        for request_id in waited:
            self._end(Ended(request_id, session_id, "cancelled", "", time.time()))
        if waited:
            self._note(session_id)
            self._tell(*waited)

    # --- for those who look -----------------------------------------------------------------------------------------

    @property
    def live(self) -> tuple[Waiting, ...]:
        """What waits in the sessions in memory, what waits longest first."""
        found = (
            Waiting(request, self._since.get(session_id, {}).get(request.id, 0.0), watched.entry.info, is_open=True)
            for session_id, watched in self._live.items()
            for request in watched.channel.pending
            if isinstance(request, ForAPerson)
        )
        return tuple(sorted(found, key=lambda each: each.since))

    async def all(self) -> tuple[Waiting, ...]:
        """What waits in all sessions, what waits longest first."""
        for session_id in [each for each in self._since if each not in self._live and each not in self._stored]:
            found = await asyncio.to_thread(self._read, session_id)
            if session_id not in self._live and session_id in self._since:
                self._keep_read(session_id, found)
        stored = (each for waiting in self._stored.values() for each in waiting)
        return tuple(sorted((*self.live, *stored), key=lambda each: each.since))

    @property
    def count(self) -> int:
        """How much waits, in sessions in memory and on disk, as far as is known without looking."""
        return sum(map(len, self._since.values()))

    async def find(self, request_id: str) -> Waiting | None:
        """The request, if it waits."""
        return next((each for each in await self.all() if each.request.id == request_id), None)

    def ended(self, request_id: str) -> Ended | None:
        """What became of a request, if it ended a short while ago."""
        return self._ended.get(request_id)

    def follow(self, follower: InboxFollower) -> "Following":
        """Tell `follower` of all that changes from now on."""
        following = Following(self, follower)
        self._followers = (*self._followers, following)
        return following

    def unfollow(self, following: "Following") -> None:
        """Tell it nothing more; `Following.close` calls this."""
        self._followers = tuple(each for each in self._followers if each is not following)

    async def asked_again(self, session_id: str, request_id: str) -> bool:
        """A session that was opened asks again what it had asked; False when that ended in another way, or nobody asks."""
        async with self._changes() as changed:
            while True:
                watched = self._live.get(session_id)
                if watched is None or request_id not in self._since.get(session_id, {}):
                    return False
                if any(request.id == request_id for request in watched.channel.pending):
                    return True
                await changed.wait()
                changed.clear()

    @asynccontextmanager
    async def _changes(self) -> AsyncGenerator[asyncio.Event, None]:
        changed = asyncio.Event()
        with closing(self.follow(lambda _: changed.set())):
            yield changed

    # --- what happens -----------------------------------------------------------------------------------------------

    def _take(self, session_id: str, record: Record) -> None:
        message = record.message
        if isinstance(message, ForAPerson):
            request_id = message.id
            self._since.setdefault(session_id, {}).setdefault(request_id, record.timestamp)
        else:
            request_id = _about(message)
            if request_id not in self._since.get(session_id, {}):
                return  # it was for a program
            self._end(_ended(request_id, session_id, message, record.timestamp))
        self._note(session_id)
        self._tell(request_id)

    def _end(self, ended: Ended) -> None:
        del self._since[ended.session_id][ended.id]
        self._ended[ended.id] = ended
        if len(self._ended) > REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def _note(self, session_id: str) -> None:
        since = self._since[session_id]
        self._notes.note(session_id, since)
        if not since:
            del self._since[session_id]

    def _tell(self, *request_ids: str) -> None:
        for follower in self._followers:
            for request_id in request_ids:
                follower.tell(request_id)

    # --- those on disk ----------------------------------------------------------------------------------------------

    def _read(self, session_id: str) -> tuple[Waiting, ...]:
        try:
            stored = self._store.find(session_id)
            requests = _asked_again(stored.directory)
        except (SessionNotFoundError, OSError) as error:
            logger.info("what session %s waits for cannot be read: %s", session_id, error)
            return ()
        known = self._since.get(session_id, {})
        return tuple(Waiting(each, known.get(each.id, at), stored.info, is_open=False) for each, at in requests)

    def _keep_read(self, session_id: str, found: tuple[Waiting, ...]) -> None:
        self._since[session_id] = {each.request.id: each.since for each in found}
        if found:
            self._stored[session_id] = found
        else:
            self._note(session_id)


def _about(message: WireMessage) -> str:
    answers = isinstance(message, ApprovalResponse | QuestionResponse | RequestClosed)
    return message.request_id if answers else ""


def _ended(request_id: str, session_id: str, message: WireMessage, at: float) -> Ended:
    match message:
        case ApprovalResponse(answered_by=by):
            decided = _LASTING.get(message.lasting) or _DECIDED[message.response]
            return Ended(request_id, session_id, decided, by, at, message.feedback)
        case QuestionResponse(answers=answers, answered_by=by):
            how: How = "answered" if answers or message.content else "declined" if message.declined else "dismissed"
            return Ended(request_id, session_id, how, by, at, "; ".join(answers.values()))
        case _:
            expired = isinstance(message, RequestClosed) and message.reason == "expired"
            return Ended(request_id, session_id, "expired" if expired else "cancelled", "", at)


def _asked_again(directory: Path) -> list[tuple[ForAPerson, float]]:
    """Those that a journal leaves open and that are asked again (D16), and when each was asked. Blocks."""
    open_ones: dict[str, tuple[ForAPerson, float]] = {}
    for record in read_records(directory / JOURNAL):
        message = record.message if record.type in _TOLD_BY else None  # the others need not be built
        if isinstance(message, ForAPerson):
            open_ones.setdefault(message.id, (message, record.timestamp))
        elif message is not None:
            open_ones.pop(_about(message), None)
    requests = [request for request, _ in open_ones.values()]
    if any(isinstance(each, QuestionRequest) for each in requests):
        said = (record.message for record in read_records(directory / JOURNAL))
        left = unfinished(filter(None, said), requests)
        again = {request_id for request_ids in left.requests.values() for request_id in request_ids}
        return [open_ones[each.id] for each in requests if each.id in again]
    return list(open_ones.values())
