"""The wheel brings what `sould setup` has editors load: nobody needs a copy of the repository."""

import os
import subprocess
import sys
import venv
from pathlib import Path
from sysconfig import get_path

import pytest

HOUSE = Path(__file__).parents[4]


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


def test_an_installed_sould_has_a_manual_page(installed: Path) -> None:
    text = (installed / "share/man/man1/sould.1").read_text("utf-8")
    assert ".SS sould login" in text


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; the libraries are those of the tests."""
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
    (site / "libraries.pth").write_text(get_path("purelib") + "\n")
    return home
