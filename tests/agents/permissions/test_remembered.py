"""What was allowed beyond a session: the file it is kept in, for whom it holds, and what becomes of a file that is damaged."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sould.agents.base.workspace import ResolvedPath
from sould.agents.files.projects.projects import Projects
from sould.agents.permissions.lasting import Lasting
from sould.agents.permissions.policy import ReadFile
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.programs import Program
from sould.agents.permissions.remembered import Entry, ProjectKey, Remembered
from sould.agents.permissions.rules import Rule, RulesError, UserRules, parse_entries
from sould.agents.permissions.visible import visible
from sould.agents.sessions.settings.projectmemory import project_key
from soultest.gitinit import git_init

SHOP = ProjectKey(Path("/people/u/shop"), 1, 2, 3)
PUSH = Rule("allow", "shell", argv=("git", "push"), cwd="/people/u/shop", programs=())
HOST = Rule("allow", "fetch", argv=("docs.example.org",))
EVERY = ("shell", "fetch", "read", "edit", "mcp:a__b")


def file(tmp_path: Path) -> Remembered:
    return Remembered(tmp_path.resolve() / "remembered.toml")


def rules(kept: Remembered, project: ProjectKey | None) -> tuple[Rule, ...]:
    return kept.rules(EVERY, lambda: project).rules


def test_what_is_kept_is_read_by_others_and_is_the_user_s_alone(tmp_path: Path) -> None:
    kept = file(tmp_path)
    kept.keep(Entry.of(PUSH, SHOP, "Zed"))
    kept.keep(Entry.of(HOST, None, "Neovim"))
    assert rules(file(tmp_path), SHOP) == (PUSH, HOST)
    assert rules(file(tmp_path), None) == (HOST,)
    assert stat.S_IMODE(kept.path.stat().st_mode) == 0o600
    text = kept.path.read_text()
    assert 'by = "Zed"' in text
    assert 'project = "/people/u/shop"' in text


def test_an_answer_about_the_same_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    kept = file(tmp_path)
    for digest in ("one", "two"):
        programs = (Program(SHOP.root / "Makefile", "", digest, "all:\n"),)
        kept.keep(Entry.of(Rule("allow", "shell", argv=("make",), cwd=str(SHOP.root), programs=programs), SHOP, ""))
    [rule] = rules(kept, SHOP)
    assert rule.programs
    assert rule.programs[0].digest == "two"
    assert rule.programs[0].text == "all:\n"


def test_a_project_that_was_moved_keeps_what_was_allowed_and_its_paths_are_those_it_has_now(tmp_path: Path) -> None:
    kept = file(tmp_path)
    programs = (Program(SHOP.root / "Makefile", "", "one"), Program(Path("/opt/tool"), "", "two"))
    kept.keep(Entry.of(Rule("allow", "shell", argv=("make",), cwd="/people/u/shop/sub", programs=programs), SHOP, ""))
    kept.keep(Entry.of(Rule("allow", "edit", cwd="/people/u/shop"), SHOP, ""))
    moved = ProjectKey(Path("/people/u/store"), 1, 2, 3)
    made, edits = rules(kept, moved)
    assert made.cwd == "/people/u/store/sub"
    assert made.programs
    assert [str(each.path) for each in made.programs] == ["/people/u/store/Makefile", "/opt/tool"]
    assert edits.cwd == "/people/u/store"


@pytest.mark.parametrize(
    ("other", "holds"),
    [
        (ProjectKey(SHOP.root, 9, 2, 3), True),  # the same disk after a restart of the machine
        (ProjectKey(SHOP.root, 1, 2, 4), False),  # another directory has taken its path
        (ProjectKey(SHOP.root, 1, 8, 3), False),
        (ProjectKey(SHOP.root, 1, 2, 0), False),
        (ProjectKey(Path("/people/u/copy"), 1, 8, 9), False),
        (ProjectKey(Path("/people/u/copy"), 9, 2, 3), False),  # on another disk
        (None, False),
    ],
)
def test_another_directory_is_another_project(other: ProjectKey | None, holds: bool, tmp_path: Path) -> None:
    kept = file(tmp_path)
    kept.keep(Entry.of(PUSH, SHOP, ""))
    assert bool(rules(kept, other)) is holds


def test_where_directories_cannot_be_told_apart_the_path_counts(tmp_path: Path) -> None:
    kept = file(tmp_path)
    kept.keep(Entry.of(PUSH, ProjectKey(SHOP.root, 1, 2, 0), ""))
    assert rules(kept, ProjectKey(SHOP.root, 5, 6, 0))
    assert not rules(kept, ProjectKey(Path("/people/u/copy"), 1, 2, 0))


def test_a_directory_that_was_moved_is_the_same_project_and_its_copy_is_not(tmp_path: Path) -> None:
    home, state = tmp_path.resolve() / "home", tmp_path.resolve() / "state"
    (home / "shop" / "sub").mkdir(parents=True)

    def key(name: str) -> ProjectKey | None:
        return project_key(Projects(state), home / name, home)

    git_init(home / "shop")
    before = key("shop/sub")
    assert before == key("shop")
    assert before is not None
    assert before.root == home / "shop"
    kept = file(tmp_path)
    kept.keep(Entry.of(Rule("allow", "edit", cwd=str(home / "shop")), before, ""))
    (home / "shop").rename(home / "store")
    assert [rule.cwd for rule in rules(kept, key("store"))] == [str(home / "store")]
    (home / "shop").mkdir()
    assert not rules(kept, key("shop"))
    assert project_key(Projects(state), home, home) is None, "the home is no project"


def test_entries_deleted_or_written_by_hand_count_at_once(tmp_path: Path) -> None:
    kept = file(tmp_path)
    kept.keep(Entry.of(PUSH, SHOP, ""))
    kept.keep(Entry.of(HOST, None, ""))
    first, _, second = kept.path.read_text().partition('[[rule]]\ndecision = "allow"\ntool = "shell"')
    assert second
    kept.path.write_text(f'{first}[[rule]]\ndecision = "allow"\ntool = "read"\npath = "/a/**"\nscope = "always"\n')
    assert rules(kept, SHOP) == (Rule("allow", "read", path="/a/**"),)
    kept.path.unlink()
    assert rules(kept, SHOP) == ()


def test_forgetting_takes_out_that_entry_with_its_comment_and_nothing_else(tmp_path: Path) -> None:
    kept = file(tmp_path)
    kept.keep(Entry.of(PUSH, SHOP, ""))
    text = kept.path.read_text() + "\n# the docs, see [[rule]] above\n"
    kept.path.write_text(text + Entry.of(HOST, None, "").written() + "\n# the end\n")
    [(_, push), (_, host)] = kept.entries()
    assert kept.forget(["ffffffff"]) == 0
    assert kept.forget([host.id]) == 1
    assert "the docs" not in kept.path.read_text()
    assert rules(kept, SHOP) == (PUSH,)
    assert kept.forget([push.id]) == 1
    assert rules(kept, SHOP) == ()
    assert kept.path.read_text().startswith("# What you allowed")


def test_a_file_in_another_form_of_toml_is_read_and_never_cut_wrongly(tmp_path: Path) -> None:
    kept = file(tmp_path)
    host = '{decision = "allow", tool = "fetch", argv = ["a.example"], scope = "always"}'
    kept.path.write_text(f"rule = [{host}]\n")
    kept.path.chmod(0o600)
    [(_, entry)] = kept.entries()
    assert rules(kept, None) == (Rule("allow", "fetch", argv=("a.example",)),)
    before = kept.path.read_text()
    with pytest.raises(RulesError, match="edit it by hand"):
        kept.forget([entry.id])
    with pytest.raises(RulesError):
        kept.keep(Entry.of(HOST, None, ""))
    assert kept.path.read_text() == before


GOOD = Entry.of(HOST, None, "").written()
ALWAYS = '[[rule]]\ndecision = "allow"\ntool = "fetch"\nargv = ["a"]\nscope = "always"\n'


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("[[rule]\n", r"line \d+"),
        (ALWAYS.replace("allow", "deny"), r"rule 2 \(line \d+\): decision: must be allow; .* rules.toml"),
        (ALWAYS.replace("always", "ever"), r"rule 2 \(line \d+\): scope: must be project or always"),
        (ALWAYS.replace('scope = "always"', 'scope = "project"'), "has the absolute path"),
        (ALWAYS + 'project = "/a"\n', "has the absolute path"),
        (ALWAYS + 'cwd = "workspace"\n', "as seen from the project"),
        (ALWAYS + "nothing = 1\n", "unknown key 'nothing'"),
        (ALWAYS.replace("fetch", "read secret"), "tool: is one of shell"),
    ],
)
def test_a_damaged_file_counts_for_nothing_names_its_line_and_loses_nothing(
    more: str, words: str, tmp_path: Path
) -> None:
    kept = file(tmp_path)
    kept.path.write_text(f"{GOOD}\n{more}")
    kept.path.chmod(0o600)
    before = kept.path.read_bytes()
    for use in (kept.entries, lambda: rules(kept, None), lambda: kept.keep(Entry.of(PUSH, SHOP, ""))):
        with pytest.raises(RulesError, match=words) as caught:
            use()
        assert str(kept.path) in caught.value.message
    assert kept.path.read_bytes() == before


def by_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (lambda path: path.chmod(0o666), "chmod go-w"),
    (by_link, "it is a link"),
    (by_pipe, "is no file"),
    (lambda path: path.write_bytes(b"\xff"), "cannot be read"),
    (lambda path: path.write_bytes(b"#" * 5_000_000), "larger than"),
]


@pytest.mark.parametrize(("damage", "words"), DAMAGES)
def test_a_file_that_is_not_surely_the_user_s_own_counts_for_nothing(
    damage: Callable[[Path], object], words: str, tmp_path: Path
) -> None:
    kept = file(tmp_path)
    kept.keep(Entry.of(HOST, None, ""))
    damage(kept.path)
    for use in (kept.entries, lambda: kept.keep(Entry.of(PUSH, SHOP, "")), lambda: kept.forget(["a"])):
        with pytest.raises(RulesError, match=words):
            use()


TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ['"\n[[rule]]\ndecision = "allow"\n', "\\", "'''", '"""', "\x7f\x00\x1f", "\u202e", "#", "é\u0301", "~", "./x", "*"]
)


