"""Language servers as processes: when they run, how long, how many, and what becomes of those that misbehave."""

import asyncio
import os
from pathlib import Path

import pytest

from sould.agents.base.diskfile import digest_of
from sould.agents.base.workspace import TextFile
from sould.agents.tools.languageservers.pool import MOST, LanguageServerPool
from sould.agents.tools.languageservers.programs import ServerLaunch
from sould.agents.tools.languageservers.server import LanguageServer, ServerBusyError, ServerGoneError
from soultest.languageservers import Served
from soultest.processes import descriptors, memory
from soultest.streams import until

AT = {"position": {"line": 0, "character": 0}}
LONG = 60


async def hover(pool: LanguageServerPool, launch: ServerLaunch, seconds: float = LONG) -> str:
    """Ask a server something."""
    async with pool.used(launch, LONG) as server:
        return (await server.ask("textDocument/hover", AT, seconds))["contents"]["value"]


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def text_file(path: Path, text: str, *, unsaved: bool = False) -> TextFile:
    return TextFile(path, text, digest_of(text.encode()), unsaved=unsaved)


async def test_nothing_runs_before_somebody_asks_and_all_who_ask_share_one_process(served: Served) -> None:
    async with served.pool() as pool:
        assert not pool.servers
        said = await asyncio.gather(*(hover(pool, served.launch()) for _ in range(20)))
        assert len(set(said)) == 1
        [server] = pool.servers
        pid = server.pid
        assert pid is not None
        assert said[0].endswith(f" of {pid}")
    assert not alive(pid)
    assert served.told[0]["method"] == "initialize"
    assert len(served.told_of("initialize")) == 1


async def test_one_that_nobody_asks_any_more_ends_politely_and_comes_back_when_asked(served: Served) -> None:
    served.settings["idle_stop_s"] = 0.05
    async with served.pool() as pool:
        first = await hover(pool, served.launch())
        await until(lambda: not pool.servers)
        assert [each["method"] for each in served.told][-2:] == ["shutdown", "exit"]
        assert await hover(pool, served.launch()) != first


async def test_it_is_given_little_of_the_environment_and_no_key(served: Served) -> None:
    launch = served.launch()
    assert "PATH" in launch.variables
    given = {"PATH": "/usr/bin:/bin", "OPENAI_API_KEY": "secret", "TERM_SESSION_ID": "7", "GOPATH": "/go"}
    assert set(served.launch(variables=given).variables) == {"PATH", "GOPATH"}


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("crash", "It ended before it was ready. Its last output: no licence for this machine"),
        ("garbage", "It was stopped because what it says is not the language server protocol."),
        ("flood_first", "It was stopped because it sent more than 20000 messages within 10 s."),
    ],
)
async def test_one_that_never_gets_ready_says_why(served: Served, mode: str, words: str) -> None:
    before = memory()
    async with served.pool() as pool:
        with pytest.raises(ServerGoneError) as refused:
            await hover(pool, served.launch(mode))
        assert words in str(refused.value)
        assert not pool.servers
    assert memory() - before < 64 * 1024 * 1024


async def test_one_that_does_not_answer_its_first_question_is_busy_for_whoever_asks(served: Served) -> None:
    async with served.pool() as pool:
        with pytest.raises(ServerBusyError, match="starting"):
            async with pool.used(served.launch("mute"), 0.3):
                pass


async def test_one_that_hangs_is_stopped_and_started_again_for_the_next_question(served: Served) -> None:
    async with served.pool() as pool:
        with pytest.raises(ServerGoneError, match="it did not answer within 1 s"):
            await hover(pool, served.launch("hang"), 1)
        async with pool.used(served.launch("hang"), LONG) as server:
            assert server.pid is not None
    assert len(served.told_of("initialize")) == 2


async def test_one_that_computes_for_long_is_busy_and_goes_on(served: Served) -> None:
    async with served.pool() as pool:
        for _ in range(2):
            with pytest.raises(ServerBusyError):
                await hover(pool, served.launch("spin"), 1)
        [server] = pool.servers
        assert not server.stopping


async def test_one_that_indexes_says_so_and_answers_when_it_has_done(served: Served) -> None:
    async with served.pool() as pool:
        async with pool.used(served.launch("indexing"), LONG) as server:
            await until(lambda: bool(server.messages.working))
        with pytest.raises(ServerBusyError, match="Indexing"):
            await hover(pool, served.launch("indexing"), 0.1)
        (served.notes / "indexed").touch()
        assert await hover(pool, served.launch("indexing"))
        assert len(served.told_of("initialize")) == 1


@pytest.mark.long
async def test_one_that_floods_in_the_middle_of_a_question_is_stopped(served: Served) -> None:
    before = memory()
    async with served.pool() as pool:
        with pytest.raises(ServerGoneError, match="more than 20000 messages"):
            await hover(pool, served.launch("flood"))
    assert memory() - before < 64 * 1024 * 1024


async def test_one_that_ends_again_and_again_is_not_started_for_ever(served: Served) -> None:
    async with served.pool() as pool:
        for _ in range(4):
            with pytest.raises(ServerGoneError, match="segmentation fault"):
                await hover(pool, served.launch("die"))
        with pytest.raises(ServerGoneError, match="ended too often"):
            await hover(pool, served.launch("die"))
        assert await hover(pool, served.launch())  # others are not concerned
    assert len(served.told_of("initialize")) == 5


async def test_one_that_clings_to_life_is_killed(served: Served) -> None:
    served.settings["idle_stop_s"] = 0.05
    async with served.pool() as pool:
        await hover(pool, served.launch("clinging"))
        [server] = pool.servers
        pid = server.pid
        assert pid is not None
        await until(lambda: not pool.servers)
        assert not alive(pid)


