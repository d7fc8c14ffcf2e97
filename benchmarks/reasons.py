"""Why a budget is not met: a sentence for each row, by what a profile of it showed. `docs/performance.md` quotes them.

A row that keeps to its budget needs none; a sentence that is left over is not shown. Names may have `*`. After a change
here, `.venv/bin/python benchmarks/run.py write` writes the page anew, from the record of the latest runs.
"""

import fnmatch

REASONS = {
    "warm-initialize": (
        "The interpreter's own start is four fifths of it. The rest is the bridge's four modules and `_socket` (a tenth), and "
        "the daemon's first look at a client (a tenth)."
    ),
    "load": (
        "Reading, checking and parsing is a tenth of it; making the messages a quarter, what the client is shown (13 MB) a third, "
        "the model's context, collections of memory and the way to the client the rest, all of it a few microseconds for each of "
        "15,000 records."
    ),
    "promise": (
        "A thread syncs, so that no client waits for a disk: waking it, and being woken by it, takes as long as the sync. "
        "Without the journal the same two changes of thread cost as much."
    ),
}


def reason(row: str) -> str:
    """Why this row misses its budget."""
    return next((why for name, why in REASONS.items() if fnmatch.fnmatch(row, name)), "Not looked into yet.")
