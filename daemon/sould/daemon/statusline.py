"""`sould status --line`: one line for a status bar, in the time of a bare interpreter and one round trip.

It never starts the daemon, and waits for none that does not answer. Nothing may be imported here that the interpreter has not
loaded already, except `_socket`.
"""

import os

from sould.daemon.dial import BridgeError, send, try_connect
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.paths import Paths, UnsafePathError

ASKED = b'{"jsonrpc":"2.0","id":1,"method":"_sould/daemon/counts","params":{}}\n'
PATIENCE = 2.0
"""Seconds for the answer."""
NAMES = (("waiting", "waiting"), ("running", "running"), ("hunks", "to review"))


def print_line() -> int:
    """Print the line, nothing where there is nothing to say; the exit code."""
    try:
        answer = _answer(Paths(os.environ))
    except (BridgeError, UnsafePathError, OSError) as error:
        os.write(2, f"sould: {error}\n".encode())
        return 1
    said = status_line(answer)
    if said:
        os.write(1, f"{said}\n".encode())
    return 0


def status_line(answer: bytes) -> str:
    """What the daemon's answer to `counts` says in a line; "" for nothing."""
    counted = [(_number(answer, key), name) for key, name in NAMES]
    return ", ".join([f"{count} {name}" for count, name in counted if count])


def _number(answer: bytes, key: str) -> int:
    """Our own daemon writes this line, without a blank: to load `json` would take as long as all the rest."""
    digits = answer.partition(b'"%s":' % key.encode())[2].replace(b"}", b",").partition(b",")[0]
    return int(digits) if digits.isdigit() else 0


def _answer(paths: Paths) -> bytes:
    connection = try_connect(paths)
    if connection is None:
        return b""
    try:
        connection.settimeout(PATIENCE)
        send(connection, _hello(), ())
        connection.send(ASKED)
        said = b""
        while not said.endswith(b"\n"):
            piece = connection.recv(4096)
            if not piece:
                return b""
            said += piece
    finally:
        connection.close()
    return said


def _hello() -> bytes:
    return encode(
        [
            (b"protocol", b"%d-%d" % PROTOCOL),
            (b"version", VERSION.encode()),
            (b"face", b"control"),
            (b"pid", b"%d" % os.getpid()),
            (b"token", os.urandom(16).hex().encode()),
            (b"cwd", b"/"),
        ]
    )
