"""What is known of clients by their names, where the protocol has no word for it. A table; nothing else may depend on a name.

Found in their sources; `docs/clients.md` says what follows from it, for users and for authors of clients.
"""

from typing import TYPE_CHECKING, Final

from sould.acp.introduction import Implementation

if TYPE_CHECKING:
    from sould.agents.soul.session_request import Origin

LABELS_BY_KIND: Final = frozenset({"codecompanion.nvim", "acpx"})
"""They show an option of a permission by its kind alone: CodeCompanion has one label for each, acpx asks yes or no.

By name show: Zed, agent-shell, agentic.nvim, Toad, ACP Client and ACP Plugin of VS Code, Agent Client of
Obsidian. (2026-11)
"""

NAMES_OPTIONS: Final = frozenset(
    {"agent-shell", "agentic.nvim", "obsidian-agent-client", "toad", "vscode-acp-client", "zed"}
)
"""They show an option of a permission by its name, so that one which outlives the session is seen to do so. (2026-11)"""

REVIEWS: Final = {"zed": "Zed"}
"""Clients that let their user review what is written with `fs/write_text_file`, and never say what came of it; how each is called.

Zed answers before its user has seen the change, a reject there puts the old text back, a keep changes nothing that could be
seen (zed#47548). All others of the table above only show a difference. (2026-11)
"""

FOLLOWS: Final = {"zed": "Zed"}
"""Clients in which a user can have the editor go where the agent is, as the locations of its tool calls say; how each is called.

avante.nvim does that, too, and says no name. (2026-11)
"""

REDRAWS: Final = frozenset({"zed"})
"""Clients in which a card becomes what its updates say, its title too. (2026-11)

agentic.nvim and acpx ask their user about the card as it was shown first, so it must say what the call does from the start.
"""


IN_TERMINALS: Final = frozenset({"sould-run", "sould sessions import", "toad", "acpx"})
"""Clients that are no editor: their user sits at a terminal, or nobody does. (2026-11)"""


def origin_of(client: Implementation | None, *, attended: bool) -> "Origin":
    """Where a session of this client is begun. `attended`: a person is there."""
    if client is None or client.name.lower() not in IN_TERMINALS:
        return "editor"
    return "terminal" if attended else "run"


def offers_lasting(client: Implementation | None) -> bool:
    """Whether options beyond the session are offered there; elsewhere `sould approve` and the inbox take such answers."""
    return client is not None and client.name.lower() in NAMES_OPTIONS


def redraws_cards(client: Implementation | None) -> bool:
    """Whether a call may be shown before its arguments are whole."""
    return client is not None and client.name.lower() in REDRAWS


def follows_as(client: Implementation | None) -> str:
    """What a client is called that may go where a tool call is; "" for all others."""
    return FOLLOWS.get(client.name.lower(), "") if client is not None else ""


def reviews_as(client: Implementation | None) -> str:
    """What a client is called that reviews by itself what is written through it; "" for all others."""
    return REVIEWS.get(client.name.lower(), "") if client is not None else ""


def shows_names(client: Implementation | None) -> bool:
    """Whether options of the same kind can be told apart there; so it is in a client of which only its name is known.

    Not in one without a name: avante.nvim tells options apart by kind and order, and would take an answer for the session for
    the one that holds for ever.
    """
    return client is not None and client.name.lower() not in LABELS_BY_KIND
