"""Model providers as data: vendors with their addresses, keys and ways to be asked, and the types that a configuration names.

To add a vendor, add a row to `VENDORS`. To add a wire protocol, add it to `PROTOCOLS` in `pool` and a row to `TYPES` here.
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from sould.agents.base.config import ProviderConfig

Dialect: TypeAlias = Literal["plain", "openai", "kimi", "openrouter"]
"""Which of the documented ways a server wants reasoning and caching asked for."""


class Vendor(Struct, frozen=True):
    """Who serves models at an address of their own.

    `url_variable` and `model_variable` are read with a key of the same environment. `model` is offered, with `context` tokens,
    where a key is found and no model is named; "": the user names one.
    """

    name: str
    base_url: str
    key_variables: tuple[str, ...]
    dialect: Dialect = "plain"
    url_variable: str = ""
    model_variable: str = ""
    model: str = ""
    context: int = 131_072

    @property
    def host(self) -> str:
        """Of its address."""
        return urlsplit(self.base_url).hostname or ""

    def has(self, address: str) -> bool:
        """Whether this is its address, or one below it."""
        return f"{address}/".startswith(f"{self.base_url}/")


class ProviderType(Struct, frozen=True):
    """What a provider's `type` stands for. `unsupported` says why it cannot work, `remark` what one may not expect of it."""

    protocol: str
    vendor: str = ""
    unsupported: str = ""
    remark: str = ""
    remedy: str = ""
    """Its headers alone hold a key, and no other is sent: what to do when that is refused."""


VENDORS: Final[Mapping[str, Vendor]] = {
    vendor.name: vendor
    for vendor in (
        Vendor(
            name="kimi",
            base_url="https://api.moonshot.ai/v1",
            key_variables=("KIMI_API_KEY", "MOONSHOT_API_KEY"),
            dialect="kimi",
            url_variable="KIMI_BASE_URL",
            model_variable="KIMI_MODEL_NAME",
            model="kimi-k2.5",
            context=262_144,
        ),
        Vendor(
            name="openai",
            base_url="https://api.openai.com/v1",
            key_variables=("OPENAI_API_KEY",),
            dialect="openai",
            url_variable="OPENAI_BASE_URL",
            model_variable="OPENAI_MODEL",
            model="gpt-5.1",
            context=400_000,
        ),
        Vendor(
            name="openrouter",
            base_url="https://openrouter.ai/api/v1",
            key_variables=("OPENROUTER_API_KEY",),
            dialect="openrouter",
            url_variable="OPENROUTER_BASE_URL",
            model_variable="OPENROUTER_MODEL",
            model="moonshotai/kimi-k2.5",
            context=262_144,
        ),
        Vendor(
            name="anthropic",
            base_url="https://api.anthropic.com/v1",
            key_variables=("ANTHROPIC_API_KEY",),
            context=200_000,
        ),
        Vendor(
            name="google",
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            context=1_048_576,
        ),
    )
}
KEY_VARIABLES: Final = frozenset(name for vendor in VENDORS.values() for name in vendor.key_variables)
"""Variables that hold providers' keys: found here, kept from commands (D14)."""

CHAT: Final = "chat_completions"
ECHO: Final = "echo"
SCRIPT: Final = "script"
GIVEN: Final = "_given"
"""The type of a server that a client gives."""
OFFLINE: Final = frozenset({ECHO, SCRIPT})
"""Protocols without a server."""

_COMPATIBLE = 'asks {0}\'s OpenAI-compatible endpoint; write `type = "openai_compatible"` and `vendor = "{0}"` instead'
TYPES: Final[Mapping[str, ProviderType]] = {
    "openai_compatible": ProviderType(CHAT),
    "openai": ProviderType(CHAT, "openai"),
    "openai_legacy": ProviderType(CHAT, "openai"),
    "openai_responses": ProviderType(
        CHAT, "openai", remark="uses chat completions; its server must offer them besides the responses API"
    ),
    "kimi": ProviderType(CHAT, "kimi"),
    "anthropic": ProviderType(CHAT, "anthropic", remark=_COMPATIBLE.format("anthropic")),
    "google_genai": ProviderType(CHAT, "google", remark=_COMPATIBLE.format("google")),
    "gemini": ProviderType(CHAT, "google", remark=_COMPATIBLE.format("google")),
    "vertexai": ProviderType("", unsupported="its sign-in is not supported"),
    "_chaos": ProviderType("", unsupported="it is a test type of another program"),
    GIVEN: ProviderType(CHAT, remedy="Correct the model server in the settings of your editor."),
    "_echo": ProviderType(ECHO),
    "_scripted_echo": ProviderType(SCRIPT),
}
"""Also those of configurations that other programs wrote (D22)."""


class Known(Struct, frozen=True):
    """A provider of a configuration, with what is known of it."""

    type: ProviderType
    vendor: Vendor | None
    config: ProviderConfig

    @property
    def base_url(self) -> str:
        """Where it is asked."""
        return (self.config.base_url or (self.vendor.base_url if self.vendor is not None else "")).rstrip("/")

    @property
    def is_at_vendor(self) -> bool:
        """It is asked at its vendor's own address."""
        return self.vendor is not None and self.vendor.has(self.base_url)

    @property
    def needs_key(self) -> bool:
        """It is asked at an address of a vendor we know: nobody is answered there without a key."""
        return any(vendor.has(self.base_url) for vendor in VENDORS.values())

    @property
    def dialect(self) -> Dialect:
        """By its host; servers of Kimi's kind speak like Kimi's wherever they are."""
        if self.vendor is not None and self.vendor.dialect == "kimi":
            return "kimi"
        host = urlsplit(self.base_url).hostname or ""
        vendor = next((each for each in VENDORS.values() if each.host == host), None)
        return vendor.dialect if vendor is not None else "plain"


def known(name: str, provider: ProviderConfig | None, types: Mapping[str, ProviderType] = TYPES) -> Known | None:
    """What is asked under this name: what the configuration says, over what is known of the vendor. None: nobody says anything."""
    if provider is None and name not in VENDORS:
        return None
    written = provider or ProviderConfig()
    if not written.type:
        return Known(ProviderType(CHAT), VENDORS.get(written.vendor or name), written)
    found = types.get(written.type, ProviderType("", unsupported="there is no such type"))
    return Known(found, VENDORS.get(written.vendor or found.vendor), written)


def public_types() -> tuple[str, ...]:
    """The names of types that people write."""
    return tuple(name for name, each in TYPES.items() if not name.startswith("_") and not each.unsupported)
