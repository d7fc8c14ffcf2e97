"""A project that means harm: what happens before anybody was asked anything."""

import os
from pathlib import Path

from sould.agents.sessions.opening import Opening
from sould.agents.wire.messages import ApprovalRequest
from soultest.bench import Watcher, call, finish, make_bench


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
        session = await host.new(Opening(bench.project, environment={**os.environ, "PATH": path}))
        watcher = Watcher(session)
        await finish(session, "look")
    assert watcher.of(ApprovalRequest) == []
    assert not (tmp_path / "ran").exists()
