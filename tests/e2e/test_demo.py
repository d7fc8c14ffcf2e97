"""`make demo` in an empty HOME and without network (D4)."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from soultest.world import running

ROOT = Path(__file__).resolve().parents[2]


def demo(home: Path) -> subprocess.CompletedProcess[str]:
    """Run the demo as a stranger's machine would: nothing in HOME, no key, and as root no network at all."""
    alone = ["unshare", "--net"] if os.geteuid() == 0 and shutil.which("unshare") else []
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}
    command = [*alone, sys.executable, str(ROOT / "scripts" / "demo.py")]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=home, timeout=50)


def test_the_demo_shows_the_main_job_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = done.stdout
    assert "started itself" in shown
    assert '-    return f"Helo, {name}!"' in shown
    assert '+    return f"Hello, {name}!"' in shown
    assert "Hello, Ada!" in shown
    assert re.search(r"yes +hello.py changed on disk", shown)
    assert re.search(r"yes +the client's wire log shows the permission request and its answer", shown)
    assert re.search(r"yes +the daemon started by itself", shown)
    assert "\x1b" not in shown
    assert "Traceback" not in done.stderr
    daemon = int(re.findall(r"\(pid (\d+)\)", shown)[0])
    assert not running(daemon)
    assert list(tmp_path.iterdir()) == []
