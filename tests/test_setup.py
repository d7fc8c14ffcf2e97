"""Setting up: locks that every installer reads alike, and failures in words that fit them."""

import asyncio
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import lock
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from soultest.website import Website, website

ROOT = Path(__file__).resolve().parent.parent
PIP = "pip-26.3-py3-none-any.whl"


def entries(text: str) -> list[str]:
    return re.findall(r"^([\w.-]+(?:\[[^]]+\])?)==", text, re.MULTILINE)


@pytest.mark.parametrize("name", lock.LOCKS)
def test_a_package_with_extras_is_pinned_without_them_too(name: str) -> None:
    named = entries((ROOT / name).read_text())
    assert named
    assert len(set(named)) == len(named)
    assert {entry.partition("[")[0] for entry in named} <= set(named)


def test_the_lock_has_each_set_of_extras_that_a_package_requires_as_that_package_spells_it() -> None:
    named = set(entries((ROOT / "requirements.lock").read_text()))
    locked = {canonicalize_name(entry) for entry in named}
    wanted = set[str]()
    for distribution in importlib.metadata.distributions():
        if canonicalize_name(distribution.name) in locked:
            for requirement in map(Requirement, distribution.requires or ()):
                if requirement.extras and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                    wanted.add(f"{canonicalize_name(requirement.name)}[{','.join(sorted(requirement.extras))}]")
    assert wanted
    assert wanted <= named


@pytest.mark.parametrize(
    ("given", "required", "made"),
    [
        ("a==1 \\\n    --hash=x\nb==2 \\\n    --hash=y\n", {}, ["a", "b"]),
        ("a[x]==1 \\\n    --hash=x\n    # via b\n", {}, ["a", "a[x]"]),
        ("a[x, y]==1 ; python_version > '3'", {}, ["a", "a[x,y]"]),
        ("a[x-y]==1", {"a": {("x_y",)}}, ["a", "a[x_y]"]),
        ("a[x, y]==1", {"a": {("x",), ("x", "y"), ("x", "z")}}, ["a", "a[x]", "a[x,y]"]),
        ("a[x]==1\n", {"b": {("x",)}}, ["a", "a[x]"]),
        ("a==1\na[x]==1\nb==2\n", {}, ["a", "a[x]", "b"]),
        ("A.b[x]==1", {"a-b": {("X",)}}, ["A.b", "A.b[X]"]),
    ],
)
def test_a_lock_of_uv_gets_what_older_installers_need(
    given: str, required: dict[str, set[tuple[str, ...]]], made: list[str]
) -> None:
    written = "\n".join(lock.with_extras(given, required))
    assert entries(written) == made
    assert "\n".join(lock.with_extras(written, required)) == written
    assert all(text in written for text in re.findall(r"==.*", given))


SAID = {
    "disk": [
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
        "npm error code ENOSPC",
    ],
    "certificate": [
        "FETCH There was a problem confirming the ssl certificate: [SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate\nABSENT",
        "npm error code DEPTH_ZERO_SELF_SIGNED_CERT",
    ],
    "proxy": [
        "FETCH connection error: (Caused by ProxyError('Cannot connect to proxy.', OSError('Tunnel connection failed: 407')))\nABSENT",
        "FETCH proxy connection error: ('Unable to connect to proxy', NewConnectionError('[Errno 111] Connection refused'))\nABSENT",
    ],
    "password": [
        "FETCH 401 Client Error: Unauthorized for url: http://i/pip/ - skipping\nABSENT",
        "npm error code E403",
    ],
    "changed": [
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
        "npm error code EINTEGRITY",
    ],
    "unpinned": [
        "ERROR: In --require-hashes mode, all requirements must have their versions pinned with ==. These do not:"
    ],
    "absent": [
        "ABSENT",
        "FETCH 404 Client Error: Not Found for url: http://i/pip/ - skipping\nABSENT",
        "npm error code ETARGET",
    ],
    "network": [
        "FETCH connection error: Failed to resolve IP address for 'i' ([Errno -2] Name or service not known) - skipping\nABSENT",
        "FETCH connection error: (Caused by NewConnectionError('Failed to establish a new connection: [Errno 111]'))\nABSENT",
        "FETCH connection error: the connection was closed without a reply from the server. - skipping\nABSENT",
        "FETCH i didn't respond within 3.0 seconds - skipping\nABSENT",
        "FETCH Max retries exceeded (Caused by ResponseError('too many 503 error responses')) - skipping\nABSENT",
        "ERROR: Could not install packages due to an OSError: ('Connection broken: IncompleteRead(6 bytes read)')",
        "npm error code ENOTFOUND",
        "npm error code E503",
    ],
    "compiler": [
        "ERROR: Failed building wheel for regex\nerror: command 'gcc' failed",
        "npm error gyp ERR! build error",
    ],
    "conflict": ["ERROR: Cannot install a==1 because these package versions have conflicting dependencies."],
    "unknown": ["something new"],
}
"""What pip 22.3 to 26.3 and npm 11 were seen to say, by its cause."""


