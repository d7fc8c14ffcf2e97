"""What the VS Code extension carries to install sould from: the wheel, and a lock of what it needs to run, with hashes.

`carried.py WHEELS OUT`: the one wheel of the directory WHEELS goes to OUT, with `runtime.lock` beside it: those entries of
requirements.lock that the program itself needs, found by the `# via` notes. Never asks an index for anything.
"""

import re
import shutil
import sys
from pathlib import Path

LOCK = Path(__file__).parents[1] / "requirements.lock"
ITSELF = "sould (pyproject.toml)"


def runtime(lock: str) -> str:
    """The entries that `ITSELF` needs, directly or through others, as they stand in `lock`."""
    entries = [entry for entry in re.split(r"\n(?=[^\s#])", lock.strip()) if not entry.startswith("#")]
    needed = {ITSELF}
    while more := {_name(entry) for entry in entries if _needers(entry) & needed} - needed:
        needed |= more
    kept = (re.sub(r"\n    #[^\n]*", "", entry) for entry in entries if _name(entry) in needed)
    return "\n".join(kept) + "\n"


def _name(entry: str) -> str:
    return re.split(r"[=\[ ;@]", entry, maxsplit=1)[0]


def _needers(entry: str) -> set[str]:
    said = "\n".join(re.findall(r"^ +# ?(.*)$", entry, re.MULTILINE))
    return {word.strip() for word in said.removeprefix("via").split("\n") if word.strip()}


def main(wheels: Path, out: Path) -> None:
    """Put both there, and nothing else."""
    (wheel,) = wheels.glob("sould-*.whl")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    shutil.copy(wheel, out)
    (out / "runtime.lock").write_text(runtime(LOCK.read_text()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
