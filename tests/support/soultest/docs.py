"""Following a page of docs/ as a new user would: a fresh HOME, the installed `sould`, a daemon that starts itself.

    walk = follow(DOCS / "skills.md", sould)

`soultest.docpage` says how pages are read. All commands of a page are run by one bash with `set -e`, so directories and
variables are kept. The model is the scripted one: a page that says nothing of a configuration gets one with its first
`model:`. A page that is not as it says fails with its line, the command, what was expected and what came.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from sould.daemon.identity import read_owner
from sould.daemon.paths import Paths
from soultest.daemon import Sould
from soultest.docpage import Command, File, PageError, Script, Shows, read_page
from soultest.processes import marked
from soultest.world import SOULD

_SECONDS = 40.0
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUESTION = re.compile(r"\[(?:y|1|y/N|Y/n)\][^\n]*", re.MULTILINE)
_XDG = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")

# $1: the directory of the blocks, $2 and $3: descriptors for steps and for their ends. Blocks do not see the latter,
# so that what they leave in the background does not hold them open
_DRIVER = """
exec 8<"/dev/fd/$2" 9>"/dev/fd/$3"
eval "exec $2<&- $3>&-"
work=$1; shift 3
trap 'printf "%s %s" "$LINENO" "$BASH_COMMAND" >"$work/failed"' ERR
set -e
while read -r -u 8 kind number; do
  code=0
  case $kind in
    plain) . "$work/$number" </dev/null >"$work/$number.out" 2>&1 8<&- 9>&- ;;
    typed) . "$work/$number" >&0 2>&0 8<&- 9>&- ;;
    fails) set +e; (set -e; . "$work/$number") </dev/null >"$work/$number.out" 2>&1 8<&- 9>&-; code=$?; set -e ;;
  esac
  printf '%s\\t%s\\t%s\\n' "$code" "$PWD" "$HOME" >&9
done
"""

_CONFIG = """\
default_model = "rehearsal"

[models.rehearsal]
provider = "script"
model = "script"
max_context_size = 100000

