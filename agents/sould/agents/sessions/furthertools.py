"""The tools of a session that are none of the agent's own: of MCP servers, of clients, of editors."""

from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.journal.log import SessionLog
from sould.agents.mcp.asking import Sampler
from sould.agents.mcp.session import Files, SessionServers
from sould.agents.mcp.specs import TrustedServers
from sould.agents.permissions.trust import TrustStore
from sould.agents.sessions.services import SessionServices, UserConfiguration
from sould.agents.sessions.settings.workspace_info import Workplace
from sould.agents.sessions.workfiles import site_of
from sould.agents.soul.soul import Soul
from sould.agents.tools.editor.source import EditorTools
from sould.agents.tools.external.registry import ExternalTools


class FurtherTools(Struct, frozen=True):
    """Where tools come from that are none of the agent's own."""

    mcp: SessionServers
    clients: ExternalTools


def make_servers(services: SessionServices, log: SessionLog, soul: Soul, external: ExternalTools) -> SessionServers:
    """The session's MCP servers; its agent and those it starts have their tools, as far as each one's file allows.

    Behind them come the tools that clients run.
    """
    workplace, approval = services.workplace, services.permission.approval
    opening = replace(workplace.opening, additional=tuple(workplace.directories))
    sampler = Sampler(soul.model, services.model.budgets.allow)
    host, variables = services.host, workplace.environment.variables
    files = mcp_files(host.configuration, host.policy.trust, workplace)
    mcp = SessionServers(host.mcp, files, log, approval, variables, opening, sampler)
    services.sources.add(mcp)
    services.sources.add(external)
    services.sources.add(make_editor_tools(services))
    return mcp


def make_editor_tools(services: SessionServices) -> EditorTools:
    """What editors and language servers can do for the session's agents."""
    files, approval = services.files, services.permission.approval
    workplace, session = services.workplace, services.session_id
    site = partial(site_of, workplace, approval, files.clients, session)
    sharing = partial(services.host.memory.editor_context, workplace.opening.cwd)
    return EditorTools(services.host.editors, site, files.judged, files.recorded, approval, sharing)


def mcp_files(configuration: UserConfiguration, trust: TrustStore, workplace: Workplace) -> Files:
    """Where the session's MCP servers are configured: a kimi-cli user's file, our own, and the project's."""
    share = workplace.environment.variables.get("KIMI_SHARE_DIR")
    kimi = (Path(share) if share else workplace.environment.home / ".kimi") / "mcp.json"
    return Files((kimi, configuration.directory / "mcp.json"), TrustedServers(trust, workplace.opening.cwd))
