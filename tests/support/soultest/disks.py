"""File systems of a test's own, in memory; mounting one needs root."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def mounted(directory: Path, size: str) -> Generator[None]:
    """While the block runs, `directory` is a file system of so many bytes (`256k`, `32m`).

    It goes also where a test that failed has files open there: one that stayed would fail the test runs that follow.
    """
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(directory)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)
