"""How many examples the properties try, and from which seed: of the commit, or of `SOULD_SEED`, or of chance in a hunt.

`SOULD_LUCK` is `quick`, `ci` (where nothing is said) or `hunt`. A run prints its seed, and the same seed repeats it.
"""

import os
import random
import subprocess
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, settings

LUCK: Final = os.environ.get("SOULD_LUCK", "ci")
HUNTING: Final = LUCK == "hunt"
SCALE: Final = {"quick": 0.2, "ci": 1.0, "hunt": 10.0}[LUCK]


def examples(usual: int) -> int:
    """So many in CI; fewer in a quick run, more in a hunt."""
    return max(3, round(usual * SCALE))


def load() -> None:
    """Set the profile. How long inputs take to make says something of the machine only (D46)."""
    settings.register_profile(
        LUCK,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=examples(100),
        derandomize=False,
        print_blob=True,
    )
    settings.load_profile(LUCK)


def seed() -> int:
    """The run's; what the run starts inherits it."""
    if "SOULD_SEED" not in os.environ:
        os.environ["SOULD_SEED"] = str(random.SystemRandom().randrange(2**32) if HUNTING else of_commit())
    return int(os.environ["SOULD_SEED"])


def of_commit() -> int:
    """The same for everybody who has this commit; 0 where git knows none."""
    command = ["git", "rev-parse", "--short=8", "HEAD"]
    said = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return int(said.stdout.strip()[:8] or "0", 16)
