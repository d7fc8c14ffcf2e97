"""What only the user does: commands that decide what may run as them refuse to do so for an agent.

Not a sandbox: a program of the agent's can write the same files. It keeps a script from doing so in passing.
"""

import os

from sould.daemon.ancestry import is_below, runs_guarded
from sould.daemon.cli.output import CommandError
from sould.daemon.identity import read_owner
from sould.daemon.paths import Paths


def refuse_agent(sentence: str, otherwise: str = "Run this in a terminal of your own.") -> None:
    """Raise CommandError when this process was started, at any remove, by what a daemon runs for an agent."""
    owner = read_owner(Paths(os.environ).lock)
    if runs_guarded() or (owner is not None and owner[0].alive() and is_below(os.getpid(), owner[0].pid)):
        raise CommandError(f"Nothing was changed: {sentence}. {otherwise}")
