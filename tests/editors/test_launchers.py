"""Opening a file in an editor that is no client: by the program that the session's environment names, never by a guess."""

import asyncio
import json
from pathlib import Path

import pytest

from sould.agents.wire.messages import ToolResult, ToolReturn
from soultest.bench import Bench, Watcher, call, finish

RECORD = """#!/bin/sh
printf '%s\\n' "${0##*/}" "$@" > "$RECORD_TO"
"""
AT = {"line": 1, "column": 3}


def program(bench: Bench, *names: str, text: str = RECORD) -> None:
    (bench.root / "bin").mkdir(exist_ok=True)
    for name in names:
        path = bench.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)


async def opened(bench: Bench, variables: dict[str, str], *, focus: bool = True, file: str = "a.txt") -> ToolReturn:
    """What the agent is told when it opens a file in a session with these variables."""
    bench.script(call("editor_open", file=file, anchor=AT, focus=focus), "text: done")
    path = f"{bench.root / 'bin'}:/usr/bin:/bin"
    environment = {"PATH": path, "HOME": str(bench.root), "RECORD_TO": str(bench.root / "record"), **variables}
    async with bench.running():
        watcher = Watcher(await bench.host.new(bench.opening(environment=environment, mode="ask")))
        await finish(watcher.session, "open it")
        return watcher.of(ToolResult)[-1].return_value


def recorded(bench: Bench) -> list[str]:
    return (bench.root / "record").read_text().splitlines()


@pytest.mark.parametrize(
    ("variables", "names", "command"),
    [
        ({"TERM_PROGRAM": "vscode"}, ["code"], ["code", "--goto", "{file}:1:3"]),
        ({"CURSOR_TRACE_ID": "x", "TERM_PROGRAM": "vscode"}, ["code", "cursor"], ["cursor", "--goto", "{file}:1:3"]),
        ({"ZED_TERM": "true"}, ["zed"], ["zed", "{file}:1:3"]),
        ({"INSIDE_EMACS": "29.1"}, ["emacsclient"], ["emacsclient", "--no-wait", "+1:3", "{file}"]),
        (
            {"TERMINAL_EMULATOR": "JetBrains-JediTerm"},
            ["pycharm"],
            ["pycharm", "--line", "1", "--column", "3", "{file}"],
        ),
        ({"VISUAL": "subl --wait"}, ["subl"], ["subl", "{file}:1:3"]),
        ({"EDITOR": "hx", "TMUX": "x"}, ["hx", "tmux"], ["tmux", "new-window", "--", "{bin}/hx", "{file}:1:3"]),
        (
            {"VISUAL": "vim -R", "TMUX": "x"},
            ["vim", "tmux"],
            ["tmux", "new-window", "--", "{bin}/vim", "-R", "+1", "{file}"],
        ),
    ],
)
async def test_the_editor_that_the_environment_names_opens_the_file(
    bench: Bench, variables: dict[str, str], names: list[str], command: list[str]
) -> None:
    program(bench, *names)
    result = await opened(bench, variables)
    assert not result.is_error, result.message
    places = {"file": str(bench.project / "a.txt"), "bin": str(bench.root / "bin")}
    assert recorded(bench) == [part.format(**places) for part in command]


@pytest.mark.parametrize(
    "variables", [{}, {"VISUAL": "code"}, {"EDITOR": "vim"}, {"NVIM": "relative"}, {"VISUAL": "'"}, {"TMUX": "x"}]
)
async def test_where_none_is_named_or_there_the_tool_is_not_offered(bench: Bench, variables: dict[str, str]) -> None:
    program(bench, "zed", "vim")
    result = await opened(bench, variables)
    assert "not found" in result.message
    assert not (bench.root / "record").exists()


async def test_the_focus_is_taken_only_when_the_user_asked(bench: Bench) -> None:
    program(bench, "code", "hx", "tmux")
    result = await opened(bench, {"TERM_PROGRAM": "vscode"}, focus=False)
    assert result.message.startswith("denied: code cannot open a file without taking the focus")
    assert not (bench.root / "record").exists()
    await opened(bench, {"VISUAL": "hx", "TMUX": "x"}, focus=False)
    assert recorded(bench)[:3] == ["tmux", "new-window", "-d"]


async def test_no_shell_reads_the_name_of_a_file(bench: Bench) -> None:
    program(bench, "zed")
    name = "-a b;'$(touch x)'\".txt"
    (bench.project / name).write_text("hello\n")
    await opened(bench, {"ZED_TERM": "true"}, file=name)
    assert recorded(bench) == ["zed", f"{bench.project / name}:1:3"]
    assert not (bench.project / "x").exists()


async def test_a_program_of_the_project_is_no_editor(bench: Bench) -> None:
    program(bench, "zed")
    (bench.root / "bin" / "zed").rename(bench.project / "zed")
    (bench.root / "bin").rmdir()
    (bench.root / "bin").symlink_to(bench.project)
    result = await opened(bench, {"ZED_TERM": "true"})
    assert "not found" in result.message


async def test_a_launcher_that_fails_says_how(bench: Bench) -> None:
    program(bench, "zed", text="#!/bin/sh\necho 'no display' >&2\nexit 3\n")
    result = await opened(bench, {"ZED_TERM": "true"})
    assert result.message == "failed: zed could not open it (exit code 3): no display"


@pytest.mark.editors
async def test_a_running_neovim_shows_the_file_at_its_place(bench: Bench) -> None:
    nvim = Path(__file__).parents[2] / ".editors" / "bin" / "nvim-0.10"
    if not nvim.exists():
        pytest.skip("no Neovim")
    program(bench, "nvim", text=f'#!/bin/sh\nexec {nvim} "$@"\n')
    name = "it's 50% [a].txt"
    (bench.project / name).write_text("hello\n")
    server = str(bench.root / "nvim.sock")
    options = ("--clean", "--headless", "--listen", server, "-c", "echo 'ready'")
    running = await asyncio.create_subprocess_exec(nvim, *options, cwd=bench.root, stderr=asyncio.subprocess.PIPE)
    try:
        assert running.stderr is not None
        assert await running.stderr.readexactly(5) == b"ready"
        result = await opened(bench, {"NVIM": server}, focus=False, file=name)
        assert not result.is_error, result.message
        ask = ("--server", server, "--remote-expr", "json_encode([expand('%:p'), col('.')])")
        asking = await asyncio.create_subprocess_exec(nvim, *ask, stdout=asyncio.subprocess.PIPE)
        shown, _ = await asking.communicate()
        assert json.loads(shown) == [str(bench.project / name), 3]
    finally:
        running.kill()
        await running.wait()
