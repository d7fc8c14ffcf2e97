"""A tool that this version has no more may still be named in the user's files."""

from pathlib import Path

from sould.agents.wire.messages import Notification
from soultest.bench import Bench, Watcher, finish
from soultest.bench.looks import choose, tool_names

AGENT = "version: 1\nagent:\n  extend: default\n  tools: [{tools}]\n"
GREP = "'sould.agents.tools.grep:Grep'"


def write_agent(bench: Bench, name: str, tools: str) -> Path:
    folder = bench.config / "agents"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(AGENT.format(tools=tools))
    return path


async def test_a_tool_of_the_last_version_is_ignored_and_told_once_wherever_it_is_named(bench: Bench) -> None:
    """In the tools of an agent, in its `allowed_tools` and `exclude_tools`, and in the matcher of a hook."""
    retired = "'sould.agents.tools.runtests:RunTests'"
    write_agent(bench, "listing", f"{GREP}, {retired}")
    naming = write_agent(bench, "naming", GREP)
    naming.write_text(f"{naming.read_text()}  allowed_tools: [Grep, RunTests]\n  exclude_tools: [{retired}]\n")
    bench.settings["hooks"] = [{"event": "PreToolUse", "command": "exit 2", "matcher": "^RunTests$"}]
    bench.script(*(f"text: {number}" for number in range(4)))
    async with bench.running():
        said: list[str] = []
        for name in ("default", "listing", "naming", "naming"):
            watcher = Watcher(await bench.new())
            await choose(watcher.session, "agent", name)
            await finish(watcher.session, "hello")
            assert name == "default" or tool_names(watcher.session) == ["Grep"]
            said.append("\n".join(each.body for each in watcher.of(Notification)))
    of_hook = "The matcher `^RunTests$` of a hook names RunTests, which is never called: Shell runs tests."
    assert said[0] == f"- {of_hook}"
    assert "listing.yaml` names RunTests, which is ignored: Shell runs tests." in said[1]
    assert "naming.yaml` names RunTests, which is ignored: Shell runs tests." in said[2]
    assert said[3] == ""
