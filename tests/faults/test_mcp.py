"""MCP servers that hang, crash, talk nonsense, cling to life, lie, or come with a project."""

import asyncio
import secrets
import sys
from pathlib import Path

import pytest

from sould.agents.mcp.naming import LONGEST_DESCRIPTION
from sould.agents.wire.messages import ApprovalRequest, McpStatus, Notification, StatusUpdate
from soultest.bench import Bench, Watcher, finish, make_bench
from soultest.bench.looks import tools_of, toolset_of
from soultest.bench.mcp import (
    SERVER,
    asked,
    configure,
    entry,
    new_session,
    open_session,
    result_of,
    state_of,
    user_file,
)
from soultest.daemon import until
from soultest.processes import MARK, marked, until_gone


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    client = {
        "restart_first_wait_s": 0.01,
        "turn_wait_ms": 30_000,
        "start_timeout_ms": 60_000,
        "idle_stop_s": 0.05,
    }
    return make_bench(tmp_path, {"mcp": {"client": client}})


@pytest.fixture
def mark() -> str:
    return secrets.token_hex(6)


def last_status(watcher: Watcher) -> McpStatus:
    status = [update.mcp_status for update in watcher.of(StatusUpdate) if update.mcp_status][-1]
    assert status is not None
    return status


@pytest.mark.parametrize(
    ("mode", "limits", "words"),
    [
        ("hang", {"start_timeout": 3000}, "did not answer within 3 s. Its last output: waiting for a licence"),
        (
            "garbage",
            {"start_timeout": 3000},
            f"did not answer within 3 s. What it prints is no MCP, and begins: {'z' * 100} Its last output: only nonsense today",
        ),
        ("crash", {}, "ended before it was ready. Its last output: boom: no database"),
        (
            "missing",
            {},
            "npm error code E404 | npm error 404 'no-such-server' is not in this registry. | npm error A complete log",
        ),
    ],
)
async def test_a_server_that_never_gets_ready_costs_only_its_own_tools(
    bench: Bench, mode: str, limits: dict[str, int], words: str
) -> None:
    configure(user_file(bench), {"bad": entry(mode) | limits, "good": entry()})
    async with bench.running():
        watcher = await open_session(bench)
        assert (await result_of(bench, watcher, "good__echo", text="hello")).output == "hello"
        await state_of(watcher, "bad", "failed")
        said = await watcher.wait_for(Notification)
        assert said.body.startswith("Server bad ")
        assert words in said.body
        assert not any(name.startswith("bad__") for name in tools_of(watcher.session))


async def test_a_session_opens_at_once_whatever_its_servers_do(bench: Bench) -> None:
    async with bench.running():
        await open_session(bench)
        watcher = await open_session(bench, *(asked(f"bad{number}", "hang") for number in range(5)))
        assert last_status_or_none(watcher) is None


def last_status_or_none(watcher: Watcher) -> McpStatus | None:
    return next((update.mcp_status for update in watcher.of(StatusUpdate) if update.mcp_status), None)


async def test_restarts_end_after_five_and_a_new_session_tries_again(bench: Bench, mark: str) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("bad", "crash", mark))

        def given_up() -> bool:
            return "not started again" in watcher.session.parts.mcp.servers["bad"].trouble

        await watcher.wait_for(StatusUpdate, lambda _: given_up())
        states = [
            update.mcp_status.servers[0].status for update in watcher.of(StatusUpdate) if update.mcp_status is not None
        ]
        assert states.count("connecting") == 6
        assert len(watcher.of(Notification)) == 1
        again = await open_session(bench, asked("bad", "crash", mark))
        await state_of(again, "bad", "connecting")


async def test_a_flood_on_standard_error_or_in_one_line_costs_no_memory_and_no_turn(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("loud", "noisy"), asked("box"))
        assert (await result_of(bench, watcher, "loud__echo", text="a")).output == "a"
        flooded = await result_of(bench, watcher, "box__flood")
        assert flooded.is_error
        assert "8 MiB" in flooded.message


async def test_a_server_that_ends_after_every_call_is_back_for_the_next(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("brief", "exit_after_call"))

        def starts() -> int:
            told = [update.mcp_status for update in watcher.of(StatusUpdate) if update.mcp_status is not None]
            return [status.servers[0].status for status in told].count("connecting")

        for number, text in enumerate(("one", "two", "three"), 1):
            assert (await result_of(bench, watcher, "brief__echo", text=text)).output == text
            # a call made before anybody could see the end would find nobody: that is an error for the model
            await watcher.wait_for(StatusUpdate, lambda _, seen=number: starts() > seen)


