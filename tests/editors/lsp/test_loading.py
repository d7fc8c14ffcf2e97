"""What an editor's first answer waits for: nothing that the daemon has not loaded before it listens (D9)."""

import subprocess
import sys

PROGRAM = """
import sys
import sould.daemon.process.main
before = set(sys.modules)
import sould.editors.lsp.server
print(*sorted(name for name in set(sys.modules) - before if not name.startswith("sould.")))
"""


def test_initialize_is_answered_without_the_types_of_the_protocol() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
