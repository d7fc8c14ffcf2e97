"""Where a session's editor tools come from: a `ToolSource`, which loads nothing until somebody can serve one of them."""

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sould.agents.files.projects.borrowing import BorrowedProjects
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.toolapi.base import Tool, tool_error
from sould.agents.toolapi.sources import Offer
from sould.agents.tools.editor.routing import EditorBackends
from sould.agents.tools.editor.site import Sharing, Site
from sould.agents.wire.messages import ToolReturn

if TYPE_CHECKING:
    from sould.agents.tools.editor.tools import EditorAccess

_NONE: Final[Mapping[str, Tool[Any]]] = {}

CurrentSite: TypeAlias = Callable[[], Site]
"""Where the session works, as it is now, and for whom."""
CurrentSharing: TypeAlias = Callable[[], Sharing]
"""What the user chose for the project, as it is now."""


class EditorTools:
    """Of one session: those that somebody can serve where it works, and that its agents have not by another name."""

    def __init__(
        self,
        backends: EditorBackends,
        site: CurrentSite,
        files: CallFiles,
        projects: BorrowedProjects,
        approval: Approval,
        sharing: CurrentSharing,
    ) -> None:
        self._backends = backends
        self._site = site
        self._files = files
        self._projects = projects
        self._approval = approval
        self._sharing: CurrentSharing = sharing
        self._access: EditorAccess | None = None
        self._served: Collection[str] = frozenset[str]()
        self._tools: Offer = _NONE
        self._known: set[str] = set()

    @property
    def tools(self) -> Offer:
        """See `ToolSource`."""
        served = self._backends.served(self._site()) if self._backends.any else frozenset[str]()
        if served != self._served:
            self._served = served
            self._tools = self._offered(served)
            self._known |= self._tools.keys()
        return self._tools

    async def arrived(self, name: str) -> None:
        """See `ToolSource`: what can be served is known at once."""

    def missing(self, name: str) -> ToolReturn | None:
        """See `ToolSource`."""
        if name not in self._known:
            return None
        return tool_error(f"no_editor: nobody can serve {name} any more; the editor was closed. Do without it.")

    def _offered(self, served: Collection[str]) -> Offer:
        if not served:
            return _NONE
        from sould.agents.tools.editor.tools import EditorAccess, offered  # noqa: PLC0415 -- not before somebody can serve one

        if self._access is None:
            self._access = EditorAccess(
                self._backends, self._site, self._files, self._projects, self._approval, self._sharing
            )
        return offered(served, self._access)