@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS, TEXTS)
def test_no_word_of_a_command_says_anything_in_the_file_but_itself(words: list[str], line: str, by: str) -> None:
    rule = Rule("allow", "shell", argv=tuple(words), line=line, cwd="/people/u/shop/sub", programs=())
    entry = Entry.of(rule, SHOP, by)
    assert visible(by).startswith(entry.by)
    text = entry.written()
    assert all(char == "\n" or char.isprintable() for char in text)
    [(_, read)] = parse_entries(text, "x", Entry)
    assert read == entry
    assert read.rule_in(SHOP.root) == rule


ADD = """
import sys
from pathlib import Path
from sould.agents.permissions.remembered import Entry, Remembered
from sould.agents.permissions.rules import Rule
for number in range(20):
    Remembered(Path(sys.argv[1])).keep(Entry.of(Rule("allow", "fetch", argv=(f"{sys.argv[2]}-{number}.example",)), None, ""))
"""


def test_two_daemons_that_save_answers_at_once_lose_none(tmp_path: Path) -> None:
    kept = file(tmp_path)
    both = [subprocess.Popen([sys.executable, "-c", ADD, str(kept.path), name]) for name in ("one", "two")]
    assert [each.wait() for each in both] == [0, 0]
    assert len({rule.argv for rule in rules(kept, None)}) == 40


