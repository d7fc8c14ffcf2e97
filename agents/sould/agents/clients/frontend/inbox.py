"""The inbox for clients of any protocol that know us: the methods below `_sould/inbox` (docs/inbox-clients.md).

It is of all projects of the daemon; a client needs no session for it. The first answer wins, whoever gives it, and is told to
everybody. Nothing here decides anything: an answer is a person's.
"""

from collections.abc import Mapping
from typing import Final

from sould.agents.base.errors import SessionNotFoundError
from sould.agents.base.rpc.connection import Reply
from sould.agents.clients.connections import ClientProcess
from sould.agents.clients.frontend.connection import ClientConnection
from sould.agents.clients.frontend.routes import Route, route, wrong
from sould.agents.clients.inbox.answering import AnswerParams, InboxParams, ShowParams, response_to
from sould.agents.clients.inbox.shapes import Answered
from sould.agents.clients.inbox.shown import shown_end
from sould.agents.clients.params import Json
from sould.agents.files.reviewing.shown import as_json
from sould.agents.sessions.hostport import HostPort
from sould.agents.sessions.inbox import Ended, Waiting
from sould.agents.sessions.port import SessionPort
from sould.agents.soul.session_request import SessionRequest

NOBODY: Final[Mapping[str, str]] = {
    "cancelled": "This was cancelled; nothing waits for an answer any more.",
    "expired": "What this was about has changed, so it expired; nothing of it was run.",
}

_HOW: Final[Mapping[str, str]] = {
    "approved_for_session": "approved it for the session",
    "approved_for_project": "approved it for the project",
    "approved_always": "approved it for all projects",
}


async def show_list(client: ClientConnection, _: InboxParams) -> Json:
    """What waits, in all projects."""
    return as_json(await (await client.inbox()).list())


async def show(client: ClientConnection, params: ShowParams) -> Json:
    """One request, with all that is left out in a list."""
    waiting = await (await client.host()).inbox.find(params.id)
    if waiting is None:
        raise wrong("id", f"No request {params.id[:80]!r} waits.")
    return as_json(await (await client.inbox()).show(waiting))


async def subscribe(client: ClientConnection, _: InboxParams) -> Reply:
    """What waits; what changes from then on is told."""
    inbox = await client.inbox()
    return Reply(as_json(await inbox.subscribe()), inbox.go_on)


async def unsubscribe(client: ClientConnection, _: InboxParams) -> Json:
    """Nothing more is told."""
    (await client.inbox()).end()
    return {}


async def answer(client: ClientConnection, params: AnswerParams) -> Json:
    """Answer a request, unless somebody was faster."""
    inbox = (await client.host()).inbox
    waiting = await inbox.find(params.id)
    if waiting is not None:
        response = response_to(waiting.request, params)
        session = await session_of(waiting, await client.host(), client.services.client)
        if session is not None:
            resolution = session.clients.answer(response, client.signature)
            ended = inbox.ended(params.id)
            if resolution.outcome == "accepted" and ended is not None:
                return as_json(Answered("taken", f"You {_words(ended)}.", shown_end(ended)))
    return as_json(_missed(params.id, inbox.ended(params.id)))


async def session_of(waiting: Waiting, host: HostPort, process: ClientProcess) -> SessionPort | None:
    """Where it waits, opened for the answer if need be; None when it does not wait any more."""
    session_id = waiting.session.id
    if waiting.is_open:
        return host.live(session_id)
    answers = frozenset({"questions"})
    opening = SessionRequest(waiting.session.cwd, (), process.environment, process.umask, capabilities=answers)
    try:
        session = await host.open(session_id, opening)
    except SessionNotFoundError:
        return None
    if await host.inbox.asked_again(session_id, waiting.request.id):
        return session
    await host.detach(session_id, "")  # nobody looks at it: it need not stay in memory
    return None


def _missed(request_id: str, ended: Ended | None) -> Answered:
    if ended is None:
        return Answered("unknown", f"No request {request_id[:80]!r} waits.")
    if not ended.by:
        return Answered("ended", NOBODY[ended.how], shown_end(ended))
    return Answered("already_answered", f"{ended.by} {_words(ended)}.", shown_end(ended))


def _words(ended: Ended) -> str:
    how = _HOW.get(ended.how, f"{ended.how} it")
    return f"{how}: {ended.words}" if ended.words else how


METHODS: Final[Mapping[str, Route[ClientConnection]]] = {
    "_sould/inbox/list": route(InboxParams, show_list),
    "_sould/inbox/show": route(ShowParams, show),
    "_sould/inbox/subscribe": route(InboxParams, subscribe),
    "_sould/inbox/unsubscribe": route(InboxParams, unsubscribe),
    "_sould/inbox/answer": route(AnswerParams, answer),
}
"""By name."""
