"""The plugin of editors/nvim at work with an agent: chat, inbox, questions about code, what is about to be written."""

import json
import os
import signal
from pathlib import Path

import pytest

from soultest.daemon import until
from soultest.editors.plugin import (
    NEW,
    OLD,
    ONE,
    THREE,
    TWO,
    change,
    opened,
    rewrite,
    spot,
    told,
    wait_pending,
    wait_told,
)
from soultest.screen import PATIENCE, screen
from soultest.world import World, call

pytestmark = [pytest.mark.editors, pytest.mark.timeout(300)]

COMING = """
local found = {}
local namespace = vim.api.nvim_get_namespaces().sould_coming
for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
  if mark[4].hl_group then
    table.insert(found, ("%d going"):format(mark[2] + 1))
  end
  for _, line in ipairs(mark[4].virt_lines or {}) do
    table.insert(found, ("%d coming %s"):format(mark[2] + 1, vim.trim(line[1][1])))
  end
end
return found
"""
"""What is shown as about to be written, by line."""
REPORTED = """
local namespace = vim.api.nvim_create_namespace("checker")
vim.diagnostic.set(namespace, 0, { { lnum = 6, col = 4, message = "w is not defined", severity = 1 } })
"""


def test_a_daemon_that_is_killed_in_the_middle_of_a_turn_is_no_fault(world: World, program: Path) -> None:
    world.script([rewrite()[0], "text: Counting.\nwait: 600"])
    with opened(world, program) as editor:
        editor.keys(":Sould mode review<CR>:Sould prompt go<CR>:Sould chat<CR>")
        editor.screen.wait("Counting.", "working")
        os.kill(world.daemon(), signal.SIGKILL)
        editor.screen.wait("sould was stopped in the middle of this turn")
        editor.keys("<Esc>:only | edit area.py<CR>")
        wait_pending(editor, ONE, TWO, THREE)
        editor.keys("7G ar")
        editor.holds(world.project / "area.py", NEW.replace("return width", "return w"))
        assert "rror" not in told(editor)


def test_a_chat_streams_folds_its_cards_and_takes_answers(world: World, program: Path) -> None:
    steps = [f"text: I shall look.\n{call('ReadFile', 'r', path='area.py')}", *rewrite(), "text: Again."]
    world.script(steps)
    with opened(world, program) as editor:
        editor.keys(":Sould chat<CR>:Sould mode ask<CR>")
        editor.screen.wait("[ask]")
        editor.keys("imend it<C-s>")
        seen = editor.screen.wait(
            "I shall look.", "? Write area.py", "+import math", "1. Allow once", "4. Reject", "1 waiting"
        )
        assert "Read area.py" in seen
        assert "9 def name" not in seen
        assert editor.lua("return vim.fn.mode()") == "i"
        assert (world.project / "area.py").read_text() == OLD
        editor.keys("<Esc>:Sould answer 1<CR>")
        editor.screen.wait("Write area.py: Allow once", "Done.")
        editor.holds(world.project / "area.py", NEW)
        editor.keys(":Sould prompt more<CR>")
        editor.screen.wait("Again.")


def test_a_question_is_answered_in_the_inbox_with_words_for_the_agent(world: World, program: Path) -> None:
    world.script([rewrite()[0], "text: I see."])
    with opened(world, program) as editor:
        editor.keys(":Sould mode ask<CR>:Sould prompt change it<CR>")
        editor.screen.wait("1 waiting")
        editor.keys(":Sould inbox<CR>")
        editor.screen.wait("## Edit file", "change it", "1. Allow once")
        editor.keys("/Edit file<CR>:Sould answer 4 not now<CR>")
        editor.screen.wait("Nothing waits for an answer.")
        editor.keys(":q<CR>:Sould chat<CR>")
        editor.screen.wait("I see.")
        assert (world.project / "area.py").read_text() == OLD


INBOX = "return table.concat(vim.fn.getbufline(vim.fn.bufnr('sould://inbox'), 1, '$'), '\\n')"
QUESTIONS = call(
    "AskUserQuestion",
    "q",
    questions=[
        {
            "question": "Which tools?",
            "options": [{"label": "saw"}, {"label": "axe", "description": "sharp"}, {"label": "file"}],
            "multi_select": True,
        },
    ],
)


