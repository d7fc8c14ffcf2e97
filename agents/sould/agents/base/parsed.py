"""The base of our models of what comes from outside: a validator is made when it is needed, not when its module is loaded.

All that a daemon might read together would cost its start 40 ms and 2 MB. This module must never import more than pydantic.
"""

from pydantic import BaseModel, ConfigDict

LATE = ConfigDict(defer_build=True)


class Parsed(BaseModel):
    """A model whose validator is made when something is read."""

    model_config = LATE
