"""Sign-ins of model providers in use: a token that can be used now, renewed in time, once for all processes (D24).

A token is renewed when half of its life or five minutes are left, and once when a server refuses it. Whoever renews
holds a lock that all daemons and commands of the user share, and looks first whether another has done it. The user is
sent to sign in again only when the authorisation server refused for good: a server that is down ends nothing.
"""

import asyncio
import logging
import os
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import orjson
from msgspec import Struct, field
from pydantic import BaseModel, SecretStr, ValidationError

from sould.agents.base.config import OAuth
from sould.agents.base.errors import ConfigError
from sould.agents.llm.authserver import AuthServer, SignInError, SignInRefusedError
from sould.agents.llm.provider import (
    ChatProvider,
    ChatRequest,
    DeltaStream,
    Embeds,
    ModelInfo,
    ProviderConnectionError,
    ProviderError,
)
from sould.agents.llm.requests import RequestStyle
from sould.agents.llm.server import Check, ModelClient
from sould.agents.llm.tokens import Tokens, TokenStore

_log = logging.getLogger(__name__)

AUTH_REQUIRED = "auth_required"
"""The kind of an error that only signing in again fixes."""
_UNAUTHORIZED = 401
_STORE_S = 20.0
_KIMI_SERVICE = "kimi-code"


class SignIn(Protocol):
    """The sign-in of one provider."""

    async def kept(self) -> Tokens | None:
        """What there is, as it is; no server is asked. Raises ConfigError."""
        ...

    async def token(self) -> SecretStr:
        """A token to ask with now. Raises ProviderError, of kind `auth_required` when the user must sign in again."""
        ...

    async def renewed(self, refused: SecretStr) -> SecretStr:
        """Another token than the one the model server refused. Raises as `token` does."""
        ...


class StoredSignIn(Struct):
    """One made with `sould login`."""

    provider: str
    _server: AuthServer
    _store: TokenStore
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Keeps the sessions of this process from waiting in threads for the lock of all processes."""

    async def kept(self) -> Tokens | None:
        """See `SignIn`."""
        try:
            async with asyncio.timeout(_STORE_S):
                return await asyncio.to_thread(self._store.tokens, self.provider)
        except TimeoutError:
            raise ConfigError(
                f"The keyring did not give the sign-in of {self.provider!r} within {_STORE_S:g} s; is it locked?"
            ) from None

    async def token(self) -> SecretStr:
        """See `SignIn`."""
        tokens = await self._tokens()
        now = time.time()
        if not tokens.due(now) or not (tokens.expired(now) or tokens.refresh.get_secret_value()):
            return tokens.access
        try:
            return (await self._renew(tokens)).access
        except ProviderConnectionError as error:
            if tokens.expired(time.time()):
                raise
            _log.warning("%s; the token is still good", error.message)
            return tokens.access

    async def renewed(self, refused: SecretStr) -> SecretStr:
        """See `SignIn`."""
        tokens = await self._tokens()
        return (tokens if tokens.access != refused else await self._renew(tokens)).access

    async def _tokens(self) -> Tokens:
        try:
            tokens = await self.kept()
        except ConfigError as error:
            raise ProviderError(error.message, kind=error.kind) from None
        if tokens is None:
            raise signed_out(f"You are not signed in to {self.provider!r}.", self.provider)
        return tokens

    async def _renew(self, seen: Tokens) -> Tokens:
        """Once begun it is finished, whoever is cancelled: the server may have taken the old token already."""
        try:
            async with self._turn:
                return await asyncio.to_thread(self._renew_alone, seen)
        except SignInRefusedError as error:
            raise signed_out(f"{error.message.rstrip('.')}.", self.provider) from None
        except SignInError as error:
            raise ProviderConnectionError(error.message, retryable=True, kind="connection") from None
        except ConfigError as error:
            raise ProviderError(error.message, kind=error.kind) from None

    def _renew_alone(self, seen: Tokens) -> Tokens:
        with self._store.renewing(self.provider):
            kept = self._store.tokens(self.provider)
            if kept is None:
                raise SignInRefusedError(f"You signed out of {self.provider!r}", "")
            if kept.access != seen.access:
                return kept  # another process was faster
            if not kept.refresh.get_secret_value():
                raise SignInRefusedError(f"The sign-in of {self.provider!r} has expired and cannot be renewed", "")
            try:
                renewed = self._server.renew(kept)
            except SignInRefusedError as error:
                if error.code == "invalid_grant":
                    self._store.forget(self.provider)
                raise
            try:
                self._store.replace_tokens(self.provider, renewed)
            except ConfigError as error:  # they are good for this once, and cannot be had again
                _log.warning("the renewed sign-in of %s is lost at the next start: %s", self.provider, error.message)
            _log.info("the sign-in of %s was renewed", self.provider)
            return renewed


class _KimiFile(BaseModel):
    access_token: SecretStr
    expires_at: float


class KimiSignIn(Struct, frozen=True):
    """One that kimi-cli made: read while it is valid, never renewed, because the client id is kimi-cli's own (D24)."""

    provider: str
    file: Path
    keyring_key: str = ""
    """Under which an older kimi-cli kept it in the keyring; "" where it did not."""

    @classmethod
    def of(cls, provider: str, oauth: OAuth, environment: Mapping[str, str]) -> "KimiSignIn":
        """Where kimi-cli keeps it, by the session's environment."""
        home = environment.get("HOME") or os.path.expanduser("~")
        share = environment.get("KIMI_SHARE_DIR") or f"{home}/.kimi"
        file = Path(share, "credentials", f"{oauth.key.rpartition('/')[2]}.json")
        return cls(provider, file, oauth.key if oauth.storage == "keyring" else "")

    async def kept(self) -> Tokens | None:
        """See `SignIn`."""
        try:
            found = _KimiFile.model_validate(orjson.loads(await self._read()))
        except (OSError, orjson.JSONDecodeError, ValidationError):
            return None
        return Tokens(access=found.access_token, expires_at=found.expires_at)

    async def _read(self) -> bytes:
        try:
            return self.file.read_bytes()
        except FileNotFoundError:
            if not self.keyring_key:
                raise
        return await asyncio.to_thread(_from_keyring, self.keyring_key)

    async def token(self) -> SecretStr:
        """See `SignIn`."""
        tokens = await self.kept()
        if tokens is None:
            raise ProviderError(f"kimi-cli has no sign-in in {self.file}. {self._advice}", kind=AUTH_REQUIRED)
        if tokens.expires_at is not None and tokens.expired(time.time()):
            when = datetime.fromtimestamp(tokens.expires_at, UTC).astimezone()
            sentence = f"The sign-in of kimi-cli in {self.file} expired at {when:%Y-%m-%d %H:%M}."
            raise ProviderError(f"{sentence} {self._advice}", kind=AUTH_REQUIRED)
        return tokens.access

    async def renewed(self, refused: SecretStr) -> SecretStr:
        """See `SignIn`."""
        token = await self.token()
        if token == refused:
            raise ProviderError(f"The sign-in of kimi-cli was refused. {self._advice}", kind=AUTH_REQUIRED)
        return token

    @property
    def _advice(self) -> str:
        return (
            "sould reads it and never renews it, because it belongs to kimi-cli: use kimi-cli once, "
            "or a key of your own (`sould login kimi`)."
        )


