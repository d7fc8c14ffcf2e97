"""What an answer for the session is bound to, and how it ends when that changes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sould.agents.permissions.approval import Approval
from sould.agents.permissions.policy import RunCommand, programs_run
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.toolapi.base import ToolCallContext
from sould.agents.toolapi.result import ToolReturn
from sould.agents.wire.display import DiffBlock, ShellBlock
from sould.agents.wire.messages import ApprovalRequest, ApprovalResponse
from soultest.policy import approval_of, environment_of, place_of


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path.resolve()
    (root / "sub").mkdir()
    (root / "bin").mkdir()
    for name in ("b.sh", "x.py", "Makefile", "justfile", "sub/b.sh", "sub/Makefile", "my.mk", "bin/tool"):
        (root / name).write_text(f"one {name}\n")
        (root / name).chmod(0o755)
    (root / "package.json").write_text('{"scripts": {"test": "vitest", "posttest": "true", "lint": "eslint ."}}')
    return root


def place(root: Path) -> PolicyContext:
    return place_of(root, environment_of(path=f"{root / 'bin'}:/usr/bin:/bin"))


def bound(line: str, root: Path) -> set[str]:
    """The files that are there and that an answer for this line is bound to, seen from the project."""
    where = place(root)
    found = programs_run(RunCommand(line, root), where)
    return {os.path.relpath(each.path, root) for each in found if each.digest}


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("./b.sh", "b.sh"),
        ("bash b.sh", "b.sh"),
        ("bash -eu -o pipefail b.sh Makefile", "b.sh"),
        ("bash -euo pipefail b.sh", "b.sh"),
        ("bash -euxo pipefail -c ./b.sh", "b.sh"),
        ("flock ./package.json bash b.sh", "package.json b.sh"),
        ("eval bash b.sh", "b.sh"),
        ("busybox sh b.sh", "b.sh"),
        ("sh ./b.sh", "b.sh"),
        ("source b.sh", "b.sh"),
        (". ./b.sh && ls", "b.sh"),
        ("bash < b.sh", "b.sh"),
        ("bash -c 'make test'", "Makefile"),
        ("bash -c make", "Makefile"),
        ("tool", "bin/tool"),
        ("cd sub && bash b.sh", "b.sh sub/b.sh"),
        ("timeout 60 ./b.sh", "b.sh"),
        ("env A=1 -u B nice -n 5 bash b.sh", "b.sh"),
        ("find . -exec bash b.sh {} ;", "b.sh"),
        ("A=1 make test 2>&1 | tail -5", "Makefile"),
        ("make test", "Makefile"),
        ("make -C sub test", "sub/Makefile"),
        ("make -sC sub test", "sub/Makefile"),
        ("make -fmy.mk", "my.mk"),
        ("make --file=my.mk", "my.mk"),
        ("just build", "justfile"),
        ("npm test", "package.json"),
        ("npm run lint -- --fix", "package.json"),
        ("npm run nothing", ""),
        ("python x.py", "x.py"),
        ("python -m pytest x.py", ""),
        ("python3 -m pytest", ""),
        ("node ./x.py", "x.py"),
        ("uv run python ./x.py", "x.py"),
        ("pytest x.py", ""),
        ("git add ./b.sh", ""),
        ("cat ./b.sh", ""),
        ("ls", ""),
    ],
)
def test_a_command_is_bound_to_the_programs_it_names(line: str, files: str, project: Path) -> None:
    assert bound(line, project) == set(files.split())


class Person:
    """Answers each question with the next answer; `meanwhile` happens while it is being asked."""

    def __init__(self, *answers: ApprovalResponse) -> None:
        self.answers = list(answers)
        self.seen: list[ApprovalRequest] = []
        self.meanwhile: list[Callable[[], object]] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse:
        self.seen.append(request)
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return self.answers.pop(0)


ONCE = ApprovalResponse(request_id="", response="approve")
ALWAYS = ApprovalResponse(request_id="", response="approve_for_session")
EVER = ALWAYS.model_copy(update={"also_changed": True})
NO = ApprovalResponse(request_id="", response="reject")


def door(person: Person, root: Path) -> Approval:
    return approval_of(person, place(root))


async def runs(approval: Approval, root: Path, line: str) -> bool:
    call = ToolCallContext("call-1", 1)
    shown = (ShellBlock(command=line),)
    refused: ToolReturn | None = await approval.request(
        call, RunCommand(line, root), sender="Shell", description="Run it", display=shown
    )
    return refused is None


@pytest.mark.parametrize(("line", "name"), [("bash b.sh", "b.sh"), ("make test 2>&1 | tail", "Makefile")])
async def test_always_ends_when_what_it_runs_changes_and_the_change_is_shown(
    line: str, name: str, project: Path
) -> None:
    person = Person(ALWAYS, ONCE, NO)
    approval = door(person, project)
    assert await runs(approval, project, line)
    assert await runs(approval, project, line)
    assert len(person.seen) == 1
    assert f" without asking until {name} changes." in person.seen[0].scope
    (project / name).write_text("two\n")
    assert await runs(approval, project, line)
    assert f"{name} changed since you allowed this." in person.seen[1].description
    diff = DiffBlock(path=str(project / name), old_text=f"one {name}\n", new_text="two\n")
    assert person.seen[1].display == (ShellBlock(command=line), diff)
    assert person.seen[1].changed
    assert not await runs(approval, project, line), "what was allowed once is asked about again"


async def test_always_holds_for_the_new_version_once_that_was_allowed_for_the_session(project: Path) -> None:
    person = Person(ALWAYS, ALWAYS, NO)
    approval = door(person, project)
    assert await runs(approval, project, "make test")
    (project / "Makefile").write_text("two\n")
    assert await runs(approval, project, "make test")
    assert await runs(approval, project, "make test")
    (project / "Makefile").write_text("one Makefile\n")
    assert not await runs(approval, project, "make test"), "the version that was allowed first is a change by now"


async def test_also_when_it_changes_never_asks_again_but_is_offered_only_after_a_change(project: Path) -> None:
    person = Person(EVER, EVER)
    approval = door(person, project)
    assert await runs(approval, project, "make test")
    (project / "Makefile").write_text("two\n")
    assert await runs(approval, project, "make test")
    (project / "Makefile").write_text("three\n")
    assert await runs(approval, project, "make test")
    assert [request.changed for request in person.seen] == [False, True]


@pytest.mark.parametrize("name", ["GNUmakefile", "makefile"])
async def test_a_makefile_that_comes_before_the_one_that_was_allowed_is_a_change(name: str, project: Path) -> None:
    person = Person(ALWAYS, NO)
    approval = door(person, project)
    assert await runs(approval, project, "make test")
    (project / name).write_text("two\n")
    assert not await runs(approval, project, "make test")
    assert f"{name} is new since you allowed this." in person.seen[1].description


async def test_of_package_json_only_the_script_that_runs_counts(project: Path) -> None:
    person = Person(ALWAYS, NO)
    approval = door(person, project)
    assert await runs(approval, project, "npm test")
    text = (project / "package.json").read_text()
    (project / "package.json").write_text(text.replace("eslint .", "eslint src"))
    assert await runs(approval, project, "npm test")
    (project / "package.json").write_text(text.replace("posttest", "pretest"))
    assert not await runs(approval, project, "npm test")


async def test_code_that_is_not_bound_is_said_to_be_the_agent_s(project: Path) -> None:
    person = Person(ALWAYS)
    approval = door(person, project)
    assert await runs(approval, project, "pytest x.py")
    assert person.seen[0].scope.endswith(", also when the agent changes the code that it runs.")
    (project / "x.py").write_text("two\n")
    assert await runs(approval, project, "pytest x.py")


async def test_an_interpreter_is_bound_to_its_script_and_not_to_what_that_imports(project: Path) -> None:
    person = Person(ALWAYS, NO)
    approval = door(person, project)
    assert await runs(approval, project, "python x.py")
    covers = ", also when the agent changes other code than x.py."
    assert person.seen[0].scope.endswith(covers)
    (project / "imported.py").write_text("two\n")
    assert await runs(approval, project, "python x.py")
    (project / "x.py").write_text("two\n")
    assert not await runs(approval, project, "python x.py")


@pytest.mark.parametrize(
    "line",
    [
        "bash $PWD/b.sh",
        "cat b.sh | bash",
        "cat b.sh | python",
        "bash < b.sh",
        "bash ./*.sh",
        "bash -s",
        "bash --rcfile b.sh -i -c true",
        "bash -c 'cat b.sh | sh'",
        "bash missing.sh",
        "env -S 'bash b.sh'",
        "env BASH_ENV=b.sh bash -c true",
        "BASH_ENV=b.sh bash -c true",
        "export BASH_ENV=b.sh; bash -c true",
        "xargs -a list bash",
        "find . -name b.sh -exec bash {} +",
        "git -c core.pager=./b.sh log",
        "git rebase --exec ./b.sh main",
        "awk 'BEGIN{system(\"bash b.sh\")}'",
        "make SHELL=./b.sh test",
        "npm exec ./b.sh",
        "python -c 'import runpy; runpy.run_path(\"b.sh\")'",
        "python .",
        "node -r ./b.sh x.py",
        "unknown --hook=./b.sh",
        "cp x.py b.sh && bash b.sh",
        "cat x.py > b.sh && bash b.sh",
        "cd - && bash b.sh",
        "./shell b.sh | ./shell",
        "uv run x.py",
    ],
)
async def test_what_cannot_be_bound_is_allowed_no_more_than_once(line: str, project: Path) -> None:
    (project / "shell").symlink_to("/bin/sh")
    person = Person(ALWAYS, NO)
    approval = door(person, project)
    assert await runs(approval, project, line)
    assert (person.seen[0].scope, person.seen[0].lasting) == ("", ())
    assert not await runs(approval, project, line)


@pytest.mark.parametrize(
    "line",
    [
        "git commit --allow-empty -m 'two words'",
        "bash -euo pipefail b.sh one",
        "timeout 60 ./b.sh",
        "nice -n 5 bash b.sh",
        "cd sub && bash b.sh",
        "python -m pytest -q 2>&1 | tail -5",
        "uv run pytest x.py",
        "npm run lint -- --fix",
        "make -C sub test -j4",
        "cargo test",
        "cp x.py y.py",
        "unknown --quiet",
        "./b.sh x.py",
        "echo hello > new.txt",
    ],
)
async def test_what_is_bound_may_be_allowed_for_the_session(line: str, project: Path) -> None:
    person = Person(ALWAYS)
    approval = door(person, project)
    assert await runs(approval, project, line)
    assert await runs(approval, project, line)


async def test_two_answers_do_not_join_to_one_that_nobody_gave(project: Path) -> None:
    person = Person(ALWAYS, ALWAYS, NO)
    approval = door(person, project)
    assert await runs(approval, project, "cp x.py b.sh")
    assert await runs(approval, project, "bash b.sh")
    assert not await runs(approval, project, "cp x.py b.sh && bash b.sh"), "the one writes what the other runs"


async def test_a_link_that_leads_elsewhere_and_a_binary_that_changes_are_asked_about(project: Path) -> None:
    person = Person(ALWAYS, NO, ALWAYS, NO)
    approval = door(person, project)
    (project / "run").symlink_to("b.sh")
    (project / "other").write_text("two\n")
    assert await runs(approval, project, "./run")
    (project / "run").unlink()
    (project / "run").symlink_to("other")
    assert not await runs(approval, project, "./run")
    (project / "program").write_bytes(b"\xff" * 2_000_000)
    assert await runs(approval, project, "./program")
    (project / "program").write_bytes(b"\xfe" * 2_000_000)
    assert not await runs(approval, project, "./program")
    assert not any(isinstance(block, DiffBlock) for block in person.seen[3].display), "it is no text"


async def test_a_script_that_is_swapped_while_it_is_asked_about_is_asked_about_again(project: Path) -> None:
    person = Person(ONCE, NO)
    person.meanwhile = [lambda: (project / "b.sh").write_text("two\n")]
    assert not await runs(door(person, project), project, "./b.sh")
    assert [isinstance(block, DiffBlock) for block in person.seen[1].display] == [False, True]


@pytest.mark.long
async def test_nothing_runs_that_was_not_shown_however_often_it_is_swapped(project: Path) -> None:
    person = Person(*[ONCE] * 500, NO)
    person.meanwhile = [lambda text=f"{number}\n": (project / "b.sh").write_text(text) for number in range(500)]
    assert not await runs(door(person, project), project, "./b.sh")
    assert len(person.seen) == 501
