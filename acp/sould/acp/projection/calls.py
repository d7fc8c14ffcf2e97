"""The tool cards of one client: what it was told of each call, and the updates that tell it more. Pure.

A call is known from its opening to its result; what is still open when a turn ends is closed with it. Calls of subagents
are cards of their own that name their parent. A question that no call asks gets a card where it is answered by buttons.
"""

from collections.abc import Collection, Iterator
from typing import TypeAlias

from sould.acp.features import Facts, Features
from sould.acp.outbound import Json, ToolStatus
from sould.acp.projection.titles import title
from sould.acp.projection.toolcalls import Call, contents, text_content
from sould.agents.wire import messages as wire
from sould.agents.wire.display import DiffBlock

CallMessage: TypeAlias = (
    wire.ToolCall | wire.ToolCallPart | wire.ToolCallDetail | wire.CommandBegin | wire.ToolOutput | wire.ToolResult
)


class ShownCalls:
    """The open cards."""

    def __init__(self, facts: Facts, features: Features) -> None:
        self._cwd = facts.cwd
        self._features = features
        self._open: dict[str, Call] = {}
        self._last = ""
        self._asked: dict[str, str] = {}
        """The call that each open request for an approval is about."""
        self._questions: dict[str, str] = {}
        """The card that each open question has of its own."""
        self._held: dict[str, Call] = {}
        """Those that are not announced yet. Each will be when its arguments are whole, where a card stays as it is shown first;

        in a history at once with its result, if nothing else comes before.
        """

    def __getitem__(self, call_id: str) -> Call:
        """An open call."""
        return self._open[call_id]

    def __contains__(self, call_id: str) -> bool:
        """Whether this is an open call that the client was told of."""
        return call_id in self._open

    def miss(self) -> None:
        """What is open has printed things that this client was not sent."""
        for call in self._open.values():
            call.miss()

    def printed(self, call_ids: Collection[str]) -> Iterator[Json]:
        """The end of what these calls have printed so far, once more; their results will bring all of it."""
        for call in self._open.values():
            if call.id in call_ids and call.tail:
                yield _json(call.printed_again())

    def release(self, *, unknown: bool = False) -> Iterator[Json]:
        """Announce what is held: something else comes before its results, or the history ends.

        `unknown`: also calls of which nobody will know what they do.
        """
        for call in tuple(self._held.values()):
            if unknown or call.known or self._features.redraws:
                del self._held[call.id]
                yield _json(call.announcement())

    def announcements(self) -> Iterator[Json]:
        """The calls that are still open, for a client that has not seen them."""
        for call in self._open.values():
            if call.id not in self._held:
                yield _json(call.announcement())

    def points(self, call_id: str, path: str, line: int) -> Iterator[Json]:
        """An open call is at this place now."""
        call = self._open.get(call_id)
        if call is not None:
            yield from self._runs(call)
            yield _json(call.points(path, line))

    def take(self, message: CallMessage, parent: str | None = None, *, hold: bool = False) -> Iterator[Json]:
        """What happens to a call; `parent`: the call for which a subagent makes it; `hold`: until its result, see `_held`."""
        if parent in self._held:
            yield from self.release()
        match message:
            case wire.ToolCall():
                call = Call.opened(message, self._cwd, self._features, parent=parent)
                self._open[message.id] = call
                self._last = message.id
                if not self._features.redraws or (hold and not call.terminal):
                    self._held[message.id] = call
                    return
                yield from self.release()
                yield _json(call.announcement())
            case wire.ToolCallPart():
                call = self._open.get(message.tool_call_id or self._last)
                if call is not None and message.arguments_part:
                    call.fragments.append(message.arguments_part)
            case wire.ToolCallDetail():
                yield from self._detailed(message, hold=hold)
            case wire.CommandBegin():
                call = self._open.get(message.tool_call_id)
                if call is not None and self._features.terminals:
                    yield from self._runs(call)
                    yield from map(_json, call.runs_command())
            case wire.ToolOutput():
                call = self._open.get(message.tool_call_id)
                if call is not None:
                    yield from self._runs(call)
                    yield _json(call.printed(message.text))
            case wire.ToolResult():
                yield from self._ended(message, hold=hold)

    def _runs(self, call: Call) -> Iterator[Json]:
        call.begin()
        yield from self.release()

    def _detailed(self, message: wire.ToolCallDetail, *, hold: bool) -> Iterator[Json]:
        call, waits = self._open.get(message.tool_call_id), message.after in self._open
        if call is None:
            return
        if call.id not in self._held:
            yield _json(call.describe(message, waits=waits))
            return
        call.learn(message, waits=waits)
        if not hold:
            del self._held[call.id]
            yield _json(call.announcement())

    def _ended(self, message: wire.ToolResult, *, hold: bool) -> Iterator[Json]:
        call = self._open.pop(message.tool_call_id, None)
        held = self._held.get(message.tool_call_id)
        if held is not None and (held.terminal or not hold):
            yield from self._runs(held)
        elif held is not None and held.id != next(iter(self._held)):
            yield from self.release()
        if held := self._held.pop(message.tool_call_id, None):
            yield _json(held.at_once(message.return_value))
        elif call is not None:
            if call.arguments is None and (raw := call.raw_input()) is not None:
                update = {"sessionUpdate": "tool_call_update", "toolCallId": call.id, "title": call.title}
                yield {**update, "rawInput": raw}
            yield from map(_json, call.ended(message.return_value))
        for follower in self._open.values():
            if follower.after == message.tool_call_id and follower.status == "pending":
                yield from self._now(follower, "in_progress")

    def _now(self, call: Call, status: ToolStatus) -> Iterator[Json]:
        """A call's state changes, which of one that is not announced yet nobody is told."""
        update = _json(call.now(status))
        if call.id not in self._held:
            yield update

    def of_subagent(self, message: wire.SubagentEvent, *, hold: bool = False) -> Iterator[Json]:
        """A subagent's calls; its words are in its parent's result, its own list of what is to do is not the plan."""
        match message.event:
            case (
                wire.ToolCall()
                | wire.ToolCallPart()
                | wire.ToolCallDetail()
                | wire.CommandBegin()
                | wire.ToolOutput()
                | wire.ToolResult()
            ) as event:
                yield from self.take(event, message.parent_tool_call_id, hold=hold)
            case wire.SubagentEvent() as event:
                yield from self.of_subagent(event, hold=hold)
            case _:
                return

    def asks(self, request: wire.ApprovalRequest, *, hold: bool = False) -> Iterator[Json]:
        """The call waits; one that nobody announced is announced by what the request says of it.

        Its card has what is asked about before anybody is asked: there are clients that show nothing else. But no secret.
        """
        self._asked[request.id] = request.tool_call_id
        call = self._open.get(request.tool_call_id)
        display = [each for each in request.display if not (isinstance(each, DiffBlock) and each.secret)]
        if call is not None:
            call.begin()
            if not hold:
                yield from self.release()
            call.show(contents(display, call.cwd, edits=call.edits))
            yield from self._now(call, "pending")
            return
        named, edits = title(request.description or request.action), self._features.edits
        shown = contents(display, self._cwd, edits=edits)
        call = Call(request.tool_call_id, request.sender, self._cwd, title=named, content=shown, edits=edits)
        yield from self._announce(call)

    def decided(self, message: wire.ApprovalResponse) -> Iterator[Json]:
        """An approved call runs on; a rejected one is closed by its result."""
        call = self._open.get(self._asked.pop(message.request_id, ""))
        if call is not None and message.response != "reject":
            yield from self._now(call, "in_progress")

    def question(self, request: wire.QuestionRequest, *, hold: bool = False) -> Iterator[Json]:
        """Where it becomes buttons its card says before what they cannot; one beside no call gets a card for that."""
        if self._features.forms or not self._features.names or not request.questions:
            return
        more = len(request.questions) - 1
        shown = title(request.questions[0].question + (f" (and {more} more)" if more else ""))
        about = beside_buttons(request.questions[0]) if not more else "\n\n".join(map(_whole, request.questions))
        content = [text_content(about)] if about else []
        call = self._open.get(request.tool_call_id)
        if call is None:
            self._questions[request.id] = request.tool_call_id
            yield from self._announce(
                Call(request.tool_call_id, "", self._cwd, title=shown, kind="think", content=content)
            )
        elif content:
            call.begin()
            if not hold:
                yield from self.release()
            call.show(content)
            yield from self._now(call, call.status)

    def answered(self, message: wire.QuestionResponse | wire.RequestClosed) -> Iterator[Json]:
        """The question's own card ends, with the answers."""
        call = self._open.pop(self._questions.pop(message.request_id, ""), None)
        if call is None:
            return
        answers = message.answers if isinstance(message, wire.QuestionResponse) else {}
        said = "\n".join(f"{question}: {answer}" for question, answer in answers.items()) or "No answer."
        yield from map(_json, call.ended(wire.ToolReturn(is_error=not answers, output=said)))

    def end_turn(self) -> Iterator[Json]:
        """Nothing of the turn runs any more, so no card stays open."""
        yield from self.release(unknown=True)
        for call in self._open.values():
            if call.status in ("pending", "in_progress"):
                yield from map(_json, call.ended(wire.ToolReturn(is_error=True, message="Interrupted.")))
        self._open.clear()
        self._asked.clear()
        self._questions.clear()

    def _announce(self, call: Call) -> Iterator[Json]:
        yield from self.release()
        self._open[call.id] = call
        yield _json(call.announcement())


def beside_buttons(item: wire.QuestionItem) -> str:
    """What of a question with a card or a dialog of its own neither its title nor its buttons say."""
    whole = item.question if title(item.question) != item.question else ""
    return "\n\n".join(filter(None, (whole, item.body, *_described(item))))


def _whole(item: wire.QuestionItem) -> str:
    return "\n\n".join(filter(None, (item.question, item.body, *_described(item))))


def _described(item: wire.QuestionItem) -> Iterator[str]:
    yield from (f"{each.label}: {each.description}" for each in item.options if each.description)


def _json(fields: object) -> Json:
    return fields  # pyright: ignore[reportReturnType] -- a TypedDict is the JSON object it describes