[providers.script]
type = "_scripted_echo"
env = {{ KIMI_SCRIPTED_ECHO_SCRIPTS = {scripts} }}
"""


@dataclass
class Walk:
    """Somebody on their way through a page. `shown` is all that the commands printed."""

    page: Path
    sould: Sould
    shown: str = ""
    _last: str = ""

    def go(self) -> None:
        """All steps of the page."""
        steps = read_page(self.page)
        with _Shell(self.sould) as shell:
            for step in steps:
                match step:
                    case Command():
                        self._run(step, shell)
                    case File():
                        self._write(step, shell)
                    case Script():
                        self._script(step)
                    case Shows():
                        if not re.search(_pattern(f"…{step.text}…"), _trimmed(self._last)):
                            raise PageError(f"{self.page}:{step.line}: no {step.text!r} in what came:\n{self._last}")

    def _run(self, command: Command, shell: "_Shell") -> None:
        code, printed = shell.run(command)
        self._last = printed
        self.shown += printed
        if code != command.exit:
            where, what = shell.failed(command)
            raise PageError(
                f"{self.page}:{where}: `{what}` ended with {code}, expected was {command.exit}. It printed:\n{printed}"
            )
        if command.expected is not None and not re.fullmatch(_pattern(command.expected), _trimmed(printed)):
            raise PageError(
                f"{self.page}:{command.line}: `{command.text.strip()}` printed\n{printed}\nexpected was\n{command.expected}"
            )

    def _write(self, file: File, shell: "_Shell") -> None:
        path = shell.home / file.path[2:] if file.path.startswith("~/") else shell.cwd / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        before = path.read_text() + "\n" if file.append and path.exists() else ""
        path.write_text(before + file.text)

    def _script(self, script: Script) -> None:
        scripts = self.sould.world.root / "scripts.txt"
        scripts.write_text(script.text)
        config = Path(self.sould.paths.config) / "config.toml"
        if not config.exists():
            config.parent.mkdir(parents=True, exist_ok=True)
            config.write_text(_CONFIG.format(scripts=json.dumps(str(scripts))))


def follow(page: Path, sould: Sould) -> Walk:
    """Follow a page to its end in a fresh world. Directories are the usual ones below HOME, as pages say.

    Raises:
        PageError: something is not as the page says.
    """
    for name in _XDG:
        sould.environment.pop(name)
    sould.environment["HTTPS_PROXY"] = "http://127.0.0.1:9"  # `sould login` tries keys
    sould.environment["PATH"] = f"{SOULD.parent}:{sould.environment['PATH']}"
    sould.paths = Paths(sould.environment)
    walk = Walk(page, sould)
    walk.go()
    return walk


def _trimmed(text: str) -> str:
    return "".join(line.rstrip() + "\n" for line in text.strip().splitlines())


def _pattern(text: str) -> str:
    """A regular expression for expected text: `…` or `...` stands for anything in a line, alone in one for any lines."""
    return "".join(_line_pattern(line) for line in _trimmed(text).splitlines())


def _line_pattern(line: str) -> str:
    if line.strip() in ("…", "..."):
        return r"(?:.*\n)*?"
    return ".*?".join(re.escape(piece) for piece in re.split(r"…|\.\.\.", line)) + r"\n"


def _end_daemon(lock: Path) -> None:
    """End the daemon that holds the lock, by its id."""
    found = read_owner(str(lock))
    if found is None or not found[0].alive():
        return
    os.kill(found[0].pid, signal.SIGTERM)
    deadline = time.monotonic() + 6
    while found[0].alive() and time.monotonic() < deadline:
        time.sleep(0.005)
    if found[0].alive():
        os.kill(found[0].pid, signal.SIGKILL)


@dataclass
class _Shell:
    """One bash for a page, at a terminal nobody looks at, except in steps that type."""

    sould: Sould
    cwd: Path = field(init=False)
    home: Path = field(init=False)
    _work: "tempfile.TemporaryDirectory[str]" = field(init=False)
    _number: int = 0

    def __enter__(self) -> Self:
        self.cwd, self.home = self.sould.workspace, self.sould.world.root
        self._work = tempfile.TemporaryDirectory(prefix="docs")
        self._screen, theirs = pty.openpty()
        theirs_steps, self._steps = os.pipe()
        self._ends, theirs_ends = os.pipe()
        # out of the way of the driver's own numbers
        steps, ends = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 64) for each in (theirs_steps, theirs_ends))
        self._bash = subprocess.Popen(
            ["bash", "-c", _DRIVER, "bash", self._work.name, str(steps), str(ends)],
            stdin=theirs,
            cwd=self.cwd,
            env=self.sould.environment,
            pass_fds=(steps, ends),
            start_new_session=True,
        )
        for descriptor in (theirs, theirs_steps, theirs_ends, steps, ends):
            os.close(descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._steps)
        self._bash.kill()
        self._bash.wait()
        for pid in marked(self.sould.mark):  # what the page left in the background
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for lock in self.sould.world.root.rglob("daemon.lock"):  # a page may have moved its home
            _end_daemon(lock)
        os.close(self._screen)
        os.close(self._ends)
        self._work.cleanup()

    def run(self, command: Command) -> tuple[int, str]:
        """Run to the end; the exit code and what was printed."""
        self._number += 1
        block = Path(self._work.name) / str(self._number)
        block.write_text(command.text + "\n")
        kind = "fails" if command.exit else "plain" if command.answers is None else "typed"
        os.write(self._steps, f"{kind} {self._number}\n".encode())
        code, screen = self._until_end(list(command.answers or ()))
        output = block.with_suffix(".out")
        printed = output.read_text(errors="replace") if kind != "typed" else screen
        return code, _ANSI.sub("", printed.replace("\r\n", "\n"))

    def failed(self, command: Command) -> tuple[int, str]:
        """The line in the page and the command that failed."""
        with suppress(FileNotFoundError, ValueError):
            number, _, what = (Path(self._work.name) / "failed").read_text().partition(" ")
            return command.line + int(number) - 1, what
        return command.line, command.text.strip()

    def _until_end(self, answers: list[str]) -> tuple[int, str]:
        """Read the terminal, type the answers, and wait for the end of the step or of the shell."""
        seen, end, asked = "", b"", 0
        deadline = time.monotonic() + _SECONDS
        while not end.endswith(b"\n"):
            ready, _, _ = select.select([self._ends, self._screen], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return 124, f"{seen}\n(not done after {_SECONDS:.0f} s)"
            if self._screen in ready:
                seen += self._read_screen()
                questions = len(_QUESTION.findall(seen))
                if questions > asked and answers:
                    asked = questions
                    os.write(self._screen, answers.pop(0).encode() + b"\n")
            if self._ends in ready:
                part = os.read(self._ends, 4096)
                if not part:
                    return self._bash.wait(), seen
                end += part
        code, cwd, home = end.decode().rstrip("\n").split("\t")
        self.cwd, self.home = Path(cwd), Path(home)
        return int(code), seen

    def _read_screen(self) -> str:
        try:
            return os.read(self._screen, 65536).decode(errors="replace")
        except OSError:  # EIO: the shell is gone, which its other descriptor tells
            return ""
