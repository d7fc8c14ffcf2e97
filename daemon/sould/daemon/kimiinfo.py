"""`sould kimi info` and `--version`: what programs for kimi-cli ask before they start it, in the time of a bare interpreter.

Nothing may be imported here that the interpreter has not loaded already.
"""

import os
import sys

from sould.daemon.hello import VERSION

KIMI_CLI_VERSION = "1.51.0"
"""The last kimi-cli, in whose place this stands: its clients ask for a version of its."""
WIRE_VERSION = "1.10"
SPEC_VERSION = "1"
JSON = """\
{"kimi_cli_version":"%s","agent_spec_versions":["%s"],"wire_protocol_version":"%s","python_version":"%s"}
"""
WORDS = """\
kimi-cli version: %s
agent spec versions: %s
wire protocol: %s
python version: %s
sould version: %s
"""


def print_info(asked: "list[str]") -> int | None:
    """Answer `asked` and say the exit code; None when it is something else."""
    python = sys.version.partition(" ")[0]
    known = (KIMI_CLI_VERSION, SPEC_VERSION, WIRE_VERSION, python)
    if asked == ["info", "--json"]:
        said = JSON % known
    elif asked == ["info"]:
        said = WORDS % (*known, VERSION)
    elif asked in (["--version"], ["-V"]):
        said = f"sould-kimi {VERSION} (in place of kimi-cli {KIMI_CLI_VERSION})\n"
    else:
        return None
    try:
        os.write(1, said.encode())
    except OSError:  # whoever asked has left
        return 1
    return 0
