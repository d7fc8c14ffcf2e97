"""What `sould run` makes of its standard input."""

import subprocess

from soultest.cliuser import User
from soultest.world import SOULD


def test_a_pipe_that_nobody_writes_to_or_closes_does_not_keep_the_prompt(user: User) -> None:
    user.scripted("text: went on")
    command = [str(SOULD), "run", "hi"]
    with subprocess.Popen(
        command,
        env=user.environment,
        cwd=user.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        assert run.stdout.read() == b"went on\n"
        said = run.stderr.read().decode()
    assert "Reading standard input" in said
    assert "Nothing came from standard input in 12 s: the prompt is sent alone." in said
