"""`workspace/executeCommand`: the one table from command to handler. Each takes one JSON object."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeAlias, TypeVar, cast

from sould.agents.base.rpc.errors import INVALID_PARAMS, RpcError
from sould.agents.clients.params import Inbound, parsed
from sould.agents.clients.review.params import Number
from sould.agents.files.reviewing.listing import Selection
from sould.agents.files.reviewing.orders import Order
from sould.editors.lsp import accepted, types
from sould.editors.lsp import agent_commands as agent
from sould.editors.lsp.client import LspClient
from sould.editors.lsp.decisions import Chosen, decide
from sould.editors.lsp.hunks import hunks_of, line_of, span
from sould.editors.lsp.opened import Place, file_of, place_of
from sould.editors.lsp.types import written
from sould.editors.lsp.words import show_document, tell

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


async def keep(client: LspClient, given: HunkArguments) -> Json:
    """What is there becomes the user's text."""
    return await _one(client, "keep", given)


async def reject(client: LspClient, given: HunkArguments) -> Json:
    """What was there before comes back, with what the user wrote."""
    return await _one(client, "reject", given)


async def undo(client: LspClient, given: HunkArguments) -> Json:
    """Take a keep or a reject back."""
    return await _one(client, "undo", given)


async def keep_file(client: LspClient, given: BulkArguments) -> Json:
    """All of a file."""
    return await _file(client, "keep", given)


async def reject_file(client: LspClient, given: BulkArguments) -> Json:
    """All of a file."""
    return await _file(client, "reject", given)


async def keep_all(client: LspClient, given: BulkArguments) -> Json:
    """All of the project."""
    return await decide(client, place_of(client, given), Order("keep", Selection(), client.signature, given.reason))


async def reject_all(client: LspClient, given: BulkArguments) -> Json:
    """All of the project."""
    return await decide(client, place_of(client, given), Order("reject", Selection(), client.signature, given.reason))


async def next_hunk(client: LspClient, given: NextArguments) -> Json | None:
    """The next hunk below a line, or the first one: where it is, and shown where the editor can do that."""
    uri = given.uri or place_of(client, given).as_uri()
    hunks = await hunks_of(client, uri)
    if not hunks:
        tell(client, "info", "Nothing is to be reviewed here.")
        return None
    hunk = next((each for each in hunks if line_of(each) > given.line), hunks[0])
    at = span(hunk)
    if not await show_document(client, uri, at.start):
        tell(client, "info", f"The next hunk is at line {at.start.line + 1}.")
    return {"uri": uri, "id": hunk.id, "range": written(at)}


async def _one(client: LspClient, verdict: Literal["keep", "reject", "undo"], given: HunkArguments) -> Json:
    digests = {given.id: given.digest} if given.digest else {}
    order = Order(verdict, Selection((given.id,)), client.signature, given.reason, given.choice, digests, given.lines)
    return await decide(client, place_of(client, given), order)


async def _file(client: LspClient, verdict: Literal["keep", "reject"], given: BulkArguments) -> Json:
    if given.uri is None:
        data = {"kind": "invalid_params", "field": "uri"}
        raise RpcError(INVALID_PARAMS, "uri is required.", data)
    path = file_of(given.uri).resolve()
    return await decide(client, path, Order(verdict, Selection(paths=(str(path),)), client.signature, given.reason))


Command: TypeAlias = Callable[[LspClient, Json], Awaitable[Any]]
"""Serves one command for one editor. Raises RpcError."""


def _command(arguments: type[ArgumentsT], handler: Callable[[LspClient, ArgumentsT], Awaitable[Any]]) -> Command:
    """A handler with its arguments' type."""

    def call(client: LspClient, given: Json) -> Awaitable[Any]:
        return handler(client, parsed(arguments, given))

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
    "sould.prompt": _command(agent.PromptCommandArguments, agent.prompt),
    "sould.steer": _command(agent.PromptCommandArguments, agent.steer),
    "sould.cancel": _command(agent.SessionArguments, agent.cancel),
    "sould.session": _command(agent.PickArguments, agent.session),
    "sould.answer": _command(agent.AnswerArguments, agent.answer),
    "sould.fix": _command(agent.FixArguments, agent.fix),
    "sould.explain": _command(agent.SelectionArguments, agent.explain),
    "sould.edit": _command(agent.SelectionArguments, agent.edit),
}


async def execute(client: LspClient, params: types.ExecuteCommandParams) -> Any:
    """Run a command."""
    command = COMMANDS.get(params.command)
    if command is None:
        data = {"kind": "invalid_params", "field": "command"}
        raise RpcError(INVALID_PARAMS, f"There is no command {params.command[:80]!r}.", data)
    given: Any = params.arguments[0] if params.arguments else {}
    if not isinstance(given, dict):
        data = {"kind": "invalid_params", "field": "arguments"}
        raise RpcError(INVALID_PARAMS, "A command takes one object.", data)
    return await command(client, cast("Json", given))
