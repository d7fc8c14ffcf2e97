"""What the model is told before the first message: the agent's system prompt with its arguments filled in.

Nothing here runs or imports anything of the project.
"""

import itertools
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sould.agents.base.errors import ConfigError
from sould.agents.base.regularfile import read_text

BUILTIN = ("NOW", "WORK_DIR", "WORK_DIR_LS", "AGENTS_MD", "SKILLS", "ADDITIONAL_DIRS_INFO", "OS", "SHELL")
"""What every prompt can use (D31)."""
LISTING_ROOT = 30
LISTING_CHILD = 10
_ARGUMENT = re.compile(r"\$\{\s*([A-Za-z_]\w*)\s*\}")


def prompt_arguments(
    cwd: Path, additional: Sequence[Path], shell: str, now: datetime, instructions: str, skills: str
) -> dict[str, str]:
    """The builtin arguments, each under `SOULD_` and `KIMI_` (D31). `instructions`: those of the project."""
    values = {
        "NOW": now.isoformat(timespec="seconds"),
        "WORK_DIR": str(cwd),
        "WORK_DIR_LS": list_directory(cwd),
        "AGENTS_MD": instructions,
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
        template = read_text(path)
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
