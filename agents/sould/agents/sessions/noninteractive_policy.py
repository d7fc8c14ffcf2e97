"""What may be done where no session is and nobody can be asked: what a session in mode `review` does unasked, and no more.

Secrets, protected files and what lies outside the project are denied. It opens nothing itself.
"""

from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sould.agents.base.environment import Environment
from sould.agents.llm.pool import key_variables
from sould.agents.llm.registry import KEY_VARIABLES
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import Mode
from sould.agents.permissions.policycontext import PolicyContext, SecretNames
from sould.agents.permissions.protected import account_places
from sould.agents.sessions.services import HostServices
from sould.agents.toolapi.base import RefusedError, tool_error
from sould.agents.tools.editor.site import OtherAgent
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse

UNASKED: Final = "This needs a person's yes, and over MCP nobody can be asked. Do it another way, or ask your user to."


class Unasked(Struct, frozen=True):
    """For whoever works in a directory with an environment of theirs."""

    services: HostServices

    def environment(self, agent: OtherAgent) -> Environment:
        """Without keys of models."""
        keys = KEY_VARIABLES | key_variables(self.services.configuration.live.look())
        return Environment(agent.environment, provider_keys=keys, outside=(agent.cwd,), umask=agent.umask)

    def approval(self, agent: OtherAgent, environment: Environment) -> Approval:
        """Judges by the user's rules; what it would ask about is refused."""
        policy, config = self.services.policy, self.services.configuration.live
        where = PolicyContext.of(agent.cwd, (), environment, policy.own, (), account_places(environment.home))

        def names() -> SecretNames:
            secrets = config.look().secrets
            return SecretNames(secrets.certain, secrets.likely)

        return Approval(
            ask=_deny,
            rules=policy.rules,
            trust=policy.trust.state(agent.cwd),
            mode=_mode,
            where=replace(where, secret_names=names),
        )


def _mode() -> Mode:
    """What goes ahead unasked."""
    return "review"


async def _deny(request: ApprovalRequest) -> ApprovalResponse:
    """An `Ask` for where nobody is."""
    raise RefusedError(tool_error(UNASKED, brief="Nobody can be asked"))
