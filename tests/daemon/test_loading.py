"""What is loaded when, by name: every package on these lists is something that people wait for after a login (D9).

A list grows only with a reason: what is slow to load belongs behind the first use, or behind `Sessions.load`.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import soultest

PROGRAM = Path(next(iter(soultest.__path__)), "loadedmain.py")
CONFIG = """\
default_model = "near"
[models.near]
provider = "near"
model = "near"
max_context_size = 100000
[providers.near]
type = "openai_legacy"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "a key"
"""
PYDANTIC = {"annotated_types", "pydantic", "pydantic_core", "typing_extensions", "typing_inspection"}
BEFOREHAND = {*PYDANTIC, "msgspec", "ctypes", "orjson", "pathlib", "sqlite3", "tomllib", "yaml"}
"""While nobody asks for a session: a daemon that only waits has made no validator, and no tool."""
SESSION = {
    *BEFOREHAND,
    *("email", "importlib.metadata", "zipfile"),  # pydantic looks for plugins of its own, which are switched off
    *(("inotify_simple",) if sys.platform == "linux" else ()),  # tells when skills are to be looked for again
}
HTTP = {
    *("anyio", "h11", "httpcore2", "httpx2", "idna", "sniffio", "socksio", "truststore"),
    *("http", "urllib.request"),
    *(("backports",) if sys.version_info < (3, 12) else ()),  # a namespace of keyring's, in which httpx2 looks
}


def test_nothing_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    home = {name: str(tmp_path / name) for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    for folder in (*home.values(), str(tmp_path / "project")):
        Path(folder).mkdir(0o700)
    config = tmp_path / "XDG_CONFIG_HOME" / "sould" / "config.toml"
    config.parent.mkdir(0o700)
    environment = {"PATH": os.environ["PATH"], "PYDANTIC_DISABLE_PLUGINS": "__all__", **home}
    with socket.create_server(("127.0.0.1", 0)) as model:
        config.write_text(CONFIG.format(port=model.getsockname()[1]))
        config.chmod(0o600)
        command = [sys.executable, "-P", str(PROGRAM), str(tmp_path / "project"), str(model.fileno())]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, pass_fds=[model.fileno()]
        )
    assert done.returncode == 0, done.stderr
    steps = {step: set(names) for step, names in json.loads(done.stdout).items()}
    assert steps["listening"] == {"msgspec", "orjson", "typing_extensions"}
    assert steps["initialize"] == steps["listening"]
    assert steps["beforehand"] == BEFOREHAND
    assert steps["session"] == SESSION
    assert HTTP <= steps["token"] <= SESSION | HTTP
