"""Other agents, installed once below `build/`, and pointed at the same model server. Never part of a test or of `make bench`.

What cannot be installed, or does not answer, is said and left out. Versions are those that were tried; newer ones may want
other settings.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import build
from acpclient import AgentFailedError
from agents import Agent, Tool
from rows.channel import channel
from world import MakeAgent, World

PLACE = build.BENCH / "peers"
CODEX = "@zed-industries/codex-acp"
CLAUDE = "@agentclientprotocol/claude-agent-acp"
KIMI = "kimi-cli"
VERSIONS = {CODEX: "0.16.0", CLAUDE: "0.101.0", KIMI: "1.51.0"}
PYTHONS = ("python3.14", "python3.13", "python3.12")
"""What kimi-cli needs, the newest first."""

Install: TypeAlias = Callable[[], MakeAgent]


@dataclass(frozen=True, slots=True)
class Others:
    """Those that could be installed, and why the others could not."""

    agents: dict[str, MakeAgent]
    versions: dict[str, str]
    left_out: dict[str, str]


def installed() -> Others:
    """Install what is missing."""
    agents: dict[str, MakeAgent] = {}
    versions: dict[str, str] = {}
    left_out: dict[str, str] = {}
    known: dict[str, tuple[str, Install]] = {
        "codex-acp": (CODEX, codex_installed),
        "kimi": (KIMI, kimi_installed),
        "claude-agent-acp": (CLAUDE, claude_installed),
    }
    for name, (package, install) in known.items():
        try:
            agents[name] = install()
            versions[package] = VERSIONS[package]
        except (SystemExit, FileNotFoundError) as error:
            print(f"bench: {name} is left out: {error}", file=sys.stderr)
            left_out[name] = str(error)
    return Others(agents, versions, left_out)


def drop_those_that_do_not_answer(world: World) -> dict[str, str]:
    """One prompt and one command each; whoever fails at them is no side of anything, and this says why."""
    left_out: dict[str, str] = {}
    for name, agent in list(world.agents.items()):
        try:
            works(agent)
        except AgentFailedError as error:
            print(f"bench: {name} is left out: {error}\n{said(agent)}", file=sys.stderr)
            left_out[name] = str(error)
            del world.agents[name]
    return left_out


def works(agent: Agent) -> None:
    """See that it answers, and that a command of its model really runs."""
    with channel(agent) as opened:
        tool, arguments = agent.shell
        opened.client.call(opened.session, tool, arguments("echo > ran"))
    if not (agent.project / "ran").exists():
        raise AgentFailedError(f"a command that its model called by {tool} did not run")


def said(agent: Agent) -> str:
    """Its last words on standard error."""
    return "\n".join((agent.home / "errors").read_text(errors="replace").splitlines()[-10:])


def npm(package: str) -> Path:
    """The folder of an npm package, installed without running anything of it."""
    place = PLACE / package.rpartition("/")[2] / VERSIONS[package]
    if not (place / "ready").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        print(f"bench: installing {package} (once)", file=sys.stderr)
        (place / "package.json").write_text('{"private": true}')
        words = ["install", "--ignore-scripts", "--no-audit", "--no-fund", f"{package}@{VERSIONS[package]}"]
        build.run([found("npm"), *words], place)
        (place / "ready").touch()
    return place / "node_modules"


def found(program: str) -> str:
    """Where a program is."""
    place = shutil.which(program)
    if place is None:
        raise FileNotFoundError(f"{program} is missing")
    return place


def codex_installed() -> MakeAgent:
    """The Rust program itself, as editors start it; the package's own wrapper in Node would be counted as well."""
    modules = npm(CODEX)
    program = next(each for each in modules.glob("@zed-industries/codex-acp-*/bin/codex-acp"))

    def make(name: str, home: Path, port: int) -> Agent:
        config = home / ".codex" / "config.toml"
        config.parent.mkdir()
        config.write_text(CODEX_CONFIG.format(port=port))
        environment = {"OPENAI_API_KEY": "bench", "CODEX_API_KEY": "bench", "CODEX_HOME": str(config.parent)}
        return Agent(
            name,
            (str(program),),
            home,
            environment,
            shell=("exec_command", lambda text: {"cmd": text}),
            read=None,
            cannot={"read-file": "it has no tool that reads a file; its model runs commands for that"},
        )

    return make


def claude_installed() -> MakeAgent:
    """The adapter, and the program that it brings along."""
    script = npm(CLAUDE) / CLAUDE / "dist" / "index.js"
    node = found("node")

    def make(name: str, home: Path, port: int) -> Agent:
        environment = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "bench",
            "ANTHROPIC_MODEL": "bench",
            "ANTHROPIC_SMALL_FAST_MODEL": "bench",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "IS_SANDBOX": "1",
        }
        settings = home / ".claude" / "settings.json"
        settings.parent.mkdir()
        settings.write_text('{"permissions": {"defaultMode": "bypassPermissions"}}')
        shell: Tool = ("Bash", lambda text: {"command": text, "description": "bench"})
        read: Tool = ("Read", lambda text: {"file_path": str(home / "project" / text)})
        return Agent(name, (node, str(script)), home, environment, shell=shell, read=read)

    return make


def kimi_installed() -> MakeAgent:
    """In a virtual environment of a Python that it accepts."""
    place = PLACE / KIMI / VERSIONS[KIMI]
    program = place / "bin" / "kimi"
    if not program.exists():
        shutil.rmtree(place, ignore_errors=True)
        print(f"bench: installing {KIMI} (once)", file=sys.stderr)
        build.run([new_python(), "-m", "venv", str(place)])
        build.run([*build.PIP, "--python", str(place), "install", "--quiet", f"{KIMI}=={VERSIONS[KIMI]}"])

    def make(name: str, home: Path, port: int) -> Agent:
        config = home / ".kimi" / "config.toml"
        config.parent.mkdir()
        config.write_text(KIMI_CONFIG.format(port=port))
        login = config.parent / "credentials" / "kimi-code.json"
        login.parent.mkdir()
        login.write_text(KIMI_LOGIN)
        return Agent(name, (str(program), "--yolo", "acp"), home)

    return make


def new_python() -> str:
    """A Python that kimi-cli accepts: on PATH, or one that pyenv has."""
    for name in PYTHONS:
        for place in (shutil.which(name), *sorted(Path.home().glob(f".pyenv/versions/*/bin/{name}"), reverse=True)):
            if place and not subprocess.run([place, "--version"], check=False, capture_output=True).returncode:
                return str(place)
    raise FileNotFoundError(f"{KIMI} needs one of {', '.join(PYTHONS)}")


CODEX_CONFIG = """\
model = "gpt-5.1-codex-max"
model_provider = "local"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.local]
name = "local"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
"""
KIMI_CONFIG = """\
default_model = "bench"
default_yolo = true

[models.bench]
provider = "local"
model = "bench"
max_context_size = 10000000

[providers.local]
type = "openai_legacy"
base_url = "http://127.0.0.1:{port}/v1"
api_key = "bench"
"""
KIMI_LOGIN = json.dumps(
    {
        "access_token": "bench",
        "refresh_token": "",
        "expires_at": 4_000_000_000.0,
        "scope": "",
        "token_type": "Bearer",
        "expires_in": 4_000_000_000.0,
    }
)
"""Made up: it asks for a login before it looks at its configuration, and then uses the key that stands there."""
