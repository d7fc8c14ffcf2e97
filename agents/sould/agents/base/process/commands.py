"""Runs a workspace's command lines with bash under the guard, in the session's environment (D13)."""

from sould.agents.base.environment import Environment
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.base.workspace import Command, RunningCommand


class CommandRunner:
    """`run` is what a workspace takes as its `run`."""

    def __init__(self, guard: ProcessGuard, environment: Environment) -> None:
        self._guard = guard
        self._environment = environment

    async def run(self, command: Command) -> RunningCommand:
        """Start the exact text of `command.line`.

        Raises:
            CommandStartError: nothing was started.
        """
        return await self._guard.start(
            [self._environment.shell, "--noprofile", "--norc", "-c", command.line],
            command.cwd,
            {**self._environment.variables, **command.variables},
            timeout=command.timeout,
            umask=self._environment.umask,
        )
