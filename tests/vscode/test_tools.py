"""What only VS Code knows, asked for by agents: its TypeScript service, its git, its terminals, its window."""

import json
import re
import subprocess
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from soultest.daemon import Bridge, until
from soultest.toolresults import results
from soultest.workbench import PATIENCE, Failed, Server, Workbench, new_world, windows
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.vscode, pytest.mark.timeout(400)]

Open = Callable[[], Workbench]
Json = dict[str, Any]

AREA = "export function area(w: number, h: number): number {\n  return w * h;\n}\n\nconst wrong: string = area(1, 2);\n"
USE = 'import { area } from "./area";\n\nexport const garden = area(3, 4);\nexport const house = area(5, 6);\n'
LOOSE = "export function left() {\n  return 1;\n}\n\nexport function alone() {\n  return 2;\n}\n\nconst sum = missing(1) + left();\n"
PLACE = {"symbol": "area", "lineText": "export function"}
PRINTS = "for n in 1 2 3; do sleep 0.3; echo printed-$n; done"
"""In pieces: VS Code may lose what comes in one with a command's beginning."""
TASKS = {
    "version": "2.0.0",
    "tasks": [
        {"label": "measure", "type": "shell", "command": f"echo measured > measured.txt; {PRINTS}; exit 3"},
        {"label": "unit", "type": "process", "command": "sh", "args": ["-c", f"{PRINTS}; exit 4"], "group": "test"},
        {"label": "usual", "type": "shell", "command": "true", "group": {"kind": "test", "isDefault": True}},
        {"label": "greedy", "type": "shell", "command": "true", "presentation": {"focus": True}},
    ],
}


def project(world: World) -> Path:
    (world.project / "area.ts").write_text(AREA)
    (world.project / "use.ts").write_text(USE)
    (world.project / "loose.ts").write_text(LOOSE)
    (world.project / "tsconfig.json").write_text('{"compilerOptions": {"strict": true, "noEmit": true}}\n')
    (world.project / "notes.txt").write_text("".join(f"note {number}\n" for number in range(1, 61)))
    return world.project


def ready(window: Workbench) -> None:
    """Connected, and the TypeScript service knows the file."""
    window.open("area.ts")
    expect(window.page.locator(".squiggly-error").first).to_be_visible()
    window.palette("Show Changes of Agents")
    window.show_sould()
    expect(window.page.locator(".pane-body", has_text="Nothing is pending")).to_be_visible()


@pytest.fixture(scope="module")
def served(extensions: Path) -> Generator[tuple[World, Server]]:
    """One VS Code for tests that leave its project as it is."""
    with new_world() as world:
        project(world)
        world.script(["text: Done."])
        world.start()
        with closing(Server(world, extensions, {})) as server:
            yield world, server


@pytest.fixture
def shared(failed: Failed, served: tuple[World, Server], browser: Browser) -> Generator[tuple[World, Open]]:
    """That VS Code, with windows of the test's own."""
    world, server = served
    with windows(server, browser, world, failed) as opened:
        yield world, opened


def data_of(answer: Json) -> Json:
    """What a call came to that did what it should."""
    assert answer.get("error") is None, answer
    return answer["data"]


class OtherAgent:
    """An agent of another program, which calls editor tools by `_sould/editor/run`."""

    def __init__(self, bridge: Bridge, project: Path) -> None:
        self._bridge = bridge
        self._project = str(project)
        self._calls = 1

    def begin(self, tool: str, **arguments: object) -> int:
        """Calls, and does not wait."""
        self._calls += 1
        params = {"cwd": self._project, "tool": tool, "arguments": arguments, "agent": "another"}
        self._bridge.send({"jsonrpc": "2.0", "id": self._calls, "method": "_sould/editor/run", "params": params})
        return self._calls

    def end(self, call: int) -> Json:
        """What it came to."""
        return data_of(self._bridge.answer(call)["result"])

    def do(self, tool: str, **arguments: object) -> Json:
        return self.end(self.begin(tool, **arguments))

    def once_supported(self, tool: str, **arguments: object) -> Json:
        """Call until VS Code can do it: TypeScript's service offers refactorings some time after it knows a file."""

        def supported() -> Json | None:
            answer = self.answer(tool, **arguments)
            error: Json = answer.get("error") or {}
            return None if error.get("code") == "not_supported" else answer

        return data_of(until(supported, PATIENCE, f"{tool} to be supported"))

    def answer(self, tool: str, **arguments: object) -> Json:
        """`data`, or an `error`."""
        answer: Json = self._bridge.answer(self.begin(tool, **arguments))["result"]
        return answer

    def error(self, tool: str, **arguments: object) -> Json:
        """Why it came to nothing."""
        error: Json = self.answer(tool, **arguments)["error"]
        return error


