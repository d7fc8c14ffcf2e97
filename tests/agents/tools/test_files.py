"""Reading and editing as the model does it: what comes back, what is asked, what is written."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import Expected, ResolvedPath, TextFile
from sould.agents.permissions import policy
from sould.agents.permissions.approval import Approval, Consent
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.rules import Rule, Rules
from sould.agents.tools import ToolCallContext, tool_rejected
from sould.agents.wire.display import DiffBlock, DisplayBlock
from soultest.bench.tools import RecordedApproval, ToolBench, no_commands, nobody, output

GBK = "// 读取配置文件\nint a = 1;\n// 如果文件不存在则创建\n".encode("gbk")


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    return ToolBench(tmp_path)


# --- ReadFile ------------------------------------------------------------------------------------------------------------


async def test_a_read_has_numbered_lines_and_says_where_it_is(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\nthree\n")
    result = await bench.call("ReadFile", path="a")
    assert output(result) == "     1\tone\n     2\ttwo\n     3\tthree\n"
    assert result.message == "Lines 1-3 of 3 in a."


async def test_a_window_and_a_tail_can_be_read(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("".join(f"{n}\n" for n in range(1, 3001)))
    assert output(await bench.call("ReadFile", path="a", line_offset=5, n_lines=2)) == "     5\t5\n     6\t6\n"
    assert output(await bench.call("ReadFile", path="a", line_offset=-2)) == "  2999\t2999\n  3000\t3000\n"
    result = await bench.call("ReadFile", path="a")
    assert result.message == "Lines 1-1000 of 3000 in a."
    past = await bench.call("ReadFile", path="a", line_offset=9999)
    assert past.is_error
    assert "only 3000 lines" in past.message


async def test_long_lines_and_large_windows_are_cut_and_said(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "wide").write_text("x" * 5000 + "\nshort\n")
    result = await bench.call("ReadFile", path="wide")
    assert [len(line) for line in output(result).split("\n")] == [2007, 12, 0]
    assert "1 line longer than 2000 characters" in result.message
    (tmp_path / "big").write_text(("y" * 1000 + "\n") * 500)
    result = await bench.call("ReadFile", path="big")
    assert len(output(result)) <= 100 * 1024
    assert "go on with line_offset=102" in result.message


async def test_byte_order_mark_and_crlf_are_not_shown_but_said(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeffone\r\ntwo\r\n".encode())
    result = await bench.call("ReadFile", path="a")
    assert output(result) == "     1\tone\n     2\ttwo\n"
    assert "CRLF" in result.message


async def test_a_file_in_another_encoding_is_read_and_said(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_bytes(GBK)
    result = await bench.call("ReadFile", path="a.c")
    assert output(result) == "     1\t// 读取配置文件\n     2\tint a = 1;\n     3\t// 如果文件不存在则创建\n"
    assert "It is in GBK; edits keep that." in result.message
    (tmp_path / "short").write_bytes(b"caf\xe9\n")
    result = await bench.call("ReadFile", path="short")
    assert output(result) == "     1\tcafé\n"
    assert "read as Windows-1252, which is likely" in result.message
    assert "iconv" in result.message


async def test_an_empty_file_is_said_to_be_empty(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert (await bench.call("ReadFile", path="a")).message == "a is empty."


@pytest.mark.parametrize("name", [".env", ".env.local", ".ENV", "id_rsa", "sub/.aws/credentials"])
async def test_secrets_are_asked_about_by_every_tool_and_nothing_shows_without_a_yes(tmp_path: Path, name: str) -> None:
    approval = RecordedApproval(tmp_path, tool_rejected("no"), mode="full")
    bench = ToolBench(tmp_path, approval=approval)
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("KEY=hunter2")
    (tmp_path / "innocent").symlink_to(path)
    calls = [
        await bench.call("ReadFile", path=name),
        await bench.call("ReadFile", path="innocent"),
        await bench.call("StrReplaceFile", path=name, edit={"old": "K", "new": "k"}),
        await bench.call("WriteFile", path=name, content="KEY=hunter2"),
        await bench.call("Grep", pattern="hunter", path=name),
    ]
    assert [result.message for result in calls] == ["The user rejected this tool call and said: no"] * 5
    assert len(approval.asked) == 5
    listed = await bench.call("Grep", pattern="KEY", output_mode="content", include_ignored=True)
    assert "hunter2" not in output(listed)


@pytest.mark.parametrize("name", [".env.example", ".env.template", "id_rsa.pub", "environment"])
async def test_templates_and_public_keys_are_read(bench: ToolBench, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    assert output(await bench.call("ReadFile", path=name)) == "     1\tx\n"


async def test_missing_binary_and_special_files_are_errors_for_the_model(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\x89PNG\0")
    (tmp_path / "a b.pdf").write_bytes(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< >>\nendobj\n")
    for path, said in [
        ("none", "does not exist"),
        ("binary", "not a text file"),
        (
            "a b.pdf",
            "a b.pdf is a PDF document: take its text with a command, such as `pdftotext -layout 'a b.pdf' -`.",
        ),
        (".", "is a directory"),
        ("a\0", "NUL"),
    ]:
        result = await bench.call("ReadFile", path=path)
        assert result.is_error
        assert said in result.message


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ReadFile", {}),
        ("WriteFile", {"content": "x"}),
        ("StrReplaceFile", {"edit": {"old": "a", "new": "b"}}),
        ("Grep", {"pattern": "a"}),
    ],
)
async def test_a_relative_path_that_leaves_the_project_is_refused_with_the_full_one_as_advice(
    tmp_path: Path, tool: str, arguments: dict[str, object]
) -> None:
    (tmp_path / "project").mkdir()
    bench = ToolBench(tmp_path / "project")
    for path in ("../other/a.txt", "src/../../other/a.txt"):
        result = await bench.call(tool, path=path, **arguments)
        assert result.is_error
        assert result.message == (
            f"{path} leads out of the project. If you mean that path, write it in full: {tmp_path}/other/a.txt."
        )
    assert isinstance(bench.approval, RecordedApproval)
    assert bench.approval.asked == []
    await bench.call("ReadFile", path=f"{tmp_path}/other/a.txt")
    assert len(bench.approval.asked) == 1


async def test_reading_outside_asks_with_the_real_path(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    await bench.call("ReadFile", path="link")
    assert isinstance(bench.approval, RecordedApproval)
    action = bench.approval.asked[0][0]
    assert action == policy.ReadFile(ResolvedPath(Path("/etc/hostname"), False, tmp_path / "link"))


class EditorBuffer(LocalWorkspace):
    """An editor that has unsaved text in every file, and formats on save."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, (), no_commands)
        self.saved = ""

    async def read_text(self, path: Path) -> TextFile:
        text = self.saved or "unsaved\n"
        return TextFile(path, text, digest_of(text.encode()), unsaved=not self.saved)

    async def write_text(self, path: Path, text: str, *, expected: Expected) -> TextFile:
        self.saved = text.replace("'", '"')
        return await self.read_text(path)


