"""What only the user does: commands that decide what may run as them refuse to do so for an agent.

The daemon says who asks, because what it sees of a process no namespace hides. Not a sandbox: a program of the agent's can
write the same files. It keeps a script from doing so in passing.
"""

import os
from collections.abc import Mapping

from sould.agents.base.filelock import is_shared
from sould.daemon.ancestry import runs_guarded
from sould.daemon.cli.output import CommandError
from sould.daemon.cli.running import NotRunningError, RunningDaemon, reached
from sould.daemon.methods import Ping
from sould.daemon.paths import Paths


def refuse_agent(sentence: str, otherwise: str = "Run this in a terminal of your own.") -> None:
    """Raise CommandError when this process was started, at any remove, by what a daemon runs for an agent.

    So it does where a daemon uses our files and nobody can tell.
    """
    if runs_guarded() or _is_of_agent():
        raise CommandError(f"Nothing was changed: {sentence}. {otherwise}")


def _is_of_agent() -> bool:
    if (answer := _answer(os.environ)) is not None:
        return answer
    paths = Paths(os.environ)
    used = next(filter(is_shared, (paths.state, paths.config)), None)
    if used is None:
        return False
    # where systemd puts it: over ssh or in a service the variable is often missing
    if (answer := _answer({**os.environ, "XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}"})) is not None:
        return answer
    raise CommandError(
        f"Nothing was changed: a daemon uses {used} and cannot be reached from here, so nobody can tell whether you ask or an "
        f"agent does. Run this where your editor runs, with its XDG_RUNTIME_DIR, or run there first: sould stop"
    )


def _answer(environment: Mapping[str, str]) -> bool | None:
    """What the daemon of these variables says; None: there is none."""
    try:
        with reached(), RunningDaemon.connect(environment=environment) as daemon:
            answer = daemon.ask(Ping()).of_agent
    except NotRunningError:
        return None
    if answer is None:
        raise CommandError(
            "Nothing was changed: the daemon is older than this command and cannot say who asks; run: sould restart"
        )
    return answer
