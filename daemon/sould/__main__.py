"""`python -m sould`: the same program as the `sould` script."""

import sys

if sys.platform == "win32":
    sys.exit("sould runs on Linux and macOS; on Windows, install and run it inside WSL.")
asks_people = {"--help", "-h"}.intersection(sys.argv) or sys.argv[2:3] == ["login"]  # ACP's terminal log-in appends it
if sys.argv[1:2] and sys.argv[1] in ("acp", "lsp", "wire") and not asks_people:
    from sould.daemon.bridge import main
else:
    from sould.daemon.cli.main import main
main()
