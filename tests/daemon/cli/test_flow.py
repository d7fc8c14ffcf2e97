"""`sould flow check|show`."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from sould.agents.soul.flows.mermaid import parse_mermaid
from sould.agents.soul.skills.discovery import BUILTIN
from sould.daemon.cli.flow import flow

GOOD = "BEGIN -> work -> sure: x\nsure.shape: diamond\nsure -> END: yes\nsure -> work: no\n"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.d2"
    path.write_text(GOOD)
    return path


def test_a_sound_flow_is_said_to_be_so(good: Path) -> None:
    done = CliRunner().invoke(flow, ["check", str(good)])
    assert done.exit_code == 0
    assert "2 steps, 1 decision among them; no problems found" in done.output


def test_a_flow_of_others_does_not_drive_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "x.d2"
    path.write_text("BEGIN -> a: \x1b]52;c;aGk=\x07\na -> END\nb\x1b[2J\n")
    for command in ("show", "check"):
        assert "\x1b" not in CliRunner().invoke(flow, [command, str(path)], color=True).output


def test_every_mistake_is_a_line_with_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    path.write_text(
        "---\nname: x\ntype: flow\n---\n# Head\n\n```mermaid\nflowchart TD\nBEGIN --> q{?} --> END\nq --> x\n```\n"
    )
    done = CliRunner().invoke(flow, ["check", str(path)])
    assert done.exit_code == 1
    assert done.stderr.splitlines() == [
        f"{path}:9:16: this edge of the decision q has no label",
        f"{path}:10:3: this edge of the decision q has no label",
        f"{path}:10:7: no edge leaves x",
    ]


def test_what_does_not_count_is_a_warning_with_file_line_and_column(tmp_path: Path) -> None:
    path = tmp_path / "x.mmd"
    path.write_text("flowchart TD\nBEGIN --> a --> END\nstyle a fill:#f9f\nclassDef red fill:red\n")
    for command in ("check", "show"):
        done = CliRunner().invoke(flow, [command, str(path)])
        assert done.exit_code == 0
        assert done.stderr.splitlines() == [
            f"{path}:3:1: warning: `style` is ignored",
            f"{path}:4:1: warning: `classDef` is ignored",
        ]
        assert command == "show" or "no problems found, 2 constructs ignored" in done.stdout


def test_a_flow_is_named_as_in_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    skills = tmp_path / ".agents" / "skills"
    for name, kind in (("polish", "flow"), ("tidy", "flwo")):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(f"---\ntype: {kind}\n---\n```d2\n{GOOD}```\n")
    shown = [CliRunner().invoke(flow, ["show", named]) for named in ("polish", "/flow:polish", str(skills / "polish"))]
    assert {done.output for done in shown} == {shown[0].output}
    assert "◇ 2. sure" in shown[0].output
    for named, said in (
        ("polis", "Did you mean polish?"),
        ("nothing", "The flows here are polish, pull-request, release."),
        (
            "tidy",
            f"tidy is a skill, not a flow ({skills}/tidy/SKILL.md): its front matter lacks `type: flow`. {skills}/tidy/",
        ),
    ):
        assert said in str(CliRunner().invoke(flow, ["show", named]).exception)


def test_a_flow_stands_in_a_list_and_beside_examples_as_well(tmp_path: Path) -> None:
    path = tmp_path / "SKILL.md"
    example = "````md\n```mermaid\nflowchart TD\n  X --> Y\n```\n````\n"
    path.write_text(
        f"---\ntype: flow\n---\n{example}1. Do this:\n\n   ```mermaid\n   flowchart TD\n     BEGIN --> a\n   ```\n"
    )
    assert CliRunner().invoke(flow, ["check", str(path)]).stderr.splitlines() == [
        f"{path}:1:1: there is no END node",
        f"{path}:14:16: no edge leaves a",
    ]


def test_a_file_that_is_no_text_is_refused_at_the_place(tmp_path: Path) -> None:
    path = tmp_path / "odd.mmd"
    path.write_bytes(b"flowchart TD\n  BEGIN --> a[\xff]\n")
    done = CliRunner().invoke(flow, ["check", str(path)])
    assert (done.exit_code, done.stderr) == (1, f"{path}:2:15: this is not UTF-8 text\n")


def test_show_draws_the_graph_and_prints_mermaid_that_means_the_same(good: Path) -> None:
    done = CliRunner().invoke(flow, ["show", str(good)])
    assert done.exit_code == 0
    drawn, _, mermaid = done.output.partition("flowchart TD")
    assert "◇ 2. sure" in drawn
    assert parse_mermaid("flowchart TD" + mermaid).nodes["sure"].kind == "decision"
    assert CliRunner().invoke(flow, ["show", "--mermaid", str(good)]).output == "flowchart TD" + mermaid


def test_a_flow_is_drawn_with_every_step_and_where_its_edges_lead(tmp_path: Path) -> None:
    path = tmp_path / "x.mmd"
    path.write_text(
        "flowchart TD\n"
        "  BEGIN([BEGIN]) --> work[Work on $ARGUMENTS]\n"
        '  work --> good{"Is it good?"}\n'
        "  good -->|yes| END([END])\n"
        "  good -->|no| work\n"
    )
    assert (
        CliRunner()
        .invoke(flow, ["show", str(path)])
        .output.startswith(
            " ● BEGIN\n   │\n ▢ 1. Work on $ARGUMENTS\n   │\n ◇ 2. Is it good?\n   ├─ yes → END\n   └─ no → 1. work\n\n ◉ END\n"
        )
    )


@pytest.mark.parametrize("name", ["pull-request", "release", "skill-creator"])
def test_the_shipped_flows_and_the_example_for_new_ones_are_sound(name: str) -> None:
    assert CliRunner().invoke(flow, ["check", str(BUILTIN / name / "SKILL.md")]).exit_code == 0
