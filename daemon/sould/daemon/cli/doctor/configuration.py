"""Checks of the configuration file: can it be read, does it say what its writer meant?"""

from collections.abc import Iterator

from sould.agents.base.errors import ConfigError
from sould.agents.permissions.projectfiles import contents
from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn
from sould.daemon.cli.output import plural
from sould.daemon.cli.trust import trust_store
from sould.daemon.configuration.configfile import config_path
from sould.daemon.configuration.configuration import ConfigFileError, load
from sould.daemon.configuration.credentials import Credentials

PROJECT_FILES = (".sould", ".mcp.json")


def files(setup: SetUp) -> Iterator[Finding]:
    """The configuration, and the kept keys."""
    path = config_path(setup.paths, setup.environment)
    try:
        loaded = load(setup.paths, setup.environment)
    except ConfigFileError as error:
        fix = f"Use {error.nearest!r} instead" if error.nearest else "Correct it"
        place = f"{path}, line {error.line}" if error.line else f"{path}"
        advice = f"{fix}: {place} (sould config edit)"
        yield fail("configuration", error.message, "Run that command." if "chmod" in error.message else advice)
        return
    for notice in loaded.notices:
        if "chmod" not in notice:  # modes have a check of their own
            yield warn("configuration", notice, "Nothing, unless you expected these keys to do something.")
    if loaded.sources:
        yield ok("configuration", f"{', '.join(map(str, loaded.sources))}: no problems found.")
    else:
        yield ok("configuration", f"There is no {path}; the defaults apply, and models come from the environment.")
    yield from _kept_keys(setup)


def _kept_keys(setup: SetUp) -> Iterator[Finding]:
    try:
        kept = Credentials(setup.paths).stored()
    except ConfigError as error:
        text, _, fix = error.message.partition("; ")
        yield fail("keys", f"{text}.", f"{fix[:1].upper()}{fix[1:]}" or "Remove that file and run: sould login")
    else:
        names = ", ".join(f"{name} ({where})" for name, where in kept.items())
        yield ok("keys", f"Keys are stored for: {names}." if names else "No keys are stored by `sould login`.")


def trust(setup: SetUp) -> Iterator[Finding]:
    """A project's own configuration takes part only when the user trusts the project."""
    own = [name for name in PROJECT_FILES if (setup.cwd / name).exists()]
    state = trust_store(setup.paths).state(setup.cwd)
    if own and state == "unknown":
        yield warn(
            "trust",
            f"This project is not trusted, so its own {', '.join(own)} is ignored.",
            "Read it, and if it is harmless run: sould trust",
        )
    elif changes := trust_store(setup.paths).changes(setup.cwd, contents(setup.cwd)):
        yield warn(
            "trust",
            f"{plural(len(changes), 'file')} of this project's configuration changed since you trusted it, and waits.",
            "Review the change (sould trust --show), and if it is harmless run: sould trust",
        )
    else:
        yield ok("trust", f"This directory is {'not trusted, and needs no trust' if state == 'unknown' else state}.")
