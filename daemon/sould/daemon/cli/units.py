"""What `sould service install` writes: systemd's units and launchd's agent, as texts. Pure: nothing here looks at a disk.

Environments are never written to a disk, for keys are in them: only the few variables that say where things are.
"""

import plistlib
import re
from collections.abc import Mapping, Sequence

WRITTEN = "Written by `sould service install`, taken back by `sould service remove`"
"""In each file, so that nobody else's is touched."""
LABEL = "sould.daemon"
"""What launchd calls it."""
_PATH = re.compile(r'Environment="PATH=.*|<key>PATH</key>\s*<string>.*</string>')
PLACES = ("PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "SOULD_CONFIG")


def places(given: Mapping[str, str]) -> dict[str, str]:
    """The variables that the daemon gets, and that it stays when nobody is connected."""
    return {name: given[name] for name in PLACES if given.get(name)} | {"SOULD_IDLE_EXIT": "0"}


def socket_unit(path: str) -> str:
    """systemd listens, from the log-in on."""
    return f"""\
# {WRITTEN}
[Unit]
Description=The socket of sould, a coding agent for editors

[Socket]
ListenStream={_specified(path)}
SocketMode=0600
DirectoryMode=0700

[Install]
WantedBy=sockets.target
"""


def service_unit(program: Sequence[str], given: Mapping[str, str]) -> str:
    """The daemon, started at the log-in, and again by the first client after it was stopped.

    `mixed`: it ends its commands itself. What a command does (memory, processes) is not the daemon's fault.
    """
    variables = "\n".join(f"Environment={_quoted(f'{name}={value}')}" for name, value in places(given).items())
    return f"""\
# {WRITTEN}
[Unit]
Description=sould, a coding agent for editors

[Service]
Type=notify
NotifyAccess=main
ExecStart={" ".join(_quoted(word) for word in (*program, "daemon"))}
{variables}
Restart=on-failure
KillMode=mixed
TimeoutStopSec=15
OOMPolicy=continue
TasksMax=infinity

[Install]
WantedBy=default.target
"""


def agent(program: Sequence[str], given: Mapping[str, str]) -> str:
    """The daemon for launchd, started at the log-in, and again when it dies; what a planned restart starts is left alone."""
    body = {
        "Label": LABEL,
        "ProgramArguments": [*program, "daemon"],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "AbandonProcessGroup": True,
        "EnvironmentVariables": places(given),
    }
    head, root, rest = plistlib.dumps(body, sort_keys=False).decode().partition("<plist")
    return f"{head}<!-- {WRITTEN} -->\n{root}{rest}"


def without_path(text: str) -> str:
    """A file but for its PATH, which each terminal has another of."""
    return _PATH.sub("", text)


def _specified(text: str) -> str:
    """`%` stands for itself."""
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """One word in a unit."""
    escaped = _specified(word).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