async def test_two_hundred_sessions_use_one_set_of_servers_which_ends_when_they_do(bench: Bench, mark: str) -> None:
    configure(user_file(bench), {"box": entry("ignore_eof", mark, env={MARK: mark})})
    async with bench.running():
        first = await open_session(bench)
        await state_of(first, "box", "connected")
        await asyncio.to_thread(until, lambda: len(marked(mark)) == 2)
        started = set(marked(mark))
        for _ in range(200):
            watcher = await open_session(bench)
            await bench.host.close(watcher.session.id, "watcher")
        assert set(marked(mark)) == started
        await bench.host.close(first.session.id, "watcher")
        assert await asyncio.to_thread(until_gone, mark, 10) == []


async def test_a_server_that_ignores_every_wish_to_end_is_gone_with_its_children(bench: Bench, mark: str) -> None:
    configure(user_file(bench), {"box": entry("ignore_eof", mark, env={MARK: mark})})
    async with bench.running():
        watcher = await open_session(bench)
        await state_of(watcher, "box", "connected")
        await asyncio.to_thread(until, lambda: len(marked(mark)) == 2)
    assert until_gone(mark, 5) == []


async def test_a_lying_server_shadows_nothing_and_hides_nothing(bench: Bench) -> None:
    async with bench.running():
        watcher = await open_session(bench, asked("a", "poison"), asked("b", "poison"))
        result = await result_of(bench, watcher, "a__read_file")
        assert result.output == "called read_file"
        assert watcher.of(ApprovalRequest)[0].action == "mcp:a__read_file"
        specs = {spec.name: spec for spec in toolset_of(watcher.session).specs}
        assert {"a__read_file", "b__read_file", "a__Shell", "Shell"} <= set(specs)
        assert "Looks like ours" not in specs["Shell"].description
        theirs = [spec for name, spec in specs.items() if name.startswith(("a__", "b__"))]
        assert len(theirs) == 8
        for spec in theirs:
            assert len(spec.name) <= 64
            assert spec.description.startswith((("a: "), ("b: ")))
            assert len(spec.description.encode()) <= LONGEST_DESCRIPTION
            assert not {"\u202e", "\u200b"} & set(spec.description)
            assert "$ref" not in str(spec.parameters)


async def test_a_tool_that_changed_asks_again(bench: Bench) -> None:
    async with bench.running():
        watcher = Watcher(await new_session(bench, asked("box")), answer="approve_for_session")
        for _ in range(2):
            await result_of(bench, watcher, "box__echo", text="a")
        assert len(watcher.of(ApprovalRequest)) == 1
        await result_of(bench, watcher, "box__change")
        asked_before = len(watcher.of(ApprovalRequest))
        await watcher.wait_for(StatusUpdate, lambda _: "does more now" in echo_description(watcher))
        await result_of(bench, watcher, "box__echo", text="a")
        assert len(watcher.of(ApprovalRequest)) == asked_before + 1


async def test_another_server_under_a_known_name_asks_again(bench: Bench) -> None:
    configure(user_file(bench), {"box": entry()})
    async with bench.running():
        watcher = Watcher(await new_session(bench), answer="approve_for_session")
        await result_of(bench, watcher, "box__echo", text="a")
        configure(user_file(bench), {"box": entry(mark="other")})
        again = await result_of(bench, watcher, "box__echo", text="a")
        assert again.output == "a"
        assert len(watcher.of(ApprovalRequest)) == 2


def echo_description(watcher: Watcher) -> str:
    specs = toolset_of(watcher.session).specs
    return next((spec.description for spec in specs if spec.name == "box__echo"), "")


async def test_a_project_starts_nothing_until_trusted_and_nothing_again_after_one_changed_byte(
    bench: Bench, mark: str
) -> None:
    script = bench.project / "server.py"
    script.write_text(Path(SERVER).read_text())
    mine = entry(mark=mark, env={MARK: mark})
    mine |= {"command": "/bin/sh", "args": ["-c", f"exec '{sys.executable}' ./server.py ok {mark}"]}
    configure(bench.project / ".mcp.json", {"mine": mine})
    trust = bench.trust
    async with bench.running():
        watcher = await open_session(bench)
        bench.script("text: hello")
        await finish(watcher.session, "hi")
        waiting = await watcher.wait_for(Notification)
        assert waiting.title == "Off until you trust this project"
        assert "the MCP servers of .mcp.json" in waiting.body
        assert marked(mark) == []
        trust.set(bench.project, "trusted")
        trusted = await open_session(bench)
        await state_of(trusted, "mine", "connected")
        script.write_text(script.read_text() + "\n")
        changed = await open_session(bench)
        assert "changed since you trusted this project" in (await changed.wait_for(Notification)).body
        assert not changed.session.parts.mcp.servers
        trust.set(bench.project, "trusted")
        await state_of(await open_session(bench), "mine", "connected")
