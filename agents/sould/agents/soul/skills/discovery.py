"""Where skills are looked for, and what is found there. Project before user before extra before builtin.

Reads only. A project's skills are files the model could read anyway, so plain text ones count in any workspace; those
that bring programs, or that others than the user can write, count only while the user trusts the workspace, and the version
they trusted (D23, D57).
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from sould.agents.base.file_ownership import why_not_own
from sould.agents.base.filestamp import FileStamp, file_stamp
from sould.agents.base.gitplaces import work_tree_of
from sould.agents.base.projectowners import Owners
from sould.agents.base.regularfile import read_beginning
from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.skills.skill import SKILL_FILE, Scope, Skill, SkillError, is_skill_file, read_skill

_SUFFIXES = frozenset(
    {
        *(".sh", ".bash", ".zsh", ".fish", ".py", ".pyz", ".rb", ".pl", ".php", ".lua"),
        *(".js", ".mjs", ".cjs", ".ts", ".ps1", ".bat", ".cmd", ".exe", ".jar", ".so", ".dylib", ".wasm"),
    }
)
MAX_FILES = 500
WAITS = "it is used once you trust this project (`sould trust`)."
BUILTIN = Path(__file__).with_name("builtin")
HOMES = (".sould", ".agents", ".kimi", ".claude", ".codex")
"""Below a project and a home directory; each may hold `skills`. The first that has a name wins it."""
SKILLS_DIRS = "SOULD_SKILLS_DIRS"
"""The variable of a client's environment that `--skills-dir` sets."""
MAX_ENTRIES = 500
"""Of one directory; what is more is named and passed over."""
MAX_DIRECTORIES = 500
"""Looked into for one place of skills."""
MAX_DEPTH = 4
"""A skill may stand in a group, and that in another."""
_NO_GROUPS = frozenset({"node_modules", "__pycache__"})
Accept = Callable[[Path], str]
"""Whether a project's skill that waits for trust may be used, by its directory or file: "" or the reason why not."""


def has_scripts(directory: Path) -> bool:
    """Whether anything in a skill's directory could be run; one too large to be looked through could."""
    for count, path in enumerate(_files(directory)):
        if count >= MAX_FILES or path.suffix.lower() in _SUFFIXES:
            return True
        try:
            mode = path.stat().st_mode
            if mode & 0o111 or not stat.S_ISREG(mode) or read_beginning(path, 2) == b"#!":
                return True
        except OSError:
            continue
    return False


class TrustedScripts:
    """Which skills of a workspace that wait for trust may be used: those the user trusted, as they were."""

    def __init__(self, trust: TrustStore, workspace: Path) -> None:
        self._trust = trust
        self._workspace = workspace

    def refusal(self, skill: Path) -> str:
        """Why the skill in this directory, or of this file, may not be used now; "" when it may."""
        if self._trust.state(self._workspace) != "trusted":
            return WAITS
        if self._trust.changed(self._workspace, _files(skill) if skill.is_dir() else (skill,)):
            return "it has changed since you trusted this project; review it and run `sould trust` again."
        return ""


def _files(directory: Path) -> list[Path]:
    found: list[Path] = []
    for root, directories, names in os.walk(directory):
        directories.sort()
        found += [Path(root, name) for name in sorted(names)]
        if len(found) > MAX_FILES:
            break
    return found


class Root(Struct, frozen=True):
    """A directory of skills. `within`: nothing in it may lead outside this directory. `owners`: as its user sees them."""

    path: Path
    scope: Scope
    within: Path | None = None
    owners: Owners = Owners({})


class FoundSkills(Struct, frozen=True):
    """The skills by name, what could not be used or is used as something else, and what else was remarked on.

    One sentence each.
    """

    skills: Mapping[str, Skill]
    problems: tuple[str, ...]
    remarks: tuple[str, ...] = ()


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
        [root for root in _project(cwd, environment) if root.path not in known],
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


def candidates(cwd: Path, environment: Mapping[str, str], extra: Sequence[str] = ()) -> tuple[Path, ...]:
    """Every directory that `skill_roots` may name, there or not, but those that ship with sould."""
    chosen = [path for path in environment.get(SKILLS_DIRS, "").split(os.pathsep) if path]
    named = [_expanded(path, cwd, environment) for path in (*chosen, *extra)]
    found = () if chosen else (root.path for root in (*_project(cwd, environment), *_user(environment)))
    return tuple(dict.fromkeys((*found, *named)))


