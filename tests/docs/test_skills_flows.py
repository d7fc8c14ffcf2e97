"""The pages about skills and flows: their blocks run as written, and every command they name is there."""

import json
import re
from pathlib import Path

from click.testing import CliRunner, Result

from sould.agents.soul.skills.discovery import BUILTIN
from sould.daemon.cli.main import cli
from soultest.daemon import Sould
from soultest.docs import follow

DOCS = Path(__file__).parents[2] / "docs"
GROUPS = ("flow", "loop", "sessions", "agents", "mcp", "config")
CREATOR = BUILTIN / "skill-creator" / "SKILL.md"
GRAPH = "```mermaid\nflowchart TD\n  BEGIN --> mend\n  mend --> END\n```\n"
_INLINE = re.compile(r"(?<!`)`(/|sould )([^`\n]+)`(?!`)")


def say(sould: Sould, *scripts: str) -> None:
    (sould.world.root / "scripts.txt").write_text(json.dumps(scripts))


def prompt(sould: Sould, text: str) -> str:
    """One prompt; everything in the journal of its session."""
    done = sould.cli("run", "-o", "json", text)
    assert done.returncode == 0, done.stderr
    session = json.loads(done.stdout)["session_id"]
    return Path(sould.paths.state, "sessions", session, "wire.jsonl").read_text()


def test_the_page_about_skills_makes_one_that_is_listed_and_used(sould: Sould) -> None:
    assert "- `/skill:release-notes` (extra) Write release notes" in follow(DOCS / "skills.md", sould).shown
    assert "`/skill:release-notes a short list`" in (DOCS / "skills.md").read_text()
    say(sould, "text: - everything is better")
    assert "Write a short list for people who have not read the code." in prompt(
        sould, "/skill:release-notes a short list"
    )


def test_the_page_about_flows_makes_one_that_runs_and_a_loop_that_is_listed(sould: Sould) -> None:
    said = follow(DOCS / "flows.md", sould).shown
    assert "no problems found" in said
    assert "finished (the agent found the task complete)  2/6" in said
    assert "`/flow:fix the parser's tests`" in (DOCS / "flows.md").read_text()
    say(sould, "text: mended", "text: <choice>yes</choice>")
    assert "fix the cause: the parser's tests" in prompt(sould, "/flow:fix the parser's tests")


def test_every_command_a_page_or_a_shipped_skill_names_is_there(sould: Sould) -> None:
    sould.world.script([])
    for name in ("release-notes", "fix"):
        skill = sould.workspace / ".agents" / "skills" / f"{name}.md"
        skill.parent.mkdir(parents=True, exist_ok=True)
        skill.write_text(
            f"---\ndescription: as the pages make it\n{'type: flow' if name == 'fix' else ''}\n---\n{GRAPH}"
        )
    known = sould.cli("run", "/help").stdout
    for page in (DOCS / "skills.md", DOCS / "flows.md", BUILTIN / "sould-help" / "SKILL.md", CREATOR):
        check_names(page.read_text(), known)


def check_names(page: str, known: str) -> None:
    """What the page says to type is a command, or an option of one."""
    named = _INLINE.findall(page)
    assert named
    for kind, rest in sorted(set(named)):
        first = rest.split()[0]
        if kind == "/":
            assert re.search(rf"^- `/{re.escape(first.replace('NAME', ''))}", known, re.MULTILINE), rest
            continue
        if not re.fullmatch("[a-z]+", first):
            continue  # `sould COMMAND --help`
        second = re.match(r"\w+ ([a-z]+(?:\|[a-z]+)*)(?= |$)", rest)
        for name in second[1].split("|") if second and first in GROUPS else [""]:
            shown = commands([first, *([name] if name else []), "--help"])
            assert shown.exit_code == 0, rest
            assert all(option in shown.output for option in re.findall(r"--[a-z-]+", rest)), rest


def commands(arguments: list[str]) -> Result:
    return CliRunner().invoke(cli, arguments)
