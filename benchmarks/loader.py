"""A client in a process of its own, so that what it reads does not hold up the one that measures.

usage: loader.py SOULD PROJECT SESSION: says `ready`, opens the session at the first line of its input, says `done`.
"""

import os
import sys
from pathlib import Path

from acpclient import AcpClient


def main(sould: str, project: str, session: str) -> None:
    """Load once; stay until the input ends."""
    client = AcpClient([sould, "acp"], dict(os.environ), Path(project))
    client.initialize()
    print("ready", flush=True)
    sys.stdin.readline()
    client.request("session/load", {"sessionId": session, "cwd": project, "mcpServers": []})
    print("done", flush=True)
    sys.stdin.readline()
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
