"""Paths as models write them: another spelling is taken for the file it stands for, all else is answered with the nearest."""

from pathlib import Path

import pytest

from sould.agents.permissions import policy
from sould.agents.wire.messages import ToolReturn
from soultest.bench.tools import RecordedApproval, ToolBench, output

MARK = "     1\tmarker\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    for name in (
        "src/app.py",
        "src/util.py",
        "My Notes.md",
        "Screenshot 1\u202fAM.txt",
        "re\u0301sume\u0301/a\u2019b.md",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("marker\n")
    return root


@pytest.fixture
def bench(project: Path) -> ToolBench:
    return ToolBench(project)


def asked(bench: ToolBench) -> list[policy.Action]:
    assert isinstance(bench.approval, RecordedApproval)
    return [action for action, *_ in bench.approval.asked]


def refused(result: ToolReturn) -> str:
    assert result.is_error
    return result.message


@pytest.mark.parametrize(
    "spelling",
    [
        *("@src/app.py", "`src/app.py`", "'src/app.py'", " src/app.py\n", "<src/app.py>", "src\\app.py"),
        *("src/app.py:1", "src/app.py:12:5", "src/app.py:3-9", "src/app.py:1:", "src/app.py#L10", "`@src/app.py:1`"),
        *("file://{p}/src/app.py", "file:{p}/src/app.py", "file://{p}/src/app.py#L3", "@{p}/src/app.py"),
        *("My\\ Notes.md", "file://{p}/My%20Notes.md", "Screenshot 1 AM.txt", "r\u00e9sum\u00e9/a'b.md"),
    ],
)
async def test_another_spelling_is_taken_for_the_file_that_it_stands_for(
    bench: ToolBench, project: Path, spelling: str
) -> None:
    before = sorted(project.rglob("*"))
    path = spelling.replace("{p}", str(project))
    assert output(await bench.call("ReadFile", path=path)) == MARK
    assert (await bench.call("Grep", pattern="marker", path=path)).message == "1 file with matches."
    edited = await bench.call("StrReplaceFile", path=path, edit={"old": "marker", "new": "marked"})
    assert not edited.is_error
    written = await bench.call("WriteFile", path=path, content="marked\n")
    assert "already holds exactly this" in written.message
    assert sorted(project.rglob("*")) == before


async def test_what_exists_as_it_is_written_comes_first(bench: ToolBench, project: Path) -> None:
    pairs = {"@types/x.ts": "types/x.ts", "a.py:1": "a.py", "`b`": "b", "c\\d": "c/d", "e\u00e9": "ee\u0301"}
    for name, other in pairs.items():
        for each, text in ((name, "marker\n"), (other, "other\n")):
            (project / each).parent.mkdir(exist_ok=True)
            (project / each).write_text(text)
    for name in pairs:
        assert output(await bench.call("ReadFile", path=name)) == MARK
    await bench.call("WriteFile", path="@types/new.ts", content="x")
    assert (project / "@types/new.ts").exists()
    assert not (project / "types/new.ts").exists()


@pytest.mark.parametrize(
    ("spelling", "made"),
    [
        ("@src/new.py", "src/new.py"),
        ("`new.py`", "new.py"),
        ("src\\new.py", "src/new.py"),
        ("file://{p}/new/a.py", "new/a.py"),
        ("@new.py", "@new.py"),
        ("new:1", "new:1"),
        ("src/App.py", "src/App.py"),
    ],
)
async def test_a_new_file_is_made_where_its_directory_is(
    bench: ToolBench, project: Path, spelling: str, made: str
) -> None:
    before = set(project.rglob("*"))
    await bench.call("WriteFile", path=spelling.replace("{p}", str(project)), content="x")
    assert {path for path in set(project.rglob("*")) - before if path.is_file()} == {project / made}


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("src/App.py", "`src/app.py`"),
        ("app.py", "`src/app.py`"),
        ("source/app.py", "`src/app.py`"),
        ("a/src/app.py", "`src/app.py`"),
        ("src/utils.py", "`src/util.py`"),
    ],
)
async def test_of_what_does_not_exist_the_nearest_is_named(bench: ToolBench, path: str, near: str) -> None:
    said = f"{path} does not exist; did you mean {near}?"
    assert refused(await bench.call("ReadFile", path=path)) == said
    assert refused(await bench.call("Grep", pattern="x", path=path)) == said
    assert refused(await bench.call("StrReplaceFile", path=path, edit={"old": "a", "new": "b"})) == said
    assert refused(await bench.call("ReadFile", path="nothing/like/it")) == "nothing/like/it does not exist."


async def test_a_project_taken_for_the_uppermost_directory_is_answered_without_a_question(
    bench: ToolBench, project: Path
) -> None:
    said = f"/src/app.py does not exist; did you mean `src/app.py`? Paths are relative to {project}."
    assert refused(await bench.call("ReadFile", path="/src/app.py")) == said
    assert refused(await bench.call("WriteFile", path="/src/app.py", content="x")) == said
    assert refused(await bench.call("Grep", pattern="x", path="/src/app.py")) == said
    assert "did you mean `src/app.py`" in refused(await bench.call("ReadFile", path="/workspace1/src/app.py"))
    assert asked(bench) == []


async def test_a_corrected_path_is_judged_as_any_other(bench: ToolBench, project: Path, tmp_path: Path) -> None:
    outside = tmp_path.resolve() / "outside.txt"
    outside.write_text("x")
    (project / ".env").write_text("KEY=1")
    (project / "link").symlink_to(outside)
    for path in (f"file://{outside}", f"`{outside}`", "@.env"):
        await bench.call("ReadFile", path=path)
    paths = [action.path.path for action in asked(bench) if isinstance(action, policy.ReadFile)]
    assert paths[:2] == [outside, outside]
    assert set(paths[2:]) == {project / ".env"}
    assert refused(await bench.call("ReadFile", path="@link")) == "@link does not exist; did you mean `link`?"
    assert "leads out of the project" in refused(await bench.call("ReadFile", path="`../outside.txt`"))


async def test_links_that_only_look_the_same_show_nothing_of_what_they_lead_to(
    bench: ToolBench, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "there\u2019s.md").write_text("x")
    (project / "cle\u0301").symlink_to(tmp_path / "elsewhere")
    for name in ("there's.md", "nothing's.md"):
        assert refused(await bench.call("ReadFile", path=f"cl\u00e9/{name}")) == f"cl\u00e9/{name} does not exist."
    assert asked(bench) == []


async def test_nothing_shows_of_what_is_outside(bench: ToolBench, project: Path, tmp_path: Path) -> None:
    """Whether something is there is asked about also where a path of the project ends in the same way."""
    there, not_there = tmp_path.resolve() / "other/src/app.py", tmp_path.resolve() / "others/src/app.py"
    there.parent.mkdir(parents=True)
    there.write_text("x")
    for path in (there, not_there, f"@{there}", f"@{not_there}"):
        await bench.call("ReadFile", path=str(path))
    assert [action.path.path for action in asked(bench)[:2] if isinstance(action, policy.ReadFile)] == [
        there,
        not_there,
    ]
    messages = {(await bench.call("ReadFile", path=f"@{path}")).message for path in (there, not_there)}
    assert {message.replace(str(there), "").replace(str(not_there), "") for message in messages} == {
        "@ does not exist; did you mean `src/app.py`?"
    }
