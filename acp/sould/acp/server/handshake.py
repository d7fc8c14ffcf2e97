"""`initialize`, the first answer, given before anything heavy is loaded (D9); signing in and out."""

from typing import TYPE_CHECKING

from sould.acp.connection.client import Accounts, AcpClient
from sould.acp.introduction import read_introduction
from sould.acp.outbound import Json
from sould.agents.base.rpc.connection import Reply
from sould.agents.base.rpc.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError
from sould.agents.soul.hooks.events import EVENTS

if TYPE_CHECKING:
    from sould.acp.schema import AuthenticateParams, EmptyParams

PROTOCOL_VERSION = 1
KEY_METHOD = "provider-key"
LOGIN_METHOD = "sould-login"
AUTH_REQUIRED = -32000
DISPATCH = "sould.acp.server.dispatch"
"""What serves all other methods; loaded with the first."""
PARAMETERS = "sould.acp.schema"
"""What all other methods are given; loaded when `initialize` is answered."""


async def initialize(client: AcpClient, raw: Json) -> Reply:
    """Versions and capabilities. The version is ours: equal to the client's if it asked for it, else the one we speak.

    When the answer has left, what sessions stand on is loaded.
    """
    said = read_introduction(raw)
    if client.introduction is not None:
        raise RpcError(INVALID_REQUEST, "The connection is initialised already.")
    client.introduce(said, raw)
    answer = {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": _capabilities(client),
        "authMethods": _auth_methods(client),
        "agentInfo": {"name": "sould", "title": "sould", "version": client.services.version},
        "_meta": {"steering": {"supported": True}},
    }
    return Reply(answer, lambda: client.connection.on_drain(lambda: client.services.load(PARAMETERS)))


def _own(client: AcpClient) -> Json:
    """What clients that know us can use beyond the protocol: see docs/clients.md."""
    events = [hook.event for hook in client.capabilities.own.hooks if hook.event in EVENTS]
    configured = {event: events.count(event) for event in EVENTS if event in events}
    hooks = {"supported_events": list(EVENTS), "configured": configured}
    return {
        "archive": {"supported": True},
        "transcript": {"supported": True},
        "files": {"supported": True},
        "tasks": {"supported": True},
        "queue": {"supported": True},
        "timeTravel": {"supported": True},
        "custom": {"supported": True},
        "tools": {"supported": True},
        "review": {"supported": True},
        "inbox": {"supported": True},
        "editor": {"supported": True},
        "hooks": hooks,
    }


def _capabilities(client: AcpClient) -> Json:
    capabilities: Json = {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": True, "acp": True},
        "sessionCapabilities": {
            "list": {},
            "delete": {},
            "additionalDirectories": {},
            "resume": {},
            "close": {},
            "fork": {},
            "title": {},
            "archive": {},
            "status": {},
            "systemPrompt": {"mode": {"override": {}}},
        },
        "providers": {},
        "_meta": {"sould": _own(client)},
    }
    if client.accounts is not None:
        capabilities["auth"] = {"logout": {}, "status": {}}
    return capabilities


def _auth_methods(client: AcpClient) -> list[Json]:
    methods: list[Json] = [
        {
            "id": KEY_METHOD,
            "name": "A provider's key",
            "description": "Uses a key from the editor's environment (MOONSHOT_API_KEY, OPENAI_API_KEY, "
            "OPENROUTER_API_KEY), from sould's configuration, from the keyring, or a local Ollama or LM Studio.",
        }
    ]
    if client.capabilities.terminal_sign_in:
        methods.append(
            {
                "type": "terminal",
                "id": LOGIN_METHOD,
                "name": "Sign in",
                "description": "Store a provider's key in the keyring.",
                "args": ["login"],
            }
        )
    return methods


async def authenticate(client: AcpClient, params: "AuthenticateParams") -> Json:
    """Check that a provider's key can be found; the terminal method is not for this call."""
    client.require_initialized()
    if params.method_id != KEY_METHOD:
        raise RpcError(INVALID_PARAMS, f"authenticate takes the method {KEY_METHOD!r}, not {params.method_id[:80]!r}.")
    if client.accounts is not None and not await _usable(client, client.accounts):
        sentence = "No model provider's key was found: run `sould login`, or set one such as OPENAI_API_KEY."
        raise RpcError(AUTH_REQUIRED, sentence, {"kind": "no_model", "details": sentence})
    return {}


async def _usable(client: AcpClient, accounts: Accounts) -> tuple[str, ...]:
    if client.given is not None:
        return (client.given.address,)
    return await accounts.usable(client.services.client.environment)


async def logout(client: AcpClient, _: "EmptyParams") -> Json:
    """Forget the keys that `sould login` stored; keys of the environment are not ours to remove."""
    client.require_initialized()
    if client.accounts is None:
        raise RpcError(METHOD_NOT_FOUND, "Signing out is not offered here.")
    await client.accounts.forget()
    return {}


async def auth_status(client: AcpClient, _: "EmptyParams") -> Json:
    """Whether a model can be used, and whose keys were found."""
    client.require_initialized()
    if client.accounts is None:
        raise RpcError(METHOD_NOT_FOUND, "The sign-in state is not offered here.")
    names = await _usable(client, client.accounts)
    if not names:
        return {"state": "unauthenticated"}
    return {"state": "authenticated", "accounts": [{"label": name} for name in names]}
