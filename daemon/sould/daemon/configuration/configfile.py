"""Which configuration file is read, and whether a client means another one. It opens none, and loads nothing."""

import os
from collections.abc import Mapping
from pathlib import Path

from sould.daemon.paths import Paths


def config_path(paths: Paths, environment: Mapping[str, str], named: str | None = None) -> Path:
    """The file to read: the named one (`--config-file`), `SOULD_CONFIG`, else `config.toml` or `config.json` of the user."""
    first, *others = config_places(paths, environment, named)
    return next((other for other in others if other.exists() and not first.exists()), first)


def config_places(paths: Paths, environment: Mapping[str, str], named: str | None = None) -> tuple[Path, ...]:
    """Where that file may be: the first of these that exists is read."""
    chosen = named or environment.get("SOULD_CONFIG")
    if chosen:
        return (Path(chosen).expanduser(),)
    return Path(paths.config, "config.toml"), Path(paths.config, "config.json")


def other_configuration(environment: Mapping[str, str], read: str) -> str:
    """What is to be said to a client whose SOULD_CONFIG names another file than the one the daemon reads; else "".

    A client without the variable wants nothing in particular.
    """
    named = environment.get("SOULD_CONFIG")
    if not named:
        return ""
    named = os.path.join(environment.get("PWD", ""), os.path.expanduser(named))
    if os.path.realpath(named) == os.path.realpath(read):
        return ""
    return (
        f"Your SOULD_CONFIG names {named}, but the running daemon reads {read}: it took the variable when it started. "
        "To use yours, run `sould stop`; the next start reads it."
    )
