"""Where skills are found, which of a name wins, and what is refused."""

import os
from pathlib import Path

import pytest

from sould.agents.permissions.trust import TrustStore
from sould.agents.skills.catalog import SkillCatalog
from sould.agents.skills.discovery import BUILTIN, Root, discover, skill_roots
from sould.agents.skills.scripts import TrustedScripts
from sould.agents.skills.skill import SkillError, read_skill


def write(root: Path, name: str, description: str = "d", body: str = "body") -> Path:
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


def roots_of(project: Path, *extra: str, merge: bool = True) -> list[Root]:
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    return skill_roots(project, {"HOME": str(home)}, extra, merge=merge)


@pytest.mark.parametrize("home", [".sould", ".agents", ".kimi", ".claude", ".codex"])
@pytest.mark.parametrize("base", ["project", "home"])
def test_skills_are_found_in_every_known_place(project: Path, home: str, base: str) -> None:
    write(project.parent / base / home / "skills", "one")
    assert "one" in discover(roots_of(project), lambda _: "").skills


def test_skills_are_found_in_the_users_configuration_directory(project: Path) -> None:
    write(project.parent / "home" / ".config" / "agents" / "skills", "one")
    write(project.parent / "home" / ".config" / "sould" / "skills", "two")
    assert {"one", "two"} <= set(discover(roots_of(project), lambda _: "").skills)


def test_project_wins_over_user_over_extra_over_builtin(project: Path) -> None:
    places = [project / ".agents", project.parent / "home" / ".claude", project.parent / "extra"]
    for place, name in zip(places, ("project", "user", "extra"), strict=True):
        for skill in ("a", "b", "sould-help")[: 3 if name == "extra" else 1 if name == "project" else 2]:
            write(place / "skills" if name != "extra" else place, skill)
    found = discover(roots_of(project, str(project.parent / "extra")), lambda _: "").skills
    assert [found[name].scope for name in ("a", "b", "sould-help", "skill-creator")] == [
        "project",
        "user",
        "extra",
        "builtin",
    ]


def test_a_subdirectory_sees_the_skills_up_to_the_git_root_and_the_nearest_wins(project: Path) -> None:
    write(project / ".agents" / "skills", "far")
    write(project / ".agents" / "skills", "both", "outer")
    write(project / "sub" / ".kimi" / "skills", "both", "inner")
    write(project.parent / ".agents" / "skills", "beyond")
    found = discover(roots_of(project / "sub"), lambda _: "").skills
    assert found["both"].description == "inner"
    assert "far" in found
    assert "beyond" not in found


def test_directories_named_by_the_client_stand_in_for_those_of_project_and_user(project: Path) -> None:
    write(project / ".agents" / "skills", "one")
    write(project.parent / "mine", "two")
    write(project.parent / "extra", "three")
    environment = {"HOME": str(project.parent), "SOULD_SKILLS_DIRS": f"{project.parent}/mine:{project.parent}/gone"}
    found = discover(skill_roots(project, environment, [f"{project.parent}/extra"]), lambda _: "")
    assert {"two", "three", "sould-help"} <= set(found.skills)
    assert "one" not in found.skills
    assert found.problems == (f"{project.parent}/gone is not a directory, so no skills are taken from it.",)


def test_without_merging_only_the_first_place_of_a_scope_counts(project: Path) -> None:
    write(project / ".agents" / "skills", "one")
    write(project / ".claude" / "skills", "two")
    found = discover(roots_of(project, merge=False), lambda _: "").skills
    assert "one" in found
    assert "two" not in found


def test_a_file_alone_is_a_skill_named_by_itself(project: Path) -> None:
    root = project / ".agents" / "skills"
    root.mkdir(parents=True)
    (root / "tidy.md").write_text("# Tidy up\n\nSort the imports.\n")
    (root / "README.md").write_text("about these skills")
    found = discover(roots_of(project), lambda _: "")
    skill = found.skills["tidy"]
    assert (skill.description, skill.directory) == ("Tidy up", None)
    assert "README" not in found.skills


def test_a_head_that_is_no_yaml_names_file_and_line_and_costs_only_itself(project: Path) -> None:
    root = project / ".agents" / "skills"
    write(root, "good")
    bad = root / "bad" / "SKILL.md"
    bad.parent.mkdir()
    bad.write_text("---\nname: x\ndescription: [\n---\nbody\n")
    found = discover(roots_of(project), lambda _: "")
    assert "good" in found.skills
    assert len(found.problems) == 1
    assert f"{bad}:4:1: the head is not YAML" in found.problems[0]


