"""Decisions: modes, rules, protected paths."""

import os
from datetime import date
from pathlib import Path
from typing import NoReturn

import pytest
from msgspec.structs import replace

from sould.agents.base.filenames import FileNames
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.workspace import ResolvedPath, WriteOperation
from sould.agents.permissions.policy import (
    Action,
    CallExternal,
    EditFile,
    Mode,
    ReadFile,
    RunCommand,
    Trust,
    Verdict,
    decide,
)
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.protected import account_places
from sould.agents.permissions.rules import ReadOnce, Rule, RuleEntry, Rules, RulesError, UserRules, read_entries
from sould.agents.permissions.secrets import SecretFiles
from soultest.policy import NOWHERE, ROOT, environment_of, place_of

MODES: tuple[Mode, ...] = ("plan", "ask", "review", "auto", "full")


def at(path: str) -> ResolvedPath:
    full = Path(path) if path.startswith("/") else ROOT / path
    return ResolvedPath(full, inside=full.is_relative_to(ROOT))


def edit(path: str) -> EditFile:
    return EditFile(at(path), "modify")


def read(path: str) -> ReadFile:
    return ReadFile(at(path))


def run(line: str) -> RunCommand:
    return RunCommand(line, ROOT)


TABLE: dict[str, tuple[Action, str]] = {
    "read inside": (read("a.py"), "allow allow allow allow allow"),
    "read outside": (read("/etc/hosts"), "ask ask ask ask allow"),
    "read a secret": (read(".env"), "ask ask ask ask ask"),
    "edit a secret": (edit(".env"), "deny ask ask ask ask"),
    "edit a private key": (edit("key.pem"), "deny ask ask ask ask"),
    "edit a secret found in the text": (EditFile(at("a.txt"), "modify", secret="it is a key"), "deny ask ask ask ask"),
    "read a secret found in the text": (ReadFile(at("a.txt"), secret="it is a key"), "ask ask ask ask ask"),
    "edit inside": (edit("a.py"), "deny ask allow allow allow"),
    "edit outside": (edit("/srv/a.py"), "deny ask ask ask allow"),
    "edit a protected file": (edit(".git/config"), "deny ask ask ask ask"),
    "harmless command": (run("echo a"), "allow allow allow allow allow"),
    "any other command": (run("make"), "deny ask ask ask allow"),
    "uncertain command": (run("make -j$(nproc)"), "deny ask ask ask allow"),
    "command that names a protected file": (run("echo x >> ~/.bashrc"), "deny ask ask ask ask"),
    "command that names a secret": (run("base64 .env"), "deny ask ask ask ask"),
    "external tool": (CallExternal("server__tool", {}), "deny ask ask ask allow"),
}


@pytest.mark.parametrize(("action", "expected"), TABLE.values(), ids=TABLE.keys())
def test_each_mode_decides_as_the_table_says(action: Action, expected: str) -> None:
    assert [decide(action, Rules(), "trusted", mode, NOWHERE).decision for mode in MODES] == expected.split()


def named(names: FileNames) -> PolicyContext:
    """Every file has these names."""

    def names_of(path: Path, /) -> FileNames:
        del path
        return names

    return replace(NOWHERE, names_of=names_of)


ELSEWHERE = FileNames(3, (ROOT / "b.py",))


@pytest.mark.parametrize(
    ("names", "operation", "expected"),
    [
        (FileNames(2, (ROOT / "b.py",)), "modify", "deny ask allow allow allow"),
        (ELSEWHERE, "modify", "deny ask ask ask allow"),
        (ELSEWHERE, "delete", "deny ask allow allow allow"),
        (FileNames(2, (ROOT / ".git" / "hooks" / "a",)), "modify", "deny ask ask ask ask"),
        (FileNames(2, (ROOT / ".env",)), "modify", "deny ask ask ask ask"),
    ],
)
def test_an_edit_is_judged_by_all_names_that_change_with_the_file(
    names: FileNames, operation: WriteOperation, expected: str
) -> None:
    where = named(names)
    verdicts = [decide(EditFile(at("a.py"), operation), Rules(), "trusted", mode, where) for mode in MODES]
    assert [verdict.decision for verdict in verdicts] == expected.split()
    for verdict in verdicts:
        is_told = "a.py has other names outside the project" in verdict.reason
        assert verdict.all_names == is_told == (verdict.decision == "ask" and names.elsewhere and operation == "modify")


