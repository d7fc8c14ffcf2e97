"""One Wire connection from its first byte to its last, also over a restart of the daemon: the methods and what serves them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec import UNSET, UnsetType, to_builtins

from sould.agents.base.errors import SouldError
from sould.agents.base.rpc.connection import Reply, described
from sould.agents.base.rpc.errors import RpcError
from sould.agents.base.rpc.framing import ByteStream
from sould.agents.base.rpc.messages import Request
from sould.agents.clients.connections import ClientProcess, ConnectionRecord, ConnectionServices
from sould.agents.clients.frontend.resuming import answer_what_died
from sould.agents.clients.frontend.routes import Dispatcher, Route, route
from sould.agents.clients.params import parsed
from sould.agents.sessions.port import SessionPort
from sould.agents.soul.hooks.events import EVENTS
from sould.agents.wire.messages import PROTOCOL_VERSION
from sould.daemon.wire.arguments import WireArguments, read_arguments
from sould.daemon.wire.client import PROMPT, WireClient
from sould.daemon.wire.kimi import NAME, read_kimi_arguments
from sould.daemon.wire.lines import WIRE
from sould.daemon.wire.params import InitializeParams, InputParams, PlanModeParams, ReplayParams, WireParams
from sould.daemon.wire.results import (
    Cancelled,
    ExternalTools,
    Hooks,
    Initialized,
    OwnSession,
    PlanModeSet,
    RejectedTool,
    Server,
    ServerCapabilities,
    SlashCommand,
    Steered,
)
from sould.daemon.wire.session import INVALID_STATE, OURS
from sould.daemon.wire.versions import Json

SERVER: Final = "sould"
KIMI_SERVER: Final = "sould-kimi"
"""What the entry points are called to programs."""


async def serve_wire(stream: ByteStream, services: ConnectionServices) -> None:
    """Serve one program until it is gone; its turns go on in the host (D12).

    Raises:
        OptionError: the command line is wrong; nothing was read.
    """
    client = WireClient(services, _arguments(services.client))
    await client.serve(stream, Dispatcher(client, ROUTES), dialect=WIRE, go_on=partial(_go_on, client))


def _arguments(process: ClientProcess) -> WireArguments:
    if process.arguments[:1] == (NAME,):
        return read_kimi_arguments(process.arguments[1:], process.cwd, process.environment)
    return read_arguments(process.arguments, process.cwd)


async def _initialize(client: WireClient, raw: Json) -> Any:
    said = parsed(InitializeParams, raw)
    opened = client.opened
    if opened is not None and opened.session.turns.running:
        raise RpcError(INVALID_STATE, "An agent turn is already in progress.")
    client.introduce(said, raw)
    session = (await client.introduced()).session
    result = Initialized(
        protocol_version=PROTOCOL_VERSION,
        server=Server(SERVER if client.share is None else KIMI_SERVER, client.services.version),
        slash_commands=tuple(
            SlashCommand(each.name, each.description, tuple(each.aliases)) for each in session.commands.all()
        ),
        hooks=Hooks(tuple(EVENTS), dict(session.hook_counts)),
        capabilities=ServerCapabilities(supports_question=True),
        sould=OwnSession(session.id, str(session.info.cwd)),
        external_tools=_registered(client, session, said.external_tools),
    )
    return Reply(to_builtins(result), client.begin)


def _registered(client: WireClient, session: SessionPort, tools: Sequence[Json] | None) -> ExternalTools | UnsetType:
    """What became of the tools that the client named; an empty list takes back those of before."""
    if tools is None:
        return UNSET
    accepted, refused = session.client_tools.register(tools, client.id)
    rejected = tuple(RejectedTool(name, reason) for name, reason in refused)
    return ExternalTools(tuple(accepted), rejected) if tools else UNSET


async def _prompt(client: WireClient, params: InputParams) -> Json:
    shown = await client.session()
    prompt = shown.prompt(params.user_input)
    client.services.memory.remember()  # which turn it is
    return await shown.answer(prompt)


async def _steer(client: WireClient, params: InputParams) -> Json:
    (await client.session()).steer(params.user_input)
    return to_builtins(Steered())


async def _set_plan_mode(client: WireClient, params: PlanModeParams) -> Json:
    await (await client.session()).set_plan_mode(enabled=params.enabled)
    return to_builtins(PlanModeSet(params.enabled))


async def _replay(client: WireClient, params: ReplayParams) -> Json:
    return await (await client.session()).replay(params.since, params.limit)


async def _cancel(client: WireClient, params: WireParams) -> Any:
    shown = await client.session()
    shown.require_work()
    return Reply(to_builtins(Cancelled()), shown.cancel)


ROUTES: Final[dict[str, Route[WireClient]]] = {
    "initialize": Route(_initialize, early=True),
    "prompt": route(InputParams, _prompt),
    "steer": route(InputParams, _steer),
    "set_plan_mode": route(PlanModeParams, _set_plan_mode),
    "replay": route(ReplayParams, _replay),
    "cancel": route(WireParams, _cancel),
}


async def _go_on(client: WireClient, resume: ConnectionRecord) -> None:
    """Take up a connection whose daemon died: end its cut line, show what was missed, answer its prompts."""
    if resume.cut:
        client.connection.write(b"\n")
    if resume.initialize:
        client.introduce(InitializeParams.model_validate(resume.initialize), resume.initialize)
    answer_what_died(client, ((each, OURS) for each in resume.unanswered if each.method != PROMPT))
    # an answer that may have died with the daemon is not expected: the request is asked again
    for request_id in () if resume.unsure else resume.asked:
        client.connection.expect("request", request_id)
    prompts = [each for each in resume.unanswered if each.method == PROMPT]
    try:
        for session_id, attached in resume.sessions.items():
            await client.open_again(session_id, attached)
    except (SouldError, RpcError) as error:
        why = error.message if isinstance(error, RpcError) else described(error).message
        answer_what_died(client, ((each, OURS) for each in prompts), why)
        return
    if client.opened is not None:
        for each in prompts:
            request = Request(each.id, each.method, {})
            client.connection.adopt(request, client.opened.answer_again(each.turn_id))
