"""Where skills are found, which of a name wins, and what is refused."""

import os
from pathlib import Path

import pytest

from sould.agents.permissions.trust import TrustStore
from sould.agents.soul.skills.catalog import SkillCatalog
from sould.agents.soul.skills.discovery import BUILTIN, MAX_ENTRIES, Root, TrustedScripts, discover, skill_roots
from sould.agents.soul.skills.skill import SkillError, read_skill
from soultest.gitinit import git_init


def write(root: Path, name: str, description: str = "d", body: str = "body") -> Path:
    path = root / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}\n")
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return git_init(tmp_path / "project")


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
    assert found.problems == (f"{project.parent}/gone is not a directory, so no skills are loaded from it.",)


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


@pytest.mark.parametrize(
    ("head", "place", "description"),
    [
        ("description: Make PDFs: forms, too.\nname: good", "2:23", "Make PDFs: forms, too."),
        ("description: **Make** PDFs.", "2:15", "**Make** PDFs."),
        ("description: Make PDFs.\n- forms\n- tables", "3:1", "Make PDFs. - forms - tables"),
        ('description: "Make PDFs."\n  And forms.', "3:3", '"Make PDFs." And forms.'),
        ("description: |\n  Make: PDFs.\n\tx: [", "4:1", "Make: PDFs. x: ["),
        ("name: good\ndescription: Make PDFs.\nthinking=low\ntype: standard", "5:1", "Make PDFs. thinking=low"),
    ],
)
def test_a_head_that_is_no_yaml_is_read_line_by_line_and_remarked_on(
    project: Path, head: str, place: str, description: str
) -> None:
    path = write(project / ".agents" / "skills", "good")
    path.write_text(f"---\n{head}\n---\nbody\n")
    found = discover(roots_of(project), lambda _: "")
    skill = found.skills["good"]
    assert (skill.description, skill.body, found.problems) == (description, "body", ())
    assert found.remarks[0].startswith(f"{path}:{place}: the front matter is not YAML (")


def test_a_head_too_long_to_be_read_names_file_and_line_and_costs_only_itself(project: Path) -> None:
    root = project / ".agents" / "skills"
    write(root, "good")
    (root / "bad.md").write_text(f"---\nname: x\ndescription: {'[' * 200}\n---\nbody\n")
    found = discover(roots_of(project), lambda _: "")
    assert "good" in found.skills
    assert found.problems == (f"{root}/bad.md:1: the front matter is longer than 8 KiB or has too many brackets.",)


def test_an_unusable_name_falls_back_to_the_directorys_and_is_remarked_on(project: Path) -> None:
    path = write(project / ".agents" / "skills", "weekly-report")
    path.write_text("---\ndescription: Weekly.\nname: Weekly Report (new)\n---\nbody\n")
    found = discover(roots_of(project), lambda _: "")
    assert found.skills["weekly-report"].description == "Weekly."
    said = (
        "its name 'Weekly Report (new)' is not letters, digits, `.`, `_` and `-` only, so it is called weekly-report."
    )
    assert found.remarks == (f"{path}:3: {said}",)


def test_a_type_there_is_not_is_told_with_its_line_and_the_skill_used(project: Path) -> None:
    path = write(project / ".agents" / "skills", "release")
    path.write_text("---\ndescription: d\ntype: flwo\n---\nbody\n")
    catalog = SkillCatalog(Always(project), lambda _: "")
    catalog.refresh()
    assert not catalog.skills["release"].flow
    assert catalog.new_problems() == (
        f"{path}:3: there is no type 'flwo', only standard and flow; it is used as standard.",
    )


@pytest.mark.parametrize("name", ["skill.md", "Skill.md", "SKILL.MD"])
def test_the_letters_of_a_skills_file_do_not_matter(project: Path, name: str) -> None:
    path = write(project / ".agents" / "skills", "one")
    path.rename(path.with_name(name))
    skill = discover(roots_of(project), lambda _: "").skills["one"]
    assert (skill.path.name, skill.directory) == (name, path.parent)


def test_skills_are_found_in_groups_and_what_is_passed_over_is_named(project: Path) -> None:
    root = project / ".agents" / "skills"
    write(root / "office" / "pdf", "forms")
    write(root / "web", "forms")
    write(root / "a" / "b" / "c" / "d", "deep")
    write(root / "node_modules" / "x" / "node_modules", "foreign")
    inner = write(write(root, "outer").parent / "more", "inner")
    (root / "notes" / "drafts").mkdir(parents=True)
    found = discover(roots_of(project), lambda _: "")
    assert {"forms", "outer"} <= set(found.skills)
    assert not {"deep", "inner", "foreign"} & set(found.skills), inner
    assert found.remarks == (
        f"{root}/web/forms/SKILL.md: not used, because {root}/office/pdf/forms/SKILL.md has the same name forms.",
        f"{root}/a: there is no SKILL.md in it.",
        f"{root}/node_modules: there is no SKILL.md in it.",
        f"{root}/notes: there is no SKILL.md in it.",
    )


