"""`sould kimi --wire`: programs written for kimi-cli, by what they start it with."""

from pathlib import Path

import pytest

from sould.agents.base.errors import OptionError
from sould.daemon.wire.kimi import read_kimi_arguments

HOME = {"HOME": "/home/u"}


def test_options_of_kimi_cli_are_understood_under_all_their_names() -> None:
    given = ("--wire", "--work-dir", "sub", "-r", "one", "--auto-approve", "--plan", "--agent-file", "mine.yaml")
    said = read_kimi_arguments(given, "/here", HOME)
    assert (said.directory, said.session, said.agent) == (Path("/here/sub"), "one", "/here/mine.yaml")
    assert said.modes == ("full", "plan"), "where the plan ends, full access begins"
    assert read_kimi_arguments(("--wire", "--afk", "--yes"), "/here", HOME).modes == ("afk",)


def test_the_directory_of_kimi_cli_is_the_programs() -> None:
    assert read_kimi_arguments(("--wire",), "/here", HOME).share == Path("/home/u/.kimi")
    assert read_kimi_arguments(("--wire",), "/here", HOME | {"KIMI_SHARE_DIR": "its"}).share == Path("/here/its")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("--nonsense",), "--nonsense"),
        (("--session", "x", "--continue"), "--continue"),
        (("--agent", "okabe", "--agent-file", "x.yaml"), "--agent-file"),
    ],
)
def test_a_wrong_command_line_is_named(given: tuple[str, ...], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        read_kimi_arguments(given, "/here", HOME)
