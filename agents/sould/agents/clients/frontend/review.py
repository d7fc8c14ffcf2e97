"""The review of a project for clients of any protocol that know us: the methods below `_sould/review` (docs/review-clients.md).

A client names a directory or a file. It needs no session, and nothing here asks a model or waits for a turn.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.errors import SessionNotFoundError
from sould.agents.base.lsp import Position
from sould.agents.base.rpc.connection import Reply
from sould.agents.clients.frontend.connection import ClientConnection
from sould.agents.clients.frontend.routes import Route, route, wrong
from sould.agents.clients.params import Json, absolute
from sould.agents.clients.review.params import (
    LONGEST_REASON,
    ChangeParams,
    CommentParams,
    DecisionParams,
    FileParams,
    ListReviewParams,
    NamedHunk,
    PositionParams,
    ProjectParams,
    RejectedParams,
    ReportParams,
    SendCommentsParams,
    UndoParams,
)
from sould.agents.clients.review.projects import FollowedProject, resolve
from sould.agents.clients.review.reports import BufferChange, Report
from sould.agents.files.reviewing.comments import NothingThereError
from sould.agents.files.reviewing.listing import FileReview, Selection
from sould.agents.files.reviewing.orders import Order
from sould.agents.files.reviewing.shapes import Base, Commented, Reported, ReviewList, SentComments, Verdict
from sould.agents.files.reviewing.shown import (
    as_json,
    shown_comment,
    shown_comments,
    shown_file,
    shown_outcome,
    shown_rejected,
    shown_round,
)
from sould.agents.sessions.port import SessionPort
from sould.agents.soul.session_request import SessionRequest

REPORT: Final = "_sould/review/report"


class _Target(Struct, frozen=True):
    """A project that is open for a request, and the resolved paths the request names."""

    project: FollowedProject
    paths: tuple[str, ...]


async def show(client: ClientConnection, params: ListReviewParams) -> Json:
    """What is pending, in the files as they are now."""
    async with _named(client, params, params.paths) as target:
        selection = Selection((), target.paths, params.session_id, params.turn_id)
        await target.project.port.foresee()
        files = await target.project.port.pending_now(selection, absent=params.absent)
        return _list(target.project, _answers(files) if params.answers else files)


async def subscribe(client: ClientConnection, params: ProjectParams) -> Reply:
    """What is pending; what changes from then on is told."""
    async with _named(client, params) as target:
        files = await target.project.port.pending_now()
        return Reply(_list(target.project, files), target.project.subscribe)


async def unsubscribe(client: ClientConnection, params: ProjectParams) -> Json:
    """Nothing more is told."""
    async with _named(client, params) as target:
        target.project.unsubscribe()
        return {}


async def keep(client: ClientConnection, params: DecisionParams) -> Json:
    """What is there becomes the user's text."""
    return await _decide(client, "keep", params)


async def reject(client: ClientConnection, params: DecisionParams) -> Json:
    """What was there before comes back, with what the user wrote."""
    return await _decide(client, "reject", params)


async def undo(client: ClientConnection, params: UndoParams) -> Json:
    """Take a keep or a reject back: the hunk is pending again."""
    async with _named(client, params) as target:
        order = Order("undo", Selection(_ids(params.hunks)), client.signature)
        return as_json(shown_outcome(await target.project.port.review.decide(order)))


async def base(client: ClientConnection, params: FileParams) -> Json:
    """The text of a file as the user accepted it."""
    async with _named(client, params, [params.path]) as target:
        [path] = target.paths
        return as_json(Base(path, await target.project.port.review.base(path)))


async def rejected(client: ClientConnection, params: RejectedParams) -> Json:
    """The text of what is in its file no more."""
    async with _named(client, params, params.paths) as target:
        port, selection = target.project.port, Selection(paths=target.paths)
        await port.pending_now(selection)  # takes what an editor that ended just now held
        aside, dropped = port.review.put_aside(selection), await port.review.dropped(selection)
        return as_json(shown_rejected(aside, dropped, port.review.left(selection)))


async def comment(client: ClientConnection, params: CommentParams) -> Json:
    """Say something about a hunk or some lines, for the agent, or take it out."""
    paths = [params.path] if params.path is not None else []
    async with _named(client, params, paths) as target:
        comments, by, replaces = target.project.port.review.comments, client.signature, params.id or 0
        if not params.text.strip():
            if not replaces:
                raise wrong("text", "text is required.")
            await comments.remove(replaces, by)
            return as_json(Commented(None))
        try:
            if params.hunk is not None:
                made = await comments.about_hunk(params.hunk, params.text, by, replaces)
            elif params.lines is not None and target.paths:
                path = Path(target.paths[0])
                made = await comments.about_lines(path, params.lines, params.text, by, replaces)
            else:
                raise wrong("hunk", "Name a hunk, or a path and its lines.")
        except NothingThereError as error:
            raise wrong("hunk" if params.hunk is not None else "lines", f"{error}.") from error
        return as_json(Commented(shown_comment(made)))