async def test_one_with_too_much_memory_is_ended(served: Served) -> None:
    served.settings["max_memory_mb"] = 256
    async with served.pool() as pool:
        with pytest.raises(ServerGoneError, match=r"MemoryError|more than 256 MB"):
            await hover(pool, served.launch("hog"))
        assert not pool.servers


async def test_an_answer_that_is_too_large_is_not_kept(served: Served) -> None:
    before = memory()
    async with served.pool() as pool:
        with pytest.raises((ServerGoneError, ServerBusyError)):
            await hover(pool, served.launch("huge"), 3)
        assert memory() - before < 64 * 1024 * 1024


async def test_few_run_at_once_and_the_one_that_was_asked_longest_ago_makes_room(
    served: Served, tmp_path: Path
) -> None:
    async with served.pool() as pool:
        roots = [tmp_path / f"project{number}" for number in range(MOST + 1)]
        for root in roots:
            root.mkdir()
            await hover(pool, served.launch(root=root))
        assert {server.launch.root for server in pool.servers} == set(roots[1:])


async def test_a_project_that_was_renamed_or_replaced_gets_a_server_of_its_own(served: Served) -> None:
    async with served.pool() as pool:
        first = await hover(pool, served.launch())
        served.root.rename(served.root.with_name("renamed"))
        served.root.mkdir()
        assert await hover(pool, served.launch()) != first
        await until(lambda: len(pool.servers) == 1)


async def shown(pool: LanguageServerPool, launch: ServerLaunch, *files: TextFile) -> LanguageServer:
    """Show files one after the other, and know that the server has read them."""
    async with pool.used(launch, LONG) as server:
        for file in files:
            server.show(file)
        await server.ask("textDocument/hover", AT, LONG)
        return server


async def test_a_file_is_shown_once_and_again_only_when_it_is_another(served: Served) -> None:
    path = served.root / "a.py"
    unsaved, saved = text_file(path, "a = 1\n", unsaved=True), text_file(path, "a = 1\n")
    async with served.pool() as pool:
        await shown(pool, served.launch(), unsaved, unsaved, saved, text_file(path, "a = 2\n"))
    [opened] = served.told_of("textDocument/didOpen")
    assert opened["textDocument"]["text"] == "a = 1\n"
    assert opened["textDocument"]["languageId"] == "python"
    [changed] = served.told_of("textDocument/didChange")
    assert changed["contentChanges"] == [{"text": "a = 2\n"}]
    assert changed["textDocument"]["version"] > opened["textDocument"]["version"]
    assert len(served.told_of("textDocument/didSave")) == 2


async def test_it_is_told_which_files_of_the_project_became_others(served: Served) -> None:
    (served.root / "kept.py").write_text("")
    (served.root / "deep" / "er").mkdir(parents=True)
    (served.root / "deep" / "old.py").write_text("")
    (served.root / "node_modules").mkdir()
    async with served.pool() as pool, pool.used(served.launch(), LONG) as server:
        await server.look()
        (served.root / "deep" / "old.py").unlink()
        (served.root / "deep" / "er" / "new.py").write_text("")
        (served.root / "kept.py").write_text("a = 1\n")
        (served.root / "notes.txt").write_text("of no language")
        (served.root / "node_modules" / "installed.py").write_text("")
        (served.root / "fresh").mkdir()
        (served.root / "fresh" / "one.py").write_text("")
        (served.root / "pyproject.toml").write_text("")
        await server.look()
        await server.look()
        await server.ask("textDocument/hover", AT, LONG)
    [told] = served.told_of("workspace/didChangeWatchedFiles")
    kinds = {
        Path(each["uri"].removeprefix(f"{served.root.as_uri()}/")).as_posix(): each["type"] for each in told["changes"]
    }
    assert kinds == {"deep/old.py": 3, "deep/er/new.py": 1, "kept.py": 2, "fresh/one.py": 1, "pyproject.toml": 1}


async def problems_of(served: Served, mode: str, file: TextFile) -> tuple[list[str], bool]:
    async with served.pool() as pool, pool.used(served.launch(mode), LONG) as server:
        server.show(file)
        items, fresh = await server.problems.of(file.path, 1.5 if mode == "quiet" else LONG)
        return [item.message for item in items], fresh


async def test_the_problems_that_it_tells_of_a_text_are_waited_for(served: Served) -> None:
    file = text_file(served.root / "a.py", "a\nBAD one\n")
    assert await problems_of(served, "ok", file) == (["bad: BAD one"], True)
    assert await problems_of(served, "quiet", file) == ([], False)


async def test_one_that_lies_about_versions_and_places_is_believed_only_what_can_be_true(served: Served) -> None:
    file = text_file(served.root / "a.py", "a\nBAD one\n")
    assert await problems_of(served, "liar", file) == (["a lie", "bad: BAD one"], True)


async def test_one_of_an_unreadable_directory_is_no_trouble(served: Served) -> None:
    closed = served.root / "closed"
    closed.mkdir()
    os.chmod(closed, 0)
    try:
        async with served.pool() as pool, pool.used(served.launch(), LONG) as server:
            await server.look()
    finally:
        os.chmod(closed, 0o700)


async def test_servers_that_come_and_go_leave_no_descriptor(served: Served) -> None:
    served.settings["idle_stop_s"] = 0.01
    async with served.pool() as pool:
        await hover(pool, served.launch())
        await until(lambda: not pool.servers)
        before = descriptors()
        for _ in range(5):
            await hover(pool, served.launch())
            await until(lambda: not pool.servers)
        await until(lambda: descriptors() <= before)