@contextmanager
def agent(world: World) -> Generator[OtherAgent]:
    pipe = subprocess.PIPE
    command = [str(SOULD), "acp"]
    with subprocess.Popen(command, env=world.environment, cwd=world.project, stdin=pipe, stdout=pipe) as process:
        bridge = Bridge(process)
        bridge.initialize()
        try:
            yield OtherAgent(bridge, world.project)
        finally:
            bridge.close_input()
            bridge.wait()


def test_references_and_rename_come_from_the_typescript_service(world: World, open_window: Open) -> None:
    project(world)
    rename = call("rename", "r", file="area.ts", anchor=PLACE, newName="surface")
    world.script([call("references", "u", file="area.ts", anchor=PLACE), rename, "text: Done."])
    world.start()
    window = open_window()
    ready(window)
    run = world.sould("run", "--mode", "review", "--output-format", "stream-json", "call it surface")
    assert run.returncode == 0, run.stdout + run.stderr
    told = run.stdout.replace("\\", "")
    assert '"total":4' in told.replace(" ", ""), re.findall(r"total.{400}", told)  # once here; an import and two there
    expect(window.lenses("Keep")).to_have_count(2)
    window.shows("export function surface(")
    assert "garden = surface(3, 4)" in (world.project / "use.ts").read_text()
    expect(window.tree("use.ts")).to_be_visible()
    window.page.locator(".tab.active", has_text="area.ts").wait_for()


