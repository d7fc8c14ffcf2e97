"""What is known of clients by their names, where the protocol has no word for it. A table; nothing else may depend on a name.

Found in their sources; `docs/clients.md` says what follows from it, for users and for authors of clients.
"""

from typing import Final

from sould.acp.introduction import Implementation

LABELS_BY_KIND: Final = frozenset({"codecompanion.nvim", "acpx"})
"""They show an option of a permission by its kind alone: CodeCompanion has one label for each, acpx asks yes or no.

By name show: Zed, agent-shell, agentic.nvim, avante.nvim, Toad, ACP Client and ACP Plugin of VS Code, Agent Client of
Obsidian. (2026-11)
"""


def shows_names(client: Implementation | None) -> bool:
    """Whether options of the same kind can be told apart there; so it is in a client that nothing is known of."""
    return client is None or client.name.lower() not in LABELS_BY_KIND
