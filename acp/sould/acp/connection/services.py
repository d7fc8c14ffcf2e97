"""What an ACP connection needs of the daemon beyond what every frontend gets. Imports nothing heavy."""

from collections.abc import Mapping
from typing import Protocol


class Accounts(Protocol):
    """The keys of model providers."""

    async def usable(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the providers that can be used with this environment; empty: the user must sign in."""
        ...

    async def forget(self) -> None:
        """Remove the keys that `sould login` stored."""
        ...
