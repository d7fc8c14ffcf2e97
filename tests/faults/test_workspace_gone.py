"""The working directory vanishes, or becomes another one."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.daemon.methods import CheckJournals
from soultest.daemon import Sould
from soultest.world import call


def removed(workspace: Path) -> None:
    shutil.rmtree(workspace)


def replaced_by_a_link(workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))
    workspace.with_name("elsewhere").mkdir()
    workspace.symlink_to(workspace.with_name("elsewhere"))


def test_a_turn_in_a_vanished_directory_gets_tool_errors_and_the_session_stays(sould: Sould) -> None:
    sould.world.script([call("ReadFile", "t1", path="a.txt"), "text: it is gone", "text: still here"])
    (sould.workspace / "a.txt").write_text("a\n")
    bridge = sould.acp()
    session = bridge.request(2, "session/new", cwd=str(sould.workspace), mcpServers=[])["result"]["sessionId"]
    shutil.rmtree(sould.workspace)
    for identifier in (3, 4):
        answer = bridge.request(
            identifier, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "read a.txt"}]
        )
        assert answer["result"]["stopReason"] == "end_turn"
    assert not sould.workspace.exists()
    with sould.control() as daemon:
        assert daemon.ask(CheckJournals()).problems == ()


@pytest.mark.parametrize("change", [removed, replaced_by_a_link])
def test_a_session_is_never_resumed_in_another_directory(sould: Sould, change: Callable[[Path], None]) -> None:
    sould.world.script(["text: hello"])
    bridge = sould.acp()
    session = bridge.request(2, "session/new", cwd=str(sould.workspace), mcpServers=[])["result"]["sessionId"]
    bridge.request(3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}])
    bridge.kill()
    sould.kill9()
    other = sould.world.root / "other"
    other.mkdir()
    workspace = sould.workspace
    sould.workspace = other
    again = sould.acp()
    refused = again.request(4, "session/load", sessionId=session, cwd=str(other), mcpServers=[])
    assert str(workspace) in refused["error"]["message"]
    change(workspace)
    answer = again.request(5, "session/load", sessionId=session, cwd=str(workspace), mcpServers=[])
    if change is removed:
        assert str(workspace) in answer["error"]["message"]
        assert not workspace.exists()
    else:
        assert "now leads to" in answer["error"]["message"]