def test_a_rule_about_one_name_is_about_the_file() -> None:
    where = named(FileNames(2, (ROOT / "b.py",)))
    rules = Rules((Rule("deny", "edit", path="b.py"), Rule("allow", "edit", cwd="workspace")))
    assert decide(edit("a.py"), rules, "trusted", "full", where).decision == "deny"
    where = named(ELSEWHERE)
    allowed = Rules((Rule("allow", "edit", cwd="workspace"),))
    verdict = decide(edit("a.py"), allowed, "trusted", "ask", where)
    assert verdict.decision == "ask"
    assert verdict.grant is not None
    granted = decide(edit("a.py"), allowed + Rules((verdict.grant,)), "trusted", "ask", where)
    assert (granted.decision, granted.all_names) == ("allow", True)
    assert decide(edit("b.py"), allowed + Rules((verdict.grant,)), "trusted", "ask", where).decision == "ask"


def test_a_restricted_workspace_gets_at_most_ask() -> None:
    for mode in MODES[1:]:
        assert decide(edit("a.py"), Rules(), "restricted", mode, NOWHERE).decision == "ask"
        assert decide(run("make"), Rules(), "restricted", mode, NOWHERE).decision == "ask"
    assert decide(edit("a.py"), Rules(), "restricted", "plan", NOWHERE).decision == "deny"


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "sub/.env.local",
        ".ENV",
        "server-key.pem",
        "id_rsa",
        "x.kdbx",
        "/proc/1/environ",
        "/proc/self/mem",
        "/people/u/.ssh/id_ed25519",
    ],
)
def test_secrets_are_read_after_a_question_only(path: str) -> None:
    assert decide(read(path), Rules((Rule("allow", "read"),)), "trusted", "full", NOWHERE).decision == "ask"


@pytest.mark.parametrize("path", [".env", "key.pem", "id_rsa", ".netrc", ".git-credentials"])
@pytest.mark.parametrize("mode", ["ask", "review", "full"])
def test_secrets_are_changed_after_a_question_that_offers_nothing_wider(path: str, mode: Mode) -> None:
    everything = Rules(
        (Rule("allow", "edit"), Rule("allow", "edit", cwd="workspace"), Rule("allow", "edit", path="**"))
    )
    verdict = decide(edit(path), everything, "trusted", mode, NOWHERE)
    assert (verdict.decision, verdict.scope_offer) == ("ask", None)
    assert "undo ends with the daemon" in verdict.reason


def test_content_decides_where_a_name_makes_a_secret_likely(tmp_path: Path) -> None:
    where = replace(place_of(tmp_path), secret_look=SecretFiles().look)
    for text, expected in (("TOKEN=<token>\n", "allow"), ("TOKEN=hunter22\n", "ask")):
        (tmp_path / "prod.env").write_text(text)
        path = ResolvedPath(tmp_path / "prod.env", inside=True)
        for action in (ReadFile(path), EditFile(path, "modify"), RunCommand("cat prod.env", tmp_path)):
            assert decide(action, Rules(), "trusted", "review", where).decision == expected, action
        assert decide(RunCommand("cp prod.env x", tmp_path), Rules(), "trusted", "full", where).decision == expected


@pytest.mark.parametrize("path", [".env.example", ".env.sample", "id_generator.py", "environ"])
def test_examples_are_not_secrets(path: str) -> None:
    assert decide(read(path), Rules(), "trusted", "ask", NOWHERE).decision == "allow"


def judge(action: Action, *rules: Rule, mode: Mode = "ask", trust: Trust = "trusted") -> Verdict:
    return decide(action, Rules(rules), trust, mode, NOWHERE)


def test_deny_wins_over_ask_and_ask_over_allow() -> None:
    allow, ask, deny = (Rule(kind, "shell", argv=("make", "**")) for kind in ("allow", "ask", "deny"))  # pyright: ignore[reportArgumentType] -- the three decisions
    assert judge(run("make a b"), allow).decision == "allow"
    assert judge(run("make a b"), allow, ask).decision == "ask"
    assert judge(run("make a b"), allow, ask, deny, mode="full").decision == "deny"


