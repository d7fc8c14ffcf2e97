"""Which model the agents of a session ask, and at whose expense."""

from msgspec import Struct

from sould.agents.llm.costs import Costs
from sould.agents.sessions.settings.budgets import Budgets
from sould.agents.sessions.settings.models import SessionModels


class ModelUse(Struct, frozen=True):
    """Of one session."""

    models: SessionModels
    costs: Costs
    budgets: Budgets
    """Of the whole session, whichever agent spends."""
