"""`sould acp|lsp|wire|kimi`: connect an editor's pipes to the daemon in the time of a bare interpreter.

The bridge hands its own descriptors to the daemon and becomes a waiting `sh` (0.3 MB): no byte of the conversation
passes through it. When the daemon hangs up without a word, the `sh` runs the bridge again, on the same descriptors,
with the token of its connection (D11). Nothing may be imported here that the interpreter has not loaded already,
except `_socket`: `socket`, `json`, `struct` and `selectors` would each cost a tenth of the start or more.
"""

import os
import sys

from sould.daemon.dial import BridgeError, greet, read_umask, socket, try_connect
from sould.daemon.hello import PROTOCOL, VERSION, encode
from sould.daemon.paths import Paths, UnsafePathError

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


FRONTENDS = ("acp", "lsp", "wire")
"""What editors start."""
KIMI, WIRE = "kimi", "--wire"
"""The command line of kimi-cli, and what programs start it with."""
ARGUMENTS = b"_SOULD_ARGUMENTS"
"""The variable in which they wait for the next daemon: what a configuration says is in no list of processes."""
LARGEST_VARIABLE = 128 * 1024
"""Bytes that Linux takes for one, with its name, the `=` and the end."""


def bridge() -> None:
    """Run `sould <frontend> …`; returns only when it is people who ask for something."""
    if sys.platform == "win32":
        sys.exit("sould runs on Linux and macOS; on Windows, install and run it inside WSL.")
    asked = sys.argv[1:]
    if asked == ["status", "--line"]:
        from sould.daemon.statusline import print_line  # noqa: PLC0415 -- an editor has no use for it

        sys.exit(print_line())
    # ACP's terminal log-in appends `login`
    if asked and asked[0] in FRONTENDS and "--help" not in asked and "-h" not in asked and asked[1:2] != ["login"]:
        connect()
    if asked[:1] == [KIMI]:
        if (WIRE in asked and "--help" not in asked and "-h" not in asked) or "--reattach" in asked[1:2]:
            connect()
        from sould.daemon.kimiinfo import print_info  # noqa: PLC0415 -- only for programs of kimi-cli

        code = print_info(asked[1:])
        if code is not None:
            sys.exit(code)


def connect() -> None:
    """Run `sould <frontend> …`; does not return."""
    frontend, arguments, token = sys.argv[1], sys.argv[2:], ""
    if arguments[:1] == ["--reattach"] and len(arguments) > 1:
        token, arguments = arguments[1], arguments[2:]
    try:
        if frontend == KIMI:
            arguments = _keep_arguments(arguments, again=bool(token))
        _fill_standard_descriptors()
        _name_skill_directories(arguments)
        if not token and os.isatty(0):
            os.write(2, b"sould: this speaks to an editor, not to people (Ctrl-D ends it); for a terminal: sould run\n")
        _run(frontend, arguments, token)
    except (BridgeError, UnsafePathError) as error:
        sys.exit(f"sould: {error}")


def _keep_arguments(arguments: "list[str]", *, again: bool) -> "list[str]":
    """The arguments of the command line, which the variable keeps from the first bridge on.

    Raises:
        BridgeError: they are too long for it.
    """
    if again:
        return os.fsdecode(bytes.fromhex(os.environb[ARGUMENTS].decode())).split("\0")
    kept = os.fsencode("\0".join(arguments)).hex().encode()
    if len(ARGUMENTS) + len(kept) + 2 > LARGEST_VARIABLE:
        raise BridgeError("The options are longer than 64 KB; use --config-file and --mcp-config-file.")
    os.environb[ARGUMENTS] = kept
    return arguments


def _name_skill_directories(arguments: "list[str]") -> None:
    """`--skills-dir DIR`, once or more often: said in the environment, which every session has to itself."""
    named = [given[13:] for given in arguments if given.startswith("--skills-dir=")]
    named += [arguments[at] for at in range(1, len(arguments)) if arguments[at - 1] == "--skills-dir"]
    if named:
        os.environ["SOULD_SKILLS_DIRS"] = os.pathsep.join(os.path.abspath(path) for path in named)


def _fill_standard_descriptors() -> None:
    """A closed 0, 1 or 2 would be reused by the socket."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _run(frontend: str, arguments: "list[str]", token: str) -> None:
    paths = Paths(os.environ)
    again = bool(token)
    token = token or os.urandom(16).hex()
    pump = not hasattr(socket, "SCM_RIGHTS") or "SOULD_NO_FDS" in os.environ
    frame = _hello(frontend, arguments, token, again=again, pump=pump)
    handed = () if pump else (0, 1, 2)
    connection = greet(lambda: try_connect(paths) or _start(paths, patient=again), frame, handed, paths)
    attach = [sys.executable, "-P", os.path.abspath(sys.argv[0]), frontend, "--reattach", token]
    if frontend != KIMI:
        attach += arguments
    if pump:
        from sould.daemon.pump import run  # noqa: PLC0415 -- only where descriptors cannot be passed

        run(connection.detach(), attach)
    descriptor = connection.detach()
    if descriptor == 3:
        os.set_inheritable(3, True)
    else:
        os.dup2(descriptor, 3, inheritable=True)
        os.close(descriptor)
    os.execv("/bin/sh", ["sh", "-c", WAIT, "sould-" + frontend, *attach])


def _start(paths: Paths, *, patient: bool) -> "socket.socket":
    from sould.daemon.launch import start  # noqa: PLC0415 -- only when no daemon runs

    return start(paths, patient=patient)


def _hello(frontend: str, arguments: "list[str]", token: str, *, again: bool, pump: bool) -> bytes:
    try:
        cwd = os.getcwdb()
    except OSError:
        cwd = b"/"  # the editor's directory is gone; sessions name their own
    if frontend == KIMI:
        frontend, arguments = "wire", [KIMI, *arguments]
    fields = [
        (b"protocol", b"%d-%d" % PROTOCOL),
        (b"version", VERSION.encode()),
        (b"face", frontend.encode()),
        (b"pid", b"%d" % os.getpid()),
        (b"token", token.encode()),
        (b"cwd", cwd),
        (b"umask", b"%o" % read_umask()),
    ]
    if again:
        fields.append((b"reattach", b"1"))
    if pump:
        fields.append((b"pump", b"1"))
    fields += [(b"arg", os.fsencode(argument)) for argument in arguments]
    fields += [(b"env", name + b"=" + value) for name, value in os.environb.items() if name != ARGUMENTS]
    return encode(fields)
