"""A project whose own configuration is not as the user trusted it: who changed what is said, and the user is asked (D23).

Nothing here takes a changed file into use: that happens where the file is read, once the user has trusted it anew.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct, field

from sould.agents.base.filechanges import FileChanges, Stamp
from sould.agents.base.gitplaces import work_tree_of
from sould.agents.base.projectowners import Owners
from sould.agents.files.projects.authors import described
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.projectfiles import (
    HOOKS_FILE,
    MCP_FILES,
    Contents,
    FileDiffers,
    Seen,
    contents,
    digest,
    stamp_of,
)
from sould.agents.permissions.questions import Questions
from sould.agents.permissions.trust import SessionTrust, Trust, TrustError, TrustStore
from sould.agents.sessions.settings.seen_notices import ToldOnce
from sould.agents.soul.catalog import PROJECT_FOLDERS
from sould.agents.soul.projectinstructions import instruction_files, instruction_files_below
from sould.agents.soul.skills.discovery import has_scripts
from sould.agents.wire.messages import QuestionItem, QuestionOption
from sould.agents.wire.notice import notice

MOST_LINES = 20
YES, NO = "Trust it", "Not now"


class TrustStatus(Struct, frozen=True):
    """How the user's trust and the project's configuration stand. `lines`: what they should look at, a line a file."""

    state: Trust
    seen: Contents
    lines: tuple[str, ...]
    files: tuple[Path, ...] = ()
    """What the lines are about and is there."""
    instructs: bool = False
    """Instructions are among what was seen."""

    @property
    def settled(self) -> bool:
        """There is nothing to decide."""
        return not self.lines and self.state == "trusted"

    def text(self) -> str:
        """The lines, so many as can be read."""
        return "\n".join(self._shown())

    def _shown(self) -> Iterator[str]:
        yield from (f"- {line}" for line in self.lines[:MOST_LINES])
        if len(self.lines) > MOST_LINES:
            yield f"- and {len(self.lines) - MOST_LINES} more"


def standing(trust: TrustStore, workspace: Path, sessions: Path) -> TrustStatus:
    """Read every configuration file, and the edit logs for who wrote it. Blocks."""
    state, instructions = trust.state(workspace), tuple(_all_instructions(workspace))
    seen = _waiting_files(trust.owners, instructions, contents(workspace))
    instructs = any(os.path.realpath(path) in seen for path, _ in instructions)
    changes = trust.changes(workspace, seen) if state == "trusted" else _all(seen)
    files = tuple(change.path for change in changes if change.how != "removed")
    return TrustStatus(state, seen, tuple(described(changes, workspace, sessions, trust.owners)), files, instructs)


def _all_instructions(workspace: Path) -> Iterator[tuple[Path, Path]]:
    """The project's, and those of folders below; each with the top that it may not leave."""
    yield from instruction_files(workspace)
    yield from instruction_files_below(workspace)


def _waiting_files(owners: Owners, instructions: Iterable[tuple[Path, Path]], configuration: Contents) -> Contents:
    """The project's configuration, and those of the instructions that others than the user can write (D57)."""
    told = (path for path, top in instructions if owners.others(path, top))
    return {**configuration, **{os.path.realpath(path): digest(path) for path in told}}


def _is_text_of_a_skill(path: Path) -> bool:
    root = next((parent for parent in path.parents if parent.name == "skills"), None)
    if root is None:
        return False
    skill = root / path.relative_to(root).parts[0]
    return not has_scripts(skill) if skill.is_dir() else skill.suffix == ".md"


def _waiting_for_trust(workspace: Path, owners: Owners) -> tuple[str, ...]:
    """The project's agents, MCP servers, hooks, and the skills with programs, or that others than the user can write."""
    root = workspace.resolve()
    found = {_named(Path(path), root, owners) for path in contents(workspace)}
    servers = (f"the MCP servers of {name}" for name in MCP_FILES if (root / name).is_file())
    hooks = (f"the hooks of {HOOKS_FILE}",) if (root / HOOKS_FILE).is_file() else ()
    return (*servers, *hooks, *sorted(name for name in found if name))


def _named(path: Path, workspace: Path, owners: Owners) -> str:
    """The agent or skill that a file of the project's configuration makes; "" for others."""
    skills = next((parent for parent in path.parents if parent.name == "skills"), None)
    if skills is not None:
        others = owners.others(path, work_tree_of(workspace) or workspace)
        name = f"skill {path.relative_to(skills).parts[0]}"
        return f"{name} ({others})" if others else "" if _is_text_of_a_skill(path) else name
    homes = [workspace / folder for folder in PROJECT_FOLDERS]
    if path.suffix in (".yaml", ".yml") and path.parent in homes:
        return f"agent {path.stem}"
    return f"agent {path.parent.name}" if path.name == "agent.yaml" and path.parent.parent in homes else ""


