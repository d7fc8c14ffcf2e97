"""Where a session of a test stands, for what judges and asks without a session: its environment, its place, its approval."""

from pathlib import Path

from sould.agents.base.environment import Environment
from sould.agents.permissions.approval import Approval, Ask, RulesSource
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.trust import Trust
from sould.agents.sessions.settings.modes import Modes

ROOT = Path("/w/project")
"""A project that is not there."""
HOME = Path("/people/u")
"""Nor is its user's home."""
NOWHERE = PolicyContext(ROOT, home=HOME, path=(Path("/usr/bin"), ROOT / "tools"), own=(Path("/state/sould"),))
"""The place of a session in it: no program is found, and nothing is looked at."""


def environment_of(home: Path = HOME, path: str = "/usr/bin:/bin", **more: str) -> Environment:
    """Somebody's, with this machine's programs."""
    return Environment({"PATH": path, "HOME": str(home), **more}, provider_keys=())


def place_of(root: Path, environment: Environment | None = None, account: tuple[Path, ...] = ()) -> PolicyContext:
    """Of a session in a directory that is there, with its programs and repositories."""
    return PolicyContext.of(root, (), environment or environment_of(), account=account)


def approval_of(
    ask: Ask,
    where: PolicyContext,
    mode: Mode | Modes = "ask",
    rules: RulesSource = Rules,
    trust: Trust = "trusted",
) -> Approval:
    """What asks there."""
    modes = mode if isinstance(mode, Modes) else Modes(mode)
    return Approval(ask=ask, rules=rules, trust=trust, mode=lambda: modes.mode, where=where)
