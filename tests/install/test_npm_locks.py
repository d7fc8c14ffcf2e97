"""Each lock of npm installs what it names, although its package.json allows newer releases."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("folder", ["tests/clients", "tests/vscode/workbench", "vscode-extension"])
def test_a_lock_installs_what_it_names(folder: str, tmp_path: Path) -> None:
    for name in ("package.json", "package-lock.json"):
        shutil.copy(ROOT / folder / name, tmp_path)
    environment = {**os.environ, "npm_config_cache": str(tmp_path / "cache")}
    command = [ROOT / "scripts" / "npm.sh", tmp_path]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = packages(tmp_path / "package-lock.json")
    installed = packages(tmp_path / "node_modules" / ".package-lock.json")
    assert installed
    assert {name: wanted.get(name) for name in installed} == installed
    assert (tmp_path / "package-lock.json").read_bytes() == (ROOT / folder / "package-lock.json").read_bytes()


def packages(lock: Path) -> dict[str, tuple[str, str]]:
    """Version and hash of each package, by its place."""
    found: dict[str, dict[str, Any]] = json.loads(lock.read_text())["packages"]
    return {name: (each["version"], each["integrity"]) for name, each in found.items() if name}
