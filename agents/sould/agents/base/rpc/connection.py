"""One JSON-RPC 2.0 peer over a byte stream, both directions.

Every inbound request runs in a task of the connection's group, created in the order of arrival, so that the part of a
handler before its first `await` runs in that order. Exactly one answer leaves for each request. Handlers never see ids,
bytes or framing. One ordered writer; a reader that stops when the peer does not take our answers.
"""

import asyncio
import itertools
import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, TypeAlias, cast

from msgspec import Struct

from sould.agents.base.errors import SouldError, as_disk_full
from sould.agents.base.rpc.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_CANCELLED,
    ConnectionGoneError,
    RpcError,
)
from sould.agents.base.rpc.framing import LINES, MAX_LINE, ByteStream, Dialect, Malformed, TooLong
from sould.agents.base.rpc.messages import Invalid, Params, Request, RequestId, Response, RpcNotification, parse

logger = logging.getLogger(__name__)

MIB = 1024 * 1024


class Limits(Struct, frozen=True):
    """What one peer may ask of us."""

    line: int = MAX_LINE
    parse_inline: int = MIB
    """Longer lines are parsed in a thread, so that the loop stays responsive."""
    high_water: int = MIB
    """More unsent bytes than this: `congested`, producers hold back."""
    unsent: int = 8 * MIB
    """More unsent bytes than this: nothing more is read from the peer."""
    in_flight: int = 4096
    bad_lines: int = 100
    bad_seconds: float = 10.0
    """This many bad lines in this time end the connection."""
    farewell: float = 0.25
    """Seconds that requests in flight get to finish when the peer has closed its side."""


AfterAnswer: TypeAlias = Callable[[], None]
"""Called when an answer has been written. Must not block."""


UnansweredChanged: TypeAlias = Callable[[], None]
"""Called when other requests are unanswered, and when notifications begin or end to be acted on. Must not block."""


class Reply(Struct, frozen=True):
    """A handler's result with something to do right after the answer has been written, before anything else is."""

    result: Any
    then: AfterAnswer


class Handler(Protocol):
    """What the other side's calls reach. `RpcError` and `SouldError` become error answers."""

    async def request(self, method: str, params: Params) -> Any:
        """The result, JSON or a `Reply`. A withdrawal cancels it, with the reason that the other side gave as message."""
        ...

    async def notification(self, method: str, params: Params) -> None:
        """Act; nobody is answered."""
        ...


class Asked(Struct):
    """A request of ours that is unanswered."""

    method: str
    answer: "asyncio.Future[Any]"


