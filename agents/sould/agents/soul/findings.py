"""What a call did to files besides its tool's own writes, as its result tells it. Changes nothing else of the result."""

from pydantic import JsonValue

from sould.agents.projects.changes import CHANGED, MOST_NAMED, Findings
from sould.agents.wire.messages import ToolReturn


def with_findings(result: ToolReturn, findings: Findings) -> ToolReturn:
    """The result with the paths for programs, and what could not be saved for everybody."""
    update: dict[str, object] = {}
    if findings.paths:
        paths: list[JsonValue] = [str(path) for path in findings.paths[:MOST_NAMED]]
        update["extras"] = {**(result.extras or {}), CHANGED: paths}
    if findings.note:
        update["message"] = f"{result.message} {findings.note}".strip()
        if isinstance(result.output, str):
            update["output"] = f"{result.output.rstrip()}\n[{findings.note}]".lstrip()
    return result.model_copy(update=update) if update else result
