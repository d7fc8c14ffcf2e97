"""The configuration as it is now: what everything that outlives a change of the user's file is given in place of a `Config`.

Whoever asks keeps the `LiveConfig` and never what it answered, so that a reloaded configuration holds everywhere at once.
"""

from typing import Protocol

from msgspec import Struct

from sould.agents.base.config import Config


class LiveConfig(Protocol):
    """Where the current configuration is to be had."""

    @property
    def now(self) -> Config:
        """The configuration at this moment; cheap enough to be asked for at every use.

        Raises:
            ConfigError: the user's file was never read without a mistake.
        """
        ...


class FixedConfig(Struct, frozen=True):
    """The configuration of something that ends before it could change, such as one command. A `LiveConfig`."""

    now: Config
