"""`workspace/executeCommand`: the one table from command to handler. Each takes one JSON object."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, cast

from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.params import Inbound, parsed
from sould.agents.clients.review.params import Number
from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from sould.editors.lsp import types
from sould.editors.lsp.agents import commands as agent
from sould.editors.lsp.documents import accepted
from sould.editors.lsp.documents.opened import file_of
from sould.editors.lsp.documents.places import Place, place_of
from sould.editors.lsp.protocol import written
from sould.editors.lsp.review.decisions import Chosen, decide
from sould.editors.lsp.review.hunks import hunks_of, line_of, span
from sould.editors.lsp.words import show_document, tell

if TYPE_CHECKING:
    from sould.editors.lsp.peer import Peer

Json = dict[str, Any]
ArgumentsT = TypeVar("ArgumentsT", bound=Inbound)


class HunkArguments(Place):
    """A hunk, as the user saw it. `choice`: see `LeftHunk`."""

    id: Number
    digest: str = ""
    reason: str = ""
    choice: Chosen | None = None
    lines: tuple[int, int] | None = None


class BulkArguments(Place):
    """Many hunks."""

    reason: str = ""


class NextArguments(Place):
    """From which line to look for the next hunk."""

    line: int = -1


async def keep(peer: "Peer", given: HunkArguments) -> Json:
    """What is there becomes the user's text."""
    return await _one(peer, "keep", given)


async def reject(peer: "Peer", given: HunkArguments) -> Json:
    """What was there before comes back, with what the user wrote."""
    return await _one(peer, "reject", given)


async def undo(peer: "Peer", given: HunkArguments) -> Json:
    """Take a keep or a reject back."""
    return await _one(peer, "undo", given)


async def keep_file(peer: "Peer", given: BulkArguments) -> Json:
    """All of a file."""
    return await _file(peer, "keep", given)


async def reject_file(peer: "Peer", given: BulkArguments) -> Json:
    """All of a file."""
    return await _file(peer, "reject", given)


async def keep_all(peer: "Peer", given: BulkArguments) -> Json:
    """All of the project."""
    return await decide(peer, place_of(peer, given), Order("keep", Selection(), peer.signature, given.reason))


async def reject_all(peer: "Peer", given: BulkArguments) -> Json:
    """All of the project."""
    return await decide(peer, place_of(peer, given), Order("reject", Selection(), peer.signature, given.reason))


async def next_hunk(peer: "Peer", given: NextArguments) -> Json | None:
    """The next hunk below a line, or the first one: where it is, and shown where the editor can do that."""
    uri = given.uri or place_of(peer, given).as_uri()
    hunks = await hunks_of(peer, uri)
    if not hunks:
        tell(peer, "info", "Nothing is to be reviewed here.")
        return None
    hunk = next((each for each in hunks if line_of(each) > given.line), hunks[0])
    at = span(hunk)
    if not await show_document(peer, uri, at.start):
        tell(peer, "info", f"The next hunk is at line {at.start.line + 1}.")
    return {"uri": uri, "id": hunk.id, "range": written(at)}


async def _one(peer: "Peer", verdict: Literal["keep", "reject", "undo"], given: HunkArguments) -> Json:
    digests = {given.id: given.digest} if given.digest else {}
    order = Order(verdict, Selection((given.id,)), peer.signature, given.reason, given.choice, digests, given.lines)
    return await decide(peer, place_of(peer, given), order)


async def _file(peer: "Peer", verdict: Literal["keep", "reject"], given: BulkArguments) -> Json:
    if given.uri is None:
        data = {"kind": "invalid_params", "field": "uri"}
        raise RpcError(INVALID_PARAMS, "uri is required.", data)
    path = file_of(given.uri).resolve()
    return await decide(peer, path, Order(verdict, Selection(paths=(str(path),)), peer.signature, given.reason))


class Command(Protocol):
    """Serves one command for one editor."""

    def __call__(self, peer: "Peer", given: Json, /) -> Awaitable[Any]:
        """Its result. Raises RpcError."""
        ...


def _command(arguments: type[ArgumentsT], handler: Callable[["Peer", ArgumentsT], Awaitable[Any]]) -> Command:
    """A handler with its arguments' type."""

    def call(peer: "Peer", given: Json) -> Awaitable[Any]:
        return handler(peer, parsed(arguments, given))

    return call


COMMANDS: dict[str, Command] = {
    "sould.keep": _command(HunkArguments, keep),
    "sould.reject": _command(HunkArguments, reject),
    "sould.undo": _command(HunkArguments, undo),
    "sould.keepFile": _command(BulkArguments, keep_file),
    "sould.rejectFile": _command(BulkArguments, reject_file),
    "sould.keepAll": _command(BulkArguments, keep_all),
    "sould.rejectAll": _command(BulkArguments, reject_all),
    "sould.next": _command(NextArguments, next_hunk),
    "sould.base": _command(Place, accepted.open_base),
    "sould.why": _command(agent.WhyArguments, agent.why),
    "sould.prompt": _command(agent.PromptArguments, agent.prompt),
    "sould.steer": _command(agent.PromptArguments, agent.steer),
    "sould.cancel": _command(agent.SessionArguments, agent.cancel),
    "sould.session": _command(agent.PickArguments, agent.session),
    "sould.answer": _command(agent.AnswerArguments, agent.answer),
    "sould.fix": _command(agent.FixArguments, agent.fix),
    "sould.explain": _command(agent.SelectionArguments, agent.explain),
    "sould.edit": _command(agent.SelectionArguments, agent.edit),
}


async def execute(peer: "Peer", params: types.ExecuteCommandParams) -> Any:
    """Run a command."""
    command = COMMANDS.get(params.command)
    if command is None:
        data = {"kind": "invalid_params", "field": "command"}
        raise RpcError(INVALID_PARAMS, f"There is no command {params.command[:80]!r}.", data)
    given: Any = params.arguments[0] if params.arguments else {}
    if not isinstance(given, dict):
        data = {"kind": "invalid_params", "field": "arguments"}
        raise RpcError(INVALID_PARAMS, "A command takes one object.", data)
    return await command(peer, cast("Json", given))
