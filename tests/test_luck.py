"""Which examples the properties of a run try."""

import subprocess
import sys
from pathlib import Path

from soultest import luck


def drawn(**environment: str) -> str:
    """The seed of a run that has these variables."""
    code = "from soultest import luck; print(luck.seed())"
    place = {"PYTHONPATH": str(Path(luck.__file__).parents[1]), "PATH": "/usr/bin:/bin", **environment}
    return subprocess.run([sys.executable, "-c", code], env=place, capture_output=True, text=True, check=True).stdout


def test_a_seed_that_is_given_is_taken_and_else_the_commit_decides() -> None:
    assert drawn(SOULD_SEED="7") == drawn(SOULD_SEED="7", SOULD_LUCK="hunt") == "7\n"
    assert drawn() == drawn(SOULD_LUCK="quick") == f"{luck.of_commit()}\n"


def test_each_hunt_has_a_seed_of_its_own() -> None:
    assert drawn(SOULD_LUCK="hunt") != drawn(SOULD_LUCK="hunt")
