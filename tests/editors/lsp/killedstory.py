"""A daemon that is killed at random moments, under an editor with unsaved text and an ACP client in which an agent works.

What is under way then is answered or not; what holds after each death is asserted here. Run by `test_killed`, and with
`make faults` more often.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from tests.editors.lsp.converging import Eye, User, listed

from soultest.acpclient import FULL as FULL_ACP
from soultest.acpclient import AcpClient, AgentError, ProcessStream
from soultest.daemon import Sould
from soultest.lspclient import FULL, LspClient
from soultest.world import SOULD, call

LINES = 60


@asynccontextmanager
async def window(sould: Sould) -> AsyncGenerator[LspClient]:
    """An editor window on the world's project."""
    stream = await ProcessStream.start(str(SOULD), "lsp", cwd=sould.workspace, environment=sould.environment)
    async with LspClient(stream) as editor:
        await editor.initialize(FULL, sould.workspace)
        yield editor
    editor.check()


@asynccontextmanager
async def chat(sould: Sould) -> AsyncGenerator[tuple[AcpClient, str]]:
    """An ACP client on it, and its session, whose agent asks nobody."""
    stream = await ProcessStream.start(str(SOULD), "acp", cwd=sould.workspace, environment=sould.environment)
    async with AcpClient(stream) as client:
        await client.initialize(FULL_ACP)
        session = await client.new_session(sould.workspace)
        await client.request("session/set_mode", sessionId=session, modeId="review")
        yield client, session


class Story:
    """Of one seed."""

    def __init__(self, sould: Sould, seed: int, editor: LspClient, agent: AcpClient, session: str) -> None:
        self._sould = sould
        self._path = sould.workspace / "a.txt"
        self._chance = random.Random(seed)
        self._editor = editor
        self._agent = agent
        self._session = session
        self._uri = editor.open(self._path)
        self._clients: list[AcpClient | LspClient] = [agent, editor]
        self._eyes = [Eye(each, sould.workspace) for each in self._clients]
        self._said = 0
        """Of what the editor's user is told."""
        self._user = User(seed, self._path, editor, self._uri, self._clients)

    async def begins(self) -> None:
        """Both clients follow, and an agent has written."""
        for eye in self._eyes:
            await eye.opens()
        await self._turn()

    async def lives(self) -> None:
        """Until the daemon is killed, with something under way, and another one goes on."""
        for _ in range(self._chance.randrange(5)):
            await self._user.step()
        if self._chance.random() < 0.5:
            await self._turn()
        under_way = [self._begin() for _ in range(self._chance.randint(1, 6))]
        if self._chance.random() < 0.7:
            await asyncio.wait([self._chance.choice(under_way)])
        write_scripts(self._sould, self._chance)
        self._sould.kill9()
        for eye in self._eyes:
            await eye.begins_again()
        await self._agent.prompt(self._session, "go")  # those before it have ended, or were never heard of
        for each in under_way:
            each.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        self._user.reload()
        await self._types_on()
        await self.holds()

    async def _types_on(self) -> None:
        """The editor's user, who saves where the next daemon does not know what is unsaved, and says so."""
        self._user.type()
        await listed(self._editor, self._sould.workspace)
        told = self._editor.told("window/showMessage")[self._said :]
        self._said += len(told)
        if told:
            assert "does not know what is unsaved" in told[-1]["message"]
            self._user.save()

    def _begin(self) -> "asyncio.Future[Any]":
        match self._chance.randrange(4):
            case 0:
                return self._agent.prompt(self._session, "go")
            case 1:
                self._user.type()
                return self._editor.start("_sould/review/list", {"cwd": str(self._sould.workspace)})
            case _:
                return asyncio.ensure_future(self._decides())

    async def _decides(self) -> None:
        """About something; it may be too late for that, or the daemon dies of it."""
        try:
            await self._user.step()
        except AgentError as error:
            if error.data["kind"] != "interrupted":
                raise

    async def _turn(self) -> None:
        await self._agent.prompt(self._session, "go")
        self._user.reload()

    async def holds(self) -> None:
        """Both see the same; base with what is pending is what the user sees; nothing typed is lost."""
        there = [await listed(each, self._sould.workspace) for each in (self._editor, self._agent)]
        assert there[0] == there[1]
        for eye in self._eyes:
            await eye.catches_up(there[0])
        text = self._editor.buffers[self._uri].text
        assert await self._applied() == text
        assert set(self._user.typed) <= set(text.splitlines(keepends=True))

    async def _applied(self) -> str:
        answer = await self._agent.request("_sould/review/list", cwd=str(self._sould.workspace))
        base = (await self._agent.request("_sould/review/base", path=str(self._path)))["text"]
        lines = base.splitlines(keepends=True)
        hunks = [hunk for file in answer["files"] for hunk in file["hunks"]]
        for each in reversed(hunks):
            stop = each["baseStart"] + len(each["base"])
            assert lines[each["baseStart"] : stop] == each["base"]
            lines[each["baseStart"] : stop] = [line["text"] for line in each["lines"]]
        return "".join(lines)

    async def ends(self) -> None:
        """All is rejected: what was typed is there, and in base."""
        self._user.save()
        await self.holds()
        assert self._path.read_text() == self._editor.buffers[self._uri].text
        everything = {"cwd": str(self._sould.workspace), "all": True}
        await self._agent.request("_sould/review/reject", everything)
        # where a whole text came at once, a line may be taken for one that was changed
        await self._agent.request("_sould/review/reject", everything, choice="mine")
        self._user.reload()
        for eye in self._eyes:
            await eye.catches_up({})
        await self.holds()


def write_scripts(sould: Sould, chance: random.Random) -> None:
    """What the agents of the next daemon write: each turn replaces a line by two, where that is still there."""
    lines = chance.sample(range(LINES), LINES // 2)
    edits = {n: {"old": f"line {n}\n", "new": f"agent {n}\nmore {n}\n"} for n in lines}
    calls = [call("StrReplaceFile", f"e{n}", path="a.txt", edit=edit) for n, edit in edits.items()]
    sould.world.script([script for each in calls for script in (each, "text: done")])


async def told(sould: Sould, seed: int, lives: int) -> None:
    """The whole of it."""
    (sould.workspace / "a.txt").write_text("".join(f"line {n}\n" for n in range(LINES)))
    write_scripts(sould, random.Random(seed))
    sould.start()
    async with window(sould) as editor, chat(sould) as (agent, session):
        story = Story(sould, seed, editor, agent, session)
        await story.begins()
        for _ in range(lives):
            await story.lives()
        await story.ends()
