"""Commands and daemons that are real processes, but forked from one that has imported the program already.

`sould` costs half a second of a processor before it does anything, a daemon a whole one, most of it for imports. What a
test says about output, exit codes, sockets or files does not depend on them. A test about the start itself, a terminal,
signals or several versions takes the installed program. Never patches anything: a fork runs `bin/sould` from its first line.
"""

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

from soultest import preparedmain

STARTED = 40.0
"""Seconds until a daemon listens: only what never comes is waited for so long."""


def command(
    arguments: Sequence[str], *, environment: Mapping[str, str], cwd: Path, stdin: str = "", seconds: float
) -> "subprocess.CompletedProcess[str]":
    """`sould` with these arguments, to its end.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    with ExitStack() as ours, ThreadPoolExecutor(3) as pool:
        ends = [os.pipe() for _ in range(4)]
        (their_in, our_in), (our_out, their_out), (our_err, their_err), (our_status, their_status) = ends
        files = [ours.enter_context(open(end, "rb")) for end in (our_out, our_err, our_status)]
        _origin().ask("command", arguments, environment, cwd, (their_in, their_out, their_err, their_status))
        pool.submit(_feed, our_in, stdin.encode())
        out, err = (pool.submit(file.read) for file in files[:2])
        pid = int(files[2].readline())
        if not select.select([our_status], [], [], seconds)[0]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), seconds)
        code = int(files[2].readline())
        return subprocess.CompletedProcess(list(arguments), code, out.result().decode(), err.result().decode())


def daemon(environment: Mapping[str, str]) -> None:
    """Start the daemon of this user as a first client would; it listens then, and is nobody's child."""
    ours, theirs = os.pipe()
    with open(os.devnull, "r+b") as nothing, open(ours, "rb") as status:
        standard = (os.dup(nothing.fileno()), os.dup(nothing.fileno()), os.dup(2))
        _origin().ask("daemon", (), environment, Path("/"), (*standard, theirs))
        status.readline()
        assert select.select([ours], [], [], STARTED)[0], "no daemon came"
        assert int(status.readline()) == 0, "the daemon did not start; its words are above"


def _feed(end: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(end, "wb") as pipe:
        pipe.write(data)


class _Origin:
    """The process that is forked. It ends when our end of its socket is closed."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()
        with theirs:
            line = [sys.executable, "-P", "-X", "utf8", preparedmain.__file__, str(theirs.fileno())]
            self._process = subprocess.Popen(line, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        atexit.register(self.close)

    def ask(
        self,
        kind: str,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        cwd: Path,
        descriptors: tuple[int, int, int, int],
    ) -> None:
        """Fork once. `descriptors` are its standard ones and where its pid and exit code are said; they are closed here."""
        message = {"kind": kind, "arguments": list(arguments), "environment": dict(environment), "cwd": str(cwd)}
        try:
            with self._lock:
                umask = os.umask(0o077)
                os.umask(umask)
                data = json.dumps(message | {"umask": umask}).encode()
                socket.send_fds(self._socket, [len(data).to_bytes(4, "big")], descriptors)
                self._socket.sendall(data)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def close(self) -> None:
        """End it."""
        self._socket.close()
        self._process.wait()


@functools.cache
def _origin() -> _Origin:
    """One for each process that runs tests."""
    return _Origin()
