"""Somebody at the command line: `sould` as a real process in a world of its own, and what `doctor` says there."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soultest.daemon import Sould
from soultest.world import run_sould

TOPIC = {
    "path": "install",
    "home": "install",
    "limits": "install",
    "keyring": "install",
    "rg": "install",
    "git": "install",
    "bash": "install",
    "runtime directory": "places",
    "state directory": "places",
    "disk": "places",
    "file modes": "places",
    "daemon": "service",
    "sessions": "service",
    "configuration": "configuration",
    "keys": "configuration",
    "trust": "configuration",
    "network": "network",
    "models": "models",
    "clock": "models",
    "editors": "editors",
    "mcp": "editors",
    "language servers": "editors",
}
"""Finding -> the topic of `sould doctor` that makes it."""
SEVERITY = {"ok": 0, "warn": 1, "fail": 2}


@dataclass(frozen=True)
class User:
    """A user. `project` is where they stand."""

    daemon: Sould

    @property
    def environment(self) -> dict[str, str]:
        return self.daemon.environment

    @property
    def home(self) -> Path:
        return self.daemon.world.root

    @property
    def project(self) -> Path:
        return self.daemon.workspace

    @property
    def config(self) -> Path:
        return Path(self.daemon.paths.config)

    @property
    def state(self) -> Path:
        return Path(self.daemon.paths.state)

    @property
    def runtime(self) -> Path:
        return Path(self.daemon.paths.runtime)

    def sould(
        self,
        *arguments: str,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        prefix: tuple[str, ...] = (),
    ) -> "subprocess.CompletedProcess[str]":
        """Run one command to its end; `stdin` is what it can read. `prefix` runs it through another program."""
        given = self.environment | dict(env or {})
        return run_sould(given, cwd or self.project, *arguments, stdin=stdin, prefix=prefix)

    def doctor(
        self, *topics: str, env: Mapping[str, str] | None = None, prefix: tuple[str, ...] = ()
    ) -> list[dict[str, str]]:
        """The findings of `sould doctor`."""
        done = self.sould("doctor", *topics, "--json", "--timeout", "2", env=env, prefix=prefix)
        assert done.stdout, done.stderr
        findings: list[dict[str, str]] = json.loads(done.stdout)
        assert not [finding for finding in findings if "check itself failed" in finding["text"]], findings
        return findings

    def finding(
        self, check: str, *, env: Mapping[str, str] | None = None, prefix: tuple[str, ...] = ()
    ) -> dict[str, str]:
        """The worst finding of one check."""
        found = [finding for finding in self.doctor(TOPIC[check], env=env, prefix=prefix) if finding["check"] == check]
        assert found, f"no finding of {check}"
        return max(found, key=lambda finding: SEVERITY[finding["level"]])

    def configure(self, text: str, *, mode: int = 0o600) -> Path:
        """Write the configuration file."""
        self.config.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.config / "config.toml"
        path.write_text(text)
        path.chmod(mode)
        return path

    def scripted(self, *scripts: str) -> None:
        """Configure the scripted model with one script for each model call."""
        self.daemon.world.script(scripts)

    def result(self, *arguments: str, **more: Any) -> dict[str, Any]:
        """`sould run -o json …`: its result, with the exit code checked against it."""
        done = self.sould("run", "-o", "json", *arguments, **more)
        assert done.stdout, done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        assert result["exit_code"] == done.returncode
        return result
