"""What a session may do unasked and how its user is asked, put together over the user's rules and trust."""

from functools import partial
from pathlib import Path

from msgspec.structs import replace

from sould.agents.base.config import Config
from sould.agents.files.directories.checkouts import linked_worktree
from sould.agents.journal.log import SessionLog
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.lasting import Lasting
from sould.agents.permissions.policycontext import PolicyContext, SecretNames
from sould.agents.permissions.protected import account_places
from sould.agents.permissions.questions import Questions
from sould.agents.sessions.services import OUTPUTS, HostServices, Permission
from sould.agents.sessions.settings.modes import Modes, UserPresence
from sould.agents.sessions.settings.modeswitch import ModeSwitch
from sould.agents.sessions.settings.projectmemory import project_key
from sould.agents.sessions.settings.workspace_info import Workplace
from sould.agents.sessions.store.store import StoredSession
from sould.agents.sessions.turns.approval_requests import ApprovalRequester
from sould.agents.tools.planmode import PlanMode


def make_permission(
    host: HostServices,
    stored: StoredSession,
    log: SessionLog,
    workplace: Workplace,
    switch: ModeSwitch,
    presence: UserPresence,
) -> Permission:
    """What the session may do unasked, and how its user is asked."""
    asker = ApprovalRequester(log)
    readable = (stored.directory / OUTPUTS, *workplace.skills.places)
    approval = make_approval(host, asker, presence.modes, workplace, readable)
    plan_mode = PlanMode(switch, log, stored.directory)
    return Permission(approval, asker, presence.modes, plan_mode, Questions(log.channel), presence)


def make_approval(
    host: HostServices,
    asker: ApprovalRequester,
    modes: Modes,
    workplace: Workplace,
    readable: tuple[Path, ...],
) -> Approval:
    """The session's one door to effects, with the user's rules and trust."""
    policy, config = host.policy, host.configuration.live
    workspace, environment = workplace.opening.cwd, workplace.environment
    account = account_places(environment.home)
    where = PolicyContext.of(workspace, workplace.directories, environment, policy.own, readable, account)
    worktree = linked_worktree(workspace)
    if worktree is not None:
        where = replace(where, in_worktree=worktree.counterpart)
    return Approval(
        ask=asker,
        rules=policy.rules,
        trust=policy.trust.state(workspace),
        mode=lambda: modes.mode,
        where=replace(where, secret_names=lambda: _secret_names(config.look())),
        lasting=Lasting(
            policy.remembered,
            partial(project_key, host.files.projects, where.root, environment.home),
            partial(host.news.tell, "Your answer was not saved", severity="warning", keep=True),
        ),
    )


def _secret_names(config: Config) -> SecretNames:
    return SecretNames(config.secrets.certain, config.secrets.likely)
