"""What clients tell of the editor tools they serve: the methods below `_sould/editor` (docs/editor-clients.md)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Protocol

from sould.agents.editorclients.params import StateParams
from sould.agents.reviewclients.methods import ClientCall, method
from sould.agents.rpc.params import Json

if TYPE_CHECKING:
    from sould.agents.editorclients.client import ConnectedEditor
    from sould.agents.sessions.hostport import HostPort

STATE: Final = "_sould/editor/state"
FORGOTTEN: Final = "_sould/editor/forgotten"


class EditorPeer(Protocol):
    """Who serves editor tools."""

    async def host(self) -> "HostPort":
        """All sessions."""
        ...

    async def editor_tools(self) -> "ConnectedEditor":
        """How it is asked."""
        ...


async def state(client: EditorPeer, params: StateParams) -> Json:
    """What the client can do, and how its window stands."""
    editor = await client.editor_tools()
    await editor.tell(params)
    editors = (await client.host()).editors
    editors.add(editor)
    if params.focused:
        editors.focused(editor.id)
    return {}


METHODS: Final[Mapping[str, ClientCall[EditorPeer]]] = {STATE: method(StateParams, state)}
"""By name; all of them may also be notifications."""
