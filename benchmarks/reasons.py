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
    "first-token-paused": (
        "After a pause caches are cold: the same 4 ms of processor time take twice as long, half of it in the turn's own "
        "work, a fifth in the HTTP client."
    ),
    "crowd-*": (
        "The start of a turn costs 5 ms of processor time, and 200 start at once. Letting them start in turns halved it, and "
        "made 50 editors wait three times as long, so it was given up."
    ),
    "editors-50-first-token": "The start of a turn costs 5 ms of processor time, and 50 start at once.",
    "read-file": "A second request to the model, at 2.5 ms, and one call: judged, shown, journalled, answered.",
    "shell-*-cpu": "A third of it is the guard, which forks twice and starts a shell, so that nothing outlives its command.",
    "grep-*": (
        "This search is a session's first. Looking at the project stands still for it, but it begins with the first prompt, "
        "right before: git is asked where its index is, and a program is started. The search itself takes what `rg` takes."
    ),
    "memory-idle": (
        "Half of it is code of modules: pydantic and what it loads, asyncio, and what sessions stand on, loaded beforehand so that "
        "the first one need not wait for it. 9 MB are libraries in C: pydantic, OpenSSL, SQLite."
    ),
    "load": (
        "Reading, checking and parsing is a tenth of it; making the messages a quarter, what the client is shown (13 MB) a third, "
        "the model's context, collections of memory and the way to the client the rest, all of it a few microseconds for each of "
        "15,000 records."
    ),
    "request-5000": (
        "Each of the 5,000 files that the agent had read was looked at before each step. Since this run the 300 that it looked at "
        "last are: the row by itself takes 9.8 ms."
    ),
    "load-beside": (
        "What was known of each of 5,000 files was added up anew for each of them. That was mended after this run: the row by "
        "itself takes 7 ms, and `load` 330."
    ),
    "lsp-memory": "The MCP library and what it loads are 58 MB of it, editors' windows 2.",
    "promise": (
        "A thread syncs, so that no client waits for a disk: waking it, and being woken by it, takes as long as the sync. "
        "Without the journal the same two changes of thread cost as much."
    ),
}


def reason(row: str) -> str:
    """Why this row misses its budget."""
    return next((why for name, why in REASONS.items() if fnmatch.fnmatch(row, name)), "Not looked into yet.")
