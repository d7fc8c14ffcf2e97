"""Reach a daemon that listens already, and say who we are.

Part of the bridge, so nothing may be imported here that the interpreter has not loaded already, except `_socket`.
"""

import os
import sys

from sould.daemon.paths import Paths, check_private

try:
    import _socket as socket
except ImportError:
    import socket


TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

ATTEMPTS = 20


class BridgeError(Exception):
    """The connection cannot be made. The text is one sentence for the user."""


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
        import errno  # noqa: PLC0415 -- where nobody listens

        connection.close()
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTSOCK, errno.EPROTOTYPE, errno.ENOTCONN):
            return None
        raise BridgeError(f"{paths.socket} cannot be reached: {error.strerror or error}") from None
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


def peer_pid(connection: "socket.socket") -> int:
    """Which process is on the other side, as the kernel saw it at `connect`."""
    if hasattr(socket, "SO_PEERCRED"):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    else:
        credentials = connection.getsockopt(0, 2, 4)  # macOS LOCAL_PEERPID
    return int.from_bytes(credentials[:4], sys.byteorder)


def read_umask() -> int:
    """The umask of this process. There is no way to read it but to set it: call it while no other thread makes files."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def greet(
    reach: "Callable[[], socket.socket]", frame: bytes, descriptors: "tuple[int, ...]", paths: Paths
) -> "socket.socket":
    """A connection by `reach` on which `send` was done.

    Raises:
        BridgeError: one after the other was closed at once. And what `reach` raises.
    """
    for _ in range(ATTEMPTS):
        connection = reach()
        try:
            send(connection, frame, descriptors)
        except (BrokenPipeError, ConnectionResetError):
            connection.close()  # it was leaving: the next one is being started
        else:
            return connection
    raise BridgeError(f"the daemon closes the connection at once; see {paths.log}, or run: sould doctor")


def send(connection: "socket.socket", frame: bytes, descriptors: "tuple[int, ...]") -> None:
    """Send the hello frame, with our descriptors on its first byte."""
    rights = b"".join([descriptor.to_bytes(4, sys.byteorder) for descriptor in descriptors])
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if rights else []
    sent = connection.sendmsg([frame], ancillary)
    while sent < len(frame):
        sent += connection.send(frame[sent:])
