"""Provider keys kept for the user: in the system's keyring, else, after consent, in a file only they can read.

A small index beside the file says where each key is, so that nothing is asked of a keyring that holds nothing of ours
(some open a dialog). Keys are `SecretStr` from the moment they are read; none is ever in a message.
"""

import asyncio
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import SecretStr

from sould.agents.errors import ConfigError
from sould.daemon.paths import Paths

SERVICE = "sould"
Where: TypeAlias = Literal["keyring", "file"]
_KEYRING_S = 20.0


class NoKeyringError(ConfigError):
    """There is no usable keyring; whether a file may be used instead is the user's to say."""


class Credentials:
    """The keys of one user, in the state directory: configuration directories end up in public repositories."""

    def __init__(self, paths: Paths) -> None:
        self._file = Path(paths.state, "credentials.json")

    async def key(self, provider: str) -> SecretStr | None:
        """The key of a provider, None when none is stored.

        Raises:
            ConfigError: the file may be read by others, or the keyring does not answer; says what to do.
        """
        entry = self._entries().get(provider)
        if entry is None:
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
        try:
            _to_keyring(provider, key)
        except NoKeyringError:
            if not allow_file:
                raise
            self._write(self._entries() | {provider: {"where": "file", "key": key.get_secret_value()}})
            return "file"
        self._write(self._entries() | {provider: {"where": "keyring"}})
        return "keyring"

    def forget(self, provider: str) -> bool:
        """Remove a key; False when there was none."""
        entries = self._entries()
        entry = entries.pop(provider, None)
        if entry is None:
            return False
        if entry["where"] == "keyring":
            _delete_from_keyring(provider)
        self._write(entries)
        return True

    def stored(self) -> Mapping[str, Where]:
        """Which providers have a key, and where it is."""
        return {name: cast("Where", entry["where"]) for name, entry in self._entries().items()}

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
        temporary = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)
                json.dump(entries, file)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._file)
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


def _to_keyring(provider: str, key: SecretStr) -> None:
    import keyring  # noqa: PLC0415 -- as above
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        keyring.set_password(SERVICE, provider, key.get_secret_value())
        kept = keyring.get_password(SERVICE, provider)
    except (KeyringError, RuntimeError) as error:
        raise NoKeyringError(f"This system has no usable keyring ({type(error).__name__}).") from None
    if kept != key.get_secret_value():
        raise NoKeyringError("This system's keyring keeps nothing.")


def _delete_from_keyring(provider: str) -> None:
    import keyring  # noqa: PLC0415 -- as above
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        keyring.delete_password(SERVICE, provider)
    except (KeyringError, RuntimeError) as error:
        raise ConfigError(f"The keyring did not remove the key of {provider!r}: {type(error).__name__}") from None
