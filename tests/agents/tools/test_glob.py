"""Finding files by name: the patterns models write, in bounded time whatever the pattern."""

import fnmatch
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.tools.globmatch import GlobWalk, expand_braces, name_matches, parse
from soultest.bench.tools import ToolBench, output


@pytest.fixture
def bench(tmp_path: Path) -> ToolBench:
    for name in [
        "src/a.py",
        "src/deep/er/b.py",
        "src/deep/c.ts",
        "src/x1.txt",
        "src/.hidden",
        ".git/config",
        "README.md",
    ]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "src" / "loop").symlink_to(tmp_path)
    return ToolBench(tmp_path)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("src/**/*.py", "src/a.py src/deep/er/b.py"),
        ("src/*", "src/.hidden src/a.py src/deep src/loop src/x1.txt"),
        ("*", ".git README.md src"),
        ("src/deep/**", "src/deep src/deep/c.ts src/deep/er src/deep/er/b.py"),
        ("src/**/*.{py,ts}", "src/a.py src/deep/c.ts src/deep/er/b.py"),
        ("src/[a-c].p?", "src/a.py"),
        ("src/[!a]*.txt", "src/x1.txt"),
        (".git/*", ".git/config"),
        ("./src//a.py", "src/a.py"),
        ("s*/**/er/**/b*", "src/deep/er/b.py"),
        ("nothing/*", ""),
    ],
)
async def test_patterns_find_what_they_say(bench: ToolBench, pattern: str, found: str) -> None:
    assert output(await bench.call("Glob", pattern=pattern)).split() == found.split()


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("app/[slug]/*.tsx", "app/[slug]/page.tsx"),
        ("app/[[...all]]/*", "app/[[...all]]/page.tsx"),
        ("app/[ab]/*", "app/a/page.tsx"),
        ("*.md,src/*.py", "README.md src/a.py"),
        ("*.toml, app/[slug]/*", "app/[slug]/page.tsx"),
        ("src/{a.py,x1.txt},*.md", "README.md src/a.py src/x1.txt"),
        ("one,two.csv", "one,two.csv"),
    ],
)
async def test_a_pattern_that_fits_nothing_as_it_is_written_is_taken_as_it_may_be_meant(
    bench: ToolBench, tmp_path: Path, pattern: str, found: str
) -> None:
    for name in (
        "app/[slug]/page.tsx",
        "app/[[...all]]/page.tsx",
        "app/[ab]/page.tsx",
        "app/a/page.tsx",
        "one,two.csv",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert output(await bench.call("Glob", pattern=pattern)).split() == found.split()


async def test_what_git_ignores_does_not_take_the_place_of_other_files(bench: ToolBench, tmp_path: Path) -> None:
    for number in range(1100):
        (tmp_path / "build" / f"{number:04}").mkdir(parents=True)
        (tmp_path / "build" / f"{number:04}" / "x.py").touch()
    (tmp_path / ".gitignore").write_text("build/\n")
    found = output(await bench.call("Glob", pattern="*/**/*.py")).split()
    assert found[:3] == ["src/a.py", "src/deep/er/b.py", "build/0000/x.py"]
    assert len(found) == 1000
    assert output(await bench.call("Glob", pattern="build/0007/*.py")).split() == ["build/0007/x.py"]


async def test_directories_can_be_left_out_and_a_start_given(bench: ToolBench) -> None:
    result = await bench.call("Glob", pattern="*", directory="src", include_dirs=False)
    assert output(result).split() == ["src/.hidden", "src/a.py", "src/loop", "src/x1.txt"]
    assert result.message == "4 matches for `*`."


async def test_a_pattern_for_everything_is_refused_with_the_top_level(bench: ToolBench) -> None:
    result = await bench.call("Glob", pattern="**/*.py")
    assert result.is_error
    assert result.output == ".git/\nREADME.md\nsrc/"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pattern": "../*"}, "cannot go up"),
        ({"pattern": "/etc/*"}, "relative"),
        ({"pattern": "*", "directory": "/etc"}, "outside the project"),
        ({"pattern": "*", "directory": "README.md"}, "not a directory"),
        ({"pattern": "{a,b}" * 8}, "alternatives"),
        ({"pattern": "/"}, "relative"),
        ({"pattern": "."}, "empty"),
    ],
)
async def test_what_cannot_be_searched_is_said(bench: ToolBench, arguments: dict[str, str], said: str) -> None:
    result = await bench.call("Glob", **arguments)
    assert result.is_error
    assert said in result.message


async def test_at_most_a_thousand_results_come_back(bench: ToolBench, tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for number in range(1100):
        (tmp_path / "many" / f"{number:04}").touch()
    result = await bench.call("Glob", pattern="many/*")
    assert len(output(result).split()) == 1000
    assert "more than 1000" in result.message


def test_a_bomb_of_stars_takes_bounded_steps(tmp_path: Path) -> None:
    """Every directory is listed once, whatever the pattern; a regular expression would take for ever here."""
    deep = tmp_path
    for _ in range(12):
        deep /= "a" * 60
        deep.mkdir()
    pattern = "a*/" + "**/*a*a*a*a*a*a*a*a*b/" * 10 + "x"
    walk = GlobWalk.of(tmp_path, [pattern], limit=10, seconds=30, include_dirs=True)
    walk.run()
    assert (walk.found, walk.ended) == ([], "complete")
    assert not name_matches(parse("*a" * 40 + "b")[0], "a" * 250)


def test_a_walk_stops_when_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    walk = GlobWalk.of(tmp_path, ["*"], limit=10, seconds=-1, include_dirs=True)
    walk.run()
    assert walk.ended == "stopped"


@given(st.text(alphabet="ab*?[]!-", min_size=1, max_size=8), st.text(alphabet="ab-[]!", min_size=1, max_size=8))
def test_a_name_matches_as_in_a_shell(pattern: str, name: str) -> None:
    if pattern == "**" or "**" in pattern or "[" in pattern:
        return  # classes are checked above; ours differ from fnmatch in corner cases no one writes
    assert name_matches(parse(pattern)[0], name) == fnmatch.fnmatchcase(name, pattern)


def test_braces_expand_as_in_a_shell() -> None:
    assert expand_braces("a{b,c{d,e}}f") == ["abf", "acdf", "acef"]
    assert expand_braces("{a") == ["{a"]
    assert expand_braces("a{b}") == ["a{b}"]
