"""RunTests: which command it finds, that it is asked about as a command, and what the model is told of the tests."""

import json
import re
from pathlib import Path

import pytest

from sould.agents.base.filelocks import FileLocks
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.tools.testcommand import NoTestCommandError, Wanted, find_command
from sould.agents.tools.testcounts import Counts, counts_in
from sould.agents.wire.display import BriefBlock
from sould.agents.wire.messages import ApprovalRequest, CommandBegin, ToolOutput, ToolResult, ToolReturn
from soultest.acpclient import FULL
from soultest.bench import Bench, Watcher, call, finish
from soultest.bench.acp import Connect
from soultest.bench.tools import RecordedApproval, no_commands

MAKEFILE = "build test: ; @echo '1 failed, 2 passed in 0.01s'; exit 1\n"
NODE = {"scripts": {"test": "node --test"}}
JEST = {"scripts": {"test": "jest --coverage"}}
PYTEST = {"pyproject.toml": "[tool.pytest.ini_options]\n"}


def results(watcher: Watcher) -> list[ToolReturn]:
    return [result.return_value for result in watcher.of(ToolResult)]


async def found(root: Path, files: dict[str, str], path: str = "", filter_: str = "") -> str:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    reading = CallFiles(LocalWorkspace(root, (), no_commands), RecordedApproval(root), FileLocks())
    return await find_command(reading, Wanted(path, filter_))


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"Makefile": "lint:\n\nall test : a b\n\ttrue\n", **PYTEST}, "make test"),
        ({"Makefile": "test := 5\ntests:\n", **PYTEST}, "python3 -m pytest"),
        ({"package.json": json.dumps(NODE)}, "npm test"),
        ({"package.json": json.dumps(NODE), "pnpm-lock.yaml": ""}, "pnpm test"),
        (
            {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}', "go.mod": ""},
            "go test ./...",
        ),
        ({"package.json": "{", "Cargo.toml": ""}, "cargo test"),
        ({**PYTEST, ".venv/pyvenv.cfg": "", "uv.lock": ""}, ".venv/bin/python -m pytest"),
        ({"tox.ini": "[tox]\n", "conftest.py": "", "uv.lock": ""}, "uv run pytest"),
    ],
)
async def test_the_command_is_what_the_project_s_files_say(tmp_path: Path, files: dict[str, str], line: str) -> None:
    assert await found(tmp_path, files) == line


@pytest.mark.parametrize(
    ("files", "path", "name", "line"),
    [
        (PYTEST, "tests/a b.py", "", "python3 -m pytest 'tests/a b.py'"),
        ({"Makefile": "test:\n", **PYTEST}, "", "one or two", "python3 -m pytest -k 'one or two'"),
        ({"package.json": json.dumps(JEST)}, "a.test.js", "adds; rm x", "npm test -- '-t=adds; rm x' a.test.js"),
        (
            {"package.json": json.dumps(NODE), "yarn.lock": ""},
            "a.js",
            "adds",
            "yarn test --test-name-pattern=adds a.js",
        ),
        ({"Cargo.toml": ""}, "", "parses", "cargo test parses"),
        (
            {"Cargo.toml": ""},
            "crates/x/tests/io.rs",
            "",
            "cargo test --manifest-path crates/x/Cargo.toml --test io",
        ),
        ({"go.mod": ""}, "pkg/a_test.go", "TestA", "go test ./pkg -run TestA"),
        ({"go.mod": ""}, "pkg/", "", "go test ./pkg/..."),
    ],
)
async def test_a_path_and_a_filter_are_given_to_the_runner(
    tmp_path: Path, files: dict[str, str], path: str, name: str, line: str
) -> None:
    assert await found(tmp_path, files, path, name) == line


@pytest.mark.parametrize(
    ("files", "path", "name", "said"),
    [
        ({}, "", "", r"Looked for a target `test` in a Makefile.*package\.json.*pytest\.ini.*Cargo\.toml, go\.mod"),
        ({"Makefile": "test:\n"}, "a.py", "", "`make test` takes neither"),
        ({"package.json": '{"scripts": {"test": "./run.sh"}}'}, "", "adds", "names of tests is not known"),
        ({"Cargo.toml": ""}, "src/a.rs", "", "with `filter`"),
    ],
)
async def test_where_there_is_no_such_command_the_model_is_told_why(
    tmp_path: Path, files: dict[str, str], path: str, name: str, said: str
) -> None:
    with pytest.raises(NoTestCommandError, match=said):
        await found(tmp_path, files, path, name)


