"""The one gate before a tool opens a file for the model: resolve the path, refuse secrets, ask when the rules say so."""

from sould.agents.permissions import policy
from sould.agents.permissions.approval import Approval
from sould.agents.tools.base import ToolCallContext
from sould.agents.tools.paths import refuse_secret, resolved
from sould.agents.wire.messages import ToolReturn
from sould.agents.workspace import ResolvedPath, Workspace


async def admitted(
    workspace: Workspace, approval: Approval, given: str, call: ToolCallContext, sender: str, verb: str
) -> ResolvedPath | ToolReturn:
    """The path that may be read, or the result to give the model instead. `verb` words the question: "Read file"."""
    path = resolved(workspace, given)
    if isinstance(path, ToolReturn):
        return path
    for name in path.names:
        if secret := refuse_secret(name, sender):
            return secret
    refused = await approval.request(call, policy.ReadFile(path), sender=sender, description=f"{verb} `{path.path}`")
    return path if refused is None else refused
