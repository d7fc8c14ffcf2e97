"""What only Neovim knows, asked for by an agent: its diagnostics, its language servers, its windows."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp.types import Implementation

from soultest.daemon import until
from soultest.editors.neovim import Neovim
from soultest.editors.plugin import OLD, opened, pending, spot, wait_taken
from soultest.screen import PATIENCE
from soultest.world import SOULD, World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

SERVER = Path(sys.executable).with_name("jedi-language-server")
WITH_SERVER = f"""
vim.api.nvim_create_autocmd("FileType", {{
  pattern = "python",
  callback = function(event)
    vim.lsp.start({{ name = "jedi", cmd = {{ "{SERVER}" }}, root_dir = vim.fn.getcwd() }}, {{ bufnr = event.buf }})
  end,
}})
"""
"""As a user has it in their `init.lua`."""
WITH_CHECKER = WITH_SERVER.replace("jedi-language-server", "basedpyright-langserver").replace(
    '-langserver"', '-langserver", "--stdio"'
)
"""One whose errors are of types, too."""
WRONG = 'wrong: int = "many"\n'
REPORTED = """
local namespace = vim.api.nvim_create_namespace("checker")
vim.diagnostic.set(namespace, 0, {
  { lnum = 5, col = 11, end_lnum = 5, end_col = 12, message = "w is narrow", severity = 2, source = "checker" },
  { lnum = 8, col = 4, end_col = 8, message = "no such name", severity = 1, code = 7 },
  { lnum = 3, col = 0, message = "a hint", severity = 4 },
})
"""
USES = "from area import area\n\nprint(area(1, 2), area(3, 4))\n"
PLACE = {"symbol": "area", "lineText": "def area(w, h):"}


def answers(world: World) -> list[Any]:
    """What the calls of one run of the agent came to, in the words that its model is told."""
    run = world.sould("run", "--mode", "review", "--output-format", "stream-json", "go")
    assert run.returncode == 0, run.stdout + run.stderr
    updates = [json.loads(line).get("update", {}) for line in run.stdout.splitlines()]
    ended = [each for each in updates if each.get("status") in {"completed", "failed"}]
    return [_answer(each["rawOutput"]["output"] or each["content"][0]["content"]["text"]) for each in ended]


def _answer(said: str) -> Any:
    return json.loads(said) if said.startswith("{") else said


def wait_served(editor: Neovim) -> None:
    """The language server is there."""
    attached = "return #vim.lsp.get_clients({ bufnr = 0, name = 'jedi' }) > 0"
    until(lambda: editor.lua(attached), PATIENCE, "the language server")


def by_neovim(answer: Any) -> Any:
    assert answer["meta"]["backend"] == "Neovim", answer
    return answer["data"]


def places(found: list[Any]) -> list[tuple[str, int, int]]:
    return [(each["file"], each["range"]["start"]["line"], each["range"]["start"]["column"]) for each in found]


def test_an_agent_sees_what_neovim_reports(world: World, program: Path) -> None:
    world.script(
        [
            call("diagnostics", "named", files=["area.py"]),
            call("diagnostics", "all", minSeverity="hint", limit=1),
            "text: Seen.",
        ]
    )
    with opened(world, program) as editor:
        editor.lua(REPORTED)
        named, everything = map(by_neovim, answers(world))
        assert [each["message"] for each in named["items"]] == ["no such name", "w is narrow"]
        assert places(named["items"]) == [("area.py", 9, 5), ("area.py", 6, 12)]
        assert [each["severity"] for each in named["items"]] == ["error", "warning"]
        assert named["items"][0]["code"] == "7"
        assert [each["message"] for each in everything["items"]] == ["no such name"]
        assert everything["counts"] == {"error": 1, "warning": 1, "hint": 1}


def test_an_agent_asks_the_language_server_that_neovim_runs(world: World, program: Path) -> None:
    (world.project / "use.py").write_text(USES)
    inside = {"line": 3, "column": 7}
    world.script(
        [
            call("definition", "d", file="use.py", anchor=inside, includeBody=True),
            call("references", "r", file="area.py", anchor=PLACE),
            call("hover", "h", file="use.py", anchor=inside),
            call("symbols", "s", file="area.py"),
            "text: Seen.",
        ]
    )
    with opened(world, program, more=WITH_SERVER) as editor:
        wait_served(editor)
        before = spot(editor)
        definition, references, hover, symbols = map(by_neovim, answers(world))
        assert places(definition["locations"]) == [("area.py", 4, 5)]
        assert definition["locations"][0]["preview"] == "def area(w, h):"
        assert {
            each["file"]: [(hit["line"], hit["column"]) for hit in each["hits"]] for each in references["groups"]
        } == {"use.py": [(1, 18), (3, 7), (3, 19)]}
        assert references["total"] == 3
        assert "area(w, h)" in hover["markdown"]
        assert [(each["namePath"], each["kind"]) for each in symbols["symbols"]][:2] == [
            ("area", "function"),
            ("name", "function"),
        ]
        assert spot(editor) == before
        assert editor.lua("return vim.fn.bufnr('use.py')") == -1, "what was not open is not left open"


def test_a_rename_of_neovims_server_is_reviewed(world: World, program: Path) -> None:
    (world.project / "use.py").write_text(USES)
    world.script([call("rename", "r", file="area.py", anchor=PLACE, newName="surface"), "text: Done."])
    with opened(world, program, more=WITH_SERVER) as editor:
        wait_served(editor)
        (answer,) = answers(world)
        by_neovim(answer)
        editor.holds(world.project / "area.py", OLD.replace("def area", "def surface"))
        assert (world.project / "use.py").read_text() == USES.replace("area(", "surface(").replace(
            "import area", "import surface"
        )
        until(lambda: len(pending(editor)) == 1, PATIENCE, "a hunk")
        listed = world.sould("review", "list").stdout
        assert "use.py" in listed


def test_a_place_is_shown_beside_what_the_user_does(world: World, program: Path) -> None:
    notes = world.project / "notes.txt"
    notes.write_text("".join(f"note {number}\n" for number in range(1, 201)))
    world.script([call("editor_open", "o", file="notes.txt", anchor={"line": 150}), "text: Look."])
    with opened(world, program) as editor:
        editor.keys(":vsplit<CR>6G$a")
        until(lambda: editor.lua("return vim.fn.mode()") == "i", PATIENCE, "typing")
        before = spot(editor)
        (answer,) = answers(world)
        assert by_neovim(answer)["opened"] is True
        editor.screen.wait("note 150")
        assert spot(editor) == before
        editor.keys(" # still here<Esc>")
        editor.screen.wait("# still here")
        assert editor.lua("return vim.api.nvim_win_get_cursor(vim.fn.win_getid(vim.fn.winnr('#')))[1]") == 150


def test_in_a_single_window_a_place_is_shown_only_when_the_user_asked(world: World, program: Path) -> None:
    (world.project / "notes.txt").write_text("".join(f"note {number}\n" for number in range(1, 201)))
    there = {"file": "notes.txt", "anchor": {"line": 150}}
    world.script([call("editor_open", "o", **there), call("editor_open", "f", focus=True, **there), "text: Look."])
    with opened(world, program) as editor:
        unasked, asked = answers(world)
        assert "one window" in unasked
        assert by_neovim(asked)["opened"] is True
        assert editor.lua("return { vim.fn.expand('%:t'), vim.fn.line('.'), vim.fn.winnr('$') }") == [
            "notes.txt",
            150,
            1,
        ]
        editor.keys("<C-o>")
        until(lambda: editor.lua("return vim.fn.expand('%:t')") == "area.py", PATIENCE, "the way back")


def test_what_is_unsaved_is_saved_for_an_agent(world: World, program: Path) -> None:
    world.script([call("doc_save", "s", files=["area.py"]), "text: Saved."])
    with opened(world, program) as editor:
        editor.keys("ggO# mine<Esc>")
        until(editor.unsaved, PATIENCE, "unsaved text")
        wait_taken(world, editor)
        (answer,) = answers(world)
        assert by_neovim(answer)["saved"] == [str(world.project / "area.py")]
        assert (world.project / "area.py").read_text() == "# mine\n" + OLD
        assert not editor.unsaved()


def test_a_file_that_no_server_of_neovim_knows_is_left_to_others(world: World, program: Path) -> None:
    (world.project / "notes.txt").write_text("some words\n")
    world.script([call("hover", "h", file="notes.txt", anchor={"line": 1}), "text: Seen."])
    with opened(world, program, more=WITH_SERVER) as editor:
        wait_served(editor)
        (answer,) = answers(world)
        assert "No language server" in answer
        assert editor.lua("return vim.fn.bufnr('notes.txt')") == -1


def test_what_an_agent_is_told_of_this_neovim_is_asked_about_and_shown(world: World, program: Path) -> None:
    state = call("editor_state", "s", include=["open"])
    world.script([state, "text: One.", state, "text: Two.", state, "text: Three."])
    shared = "Shared with the agent: 1 open file"
    with opened(world, program) as editor:
        editor.keys(":Sould prompt look<CR>:Sould chat<CR>")
        editor.screen.wait("Share what you have open in the editor", "1. Allow once")
        editor.keys(":Sould answer 1<CR>")
        editor.screen.wait("One.")
        assert everything(editor).count(shared) == 1
        editor.keys(":Sould prompt /editor-context on<CR>:Sould prompt look<CR>")
        editor.screen.wait("Two.")
        assert everything(editor).count(shared) == 2
        editor.keys(":Sould prompt /editor-context off<CR>:Sould prompt look<CR>")
        editor.screen.wait("Three.")
        assert everything(editor).count(shared) == 2


def test_a_hunk_of_another_agent_has_its_name(world: World, program: Path) -> None:
    world.script([])
    edits = [{"file": "area.py", "hunks": [{"oldText": "# areas\n", "newText": "# all areas\n"}]}]

    async def edit() -> None:
        served = StdioTransport(
            str(SOULD), ["editor-mcp"], env=dict(world.environment), cwd=str(world.project), keep_alive=False
        )
        async with Client(served, client_info=Implementation(name="other agent", version="1")) as agent:
            await agent.call_tool("doc_edit", {"edits": edits})

    with opened(world, program) as editor:
        asyncio.run(edit())
        editor.screen.wait("# all areas #1 by other agent")


def everything(editor: Neovim) -> str:
    """What all buffers hold."""
    return editor.lua("""
    local lines = {}
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      vim.list_extend(lines, vim.api.nvim_buf_get_lines(buf, 0, -1, false))
    end
    return table.concat(lines, "\\n")
    """)


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_an_edit_is_told_with_the_errors_that_neovims_server_finds_in_it(
    world: World, program: Path, ends: str
) -> None:
    file = world.project / "area.py"
    file.write_text(WRONG + OLD, newline=ends)
    broken = [call("StrReplaceFile", "s", path="area.py", edit={"old": "return w * h", "new": "return wide * h"})]
    mended = [call("StrReplaceFile", "m", path="area.py", edit={"old": "return wide * h", "new": "return h * w"})]
    world.script([*broken, "text: Oh.", *mended, "text: Mended."])
    with opened(world, program, more=WITH_CHECKER) as editor:
        errors = "return #vim.diagnostic.get(0, { severity = 1 })"
        until(lambda: editor.lua(errors) == 1, PATIENCE, "the error that was there before")
        [problem] = new_problems(world, "break it")
        assert problem.startswith('line 7: "wide" is not defined'), "what was there before is not new"
        [hunk] = hunks(world)
        assert hunk["problems"] == [problem]
        assert new_problems(world, "--continue", "mend it") == []
        [hunk] = hunks(world)
        assert not hunk.get("problems")
        assert file.read_bytes() == (WRONG + OLD.replace("w * h", "h * w")).replace("\n", ends).encode()


def new_problems(world: World, *arguments: str) -> list[str]:
    """What an agent is told of its one edit."""
    run = world.sould("run", "--mode", "review", "--output-format", "stream-json", *arguments)
    assert run.returncode == 0, run.stdout + run.stderr
    updates = [json.loads(line).get("update", {}) for line in run.stdout.splitlines()]
    [ended] = [each for each in updates if each.get("status") == "completed"]
    return ended["rawOutput"].get("new_problems", [])


def hunks(world: World) -> list[Any]:
    """All that wait for the review."""
    listed = json.loads(world.sould("review", "list", "--json").stdout)
    return [hunk for file in listed["files"] for hunk in file["hunks"]]
