"""Where a flow is written: a file of its own, or the one fenced block of a flow skill."""

import re
from pathlib import Path

from sould.agents.base.regularfile import read_regular
from sould.agents.soul.flows.d2 import parse_d2
from sould.agents.soul.flows.graph import Flow, FlowError, FlowProblem, SourcePlace
from sould.agents.soul.flows.mermaid import parse_mermaid
from sould.agents.soul.skills.skill import Skill, read_skill

_FENCE = re.compile(
    r"^[ \t]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}|~{3,})[ \t]*([\w-]*)[^\n`]*\n(.*?)(?:^[ \t]*\1[`~]*[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""Any fenced block, also within a list; one in another, which is an example, is part of that."""
_PARSERS = {"mermaid": parse_mermaid, "d2": parse_d2}


def skill_flow(skill: Skill) -> Flow:
    """The flow of a flow skill.

    Raises:
        FlowError: there is not exactly one block, or it cannot be run; lines are the file's.
    """
    blocks = [block for block in _FENCE.finditer(skill.body) if block.group(2).lower() in _PARSERS]
    if len(blocks) != 1:
        found = "no" if not blocks else f"{len(blocks)}"
        raise FlowError(
            FlowProblem(f"a flow has one fenced `mermaid` or `d2` block; there are {found}", SourcePlace(1, 1))
        )
    block = blocks[0]
    offset = skill.line - 1 + skill.body.count("\n", 0, block.start(3))
    return _PARSERS[block.group(2).lower()](block.group(3), offset)


def read_flow(path: Path) -> Flow:
    """The flow in a file: Markdown with a block, Mermaid (`.mmd`, `.mermaid`) or D2 (`.d2`).

    Raises:
        FlowError, SkillError, OSError
    """
    if path.suffix == ".d2":
        return parse_d2(_read(path))
    if path.suffix in (".mmd", ".mermaid"):
        return parse_mermaid(_read(path))
    return skill_flow(read_skill(path, "user"))


def _read(path: Path) -> str:
    data = read_regular(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        column = error.start - (before.rfind(b"\n") + 1) + 1
        raise FlowError(FlowProblem("this is not UTF-8 text", SourcePlace(before.count(b"\n") + 1, column))) from None