@pytest.mark.parametrize(("word", "text"), [(word, text) for word, texts in SAID.items() for text in texts])
def test_the_cause_of_a_failure_is_read_from_what_pip_or_npm_says(word: str, text: str, tmp_path: Path) -> None:
    text = text.replace("FETCH", "2026-11-26T14:45:17,646 Could not fetch URL https://i/simple/pip/:")
    text = text.replace("ABSENT", "ERROR: No matching distribution found for pip==26.3")
    (tmp_path / "said").write_text(text + "\n")
    script = '. scripts/downloads.sh; cp "$0" "$log"; cause; advice "$(cause)"'
    done = subprocess.run(["sh", "-c", script, tmp_path / "said"], cwd=ROOT, check=True, capture_output=True, text=True)
    said, advice = done.stdout.splitlines()
    assert said == word
    assert (advice == "The reason is above.") == (word == "unknown")


@pytest.fixture(scope="module")
def unset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has an environment, but nothing in it yet."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "scripts", project / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "requirements.lock", project)
    subprocess.run([sys.executable, "-m", "venv", project / ".venv"], check=True)
    made = f"Python {sys.version_info.major}.{sys.version_info.minor}\n{project}\n"
    (project / ".venv" / ".made").write_text(made)  # so that each test need not make it anew
    return project


async def set_up(project: Path, index: str, **more: str) -> str:
    """What `make setup` says when it fails with this package index."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    pip = {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_NO_CACHE_DIR": "1", "PIP_FIND_LINKS": ""}
    process = await asyncio.create_subprocess_exec(
        project / "scripts" / "setup.sh",
        env={**environment, **pip, "PIP_INDEX_URL": index, "PYTHON": sys.executable, **more},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 1
    return said.decode()


async def test_an_index_that_cannot_be_reached_is_tried_twice_and_said(unset: Path) -> None:
    said = await set_up(unset, "http://127.0.0.1:9/")
    assert said.count("trying the download once more") == 1
    assert said.splitlines()[-1].startswith(
        "setup: pip could not be installed. The package index could not be reached."
    )


@pytest.mark.parametrize(
    ("index", "advice"),
    [
        ({}, "The package index does not have a version that the lock file names"),
        ({"/pip/": (401, b"")}, "The package index wants a name and a password."),
        ({"/pip/": (200, f"<a href=/{PIP}>{PIP}</a>".encode()), f"/{PIP}": (200, b"no")}, "A file that was downloaded is not"),
    ],
    ids=["absent", "password", "changed"],
)  # fmt: skip
async def test_what_an_index_answers_is_said(index: Mapping[str, tuple[int, bytes]], advice: str, unset: Path) -> None:
    async with website() as site:
        fill(site, index)
        said = await set_up(unset, site.url())
    assert said.splitlines()[-1].startswith(f"setup: pip could not be installed. {advice}")


def fill(site: Website, pages: Mapping[str, tuple[int, bytes]]) -> None:
    for path, (status, body) in pages.items():
        site.page(path, body, status=status)


async def test_a_python_without_ensurepip_is_told_what_to_install(unset: Path, tmp_path: Path) -> None:
    (tmp_path / "ensurepip.py").write_text("raise ImportError\n")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    said = await set_up(unset, "http://127.0.0.1:9/", PYTHON=str(python))
    package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
    assert said.strip().endswith(f"it has no ensurepip. On Debian and Ubuntu: apt-get install {package}")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("echo 'python: no such version' >&2; exit 127", "PYTHON could not be run; its words are above."),
        ('case "$2" in *print*) echo 3.9;; *) exit 1;; esac', "PYTHON is Python 3.9, and 3.11 or newer is needed."),
    ],
    ids=["broken", "old"],
)
async def test_a_python_that_does_not_serve_is_named(program: str, said: str, unset: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{program}\n")
    python.chmod(0o755)
    last = (await set_up(unset, "http://127.0.0.1:9/", PYTHON=str(python))).splitlines()[-1]
    assert last.startswith(f"setup: {said.replace('PYTHON', str(python))}")


async def test_a_folder_with_a_space_in_its_path_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "my projects"
    shutil.copytree(ROOT / "scripts", project / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    assert f"has a space, which the programs in .venv cannot have: {project}" in await set_up(project, "")


@pytest.mark.node
async def test_a_registry_of_npm_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x", "private": true, "dependencies": {"zod": "4.0.0"}}')
    process = await asyncio.create_subprocess_exec(
        ROOT / "scripts" / "npm.sh",
        str(tmp_path),
        env={**os.environ, "npm_config_registry": "http://127.0.0.1:9/", "npm_config_cache": str(tmp_path / "cache")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said = (await process.communicate())[0].decode()
    assert process.returncode == 1
    assert said.strip().endswith(
        "Check the network, the address of the index (pip config list, npm config list), and HTTPS_PROXY where you need a proxy."
    )