def test_of_programs_short_texts_are_kept_and_none_that_holds_a_secret(tmp_path: Path) -> None:
    kept = file(tmp_path)
    texts = {"a.sh": "make\n", "long.sh": "#" * 10_000, "key.sh": "export API_KEY=sk-9f8a7b6c5d4e3f2a1b0c9d8e7f\n"}
    programs = tuple(Program(SHOP.root / name, "", "digest", text) for name, text in texts.items())
    kept.keep(Entry.of(Rule("allow", "shell", argv=("x",), cwd=str(SHOP.root), programs=programs), SHOP, ""))
    [rule] = rules(kept, SHOP)
    assert [each.text for each in rule.programs or ()] == ["make\n", None, None]
    assert "sk-9f8a" not in kept.path.read_text()


def test_rules_written_by_hand_have_no_scope_of_their_own(tmp_path: Path) -> None:
    path = tmp_path.resolve() / "rules.toml"
    path.write_text(ALWAYS)
    path.chmod(0o600)
    with pytest.raises(RulesError, match="unknown key 'scope'"):
        UserRules(path).now(date(2026, 1, 1))


@pytest.mark.parametrize(("name", "offered"), [("notes", ["project", "always"]), ("odd\udcff", [])])
async def test_names_that_are_no_text_cannot_be_kept(name: str, offered: list[str], tmp_path: Path) -> None:
    told: list[str] = []
    lasting = Lasting(file(tmp_path), lambda: SHOP, told.append)
    path = Path("/elsewhere") / name
    offers = await lasting.offers(
        ReadFile(ResolvedPath(path, inside=False)),
        Rule("allow", "read", path=str(path)),
        "unknown",
        PolicyContext(root=SHOP.root),
    )
    assert [each.shown.scope for each in offers] == offered


def test_a_client_s_name_is_kept_as_it_can_be_read(tmp_path: Path) -> None:
    kept = file(tmp_path)
    kept.keep(Entry.of(HOST, None, "Zed\ud800\u202e\n[[rule]]" + "x" * 500))
    [(_, entry)] = kept.entries()
    assert entry.by.startswith("Zed\\ud800\\u202e")
    assert len(entry.by) == 80
