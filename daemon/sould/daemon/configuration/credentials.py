"""Provider keys and sign-ins kept for the user: in the system's keyring, else, after consent, in a file only they can read.

A small index beside the file says where each is, so that nothing is asked of a keyring that holds nothing of ours
(some open a dialog). Secrets are `SecretStr` from the moment they are read; none is ever in a message. The index
changes under a lock, and so does the renewal of a sign-in: daemons and commands of the user share both.
"""

import asyncio
import hashlib
import json
import os
import stat
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import SecretStr, ValidationError

from sould.agents.base.errors import ConfigError
from sould.agents.base.privatefile import write_private
from sould.agents.base.processlock import exclusive_lock
from sould.agents.llm.tokens import Tokens
from sould.daemon.paths import Paths

SERVICE = "sould"
Where: TypeAlias = Literal["keyring", "file"]
_KEYRING_S = 20.0
_PROBE = "probe"


class NoKeyringError(ConfigError):
    """There is no usable keyring; whether a file may be used instead is the user's to say."""


class Credentials:
    """The keys and sign-ins of one user, in the state directory: configuration directories end up in public repositories."""

    def __init__(self, paths: Paths) -> None:
        self._file = Path(paths.state, "credentials.json")

    async def key(self, provider: str) -> SecretStr | None:
        """The key of a provider, None when none is stored.

        Raises:
            ConfigError: the file may be read by others, or the keyring does not answer; says what to do.
        """
        entry = self._entries().get(provider)
        if entry is None or "tokens" in entry:
            return None
        if entry["where"] == "file":
            return SecretStr(entry["key"])
        try:
            async with asyncio.timeout(_KEYRING_S):
                return await asyncio.to_thread(_from_keyring, provider)
        except TimeoutError:
            raise ConfigError(
                f"The keyring did not give the key of {provider!r} within {_KEYRING_S:g} s; is it locked?"
            ) from None

    def store(self, provider: str, key: SecretStr, *, allow_file: bool = False) -> Where:
        """Keep a key; says where it is now.

        Raises:
            NoKeyringError: there is no keyring and `allow_file` is not given.
            ConfigError: it cannot be written.
        """
        return self._store(provider, "key", key.get_secret_value(), allow_file=allow_file)

    def forget(self, provider: str) -> bool:
        """Remove a key or a sign-in; False when there was none."""
        with self._lock("index"):
            entries = self._entries()
            entry = entries.pop(provider, None)
            if entry is None:
                return False
            if entry["where"] == "keyring":
                _delete_from_keyring(provider)
            self._write(entries)
        return True

    def stored(self) -> Mapping[str, Where]:
        """Which providers have a key or a sign-in, and where it is."""
        return {name: cast("Where", entry["where"]) for name, entry in self._entries().items()}

    # --- sign-ins: see `TokenStore` ---

    def signed_in(self) -> frozenset[str]:
        """Which of the stored are sign-ins."""
        return frozenset(name for name, entry in self._entries().items() if "tokens" in entry)

    def tokens(self, provider: str) -> Tokens | None:
        """The tokens of a provider, None when nobody signed in. Raises ConfigError."""
        entry = self._entries().get(provider)
        if entry is None or "tokens" not in entry:
            return None
        kept = SecretStr(entry["tokens"]) if entry["where"] == "file" else _from_keyring(provider)
        try:
            return Tokens.model_validate_json(kept.get_secret_value()) if kept else None
        except ValidationError:
            raise ConfigError(f"The sign-in of {provider!r} is damaged; run `sould login {provider}`.") from None

    def store_tokens(self, provider: str, tokens: Tokens, *, allow_file: bool = False) -> Where:
        """Keep the tokens of a new sign-in. Raises as `store` does."""
        return self._store(provider, "tokens", tokens.model_dump_json(), allow_file=allow_file)

    def replace_tokens(self, provider: str, tokens: Tokens) -> None:
        """Keep renewed tokens where the old ones were. Raises ConfigError."""
        if self.stored().get(provider) == "keyring":
            self.store_tokens(provider, tokens)
        else:
            self._note(provider, {"where": "file", "tokens": tokens.model_dump_json()})

    @contextmanager
    def renewing(self, provider: str) -> Generator[None]:
        """While it is held, nobody else renews this provider's tokens. Raises ConfigError."""
        with self._lock(hashlib.sha256(provider.encode()).hexdigest()[:16]):
            yield

    def require_keyring(self) -> None:
        """Find out, before somebody takes the trouble to sign in, whether a keyring keeps things. Raises NoKeyringError."""
        _to_keyring(_PROBE, _PROBE)
        _delete_from_keyring(_PROBE)

    # --- the index ---

    def _store(self, provider: str, kind: str, secret: str, *, allow_file: bool) -> Where:
        try:
            _to_keyring(provider, secret)
        except NoKeyringError:
            if not allow_file:
                raise
            self._note(provider, {"where": "file", kind: secret})
            return "file"
        self._note(provider, {"where": "keyring"} if kind == "key" else {"where": "keyring", kind: ""})
        return "keyring"

    def _note(self, provider: str, entry: dict[str, str]) -> None:
        with self._lock("index"):
            self._write(self._entries() | {provider: entry})

    def _lock(self, name: str) -> AbstractContextManager[int]:
        """Keep other processes and threads out. A process that dies lets go of it."""
        return exclusive_lock(self._file.with_name(f"credentials.{name}.lock"))

    def _entries(self) -> dict[str, dict[str, str]]:
        try:
            with self._file.open(encoding="utf-8") as file:
                mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
                if mode & 0o077:
                    raise ConfigError(
                        f"{self._file} can be read by others (mode {mode:04o}); run: chmod 600 {self._file}"
                    )
                entries: Any = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigError(f"The stored keys cannot be read: {self._file}: {type(error).__name__}") from None
        return cast("dict[str, dict[str, str]]", entries) if isinstance(entries, dict) else {}

    def _write(self, entries: Mapping[str, dict[str, str]]) -> None:
        try:
            write_private(self._file, json.dumps(entries).encode(), durable=True)
        except OSError as error:
            raise ConfigError(f"The key cannot be stored in {self._file}: {error.strerror}") from None


def _from_keyring(provider: str) -> SecretStr | None:
    import keyring  # noqa: PLC0415 -- searches all installed packages for backends when imported
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        password = keyring.get_password(SERVICE, provider)
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"The keyring did not give the key of {provider!r}: {type(error).__name__}") from None
    return SecretStr(password) if password else None


def _to_keyring(provider: str, secret: str) -> None:
    import keyring  # noqa: PLC0415 -- as above
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        keyring.set_password(SERVICE, provider, secret)
        kept = keyring.get_password(SERVICE, provider)
    except (KeyringError, RuntimeError) as error:
        raise NoKeyringError(f"This system has no usable keyring ({type(error).__name__}).") from None
    if kept != secret:
        raise NoKeyringError("This system's keyring keeps nothing.")


def _delete_from_keyring(provider: str) -> None:
    import keyring  # noqa: PLC0415 -- as above
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        keyring.delete_password(SERVICE, provider)
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"The keyring did not remove the key of {provider!r}: {type(error).__name__}") from None
