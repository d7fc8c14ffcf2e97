"""What the tests of `sould review` have an agent write, and what is pending of it."""

import json
from typing import Any

from soultest.cliuser import User
from soultest.world import call

AREA = "def area(w, h):\n    return w * h\n"
CHECKED = 'def area(w, h):\n    if w < 0:\n        raise ValueError("neg")\n    return w * h\n'
PLAN = "# Plan\nwrite it\n"


def write(name: str, text: str) -> str:
    return call("WriteFile", f"c-{name}", path=name, content=text)


def edited(user: User, files: dict[str, str], *arguments: str) -> str:
    """An agent wrote these files; its session, which is closed."""
    user.scripted("\n".join(write(name, text) for name, text in files.items()), "text: Done.")
    return str(user.result("--mode", "full", *arguments, "go")["session_id"])


def two_files(user: User) -> str:
    """A hunk in a file of the user's, and a new file."""
    (user.project / "area.py").write_text(AREA)
    return edited(user, {"area.py": CHECKED, "plan.md": PLAN})


def pending(user: User, *arguments: str, **more: Any) -> list[dict[str, Any]]:
    """The hunks, as the daemon's answer has them."""
    done = user.sould("review", "list", *arguments, "--json", **more)
    assert done.returncode == 0, done.stderr
    return [hunk for file in json.loads(done.stdout)["files"] for hunk in file["hunks"]]


def texts(user: User, *arguments: str) -> list[str]:
    return [line["text"] for hunk in pending(user, *arguments) for line in hunk["lines"]]