@pytest.mark.parametrize(
    ("pattern", "line", "expected"),
    [
        (("pytest", "-q", "*"), "pytest -q tests", "allow"),
        (("pytest", "-q", "*"), "pytest -q", "ask"),
        (("pytest", "-q", "*"), "pytest -q a b", "ask"),
        (("pytest", "**"), "pytest", "allow"),
        (("pytest", "**"), "pytest a b; make", "ask"),
        (("pytest", "**"), "pytest a && echo done", "allow"),
        (("pytest", "**"), "pytest $(make)", "ask"),
        (("pytest", "**"), "pytest > log", "ask"),
        (("pytest", "**"), "./pytest", "ask"),
        (("pytest", "**"), "pytest\nmake", "ask"),
        (("pytest",), "pytest2", "ask"),
    ],
)
def test_an_allow_rule_matches_whole_words_of_what_runs(pattern: tuple[str, ...], line: str, expected: str) -> None:
    assert judge(run(line), Rule("allow", "shell", argv=pattern)).decision == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rm x", "deny"),
        ("ls; ls; rm x", "deny"),
        ("/bin/rm x", "deny"),
        ("env A=1 rm x", "deny"),
        ("bash -c 'rm x'", "deny"),
        ("echo $(rm x)", "deny"),
        ("r\\m x", "deny"),
        (";".join(["true"] * 60 + ["rm x"]), "deny"),
        ("make x", "allow"),
        ("$X x", "ask"),
        ("make > log", "ask"),
        ("cat .secret", "deny"),
        ("cp .secret b", "deny"),
        ("python x.py --file=.secret", "deny"),
    ],
)
def test_a_deny_rule_is_never_skipped_for_complexity(line: str, expected: str) -> None:
    rules = (Rule("deny", "shell", argv=("rm", "**")), Rule("deny", "read", path="**/.secret"))
    assert judge(run(line), *rules, mode="full").decision == expected


def test_rules_for_places_and_sandboxes() -> None:
    here = Rule("allow", "shell", argv=("make",), cwd="workspace")
    assert judge(RunCommand("make", ROOT / "sub"), here).decision == "allow"
    assert judge(RunCommand("make", Path("/srv")), here).decision == "ask"
    assert judge(run("make"), Rule("allow", "shell", argv=("make",), cwd="/srv")).decision == "ask"
    assert judge(run("make"), Rule("allow", "shell", argv=("make",), sandbox="required")).decision == "ask"
    assert judge(edit("src/a.py"), Rule("allow", "edit", path="src/**")).decision == "allow"
    assert judge(edit("a.py"), Rule("allow", "edit", path="src/**")).decision == "ask"
    assert judge(read("/srv/a"), Rule("allow", "read", path="/srv/*")).decision == "allow"
    assert judge(read("/srv/b/a"), Rule("allow", "read", path="/srv/*")).decision == "ask"
    assert judge(CallExternal("s__t", {}), Rule("allow", "mcp:s__t")).decision == "allow"
    assert judge(CallExternal("s__t", {}), Rule("deny", "mcp:s__t"), mode="full").decision == "deny"


def test_what_a_session_would_remember_is_exactly_what_was_asked() -> None:
    def offer(action: Action) -> Rule:
        rule = judge(action).scope_offer
        assert rule is not None
        assert judge(action, rule).decision == "allow"
        return rule

    make = offer(run("make test"))
    for other in ("make", "make test x", "make 'test' && make", "make testx", "make $(x)"):
        assert judge(run(other), make).decision == "ask"
    assert judge(RunCommand("make test", ROOT / "sub"), make).decision == "ask"
    piped = offer(run("make 2>&1 | tail"))
    assert judge(run("make 2>&1 | tail -3"), piped).decision == "ask"
    star = offer(run("make '*'"))
    assert judge(run("make x"), star).decision == "ask"
    edits = offer(edit("a.py"))
    assert judge(edit("b.py"), edits).decision == "allow"
    assert judge(edit("/srv/b.py"), edits).decision == "ask"
    assert judge(edit(".git/config"), edits).decision == "ask"
    outside = offer(read("/srv/a"))
    assert judge(read("/srv/b"), outside).decision == "ask"
    offer(CallExternal("s__t", {}))


