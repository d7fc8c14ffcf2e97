"""What the model is told before the first message: the agent's system prompt with its arguments filled in.

Project files (`AGENTS.md`) enter as quoted data, within a budget, and only from the project: nobody was asked about what a
link leads to elsewhere. Nothing here runs or imports anything of the project.
"""

import itertools
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sould.agents.diskfile import read_file
from sould.agents.errors import ConfigError
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.secretnames import likelihood
from sould.agents.textencoding import certainly_decoded
from sould.agents.workspace import WorkspaceError

AGENTS_MD_BUDGET = 32 * 1024
"""Bytes of project instructions, filled from the deepest directory up (wire.md 3.7)."""
BUILTIN = ("NOW", "WORK_DIR", "WORK_DIR_LS", "AGENTS_MD", "SKILLS", "ADDITIONAL_DIRS_INFO", "OS", "SHELL")
"""What every prompt can use (D31)."""
LISTING_ROOT = 30
LISTING_CHILD = 10
_ARGUMENT = re.compile(r"\$\{\s*([A-Za-z_]\w*)\s*\}")
_NAMES = ("AGENTS.md", "agents.md")
_HIDDEN_HOMES = (".sould", ".kimi")


def prompt_arguments(
    cwd: Path, additional: Sequence[Path], shell: str, now: datetime, skills: str = "No skills found."
) -> dict[str, str]:
    """The builtin arguments, each under `SOULD_` and `KIMI_` (D31)."""
    values = {
        "NOW": now.isoformat(timespec="seconds"),
        "WORK_DIR": str(cwd),
        "WORK_DIR_LS": list_directory(cwd),
        "AGENTS_MD": project_instructions(cwd),
        "SKILLS": skills,
        "ADDITIONAL_DIRS_INFO": "\n".join(f"{path}:\n{list_directory(path)}" for path in additional) or "None.",
        "OS": f"{platform.system()} {platform.release()}",
        "SHELL": shell,
    }
    return {f"{prefix}_{name}": value for name, value in values.items() for prefix in ("SOULD", "KIMI")}


def check_prompt(path: Path, own: Iterable[str]) -> None:
    """Look whether a prompt can be filled in; `own` are the names that its agent adds to ours.

    Raises:
        ConfigError: it cannot, or is no text.
    """
    try:
        template = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}: the prompt cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: the prompt is not UTF-8 text.") from error
    ours = (f"{prefix}_{name}" for name in BUILTIN for prefix in ("SOULD", "KIMI"))
    render_prompt(template, dict.fromkeys((*ours, "ROLE_ADDITIONAL", *own), ""), path)


def render_prompt(template: str, arguments: Mapping[str, str], source: Path) -> str:
    """Fill `${NAME}`s strictly; a dollar sign without braces is only that.

    Raises:
        ConfigError: a name without a value, naming the file.
    """

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in arguments:
            line = template.count("\n", 0, found.start()) + 1
            known = ", ".join(sorted(arguments))
            raise ConfigError(f"{source}:{line}: ${{{name}}} has no value; the prompt can use {known}.")
        return arguments[name].encode(errors="backslashreplace").decode()  # paths may hold bytes that are no text

    return _ARGUMENT.sub(value, template)


def project_instructions(cwd: Path) -> str:
    """The text of every AGENTS.md from the git root down to `cwd`, deepest kept first when the budget runs out."""
    room = AGENTS_MD_BUDGET
    kept: list[str] = []
    directories = _up_to_git_root(cwd)
    top = Path(os.path.realpath(directories[-1]))
    for path in _instruction_files(directories):
        real = Path(os.path.realpath(path))
        if not real.is_relative_to(top) or likelihood(real, PolicyContext(root=top)) != "no":
            kept.append(f"<!-- {path} is a link that leads out of the project or to a secret: it was not read -->")
            continue
        try:
            text = _text(read_file(real, room)[0])
        except UnicodeError:
            kept.append(
                f"<!-- {path} is neither in UTF-8 nor in UTF-16: it was not read here; look at it with ReadFile -->"
            )
            continue
        except WorkspaceError:
            continue
        room -= len(text.encode())
        kept.append(f"<!-- {path} -->\n{text.strip()}")
        if room <= 0:
            break
    return "\n\n".join(reversed(kept)) or "None."


def _text(data: bytes) -> str:
    """Without the part of a character that the budget cut off. Raises UnicodeError: it is in an encoding that would have to be guessed."""
    for cut in range(4):
        read = certainly_decoded(data[: len(data) - cut])
        if read is not None:
            return read.text.removeprefix("\ufeff")
    raise UnicodeError


def _instruction_files(directories: Iterable[Path]) -> Iterator[Path]:
    """Of each directory in turn. A project may have put a link in a file's place."""
    for directory in directories:
        plain = next((directory / name for name in _NAMES if (directory / name).is_file()), None)
        hidden = (directory / home / "AGENTS.md" for home in _HIDDEN_HOMES)
        yield from ([plain] if plain else [])
        yield from (path for path in hidden if path.is_file())


def _up_to_git_root(cwd: Path) -> list[Path]:
    chain = [cwd, *cwd.parents]
    root = next((index for index, directory in enumerate(chain) if (directory / ".git").exists()), 0)
    return chain[: root + 1]


def list_directory(root: Path) -> str:
    """Two levels of names, directories with a slash; long ones are cut with the number left out."""
    return "\n".join(_list(root, LISTING_ROOT, depth=2)) or "(empty)"


def _list(directory: Path, limit: int, depth: int, indent: str = "") -> Iterator[str]:
    try:
        with os.scandir(directory) as found:
            entries = sorted((not entry.is_dir(follow_symlinks=False), entry.name) for entry in found)
    except OSError:
        yield f"{indent}(unreadable)"
        return
    entries = [entry for entry in entries if entry[1] != ".git"]
    for is_other, name in itertools.islice(entries, limit):
        yield f"{indent}{_one_line(name)}{'' if is_other else '/'}"
        if not is_other and depth > 1:
            yield from _list(directory / name, LISTING_CHILD, depth - 1, indent + "  ")
    if len(entries) > limit:
        yield f"{indent}… and {len(entries) - limit} more"


def _one_line(name: str) -> str:
    """A file's name as text: a project may choose bytes that are none, or line breaks that would pass for our words."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)