class Connection:
    """Made with a stream and a handler; `serve` is its life.

    `changed` is called before what either side said is acted on, when an answer has reached the peer, and when all
    notifications were acted on, so that the owner can note what is unanswered (D11).
    """

    def __init__(
        self,
        stream: ByteStream,
        handler: Handler,
        *,
        limits: Limits | None = None,
        dialect: Dialect = LINES,
        first_id: int = 1,
        changed: UnansweredChanged = lambda: None,
    ) -> None:
        self._stream = stream
        self._handler = handler
        self._limits = limits or Limits()
        self._dialect = dialect
        self._changed = changed
        self._ids = itertools.count(first_id)
        self.unanswered: dict[RequestId, Request] = {}
        """The peer's requests that have no answer yet."""
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}
        self._cancelled: set[RequestId] = set()
        self._background: set[asyncio.Task[None]] = set()
        self.asked: dict[int | str, Asked] = {}
        """Our requests that have no answer yet."""
        self._accepted = self._answered = False
        """Requests and notifications, or answers, of which the owner is still to be told."""
        self._noting = 0
        self._bad: deque[float] = deque(maxlen=self._limits.bad_lines)
        self._group: asyncio.TaskGroup | None = None
        self._about: set[str] = set()
        self.gone = False
        """The peer is gone: requests fail at once."""
        self.ignored_responses = 0
        """Answers to nothing we had asked."""

    # --- life -------------------------------------------------------------------------------------------------------

    async def serve(self, before: Callable[[], Coroutine[None, None, None]] | None = None) -> None:
        """Until the peer is gone; the stream is closed then and every task has ended. `before` runs before anything is read."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                if before is not None:
                    await before()
                await self._read()
                self._leave()
                await self._finish_tasks()
        finally:
            self._leave()
            await self._stream.aclose()

    def spawn(self, work: Coroutine[None, None, None], name: str) -> "asyncio.Task[None]":
        """Run `work` for at most the life of the connection. It must not raise."""
        assert self._group is not None
        task = self._group.create_task(work, name=name[:60])
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def _read(self) -> None:
        lines = self._dialect.splitter(self._limits.line)
        while data := await self._stream.read():
            for line in lines.feed(data):
                if not await self._take(line):
                    return
            self._note_accepted()
            await asyncio.sleep(0)  # what was just asked begins, and may answer, before more is read
            if self._stream.buffered > self._limits.unsent:
                await self._stream.drained()
        for line in lines.finish():
            await self._take(line)
        self._note_accepted()

    async def _take(self, line: bytes | TooLong | Malformed) -> bool:
        """False: the peer sends nothing but rubbish, or nothing tells where its next message begins; it is left."""
        if isinstance(line, TooLong):
            sentence = f"The message of {line.size} bytes exceeds {self._limits.line} bytes."
            return self._refuse(Invalid(line.id, RpcError(INVALID_REQUEST, sentence)))
        if isinstance(line, Malformed):
            self._refuse(Invalid(None, RpcError(PARSE_ERROR, line.reason)))
            return False
        if len(line) > self._limits.parse_inline:
            self._note_accepted()
            parsed = await asyncio.to_thread(parse, line)
        else:
            parsed = parse(line)
        match parsed:
            case Request():
                return self._accept(parsed)
            case RpcNotification():
                self._note(parsed)
            case Response(id=int()) if self._dialect.string_ids:
                return self._refuse(Invalid(None, RpcError(INVALID_REQUEST, "The id of an answer is a string.")))
            case Response():
                self._settle(parsed)
            case Invalid():
                return self._refuse(parsed)
        return True

    def _leave(self) -> None:
        self.gone = True
        for asked in self.asked.values():
            if not asked.answer.done():
                asked.answer.set_exception(
                    ConnectionGoneError(f"the client disconnected, {asked.method} is unanswered")
                )
                asked.answer.exception()  # nobody may wait for it any more, which is no error
        self.asked.clear()

    async def _finish_tasks(self) -> None:
        tasks = {*self._tasks.values(), *self._background}
        if tasks:
            _, running = await asyncio.wait(tasks, timeout=self._limits.farewell)
            for task in running:
                task.cancel()

    # --- inbound ----------------------------------------------------------------------------------------------------

    def _accept(self, request: Request) -> bool:
        if self._dialect.string_ids and not isinstance(request.id, str):
            return self._refuse(Invalid(None, RpcError(INVALID_REQUEST, "A request id is a string.")))
        if request.id in self.unanswered:
            sentence = f"A request with id {request.id!r} is still running."
            return self._refuse(Invalid(request.id, RpcError(INVALID_REQUEST, sentence[:200])))
        if len(self.unanswered) >= self._limits.in_flight:
            self.answer_error(request.id, RpcError(INTERNAL_ERROR, "Too many requests are running at once."))
            return True
        self.unanswered[request.id] = request
        self._accepted = True
        self._start(request, self._handler.request(request.method, request.params))
        return True

    def _note_accepted(self) -> None:
        """Before anything is awaited: what was accepted is acted on from then on. Many requests may come at once."""
        if self._accepted:
            self._accepted = False
            self._changed()

    def adopt(self, request: Request, result: Coroutine[None, None, Any]) -> None:
        """Answer, when `result` is known, a request that an earlier connection of this peer accepted (D11)."""
        self.unanswered[request.id] = request
        self._start(request, result)

    def _start(self, request: Request, result: Coroutine[None, None, Any]) -> None:
        assert self._group is not None
        self._tasks[request.id] = self._group.create_task(self._run(request, result), name=request.method[:60])

    async def _run(self, request: Request, work: Coroutine[None, None, Any]) -> None:
        logger.debug("the peer asks %.60r", request.method)
        began = time.monotonic()
        try:
            answer, then = await self._outcome(request, work)
            self.write(answer)
            logger.debug("answered %.60r after %d ms", request.method, 1000 * (time.monotonic() - began))
        finally:
            self._tasks.pop(request.id, None)
            self._cancelled.discard(request.id)
            self.unanswered.pop(request.id, None)
            self._note_answered()
        if then is not None:
            then()

    def _note_answered(self) -> None:
        """When the answer has left, and those that wait with it."""
        if not self._answered:
            self._answered = True
            self._stream.on_drain(self._answers_left)

    def _answers_left(self) -> None:
        self._answered = False
        self._changed()

    async def _outcome(
        self, request: Request, work: Coroutine[None, None, Any]
    ) -> tuple[bytes, Callable[[], None] | None]:
        """The one answer to a request, and what is to be done after it has been written."""
        try:
            result = await work
            reply = result if isinstance(result, Reply) else None
            answer = {"jsonrpc": "2.0", "id": request.id, "result": reply.result if reply else result}
            return self._dialect.encode(answer), reply.then if reply else None
        except asyncio.CancelledError:
            if request.id not in self._cancelled:
                raise
            error = RpcError(REQUEST_CANCELLED, "The request was cancelled.")
        except RpcError as refusal:
            error = refusal
        except SouldError as failure:
            error = described(failure)
        except Exception as failure:  # the dispatcher is the boundary: our bug fails one request
            logger.exception("%s failed", request.method[:60])
            sentence = "sould hit a bug while handling this request; see `sould logs`."
            full = as_disk_full(failure)
            error = described(full) if full else RpcError(INTERNAL_ERROR, sentence, {"kind": "internal"})
        logger.debug("refused %.60r: %d", request.method, error.code)
        return self._dialect.encode({"jsonrpc": "2.0", "id": request.id, "error": error.to_json()}), None

    def _note(self, notification: RpcNotification) -> None:
        if notification.method == self._dialect.withdraw:
            # after the first part of every task created before it
            asyncio.get_running_loop().call_soon(self._cancel_inbound, notification.params)
            return
        logger.debug("the peer tells %.60r", notification.method)
        self._noting += 1
        self._accepted = True
        self.spawn(self._run_notification(notification), notification.method)

    @property
    def is_noting(self) -> bool:
        """Notifications of the peer are acted on."""
        return self._noting > 0

    async def _run_notification(self, notification: RpcNotification) -> None:
        try:
            await self._handler.notification(notification.method, notification.params)
        except (RpcError, SouldError) as error:
            logger.info("%s ignored: %s", notification.method[:60], error)
        except Exception:  # the dispatcher is the boundary: our bug fails one notification
            logger.exception("%s failed", notification.method[:60])
        finally:
            self._noting -= 1
            if not self._noting:
                self._changed()

    def _cancel_inbound(self, params: Params) -> None:
        request_id = params.get(self._dialect.withdrawn)
        if isinstance(request_id, int | str | None) and (task := self._tasks.get(request_id)):
            self._cancelled.add(request_id)
            task.cancel(_reason(params))

    def _refuse(self, invalid: Invalid) -> bool:
        """Answer a bad line; False when there were too many."""
        if invalid.answer:
            self.answer_error(invalid.id, invalid.error)
        now = asyncio.get_running_loop().time()
        self._bad.append(now)
        if len(self._bad) < self._limits.bad_lines or now - self._bad[0] > self._limits.bad_seconds:
            return True
        logger.warning("closing: %d bad lines within %.1f s", len(self._bad), now - self._bad[0])
        return False

    # --- outbound ---------------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Params | None, request_id: str | None = None) -> Any:
        """Ask the peer and wait, without limit, for its result. Cancelling the wait withdraws the request.

        The message given to `Task.cancel`, if there is one, tells the peer why: see `withdraw`. `request_id`: an id that the
        protocol prescribes; one that is expected is not sent again.

        Raises:
            RpcError: the peer's error.
            ConnectionGoneError: the peer went away, before or after the request was sent.
        """
        if self.gone:
            raise ConnectionGoneError(f"the client disconnected, {method} was not sent")
        own_id = request_id if request_id is not None else next(self._ids)
        if own_id not in self.asked:
            self.expect(method, own_id)
            self._changed()
            asked = {"jsonrpc": "2.0", "id": own_id, "method": method}
            self._send(asked if params is None else {**asked, "params": params})
        logger.debug("asking the peer %.60r", method)
        began = time.monotonic()
        try:
            result = await self.asked[own_id].answer
            logger.debug("the peer answered %.60r after %d ms", method, 1000 * (time.monotonic() - began))
            return result
        except asyncio.CancelledError as withdrawn:
            if self.asked.get(own_id) is not None:
                self.withdraw(own_id, str(withdrawn.args[0]) if any(withdrawn.args) else "")
            raise
        finally:
            if self.asked.pop(own_id, None) is not None:
                self._changed()

    def expect(self, method: str, request_id: int | str) -> None:
        """An earlier connection of this peer has asked this (D11): its answer is kept for who asks it again."""
        self.asked[request_id] = Asked(method, asyncio.get_running_loop().create_future())

    def expect_no_more(self, request_id: int | str) -> None:
        """Nobody will ask this again: see `expect`."""
        if self.asked.pop(request_id, None) is not None:
            self._changed()

    def withdraw(self, request_id: int | str, reason: str = "") -> None:
        """Tell the peer that nobody waits for its answer any more, and why (`_meta.sould.reason`), where the dialect can."""
        if not self._dialect.withdraw:
            return
        why = {"_meta": {"sould": {"reason": reason}}} if reason else {}
        self.notify(self._dialect.withdraw, {self._dialect.withdrawn: request_id, **why})

    def notify(self, method: str, params: Params) -> None:
        """Tell the peer something."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def write(self, lines: bytes, about: str = "") -> None:
        """Send whole messages as they leave: the hot path of a projection. `about`: see `take_about`."""
        self._about.add(about)
        self._stream.write(lines)

    def take_about(self) -> AbstractSet[str]:
        """What all that was written since the last call was about, by the names given to `write`; "": more than these."""
        about, self._about = self._about, set()
        return about

    @property
    def congested(self) -> bool:
        """The peer takes our bytes more slowly than they are made; producers should wait for `on_drain`."""
        return self._stream.buffered > self._limits.high_water

    def on_drain(self, callback: Callable[[], None]) -> None:
        """Call `callback` once when everything written has left."""
        self._stream.on_drain(callback)

    async def drained(self) -> None:
        """Return when everything written has left."""
        await self._stream.drained()

    def answer_error(self, request_id: RequestId, error: RpcError) -> None:
        """Refuse a request that no handler sees: a bad line, or one an earlier connection left unanswered (D11)."""
        self._send({"jsonrpc": "2.0", "id": request_id, "error": error.to_json()})

    def _settle(self, response: Response) -> None:
        asked = self.asked.get(response.id) if response.id is not None else None
        if asked is None or asked.answer.done():
            self.ignored_responses += 1
        elif response.error is not None:
            asked.answer.set_exception(response.error)
        else:
            asked.answer.set_result(response.result)

    def _send(self, message: dict[str, Any]) -> None:
        self.write(self._dialect.encode(message))


def described(error: SouldError) -> RpcError:
    """The error answer for a failure of ours: one sentence, and data for programs (D17)."""
    data: dict[str, Any] = {"kind": error.kind, "details": error.message}
    for attribute, key in (("status", "status"), ("retry_after", "retryAfter")):
        value = getattr(error, attribute, None)
        if value is not None:
            data[key] = value
    # where a mistake stands that a user can mend
    data.update({key: value for key in ("file", "line") if (value := getattr(error, key, None))})
    return RpcError(INTERNAL_ERROR, error.message, data)


def _reason(params: Params) -> str | None:
    """Why a request was withdrawn, if a peer that knows us says so."""
    meta = params.get("_meta")
    ours = cast("Params", meta).get("sould") if isinstance(meta, dict) else None
    reason = cast("Params", ours).get("reason") if isinstance(ours, dict) else None
    return reason if isinstance(reason, str) else None
