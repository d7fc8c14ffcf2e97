"""The user of the command line's tests."""

import pytest

from soultest.cliuser import User
from soultest.daemon import Sould


@pytest.fixture
def user(sould: Sould) -> User:
    """Somebody without a daemon, a configuration, a key or a keyring, whose daemon is ended after the test."""
    sould.environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"
    return User(sould)
