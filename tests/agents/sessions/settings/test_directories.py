"""`/add-dir`: one more directory for tools, rules, prompts and the next daemon."""

from pathlib import Path

from sould.agents.permissions.policy import EditFile
from sould.agents.wire.content import TextPart
from sould.agents.wire.messages import ApprovalRequest
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import choose, prompt_of


def with_library(tmp_path: Path, *scripts: str) -> tuple[Bench, Path]:
    bench = make_bench(tmp_path, scripts=scripts)
    library = tmp_path / "library"
    library.mkdir()
    (library / "b.txt").write_text("there\n")
    return bench, library


async def test_a_directory_is_added_for_tools_rules_and_prompt_and_kept(tmp_path: Path) -> None:
    write = call("WriteFile", path="../library/new.txt", content="x")
    bench, library = with_library(tmp_path, write, "text: done")
    async with bench.running():
        session = await bench.new("review")
        watcher = Watcher(session, answer=None)
        await finish(session, "/add-dir ../library")
        assert f"`{library}`" in watcher.of(TextPart)[0].text
        assert f"{library}:\nb.txt" in prompt_of(session)
        await finish(session, "go")
        assert not watcher.of(ApprovalRequest), "review mode edits inside the workspace without asking"
        assert (library / "new.txt").read_text() == "x"
        identity = session.id
    async with bench.running():
        again = await bench.open(identity)
        assert tuple(again.parts.services.workplace.directories) == (library,)
        assert again.info.additional == (library,)
        Watcher(again)
        await choose(again, "mode", "review", "watcher")
        path = again.parts.operations.sharing.files.resolve(str(library / "b.txt"))
        assert path.inside
        assert again.parts.operations.sharing.approval.judge(EditFile(path, "modify")).decision == "allow"


async def test_links_are_followed_before_a_directory_is_judged(tmp_path: Path) -> None:
    bench, library = with_library(tmp_path)
    (tmp_path / "link").symlink_to("library")
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        await finish(session, f"/add-dir {tmp_path}/link")
        assert tuple(session.parts.services.workplace.directories) == (library,)
        for wrong, told in (
            ("../library", "already"),
            ("a.txt", "not a directory"),
            ("nowhere", "not a directory"),
            (".", "already"),
            ("a\0b", "not a directory"),
        ):
            await finish(session, f"/add-dir {wrong}")
            assert told in watcher.of(TextPart)[-1].text, wrong
        await finish(session, "/add-dir")
        assert watcher.of(TextPart)[-1].text == f"- `{bench.project}`\n- `{library}`"


async def test_a_second_client_brings_its_directories(tmp_path: Path) -> None:
    bench, library = with_library(tmp_path)
    async with bench.running():
        session = await bench.new()
        Watcher(session)
        opening = bench.opening(additional=(library,))
        assert await bench.host.open(session.id, opening) is session
        assert session.parts.operations.sharing.files.resolve(str(library / "b.txt")).inside