def test_a_directory_that_is_itself_a_skill_can_be_named(project: Path) -> None:
    path = write(project.parent / "mine", "one")
    (path.parent / "reference.md").write_text("# More\n")
    environment = {"HOME": str(project.parent), "SOULD_SKILLS_DIRS": str(path.parent)}
    found = discover(skill_roots(project, environment), lambda _: "")
    assert "one" in found.skills
    assert "reference" not in found.skills
    assert found.remarks == ()


def test_a_place_with_more_than_is_looked_at_says_so(project: Path) -> None:
    root = project / ".agents" / "skills"
    for number in range(MAX_ENTRIES + 1):
        (root / "many" / f"{number}.txt").parent.mkdir(parents=True, exist_ok=True)
        (root / "many" / f"{number}.txt").touch()
    found = discover(roots_of(project), lambda _: "")
    assert f"{root}/many: only its first {MAX_ENTRIES} entries are read." in found.remarks


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


def test_a_head_that_is_not_closed_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: x\nbody\n")
    with pytest.raises(SkillError, match=r"x\.md:1: the front matter that begins here is not closed"):
        read_skill(path, "user")


@pytest.mark.parametrize("text", ["---\n\nA line, and then text.\n", "---\n- a\n---\nx\n", "---\n\n# A\n\n---\n"])
def test_lines_that_markdown_draws_are_no_head(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.md"
    path.write_text(text)
    assert read_skill(path, "user").body == text.strip()


def test_a_heading_may_stand_behind_the_line_that_closes_the_head(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: y\n---# Title\ntext\n")
    skill = read_skill(path, "user")
    assert (skill.name, skill.body, skill.line) == ("y", "# Title\ntext", 3)


def test_a_head_may_end_as_yaml_documents_do(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: y\ndescription: Writes notes.\n...\nDo it.\n")
    skill = read_skill(path, "user")
    assert (skill.name, skill.description, skill.body, skill.line) == ("y", "Writes notes.", "Do it.", 5)


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


def test_a_description_in_brackets_is_taken_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "x.md"
    path.write_text("---\nname: x\ndescription: [a, b]\n---\n")
    assert read_skill(path, "user").description == "[a, b]"


def test_a_skill_is_refused_when_neither_its_name_nor_its_files_can_be_one(tmp_path: Path) -> None:
    path = tmp_path / "b c.md"
    path.write_text("---\nname: a b\n---\n")
    with pytest.raises(SkillError, match="'b c'"):
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
    catalog = SkillCatalog(Always(project), scripts.refusal)

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


class Always:
    """Looks each time. A `SkillSource`."""

    stamp = None
    unchanged = False

    def __init__(self, project: Path) -> None:
        self._project = project

    def roots(self) -> list[Root]:
        return roots_of(self._project)


def test_the_list_for_the_model_has_names_descriptions_and_places(project: Path) -> None:
    path = write(project / ".agents" / "skills", "one", "does one thing")
    catalog = SkillCatalog(Always(project), lambda _: "")
    catalog.refresh()
    assert f"- one: does one thing (`{path}`)" in catalog.describe()


def test_the_list_for_the_model_is_cut_with_the_number_left_out(project: Path) -> None:
    for number in range(40):
        write(project / ".agents" / "skills", f"s{number}", "long " * 200)
    catalog = SkillCatalog(Always(project), lambda _: "")
    catalog.refresh()
    assert len(catalog.describe()) < 17_000
    assert " more; " in catalog.describe().splitlines()[-1]


def test_the_builtin_skills_are_sound() -> None:
    found = discover([Root(BUILTIN, "builtin")], lambda _: "")
    assert found.problems == ()
    assert {"sould-help", "skill-creator"} <= set(found.skills)


@pytest.mark.needs_root
@pytest.mark.parametrize("alone", [True, False])
def test_a_project_s_skill_that_is_another_s_waits_for_trust_and_says_whose_it_is(project: Path, alone: bool) -> None:
    path = write(project / ".agents" / "skills", "text")
    if alone:
        path = path.rename(project / ".agents" / "skills" / "text.md")
        (project / ".agents" / "skills" / "text").rmdir()
    os.chown(path, 65534, -1)
    trust = TrustStore(project.parent / "state" / "trust.json")
    accept = TrustedScripts(trust, project).refusal
    found = discover(roots_of(project), accept)
    assert "text" not in found.skills
    assert "it belongs to nobody (uid 65534)" in found.problems[0]
    assert found.problems[0].endswith("it is used once you trust this project (`sould trust`).")
    trust.set(project, "trusted")
    assert "text" in discover(roots_of(project), accept).skills
    path.write_text(path.read_text() + "more")
    assert "it has changed since you trusted this project" in discover(roots_of(project), accept).problems[0]


def test_a_skill_of_the_user_s_own_that_everybody_can_write_is_not_used(project: Path) -> None:
    path = write(project.parent / "home" / ".agents" / "skills", "mine")
    assert "mine" in discover(roots_of(project), lambda _: "").skills
    path.chmod(0o666)
    found = discover(roots_of(project), lambda _: "")
    assert "mine" not in found.skills
    assert f"run `chmod go-w {path}`" in found.problems[0]
