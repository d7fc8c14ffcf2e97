"""What a call did to files besides its tool's own writes, as its result tells it. Changes nothing else of the result."""

from collections.abc import Sequence

from pydantic import JsonValue

from sould.agents.files.projects.changes import MOST_NAMED, Findings
from sould.agents.wire.display import CHANGED, DiffBlock
from sould.agents.wire.messages import ToolReturn


def with_findings(result: ToolReturn, findings: Findings, diffs: Sequence[DiffBlock]) -> ToolReturn:
    """The result with the paths for programs, diffs for people, and what could not be saved for everybody."""
    update: dict[str, object] = {}
    if findings.paths:
        paths: list[JsonValue] = [str(path) for path in findings.paths[:MOST_NAMED]]
        update["extras"] = {**(result.extras or {}), CHANGED: paths}
    if diffs:
        update["display"] = (*result.display, *diffs)
    if findings.note:
        update["message"] = f"{result.message} {findings.note}".strip()
        if isinstance(result.output, str):
            update["output"] = f"{result.output.rstrip()}\n[{findings.note}]".lstrip()
    return result.model_copy(update=update) if update else result