@pytest.mark.parametrize(
    "head",
    ["x: 2020-13-45", f"x: {'9' * 5000}", f"x: {'[' * 3000}", f"x: {'- ' * 3000}", "x: *y", "<<: *x"],
    ids=["date", "number", "brackets", "depth", "alias", "merge"],
)
def test_no_head_of_a_hostile_project_keeps_the_others_from_being_found(project: Path, head: str) -> None:
    root = project / ".agents" / "skills"
    write(root, "good")
    (root / "bad.md").write_text(f"---\n{head}\n---\nbody\n")
    assert "good" in discover(roots_of(project), lambda _: "").skills


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("---\nname: x\nbody\n", "1: the head that begins here is not closed"),
        ("---\n- a\n---\nx\n", "1: the head: must be an object"),
    ],
)
def test_a_head_that_is_none_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "x.md"
    path.write_text(text)
    with pytest.raises(SkillError, match=said):
        read_skill(path, "user")
    path.write_text("---\n\nA line, and then text.\n")
    assert read_skill(path, "user").body.startswith("---")


def test_a_head_that_would_grow_when_it_is_built_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    lines = ["description: d", "a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}" for n in range(1, 30)]
    path.write_text("---\n" + "\n".join(lines) + "\n---\n")
    assert read_skill(path, "user").description == "d"


def test_a_pipe_among_the_files_of_a_skill_holds_nobody(project: Path) -> None:
    skill = write(project / ".agents" / "skills", "check")
    os.mkfifo(skill.parent / "pipe")
    trust = TrustStore(project.parent / "trust.json")
    trust.set(project, "trusted")
    found = discover(roots_of(project), TrustedScripts(trust, project).refusal)
    assert "changed since you trusted" in found.problems[0]


def test_a_wrong_key_of_a_head_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: x\ndescription: [a, b]\n---\n")
    with pytest.raises(SkillError, match=r"x\.md:3: description: "):
        read_skill(path, "user")


def test_a_name_with_spaces_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: a b\n---\n")
    with pytest.raises(SkillError, match="'a b'"):
        read_skill(path, "user")


def test_a_projects_link_out_of_the_project_is_not_followed(project: Path) -> None:
    (project.parent / "secret").write_text("key")
    root = project / ".agents" / "skills"
    root.mkdir(parents=True)
    (root / "leak.md").symlink_to(project.parent / "secret")
    found = discover(roots_of(project), lambda _: "")
    assert "leak" not in found.skills
    assert "outside the project" in found.problems[0]


def test_programs_of_a_project_wait_for_trust_and_changed_ones_for_trust_anew(project: Path) -> None:
    skill = write(project / ".agents" / "skills", "check")
    script = skill.parent / "check.py"
    script.write_text("print(1)")
    trust = TrustStore(project.parent / "trust.json")
    scripts = TrustedScripts(trust, project)
    catalog = SkillCatalog(lambda: roots_of(project), scripts.refusal)

    catalog.refresh()
    assert "check" not in catalog.skills
    assert "sould trust" in catalog.problems[0]

    trust.set(project, "trusted")
    assert "new: check" in catalog.refresh()

    script.write_text("print(2)")
    assert catalog.refresh() == "gone: check"
    assert "changed since you trusted" in catalog.problems[0]
    assert "check" not in catalog.skills

    trust.set(project, "trusted")
    assert "new: check" in catalog.refresh()


def test_plain_text_of_a_project_needs_no_trust(project: Path) -> None:
    write(project / ".agents" / "skills", "plain")
    assert "plain" in discover(roots_of(project), lambda _: "no").skills


def test_the_list_for_the_model_has_names_descriptions_and_places(project: Path) -> None:
    path = write(project / ".agents" / "skills", "one", "does one thing")
    catalog = SkillCatalog(lambda: roots_of(project), lambda _: "")
    catalog.refresh()
    assert f"- one: does one thing (`{path}`)" in catalog.describe()


def test_the_list_for_the_model_is_cut_with_the_number_left_out(project: Path) -> None:
    for number in range(40):
        write(project / ".agents" / "skills", f"s{number}", "long " * 200)
    catalog = SkillCatalog(lambda: roots_of(project), lambda _: "")
    catalog.refresh()
    assert len(catalog.describe()) < 17_000
    assert " more; " in catalog.describe().splitlines()[-1]


def test_the_builtin_skills_are_sound() -> None:
    found = discover([Root(BUILTIN, "builtin")], lambda _: "")
    assert found.problems == ()
    assert {"sould-help", "skill-creator"} <= set(found.skills)
