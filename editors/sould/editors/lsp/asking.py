"""What agents are asked from code actions: about a diagnostic, a selection, a hunk. Words only."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from sould.agents.clients.params import Inbound, Lenient
from sould.agents.clients.review.params import RangeParams
from sould.agents.files.reviewing.listing import ReviewedHunk

MOST_LINES: Final = 400
"""Of code that goes into a prompt; the agent reads the rest itself."""
MOST_DIAGNOSTICS: Final = 20
SEVERITIES: Final = {1: "error", 2: "warning", 3: "information", 4: "hint"}
_BACKQUOTES: Final = re.compile(r"`{3,}")


class Reported(Inbound):
    """A diagnostic, as far as an agent is told of it."""

    message: Lenient[str] = ""
    severity: Lenient[int] = 1
    source: Lenient[str] = ""
    code: Lenient[int | str] = ""
    range: Lenient[RangeParams | None] = None


def fix(path: Path, diagnostics: Sequence[Reported], text: str = "") -> str:
    """Fix what the editor reports about a file."""
    told = [_diagnostic(path, each) for each in diagnostics[:MOST_DIAGNOSTICS]]
    return _joined(f"Fix {'this problem' if len(told) == 1 else 'these problems'} in {path}:", "\n".join(told), text)


def explain(path: Path, lines: Sequence[str], first: int, text: str = "") -> str:
    """Explain lines of a file; nothing is to be changed."""
    asked = text or "Explain this code. Change nothing."
    return _joined(f"{_where(path, first, len(lines))}:", fenced(lines), asked)


def edit(path: Path, lines: Sequence[str], first: int, text: str = "") -> str:
    """Change lines of a file."""
    asked = text or "Do what the comments in this code ask for; where there are none, improve it. Change nothing else."
    return _joined(f"{_where(path, first, len(lines))}:", fenced(lines), asked)


def why(hunk: ReviewedHunk) -> str:
    """Why an agent changed something."""
    removed = [f"-{line}" for line in hunk.base]
    added = [f"+{line}" for line in hunk.texts]
    what = fenced([*removed, *added]) if removed or added else f"({hunk.kind}: {hunk.before} → {hunk.after})"
    return _joined(f"{_where(Path(hunk.path), hunk.start, len(hunk.lines))}:", what, "Why this change? Change nothing.")


def fenced(lines: Iterable[str]) -> str:
    """Code as Markdown has it."""
    code = [*lines]
    left_out = len(code) - MOST_LINES
    shown = "".join(code[:MOST_LINES]).rstrip("\r\n")
    fence = "`" * max([3, *(len(each) + 1 for each in _BACKQUOTES.findall(shown))])
    return f"{fence}\n{shown}\n{fence}" + (f"\n({left_out} more lines)" if left_out > 0 else "")


def _where(path: Path, first: int, count: int) -> str:
    last = first + max(1, count)
    return f"{path}:{first + 1}" if last == first + 1 else f"{path}:{first + 1}-{last}"


def _diagnostic(path: Path, given: Reported) -> str:
    at = f"{path.name}:{given.range.start.line + 1}: " if given.range is not None else ""
    severity = SEVERITIES.get(given.severity, "error")
    source = " ".join(str(each)[:100] for each in (given.source, given.code) if each != "")
    return f"- {at}{severity}: {given.message[:2000]}{f' ({source})' if source else ''}"


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
