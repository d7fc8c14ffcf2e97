"""Which servers are near: local models are waited for longer."""

import pytest

from sould.agents.base.network.settings import is_private


@pytest.mark.parametrize(
    ("host", "private"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("10.1.2.3", True),
        ("192.168.1.20", True),
        ("172.31.0.1", True),
        ("fd00::1", True),
        ("fe80::1%eth0", True),
        ("100.101.102.103", True),
        ("198.18.0.7", False),
        ("8.8.8.8", False),
        ("172.32.0.1", False),
        ("2606:4700::1111", False),
        ("localhost", True),
        ("workstation", True),
        ("llm.lan", True),
        ("models.internal.", True),
        ("host.docker.internal", True),
    ],
)
async def test_it_is_told_by_its_address_or_name(host: str, private: bool) -> None:
    assert await is_private(host) is private


async def test_a_name_that_cannot_be_found_is_not_private() -> None:
    assert not await is_private("nothing.invalid")
