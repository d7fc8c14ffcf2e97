"""The bridge where descriptors cannot be passed: it stays, and moves the bytes itself (DESIGN 7).

After a first line that accepts or refuses, the socket carries the frontend's bytes. Knows no message.
"""

import os
import select
import sys
from typing import NoReturn

from sould.daemon.dial import socket

SIZE = 256 * 1024


def run(descriptor: int, attach: "list[str]") -> NoReturn:
    """Pump until one side ends; run `attach` when the daemon went away first."""
    line = _first_line(descriptor)
    while line.startswith(b"say "):
        sys.stderr.buffer.write(line[4:])
        sys.stderr.flush()
        line = _first_line(descriptor)
    if line.startswith(b"exit "):
        sys.exit(int(line[5:]))
    if line == b"ok\n" and _pump(descriptor):
        sys.exit(0)
    os.close(descriptor)
    os.execv(attach[0], attach)


def _first_line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            break
        line += byte
    return line


def _pump(descriptor: int) -> bool:
    """True when the client ended the conversation, False when the daemon did."""
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    waiting.register(descriptor, select.POLLIN)
    client_done = False
    while True:
        for ready, _ in waiting.poll():
            try:
                data = os.read(ready, SIZE)
            except ConnectionResetError:
                data = b""
            if ready == descriptor:
                if not data:
                    return client_done
                if not _write(1, data):
                    return True
            elif data:
                if not _write(descriptor, data):
                    return False
            else:
                client_done = True
                waiting.unregister(0)
                half = socket.socket(fileno=os.dup(descriptor))
                half.shutdown(socket.SHUT_WR)
                half.close()


def _write(descriptor: int, data: bytes) -> bool:
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(descriptor, left) :]
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True
