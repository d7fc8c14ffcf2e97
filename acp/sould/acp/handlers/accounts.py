"""Signing in and out: `authenticate`, `logout`, `auth/status`."""

from sould.acp.connection.client import AcpClient
from sould.acp.handlers.handshake import KEY_METHOD
from sould.acp.outbound import Json
from sould.acp.schema import AuthenticateParams, NoParams
from sould.agents.base.rpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, RpcError

AUTH_REQUIRED = -32000


async def authenticate(client: AcpClient, params: AuthenticateParams) -> Json:
    """Check that a provider's key can be found; the terminal method is not for this call."""
    client.require_initialized()
    if params.method_id != KEY_METHOD:
        raise RpcError(INVALID_PARAMS, f"authenticate takes the method {KEY_METHOD!r}, not {params.method_id[:80]!r}.")
    if client.accounts is not None and not await client.accounts.usable(client.services.client.environment):
        sentence = "No model provider's key was found: run `sould login`, or set one such as OPENAI_API_KEY."
        raise RpcError(AUTH_REQUIRED, sentence, {"kind": "no_model", "details": sentence})
    return {}


async def logout(client: AcpClient, _: NoParams) -> Json:
    """Forget the keys that `sould login` stored; keys of the environment are not ours to remove."""
    client.require_initialized()
    if client.accounts is None:
        raise RpcError(METHOD_NOT_FOUND, "Signing out is not offered here.")
    await client.accounts.forget()
    return {}


async def auth_status(client: AcpClient, _: NoParams) -> Json:
    """Whether a model can be used, and whose keys were found."""
    client.require_initialized()
    if client.accounts is None:
        raise RpcError(METHOD_NOT_FOUND, "The sign-in state is not offered here.")
    names = await client.accounts.usable(client.services.client.environment)
    if not names:
        return {"state": "unauthenticated"}
    return {"state": "authenticated", "accounts": [{"label": name} for name in names]}