def discover(roots: Iterable[Root], accept: Accept) -> FoundSkills:
    """Read every skill; the first of a name wins it."""
    skills: dict[str, Skill] = {}
    problems: list[str] = []
    remarks: list[str] = []
    for root in roots:
        if root.scope == "extra" and not root.path.is_dir():
            problems.append(f"{root.path} is not a directory, so no skills are loaded from it.")
        search = _Search(root.path)
        for path in search.files():
            try:
                skill = _read(path, root, accept)
            except SkillError as error:
                problems.append(error.message)
                continue
            known = skills.setdefault(skill.name, skill)
            if known is not skill and known.path.is_relative_to(root.path):
                remarks.append(f"{path}: not used, because {known.path} has the same name {skill.name}.")
            elif known is skill:
                problems += [skill.mistake] if skill.mistake else []
                remarks += skill.remarks
        remarks += search.remarks
    return FoundSkills(skills, tuple(problems), tuple(remarks))


def _read(path: Path, root: Root, accept: Accept) -> Skill:
    if root.within is not None and not path.resolve().is_relative_to(root.within):
        raise SkillError(f"{path} leads outside the project, so it is not used.")
    if root.scope == "user" and (problem := why_not_own(path)):
        raise SkillError(problem)
    skill = _cached(path, root.scope, file_stamp(path))
    if isinstance(skill, SkillError):
        raise SkillError(skill.message)  # not the one that is kept: each raising adds to its traceback
    if root.within is not None and (why := _why_trusted_only(skill, root.owners, root.within)):
        place = skill.directory or path
        if refused := accept(place):
            raise SkillError(f"The skill {skill.name} {why} ({place}): {refused}")
    return skill


def _why_trusted_only(skill: Skill, owners: Owners, top: Path) -> str:
    """What makes a skill of a project one that waits for trust."""
    if skill.directory is not None and has_scripts(skill.directory):
        return "contains programs"
    others = owners.others(skill.path, top)
    return f"is not only yours, {others}" if others else ""


@lru_cache(maxsize=1024)
def _cached(path: Path, scope: Scope, _version: FileStamp) -> Skill | SkillError:
    """Skills are looked for at every turn, and reading YAML is slow."""
    try:
        return read_skill(path, scope)
    except SkillError as error:
        return error


class _Search:
    """The skills' files below one place: in directories of their own, alone at its top, and in groups."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._left = MAX_DIRECTORIES
        self.remarks: list[str] = []
        """Where something may have been passed over."""

    def files(self) -> Iterator[Path]:
        """Each skill's file."""
        entries = self._entries(self._place)
        own = _skill_file(entries)
        if own is not None:
            yield own
        for entry in entries:
            if entry.is_dir():
                found = list(self._below(entry, MAX_DEPTH))
                yield from found
                if not found and own is None:
                    self.remarks.append(f"{entry}: there is no {SKILL_FILE} in it.")
            elif own is None and entry.suffix == ".md" and entry.stem.casefold() != "readme" and entry.is_file():
                yield entry

    def _below(self, directory: Path, depth: int) -> Iterator[Path]:
        entries = self._entries(directory)
        own = _skill_file(entries)
        if own is not None:
            yield own
        elif depth > 1:
            for entry in entries:
                if entry.name not in _NO_GROUPS and entry.is_dir():
                    yield from self._below(entry, depth - 1)

    def _entries(self, directory: Path) -> list[Path]:
        self._left -= 1
        if self._left == 0:
            self.remarks.append(f"{self._place}: only its first {MAX_DIRECTORIES} directories are searched.")
        if self._left <= 0:
            return []
        try:
            entries = sorted(entry for entry in directory.iterdir() if not entry.name.startswith("."))
        except OSError:
            return []
        if len(entries) > MAX_ENTRIES:
            self.remarks.append(f"{directory}: only its first {MAX_ENTRIES} entries are read.")
        return entries[:MAX_ENTRIES]


def _skill_file(entries: Iterable[Path]) -> Path | None:
    """The file that makes its directory a skill, by whatever letters; the usual ones first."""
    named = [entry for entry in entries if is_skill_file(entry.name) and entry.is_file()]
    return next((entry for entry in named if entry.name == SKILL_FILE), named[0] if named else None)


def _project(cwd: Path, environment: Mapping[str, str]) -> Iterator[Root]:
    """From the working directory up to the git root."""
    chain = [cwd, *cwd.parents]
    top = work_tree_of(cwd) or cwd
    within = top.resolve()
    for directory in chain[: chain.index(top) + 1]:
        for home in HOMES:
            yield Root(directory / home / "skills", "project", within, Owners(environment))


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