def test_open_in_the_editor_shows_a_place_and_leaves_the_focus(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    window.editor.locator(".view-lines").click()
    before = window.focused()
    with agent(world) as other:
        assert other.do("editor_open", file="notes.txt", anchor={"line": 50})["opened"]
    expect(window.page.locator(".view-line", has_text=re.compile("note[ \u00a0]50"))).to_be_visible()
    assert window.focused() == before
    window.type("// still here")
    window.shows("// still here")
    window.key("Control+z")


def test_marked_places_are_walked_through_by_the_user(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    window.editor.locator(".view-lines").click()
    before = window.focused()
    here = {"file": "area.ts", "startLine": 2, "endLine": 2, "note": "This multiplies"}
    there = {"file": "notes.txt", "startLine": 40, "endLine": 41, "note": "And this is a note"}
    with agent(world) as other:
        assert other.do("editor_highlight", items=[here, there], title="How it works") == {"shown": 2}
    note = window.page.locator(".codelens-decoration")
    expect(note.filter(has_text="1 of 2: This multiplies")).to_be_visible()
    assert window.focused() == before
    window.lenses("Next").click()
    expect(window.tab("notes.txt")).to_be_visible()
    expect(note.filter(has_text="2 of 2: And this is a note")).to_be_visible()
    window.lenses("Done").click()
    expect(note.filter(has_text="2 of 2")).to_have_count(0)


def test_problems_and_quick_fixes_are_those_of_the_language_service(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    window.open("loose.ts")
    expect(window.page.locator(".squiggly-error").first).to_be_visible()
    with agent(world) as other:
        assert (
            other.error("diagnostics", files=["use.ts"])["code"] == "not_supported"
        )  # in no tab, so nobody looks at it
        found = other.do("diagnostics", files=["loose.ts"], minSeverity="error", waitMs=20_000)["items"]
        assert [each["message"] for each in found] == ["Cannot find name 'missing'."]
        place = {"line": 9, "column": found[0]["range"]["start"]["column"]}
        offered = other.do("quick_fixes", file="loose.ts", anchor=place)["actions"]
        declare = next(each for each in offered if "missing" in each["title"])
        assert other.do("apply_quick_fix", id=declare["id"])["applied"] == [{"file": "loose.ts"}]
        expect(window.lenses("Keep").first).to_be_visible()
        assert (world.project / "loose.ts").read_text() != LOOSE
        assert other.error("apply_quick_fix", id=declare["id"])["code"] == "stale"
    window.palette("Reject All Changes of File")
    expect(window.lenses("Keep")).to_have_count(0)
    until(lambda: (world.project / "loose.ts").read_text() == LOOSE, PATIENCE, "the file as it was")


def test_problems_that_a_change_brought_are_told_from_those_before(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    window.open("loose.ts")
    expect(window.page.locator(".squiggly-error").first).to_be_visible()
    with agent(world) as other:
        edit = {"file": "loose.ts", "hunks": [{"oldText": "return 2;", "newText": "return lost(2);"}]}
        other.do("doc_edit", edits=[edit])
        [pending] = other.do("review", files=["loose.ts"])["pending"]
        asked = {"minSeverity": "error", "waitMs": 20_000}
        brought = other.do("diagnostics", sinceHunks=[pending["hunkId"]], **asked)
        assert [each["message"] for each in brought["items"]] == ["Cannot find name 'lost'."]
        every = other.do("diagnostics", files=["loose.ts"], **asked)["items"]
        assert {each["message"]: each.get("isNew", False) for each in every} == {
            "Cannot find name 'missing'.": False,
            "Cannot find name 'lost'.": True,
        }
    assert world.sould("review", "reject", "all").returncode == 0
    until(lambda: (world.project / "loose.ts").read_text() == LOOSE, PATIENCE, "the file as it was")


def test_an_agent_asks_for_review_explains_its_changes_and_reads_what_was_decided(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    window.editor.locator(".view-lines").click()
    before = window.focused()
    with agent(world) as other:
        hunks = [{"oldText": "note 30\n", "newText": "note thirty\n"}]
        other.do("doc_edit", edits=[{"file": "notes.txt", "hunks": hunks}])
        expect(window.tree("notes.txt")).to_be_visible()
        [pending] = other.do("review", files=["notes.txt"])["pending"]
        asked = {"hunkIds": [pending["hunkId"]]}
        assert other.do("review", action="explain", message="It is a word", **asked) == {"pending": []}
        expect(window.page.locator(".codelens-decoration", has_text="It is a word")).to_be_visible()
        waits = other.begin("review", action="request", message="Words for numbers", timeoutSec=120, **asked)
        expect(window.toast("asks you to review a change: Words for numbers")).to_be_visible()
        assert window.focused() == before
        window.toast("asks you to review").locator("a.monaco-button", has_text="Review").click()
        expect(window.status("Ln 30, Col 1")).to_be_visible()
        expect(window.tab("notes.txt")).to_have_count(1)
        window.lenses("Reject").click()
        said = other.end(waits)
    assert said["pending"] == []
    assert [(each["hunkId"], each["verdict"]) for each in said["verdicts"]] == [(pending["hunkId"], "reject")]
    assert "note 30\n" in (world.project / "notes.txt").read_text()


def test_a_symbol_is_moved_into_a_new_file_and_imported_from_there(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    with agent(world) as other:
        moving = {"file": "area.ts", "anchor": PLACE}
        assert other.error("move_symbol", **moving, target="use.ts")["code"] == "not_supported"
        done = other.once_supported("move_symbol", **moving, target="surfaces.ts")
        assert {each["file"] for each in done["applied"]} == {"area.ts", "surfaces.ts", "use.ts"}
    assert "export function area(" in (world.project / "surfaces.ts").read_text()
    assert 'import { area } from "./surfaces"' in (world.project / "use.ts").read_text()
    assert 'import { area } from "./surfaces"' in (world.project / "area.ts").read_text()
    expect(window.lenses("Keep").first).to_be_visible()
    assert world.sould("review", "reject", "all").returncode == 0
    until(lambda: not (world.project / "surfaces.ts").exists(), PATIENCE, "the new file to be gone")
    until(lambda: (world.project / "area.ts").read_text() == AREA, PATIENCE, "the file as it was")


def test_what_is_used_is_not_deleted_and_what_is_not_goes_under_review(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    with agent(world) as other:
        symbols = other.do("symbols", file="loose.ts")["symbols"]
        assert [(each["namePath"], each["kind"]) for each in symbols if each["kind"] == "function"] == [
            ("left", "function"),
            ("alone", "function"),
        ]
        used = other.do("safe_delete", file="loose.ts", anchor={"symbol": "left", "lineText": "export function left"})
        assert used["total"] == 1
        assert (world.project / "loose.ts").read_text() == LOOSE
        other.do("safe_delete", file="loose.ts", anchor={"namePath": "alone"})
    assert "alone" not in (world.project / "loose.ts").read_text()
    window.open("loose.ts")
    expect(window.lenses("Reject")).to_have_count(1)
    window.lenses("Reject").click()
    expect(window.lenses("Reject")).to_have_count(0)
    assert (world.project / "loose.ts").read_text() == LOOSE


def test_git_is_asked_by_way_of_the_editor(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    git = ["git", "-C", str(world.project), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "notes.txt"], check=True)
    subprocess.run([*git, "commit", "-qm", "Notes"], check=True)
    (world.project / "notes.txt").write_text("another note\n")
    window = open_window()
    ready(window)
    with agent(world) as other:
        told = other.do("scm")
        notes = next(each for each in told["files"] if each["file"] == "notes.txt")
        assert notes["status"] == "M"
        assert "+another note" in notes["patch"]
        assert told["branch"] in ("main", "master")
        assert {"file": "use.ts", "status": "?"} in told["files"]
        assert other.do("scm", scope="staged")["files"] == []
    subprocess.run([*git, "checkout", "-q", "notes.txt"], check=True)


def test_a_form_waits_in_a_notification_until_its_user_answers(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    window = open_window()
    ready(window)
    window.editor.locator(".view-lines").click()
    before = window.focused()
    fields = {"colour": {"type": "string", "enum": ["red", "green"]}, "count": {"type": "integer"}}
    form = {"type": "object", "properties": fields, "required": ["colour", "count"]}
    with agent(world) as other:
        asked = other.begin("editor_ask", message="Which paint?", form=form)
        expect(window.toast("Which paint?")).to_be_visible()
        assert window.focused() == before
        window.toast("Which paint?").locator("a.monaco-button", has_text="Answer").click()
        window.page.locator(".quick-input-list .monaco-list-row", has_text="green").click()
        box = window.page.locator(".quick-input-widget input").first
        box.fill("two")
        expect(window.page.locator(".quick-input-message", has_text="no whole number")).to_be_visible()
        box.fill("2")
        window.key("Enter")
        assert other.end(asked) == {"action": "accept", "content": {"colour": "green", "count": 2}}


def test_a_terminal_is_read_only_when_its_user_shares_it(shared: tuple[World, Open]) -> None:
    world, open_window = shared
    assert world.sould("run", "/editor-context on").returncode == 0
    window = open_window()
    ready(window)
    window.palette("Terminal: Create New Terminal")
    expect(window.page.locator(".terminal-wrapper .xterm-screen")).to_be_visible()
    with agent(world) as other:
        assert other.error("terminal_read")["code"] == "no_editor"
        window.palette("Share Terminal With Agents")
        expect(window.status("1 shared")).to_be_visible()
        window.page.locator(".terminal-wrapper .xterm-screen").click()
        # VS Code loses what is printed in one piece with a command's beginning: the output waits for its user
        window.type("read word; echo shared-$((40 + 2))-$word; (exit 7)\n")
        expect(window.page.locator(".terminal-command-decoration")).to_be_visible()
        window.type("ok\n")
        expect(window.page.locator(".terminal-command-decoration.error")).to_be_visible()
        until(lambda: "exitCode" in other.do("terminal_read"), PATIENCE, "the end of the command to be known")
        told = other.do("terminal_read")
        assert told["output"].split()[-1] == "shared-42-ok"
        assert told["exitCode"] == 7
        assert told["cwd"] == str(world.project)
        window.palette("Share No Terminal With Agents")
        expect(window.status("1 shared")).to_have_count(0)
        assert other.error("terminal_read")["code"] in ("no_editor", "not_found")


@pytest.mark.parametrize("settings", [{"sould.allowedCommands": ["workbench.action.toggleSidebarVisibility"]}])
def test_tasks_and_allowed_commands_run_where_the_user_says_yes(world: World, open_window: Open) -> None:
    (project(world) / ".vscode").mkdir()
    (world.project / ".vscode" / "tasks.json").write_text(json.dumps(TASKS))
    calls = [
        call("task_run", "t1", name="measure"),
        call("task_run", "t2", name="greedy"),
        call("tests_list", "t3"),
        call("tests_run", "t4"),
        call("tests_run", "t5", ids=["unit"]),
        call("editor_command", "c1", command="workbench.action.toggleSidebarVisibility"),
        call("editor_command", "c2", command="workbench.action.closeAllEditors"),
    ]
    world.script([*calls, "text: Done."])
    world.start()
    window = open_window()
    ready(window)
    window.editor.locator(".view-lines").click()
    before = window.focused()
    measured, greedy, tests, usual, unit, hidden, closed = results(world)
    assert measured["data"]["exitCode"] == 3, measured
    assert "printed-3" in measured["data"]["outputTail"]
    assert "takes the focus" in greedy["error"]
    assert {each["id"] for each in tests["data"]["tests"]} == {"unit", "usual"}
    assert usual["data"] == {"summary": {"passed": 1}}
    assert unit["data"]["summary"] == {"failed": 1}
    (failure,) = unit["data"]["failures"]
    assert (failure["id"], failure["message"]) == ("unit", "Exited with code 4")
    assert "printed-3" in failure["output"]
    assert "data" in hidden
    assert "has not allowed workbench.action.closeAllEditors" in closed["error"]
    assert (world.project / "measured.txt").read_text() == "measured\n"
    expect(window.page.locator(".part.sidebar")).to_be_hidden()
    expect(window.tab("area.ts")).to_be_visible()
    assert window.focused() == before


@pytest.mark.parametrize(
    "settings", [{"security.workspace.trust.enabled": True, "security.workspace.trust.startupPrompt": "never"}]
)
def test_of_a_workspace_that_is_not_trusted_nothing_is_told_but_what_is_on_the_disk(
    world: World, open_window: Open
) -> None:
    project(world)
    world.script(["text: Done."])
    world.start()
    assert world.sould("run", "/editor-context on").returncode == 0
    window = open_window()
    window.open("notes.txt")
    window.palette("Show Changes of Agents")
    window.show_sould()
    expect(window.page.locator(".pane-body", has_text="Nothing is pending")).to_be_visible()
    with agent(world) as other:
        for tool in ("editor_state", "symbols", "tasks_list"):
            given = {"query": "area"} if tool == "symbols" else {}
            assert other.error(tool, **given)["code"] in ("no_editor", "not_supported", "untrusted_workspace"), tool
        assert other.do("doc_read", file="notes.txt", endLine=1)["text"] == "note 1\n"
        window.status("Restricted Mode").click()
        window.page.locator(".workspace-trust-editor a.monaco-button", has_text="Trust").first.click()
        until(lambda: other.answer("editor_state").get("error") is None, PATIENCE, "the window's state to be told")
        # VS Code itself opens the user's settings for a moment when it writes them: they are in no tab.
        until(
            lambda: [each["file"] for each in other.do("editor_state")["open"]] == ["notes.txt"],
            PATIENCE,
            "the files in tabs to be told",
        )
