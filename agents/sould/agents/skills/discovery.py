"""Where skills are looked for, and what is found there. Project before user before extra before builtin.

Reads only. A project's skills are files the model could read anyway, so plain text ones count in any workspace; those
that bring programs count only while the user trusts the workspace, and the version they trusted (D23).
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sould.agents.skills.scripts import has_scripts
from sould.agents.skills.skill import SKILL_FILE, Scope, Skill, SkillError, read_skill

BUILTIN = Path(__file__).with_name("builtin")
HOMES = (".sould", ".agents", ".kimi", ".claude", ".codex")
"""Below a project and a home directory; each may hold `skills`. The first that has a name wins it."""
SKILLS_DIRS = "SOULD_SKILLS_DIRS"
"""The variable of a client's environment that `--skills-dir` sets."""
MAX_ENTRIES = 500
"""Of one directory of skills; more are passed over."""

Accept = Callable[[Path], str]
"""Whether a project's skill with programs may be used: "" or the reason why not."""


@dataclass(frozen=True, slots=True)
class Root:
    """A directory of skills. `within`: nothing in it may lead outside this directory."""

    path: Path
    scope: Scope
    within: Path | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The skills by name, and what could not be used, one sentence each."""

    skills: Mapping[str, Skill]
    problems: tuple[str, ...]


def skill_roots(
    cwd: Path, environment: Mapping[str, str], extra: Sequence[str] = (), *, merge: bool = True
) -> list[Root]:
    """Every directory to look in, the strongest first. Without `merge` only the first that exists of each scope.

    Directories that the client names in `SKILLS_DIRS` stand in for those of project and user.
    """
    chosen = [path for path in environment.get(SKILLS_DIRS, "").split(os.pathsep) if path]
    builtin = Root(BUILTIN, "builtin")
    if chosen:
        return [*(Root(_expanded(path, cwd, environment), "extra") for path in (*chosen, *extra)), builtin]
    user = list(_user(environment))
    known = {root.path for root in user}
    by_scope = (
        [root for root in _project(cwd) if root.path not in known],
        user,
        [Root(_expanded(path, cwd, environment), "extra") for path in extra],
        [builtin],
    )
    roots: list[Root] = []
    for group in by_scope:
        existing = [root for root in group if root.scope == "extra" or root.path.is_dir()]
        alone = not merge and group and group[0].scope in ("project", "user")
        roots += existing[:1] if alone else existing
    return roots


def discover(roots: Iterable[Root], accept: Accept) -> Found:
    """Read every skill; the first of a name wins it."""
    skills: dict[str, Skill] = {}
    problems: list[str] = []
    for root in roots:
        if root.scope == "extra" and not root.path.is_dir():
            problems.append(f"{root.path} is not a directory, so no skills are taken from it.")
        for path in _files(root.path):
            try:
                skill = _read(path, root, accept)
            except SkillError as error:
                problems.append(error.message)
            else:
                skills.setdefault(skill.name, skill)
    return Found(skills, tuple(problems))


def _read(path: Path, root: Root, accept: Accept) -> Skill:
    if root.within is not None and not path.resolve().is_relative_to(root.within):
        raise SkillError(f"{path} leads outside the project, so it is not used.")
    skill = _cached(path, root.scope, _version(path))
    if isinstance(skill, SkillError):
        raise SkillError(skill.message)  # not the one that is kept: each raising adds to its traceback
    if root.scope == "project" and skill.directory is not None and has_scripts(skill.directory):
        refused = accept(skill.directory)
        if refused:
            raise SkillError(f"The skill {skill.name} brings programs ({skill.directory}): {refused}")
    return skill


@lru_cache(maxsize=1024)
def _cached(path: Path, scope: Scope, _version: tuple[int, ...]) -> Skill | SkillError:
    """Skills are looked for at every turn, and reading YAML is slow."""
    try:
        return read_skill(path, scope)
    except SkillError as error:
        return error


def _version(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns


def _files(directory: Path) -> Iterator[Path]:
    try:
        entries = sorted(directory.iterdir())[:MAX_ENTRIES]
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if (entry / SKILL_FILE).is_file():
                yield entry / SKILL_FILE
        elif entry.suffix == ".md" and entry.name not in ("README.md", SKILL_FILE) and entry.is_file():
            yield entry


def _project(cwd: Path) -> Iterator[Root]:
    """From the working directory up to the git root."""
    chain = [cwd, *cwd.parents]
    last = next((index for index, directory in enumerate(chain) if (directory / ".git").exists()), 0)
    within = chain[last].resolve()
    for directory in chain[: last + 1]:
        for home in HOMES:
            yield Root(directory / home / "skills", "project", within)


def _user(environment: Mapping[str, str]) -> Iterator[Root]:
    home = environment.get("HOME", "")
    if not home.startswith("/"):
        return
    config = environment.get("XDG_CONFIG_HOME", "")
    base = Path(config) if config.startswith("/") else Path(home, ".config")
    for path in (base / "sould", base / "agents", *(Path(home, name) for name in HOMES)):
        yield Root(path / "skills", "user")


def _expanded(path: str, cwd: Path, environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME", "")
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    return cwd / path
