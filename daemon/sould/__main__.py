"""`python -m sould`: the same program as the `sould` script."""

import sys

if sys.platform == "win32":
    sys.exit("sould runs on Linux and macOS; on Windows, install and run it inside WSL.")
if len(sys.argv) > 1 and sys.argv[1] in ("acp", "lsp", "wire"):
    from sould.daemon.bridge import main
else:
    from sould.daemon.cli.main import main
main()
