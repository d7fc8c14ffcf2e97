"""The environment of the tests: nothing of the person who runs them, of their git, their language or their temporary directory.

`seal` comes before everything else of a run, and once: what a run starts inherits it. Never lists what must go, but what stays.
"""

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

KEPT: Final = re.compile(
    r"CI|TERM|USER|LOGNAME|DISPLAY|(PYTHON|PYTEST|HYPOTHESIS|PLAYWRIGHT)\w*|SOULD_(FAULTS|FAULT_KILLS|SEED|LUCK|SEALED)"
    r"|(?i:(https?|all|no)_proxy|SSL_CERT_\w+|\w+_CA_CERTS|(PIP|UV|npm_config)_\w+)"
)
"""Variables that stay: what tests are told, and what leads to the package registries."""

REGISTRIES: Final = {
    "npm_config_userconfig": ".npmrc",
    "PIP_CONFIG_FILE": ".config/pip/pip.conf",
    "UV_CONFIG_FILE": ".config/uv/uv.toml",
}
"""Where a person's HOME may say which registries are theirs, by the variable that leads there."""

ABOVE: Final = (".git", ".hg", ".jj", ".sould", "AGENTS.md")
"""What would make all test directories below it parts of one project."""

MARK: Final = "SOULD_SEALED"


class NoPlaceError(RuntimeError):
    """No temporary directory is outside of every project."""

    def __init__(self, tried: list[str]) -> None:
        names = ", ".join(ABOVE)
        super().__init__(f"Tests need a TMPDIR with none of {names} in it or above it; {', '.join(tried)} have one.")


def seal() -> None:
    """Leave of the environment only what tests may see. In a process that another sealed one started: nothing.

    Raises:
        NoPlaceError: every temporary directory lies in a project.
    """
    if MARK in os.environ:
        return
    place = free_place((os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp", "/dev/shm"))  # short: sockets lie below it
    home = tempfile.mkdtemp(prefix="sould-home-", dir=place)
    environment = sealed(os.environ, home, place)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = place
    os.umask(0o022)
    atexit.register(shutil.rmtree, home, ignore_errors=True)


def sealed(given: Mapping[str, str], home: str, place: str) -> dict[str, str]:
    """What `given` becomes."""
    owner = given.get("HOME", "")
    environment = {name: value for name, value in given.items() if KEPT.fullmatch(name)}
    for name, file in REGISTRIES.items():
        if name not in given and (path := Path(owner, file)).is_file():
            environment[name] = str(path)
    return environment | {
        "PATH": programs(given.get("PATH", os.defpath), owner),
        "HOME": home,
        "TMPDIR": place,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "SHELL": "/bin/bash",
        "GIT_CONFIG_NOSYSTEM": "1",
        MARK: "1",
    }


def programs(path: str, home: str) -> str:
    """PATH without what a person keeps in their HOME, where programs with known names may be others."""
    folders = [Path(folder) for folder in path.split(os.pathsep) if os.path.isabs(folder)]
    own = Path(home) if home not in ("", "/") else None
    return os.pathsep.join(dict.fromkeys(str(each) for each in folders if not own or not each.is_relative_to(own)))


def free_place(places: Iterable[str]) -> str:
    """The first of these directories that is no part of a project."""
    tried: list[str] = []
    for place in places:
        if not place or not os.access(place, os.W_OK | os.X_OK):
            continue
        folder = Path(place).resolve()
        if not any(os.path.lexists(above / name) for above in (folder, *folder.parents) for name in ABOVE):
            return place
        tried.append(place)
    raise NoPlaceError(tried)
