"""The program of `soultest.prepared`: imports all of sould, then forks for each request on the socket it was given.

    python preparedmain.py DESCRIPTOR

A fork leaves `serve` as what was asked for and knows nothing of it: environment, directory, umask and standard descriptors
are its own. Only what a module reads of its environment while it is imported is not, and ours read nothing then. Standard
library only until the imports, and one thread for ever, or a fork would not be whole.
"""

import atexit
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

SOULD = Path(sys.executable).parent / "sould"


@dataclass(frozen=True, slots=True)
class Request:
    """What a fork is to be."""

    kind: str
    arguments: list[str]
    environment: dict[str, str]
    cwd: str
    umask: int


def load() -> None:
    """Import what commands, daemons and their sessions import."""
    for package in ("sould.agents", "sould.acp", "sould.daemon"):
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith("main"):
                importlib.import_module(module.name)
    for name in ("sould.daemon.cli.main", "sould.daemon.process.main", "openai.resources.chat.completions"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> Request | None:
    """Fork for each request. Returns in the fork with its request, and at the end, with None, in the one that is forked."""
    awake, wakes = socket.socketpair()
    for end in (awake, wakes):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, _woken)
    signal.set_wakeup_fd(wakes.fileno())
    running: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        selector.register(awake, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in selector.select()}
            if awake in ready:
                awake.recv(4096)
                _reap(running)
            if control not in ready:
                continue
            size, descriptors, _, _ = socket.recv_fds(control, 4, 4)
            if not size:
                return None
            request = Request(**json.loads(_exactly(control, int.from_bytes(size, "big"))))
            child = os.fork()
            if not child:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for end in (control, awake, wakes):
                    end.close()
                _take(descriptors, list(running.values()))
                return request
            running[child] = descriptors[3]
            os.write(descriptors[3], b"%d\n" % child)
            for descriptor in descriptors[:3]:
                os.close(descriptor)


def _woken(_number: int, _frame: FrameType | None) -> None:
    """A child ended. The descriptor of `set_wakeup_fd` says so to `serve`."""


def _exactly(control: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += control.recv(size - len(data))
    return data


def _reap(running: dict[int, int]) -> None:
    """Say how those ended that have."""
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with open(running.pop(pid), "wb") as told:
            told.write(b"%d\n" % os.waitstatus_to_exitcode(status))


def _take(descriptors: list[int], others: list[int]) -> None:
    """The standard descriptors of a fork; of what belongs to the rest it keeps nothing."""
    for standard, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, standard)
    for descriptor in (*descriptors, *others):
        os.close(descriptor)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)))
    error = io.BufferedWriter(io.FileIO(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(error, errors="backslashreplace", line_buffering=True)


def become(request: Request) -> None:
    """Be the command or the daemon, from its first line on."""
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.cwd)
    os.umask(request.umask)
    time.tzset()
    if request.kind == "daemon":
        _daemon()
    else:
        sys.argv = [str(SOULD), *request.arguments]
        try:
            runpy.run_path(str(SOULD), run_name="__main__")
        except SystemExit as leaving:
            _end(leaving.code)


def _end(code: object) -> NoReturn:
    """End without taking apart what was imported, which would cost more than the command."""
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] -- as the interpreter does
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code if isinstance(code, int) else 1 if code else 0)


def _daemon() -> None:
    """As `sould.daemon.launch` does it, but for the new interpreter: in a session of its own, parented by init."""
    from sould.daemon.launch import environment, publish, take_lock
    from sould.daemon.paths import Paths, ensure_private
    from sould.daemon.process.main import main

    paths = Paths(surroundings := environment(os.environ))
    ensure_private(paths.runtime)
    lock = take_lock(paths)
    if lock is None:  # somebody was faster
        os._exit(0)
    listener = publish(paths)
    if os.fork():
        os._exit(0)
    os.setsid()
    os.environ.clear()
    os.environ.update(surroundings)
    umask = os.umask(0o077)
    os.makedirs(paths.logs, 0o700, exist_ok=True)
    log = os.open(paths.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.umask(umask)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    main(["--listen", str(listener), "--lock", str(lock)])


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as given:
        load()
        asked = serve(given)
    if asked is not None:
        become(asked)