def test_the_inbox_is_told_what_comes_and_what_others_answer(world: World, program: Path) -> None:
    world.script([QUESTIONS, call("Shell", "s", command="touch made.txt"), "text: So be it."])
    with opened(world, program) as editor:
        editor.keys(":Sould inbox<CR>")
        editor.screen.wait("Nothing waits for an answer.")
        editor.keys(":Sould mode ask<CR>:Sould prompt choose<CR>")
        editor.screen.wait("## Which tools?", "2. axe: sharp", "4. Answer by numbers")
        editor.keys(":wincmd b<CR>/## Which<CR>")
        until(lambda: editor.lua("return vim.fn.bufname()") == "sould://inbox", PATIENCE, "the inbox")
        editor.keys(":Sould answer 4 1,3<CR>")
        editor.screen.wait("$ touch made.txt", "1. Allow once")
        (waiting,) = json.loads(world.sould("inbox", "--json").stdout)["items"]
        assert world.sould("approve", waiting["id"]).returncode == 0
        editor.screen.wait("Nothing waits for an answer.")
        editor.keys(":q<CR>:Sould chat<CR>")
        editor.screen.wait("saw, file", "So be it.")
        assert (world.project / "made.txt").exists()


def test_a_question_of_a_session_that_the_language_server_began_is_in_the_inbox_once(
    world: World, program: Path
) -> None:
    world.script([call("Shell", "s", command="touch made.txt"), "text: So be it."])
    with opened(world, program) as editor:
        editor.keys(":Sould inbox<CR>")
        editor.screen.wait("Nothing waits for an answer.")
        prompt = "require('sould.lsp').execute(..., 'sould.prompt', { text = 'touch it' })"
        editor.lua(prompt, str(world.project))
        editor.screen.wait("$ touch made.txt", "1 waiting")
        assert editor.lua(INBOX).count("## ") == 1
        (waiting,) = json.loads(world.sould("inbox", "--json").stdout)["items"]
        assert world.sould("approve", waiting["id"]).returncode == 0
        editor.screen.wait("Nothing waits for an answer.")
        until((world.project / "made.txt").exists, PATIENCE, "the command")
        assert "waiting" not in editor.lua("return require('sould').statusline()")


def test_a_question_of_another_session_is_counted_from_the_start(world: World, program: Path) -> None:
    elsewhere = world.root / "elsewhere"
    elsewhere.mkdir()
    world.script([call("Shell", "s", command="touch made.txt"), "text: So be it."])
    with opened(world, program) as editor, screen(world, "sould run go", elsewhere, "other"):
        editor.screen.wait("sould: 1 waiting")
        (waiting,) = json.loads(world.sould("inbox", "--json").stdout)["items"]
        assert world.sould("approve", waiting["id"]).returncode == 0
        until(lambda: "waiting" not in editor.screen.text, PATIENCE, "nothing that waits")
        until((elsewhere / "made.txt").exists, PATIENCE, "the command")


def test_nothing_is_allowed_before_its_end_was_in_sight(world: World, program: Path) -> None:
    def lines(count: int, name: str) -> str:
        return "".join(f": line {number}\n" for number in range(count)) + f"touch {name}.txt # {'very ' * 100}long"

    world.script(
        [call("Shell", "a", command=lines(80, "one")), call("Shell", "b", command=lines(400, "two")), "text: Done."]
    )
    with opened(world, program) as editor:
        editor.keys(":Sould mode ask<CR>:Sould prompt go<CR>")
        editor.screen.wait("1 waiting")
        editor.keys(":Sould answer 1<CR>")
        wait_told(editor, "what this allows ends here")
        editor.screen.wait("touch one.txt", "very long")
        assert not (world.project / "one.txt").exists()
        editor.keys(":Sould answer 1<CR>:only<CR>:Sould inbox<CR>")
        until((world.project / "one.txt").exists, PATIENCE, "the first command")
        until(lambda: "touch two.txt" in editor.lua(INBOX), PATIENCE, "the second command")
        assert ": line 200\n" in editor.lua(INBOX)
        editor.keys("/## <CR>:Sould answer 1<CR>")
        editor.screen.wait("touch two.txt", "very long")
        assert not (world.project / "two.txt").exists()
        editor.keys(":Sould answer 1<CR>")
        until((world.project / "two.txt").exists, PATIENCE, "the second command")


def test_what_prints_nothing_or_turns_a_line_around_is_a_mark_in_a_question(world: World, program: Path) -> None:
    options = [{"label": "a\u202eb", "description": "c\u200bd"}, {"label": "no\rYes"}]
    world.script(
        [call("AskUserQuestion", "q", questions=[{"question": "Fine\u2066?", "options": options}]), "text: So."]
    )
    with opened(world, program) as editor:
        editor.keys(":Sould inbox<CR>:Sould prompt choose<CR>")
        until(lambda: "## Fine\\u2066?" in editor.lua(INBOX), PATIENCE, "the question")
        assert "1. a\\u202eb: c\\u200bd\n2. no\\u000dYes\n" in editor.lua(INBOX)


