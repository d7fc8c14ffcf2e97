"""`initialize`, `authenticate`, `logout`, `auth/status`. Nothing heavy is imported on this path (D9)."""

from sould.acp.connection.peer import Peer
from sould.acp.outbound import Json
from sould.acp.schema import AuthenticateParams, InitializeParams, NoParams
from sould.agents.hooks.events import EVENTS
from sould.agents.rpc.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RpcError

PROTOCOL_VERSION = 1
AUTH_REQUIRED = -32000
KEY_METHOD = "provider-key"
LOGIN_METHOD = "sould-login"


async def initialize(peer: Peer, params: InitializeParams, raw: Json) -> Json:
    """Versions and capabilities. The version is ours: equal to the client's if it asked for it, else the one we speak."""
    if peer.client is not None:
        raise RpcError(INVALID_REQUEST, "The connection is initialised already.")
    peer.introduce(params, raw)
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": _capabilities(peer),
        "authMethods": _auth_methods(peer),
        "agentInfo": {"name": "sould", "title": "sould", "version": peer.services.version},
        "_meta": {"steering": {"supported": True}},
    }


async def authenticate(peer: Peer, params: AuthenticateParams) -> Json:
    """Check that a provider's key can be found; the terminal method is not for this call."""
    peer.require_initialized()
    if params.method_id != KEY_METHOD:
        raise RpcError(INVALID_PARAMS, f"authenticate takes the method {KEY_METHOD!r}, not {params.method_id[:80]!r}.")
    if peer.accounts is not None and not await peer.accounts.usable(peer.services.client.environment):
        sentence = "No model provider's key was found: run `sould login`, or set one such as OPENAI_API_KEY."
        raise RpcError(AUTH_REQUIRED, sentence, {"kind": "no_model", "details": sentence})
    return {}


async def logout(peer: Peer, _: NoParams) -> Json:
    """Forget the keys that `sould login` stored; keys of the environment are not ours to remove."""
    peer.require_initialized()
    if peer.accounts is None:
        raise RpcError(METHOD_NOT_FOUND, "Signing out is not offered here.")
    await peer.accounts.forget()
    return {}


async def auth_status(peer: Peer, _: NoParams) -> Json:
    """Whether a model can be used, and whose keys were found."""
    peer.require_initialized()
    if peer.accounts is None:
        raise RpcError(METHOD_NOT_FOUND, "The sign-in state is not offered here.")
    names = await peer.accounts.usable(peer.services.client.environment)
    if not names:
        return {"state": "unauthenticated"}
    return {"state": "authenticated", "accounts": [{"label": name} for name in names]}


def _own(peer: Peer) -> Json:
    """What clients that know us can use beyond the protocol: see docs/clients.md."""
    events = [hook.event for hook in peer.capabilities.own.hooks if hook.event in EVENTS]
    configured = {event: events.count(event) for event in EVENTS if event in events}
    hooks = {"supported_events": list(EVENTS), "configured": configured}
    return {
        "archive": {"supported": True},
        "queue": {"supported": True},
        "timeTravel": {"supported": True},
        "custom": {"supported": True},
        "tools": {"supported": True},
        "hooks": hooks,
    }


def _capabilities(peer: Peer) -> Json:
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
        },
        "_meta": {"sould": _own(peer)},
    }
    if peer.accounts is not None:
        capabilities["auth"] = {"logout": {}, "status": {}}
    return capabilities


def _auth_methods(peer: Peer) -> list[Json]:
    methods: list[Json] = [
        {
            "id": KEY_METHOD,
            "name": "A provider's key",
            "description": "Uses a key from the editor's environment (MOONSHOT_API_KEY, OPENAI_API_KEY, "
            "OPENROUTER_API_KEY), from sould's configuration, from the keyring, or a local Ollama or LM Studio.",
        }
    ]
    if peer.capabilities.auth.terminal:
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
