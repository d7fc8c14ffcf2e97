"""The wheel brings what `sould setup` has editors load: nobody needs a copy of the repository, and no extra."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from sysconfig import get_path

import pytest

HOUSE = Path(__file__).parents[4]
EXTRAS = ("trafilatura",)
TWO_PAGES = """\
import asyncio, sys
from pathlib import Path
from sould.agents.wire.messages import ToolResult
from soultest.bench import Watcher, call, finish, make_bench
from soultest.website import website

async def main() -> None:
    async with website() as site:
        site.page("/a", b"<nav>Menu</nav><article><p>Fences</article>")
        fetch = call("FetchURL", url=site.url("/a"))
        bench = make_bench(Path(sys.argv[1]), {"tools": {"fetch_private_hosts": ["127.0.0.1"]}}, [fetch, fetch, "text: ok"])
        async with bench.running():
            watcher = Watcher(await bench.new("full"))
            await finish(watcher.session, "go")
        for result in watcher.of(ToolResult):
            print(repr(result.return_value.output), result.return_value.message)

asyncio.run(main())
"""


@pytest.mark.parametrize(("editor", "file"), [("neovim", "nvim/lua/sould/init.lua"), ("emacs", "emacs/sould.el")])
def test_an_installed_sould_names_its_own_plugins(installed: Path, tmp_path: Path, editor: str, file: str) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    command = [installed / "bin" / "sould", "setup", editor, "--dry-run"]
    said = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    plugins = installed / "share" / "sould"
    assert (plugins / file).is_file()
    assert f'"{plugins / file.split("/")[0]}"' in said.stdout
    assert f'"{installed / "bin" / "sould"}"' in said.stdout


def test_an_installed_sould_stands_in_for_kimi_cli(installed: Path, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    said = subprocess.run([installed / "bin" / "sould-kimi", "info", "--json"], env=environment, capture_output=True)
    assert (said.returncode, said.stderr) == (0, b"")
    assert said.stdout.startswith(b'{"kimi_cli_version"')


def test_an_installed_sould_has_a_manual_page(installed: Path) -> None:
    text = (installed / "share/man/man1/sould.1").read_text("utf-8")
    assert ".SS sould login" in text


def test_pages_are_read_whole_without_the_extra_and_it_is_said_once_how_to_get_it(
    installed: Path, tmp_path: Path
) -> None:
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    command = [installed / "bin" / "sould", "doctor"]
    said = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True).stdout
    [finding] = [line for line in said.splitlines() if "Web pages" in line]
    assert finding.startswith("✓")
    install = f"{installed / 'bin' / 'python'} -m pip install 'lxml-html-clean>=0.4' 'trafilatura>=2.3'"
    assert install in said.replace("\n", " ")

    python = [installed / "bin" / "python", "-c", TWO_PAGES, tmp_path]
    environment |= {"PYTHONPATH": str(HOUSE / "tests" / "support")}
    told = subprocess.run(
        python, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [line.startswith(r"'Menu\n\nFences'") for line in told] == [True, True]
    assert [install in line for line in told] == [True, False]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; the libraries are those of the tests, without what extras bring."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=HOUSE,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    home = folder / "venv"
    venv.create(home)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "uv", "pip", "install", "--python", python, "--no-config"]
    subprocess.run([*install, "--quiet", "--no-deps", "--offline", "--no-index", wheel], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    for library in Path(get_path("purelib")).iterdir():
        if (
            not (site / library.name).exists()
            and library.suffix != ".pth"
            and not library.name.startswith((*EXTRAS, "sould-"))
        ):
            (site / library.name).symlink_to(library)
    return home
