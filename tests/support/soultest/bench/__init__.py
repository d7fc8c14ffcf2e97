"""The bench in this process: sessions on the daemon's own composition, over real files, with a scripted model.

`sessions` has the bench itself, `acp` a client that connects to it in memory, `mcp` its MCP servers, `tools` the file tools
alone, `crash` a process of it that is killed. `tests/support/README.md` says when to take it.
"""

from soultest.bench.sessions import Bench, Watcher, asked, call, finish, make_bench, refused

__all__ = ["Bench", "Watcher", "asked", "call", "finish", "make_bench", "refused"]
