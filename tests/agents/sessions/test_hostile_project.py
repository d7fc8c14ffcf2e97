"""A project that means harm: what happens before anybody was asked anything."""

import os
from pathlib import Path

import pytest

from sould.agents.wire.messages import ApprovalRequest, ToolResult
from soultest.bench import Watcher, call, finish, make_bench
from soultest.bench.looks import prompt_of


async def test_a_projects_own_bash_git_and_rg_are_not_run_unasked(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    for name in ("bash", "git", "rg"):
        program = bench.project / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\necho {name} >> "{tmp_path}/ran"\n')
        program.chmod(0o755)
    (bench.project / ".git").mkdir()
    path = f"./bin:{bench.project}/bin:{os.environ['PATH']}"
    async with bench.running() as host:
        bench.script(call("Grep", pattern="hello"), call("Shell", command="echo fine"), "text: ok")
        session = await host.new(bench.opening(environment={**os.environ, "PATH": path}))
        watcher = Watcher(session)
        await finish(session, "look")
    assert watcher.of(ApprovalRequest) == []
    assert not (tmp_path / "ran").exists()


async def test_pipes_and_names_that_are_no_text_neither_hold_nor_end_a_session(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, scripts=[call("Glob", pattern="*"), "text: ok"])
    for name in ("AGENTS.md", ".mcp.json", ".sould/mcp.json", ".sould/hooks.toml", ".agents/skills/x/SKILL.md"):
        (bench.project / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(bench.project / name)
    (bench.project / os.fsdecode(b"name-\xff")).touch()
    bench.trust.set(bench.project, "trusted")
    async with bench.running():
        session = await bench.new()
        watcher = Watcher(session)
        await finish(session, "look")
        assert r"name-\udcff" in str(watcher.of(ToolResult)[0].return_value.output)
        await finish(session, "/status")


@pytest.mark.parametrize(("codec", "is_read"), [("utf-8", True), ("utf-8-sig", True), ("utf-16", True), ("gbk", False)])
async def test_instructions_are_read_in_their_encoding_or_the_model_is_told(
    tmp_path: Path, codec: str, is_read: bool
) -> None:
    bench = make_bench(tmp_path)
    (bench.project / "AGENTS.md").write_bytes("所有注释用中文。\r\n".encode(codec))
    async with bench.running():
        prompt = prompt_of(await bench.new())
    assert ("所有注释用中文。" in prompt) == is_read
    assert ("AGENTS.md: it is neither in UTF-8 nor in UTF-16" in prompt) != is_read
    assert "\ufffd" not in prompt


async def test_instructions_that_are_links_to_a_secret_or_out_of_the_project_are_not_read(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    (tmp_path / "elsewhere.md").write_text("canary outside")
    (bench.project / ".env").write_text("CANARY=inside")
    (bench.project / "CLAUDE.md").write_text("Use tabs.")
    for home, target in ((".", "CLAUDE.md"), (".sould", "../.env"), (".kimi", tmp_path / "elsewhere.md")):
        (bench.project / home).mkdir(exist_ok=True)
        (bench.project / home / "AGENTS.md").symlink_to(target)
    async with bench.running():
        prompt = prompt_of(await bench.new())
    assert "Use tabs." in prompt
    assert "canary" not in prompt.lower()
    assert prompt.count("it was not read") == 2
