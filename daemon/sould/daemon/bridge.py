"""`sould acp|lsp|wire`: connect an editor's pipes to the daemon in the time of a bare interpreter.

The bridge hands its own descriptors to the daemon and becomes a waiting `sh` (0.3 MB): no byte of the conversation
passes through it. When the daemon hangs up without a word, the `sh` runs the bridge again, on the same descriptors,
with the token of its connection (D11). Nothing may be imported here that the interpreter has not loaded already,
except `_socket`: `socket`, `json`, `struct` and `selectors` would each cost a tenth of the start or more.
"""

import errno
import os
import sys

from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.paths import Paths, UnsafePathError, check_private

try:
    import _socket as socket
except ImportError:
    import socket

WAIT = """\
while IFS= read -r line <&3; do
  case $line in
    "say "*) printf '%s\\n' "${line#say }" >&2 ;;
    "exit "*) exit "${line#exit }" ;;
  esac
done
exec 3<&-
exec "$@"
"""
"""What the bridge becomes. Descriptor 3 is the socket; the arguments are the command that attaches again."""


class BridgeError(Exception):
    """The connection cannot be made. The text is one sentence for the user."""


def main() -> None:
    """Run `sould <face> …`; does not return."""
    if "--help" in sys.argv or "-h" in sys.argv or sys.argv[2:3] == ["login"]:  # ACP's terminal log-in appends it
        from sould.daemon.cli.main import main as command_line  # noqa: PLC0415 -- the bridge must not load click

        command_line()
        return
    face, arguments, token = sys.argv[1], sys.argv[2:], ""
    if arguments[:1] == ["--reattach"] and len(arguments) > 1:
        token, arguments = arguments[1], arguments[2:]
    try:
        _fill_standard_descriptors()
        if not token and os.isatty(0):
            os.write(2, b"sould: this speaks to an editor, not to people (Ctrl-D ends it); for a terminal: sould run\n")
        _run(face, arguments, token)
    except (BridgeError, UnsafePathError) as error:
        sys.exit(f"sould: {error}")


def _fill_standard_descriptors() -> None:
    """A closed 0, 1 or 2 would be reused by the socket."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _run(face: str, arguments: "list[str]", token: str) -> None:
    paths = Paths(os.environ)
    again = bool(token)
    token = token or os.urandom(16).hex()
    pump = not hasattr(socket, "SCM_RIGHTS") or "SOULD_NO_FDS" in os.environ
    frame = _hello(face, arguments, token, again=again, pump=pump)
    for _ in range(20):
        connection = connect(paths, patient=again)
        try:
            send(connection, frame, () if pump else (0, 1, 2))
            break
        except (BrokenPipeError, ConnectionResetError):
            connection.close()  # it was leaving: the next one is being started
    else:
        raise BridgeError(f"the daemon hangs up at once; see {paths.log}, or run: sould doctor")
    attach = [sys.executable, "-P", os.path.abspath(sys.argv[0]), face, "--reattach", token, *arguments]
    if pump:
        from sould.daemon.pump import run  # noqa: PLC0415 -- only where descriptors cannot be passed

        run(connection.detach(), attach)
    descriptor = connection.detach()
    if descriptor == 3:
        os.set_inheritable(3, True)
    else:
        os.dup2(descriptor, 3, inheritable=True)
        os.close(descriptor)
    os.execv("/bin/sh", ["sh", "-c", WAIT, "sould-" + face, *attach])


def _hello(face: str, arguments: "list[str]", token: str, *, again: bool, pump: bool) -> bytes:
    try:
        cwd = os.getcwdb()
    except OSError:
        cwd = b"/"  # the editor's directory is gone; sessions name their own
    fields = [
        (b"protocol", b"%d-%d" % PROTOCOL),
        (b"version", VERSION.encode()),
        (b"face", face.encode()),
        (b"pid", b"%d" % os.getpid()),
        (b"token", token.encode()),
        (b"cwd", cwd),
    ]
    if again:
        fields.append((b"reattach", b"1"))
    if pump:
        fields.append((b"pump", b"1"))
    fields += [(b"arg", os.fsencode(argument)) for argument in arguments]
    fields += [(b"env", name + b"=" + value) for name, value in os.environb.items()]
    return encode(fields)


def connect(paths: Paths, *, patient: bool = False) -> "socket.socket":
    """A connection to the user's daemon, which is started when nobody listens.

    The peer's uid is checked before a byte is sent (F03). `patient`: a daemon has just gone, perhaps to make room for
    a newer one, so give another process a moment to start it.

    Raises:
        BridgeError, UnsafePathError
    """
    connection = try_connect(paths)
    if connection is None:
        from sould.daemon.launch import start  # noqa: PLC0415 -- only when no daemon runs

        connection = start(paths, patient=patient)
    return connection


def try_connect(paths: Paths) -> "socket.socket | None":
    """A connection, or None when nobody listens.

    Raises:
        BridgeError: somebody else listens, or the socket cannot be reached.
        UnsafePathError: the runtime directory is not ours alone.
    """
    try:
        check_private(paths.runtime)
    except FileNotFoundError:
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(paths.socket)
        uid = peer_uid(connection)
    except OSError as error:
        connection.close()
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTSOCK, errno.EPROTOTYPE, errno.ENOTCONN):
            return None
        raise BridgeError(f"{paths.socket} cannot be reached: {error.strerror}") from None
    if uid != os.geteuid():
        connection.close()
        raise BridgeError(f"{paths.socket}: this socket is served by uid {uid}, not by you (uid {os.geteuid()})")
    return connection


def peer_uid(connection: "socket.socket") -> int:
    """Who is on the other side, as the kernel saw it at `connect`, `bind` or `socketpair`."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    else:
        credentials = connection.getsockopt(0, 1, 76)  # macOS LOCAL_PEERCRED: version, uid, groups
    return int.from_bytes(credentials[4:8], sys.byteorder)


def send(connection: "socket.socket", frame: bytes, descriptors: "tuple[int, ...]") -> None:
    """Send the hello frame, with our descriptors on its first byte."""
    rights = b"".join([descriptor.to_bytes(4, sys.byteorder) for descriptor in descriptors])
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if rights else []
    sent = connection.sendmsg([frame], ancillary)
    while sent < len(frame):
        sent += connection.send(frame[sent:])