async def send_comments(client: ClientConnection, params: SendCommentsParams) -> Json:
    """Give the comments to the agent as one prompt, or to the client, which sends them."""
    async with _named(client, params) as target:
        comments = target.project.port.review.comments
        ids, prompt = await comments.message(params.ids)
        if not ids:
            return as_json(SentComments("nothing"))
        writers = comments.sessions_of(ids)
        session_id = params.session_id or (writers[-1] if writers else "")
        if not params.send:
            return as_json(
                SentComments("returned", "", prompt, shown_round(await comments.sent(ids, "", client.signature)))
            )
        session = await _opened(client, session_id)
        if session is None:
            return as_json(SentComments("closed", session_id, prompt))
        session.turns.prompt(prompt, client.id)
        begun = await comments.sent(ids, session_id, client.signature)  # numbered before the turn can write anything
        return as_json(SentComments("sent", session_id, prompt, shown_round(begun)))


async def _opened(client: ClientConnection, session_id: str) -> SessionPort | None:
    """The session, brought back with the client's environment when it is closed; None: there is none (any more)."""
    host, process = await client.host(), client.services.client
    live = host.live(session_id)
    if live is not None or not session_id:
        return live
    try:
        stored = host.stored.find(session_id)
        opening = SessionRequest(stored.info.cwd, environment=process.environment, umask=process.umask)
        return await host.open(stored.info.id, opening)
    except SessionNotFoundError:
        return None


async def report(client: ClientConnection, params: ReportParams) -> Json:
    """What the client has open; taken in the order in which it comes."""
    named = params.path if params.path is not None else params.cwd if params.event == "focus" else None
    if named is None:
        raise wrong("path", "path is required.")
    told = Report(params.event, params.version, params.text, tuple(map(_change, params.changes)), params.unsaved)
    return as_json(Reported(await (await client.reports()).take(told, absolute(named, "path"))))


def _change(params: ChangeParams) -> BufferChange:
    if params.range is None:
        return BufferChange(params.text)
    return BufferChange(params.text, _position(params.range.start), _position(params.range.end))


def _position(params: PositionParams) -> Position:
    return Position(params.line, params.character)


async def _decide(client: ClientConnection, verdict: Verdict, params: DecisionParams) -> Json:
    _require_one_meaning(params)
    async with _named(client, params, params.paths) as target:
        order = Order(
            verdict,
            Selection(_ids(params.hunks), target.paths, params.session_id, params.turn_id),
            client.signature,
            params.reason[:LONGEST_REASON],
            params.choice,
            {hunk.id: hunk.digest for hunk in params.hunks if hunk.digest},
            params.lines,
            params.base_lines,
        )
        return as_json(shown_outcome(await target.project.port.review.decide(order)))


def _require_one_meaning(params: DecisionParams) -> None:
    """A decision about nothing, which would be one about everything, is said with `all`."""
    some = bool(params.paths or params.session_id or params.turn_id)
    if bool(params.hunks) + some + params.all != 1:
        raise wrong("hunks", "Name hunks; or paths, a session, a turn; or say `all` for the whole project.")
    if params.lines is not None and len(params.hunks) != 1:
        raise wrong("lines", "lines are those of one hunk: name it in `hunks`.")
    if params.base_lines is not None and params.lines is None:
        raise wrong("baseLines", "baseLines go with some `lines` of a hunk: say which.")


def _ids(hunks: Iterable[NamedHunk]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(hunk.id for hunk in hunks))


def _list(project: FollowedProject, files: Iterable[FileReview]) -> Json:
    review = project.port.review
    comments, at = shown_comments(review.comments.open), shown_round(review.comments.round)
    shown = ReviewList(str(review.root), review.revision, tuple(map(shown_file, files)), comments, at)
    return as_json(shown)


def _answers(files: Iterable[FileReview]) -> Iterator[FileReview]:
    """Without the hunks that are no answer to the comments that were sent last."""
    for file in files:
        hunks = tuple(hunk for hunk in file.hunks if not hunk.earlier)
        if hunks:
            yield replace(file, hunks=hunks)


@asynccontextmanager
async def _named(
    client: ClientConnection, params: ProjectParams, paths: Iterable[str] = ()
) -> AsyncGenerator[_Target, None]:
    """The project that a request is about: of `cwd`, else of the first path; open as long as the block lasts."""
    directory = absolute(params.cwd, "cwd") if params.cwd is not None else None
    named = [absolute(path, "path") for path in paths]
    if directory is None and not named:
        raise wrong("cwd", "cwd is required.")
    if directory is not None and not await asyncio.to_thread(os.path.isdir, directory):
        raise wrong("cwd", f"There is no directory {str(directory)[:200]!r}.")
    about, *found = await asyncio.to_thread(resolve, [directory or named[0], *named])
    await client.reports_taken()
    async with (await client.projects()).of(about) as project:
        yield _Target(project, tuple(map(str, found)))


METHODS: Final[Mapping[str, Route[ClientConnection]]] = {
    "_sould/review/list": route(ListReviewParams, show),
    "_sould/review/subscribe": route(ProjectParams, subscribe),
    "_sould/review/unsubscribe": route(ProjectParams, unsubscribe),
    "_sould/review/keep": route(DecisionParams, keep),
    "_sould/review/reject": route(DecisionParams, reject),
    "_sould/review/undo": route(UndoParams, undo),
    "_sould/review/base": route(FileParams, base),
    "_sould/review/rejected": route(RejectedParams, rejected),
    "_sould/review/comment": route(CommentParams, comment),
    "_sould/review/comments/send": route(SendCommentsParams, send_comments),
    REPORT: route(ReportParams, report, notification=True),
}
"""By name."""
