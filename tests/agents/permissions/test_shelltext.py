"""Reading shell text: nothing dangerous is ever taken for harmless."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sould.agents.permissions.policy import RunCommand, decide
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.rules import Rules
from sould.agents.permissions.shelltext import RUNNERS, read_loosely, read_strictly
from soultest.luck import examples
from soultest.policy import environment_of, place_of

HARMLESS = [
    "ls",
    "ls -la src",
    "pwd",
    "echo hello 'big world' \"and more\"",
    "cat README.md",
    "cat ./src/a.py | head -20",
    "head -n 5 a.txt && tail -n5 a.txt",
    "grep -n 'def .*foo(' src/a.py | wc -l",
    "ls;pwd\nwhoami",
    "cd src && ls -l",
    "sort -k2 a.txt | uniq -c | sort -rn",
    "wc -l a.txt || true",
    "date +%s",
    "ls 'a file'",
    "l''s -l",
    "stat -c %s a.txt",
    "rg -n 'def foo' src",
    "rg --files -t py",
    "git status",
    "git status --short && git diff --stat",
    "git --no-pager log --oneline -n 5 -- src/a.py",
    "git show HEAD:src/a.py | head",
    "cd src && git diff HEAD~1",
    "git branch -a; git remote",
    "git rev-parse --show-toplevel",
    "seq 10 && seq -w 1 2 99999; seq 5 -1 -5",
]

DANGEROUS = [
    # chaining and newlines
    "ls\nrm x", "ls; rm x", "ls && rm x", "ls || rm x", "ls | sh", "ls & rm x", "ls |& sh", "ls;\trm x", "echo a\n\n\nrm x",
    # substitutions and expansions
    "echo `rm x`", "echo $(rm x)", 'echo "$(rm x)"', 'echo "`rm x`"', "echo ${x:=$(rm x)}", "echo ${x@P}", "echo $x",
    "echo $((a[$(rm x)]))", "ls a[$(rm x)]", "echo <(rm x)", "cat <<E\n$(rm x)\nE", "cat <<<$(rm x)", "echo ~root", "echo a=~",
    "echo a:~/x", "echo ''~",
    "echo $'\\x72m'", "$'\\x72m' x", "$'rm' x", '$"rm" x', "echo {a,b}", "cat *", "cat ?", "ls !(x)", "echo !rm",
    # the lexer's traps
    "r\\\nm x", "r\\m x", "rm\\ x", "ls \\", "'ls", '"ls', "l\\s", "ls # x\nrm x", "ls #", "ls\rrm x", "ls\x0brm x",
    "ls\u00a0rm", "ls\u2028rm x", "ls\u2029rm x", "ls\u0085rm x", "ls\u200brm", "ls \u202erm", "ls\u3000x", "\ufeffls",
    "ls\x00rm", "ls \x1b[2K", "ls ;; rm", "; ls", "ls &&", "| ls", "&& ls", "ls ; ; rm", "", "   ", "''", "'' x",
    # redirections, groups, keywords, functions, assignments
    "echo x > ~/.bashrc", "echo x>a", "ls 2>&1", "ls >| a", "cat < /etc/passwd", "{ rm x; }", "(rm x)", "if ls; then rm x; fi",
    "for f in a; do rm x; done", "while true; do rm x; done", "case a in a) rm x;; esac", "! ls", "time ls", "coproc ls",
    "function ls { rm x; }", "ls () { rm x; }", "[[ a -eq b ]]", "((x))", "PATH=. ls", "LD_PRELOAD=./x ls", "A=1", "A+=1 ls",
    "IFS=x ls", "select x in a; do rm x; done", "until ls; do rm x; done", "then rm x", "do rm x",
    # programs that run programs or code
    "eval ls", "exec ls", "command ls", "builtin echo", "env ls", "env A=1 rm x", "nohup ls", "timeout 5 rm x", "nice rm x",
    "xargs rm", "sudo ls", "find . -exec rm x +", "find . -delete", "find . -fprint x",
    "git -c core.fsmonitor=x status", "awk 'BEGIN{system(1)}'", "sed -n 1p a", "sed e a", "vi a", "less a",
    "man ls", "make", "npm test", "pip install .", "pytest", "python -c 1", "node -e 1", "perl -e 1", "sh x", "bash -c ls",
    ". x", "source x", "ssh h", "rsync a b", "tar -xf a --checkpoint-action=exec=x", "zip a b -TT x", "docker ps", "kill 1",
    "trap 'rm x' EXIT", "printf -v 'a[$(rm x)]' 1", "read x", "declare x", "let x", "test -v x", "rg --pre x y",
    "tee a", "dd of=a", "busybox rm x", "curl h", "wget h", "nc h", "alias ls", "set -x", "export A", "hash -p x ls",
    "enable -f x y", "mapfile a", "unset x", "jobs -x rm x", "script -c x", "watch ls", "strace ls",
    # flags that write, run or follow
    "sort -o a b", "sort --output=a b", "sort --compress-program=x a", "sort --compress-prog x a", "sort -T x a",
    "sort --key -- -o a", "sort -k -o a", "uniq a b", "tail -f a", "ls --unknown", "date -s 1", "date 01010000", "hostname x",
    "tree -o a", "file -C -m x", "file -f a", "grep -r x .", "grep -R x", "grep --include=x -r y", "grep -f a b", "wc --files0-from=a",
    "cat -- -a", "du --files0-from=a", "date -f a", "cd", "cd -", "cd ..", "cd src/../..", "cd src; ls", "cd src || ls",
    "cd nothing && true; cat link", "cd src & ls", "ls && cd src",
    # paths, not names; programs from the workspace; files outside and secret files
    "./ls", "/bin/ls", "src/ls", "../ls", "cat /etc/passwd", "cat ../x", "ls /", "cat link", "cat .env", "cat src/.env.local",
    "head key.pem", "cat id_rsa", "grep a .ENV", "ls -la .ssh", "cat /proc/self/environ", "stat -c %n /etc/shadow", "evil",
    "grep -e /etc x", "wc ../a", "head -c 10 /dev/zero", "echo a | cat - /etc/hosts",
    # searches: what runs others, or reaches what is passed over
    "rg --pre cat x", "rg -z x", "rg -u x", "rg -uu x", "rg --hidden x", "rg -. x", "rg --no-ignore x", "rg -L x", "rg -g '*.json' x",
    "rg --glob=.env x", "rg --iglob x y", "rg x .env", "rg x /etc", "rg -f p x", "rg --ignore-file a x", "rg --no-config x", "rg -d 1 x",
    # git: what changes, runs or hides, and what is not for the model
    "git", "git commit -m x", "git -c core.pager=x status", "git -C /tmp status", "git --git-dir=/tmp status", "git branch new",
    "git diff --output=a", "git diff --ext-diff", "git log --textconv", "git diff --no-index a b", "git show HEAD:.env",
    "git show HEAD:src/../.env", "git diff /etc/passwd a", "git diff -- ':(top)x'", "git diff -- '*.py'", "git blame key.pem",
    "git remote update", "git remote -v", "git tag v1", "git stash", "git fetch", "git log --show-signature", "git status -v", "git grep x",
    # size
    "seq 1 999999999999", "seq inf", "seq 0 .0000001 9", "seq 1e9", "seq 0xfffffff",
    "echo " + "a" * 17_000, ";".join(["ls"] * 21),
]  # fmt: skip


@pytest.fixture(scope="module")
def where(program_path: str, tmp_path_factory: pytest.TempPathFactory) -> PolicyContext:
    root = tmp_path_factory.mktemp("work")
    (root / "src").mkdir()
    (root / "bin").mkdir()
    for evil in (root / "bin" / "evil", root / "src" / "ls"):
        evil.write_text("#!/bin/sh\n")
        evil.chmod(0o755)
    (root / "link").symlink_to("/etc/passwd")
    subprocess.run(["git", "init", "-q", root], check=True)
    return place_of(root, environment_of(root.parent, f"{program_path}:{root}/bin"))


def decision(line: str, where: PolicyContext) -> str:
    return decide(RunCommand(line, where.root), Rules(), "unknown", "ask", where).decision


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_line_runs_without_a_question(line: str, where: PolicyContext) -> None:
    assert decision(line, where) == "allow"


@pytest.mark.parametrize("line", DANGEROUS, ids=[ascii(line)[:60] for line in DANGEROUS])
def test_a_dangerous_or_uncertain_line_is_asked_about(line: str, where: PolicyContext) -> None:
    assert decision(line, where) == "ask"


@pytest.mark.parametrize("program", sorted(RUNNERS))
def test_a_program_that_runs_others_is_never_harmless(program: str, where: PolicyContext) -> None:
    for arguments in ("", " --version", " ls", " -- ls"):
        assert decision(program + arguments, where) == "ask"


def test_a_program_found_in_the_workspace_or_behind_a_relative_entry_is_not_harmless(where: PolicyContext) -> None:
    for path in (f"{where.root}/src:/usr/bin:/bin", ".:/usr/bin:/bin", ":/usr/bin:/bin", "bin:/usr/bin:/bin"):
        elsewhere = place_of(where.root, environment_of(path=path))
        assert decision("ls", elsewhere) == "ask"


def test_one_harmless_command_in_a_directory_outside_is_asked_about(where: PolicyContext) -> None:
    action = RunCommand("ls", Path("/etc"))
    assert decide(action, Rules(), "trusted", "review", where).decision == "ask"


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("ls; rm -rf x", ("rm", "-rf", "x")),
        ("echo $(rm x)", ("rm", "x")),
        ('echo "a $(rm x) b"', ("rm", "x")),
        ("echo `rm x`", ("rm", "x")),
        ("env A=1 nohup rm x", ("rm", "x")),
        ("sudo -u root rm x", ("rm", "x")),
        ("bash -c 'ls && rm x'", ("rm", "x")),
        ("bash -c \"bash -c 'rm x'\"", ("rm", "x")),
        ("find . -exec rm x +", ("rm", "x", "+")),
        ("r\\m x", ("rm", "x")),
        ("r\\\nm x", ("rm", "x")),
        ("$'\\x72m' x", ("rm", "x")),
        ("$'\\162m\\e' x", ("rm\x1b", "x")),
        ("$'rm\\x0 and more' x", ("rm", "x")),
        ("$'\\u72\\155\\q' x", ("rm\\q", "x")),
        ("rm $'\\ud800' $'\\U00110000'", ("rm", "\\ud800", "\\U00110000")),
        ("if true; then rm x; fi", ("rm", "x")),
        ("{ rm x; }", ("rm", "x")),
        ("(rm x)", ("rm", "x")),
        ("A=1 rm x", ("rm", "x")),
        ("! rm x", ("rm", "x")),
        ("rm x > /dev/null", ("rm", "x", "/dev/null")),
        (";".join(["ls"] * 60 + ["rm x"]), ("rm", "x")),
        ("rm 'x", ("rm", "x")),
    ],
)
def test_suspicion_finds_what_might_be_run(line: str, argv: tuple[str, ...]) -> None:
    assert argv in read_loosely(line)


PIECES = st.one_of(
    st.sampled_from(
        ["ls", "rm", "echo", " ", "  ", "\t", "\n", ";", "&", "&&", "|", "||", "'", '"', "\\", "`", "$", "(", ")", "{", "}", "<", ">",
         "#", "!", "*", "?", "[", "]", "~", "=", "-a", "a", "x y", "\r", "\u00a0", "\u2028", "^", "%", ",", ":", "time", "if", "''", "@"]
    ),
    st.text(max_size=3),
)  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> str:
    return draw(st.sampled_from(["ls ", "rm", "a\t"])) + "".join(draw(st.lists(PIECES, max_size=8)))


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PATH of one program under every name that says how it was called."""
    directory = tmp_path_factory.mktemp("fake")
    for name in ("ls", "rm", "a", "x", "y"):
        (directory / name).write_text('#!/bin/bash\nprintf "%s\\0" "$0" "$#" "$@" >> "$RECORD"\n')
        (directory / name).chmod(0o755)
    return directory


@settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(line=lines())
def test_what_is_read_strictly_is_what_bash_runs(line: str, fake: Path, tmp_path: Path) -> None:
    reading = read_strictly(line)
    if reading.problem or any(argv[0] not in {"ls", "rm", "a", "x", "y"} for argv in reading.commands):
        return
    if not set(reading.operators) <= {";", "\n", "&&"}:  # the others run only some of the commands
        return
    record = tmp_path / "record"
    record.write_bytes(b"")
    ran = subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-c", line],
        env={"PATH": str(fake), "RECORD": str(record)},
        cwd=fake,
        capture_output=True,
        check=False,
    )
    assert ran.stderr == b""
    expected = b"".join(
        b"".join(word.encode() + b"\0" for word in (f"{fake}/{argv[0]}", str(len(argv) - 1), *argv[1:]))
        for argv in reading.commands
    )
    assert record.read_bytes() == expected


@given(st.text(max_size=80))
def test_loose_reading_never_fails(text: str) -> None:
    read_loosely(text)