def test_files_of_the_account_are_protected_where_the_home_directory_only_links_to_them(tmp_path: Path) -> None:
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    home.mkdir()
    (dotfiles / "nvim").mkdir(parents=True)
    (dotfiles / "bashrc").write_text("")
    (home / ".bashrc").symlink_to(dotfiles / "bashrc")
    (home / ".config").symlink_to(dotfiles)
    where = place_of(dotfiles, environment_of(home), account_places(home))
    for path in (dotfiles / "bashrc", dotfiles / "nvim" / "init.lua"):
        assert decide(EditFile(ResolvedPath(path, True), "modify"), Rules(), "trusted", "full", where).decision == "ask"
    assert decide(RunCommand("rm ~/.bashrc", tmp_path), Rules(), "trusted", "full", where).decision == "ask"


def test_outputs_of_ours_are_readable_though_our_directories_are_not() -> None:
    where = PolicyContext(ROOT, own=(Path("/state"),), readable=(Path("/state/s/outputs"),))
    assert decide(read("/state/s/outputs/a.txt"), Rules(), "unknown", "ask", where).decision == "allow"
    assert decide(read("/state/s/wire.jsonl"), Rules(), "unknown", "full", where).decision == "ask"


def test_a_path_is_judged_where_its_links_lead(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "plain").symlink_to(tmp_path / "privkey.pem")
    where = place_of(tmp_path / "w", environment_of(tmp_path))
    action = RunCommand("cat plain", tmp_path / "w")
    assert decide(action, Rules(), "trusted", "full", where).decision == "ask"


