"""Which model the agents of a session ask, and at whose expense."""

from sould.agents.llm.costs import Costs
from sould.agents.settings.budgets import Budgets
from sould.agents.settings.models import SessionModels
from sould.agents.values import dataclass


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Of one session."""

    models: SessionModels
    costs: Costs
    budgets: Budgets
    """Of the whole session, whichever agent spends."""