def test_what_is_about_to_be_written_is_shown_and_cannot_be_decided(world: World, program: Path) -> None:
    world.script([rewrite()[0], "text: Done."])
    with opened(world, program) as editor:
        editor.keys(":Sould mode ask<CR>:Sould prompt go<CR>")
        editor.screen.wait("1 waiting", "def area(width, h): being written", "import math being written")
        assert editor.lua(COMING) == [
            "1 coming import math",
            "4 going",
            "4 coming def area(width, h):",
            "6 going",
            "6 coming return width * h",
        ]
        assert editor.buffer() == OLD
        editor.keys("4G:Sould keep<CR>")
        wait_told(editor, "the agent is writing this")
        assert "to review" not in editor.screen.text
        assert "Nothing is to be reviewed" in world.sould("review", "list").stdout
        editor.keys("ggO# mine<Esc>")
        until(lambda: editor.lua(COMING)[1] == "5 going", PATIENCE, "lines that go along")
        editor.keys("u:Sould answer 4<CR>")
        until(lambda: not editor.lua(COMING), PATIENCE, "nothing to come")
        assert editor.buffer() == OLD


def test_the_agent_is_asked_why_about_lines_and_about_what_is_reported(world: World, program: Path) -> None:
    world.script(
        [*rewrite(), "text: Names say more.", "text: It multiplies.", "text: It is mended.", "text: As you say."]
    )
    with opened(world, program) as editor:
        change(world)
        wait_pending(editor, ONE, TWO, THREE)
        before = spot(editor)
        editor.keys("5G:Sould why<CR>")
        wait_told(editor, "Names say more.")
        assert spot(editor)[1:] == before[1:]
        editor.keys(":Sould chat<CR>")
        editor.screen.wait("Why this change?", "Names say more.")
        editor.keys("<C-w>t:5,7Sould explain in a word<CR>")
        editor.screen.wait("in a word", "It multiplies.")
        editor.lua(REPORTED)
        editor.keys("7G:Sould fix<CR>")
        editor.screen.wait("error: w is not defined", "It is mended.")
        editor.keys(":5Sould edit shorter<CR>")
        editor.screen.wait("shorter", "As you say.")
        editor.keys("gg:Sould fix<CR>")
        wait_told(editor, "nothing is reported here")
        editor.keys(":Sould why 99<CR>")
        wait_told(editor, "there is no hunk 99")
        assert editor.lua("return vim.fn.getcompletion('Sould why ', 'cmdline')") == ["1", "2", "3"]
        assert editor.lua("return vim.fn.getcompletion('Sould ex', 'cmdline')") == ["explain"]
        editor.keys(":new<CR>:Sould explain<CR>")
        wait_told(editor, "this buffer has no file")


def test_a_message_grows_by_pieces_and_its_end_stays_in_sight(world: World, program: Path) -> None:
    words = [f"word{number}" for number in range(600)]
    world.script(["\n".join(f"text:  {word}" for word in words) + "\ntext:  the end\nwait: 600"])
    with opened(world, program) as editor:
        editor.keys(":Sould chat<CR>itell<C-s>")
        editor.screen.wait("the end", "working")
        said = editor.lua("return table.concat(vim.fn.getbufline(vim.fn.bufnr('sould://chat/1'), 1, '$'), '\\n')")
        assert said.endswith(f"## sould\n\n {' '.join(words)} the end")
        editor.keys("<Esc>:Sould cancel<CR>")
        editor.screen.wait("cancelled")


ENDS = "echo 'sould: the disk is full' >&2\nexit 3\n"
REFUSES = """\
read -r line
echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the disk is full"}}'
exec cat >/dev/null
"""


@pytest.mark.parametrize("failing", [ENDS, REFUSES], ids=["ends", "refuses"])
def test_a_chat_whose_program_fails_says_why_and_the_next_prompt_starts_it_again(
    world: World, program: Path, failing: str
) -> None:
    world.script(["text: Here I am."])
    mended, starter = world.root / "mended", world.root / "starter"
    starter.write_text(f'#!/bin/sh\nif [ "$1" = acp ] && [ ! -e {mended} ]; then\n{failing}fi\nexec sould "$@"\n')
    starter.chmod(0o755)
    with opened(world, program, more=f'require("sould").setup({{ keys = true, command = "{starter}" }})') as editor:
        editor.keys(":Sould chat<CR>:Sould prompt one<CR>:Sould prompt two<CR>")
        editor.screen.wait("the disk is full")
        until(lambda: "working" not in editor.screen.text, PATIENCE, "no turn")
        mended.touch()
        editor.keys(":Sould prompt three<CR>")
        editor.screen.wait("Here I am.")
