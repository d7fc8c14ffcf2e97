"""The configuration as it is now: what everything that outlives a change of the user's file is given in place of a `Config`.

Whoever asks keeps the `LiveConfig` and never what it answered, so that a reloaded configuration holds everywhere at once.
The file is looked at where something begins: a session, a prompt, a tool call, a look of a timer. All that these hand on to
goes by what was found then.
"""

from typing import Protocol

from msgspec import Struct

from sould.agents.base.config import Config


class LiveConfig(Protocol):
    """Where the current configuration is to be had."""

    @property
    def now(self) -> Config:
        """The configuration as it was when somebody looked last; the same object until it changes.

        Raises:
            ConfigError: the user's file was never read without a mistake.
        """
        ...

    def look(self) -> Config:
        """The configuration at this moment: the file is read again if it has changed. Cheap enough for every tool call.

        Raises:
            ConfigError: as `now`.
        """
        ...


class FixedConfig(Struct, frozen=True):
    """The configuration of something that ends before it could change, such as one command. A `LiveConfig`."""

    now: Config

    def look(self) -> Config:
        """See `LiveConfig`."""
        return self.now
