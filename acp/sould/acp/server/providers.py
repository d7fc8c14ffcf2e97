"""`providers/list`, `set`, `disable`: a client brings a model server for the sessions that it opens from then on."""

from sould.acp.connection.client import AcpClient
from sould.acp.outbound import Json
from sould.acp.schema import EmptyParams, ProviderParams, SetProviderParams
from sould.agents.base.errors import ConfigError
from sould.agents.clients.frontend.routes import wrong
from sould.agents.llm import given

PROTOCOL = "openai"
"""Chat completions, by the name that ACP has for it."""


async def list_providers(client: AcpClient, _: EmptyParams) -> Json:
    """The one that a client can set. The user's own are not for clients to see or to change."""
    server = client.given
    current = {"apiType": PROTOCOL, "baseUrl": server.address} if server is not None else None
    return {"providers": [{"providerId": given.NAME, "supported": [PROTOCOL], "required": False, "current": current}]}


async def set_provider(client: AcpClient, params: SetProviderParams) -> Json:
    """Ask it for its models. When it cannot be asked, what was set before stays.

    Sessions that are opened meanwhile are refused: they would ask another one.
    """
    if params.provider_id != given.NAME:
        raise wrong("providerId", f"There is no provider {params.provider_id[:80]!r} to set; there is {given.NAME!r}.")
    if params.api_type != PROTOCOL:
        raise wrong("apiType", f"The protocol {params.api_type[:40]!r} is not supported; {PROTOCOL!r} is.")
    before, unknown = client.given, client.given_unknown
    client.give(None, unknown=True)
    client.services.memory.remember()  # when sould is killed now, or later, no session asks another server unawares
    try:
        before = await given.ask(params.base_url, params.headers, client.services.client.environment)
        unknown = False
    except ConfigError as error:
        raise wrong("baseUrl", f"The model server cannot be used: {error.message}") from None
    finally:
        client.give(before, unknown=unknown)
    return {}


async def disable_provider(client: AcpClient, params: ProviderParams) -> Json:
    """Sessions that are opened from now on ask the user's models; a provider that there is not is disabled already."""
    if params.provider_id == given.NAME:
        client.give(None)
    return {}
