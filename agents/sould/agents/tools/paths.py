"""How tools name paths to people and models, and which files no tool shows.

The list of secrets is a floor under the rules, not a substitute: no approval opens these files to the model.
"""

from pathlib import Path

from sould.agents.tools.base import tool_error
from sould.agents.wire.messages import Location, ToolReturn
from sould.agents.workspace import ResolvedPath, Workspace, WorkspaceError

_KEYS = frozenset({"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"})
_TEMPLATES = (".example", ".sample", ".template")


def is_secret(path: Path) -> bool:
    """`.env` files (not their templates), private ssh keys, cloud credentials."""
    name = path.name.casefold()
    if name in {".env", ".envrc"} or name.startswith(".env."):
        return not name.endswith(_TEMPLATES)
    if name.startswith("credentials") and path.parent.name.casefold() in {".aws", ".gcp"}:
        return True
    return name in _KEYS


def refuse_secret(path: Path, tool: str) -> ToolReturn | None:
    """The refusal for a file that holds secrets; None for all others."""
    if not is_secret(path):
        return None
    return tool_error(
        f"{tool} never opens {path}: files of this kind (.env, private keys, cloud credentials) hold secrets. "
        "If you need to know what is set, ask the user; a template such as .env.example can be read.",
        brief="Not read: it holds secrets",
    )


def shown(workspace: Workspace, path: Path) -> str:
    """Relative to the working directory when below it, else absolute."""
    return str(path.relative_to(workspace.root)) if path.is_relative_to(workspace.root) else str(path)


def named(workspace: Workspace, given: str) -> tuple[str, tuple[Location, ...]]:
    """A title's name for the path a model gave, and its location; a path that names nothing is shown as it came."""
    found = resolved(workspace, given)
    if isinstance(found, ToolReturn):
        return given[:200], ()
    return shown(workspace, found.path), (Location(path=str(found.path)),)


def resolved(workspace: Workspace, given: str) -> ResolvedPath | ToolReturn:
    """The path a model gave, resolved, or the error for the model."""
    try:
        return workspace.resolve(given)
    except WorkspaceError as error:
        return failure(error)


def failure(error: WorkspaceError) -> ToolReturn:
    """A workspace's error as a tool result."""
    text = str(error)
    return tool_error(text if text.endswith((".", ")")) else f"{text}.", brief=text)
