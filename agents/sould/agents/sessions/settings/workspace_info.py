"""Where a session's agents work: its directory and those added to it, and what prompts and conditions of tools say of them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import overload

from msgspec import Struct

from sould.agents.base.config import can_search
from sould.agents.base.environment import Environment
from sould.agents.base.errors import OptionError
from sould.agents.base.filechanges import FileChanges
from sould.agents.base.liveconfig import LiveConfig
from sould.agents.base.regularfile import read_text
from sould.agents.journal.log import SessionLog
from sould.agents.llm.pool import key_variables
from sould.agents.llm.provider import ModelInfo
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.instructions import prompt_arguments, render_prompt
from sould.agents.soul.projectinstructions import project_instructions
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.skills.catalog import SkillCatalog, open_catalog
from sould.agents.soul.spec import BUILTIN, AgentSpec
from sould.agents.soul.tool_conditions import Situation
from sould.agents.wire.messages import GivenPrompt, SystemPrompt

PLACE = BUILTIN / "place.md"
"""What an agent is told of where it works that has no instructions of its own."""


class Directories(Sequence[Path]):
    """Absolute and resolved, each once."""

    def __init__(self, root: Path, named: Iterable[Path]) -> None:
        self._root = Path(os.path.realpath(root))
        self._all = list(dict.fromkeys(Path(os.path.realpath(path)) for path in named))

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Path]: ...
    def __getitem__(self, index: int | slice) -> Path | Sequence[Path]:
        return self._all[index]

    def __iter__(self) -> Iterator[Path]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def find(self, given: str, home: Path) -> Path:
        """Where the words of a user lead: relative to the session's directory, `~` is their home, every link followed.

        Raises:
            OptionError: it is no directory, or the session works there already.
        """
        path = self._root / (home / given[2:] if given.startswith("~/") else home if given == "~" else given)
        real = Path(os.path.realpath(path)) if "\0" not in given else path
        if "\0" in given or not real.is_dir():
            raise OptionError(f"{given} is not a directory; `/add-dir` takes the path of one that exists.")
        inside = next((each for each in (self._root, *self._all) if real.is_relative_to(each)), None)
        if inside is not None:
            raise OptionError(f"{real} is part of this session's workspace already: it is inside {inside}.")
        return real

    def status_lines(self) -> Iterable[str]:
        """See `StatusSource`."""
        return (f"- also works in: `{path}`" for path in self)

    def add(self, directory: Path) -> bool:
        """From now on the session works there, too; False when it did already."""
        real = Path(os.path.realpath(directory))
        if real in (self._root, *self._all):
            return False
        self._all.append(real)
        return True


class Workplace(Struct, frozen=True):
    """Of one session, the same for all its agents."""

    opening: SessionRequest
    directories: Directories
    environment: Environment
    skills: SkillCatalog
    config: LiveConfig
    trust: TrustStore

    def situation(self, model: ModelInfo) -> Situation:
        """What conditional tools of an agent with this model are judged by, as things are now."""
        opening = self.opening
        services = frozenset({"web_search"} if can_search(self.config.now.services) else ())
        return Situation(
            opening.cwd,
            self.environment,
            opening.environment,
            frozenset[str](model.capabilities),
            opening.capabilities,
            services,
        )

    def system_prompt(self, spec: AgentSpec, given: GivenPrompt | None = None) -> SystemPrompt:
        """The spec's system prompt with its arguments, and what a client gives; a session keeps it in its first record.

        What is given stands behind it. Where it overrides the agent's instructions, only what is said of the place follows it.
        """
        overrides = given is not None and given.mode == "override"
        path = PLACE if overrides else spec.fields.system_prompt_path
        text = render_prompt(read_text(path), self.arguments(spec), path)
        if given is not None:
            text = f"{given.text}\n\n{text}" if overrides else f"{text.rstrip()}\n\n{given.text}"
        return SystemPrompt(text=text, made_of=spec.made_of, given=given)

    def arguments(self, spec: AgentSpec) -> Mapping[str, str]:
        """What the prompt can use: the builtin arguments and the spec's own."""
        now, shell = datetime.now().astimezone(), self.environment.shell
        told = project_instructions(self.opening.cwd, self.waits).text
        builtin = prompt_arguments(self.opening.cwd, self.directories, shell, now, told, self.skills.describe())
        return builtin | {"ROLE_ADDITIONAL": ""} | spec.fields.system_prompt_args

    def waits(self, path: Path, top: Path) -> str:
        """See `TrustStore.waits_for`."""
        return self.trust.waits_for(self.opening.cwd, path, top)


async def open_workplace(
    opening: SessionRequest, log: SessionLog, config: LiveConfig, trust: TrustStore, changes: FileChanges
) -> Workplace:
    """Where a session works, with the directories that were added to it.

    Its commands see the client's environment, without the keys of providers.
    """
    directories = Directories(opening.cwd, (*opening.additional, *map(Path, log.context.directories)))
    environment = Environment(
        opening.environment,
        provider_keys=key_variables(config.now),
        pass_keys=config.now.environment.pass_keys,
        outside=(opening.cwd, *directories),
        umask=opening.umask,
    )
    skills = await open_catalog(trust, opening, config, changes)
    return Workplace(opening, directories, environment, skills, config, trust)
