"""The user of the command line's tests."""

from collections.abc import Iterator

import pytest

from soultest.cliuser import User
from soultest.daemon import Sould, fresh_sould

HOME_ALONE = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
"""No keyring."""


@pytest.fixture
def newcomer(sould: Sould) -> User:
    """Somebody without a daemon, a configuration, a key or a keyring, whose daemon is ended after the test."""
    sould.environment |= HOME_ALONE
    return User(sould)


@pytest.fixture
def offline(sould: Sould) -> None:
    """No way to services of the world: `sould login` tries keys."""
    sould.environment["HTTPS_PROXY"] = "http://127.0.0.1:9"


@pytest.fixture
def user(newcomer: User) -> User:
    """A newcomer, where a module does not say otherwise."""
    return newcomer


@pytest.fixture(scope="module")
def household() -> Iterator[Sould]:
    """The home of those who come one after the other."""
    with fresh_sould() as fresh:
        fresh.environment |= HOME_ALONE
        yield fresh


@pytest.fixture
def next_user(household: Sould, request: pytest.FixtureRequest) -> Iterator[User]:
    """Somebody in a project of their own, in a home whose daemon may run already and knows the sessions of others."""
    if household.owner is None:
        household.start()
    household.move_to(household.world.root / f"project{abs(hash(request.node.nodeid))}")
    yield User(household)
    household.hang_up()
