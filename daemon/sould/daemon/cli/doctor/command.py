"""`sould doctor`: run the checks and print what to fix."""

import importlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec.structs import asdict

from sould.daemon.cli.doctor.finding import Check, Finding, SetUp, fail
from sould.daemon.cli.output import FAILED, Command, plural, visible

TOPICS: dict[str, tuple[str, ...]] = {
    "install": ("python", "command_in_path", "home", "file_limit", "keyring", "programs", "pages"),
    "places": ("runtime_directory", "state_directory", "private_files", "clock"),
    "service": ("daemon",),
    "configuration": ("files", "trust"),
    "network": ("network",),
    "models": ("usable",),
    "editors": ("editor_settings", "mcp_servers", "language_servers"),
}
"""Module -> its checks, in the order they are run. Modules are imported when asked for: the model client is slow."""

MARKS = {"ok": click.style("✓", fg="green"), "warn": click.style("!", fg="yellow"), "fail": click.style("✗", fg="red")}


@click.command(cls=Command)
@click.argument("topics", nargs=-1, type=click.Choice(list(TOPICS)), metavar="[TOPIC]...")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON array.")
@click.option("--quiet", "-q", is_flag=True, help="Leave out what is fine.")
@click.option("--timeout", default=5.0, show_default=True, help="Seconds to wait for each server and program.")
def doctor(topics: tuple[str, ...], as_json: bool, quiet: bool, timeout: float) -> None:
    """Find what is wrong with this set-up, and say how to fix it.

    TOPICs are install, places, service, configuration, network, models, editors; all of them when none is given.

    Looks at the installation, directories and their modes, the daemon, the configuration, models and keys, the
    network, and editors' settings. Nothing is changed. Model servers are asked for their list of models, which costs
    nothing. Run it in the project that makes trouble.

    Exits 1 when something does not work, else 0.

    Examples:
      sould doctor
      sould doctor models network
      sould doctor --quiet
      sould doctor --json > report.json     # holds no keys
    """
    setup = SetUp(os.environ, Path.cwd(), timeout)
    findings: list[Finding] = []
    for finding in examine(setup, topics or tuple(TOPICS)):
        findings.append(finding)
        if not as_json and not (quiet and finding.level == "ok"):
            _show(finding)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _summary(findings)
    sys.exit(FAILED if any(finding.level == "fail" for finding in findings) else 0)


def examine(setup: SetUp, topics: Sequence[str]) -> Iterator[Finding]:
    """The findings of all checks, in order. A check that breaks is itself a finding."""
    for topic in topics:
        module = importlib.import_module(f"sould.daemon.cli.doctor.{topic}")
        for name in TOPICS[topic]:
            check: Check = getattr(module, name)
            try:
                yield from check(setup)
            except Exception as error:  # noqa: BLE001 -- one broken check must not hide what the others find
                problem = f"This check itself failed: {type(error).__name__}: {error}"
                yield fail(name.replace("_", " "), problem, "Please report it.")


def _show(finding: Finding) -> None:
    click.echo(f"{MARKS[finding.level]} {visible(finding.text)}")
    if finding.fix:
        click.echo(f"    {click.style('→', fg='cyan')} {visible(finding.fix)}")


def _summary(findings: list[Finding]) -> None:
    failures = sum(finding.level == "fail" for finding in findings)
    warnings = sum(finding.level == "warn" for finding in findings)
    if failures or warnings:
        click.echo(f"\n{plural(failures, 'problem')}, {plural(warnings, 'warning')}.")
    else:
        click.echo("\nNo problems found.")
