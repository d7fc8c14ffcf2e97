"""How tools say to the model what a workspace's error is."""

from pathlib import Path

from sould.agents.tools.base import tool_error
from sould.agents.wire.messages import ToolReturn
from sould.agents.workspace import WorkspaceError

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


def failure(error: WorkspaceError) -> ToolReturn:
    """A workspace's error as a tool result."""
    text = str(error)
    return tool_error(text if text.endswith((".", ")")) else f"{text}.", brief=text)