def _all(seen: Contents) -> list[FileDiffers]:
    return [FileDiffers(Path(path), "there", digest) for path, digest in sorted(seen.items())]


class TrustQuestion(Struct):
    """Of one session. `tell` says at a turn's beginning what changed; `ask` puts the question."""

    trust: SessionTrust
    workspace: Path
    sessions: Path
    log: SessionLog
    questions: Questions
    changes: FileChanges
    stamp: Stamp | None = None
    """How everything stood that was looked at for what was told last; None: look again each time."""
    _seen: Seen = field(default_factory=Seen)
    _told: frozenset[tuple[Path, str]] = frozenset()
    _introduced: bool = False

    async def tell(self, *, new: bool) -> None:
        """Name the files that are not as the user trusted them, each state of them once.

        In a `new` session also what of a project that nobody has decided on waits for the user's trust: in one line, and
        not again in the next session.
        """
        if new and not self._introduced and self.trust.state(self.workspace) == "unknown":
            self._introduced = True
            waiting = await asyncio.to_thread(_waiting_for_trust, self.workspace, self.trust.owners)
            if waiting:
                await self._introduce(waiting)
        if self.changes.holds(self.stamp):
            return  # nothing new since the last time
        found = await asyncio.to_thread(self._waiting)
        news = frozenset((change.path, change.digest) for change in found)
        if news and news != self._told:
            lines = await asyncio.to_thread(described, found, self.workspace, self.sessions, self.trust.owners)
            self._publish(TrustStatus("trusted", {}, tuple(lines)).text())
        self._told = news

    def _waiting(self) -> list[FileDiffers]:
        """What stays out of use. A skill that is only text, and only the user's, is used as it is."""
        deciding = self.trust.files(self.workspace)
        self.stamp = self.changes.stamp(deciding)
        if self.trust.state(self.workspace) != "trusted":
            return []
        owners, top = self.trust.owners, work_tree_of(self.workspace) or self.workspace
        told = (path for path, _ in instruction_files(self.workspace))
        self.stamp = stamp_of(self.workspace, self.changes, (*deciding, *told))
        seen = _waiting_files(owners, instruction_files(self.workspace), contents(self.workspace, self._seen))
        changes = self.trust.changes(self.workspace, seen)
        return [each for each in changes if not _is_text_of_a_skill(each.path) or owners.others(each.path, top)]

    async def _introduce(self, waiting: tuple[str, ...]) -> None:
        more = f" and {len(waiting) - MOST_LINES} more" if len(waiting) > MOST_LINES else ""
        body = f"{', '.join(waiting[:MOST_LINES])}{more}. /trust shows and decides, or `sould trust` in a terminal."
        if await asyncio.to_thread(
            ToldOnce(self.sessions.with_name("told.json")).is_news, "trust", self.workspace, body
        ):
            self.log.publish(notice("trust", "Off until you trust this project", body))

    def _publish(self, text: str) -> None:
        advice = "Agents, hooks, MCP servers and skills with programs stay off while they differ. Review the change, "
        told = notice(
            "trust",
            "This project's configuration changed since you trusted it",
            f"{text}\n{advice}then use /trust here or `sould trust` in a terminal.",
            severity="warning",
        )
        self.log.publish(told)

    async def ask(self, call_id: str, *, can_ask: bool) -> str:
        """Ask the user and do what they say; what to answer them. What they saw is what is trusted, not what came since."""
        now = await asyncio.to_thread(standing, self.trust, self.workspace, self.sessions)
        if now.settled:
            return "This project is trusted, and its configuration has not changed since."
        if not can_ask:
            return f"{_heading(now)}\n{now.text()}\nThis client cannot ask you; run `sould trust` in a terminal."
        question = _heading(now)
        options = (
            QuestionOption(label=YES, description="Its agents, hooks, MCP servers and programs may run as you."),
            QuestionOption(label=NO, description="What is new or changed stays off."),
        )
        item = QuestionItem(question=question, header="Trust", options=options, body=now.text())
        response = await self.questions.put(call_id, (item,))  # its lines have marks already
        if response is None or response.answers.get(question) != YES:
            return "Nothing was trusted."
        try:
            await asyncio.to_thread(self.trust.set, self.workspace, "trusted", now.seen)
        except TrustError as error:
            return error.message
        later = " Instructions do in a new session." if now.instructs else ""
        return f"This project is trusted, with its configuration as you saw it. It takes effect with the next prompt.{later}"


def _heading(now: TrustStatus) -> str:
    if now.state == "trusted":
        return "This project's configuration changed since you trusted it. Trust it as it is now?"
    return "Trust this project, with the configuration it brings?" if now.lines else "Trust this project?"
