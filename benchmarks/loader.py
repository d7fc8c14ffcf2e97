"""A client in a process of its own, so that what it reads does not hold up the one that measures.

usage: loader.py PROJECT SESSION COMMAND...: says `ready`, opens the session at the first line of its input, says `done`,
and leaves when its input ends.
"""

import os
import sys
from pathlib import Path

from acpclient import AcpClient


def main(project: str, session: str, *command: str) -> None:
    """Load once; stay until the input ends."""
    client = AcpClient(command, os.environ, Path(project), Path(os.devnull))
    client.initialize()
    print("ready", flush=True)
    sys.stdin.readline()
    client.load(session)
    print("done", flush=True)
    sys.stdin.readline()
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
