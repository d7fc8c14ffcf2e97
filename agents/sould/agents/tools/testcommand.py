"""How a project's tests are run, as its own files say it: a target, a script, or the configuration of a known runner.

Runs nothing. Files are read through `CallFiles` only, and those that lie outside the project by way of a link are passed
over, so that nobody is asked about them.
"""

import json
import posixpath
import re
import shlex
from collections.abc import Iterable
from typing import Any, Final, cast

from msgspec import Struct

from sould.agents.base.workspace import WorkspaceError
from sould.agents.permissions.callfiles import CallFiles

MAKEFILES: Final = ("GNUmakefile", "makefile", "Makefile")
PYTEST_FILES: Final = {
    "pyproject.toml": "pytest",
    "pytest.ini": "",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
    "conftest.py": "",
    "tests/conftest.py": "",
}
"""Files that tell of pytest, with the text that they hold then."""
LOOKED_FOR: Final = (
    f"a target `test` in a Makefile, a script `test` in package.json, pytest in {', '.join(PYTEST_FILES)}, "
    "Cargo.toml, go.mod"
)

_TARGET = re.compile(r"^(?:[\w.-]+[ \t]+)*test(?:[ \t]+[\w.-]+)*[ \t]*::?(?!=)", re.MULTILINE)
_NO_TESTS = "no test specified"
"""What `npm init` writes in place of a script."""
_MANAGERS: Final = {
    "pnpm-lock.yaml": "pnpm test",
    "yarn.lock": "yarn test",
    "bun.lock": "bun run test",
    "bun.lockb": "bun run test",
}
_NAMED_TESTS: Final = {
    r"\b(?:jest|vitest)\b": "-t",
    r"\bmocha\b": "--grep",
    r"\bnode\b.*--test\b": "--test-name-pattern",
}
"""What a script runs, and the runner's option for the names of tests."""
_PYTHONS: Final = {
    ".venv/pyvenv.cfg": ".venv/bin/python -m pytest",
    "venv/pyvenv.cfg": "venv/bin/python -m pytest",
    "uv.lock": "uv run pytest",
    "poetry.lock": "poetry run pytest",
}
_CARGO_TEST = re.compile(r"(?:(?P<crate>.+)/)?tests/(?P<name>[^/]+)\.rs")


class NoTestCommandError(Exception):
    """There is no command, or none that runs only what is wanted: a sentence for the model."""


class Wanted(Struct, frozen=True):
    """Which tests: all of them where both are empty."""

    path: str = ""
    filter: str = ""

    @property
    def all(self) -> bool:
        """Whether it is every test."""
        return not (self.path or self.filter)


async def find_command(files: CallFiles, wanted: Wanted) -> str:
    """The line that runs the wanted tests, by the first of the project's files that can say it.

    Raises:
        NoTestCommandError
    """
    told: list[str] = []
    for finder in (_make, _node, _pytest, _cargo, _go):
        try:
            line = await finder(files, wanted)
        except NoTestCommandError as error:
            told.append(str(error))
            continue
        if line is not None:
            return line
    raise NoTestCommandError(" ".join(told) or f"No test command was found. Looked for {LOOKED_FOR}. Give `command`.")


async def _make(files: CallFiles, wanted: Wanted) -> str | None:
    for name in MAKEFILES:
        text = await _text(files, name)
        if text is None:
            continue
        if not _TARGET.search(text):
            return None  # make reads no other
        if not wanted.all:
            raise NoTestCommandError("`make test` takes neither `path` nor `filter`: give `command`, or run all tests.")
        return "make test"
    return None


async def _node(files: CallFiles, wanted: Wanted) -> str | None:
    script = _test_script(await _text(files, "package.json") or "")
    if not script or _NO_TESTS in script:
        return None
    runs = "npm test"
    for lock, command in _MANAGERS.items():
        if await _is_there(files, lock):
            runs = command
            break
    if wanted.all:
        return runs
    option = next((option for runner, option in _NAMED_TESTS.items() if re.search(runner, script)), None)
    if wanted.filter and option is None:
        raise NoTestCommandError(
            f"How `{runs}` is told the names of tests is not known: give `command`, or `path` alone."
        )
    words = ([f"{option}={wanted.filter}"] if option else []) if wanted.filter else []
    return _line(runs, [*(["--"] if runs == "npm test" else []), *words, *_some(wanted.path)])


async def _pytest(files: CallFiles, wanted: Wanted) -> str | None:
    for name, mark in PYTEST_FILES.items():
        text = await _text(files, name)
        if text is not None and mark in text:
            break
    else:
        return None
    runs = "python3 -m pytest"
    for name, command in _PYTHONS.items():
        if await _is_there(files, name):
            runs = command
            break
    return _line(runs, [*_some(wanted.path), *(["-k", wanted.filter] if wanted.filter else [])])


async def _cargo(files: CallFiles, wanted: Wanted) -> str | None:
    if not await _is_there(files, "Cargo.toml"):
        return None
    words: list[str] = []
    if file := _CARGO_TEST.fullmatch(wanted.path):
        crate = file["crate"]
        words = [*(["--manifest-path", f"{crate}/Cargo.toml"] if crate else []), "--test", file["name"]]
    elif wanted.path.endswith(".rs"):
        raise NoTestCommandError(
            f"`cargo test` runs the tests of a crate or of a file in `tests`, not of {wanted.path}: name them with `filter`."
        )
    elif wanted.path:
        words = ["--manifest-path", posixpath.join(wanted.path, "Cargo.toml")]
    return _line("cargo test", [*words, *_some(wanted.filter)])


async def _go(files: CallFiles, wanted: Wanted) -> str | None:
    if not await _is_there(files, "go.mod"):
        return None
    path = posixpath.normpath(wanted.path or ".")
    place = path if posixpath.isabs(path) else "." if path == "." else f"./{path}"
    place = posixpath.dirname(place) if path.endswith(".go") else f"{place}/..."
    return _line("go test", [place, *(["-run", wanted.filter] if wanted.filter else [])])


def _test_script(text: str) -> str:
    try:
        found: Any = json.loads(text)
    except ValueError:
        return ""
    for key in ("scripts", "test"):
        found = cast("dict[str, Any]", found).get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""


def _line(runs: str, words: Iterable[str]) -> str:
    return " ".join((runs, *map(shlex.quote, words)))


def _some(word: str) -> list[str]:
    return [word] if word else []


async def _text(files: CallFiles, name: str) -> str | None:
    """The text of a file of the project; None when it has none."""
    try:
        found = files.resolve(name)
        return (await files.known_text(found)).text if found.inside else None
    except WorkspaceError:
        return None


async def _is_there(files: CallFiles, name: str) -> bool:
    try:
        found = files.resolve(name)
        return found.inside and await files.admit(found, "Read {}") == "file"
    except WorkspaceError:
        return False
