"""Stored keys: in the keyring, else in a file only the user can read; never in a message."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import KeyringLocked, PasswordDeleteError
from pydantic import SecretStr

from sould.agents.base.config import OAuth
from sould.agents.base.errors import ConfigError
from sould.agents.llm.signin import KimiSignIn
from sould.agents.llm.tokens import Tokens
from sould.daemon.configuration.credentials import Credentials, NoKeyringError
from sould.daemon.paths import Paths

KEY = SecretStr("sk-canary-credentials")


class MemoryKeyring(KeyringBackend):
    """A keyring that keeps."""

    priority = 1  # pyright: ignore[reportAssignmentType, reportUnannotatedClassAttribute] -- the base declares a property

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise KeyringLocked("locked, holds sk-canary-credentials")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("none")


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths({"HOME": str(tmp_path)})


@pytest.fixture
def ring() -> Iterator[MemoryKeyring]:
    before, ours = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(ours)
    yield ours
    keyring.set_keyring(before)


@pytest.fixture
def no_ring() -> Iterator[None]:
    before = keyring.get_keyring()
    keyring.set_keyring(NoKeyring())
    yield
    keyring.set_keyring(before)


async def test_a_key_is_kept_in_the_keyring(paths: Paths, ring: MemoryKeyring) -> None:
    credentials = Credentials(paths)
    assert await credentials.key("kimi") is None
    assert credentials.store("kimi", KEY) == "keyring"
    assert await credentials.key("kimi") == KEY
    assert ring.kept == {("sould", "kimi"): KEY.get_secret_value()}
    assert "canary" not in Path(paths.state, "credentials.json").read_text()
    assert credentials.forget("kimi")
    assert not credentials.forget("kimi")
    assert ring.kept == {}


@pytest.mark.usefixtures("no_ring")
async def test_without_a_keyring_a_file_needs_consent_and_is_private(paths: Paths) -> None:
    credentials = Credentials(paths)
    with pytest.raises(NoKeyringError):
        credentials.store("kimi", KEY)
    assert credentials.store("kimi", KEY, allow_file=True) == "file"
    file = Path(paths.state, "credentials.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o077 == 0
    assert await credentials.key("kimi") == KEY
    assert credentials.stored() == {"kimi": "file"}


def test_a_sign_in_is_kept_and_renewed_in_the_keyring(paths: Paths, ring: MemoryKeyring) -> None:
    credentials = Credentials(paths)
    credentials.require_keyring()
    assert ring.kept == {}
    assert credentials.store_tokens("acme", Tokens(access=KEY, refresh=KEY, lifetime=60)) == "keyring"
    credentials.replace_tokens("acme", Tokens(access=SecretStr("canary-renewed"), refresh=KEY))
    kept = credentials.tokens("acme")
    assert kept is not None
    assert kept.access == SecretStr("canary-renewed")
    assert "canary" not in f"{kept!r}" + "".join(file.read_text() for file in Path(paths.state).iterdir())
    assert credentials.signed_in() == {"acme"}
    assert credentials.forget("acme")
    assert credentials.tokens("acme") is None
    assert ring.kept == {}


async def test_an_older_kimi_cli_kept_its_sign_in_in_the_keyring(tmp_path: Path, ring: MemoryKeyring) -> None:
    ring.kept["kimi-code", "oauth/kimi-code"] = '{"access_token": "canary-kimi", "expires_at": 4000000000.0}'
    oauth = OAuth(storage="keyring", key="oauth/kimi-code")
    sign_in = KimiSignIn.of("managed:kimi-code", oauth, {"KIMI_SHARE_DIR": str(tmp_path)})
    assert await sign_in.token() == SecretStr("canary-kimi")


@pytest.mark.usefixtures("no_ring")
async def test_a_sign_in_is_no_key_and_a_key_is_no_sign_in(paths: Paths) -> None:
    credentials = Credentials(paths)
    credentials.store_tokens("acme", Tokens(access=KEY), allow_file=True)
    credentials.store("kimi", KEY, allow_file=True)
    assert await credentials.key("acme") is None
    assert credentials.tokens("kimi") is None


@pytest.mark.usefixtures("no_ring")
async def test_a_file_others_can_read_is_refused_with_the_remedy(paths: Paths) -> None:
    credentials = Credentials(paths)
    credentials.store("kimi", KEY, allow_file=True)
    file = Path(paths.state, "credentials.json")
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600") as caught:
        await credentials.key("kimi")
    assert "canary" not in str(caught.value)


async def test_a_locked_keyring_is_an_error_without_the_key(paths: Paths, ring: MemoryKeyring) -> None:
    credentials = Credentials(paths)
    credentials.store("kimi", KEY)
    ring.locked = True
    with pytest.raises(ConfigError) as caught:
        await credentials.key("kimi")
    assert "canary" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_a_user_who_stored_nothing_never_loads_the_keyring(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from sould.daemon.configuration.credentials import Credentials; from sould.daemon.paths import Paths;"
        f"print(asyncio.run(Credentials(Paths({{'HOME': {str(tmp_path)!r}}})).key('kimi')), 'keyring' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None False"
