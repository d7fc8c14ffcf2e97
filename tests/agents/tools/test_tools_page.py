"""docs/tools.md: what it builds works as written, from a project's spec."""

import re
from pathlib import Path

from sould.agents.tools import Toolset
from sould.agents.wire.messages import ToolResult
from soultest.bench import Watcher, call, finish, make_bench
from soultest.bench.looks import choose

PAGE = Path(__file__).parents[3] / "docs" / "tools.md"


def write_examples(project: Path) -> list[str]:
    """Write every block of the page that names its file."""
    written: list[str] = []
    for block in re.findall(r"```\w+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        named = re.match(r"(?:#|<!--) (\S+)", block)
        if named and named[1].startswith(".sould/"):
            path = project / named[1]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block)
            written.append(path.name)
    return written


async def test_one_tool_of_each_form_runs_from_a_projects_spec(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    assert write_examples(bench.project) == ["count.py", "deploy.py", "deploy.md", "builder.yaml", "coverage.py"]
    coverage = bench.project / ".sould" / "agents" / "coverage.py"
    assert [spec.name for spec in Toolset.load((f"{coverage}:measure_coverage",), {}).specs] == ["MeasureCoverage"]
    bench.trust.set(bench.project, "trusted")
    bench.script(
        call("CountWords", path="a.txt") + "\n" + call("Deploy", target="staging").replace('"id": "1"', '"id": "2"'),
        call("Deploy", target="production"),
        "text: done",
    )
    async with bench.running():
        watcher = Watcher(await bench.new())
        await choose(watcher.session, "agent", "builder")
        await finish(watcher.session, "go")
    results = [result.return_value for result in watcher.of(ToolResult)]
    assert [result.output for result in results[:2]] == ["1 words", "project is on staging"]
    assert "Only staging" in results[2].message
