"""Each lock of Python installs what it names, whatever the installer, and however many newer releases there are."""

import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from soultest.wheelhouse import as_version

ROOT: Final = Path(__file__).resolve().parents[2]
NEWER: Final = ("anyio", "click", "markdown-it-py", "pydantic", "typing-extensions")
"""Required by others without an upper bound, some of them with extras."""
NEWEST: Final = "9999.0"
INSTALLERS: Final = ("pip 22.3", "pip 23.2.1", "pip 24.2", "uv")
TOAD: Final = ("--python-version", "3.14", "--only-binary", ":all:")
"""Toad needs a newer Python than the one that runs here; an installer can be told so."""


class Quiet(SimpleHTTPRequestHandler):
    """The listing of a directory is a page of a package index (PEP 503)."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name it has in http.server
        """Nothing."""


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(each) for each in command], check=False, capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def locks() -> Mapping[str, Path]:
    """All of them."""
    return {
        "development": ROOT / "requirements.lock",
        "extension": ROOT / "scripts" / "runtime.lock",
        "toad": ROOT / "tests" / "editors" / "requirements.lock",
    }


@pytest.fixture(scope="session")
def index(locks: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The address of an index with what the locks name, releases that are newer than those of `NEWER`, and the pips."""
    wheels, simple = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("simple")
    download = partial(run, sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels)
    download("--require-hashes", "-r", locks["development"])
    download("--require-hashes", *TOAD, "-r", locks["toad"])
    for installer in INSTALLERS:
        if installer.startswith("pip "):
            download(installer.replace(" ", "=="))
    for wheel in list(wheels.iterdir()):
        project = simple / canonicalize_name(wheel.name.partition("-")[0])
        project.mkdir(exist_ok=True)
        wheel.rename(project / wheel.name)
        if project.name in NEWER:
            as_version(NEWEST, project / wheel.name)
    assert all(list((simple / name).glob(f"*-{NEWEST}-*")) for name in NEWER)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(simple))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_what_is_tried_here_is_what_the_extension_installs(locks: Mapping[str, Path]) -> None:
    assert named(locks["extension"]).items() <= named(locks["development"]).items()


@pytest.mark.parametrize("installer", INSTALLERS)
@pytest.mark.parametrize("name", ["development", "extension", "toad"])
def test_a_lock_installs_what_it_names(
    name: str, installer: str, locks: Mapping[str, Path], index: str, tmp_path: Path
) -> None:
    lock, place = locks[name], tmp_path / "environment"
    run(sys.executable, "-m", "venv", place)
    python = place / "bin" / "python"
    alone = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index, "PIP_FIND_LINKS": "", "HOME": str(tmp_path)}
    if installer == "uv":
        uv = Path(sys.executable).parent / "uv"
        command = [uv, "pip", "install", "--quiet", "--no-config", "--index-url", index, "--python", python]
    else:
        run(python, "-m", "pip", "install", "--quiet", installer.replace(" ", "=="), **alone)
        assert installer in run(python, "-m", "pip", "--version")
        command = [python, "-m", "pip", "install", "--quiet", "--no-compile"]
    packages = next((place / "lib").iterdir()) / "site-packages"
    if name == "toad":
        packages = tmp_path / "toad"
        command += ["--target", packages, *TOAD, *([] if installer == "uv" else ["--ignore-requires-python"])]

    run(*command, "--require-hashes", "-r", lock, **alone)

    wanted = named(lock)
    assert wanted
    assert {package: version for package, version in installed(packages).items() if package in wanted} == wanted
    if name != "toad":
        run(sys.executable, "-m", "pip", "--python", python, "check")


def named(lock: Path) -> dict[str, str]:
    """The version of each package that the lock has for this machine."""
    entries = (Requirement(line) for line in re.findall(r"^([^\s#][^\\\n]*?) *\\?$", lock.read_text(), re.MULTILINE))
    here = [entry for entry in entries if entry.marker is None or entry.marker.evaluate()]
    return {canonicalize_name(entry.name): str(entry.specifier).removeprefix("==") for entry in here}


def installed(packages: Path) -> dict[str, str]:
    """The version of each package in a directory of packages."""
    pairs = (about.name.removesuffix(".dist-info").rsplit("-", 1) for about in packages.glob("*.dist-info"))
    return {canonicalize_name(name): version for name, version in pairs}
