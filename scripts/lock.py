"""Writes the lock files of Python anew with uv: `make lock`; ARGS=--upgrade takes new releases, ARGS="--upgrade-package NAME" one.

uv leaves out what older installers need. Where the hash of every file is required, pip before 24 treats a requirement with
extras (`pydantic[email]`) as a package of its own: it must be pinned, too, with just these extras, spelled as they are by the package
that requires them. So the locks have an entry for each package, and further ones for it with extras. The spelling is read from what
is installed: after an upgrade that brings new extras, `make setup lock` does it again.
"""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {
    "requirements.lock": ("pyproject.toml --group dev --universal", ""),
    "scripts/runtime.lock": ("pyproject.toml --universal --no-annotate --constraint requirements.lock", ""),
    "scripts/pip.lock": ("- --universal --no-annotate", "pip"),
    "tests/editors/requirements.lock": ("- --python-version 3.14 --no-annotate", "batrachian-toad"),
}
"""Each file, with the arguments that uv compiles it with and what uv reads from standard input."""
OPTIONS = "--generate-hashes --no-strip-extras --no-header --no-emit-index-url --quiet"
ENTRY = re.compile(r"(?P<name>[\w.-]+)(?:\[(?P<extras>[^]]+)\])?(?P<rest>==.*)", re.DOTALL)


def main(*arguments: str) -> None:
    """Writes those that change, and says which; `arguments` are uv's."""
    for name, (source, wanted) in LOCKS.items():
        lock = ROOT / name
        text = "".join(
            f"{entry}\n" for entry in with_extras(compiled(lock, source, wanted, arguments), extras_required())
        )
        is_new = text != lock.read_text()
        if is_new:
            lock.write_text(text)
        print(f"{name}: {'changed' if is_new else 'unchanged'}")


def compiled(lock: Path, source: str, wanted: str, arguments: Sequence[str]) -> str:
    """What uv makes of a lock. What it pins stays pinned where `arguments` do not say otherwise."""
    uv = Path(sys.executable).parent / "uv"
    with tempfile.TemporaryDirectory() as folder:
        made = shutil.copy(lock, folder)
        command = [uv, "pip", "compile", *source.split(), *OPTIONS.split(), *arguments, "--output-file", made]
        done = subprocess.run(command, cwd=ROOT, input=wanted, text=True, check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(f"lock: uv could not make {lock.relative_to(ROOT)}; its words are above.")
        return Path(made).read_text()


def with_extras(lock: str, required: dict[str, set[tuple[str, ...]]]) -> Iterable[str]:
    """The entries of a lock that uv wrote, those with extras after the one without them."""
    made = dict[str, str]()
    for text in re.split(r"\n(?=[^\s#])", lock.strip()):
        entry = ENTRY.fullmatch(text)
        assert entry, f"not an entry of a lock: {text}"
        name, extras, rest = entry.groups(default="")
        made.setdefault(name, name + rest)
        if extras:
            wanted = {_normal(extra) for extra in extras.split(",")}
            named = {each for each in required.get(_normal(name), ()) if {_normal(extra) for extra in each} <= wanted}
            for each in sorted(named or {tuple(sorted(wanted))}):
                spelled = f"{name}[{','.join(each)}]"
                made.setdefault(spelled, spelled + rest)
    return made.values()


def extras_required() -> dict[str, set[tuple[str, ...]]]:
    """The extras that the packages installed here require of each package, as they spell them."""
    found = defaultdict[str, set[tuple[str, ...]]](set)
    lines = (line for each in importlib.metadata.distributions() for line in each.requires or ())
    for requirement in map(Requirement, lines):
        if requirement.extras:
            found[_normal(requirement.name)].add(tuple(sorted(requirement.extras)))
    return found


def _normal(name: str) -> str:
    """A package's or an extra's name as PEP 503 and PEP 685 compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


if __name__ == "__main__":
    main(*sys.argv[1:])
