"""What an editor makes of an agent's write while it saves it is the agent's (format on save), also when it says so later."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import Expected, TextFile
from sould.agents.files.projects.clientfiles import ClientFiles
from sould.agents.files.projects.port import ProjectPort
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.files.reviewing.listing import EVERYTHING, ReviewedHunk
from sould.agents.files.reviewing.orders import Order
from sould.agents.tools import ToolCallContext
from soultest.bench.tools import no_commands

BASE = "x = {'a':1}\n\ndef f():\n    return x\n\nz=3\n"
WRITTEN = BASE.replace("return x", "return x['a']")


def formatted(text: str) -> str:
    return re.sub(r" ?= ?", " = ", text.replace("'", '"'))


class SavingEditor(LocalWorkspace):
    """An editor that saves what an agent writes."""

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        return replace(await super().write_text(path, text, expected=expected), by_editor=True)


class FormattingEditor(SavingEditor):
    """It formats what it saves."""

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        await super().write_text(path, formatted(text), expected=expected)
        return replace(await self.read_text(path), by_editor=True)


class Desk:
    """One file in an editor, an agent that writes it, and the editor's reports."""

    def __init__(self, port: ProjectPort, files: SessionFiles, path: Path) -> None:
        self.port = port
        self.files = files
        self.path = path

    @classmethod
    @asynccontextmanager
    async def opened(cls, base: Path, editor: type[LocalWorkspace]) -> AsyncGenerator["Desk"]:
        root, own = base / "project", base / "session"
        for place in (root, own):
            place.mkdir()
        path = root / "a.py"
        path.write_text(BASE)
        projects = Projects(base / "state")
        disk = LocalWorkspace(root, (), no_commands)
        clients = ClientFiles(disk, projects.buffers)
        files = await SessionFiles.open(disk, projects, Author("S1", own, base), clients)
        async with ProjectPort.opened(projects, root, base, "editor") as port:
            workspace = editor(root, (), no_commands)
            clients.attach("editor", workspace)
            port.documents.serve(workspace)
            port.documents.open(path)
            yield cls(port, files, path)
        await files.aclose()

    async def agent(self, text: str, turn: str = "T1") -> TextFile:
        """The agent writes the file."""
        files = self.files.for_call(ToolCallContext(f"call of {turn}", 1, turn_id=turn))
        return await files.write_text(self.path, text, expected=digest_of(self.path.read_bytes()))

    def editor_saves(self, text: str) -> None:
        """The editor has this text by now, and saved it."""
        self.port.documents.change(self.path, text)
        self.path.write_text(text)
        self.port.documents.save(self.path)

    async def hunks(self) -> list[ReviewedHunk]:
        return [hunk for each in await self.port.pending_now() for hunk in each.hunks]


def assert_all_is_the_agents(hunks: list[ReviewedHunk]) -> None:
    """Case 3."""
    assert [(hunk.base, hunk.texts) for hunk in hunks] == [
        (("x = {'a':1}\n",), ('x = {"a":1}\n',)),
        (("    return x\n",), ('    return x["a"]\n',)),
        (("z=3\n",), ("z = 3\n",)),
    ]
    assert {line.agent and line.agent.turn_id for hunk in hunks for line in hunk.lines} == {"T1"}
    assert not any(line.mixed for hunk in hunks for line in hunk.lines)


async def test_what_an_editor_makes_of_a_write_while_saving_it_is_the_writers(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, FormattingEditor) as desk:
        saved = await desk.agent(WRITTEN)
        assert saved.text == formatted(WRITTEN), "so that the model's next replacement fits"
        assert_all_is_the_agents(await desk.hunks())


async def test_a_save_that_is_reported_after_the_write_is_the_writers_too(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, SavingEditor) as desk:
        await desk.agent(WRITTEN)
        desk.editor_saves(formatted(WRITTEN))
        assert_all_is_the_agents(await desk.hunks())


async def test_what_the_user_saves_in_an_editor_that_only_loads_what_was_written_is_theirs(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, LocalWorkspace) as desk:
        await desk.agent(WRITTEN)
        desk.editor_saves(WRITTEN + "typed\n")
        [hunk] = await desk.hunks()
        assert hunk.texts == ("    return x['a']\n",)
        await desk.port.review.decide(Order("reject", EVERYTHING, "editor"))
        assert desk.path.read_text() == BASE + "typed\n"


async def test_what_is_saved_before_the_agent_writes_again_is_of_its_first_write(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, SavingEditor) as desk:
        await desk.agent(WRITTEN)
        desk.editor_saves(formatted(WRITTEN))
        await desk.agent(formatted(WRITTEN) + "end\n", "T2")
        *first, last = await desk.hunks()
        assert_all_is_the_agents(first)
        assert [agent.turn_id for agent in last.agents] == ["T2"]


async def test_what_the_user_saves_after_that_is_theirs(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, SavingEditor) as desk:
        await desk.agent(WRITTEN)
        desk.port.documents.save(desk.path)
        await desk.hunks()
        desk.editor_saves(formatted(WRITTEN))
        [hunk] = await desk.hunks()
        assert [line.mixed for line in hunk.lines] == [True]


async def test_what_the_user_had_typed_before_the_write_is_not_saved_with_it(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, SavingEditor) as desk:
        desk.port.documents.change(desk.path, BASE + "typed\n")
        desk.editor_saves(BASE + "typed\n")
        await desk.agent(BASE.replace("return x", "return y") + "typed\n")
        await desk.port.review.decide(Order("reject", EVERYTHING, "editor"))
        assert desk.path.read_text() == BASE + "typed\n"


async def test_what_is_typed_behind_a_save_before_anybody_looked_is_the_users(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, SavingEditor) as desk:
        await desk.agent(WRITTEN)
        desk.editor_saves(formatted(WRITTEN))
        desk.port.documents.change(desk.path, formatted(WRITTEN).replace("]\n", "]  # mine\n"))
        one, two, three = await desk.hunks()
        assert [line.mixed for hunk in (one, two, three) for line in hunk.lines] == [False, True, False]
        assert {line.agent and line.agent.turn_id for line in (*one.lines, *three.lines)} == {"T1"}


async def test_what_is_typed_and_saved_behind_a_save_that_was_reported_is_the_users(tmp_path: Path) -> None:
    typed = WRITTEN.replace("]\n", "]  # mine\n")
    async with Desk.opened(tmp_path, SavingEditor) as desk:
        await desk.agent(WRITTEN)
        desk.port.documents.save(desk.path, WRITTEN)
        desk.port.documents.change(desk.path, typed)
        [hunk] = await desk.hunks()
        assert [line.mixed for line in hunk.lines] == [True]
        desk.editor_saves(typed)
        [hunk] = await desk.hunks()
        assert [line.mixed for line in hunk.lines] == [True]


class ReportingEditor(SavingEditor):
    """It reports its save before it answers."""

    port: ProjectPort

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        written = await super().write_text(path, text, expected=expected)
        self.port.documents.save(path, text)
        return written


async def test_what_is_saved_after_an_answer_that_came_behind_the_report_is_the_users(tmp_path: Path) -> None:
    async with Desk.opened(tmp_path, ReportingEditor) as desk:
        ReportingEditor.port = desk.port
        await desk.agent(WRITTEN)
        desk.editor_saves(WRITTEN.replace("]\n", "]  # mine\n"))
        [hunk] = await desk.hunks()
        assert [line.mixed for line in hunk.lines] == [True]
