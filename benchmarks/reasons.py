"""Why a budget is not met: a sentence for each row, by what a profile of it showed. `docs/performance.md` quotes them.

A row that keeps to its budget needs none; a sentence that is left over is not shown. Names may have `*`.
"""

import fnmatch

REASONS = {
    "warm-initialize": (
        "The interpreter's own start is four fifths of it. The rest is the bridge's four modules and `_socket` (a tenth), and "
        "the daemon's first look at a client (a tenth)."
    ),
}


def reason(row: str) -> str:
    """Why this row misses its budget."""
    return next((why for name, why in REASONS.items() if fnmatch.fnmatch(row, name)), "Not looked into yet.")
