"""What each package that sould depends on costs: on disk, and when an interpreter that has asyncio loads it first.

The table in ARCHITECTURE.md holds these figures. What a package brings along counts in time and memory, not on disk.
"""

import json
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

ROUNDS = 5
MODULES = {
    "anyio": "anyio._backends._asyncio",
    "cattrs": "cattrs",
    "chardet": "chardet",
    "click": "click",
    "fastmcp-slim": "fastmcp.client",
    "google-re2": "re2",
    "httpx2": "httpx2",
    "inotify-simple": "inotify_simple",
    "jsonschema": "jsonschema",
    "keyring": "keyring",
    "lsprotocol": "lsprotocol.types",
    "mcp": "mcp",
    "msgspec": "msgspec",
    "openai": "openai",
    "orjson": "orjson",
    "pathspec": "pathspec",
    "pillow": "PIL.Image",
    "pydantic": "pydantic",
    "pygls": "pygls.lsp.server",
    "pyyaml": "yaml",
    "rapidfuzz": "rapidfuzz.distance",
    "regex": "regex",
    "rich": "rich.markdown",
    "trafilatura": "trafilatura",
    "watchfiles": "watchfiles",
}
"""By package, what of it is loaded first."""
LOAD = """
import asyncio, importlib, json, sys, time
def mebibytes():
    return int(open("/proc/self/statm").read().split()[1]) / 256
before, begun = mebibytes(), time.process_time()
importlib.import_module(sys.argv[1])
print(json.dumps([(time.process_time() - begun) * 1000, mebibytes() - before]))
"""


def main() -> None:
    """Print the table."""
    print("| package | on disk, MB | import, ms of CPU | memory, MB |\n| --- | --- | --- | --- |")
    for package, module in MODULES.items():
        rounds = [_loaded(module) for _ in range(ROUNDS)]
        print(
            f"| {package} | {_on_disk(package):.1f} | {min(ms for ms, _ in rounds):.0f} | {min(mb for _, mb in rounds):.1f} |"
        )


def _on_disk(package: str) -> float:
    """Bytecode included, as pip writes it."""
    files = (Path(str(file.locate())) for file in distribution(package).files or ())
    return sum(file.stat().st_blocks * 512 for file in files if file.is_file()) / 1e6


def _loaded(module: str) -> tuple[float, float]:
    """Milliseconds and MB."""
    done = subprocess.run([sys.executable, "-c", LOAD, module], capture_output=True, check=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
