"""Paths and the hello frame: golden, because bridge and daemon of different versions must agree."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sould.daemon.hello import MAGIC, VERSION, decode, encode
from sould.daemon.paths import Paths, quote

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("environment", "runtime", "state", "config"),
    [
        ({"HOME": "/h"}, "/h/.local/state/sould/run", "/h/.local/state/sould", "/h/.config/sould"),
        ({"HOME": "/h", "XDG_RUNTIME_DIR": "/tmp/"}, "/tmp/sould", "/h/.local/state/sould", "/h/.config/sould"),
        (
            {"HOME": "/h", "XDG_RUNTIME_DIR": "tmp"},
            "/h/.local/state/sould/run",
            "/h/.local/state/sould",
            "/h/.config/sould",
        ),
        (
            {"HOME": "/h", "XDG_RUNTIME_DIR": "/gone"},
            "/h/.local/state/sould/run",
            "/h/.local/state/sould",
            "/h/.config/sould",
        ),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c"}, "/s/sould/run", "/s/sould", "/c/sould"),
        (
            {"HOME": "/h", "XDG_STATE_HOME": "/" + "s" * 80},
            "/h/.sould-8f64f4dd",
            "/" + "s" * 80 + "/sould",
            "/h/.config/sould",
        ),
    ],
)
def test_one_function_says_where_everything_is(
    environment: dict[str, str], runtime: str, state: str, config: str
) -> None:
    paths = Paths(environment)
    assert (paths.runtime, paths.state, paths.config) == (runtime, state, config)
    assert paths.socket == runtime + "/sock"
    assert paths.lock == runtime + "/daemon.lock"
    assert paths.log == state + "/log/daemon.log"


def test_a_home_longer_than_a_socket_path_has_a_private_directory_of_the_system() -> None:
    """Another home, another directory."""
    long, other = (Paths({"HOME": "/" + letter * 120}) for letter in "ab")
    assert len(long.runtime) < 60
    assert long.runtime.startswith((f"/run/user/{os.geteuid()}/sould-", f"/tmp/sould-{os.geteuid()}-"))
    assert long.runtime != other.runtime
    assert long.state == "/" + "a" * 120 + "/.local/state/sould"


@pytest.mark.needs_root
@pytest.mark.parametrize(
    ("environment", "runtime"), [([], "/run/user/0/sould"), (["HOME=/h"], "/h/.local/state/sould/run")]
)
def test_an_editor_that_passes_on_neither_home_nor_runtime_directory_finds_the_users_daemon(
    environment: list[str], runtime: str
) -> None:
    """In a mount namespace of its own with a /run as systemd makes it."""
    show = "import os; from sould.daemon.paths import Paths; print(Paths(os.environ).runtime)"
    script = 'mount -t tmpfs none /run && mkdir -p -m 700 /run/user/0 && exec env -i "$@"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", *environment, sys.executable, "-c", show]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == runtime


@pytest.mark.parametrize("path", ["/a b/c", "/it's", "/plain-1.2/x", "/🦀"])
def test_a_quoted_path_is_one_word_of_a_shell(path: str) -> None:
    done = subprocess.run(["sh", "-c", f"printf %s {quote(path)}"], capture_output=True, text=True)
    assert done.stdout == path


def test_the_hello_frame_carries_any_bytes() -> None:
    fields = [(b"cwd", b"/\xff\xfe"), (b"env", b"A=b\nc=d"), (b"arg", b""), (b"arg", b"x=y")]
    frame = encode(fields)
    assert frame.startswith(MAGIC + b"00000021\n")
    assert decode(frame[len(MAGIC) + 9 :]) == fields


@pytest.mark.parametrize("body", [b"a=b", b"a\0", b"\0"])
def test_what_is_no_list_of_fields_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="hello frame"):
        decode(body)


def test_the_version_is_the_package_s() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


def test_the_bridge_imports_next_to_nothing() -> None:
    """Every module costs a share of the start; what `site` brings with it is free."""
    code = (
        "import sys; before = set(sys.modules); import sould.daemon.bridge; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, env={**os.environ}
    )
    assert done.stdout.split() == [
        "_socket",
        "sould",
        "sould.daemon",
        "sould.daemon.bridge",
        "sould.daemon.dial",
        "sould.daemon.hello",
        "sould.daemon.paths",
    ]
