"""The throw-away HOME of the tests: when a test is over, nothing of it runs on."""

import subprocess
from pathlib import Path

import pytest

from soultest.processes import carrying
from soultest.world import SOULD, World

pytestmark = pytest.mark.timeout(120)


def test_no_daemon_outlives_its_test_wherever_it_listens(tmp_path: Path) -> None:
    world = World(tmp_path / "w")
    world.script(["text: Hello."])
    world.start()
    elsewhere = {name: value for name, value in world.environment.items() if name != "XDG_RUNTIME_DIR"}
    begun = subprocess.run([SOULD, "run", "hello"], env=elsewhere, cwd=world.project, capture_output=True, text=True)
    assert begun.returncode == 0, begun.stderr
    assert carrying("HOME", str(world.root)), "the second daemon"
    world.close()
    assert not world.daemon()
    assert carrying("HOME", str(world.root)) == []
