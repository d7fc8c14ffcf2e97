"""The tokens of a sign-in, and where they are kept. Never in a message, a log or a `repr`.

Pure data and an interface: it asks no server and opens no file.
"""

from contextlib import AbstractContextManager
from typing import Protocol

from pydantic import ConfigDict, SecretStr, field_serializer

from sould.agents.base.parsed import Parsed

_LEAST_S = 300.0
"""Renewed at the latest when so much is left …"""
_SHARE = 0.5
"""… or this share of the lifetime, whichever is sooner (D24)."""


class Tokens(Parsed):
    """What a sign-in gave. Times are wall seconds; `expires_at` None: the server did not say."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)

    access: SecretStr
    refresh: SecretStr = SecretStr("")
    expires_at: float | None = None
    lifetime: float = 0.0

    @field_serializer("access", "refresh")
    def _plain(self, secret: SecretStr) -> str:
        """Dumped only to be kept."""
        return secret.get_secret_value()

    def due(self, now: float) -> bool:
        """It is time to renew them."""
        return self.expires_at is not None and self.expires_at - now <= max(_LEAST_S, self.lifetime * _SHARE)

    def expired(self, now: float) -> bool:
        """The access token is of no use any more."""
        return self.expires_at is not None and self.expires_at <= now


class TokenStore(Protocol):
    """Where the tokens of sign-ins are. All methods block; call them in a thread."""

    def tokens(self, provider: str) -> Tokens | None:
        """What is kept for a provider. Raises ConfigError."""
        ...

    def renewing(self, provider: str) -> AbstractContextManager[None]:
        """While it is held, no other process or thread renews this provider's tokens. Raises ConfigError."""
        ...

    def replace_tokens(self, provider: str, tokens: Tokens) -> None:
        """Keep renewed tokens where the old ones were. Raises ConfigError."""
        ...

    def forget(self, provider: str) -> bool:
        """Remove what is kept; False when there was nothing. Raises ConfigError."""
        ...
