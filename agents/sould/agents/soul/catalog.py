"""The agents a session can choose from: builtin, the user's, and those of a trusted project.

Looks for files and reads them when asked; a broken file is named and hides no other. Nothing of a project is read before
the user trusts it, and a changed file of a trusted project waits until the user trusts it anew (D23). A file that the
user named by its path is theirs as it was then, with the texts it names; its tools are code, and wait for trust.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.errors import ConfigError, SouldError
from sould.agents.base.file_ownership import why_not_own
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.instructions import check_prompt
from sould.agents.soul.spec import BUILTIN, AgentSpec, builtin_names, builtin_path, load_spec, ships
from sould.agents.soul.specfile import digests

Origin: TypeAlias = Literal["builtin", "user", "project"]

PROJECT_FOLDERS = (".sould/agents", ".agents")
_HOME_FOLDERS = (".sould", ".agents")
TEMPLATE = "dynamic"
"""What the types made in a session stand on; nobody chooses it."""
SUBAGENTS = frozenset({"coder", "explore", "plan", TEMPLATE})
"""Builtin agents that are made to be started by others."""


class AgentFile(Struct, frozen=True):
    """Where an agent is described."""

    name: str
    path: Path
    origin: Origin


class AgentCatalog:
    """The agents for one project directory. Reads files synchronously; they are few and small."""

    def __init__(
        self, user: Path | None, project: Path, trust: TrustStore, chosen: Mapping[str, str] | None = None
    ) -> None:
        """`user`: the folder of the user's agents. `chosen`: files of the project that the user chose, by content."""
        self._user = user.resolve() if user is not None else None
        self._project = project
        self._trust = trust
        self._chosen = dict(chosen or {})

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
        known = ", ".join(each for each in files if each != TEMPLATE)
        waiting = "" if self._trusted else self._waiting(name)
        raise ConfigError(
            f"There is no agent {name!r}; there are {known}. {waiting or 'Or give the path of an agent file.'}"
        )

    @property
    def chosen(self) -> Mapping[str, str]:
        """The project's files that the user chose by a path, with what that one names, and their content then."""
        return self._chosen

    def choose(self, name: str) -> AgentFile:
        """As `find`, by the user's own word: what a path names is theirs from here on, as it is now.

        Raises:
            ConfigError: there is none, or it cannot be read.
        """
        file = self.find(name)
        if name in self.files():
            return file
        self._vouch(load_spec(file.path))
        return self.at(file.path, name)

    def _vouch(self, spec: AgentSpec) -> None:
        """The spec's texts, and those of the subagents it names. One that cannot be read is told when it is started."""
        named = (*spec.document.files, spec.fields.system_prompt_path)
        texts = [path for path in named if self._is_ours(path) and path.suffix != ".py"]
        self._chosen |= {str(path): found for path, found in digests(texts).items()}
        for entry in spec.fields.subagents.values():
            if self._is_ours(entry.path):
                with contextlib.suppress(SouldError):
                    self._vouch(load_spec(entry.path))

    def _waiting(self, name: str) -> str:
        """What to do about a project's agent that waits for trust."""
        brought = [
            path for folder in PROJECT_FOLDERS for own, path in _agents_in(self._project / folder) if own == name
        ]
        return f"{brought[-1]} is available once you trust this project: sould trust" if brought else ""

    def at(self, path: Path, name: str = "") -> AgentFile:
        """The agent in a file; whose it is follows from where it lies."""
        if ships(path):
            return AgentFile(name, path, "builtin")
        return AgentFile(name, path, "project" if self._is_ours(path) else "user")

    def read_ahead(self, spec: AgentSpec) -> None:
        """Parse the agents that it starts, so that the loop finds them parsed. Says nothing. Blocks."""
        for entry in spec.fields.subagents.values():
            with contextlib.suppress(SouldError):
                self.load(self.at(entry.path))

    def load(self, file: AgentFile) -> AgentSpec:
        """Read it. A project's must be trusted as it is now.

        Raises:
            ConfigError, InvalidToolError: what is wrong, where.
        """
        self._require_as_chosen((file.path,))
        if file.origin == "project" and not self._trusted:
            raise ConfigError(
                f"{file.path} belongs to this project, which you have not trusted; review it and run `sould trust`."
            )
        spec = load_spec(file.path)
        if spec.ships:
            return spec  # nothing of it is the project's or the user's, and what ships is tested
        self._require_as_chosen(spec.files)
        self._check_inside(spec)
        self.check(spec)
        check_prompt(spec.fields.system_prompt_path, spec.fields.system_prompt_args)
        return spec

    def check(self, spec: AgentSpec) -> None:
        """Whatever of the agent is the project's must be trusted, and be as it was then; what is the user's, theirs alone.

        Raises:
            ConfigError: it is not.
        """
        if spec.ships:
            return
        self._check_own(spec)
        if self.withdrawn(spec):
            ours = ", ".join(self._shown(path) for path in spec.files if self._is_ours(path))
            raise ConfigError(
                f"{spec.name} uses {ours} of this project, which you have not trusted; review it and run `sould trust`."
            )
        changed = self._trust.changed(
            self._project, (path for path in dict.fromkeys(_files_of(spec)) if self._is_ours(path))
        )
        if changed:
            names = ", ".join(map(self._shown, changed))
            raise ConfigError(
                f"{spec.name} is not used: {names} changed since you trusted this project; review the change and run "
                "`sould trust` again."
            )

    def _check_own(self, spec: AgentSpec) -> None:
        for path in dict.fromkeys(_files_of(spec)):
            if not ships(path) and not self._is_ours(path) and (problem := why_not_own(path)):
                raise ConfigError(problem)

    def withdrawn(self, spec: AgentSpec) -> bool:
        """It is made of files of a project that is not, or no longer, trusted."""
        return any(self._is_ours(path) and str(path) not in self._chosen for path in spec.files) and not self._trusted

    def _is_ours(self, path: Path) -> bool:
        """It is the project's, and not the user's own: there when they work in their home directory, or chosen by them."""
        if self._is_elsewhere(path) or not path.is_relative_to(self._project.resolve()):
            return False
        return str(path) not in self._chosen or self._chosen[str(path)] != digests((path,))[path]

    def _is_elsewhere(self, path: Path) -> bool:
        """It ships with sould, or is in the folder of the user's agents."""
        return ships(path) or (self._user is not None and path.is_relative_to(self._user))

    def _require_as_chosen(self, paths: Iterable[Path]) -> None:
        """Raises ConfigError when the user chose one of them and it is another now, unless their trust covers that."""
        for path in paths:
            if str(path) in self._chosen and self._is_ours(path) and not (self._trusted and self._is_inside(path)):
                raise ConfigError(f"{path} changed since you chose it; review the change and choose the agent again.")

    def _is_inside(self, path: Path) -> bool:
        """It is where trust looks, so that a change is noticed; or it is ours."""
        homes = (*(self._project.resolve() / home for home in _HOME_FOLDERS), BUILTIN)
        return any(path.resolve().is_relative_to(home) for home in homes)

    def _check_inside(self, spec: AgentSpec) -> None:
        """No agent file of a project reaches for what is not the project's, nor for code that trust does not see."""
        own = spec.document.path
        for path in spec.files:
            if (self._is_ours(path) or self._is_ours(own)) and not self._is_inside(path):
                raise ConfigError(
                    f"{own}: {path} lies outside .sould and .agents of the project; move it there and run `sould trust`."
                )
            inside = path.is_relative_to(self._project.resolve()) or self._is_elsewhere(path)
            if str(own) in self._chosen and not inside:
                raise ConfigError(
                    f"{own}: {path} lies outside the project; move it into it, or the agent file out of it."
                )

    def _shown(self, path: Path) -> str:
        return os.path.relpath(path, self._project.resolve())


def _files_of(spec: AgentSpec) -> Iterator[Path]:
    """What it is made of, and what its tools could import from beside them."""
    yield from spec.files
    for folder in {path.parent for path in spec.files if path.suffix == ".py"}:
        yield from folder.rglob("*.py")


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
