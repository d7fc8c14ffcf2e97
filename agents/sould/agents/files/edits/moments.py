"""The order in which the edits of a daemon are made, across projects and sessions. It ends with the daemon."""

import itertools

_MOMENTS = itertools.count(1)


def moment() -> int:
    """The next mark."""
    return next(_MOMENTS)
