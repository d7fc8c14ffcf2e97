"""When a tool of an agent spec is offered: `when` in the spec against the session as it is.

Pure, except for looking whether files and programs exist.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct, field
from pydantic import BeforeValidator, ConfigDict

from sould.agents.base.environment import Environment
from sould.agents.base.parsed import Parsed


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_several)]


class When(Parsed):
    """All that is named must hold. Each key takes one name or a list; of `os` one must fit, of the others all."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    os: Names = ()
    command_exists: Names = ()
    env: Names = ()
    """`NAME` (set, not empty) or `NAME=value`."""
    model_capability: Names = ()
    """`image_in|video_in`: one of them will do."""
    client_capability: Names = ()
    service: Names = ()
    """`web_search`: a search service is configured."""
    file_exists: Names = ()
    """Relative to the session's directory."""


class Situation(Struct, frozen=True):
    """What conditions are judged by."""

    root: Path
    environment: Environment
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    model: frozenset[str] = frozenset()
    client: frozenset[str] = frozenset()
    services: frozenset[str] = frozenset()


def why_not(when: When, now: Situation) -> str:
    """What is missing, in a few words; "" when everything holds."""
    system = now.environment.os_name
    if when.os and system.lower() not in {name.lower() for name in when.os}:
        return f"the system is {system}, not {' or '.join(when.os)}"
    for names, holds, words in _checks(when, now):
        missing = [name for name in names if not holds(name)]
        if missing:
            return words.format(", ".join(missing))
    return ""


def described(when: When) -> str:
    """The condition in a few words: `os: Linux or macOS; env: CI`."""
    keys = when.model_dump(exclude_defaults=True).items()
    return "; ".join(f"{key}: {(' or ' if key == 'os' else ' and ').join(names)}" for key, names in keys)


def _checks(when: When, now: Situation) -> Iterator[tuple[Names, Callable[[str], object], str]]:
    yield when.command_exists, now.environment.which, "there is no command {}"
    yield when.env, partial(_is_set, now.variables), "the environment lacks {}"
    yield when.model_capability, lambda names: now.model & {*names.split("|")}, "the model lacks {}"
    yield when.client_capability, now.client.__contains__, "no client offers {}"
    yield when.service, now.services.__contains__, "no service is configured for {}"
    yield when.file_exists, lambda name: (now.root / name).exists(), "there is no file {}"


def _is_set(variables: Mapping[str, str], wanted: str) -> bool:
    name, equals, value = wanted.partition("=")
    return variables.get(name) == value if equals else bool(variables.get(name))
