"""Editor tools served by a language server that is scripted to be hostile: what an agent is told, and what never happens."""

import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sould.agents.files.reviewing.buffers import Buffers
from sould.agents.permissions.trust import Trust
from sould.agents.wire.messages import ToolResult, ToolReturn
from soultest.bench import Bench, Watcher, call, finish, make_bench
from soultest.bench.looks import tools_of
from soultest.languageservers import SERVER

TOOLS = {"diagnostics", "symbols", "definition", "references", "hover", "rename"}
TEXT = "one\ngrüße 🎉 one\nBAD two\n"
AT = {"line": 1, "column": 1}


@dataclass
class Agent:
    """One that has a project with the scripted server."""

    bench: Bench
    watcher: Watcher

    @property
    def offered(self) -> set[str]:
        """The editor tools it has."""
        return tools_of(self.watcher.session) & TOOLS

    async def result(self, tool: str, **arguments: object) -> ToolReturn:
        """What a call came to."""
        self.bench.script(call(tool, **arguments), "text: done")
        await finish(self.watcher.session, tool)
        return self.watcher.of(ToolResult)[-1].return_value

    async def data(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Its data."""
        result = await self.result(tool, **arguments)
        assert not result.is_error, result.message
        assert isinstance(result.output, str)
        return json.loads(result.output)["data"]

    @property
    def told(self) -> list[dict[str, Any]]:
        """What servers were told."""
        log = self.bench.root / "notes" / "told.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@asynccontextmanager
async def agent(
    tmp_path: Path, mode: str = "ok", trust: Trust = "trusted", **settings: object
) -> AsyncGenerator[Agent, None]:
    notes = tmp_path / "notes"
    notes.mkdir(parents=True)
    commands = {"python": [sys.executable, SERVER, mode, str(notes)]}
    bench = make_bench(tmp_path, {"languageservers": {"commands": commands, **settings}})
    (bench.project / "a.py").write_text(TEXT)
    if trust != "unknown":
        bench.trust.set(bench.project, trust)
    async with bench.running():
        yield Agent(bench, Watcher(await bench.begin("review")))


@pytest.mark.parametrize("trust", ["unknown", "restricted"])
async def test_no_server_is_run_for_a_project_that_is_not_trusted(tmp_path: Path, trust: Trust) -> None:
    async with agent(tmp_path, trust=trust) as untrusted:
        assert not untrusted.offered
        assert (await untrusted.result("hover", file="a.py", anchor=AT)).is_error
        assert not untrusted.told


async def test_none_is_run_where_the_user_wants_none(tmp_path: Path) -> None:
    async with agent(tmp_path, enabled=False) as without:
        assert not without.offered


async def test_none_is_started_before_a_tool_is_called_and_two_sessions_share_it(tmp_path: Path) -> None:
    async with agent(tmp_path) as first:
        assert first.offered == TOOLS
        second = Agent(first.bench, Watcher(await first.bench.begin("review")))
        assert not first.told
        said = [await each.data("hover", file="a.py", anchor=AT) for each in (first, second)]
        assert said[0] == said[1]
        assert [each["method"] for each in first.told].count("initialize") == 1


async def test_a_file_without_a_server_is_refused_in_words(tmp_path: Path) -> None:
    async with agent(tmp_path) as asking:
        (asking.bench.project / "a.xyz").write_text("one\n")
        refused = await asking.result("hover", file="a.xyz", anchor=AT)
        assert refused.message == "not_supported: No language server for a.xyz is installed here."


async def test_places_behind_characters_of_several_units_are_counted_as_the_server_counts(tmp_path: Path) -> None:
    place = {"symbol": "one", "lineText": "grüße"}
    for mode, column in {"ok": 9, "utf8": 13, "utf32": 8}.items():
        async with agent(tmp_path / mode, mode) as asking:
            assert f"at 1:{column} of" in (await asking.data("hover", file="a.py", anchor=place))["markdown"]
            [defined] = (await asking.data("definition", file="a.py", anchor=place))["locations"]
            assert defined["range"]["start"] == {"line": 2, "column": 10}


async def test_what_a_liar_says_of_places_stays_inside_the_text(tmp_path: Path) -> None:
    async with agent(tmp_path, "liar") as asking:
        said = await asking.data("diagnostics", files=["a.py"], waitMs=20_000)
        lie, true = sorted(said["items"], key=lambda item: item["message"])
        assert (lie["message"], true["message"]) == ("a lie", "bad: BAD two")
        assert lie["range"] == {"start": {"line": 4, "column": 1}, "end": {"line": 4, "column": 1}}
        assert true["range"]["start"] == {"line": 3, "column": 1}


@pytest.mark.parametrize("mode", ["ok", "pull"])
async def test_problems_are_those_of_what_an_editor_holds_unsaved(tmp_path: Path, mode: str) -> None:
    async with agent(tmp_path, mode) as asking:
        path = asking.bench.project / "a.py"
        buffers: Buffers = asking.bench.host.projects.buffers
        first = await asking.data("diagnostics", files=["a.py"], waitMs=20_000)
        assert [item["message"] for item in first["items"]] == ["bad: BAD two"]
        path.write_text("fine\n")
        assert not (await asking.data("diagnostics", files=["a.py"], waitMs=20_000))["items"]
        buffers.opened("someone", path)
        path.write_text("BAD again\n")
        scoped = await asking.data("diagnostics", scope="open", waitMs=20_000)
        assert scoped["counts"] == {"error": 1}


@pytest.mark.parametrize("scope", ["open", "changed"])
async def test_problems_of_no_file_at_all_are_another_answer_than_none(tmp_path: Path, scope: str) -> None:
    async with agent(tmp_path) as asking:
        said = (await asking.result("diagnostics", scope=scope)).message
        assert said.startswith("not_found: Nothing was looked at")
        assert "Name files" in said


async def test_a_server_that_says_nothing_of_a_text_is_waited_for_no_longer_than_wanted(tmp_path: Path) -> None:
    async with agent(tmp_path, "quiet") as asking:
        said = await asking.data("diagnostics", files=["a.py"], waitMs=200)
        assert said["stillAnalyzing"]
        assert not said["items"]


async def test_nonsense_is_nothing_and_no_error_of_ours(tmp_path: Path) -> None:
    async with agent(tmp_path, "nonsense") as asking:
        assert not (await asking.data("definition", file="a.py", anchor=AT)).get("locations")
        assert not (await asking.data("symbols", file="a.py")).get("symbols")
        assert (await asking.data("references", file="a.py", anchor=AT))["total"] == 0
        assert (await asking.result("hover", file="a.py", anchor=AT)).message.startswith("not_found")
        assert (await asking.result("rename", file="a.py", anchor=AT, newName="x")).message.startswith("not_found")


async def test_a_rename_that_would_write_outside_the_project_writes_nothing(tmp_path: Path) -> None:
    async with agent(tmp_path, "outside") as asking:
        refused = await asking.result("rename", file="a.py", anchor=AT, newName="x")
        assert refused.message.startswith("denied: /etc/passwd would change, too")
        assert (asking.bench.project / "a.py").read_text() == TEXT


async def test_a_server_that_wants_to_write_show_or_run_something_by_itself_gets_nothing_done(tmp_path: Path) -> None:
    async with agent(tmp_path, "forward") as asking:
        await asking.data("hover", file="a.py", anchor=AT)
        project = asking.bench.project
        answers = {each["id"]: each for each in asking.told if "method" not in each}
        assert [answers[number]["result"]["applied"] for number in (901, 902)] == [False, False]
        assert answers[903]["result"] == {"success": False}
        assert "error" in answers[904]
        assert (project / "a.py").read_text() == TEXT
        assert not (project / "a.py.new").exists()


async def test_a_rename_is_an_edit_to_be_reviewed(tmp_path: Path) -> None:
    async with agent(tmp_path) as asking:
        written = await asking.data("rename", file="a.py", anchor=AT, newName="three")
        assert written["applied"] == [{"file": "a.py"}]
        path = asking.bench.project / "a.py"
        assert path.read_text() == TEXT.replace("one", "three", 1)


async def test_a_server_that_dies_or_hangs_costs_one_call_and_is_back_for_the_next_turn(tmp_path: Path) -> None:
    async with agent(tmp_path, "die") as asking:
        refused = await asking.result("hover", file="a.py", anchor=AT)
        assert refused.message.startswith("failed: The language server python")
        assert refused.message.endswith("It ended. Its last output: segmentation fault (not really)")
        assert (await asking.data("diagnostics", files=["a.py"], waitMs=20_000))["counts"] == {"error": 1}


async def test_a_long_list_is_cut_and_counted(tmp_path: Path) -> None:
    async with agent(tmp_path) as asking:
        (asking.bench.project / "a.py").write_text("x\n" * 5000)
        found = await asking.data("references", file="a.py", anchor=AT, limit=1000, includeDeclaration=True)
        assert found["total"] == 5000
        assert sum(len(group["hits"]) for group in found["groups"]) <= 1000


async def test_a_project_of_ten_thousand_files_is_told_of_what_changed_in_it(tmp_path: Path) -> None:
    async with agent(tmp_path) as asking:
        project = asking.bench.project
        for folder in range(100):
            (project / f"part{folder}").mkdir()
            for number in range(100):
                (project / f"part{folder}" / f"m{number}.py").touch()
        await asking.data("hover", file="a.py", anchor=AT)
        (project / "part50" / "m7.py").write_text("changed\n")
        (project / "part51" / "new.py").write_text("new\n")
        await asking.data("hover", file="a.py", anchor=AT)
        [told] = [each["params"] for each in asking.told if each["method"] == "workspace/didChangeWatchedFiles"]
        assert {os.path.basename(each["uri"]): each["type"] for each in told["changes"]} == {"m7.py": 2, "new.py": 1}


async def test_symbols_of_the_project_and_of_a_file(tmp_path: Path) -> None:
    async with agent(tmp_path) as asking:
        outline = (await asking.data("symbols", file="a.py", includeBody=True))["symbols"]
        assert [(each["namePath"], each["kind"], each["body"]) for each in outline] == [
            ("Outer", "class", "one"),
            ("Outer/inner", "method", "one"),
        ]
        assert not (await asking.data("symbols", query="nothing")).get("symbols")


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mode", ["ok", "pull"])
async def test_an_edit_says_which_errors_it_brought_and_not_those_that_were_there(
    tmp_path: Path, mode: str, ends: str
) -> None:
    async with agent(tmp_path, mode) as asking:
        (asking.bench.project / "a.py").write_text(TEXT, newline=ends)
        await asking.data("diagnostics", files=["a.py"], waitMs=20_000)  # from now on it runs
        broke = await asking.result("WriteFile", path="a.py", content=f"{TEXT}BAD three\n")
        assert "bad: BAD three" in broke.message
        assert "bad: BAD two" not in broke.message
        mended = await asking.result("WriteFile", path="a.py", content=TEXT)
        assert "BAD" not in mended.message


async def test_an_edit_is_not_held_up_by_a_server_that_says_nothing(tmp_path: Path) -> None:
    async with agent(tmp_path, "mute") as asking:
        written = await asking.result("WriteFile", path="a.py", content="BAD three\n")
        assert not written.is_error
        assert "BAD" not in written.message
