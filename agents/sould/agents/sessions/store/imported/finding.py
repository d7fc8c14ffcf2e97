"""Where other agents keep the conversations of a directory, reading one, and a session of it. Links are not followed. Blocks."""

import contextlib
import os
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from sould.agents.base.diskfile import read_file
from sould.agents.base.errors import OptionError
from sould.agents.base.text import plural
from sould.agents.base.workspace import WorkspaceError
from sould.agents.sessions.store import kimilayout
from sould.agents.sessions.store.imported import claude, codex, kimi
from sould.agents.sessions.store.imported.shape import ImportedConversation, ImportedMessage, Part
from sould.agents.sessions.store.info import default_title
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ContextNote, Notification, StepBegin, TurnBegin, TurnEnd, WireMessage
from sould.agents.wire.notice import notice

_BEFORE = "(What came before is not in the file.)"
Agent: TypeAlias = Literal["claude", "codex", "kimi"]
READERS: Final[Mapping[Agent, Callable[[bytes], ImportedConversation]]] = {
    "claude": claude.read,
    "codex": codex.read,
    "kimi": kimi.read,
}
LARGEST: Final = 256 * 1024 * 1024
"""Bytes of a file."""
HEAD: Final = 256 * 1024
"""Bytes in which a list looks for a title and a directory."""
MOST: Final = 50
MOST_LOOKED_AT: Final = 400


class Kept(Struct, frozen=True):
    """A conversation of another agent. `updated`: wall seconds."""

    agent: Agent
    path: Path
    title: str
    updated: float


def kept_for(cwd: Path, environment: Mapping[str, str]) -> tuple[Kept, ...]:
    """The conversations about a directory, last used first: those about this path, and about the one that it leads to."""
    home = Path(environment.get("HOME") or "/")
    share = kimilayout.share_directory(environment, cwd)
    spelled = {cwd, Path(os.path.realpath(cwd))}
    places: set[tuple[Agent, Path, str]] = {("codex", codex.folder_of(home), "**/rollout-*.jsonl")}
    for path in spelled:
        places |= {
            ("claude", claude.folder_of(home, path), "*.jsonl"),
            ("kimi", kimilayout.folder_of(share, path), "*/context.jsonl"),
        }
    about = {"", *map(str, spelled)}
    found = [each for agent, folder, names in places for each in _in(agent, folder, names, about)]
    return tuple(sorted(found, key=lambda each: -each.updated)[:MOST])


def _in(agent: Agent, folder: Path, names: str, about: Collection[str]) -> Iterator[Kept]:
    newest = sorted(_files(folder, names), reverse=True)
    for updated, path in newest[:MOST_LOOKED_AT]:
        try:
            head, _ = read_file(path, HEAD)
        except WorkspaceError:
            continue
        said = READERS[agent](head)
        if said.said and said.cwd in about:
            yield Kept(agent, path, title_of(said), updated)


def _files(folder: Path, names: str) -> Iterator[tuple[float, Path]]:
    try:
        for path in folder.glob(names):
            if path.is_file() and not path.is_symlink():
                yield path.stat().st_mtime, path
    except OSError:
        return


def read_kept(path: Path, agent: Agent | None) -> ImportedConversation:
    """The conversation in a file; None: whose it is shows in it.

    Raises:
        OptionError: it cannot be read, or holds none.
    """
    try:
        data, size = read_file(Path(os.path.abspath(path)), LARGEST)
    except WorkspaceError as error:
        raise OptionError(str(error)) from error
    if size > LARGEST:
        raise OptionError(f"{path} has {size:,} bytes; at most {LARGEST:,} are imported.")
    readers = [READERS[agent]] if agent is not None else list(READERS.values())
    best = max((read(data) for read in readers), key=lambda found: len(found.said))
    if not best.said:
        raise OptionError(
            f"{path} holds no conversation of {'Claude Code, Codex or Kimi' if agent is None else agent}."
        )
    with contextlib.suppress(OSError):  # kimi-cli says it in another file
        best.begins(kimilayout.when_begun(path.parent))
    return best


def title_of(found: ImportedConversation) -> str:
    """What it is called, else what its user said first."""
    said = [part.text for each in found.said if each.who == "user" for part in each.parts if isinstance(part, TextPart)]
    return next((title for title in map(default_title, (found.title, *said)) if title), "")


def turns_of(found: ImportedConversation) -> Iterator[WireMessage]:
    """The conversation as messages of ours, turn by turn, with what its model is to know of it first.

    Calls of tools are text: they were not ours, and are never run again. Nothing is asked of a model.
    """
    yield ContextNote(
        text=f"The conversation up to the next note was imported from {_source(found)}. What stands in brackets are calls "
        "of its tools and their answers, as records; files may have changed since."
    )
    said = list(found.said)
    if said and said[0].who == "assistant":
        said.insert(0, ImportedMessage("user", (TextPart(text=_BEFORE),)))
    turn, step = "", 0
    for each in said:
        if each.who == "user":
            if turn:
                yield TurnEnd(turn_id=turn)
            turn, step = secrets.token_hex(8), 0
            yield TurnBegin(user_input=_input(each.parts), turn_id=turn)
            continue
        step += 1
        if step == 1:
            yield StepBegin(n=1)
        for part in each.parts:
            text = part.text if isinstance(part, TextPart) else "[An image was here.]"
            yield TextPart(text=text if step == 1 else f"\n\n{text}")
            step += 1
    yield TurnEnd(turn_id=turn)
    yield ContextNote(text="The imported conversation ends here.")
    yield imported_notice(found)


def imported_notice(found: ImportedConversation) -> Notification:
    """What its user is told: from where it is, and what was passed over."""
    passed = ", ".join(f"{why} ({count})" for why, count in sorted(found.skipped.items()))
    body = f"{plural(len(found.said), 'message')}." + (f" Passed over: {passed}." if passed else "")
    return notice("imported", f"Imported from {_source(found)}", body)


def _source(found: ImportedConversation) -> str:
    return " ".join(filter(None, (found.agent, "".join(char for char in found.version[:20] if char.isprintable()))))


def _input(parts: Sequence[Part]) -> str | tuple[Part, ...]:
    only = parts[0] if len(parts) == 1 else None
    return only.text if isinstance(only, TextPart) else tuple(parts)
