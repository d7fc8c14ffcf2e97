"""Which model the agents of a session ask, and at whose expense."""

from pathlib import Path

from msgspec import Struct

from sould.agents.base.liveconfig import LiveConfig
from sould.agents.journal.log import SessionLog
from sould.agents.llm.costs import Costs
from sould.agents.llm.pool import ProviderPool
from sould.agents.llm.provider import ThoughtLevel
from sould.agents.sessions.settings.budgets import Budgets, DailySpend
from sould.agents.sessions.settings.models import SessionModels
from sould.agents.sessions.settings.state import SessionState
from sould.agents.soul.session_request import SessionRequest


class ModelUse(Struct, frozen=True):
    """Of one session."""

    models: SessionModels
    costs: Costs
    budgets: Budgets
    """Of the whole session, whichever agent spends."""


async def open_model_use(
    providers: ProviderPool,
    config: LiveConfig,
    log: SessionLog,
    state: SessionState,
    opening: SessionRequest,
    directory: Path,
) -> ModelUse:
    """The models of the client's environment, with the one the user chose, and the budgets.

    Those of the day are kept in `directory` for all sessions.
    """
    thinking: ThoughtLevel = state.thought_level or ("medium" if config.now.default_thinking else "off")
    models = await SessionModels.open(providers, opening.environment, opening.model or state.model, thinking)
    costs = Costs()
    return ModelUse(
        models, costs, Budgets(log.channel, state.account, DailySpend(directory / "spending.json"), config, costs)
    )