def test_a_path_is_judged_by_the_name_it_is_written_with_too(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    for name in (".env", ".envrc", "private"):
        (tmp_path / name).symlink_to("plain")
    where = place_of(tmp_path)
    rules = Rules((Rule("deny", "read", path="private"), Rule("allow", "edit", path="private")))

    async def nothing(_: object) -> NoReturn:
        raise AssertionError

    workspace = LocalWorkspace(tmp_path, (), nothing)
    expected: dict[Action, str] = {
        ReadFile(workspace.resolve("plain")): "allow",
        ReadFile(workspace.resolve(".env")): "ask",
        ReadFile(workspace.resolve(f"{tmp_path}/private")): "deny",
        EditFile(workspace.resolve(".envrc"), "modify"): "ask",
        EditFile(workspace.resolve("private"), "modify"): "ask",
        RunCommand("cat plain", tmp_path): "allow",
        RunCommand("cat .env", tmp_path): "ask",
        RunCommand("cat private", tmp_path): "deny",
    }
    assert {each: decide(each, rules, "trusted", "ask", where).decision for each in expected} == expected


TODAY = date(2026, 1, 1)
GOOD = """
[[rule]]
decision = "allow"
tool = "shell"
argv = ["pytest", "-q", "*"]
cwd = "workspace"
expires = "2026-12-31"
[[rule]]
decision = "deny"
tool = "read"
path = "**/.env*"
[[rule]]
decision = "allow"
tool = "mcp:github__create_issue"
expires = 2025-01-01
"""


def test_a_rules_file_is_read_and_expired_rules_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(GOOD)
    file.chmod(0o600)
    assert [(rule.decision, rule.tool) for rule in UserRules(file).now(TODAY).rules] == [
        ("allow", "shell"),
        ("deny", "read"),
    ]
    assert UserRules(tmp_path / "none.toml").now(TODAY) == Rules()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[[rule]]\ndecision = "allow"\ntool = "shell"\nargw = []',
            r"rule 1 \(line 1\): unknown key 'argw'; did you mean 'argv'",
        ),
        ('\n\n[[rule]]\ndecision = "maybe"\ntool = "shell"', r"rule 1 \(line 3\): decision: "),
        ('[[rule]]\ndecision = "allow"\ntool = "bash"', "tool: is one of shell"),
        ('[[rule]]\ndecision = "allow"', "tool: is required"),
        ('[[rule]]\ndecision = "allow"\ntool = "shell"\nargv = ["**", "a"]', "can only be the last word"),
        ('[[rule]]\ndecision = "allow"\ntool = "shell"\ncwd = "here"', "absolute path"),
        ('[[rule]]\ndecision = "allow"\ntool = "shell"\nexpires = "soon"', "expires"),
        ("[rules]\n", "unknown key 'rules'"),
        ("rule = 1", "tables"),
        ("rule = [1]", "rule 1"),
        ("[[rule", "rules.toml: "),
    ],
)
def test_a_wrong_rules_file_names_file_rule_line_and_key(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(RulesError, match=words) as caught:
        UserRules(file).now(TODAY)
    assert str(file) in caught.value.message


def test_a_rules_file_others_may_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(GOOD)
    file.chmod(0o666)
    with pytest.raises(RulesError, match=f"chmod go-w {file}"):
        UserRules(file).now(TODAY)


def test_a_rules_file_counts_as_it_is_now_however_fast_it_changes(tmp_path: Path) -> None:
    file, other = tmp_path / "rules.toml", tmp_path / "other.toml"
    rules = UserRules(file)
    for tool in ("edit", "read") * 50:
        other.write_text(f'[[rule]]\ndecision = "deny"\ntool = "{tool}"\n')
        other.chmod(0o600)
        if tool == "edit":
            file.write_bytes(other.read_bytes())
            file.chmod(0o600)
        else:
            other.replace(file)
        assert [[rule.tool for rule in rules.now(TODAY).rules] for _ in range(3)] == [[tool]] * 3
    file.chmod(0o666)
    with pytest.raises(RulesError, match=f"chmod go-w {file}"):
        rules.now(TODAY)
    file.unlink()
    assert rules.now(TODAY) == Rules()


def test_a_rules_file_that_has_settled_is_read_once_until_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(GOOD)
    file.chmod(0o600)
    status, read = file.stat(), list[str]()
    times = {"st_mtime_ns": status.st_mtime_ns}
    settled, later = (
        os.stat_result(tuple(status), {**times, "st_ctime_ns": status.st_ctime_ns - ago}) for ago in (10**12, 10**11)
    )
    rules = ReadOnce[RuleEntry]()

    def reading(when: str) -> tuple[tuple[int, RuleEntry], ...]:
        read.append(when)
        return read_entries(file)

    for state in (settled, settled, later, later, settled):
        assert rules.entries(state, lambda: reading("once")) == read_entries(file)
    assert len(read) == 3, "with the first look and after each change, also one that left size and time of writing"


@pytest.mark.parametrize(
    "line",
    ["sould trust", "cd x && env A=b /usr/bin/sould trust --yes", 'x="$(sould trust -y)"', "sould mcp add x -- y"],
)
def test_the_agent_gives_no_trust_by_itself(line: str) -> None:
    everything = Rules((Rule("allow", "shell"),))
    for mode in ("ask", "full"):
        verdict = decide(run(line), everything, "trusted", mode, NOWHERE)
        assert (verdict.decision, "run as you" in verdict.reason) == ("ask", True)


def test_what_was_allowed_in_one_place_is_not_allowed_where_a_cd_leads() -> None:
    rules = (
        Rule("allow", "shell", argv=("cd", "**")),
        Rule("allow", "shell", argv=("make",), cwd=str(ROOT)),
        Rule("allow", "shell", argv=("make",), cwd=str(ROOT / "sub")),
    )
    for line in ("make", "cd /srv", "cd sub && make"):
        assert judge(run(line), *rules).decision == "allow", line
    for line in ("cd /srv && make", "cd /srv; make", "cd other && make", "make; cd /srv; make", "cd .. && echo a"):
        assert judge(run(line), *rules).decision == "ask", line


@pytest.mark.parametrize(
    "line",
    [
        "cd ~ && echo x >> .bashrc",
        "cd; rm .netrc",
        "cd ~/x/.. && cd .. && pushd u && cp a .gitconfig",
        "(cd $HOME; cat .pypirc)",
    ],
)
def test_a_protected_path_is_seen_from_where_a_cd_leads(line: str) -> None:
    assert decide(run(line), Rules(), "trusted", "full", NOWHERE).decision == "ask"


def test_a_rule_that_asks_about_a_path_asks_about_commands_that_name_it() -> None:
    rules = (Rule("ask", "read", path="private/**"), Rule("ask", "edit", path="prod/**"), Rule("ask", "edit"))
    expected = {
        "cat private/a": "ask",
        "cd private && cat a": "ask",
        "cp a private/b": "ask",
        "rm prod/x": "ask",
        "ls prod": "allow",
        "cat public/a": "allow",
        "cp a b": "allow",
    }
    assert {line: judge(run(line), *rules, mode="full").decision for line in expected} == expected
