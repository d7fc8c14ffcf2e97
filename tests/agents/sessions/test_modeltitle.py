"""Titles by the model."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sould.agents.sessions.modeltitle import as_title
from sould.agents.wire.messages import SessionChanged
from soultest.bench import Watcher, finish
from soultest.families.bench import ServedBench
from soultest.families.kinds import OpenAI
from soultest.families.server import FamilyServer, Said
from soultest.llm import Request

NAMED = "current_focus"
"""The first line of what these servers answer to a question without tools."""


@asynccontextmanager
async def watched(root: Path, *, titles: bool = True) -> AsyncGenerator[tuple[Watcher, FamilyServer]]:
    async with FamilyServer(OpenAI()) as server:
        bench = ServedBench(root, {"sessions": {"titles_by_model": titles}}, server=server)
        bench.prepare()
        server.say(Said("Done."), Said("Done again."))
        async with bench.running():
            yield Watcher(await bench.new("full")), server


def asked_for_a_title(server: FamilyServer) -> list[Request]:
    """Titles need no tools."""
    return [request for request in server.requests if not request.body.get("tools")]


async def test_the_model_names_a_session_after_its_first_turn(tmp_path: Path) -> None:
    async with watched(tmp_path) as (watcher, server):
        await finish(watcher.session, "mend the parser")
        await watcher.wait_for(SessionChanged, lambda changed: changed.title == NAMED)
        await finish(watcher.session, "and its tests")
        assert watcher.session.info.title == NAMED
        assert len(asked_for_a_title(server)) == 1


async def test_a_title_of_the_user_stays(tmp_path: Path) -> None:
    async with watched(tmp_path) as (watcher, server):
        watcher.session.parts.entry.rename("Parser")
        await finish(watcher.session, "mend the parser")
        await finish(watcher.session, "and its tests")
        assert watcher.session.info.title == "Parser"
        assert not asked_for_a_title(server)


async def test_the_first_prompt_stays_the_title_where_that_is_configured(tmp_path: Path) -> None:
    async with watched(tmp_path, titles=False) as (watcher, server):
        await finish(watcher.session, "mend the parser")
        await finish(watcher.session, "and its tests")
        assert watcher.session.info.title == "mend the parser"
        assert not asked_for_a_title(server)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Parser of dates mended", "Parser of dates mended"),
        ('\n**"Parser of dates."**\nThis title says …', "Parser of dates"),
        ("Title: Parser of dates", "Parser of dates"),
        ("«Разбор дат»", "Разбор дат"),
        ("a\u202eb", r"a\u202eb"),
        ("word " * 30, "word word word word word word word word word word"),
        ("x" * 80, "x" * 50),
        (" \n#\n", ""),
        ("", ""),
    ],
)
def test_a_title_is_one_short_line_of_the_answer(answer: str, title: str) -> None:
    assert as_title(answer) == title
