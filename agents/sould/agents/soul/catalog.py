"""The agents a session can choose from: builtin, the user's, and those of a trusted project.

Looks for files and reads them when asked; a broken file is named and hides no other. Nothing of a project is read before
the user trusts it, and a changed file of a trusted project waits until the user trusts it anew (D23).
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from sould.agents.errors import ConfigError, SouldError
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.projects import write_private
from sould.agents.soul.spec import BUILTIN, AgentSpec, builtin_names, builtin_path, load_spec

Origin: TypeAlias = Literal["builtin", "user", "project"]

PROJECT_FOLDERS = (".sould/agents", ".agents")
_HOME_FOLDERS = (".sould", ".agents")
SUBAGENTS = frozenset({"coder", "explore", "plan", "dynamic"})
"""Builtin agents that are made to be started by others."""


@dataclass(frozen=True, slots=True)
class AgentFile:
    """Where an agent is described."""

    name: str
    path: Path
    origin: Origin


class _Accepted(BaseModel):
    fingerprint: str
    since: float


class _Record(BaseModel):
    agents: dict[str, _Accepted] = Field(default_factory=dict)


class AgentCatalog:
    """The agents for one project directory. Reads files synchronously; they are few and small."""

    def __init__(self, user: Path | None, project: Path, trust: TrustStore, accepted: Path) -> None:
        """`user`: the folder of the user's agents. `accepted`: the file that remembers which project files were trusted."""
        self._user = user
        self._project = project
        self._trust = trust
        self._accepted = accepted

    def files(self) -> Mapping[str, AgentFile]:
        """Every agent by name; a project's hides the user's, which hides a builtin one."""
        found = {name: AgentFile(name, builtin_path(name), "builtin") for name in builtin_names()}
        if self._user is not None:
            found |= {name: AgentFile(name, path, "user") for name, path in _agents_in(self._user)}
        if self._trusted:
            for folder in PROJECT_FOLDERS:
                found |= {name: AgentFile(name, path, "project") for name, path in _agents_in(self._project / folder)}
        return found

    @property
    def _trusted(self) -> bool:
        return self._trust.state(self._project) == "trusted"

    def find(self, name: str) -> AgentFile:
        """The agent of that name, or at that path (anything with a slash or ending in .yaml).

        Raises:
            ConfigError: there is none.
        """
        files = self.files()
        if name in files:
            return files[name]
        if os.sep in name or name.endswith((".yaml", ".yml")):
            path = (self._project / Path(name).expanduser()).resolve()
            if path.is_file():
                return self.at(path, name)
            raise ConfigError(f"There is no agent file {path}.")
        known = ", ".join(files)
        raise ConfigError(f"There is no agent {name!r}; there are {known}. Or give the path of an agent file.")

    def at(self, path: Path, name: str = "") -> AgentFile:
        """The agent in a file; whose it is follows from where it lies."""
        if path.is_relative_to(BUILTIN):
            return AgentFile(name, path, "builtin")
        return AgentFile(name, path, "project" if self._is_ours(path) else "user")

    def load(self, file: AgentFile) -> AgentSpec:
        """Read it. A project's must be trusted as it is now.

        Raises:
            ConfigError, InvalidToolError: what is wrong, where.
        """
        if file.origin == "project" and not self._trusted:
            raise ConfigError(
                f"{file.path} belongs to this project, which you have not trusted; look at it and run `sould trust`."
            )
        spec = load_spec(file.path)
        if file.origin == "project":
            self._check_inside(spec)
            self._check_accepted(spec)
        return spec

    def _is_ours(self, path: Path) -> bool:
        return path.is_relative_to(self._project.resolve())

    def _check_inside(self, spec: AgentSpec) -> None:
        """What a project's agent is made of lies where trust looks, so that a change is noticed."""
        homes = [self._project.resolve() / home for home in _HOME_FOLDERS]
        for path in spec.files:
            real = path.resolve()
            if not any(real.is_relative_to(home) for home in (*homes, BUILTIN)):
                raise ConfigError(
                    f"{spec.document.path}: {path} lies outside .sould and .agents of the project; move it there."
                )

    def _check_accepted(self, spec: AgentSpec) -> None:
        since, fingerprint = self._trust.since(self._project), spec.fingerprint
        key = str(spec.document.path)
        record = self._read()
        known = record.agents.get(key)
        if known is None or known.since != since:
            record.agents[key] = _Accepted(fingerprint=fingerprint, since=since)
            write_private(self._accepted, record.model_dump_json(indent=1).encode())
        elif known.fingerprint != fingerprint:
            raise ConfigError(
                f"{spec.document.path} or a file it uses has changed since you trusted this project; "
                "look at it and run `sould trust` again."
            )

    def _read(self) -> _Record:
        try:
            return _Record.model_validate_json(self._accepted.read_bytes())
        except (OSError, ValidationError):
            return _Record()


def problem_of(catalog: AgentCatalog, file: AgentFile) -> str:
    """Why the agent cannot be used; "" when it can."""
    try:
        catalog.load(file)
    except SouldError as error:
        return error.message
    return ""


def _agents_in(folder: Path) -> Iterator[tuple[str, Path]]:
    """`NAME.yaml`, and `NAME/agent.yaml`."""
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.suffix in (".yaml", ".yml") and entry.is_file():
            yield (folder.name if entry.stem == "agent" else entry.stem), entry.resolve()
        elif (entry / "agent.yaml").is_file():
            yield entry.name, (entry / "agent.yaml").resolve()