async def test_what_lies_outside_by_way_of_a_link_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "Makefile").write_text("test:\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "Makefile").symlink_to("../out/Makefile")
    assert await found(project, PYTEST) == "python3 -m pytest"


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("...\n203 passed in 21.33s\n", Counts(203, 0)),
        (
            "FAILED a.py::x\n===== 1 failed, 2 passed, 3 skipped, 1 error in 61.20s (0:01:01) =====\n",
            Counts(2, 2, 3),
        ),
        ("Test Suites: 1 passed, 1 total\nTests:       1 failed, 2 passed, 3 total\n", Counts(2, 1)),
        (" Test Files  1 failed (1)\n      Tests  1 failed | 4 passed (5)\n", Counts(4, 1)),
        ("# tests 3\n# pass 2\n# fail 1\n# skipped 0\n", Counts(2, 1)),
        (
            "test result: ok. 3 passed; 0 failed; 1 ignored\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n",
            Counts(4, 2, 1),
        ),
        ("--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tm/a\t0.01s\nok  \tm/b\t0.01s\n", Counts(1, 1, 0, "packages")),
        ("--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\nFAIL\tm/a\t0.01s\n", Counts(1, 1)),
        ("[... 9 of 99 characters left out here ...]\ntest result: ok. 3 passed; 0 failed\n", None),
        ("3 passed the exam in 5 minutes\nok\n", None),
    ],
)
def test_passed_and_failed_are_read_from_what_runners_print(output: str, counts: Counts | None) -> None:
    assert counts_in(output) == counts


async def test_failing_tests_are_counted_and_shown_while_they_run(bench: Bench) -> None:
    (bench.project / "Makefile").write_text(MAKEFILE)
    bench.script(call("RunTests"), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "test it")
    (result,) = results(watcher)
    assert result.is_error
    output = re.sub(r"make\[\d+\]", "make", str(result.output))  # a make that runs these tests counts its level
    assert output == "1 failed, 2 passed in 0.01s\nmake: *** [Makefile:1: test] Error 1\n"
    assert result.message == "`make test`: 1 failed, 2 passed. Exit code 2."
    assert result.display == (BriefBlock(text="1 failed, 2 passed"),)
    extras = result.extras or {}
    assert (extras["passed"], extras["failed"], extras["exit_code"]) == (2, 1, 2)
    assert "".join(output.text for output in watcher.of(ToolOutput)) == f"$ make test\n{result.output}"
    assert len(watcher.of(CommandBegin)) == 1


async def test_it_is_asked_about_as_the_same_command_in_shell(bench: Bench) -> None:
    (bench.project / "Makefile").write_text(MAKEFILE)
    bench.script(call("Shell", command="make test"), call("RunTests"), call("RunTests", command="make test"), "text: .")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"))
        await finish(watcher.session, "test it")
    asked = [
        request.model_dump(exclude={"id", "tool_call_id", "sender", "digest"})
        for request in watcher.of(ApprovalRequest)
    ]
    assert len(asked) == 3
    assert asked[0] == asked[1] == asked[2]


async def test_a_yes_for_the_session_holds_while_the_makefile_stays_as_it_was(bench: Bench) -> None:
    """D48."""
    (bench.project / "Makefile").write_text("test: ; @echo fine\n")
    changed = call("WriteFile", path="Makefile", content="test: ; @echo other\n")
    bench.script(call("RunTests"), call("Shell", command="make test"), changed, call("RunTests"), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"), answer="approve_for_session")
        await finish(watcher.session, "test it")
    assert [request.sender for request in watcher.of(ApprovalRequest)] == ["RunTests", "WriteFile", "RunTests"]
    assert watcher.of(ApprovalRequest)[-1].changed
    assert "other" in str(results(watcher)[-1].output)


async def test_a_refusal_runs_nothing_and_a_given_command_is_run_as_it_is(bench: Bench) -> None:
    (bench.project / "Makefile").write_text("test: ; touch ran\n")
    bench.script(call("RunTests"), "text: never")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"), answer="reject")
        await finish(watcher.session, "test it")
        assert not (bench.project / "ran").exists()
        bench.script(call("RunTests", command="echo '# pass 4'; echo '# fail 0'"), "text: done")
        other = Watcher(await bench.new("ask"))
        await finish(other.session, "test it")
    (result,) = results(other)
    assert result.message.endswith("4 passed. Exit code 0.")
    assert not (bench.project / "ran").exists()


async def test_a_node_project_s_tests_of_one_name_are_run(bench: Bench, program_path: str) -> None:
    (bench.project / "package.json").write_text(json.dumps(NODE))
    (bench.project / "a.test.js").write_text(
        "const test = require('node:test');\ntest('adds', () => {});\ntest('breaks', () => { throw new Error('no'); });\n"
    )
    bench.script(call("RunTests", filter="adds"), call("RunTests"), "text: done")
    async with bench.running():
        watcher = Watcher(
            await bench.host.new(bench.opening(environment={"HOME": str(bench.root), "PATH": program_path}))
        )
        await finish(watcher.session, "test it")
    one, every = results(watcher)
    assert (one.is_error, every.is_error) == (False, True)
    assert (every.extras or {})["failed"] == 1


async def test_an_editor_shows_the_tests_in_a_live_terminal(bench: Bench, connect: Connect) -> None:
    (bench.project / "Makefile").write_text(MAKEFILE)
    bench.script(call("RunTests"), "text: done")
    async with bench.running(), connect() as client:
        await client.initialize(FULL)
        await client.prompt(await client.new_session(bench.project), "test it")
        metas = [update.get("_meta", {}) for update in client.updates() if "toolCallId" in update]
        assert sum("terminal_info" in meta for meta in metas) == 1
        printed = "".join(meta["terminal_output"]["data"] for meta in metas if "terminal_output" in meta)
        assert printed.startswith("$ make test\n1 failed, 2 passed")
        assert next(meta for meta in metas if "terminal_exit" in meta)["terminal_exit"]["exit_code"] == 2