def _from_keyring(key: str) -> bytes:
    import keyring  # noqa: PLC0415 -- searches all installed packages for backends when imported
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        return (keyring.get_password(_KIMI_SERVICE, key) or "").encode()
    except (KeyringError, RuntimeError):
        return b""


def signed_out(sentence: str, provider: str) -> ProviderError:
    """The error that sends the user to sign in again."""
    return ProviderError(f"{sentence} Run `sould login {provider}`.", kind=AUTH_REQUIRED)


async def check_signed_in(info: ModelInfo, client: ModelClient, sign_in: SignIn, timeout_s: float) -> Check:
    """Whether a model can be asked with the sign-in as it is: looking renews nothing."""
    tokens = await sign_in.kept()
    if tokens is not None and not tokens.expired(time.time()):
        return await client.signed(tokens.access).check(info.provider, timeout_s)
    if tokens is not None and tokens.refresh.get_secret_value():
        return Check(said="the sign-in has expired; it is renewed at its next use")
    sentence = f"The sign-in of provider {info.provider!r} for model {info.key!r} has expired."
    return Check(problem=sentence, remedy=f"Run: sould login {info.provider}")


class SignedInProvider(Struct, frozen=True):
    """One model of a server that is asked with a sign-in's tokens."""

    info: ModelInfo
    client: ModelClient
    """Without a key; it lends its connections to the clients with one."""
    style: RequestStyle
    sign_in: SignIn

    @asynccontextmanager
    async def stream(self, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        """See `ChatProvider.stream`. A refused token is renewed once, before anything was shown."""
        async with AsyncExitStack() as stack:
            token = await self.sign_in.token()
            try:
                stream = await stack.enter_async_context(self._with(token).stream(request))
            except ProviderError as error:
                if error.status != _UNAUTHORIZED:
                    raise
                token = await self.sign_in.renewed(token)
                stream = await stack.enter_async_context(self._again(token, request))
            yield stream

    async def embed(self, model: str, texts: Sequence[str]) -> list[list[float]]:
        """See `Embeds`."""
        provider = self._with(await self.sign_in.token())
        if not isinstance(provider, Embeds):
            raise ProviderError(f"{self.info.model} cannot tell how alike texts are.")
        return await provider.embed(model, texts)

    def _with(self, token: SecretStr) -> ChatProvider:
        return self.client.signed(token).model(self.info, self.style)

    @asynccontextmanager
    async def _again(self, token: SecretStr, request: ChatRequest) -> AsyncGenerator[DeltaStream, None]:
        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(self._with(token).stream(request))
            except ProviderError as error:
                if error.status != _UNAUTHORIZED:
                    raise
                raise ProviderError(error.message, kind=AUTH_REQUIRED, status=error.status) from None
            yield stream