async def test_unsaved_text_is_read_and_said_and_what_saving_changed_is_told(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, workspace=EditorBuffer(tmp_path))
    result = await bench.call("ReadFile", path="a")
    assert output(result) == "     1\tunsaved\n"
    assert "unsaved changes" in result.message
    edited = await bench.call("StrReplaceFile", path="a", edit={"old": "unsaved", "new": "x = 'y'"})
    assert "unsaved changes in this file; they are kept" in edited.message
    assert "-x = 'y'\n+x = \"y\"" in edited.message
    assert edited.extras is not None
    assert edited.extras["path"] == str(tmp_path / "a")
    assert edited.extras["operation"] == "modify"
    assert '+x = "y"' in str(edited.extras["user_edits"])


# --- WriteFile and StrReplaceFile ------------------------------------------------------------------------------------------


async def test_a_new_file_is_asked_for_with_its_text_and_then_written(bench: ToolBench, tmp_path: Path) -> None:
    result = await bench.call("WriteFile", path="src/new.py", content="one\ntwo\n")
    path = tmp_path / "src" / "new.py"
    assert path.read_text() == "one\ntwo\n"
    assert result.message == "Created src/new.py (2 lines)."
    diff = DiffBlock(path=str(path), old_text="", new_text="one\ntwo\n", is_new=True)
    assert result.display == (diff,)
    assert result.extras == {"path": str(path), "operation": "create"}
    assert isinstance(bench.approval, RecordedApproval)
    assert bench.approval.asked == [
        (policy.EditFile(ResolvedPath(path, inside=True), "create"), "WriteFile", f"Create file `{path}`", (diff,))
    ]


