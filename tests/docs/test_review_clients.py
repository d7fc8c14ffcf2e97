"""The example of docs/review-clients.md: a whole client in 60 lines, beside another client of the real daemon."""

import ast
import asyncio
import sys
from pathlib import Path

from soultest.daemon import Sould
from soultest.docpage import File, read_page
from soultest.editor import client_of
from soultest.world import SOULD, call

PAGE = Path(__file__).parents[2] / "docs" / "review-clients.md"


def example() -> str:
    """The program on the page."""
    return next(step.text for step in read_page(PAGE) if isinstance(step, File) and step.path == "review.py")


def test_it_has_sixty_lines_and_needs_nothing_but_python() -> None:
    assert len(example().splitlines()) <= 60
    imported = {
        alias.name for node in ast.walk(ast.parse(example())) if isinstance(node, ast.Import) for alias in node.names
    }
    assert imported <= sys.stdlib_module_names
    assert not [node for node in ast.walk(ast.parse(example())) if isinstance(node, ast.ImportFrom)]


async def test_it_follows_what_another_client_decides(sould: Sould) -> None:
    world = sould.world
    (world.project / "a.txt").write_text("a\nb\nc\n")
    world.script([call("WriteFile", "1", path="a.txt", content="A\nb\nC\n"), "text: Done."])
    assert sould.cli("run", "--mode", "review", "go").returncode == 0
    program = world.root / "review.py"
    program.write_text(example())
    environment = {**world.environment, "PATH": f"{SOULD.parent}:{world.environment['PATH']}"}
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, str(program), str(world.project)), stdin=pipe, stdout=pipe, env=environment
    )
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"list\n")
    assert [await running.stdout.readline() for _ in range(2)] == [b"1: a.txt:1 text\n", b"2: a.txt:3 text\n"]
    async with client_of(world) as other:
        cwd = str(world.project)
        await other.request("_sould/review/reject", cwd=cwd, hunks=[{"id": 1}])
        assert await running.stdout.readline() == b"1: reject by an ACP client\n"
        running.stdin.write(b"keep 1\nkeep 2\n")
        assert await running.stdout.readline() == b"1: an ACP client rejected it\n"
        assert await running.stdout.readline() == b"2: keep by review.py\n"
        assert (await other.request("_sould/review/list", cwd=cwd))["files"] == []
    assert (world.project / "a.txt").read_text() == "a\nb\nC\n"
    running.stdin.close()
    assert await running.wait() == 0