async def test_overwriting_keeps_line_ends_and_byte_order_mark(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\ufeffone\r\n".encode())
    result = await bench.call("WriteFile", path="a", content="two\nthree")
    assert (tmp_path / "a").read_bytes() == "\ufefftwo\r\nthree".encode()
    assert result.message == "Wrote a (2 lines)."
    await bench.call("WriteFile", path="a", content="\nfour", mode="append")
    assert (tmp_path / "a").read_bytes() == "\ufefftwo\r\nthree\r\nfour".encode()


async def test_writing_what_is_there_already_asks_nobody(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("same")
    assert "nothing was written" in (await bench.call("WriteFile", path="a", content="same")).message
    assert isinstance(bench.approval, RecordedApproval)
    assert bench.approval.asked == []


async def test_a_replacement_shows_the_whole_old_and_new_text(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one\ntwo\n")
    result = await bench.call("StrReplaceFile", path="a", edit={"old": "two", "new": "zwei"})
    assert (tmp_path / "a").read_text() == "one\nzwei\n"
    assert result.message == "Edited a (1 replacement)."
    assert result.display == (DiffBlock(path=str(tmp_path / "a"), old_text="one\ntwo\n", new_text="one\nzwei\n"),)


@pytest.mark.parametrize(("mode", "questions"), [("ask", 1), ("review", 1), ("full", 0)])
async def test_an_edit_in_another_encoding_is_asked_about_in_every_mode_but_full(
    tmp_path: Path, mode: Mode, questions: int
) -> None:
    approval = RecordedApproval(tmp_path, mode=mode)
    bench = ToolBench(tmp_path, approval=approval)
    (tmp_path / "a.c").write_bytes(GBK)
    edited = await bench.call("StrReplaceFile", path="a.c", edit={"old": "a = 1", "new": "b = 2; // 文件"})
    assert not edited.is_error, edited.message
    assert (tmp_path / "a.c").read_bytes() == GBK.replace(b"a = 1", b"b = 2; // " + "文件".encode("gbk"))
    assert len(approval.asked) == questions
    for action, _, _, (diff,) in approval.asked:
        assert isinstance(diff, DiffBlock)
        assert diff.old_text == GBK.decode("gbk")
        verdict = approval.judge(action)
        assert (verdict.reason, verdict.scope_offer) == (
            "it is in GBK, and what is not in UTF-8 cannot be kept or rejected later",
            None,
        )
    before = (tmp_path / "a.c").read_bytes()
    refused = await bench.call("WriteFile", path="a.c", content="\N{EURO SIGN}")
    assert refused.is_error
    assert "a.c was not written: it is in GBK, which has no '€' (U+20AC)" in refused.message
    assert (tmp_path / "a.c").read_bytes() == before


async def test_an_edit_that_would_break_a_notebook_is_refused_with_the_place(bench: ToolBench, tmp_path: Path) -> None:
    notebook = '{\n "cells": [{"source": [\n  "import os\\n",\n  "print(1)"\n ]}]\n}\n'
    (tmp_path / "n.ipynb").write_text(notebook)
    broken = await bench.call("StrReplaceFile", path="n.ipynb", edit={"old": '"import os', "new": '"import "os"'})
    assert broken.is_error
    assert "n.ipynb would be no JSON any more" in broken.message
    assert "line 3" in broken.message
    assert (tmp_path / "n.ipynb").read_text() == notebook
    good = await bench.call("StrReplaceFile", path="n.ipynb", edit={"old": "print(1)", "new": 'print(\\"a\\")'})
    assert not good.is_error, good.message
    (tmp_path / "n.ipynb").write_text("<<<<<<< broken already")
    assert not (await bench.call("WriteFile", path="n.ipynb", content="still")).is_error


async def test_several_edits_are_all_made_or_none(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a b c")
    good = {"old": "a", "new": "x"}
    failed = await bench.call("StrReplaceFile", path="a", edit=[good, {"old": "zzz", "new": "y"}])
    assert "Edit 2 of 2" in failed.message
    assert (tmp_path / "a").read_text() == "a b c"
    await bench.call("StrReplaceFile", path="a", edit=[good, {"old": "x b", "new": "y"}])
    assert (tmp_path / "a").read_text() == "y c"


async def test_an_ambiguous_edit_changes_nothing_and_shows_the_places(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x = 1\ny = 2\nx = 1\n")
    result = await bench.call("StrReplaceFile", path="a", edit={"old": "x = 1", "new": "x = 3"})
    assert result.is_error
    assert "     1\tx = 1\n     3\tx = 1" in result.message
    assert (tmp_path / "a").read_text() == "x = 1\ny = 2\nx = 1\n"
    done = await bench.call("StrReplaceFile", path="a", edit={"old": "x = 1", "new": "x = 3", "replace_all": True})
    assert done.message == "Edited a (2 replacements)."


async def test_a_rejected_edit_writes_nothing(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, approval=RecordedApproval(tmp_path, tool_rejected("not that file")))
    result = await bench.call("WriteFile", path="a", content="x")
    assert "not that file" in result.message
    assert not (tmp_path / "a").exists()


class ChangingApproval(RecordedApproval):
    """Somebody changes the file while the question is open."""

    def __init__(self, path: Path) -> None:
        super().__init__(path.parent)
        self.path = path

    async def consent(
        self,
        call: ToolCallContext,
        action: policy.Action,
        *,
        sender: str,
        description: str,
        display: tuple[DisplayBlock, ...] = (),
        let_go: Callable[[], Awaitable[None]] | None = None,
    ) -> Consent:
        if display:
            self.path.write_text("typed by the user")
        return Consent(seen=True)


async def test_a_file_changed_while_the_question_was_open_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    bench = ToolBench(tmp_path, approval=ChangingApproval(path))
    for arguments in ({"content": "x"}, {"content": "x", "mode": "append"}):
        path.unlink(missing_ok=True)
        result = await bench.call("WriteFile", path="a", **arguments)
        assert result.is_error
        assert path.read_text() == "typed by the user"
    path.write_text("old")
    result = await bench.call("StrReplaceFile", path="a", edit={"old": "old", "new": "new"})
    assert "changed since it was read" in result.message
    assert path.read_text() == "typed by the user"


async def test_parallel_edits_of_one_file_are_all_made_in_order(tmp_path: Path) -> None:
    bench = ToolBench(tmp_path, approval=RecordedApproval(tmp_path, mode="review"))
    (tmp_path / "a").write_text("".join(f"line {n};\n" for n in range(10)))
    edits = [{"old": f"line {n};", "new": f"LINE {n};"} for n in range(10)]
    results = await asyncio.gather(*(bench.call("StrReplaceFile", path="a", edit=edit) for edit in edits))
    assert [result.message for result in results] == ["Edited a (1 replacement)."] * 10
    assert (tmp_path / "a").read_text() == "".join(f"LINE {n};\n" for n in range(10))


class JudgingApproval(Approval):
    """Says when a file was judged that is to be edited; its rules may be others at each look."""

    def __init__(self, root: Path) -> None:
        self.rules = Rules()
        self.judged = asyncio.Event()
        where = PolicyContext(root=root)
        super().__init__(ask=nobody, rules=lambda: self.rules, trust="trusted", mode=lambda: "review", where=where)

    async def judge_to_edit(self, path: ResolvedPath, call: ToolCallContext) -> policy.Verdict:
        verdict = await super().judge_to_edit(path, call)
        self.judged.set()
        return verdict


async def test_an_edit_that_waited_for_another_goes_by_the_rules_of_now(tmp_path: Path) -> None:
    """Nothing of what the file holds shows by then, not even that it does not hold the text."""
    path = tmp_path / "a"
    path.write_text("old")
    approval = JudgingApproval(tmp_path)
    bench = ToolBench(tmp_path, approval=approval)
    async with asyncio.TaskGroup() as group, bench.files.locks.editing(path):
        edit = group.create_task(bench.call("StrReplaceFile", path="a", edit={"old": "no such", "new": "x"}))
        await approval.judged.wait()
        approval.rules = Rules((Rule("deny", "read", path=str(path)),))
    result = edit.result()
    assert result.is_error
    assert "a rule forbids reading" in result.message


# --- SetTodoList -----------------------------------------------------------------------------------------------------------


async def test_the_todo_list_is_set_read_and_cleared(bench: ToolBench) -> None:
    items = [{"title": "Find it", "status": "done"}, {"title": "Mend it", "status": "in_progress"}]
    result = await bench.call("SetTodoList", todos=items)
    assert [block.model_dump() for block in result.display] == [{"type": "todo", "items": tuple(items)}]
    assert output(await bench.call("SetTodoList")) == "- [done] Find it\n- [in_progress] Mend it"
    await bench.call("SetTodoList", todos=[])
    assert (await bench.call("SetTodoList")).message == "The todo list is empty."
    bad = await bench.call("SetTodoList", todos=[{"title": "x", "status": "soon"}])
    assert "`todos.0.status`" in bad.message
