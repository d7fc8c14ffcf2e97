"""`AGENTS.md`: what the model is given of it, and what the user is told of the rest."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from sould.agents.sessions.session import Session
from sould.agents.sessions.settings.trusting import YES
from sould.agents.soul.session_request import SessionRequest
from sould.agents.wire.messages import Notification, QuestionRequest, ToolResult
from soultest.bench import Bench, Watcher, asked, call, finish
from soultest.bench.looks import messages_of, prompt_of
from soultest.gitinit import git_init

OTHER = 65534
QUESTION = "Trust this project, with the configuration it brings?"
RULE = "Always answer in verse."
LONG = "- a rule that is there\n" * 2000


def git(at: Path, *arguments: str) -> None:
    settings = ("user.name=T", "user.email=t@example.org", "protocol.file.allow=always")
    subprocess.run(["git", *(word for each in settings for word in ("-c", each)), *arguments], cwd=at, check=True)


def repository(at: Path) -> Path:
    at.mkdir(exist_ok=True)
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "--allow-empty", "-m", "first"]):
        git(at, *command)
    return at


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def session_in(bench: Bench, directory: Path, mode: str | None = None) -> Session:
    opening = bench.alone(mode)
    return await bench.host.new(SessionRequest(directory, environment=opening.environment, mode=opening.mode))


def told(watcher: Watcher) -> Sequence[str]:
    return [each.body for each in watcher.of(Notification) if each.type == "instructions"]


def too_long(project: Path) -> None:
    write(project / "AGENTS.md", f"first\n{LONG}{RULE}\n")


def out_of_the_project(project: Path) -> None:
    write(project.parent / "common.md", RULE)
    (project / "AGENTS.md").symlink_to(project.parent / "common.md")


def a_directory(project: Path) -> None:
    (project / "AGENTS.md").mkdir()


def in_another_encoding(project: Path) -> None:
    (project / "AGENTS.md").write_bytes("所有注释用中文。\n".encode("gbk"))


def for_another_agent(project: Path) -> None:
    write(project / "CLAUDE.md", RULE)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (too_long, "AGENTS.md`: it was cut after 32,758 of its"),
        (out_of_the_project, "AGENTS.md`: it is a link that leads out of the project"),
        (a_directory, "AGENTS.md`: it was not read"),
        (in_another_encoding, "AGENTS.md`: it is neither in UTF-8 nor in UTF-16"),
        (for_another_agent, "CLAUDE.md`: it was not read: it is written for another agent"),
    ],
)
async def test_the_user_and_the_model_are_told_what_was_not_read_and_why(
    make: Callable[[Path], None], why: str, bench: Bench
) -> None:
    make(bench.project)
    bench.script("text: ok", "text: ok", "text: ok")
    async with bench.running():
        first = Watcher(await bench.new())
        await finish(first.session, "hello")
        await finish(first.session, "go on")
        (body,) = told(first)
        assert f"`{bench.project}/{why}" in body
        prompt = prompt_of(first.session)
        assert f"<!-- {bench.project}/{why.replace('`', '')}" in prompt
        assert RULE not in prompt
        second = Watcher(await bench.new())
        await finish(second.session, "hello")
        assert told(second) == []  # once a project


async def test_a_text_is_cut_behind_a_line_and_what_has_no_room_is_named(bench: Bench) -> None:
    repository(bench.project)
    write(bench.project / "AGENTS.md", RULE)
    write(bench.project / "pkg" / "AGENTS.md", LONG)
    bench.script("text: ok")
    async with bench.running():
        watcher = Watcher(await session_in(bench, bench.project / "pkg"))
        await finish(watcher.session, "hello")
    prompt = prompt_of(watcher.session)
    assert f"- a rule that is there\n<!-- {bench.project}/pkg/AGENTS.md: it was cut" in prompt
    (body,) = told(watcher)
    assert f"`{bench.project}/AGENTS.md`: it was not read" in body


@pytest.mark.parametrize("name", ["AGENTS.md", "agents.md", "Agents.md", "AGENTS.MD"])
async def test_the_name_counts_in_any_letter_case(name: str, bench: Bench) -> None:
    write(bench.project / name, RULE)
    bench.script("text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "hello")
    assert prompt_of(watcher.session).count(RULE) == 1
    assert told(watcher) == []


async def test_a_submodule_has_the_instructions_of_its_superproject_before_its_own(bench: Bench) -> None:
    inner = bench.root / "inner"
    write(inner / "AGENTS.md", "Use tabs.")
    write(bench.project / "AGENTS.md", RULE)
    repository(bench.project)
    git(bench.project, "submodule", "--quiet", "add", str(repository(inner)), "libs/inner")
    async with bench.running():
        prompt = prompt_of(await session_in(bench, bench.project / "libs" / "inner"))
        other = repository(bench.project / "libs" / "other")
        apart = prompt_of(await session_in(bench, other))
    assert 0 < prompt.index(RULE) < prompt.index("Use tabs.")
    assert RULE not in apart


async def test_a_worktree_has_what_git_ignores_from_the_main_checkout(bench: Bench) -> None:
    write(bench.project / ".gitignore", ".sould/\n")
    write(bench.project / "AGENTS.md", "Use tabs.")
    write(bench.project / ".sould" / "AGENTS.md", RULE)
    there = bench.root / "there"
    git(repository(bench.project), "worktree", "add", "-q", str(there))
    write(there / "AGENTS.md", "Use spaces.")
    async with bench.running():
        prompt = prompt_of(await session_in(bench, there))
    assert prompt.count(RULE) == 1
    assert "Use spaces." in prompt
    assert "Use tabs." not in prompt


@pytest.mark.parametrize("mode", ["review", "full"])
async def test_an_edit_that_aims_at_the_main_checkout_is_refused_with_the_file_in_the_worktree(
    mode: str, bench: Bench
) -> None:
    there, main_file = bench.root / "there", bench.project / "a.txt"
    git(repository(bench.project), "worktree", "add", "-q", str(there))
    edit = call("StrReplaceFile", path=str(main_file), edit={"old": "hello", "new": "bye"})
    bench.script(edit, "text: ok", edit, "text: ok")
    async with bench.running():
        watcher = Watcher(await session_in(bench, there, mode))
        await finish(watcher.session, "go")
        assert main_file.read_text() == "hello\n"
        assert f"there the file to change is {there}/a.txt" in str(watcher.of(ToolResult)[0].return_value.message)
        await finish(watcher.session, f"/add-dir {bench.project}")  # then the user means it
        await finish(watcher.session, "go")
        assert main_file.read_text() == "bye\n"


@pytest.mark.parametrize(
    "work",
    [call("ReadFile", path="pkg/deep/x.py"), call("WriteFile", path="pkg/deep/y.py", content="y = 1\n")],
    ids=["read", "write"],
)
async def test_a_folder_s_instructions_come_with_the_first_file_of_it(work: str, bench: Bench) -> None:
    write(bench.project / "AGENTS.md", "Use tabs.")
    write(bench.project / "pkg" / "AGENTS.md", RULE)
    write(bench.project / "pkg" / "deep" / "x.py", "x = 1\n")
    write(bench.project / "elsewhere" / "AGENTS.md", "Never seen.")
    bench.script(work, work, "text: ok", work, "text: ok")
    async with bench.running():
        session = await bench.new("full")
        Watcher(session)
        await finish(session, "go")
        given = [each for each in asked(session) if RULE in each]
        assert len(given) == 1
        assert f"<!-- {bench.project}/pkg/AGENTS.md -->" in given[0]
        assert "Use tabs." not in given[0]
        kept = session.id
    async with bench.running():
        session = await bench.open(kept)
        await finish(session, "go on")
        assert len([each for each in asked(session) if RULE in each]) == 1
        assert "Never seen." not in str(messages_of(session))


async def test_a_folder_s_instructions_are_not_followed_out_of_the_project(bench: Bench) -> None:
    write(bench.root / "common.md", RULE)
    write(bench.project / "pkg" / "x.py", "x = 1\n")
    (bench.project / "pkg" / "AGENTS.md").symlink_to(bench.root / "common.md")
    bench.script(call("ReadFile", path="pkg/x.py"), "text: ok")
    async with bench.running():
        watcher = Watcher(await bench.new())
        await finish(watcher.session, "go")
    assert RULE not in str(messages_of(watcher.session))
    (body,) = told(watcher)
    assert f"`{bench.project}/pkg/AGENTS.md`: it is a link that leads out of the project" in body


async def test_a_folder_s_instructions_are_given_again_when_they_were_cleared_away(bench: Bench) -> None:
    write(bench.project / "pkg" / "AGENTS.md", RULE)
    write(bench.project / "pkg" / "x.py", "x = 1\n")
    work = call("ReadFile", path="pkg/x.py")
    bench.script(work, "text: ok", work, "text: ok")
    async with bench.running():
        session = await bench.new()
        Watcher(session)
        await finish(session, "go")
        await finish(session, "/clear")
        assert RULE not in str(messages_of(session))
        await finish(session, "go")
        assert RULE in str(messages_of(session))


def of_another(path: Path) -> str:
    os.chown(path, OTHER, -1)
    return "it belongs to nobody (uid 65534)"


def in_a_directory_of_another(path: Path) -> str:
    os.chown(path.parent, OTHER, -1)
    return f"{path.parent}, where it lies, belongs to nobody (uid 65534)"


def for_everybody_to_write(path: Path) -> str:
    path.chmod(0o666)
    return "it can be written by everybody"


async def trust_asked_about(bench: Bench, answer: str = YES) -> str:
    """What /trust shows in a new session before it is answered."""
    watcher = Watcher(await bench.host.new(replace(bench.alone(), capabilities=frozenset({"questions", "plan_mode"}))))
    watcher.answers = {QUESTION: answer}
    await finish(watcher.session, "/trust")
    (asked_about,) = watcher.of(QuestionRequest)
    return asked_about.questions[0].body


async def test_trust_names_files_with_nothing_that_cannot_be_seen(bench: Bench) -> None:
    write(bench.project / ".sould" / "agents" / "a\u202elmay.yaml", "version: 1\nagent:\n  extend: default\n")
    async with bench.running():
        assert "a\\u202elmay.yaml" in await trust_asked_about(bench, "Not now")


@pytest.mark.needs_root
@pytest.mark.parametrize("make", [of_another, in_a_directory_of_another, for_everybody_to_write])
async def test_what_others_can_write_is_read_once_the_user_was_asked_and_told_whose_it_is(
    make: Callable[[Path], str], bench: Bench
) -> None:
    path = bench.project / "AGENTS.md"
    write(path, RULE)
    whose = make(path)
    bench.script(*["text: ok"] * 3)
    async with bench.running():
        watcher = Watcher(await session_in(bench, bench.project))
        await finish(watcher.session, "hello")
        assert RULE not in prompt_of(watcher.session)
        (body,) = told(watcher)
        assert f"`{path}`: it was not read: {whose}; /trust" in body
        assert f"AGENTS.md: there NOT ONLY YOURS, {whose}" in await trust_asked_about(bench, "Not now")
        assert RULE not in prompt_of(await session_in(bench, bench.project))
        await trust_asked_about(bench)
        assert RULE in prompt_of(await session_in(bench, bench.project))
        with path.open("a") as file:
            file.write("And in Latin.\n")
        changed = Watcher(await session_in(bench, bench.project))
        await finish(changed.session, "hello")
        assert RULE not in prompt_of(changed.session)
        (body,) = [each.body for each in changed.of(Notification) if each.type == "trust"]
        assert f"AGENTS.md: changed NOT ONLY YOURS, {whose}" in body


async def test_what_an_empty_folder_called_git_has_beside_it_is_not_the_project_s(bench: Bench) -> None:
    top, inner = bench.root / "top", bench.root / "top" / "inner"
    inner.mkdir(parents=True)
    write(top / "AGENTS.md", RULE)
    write(top / ".agents" / "skills" / "rule" / "SKILL.md", f"---\nname: rule\ndescription: {RULE}\n---\nx\n")
    (top / ".git").mkdir()
    async with bench.running():
        assert RULE not in prompt_of(await session_in(bench, inner))
        git_init(top)
        assert prompt_of(await session_in(bench, inner)).count(RULE) == 2


@pytest.mark.needs_root
@pytest.mark.parametrize("where", ["superproject", "main checkout"])
async def test_a_checkout_of_another_instructs_nobody_who_works_in_one_of_theirs(where: str, bench: Bench) -> None:
    write(bench.project / ".gitignore", "AGENTS.md\n")
    write(bench.project / "AGENTS.md", RULE)
    repository(bench.project)
    if where == "superproject":
        inner = bench.project / "inner"
        git(bench.project, "submodule", "--quiet", "add", str(repository(bench.root / "other")), "inner")
    else:
        inner = bench.root / "inner"
        git(bench.project, "worktree", "add", "-q", str(inner))
    bench.script("text: ok")
    async with bench.running():
        assert RULE in prompt_of(await session_in(bench, inner))
        os.chown(bench.project / "AGENTS.md", OTHER, -1)
        watcher = Watcher(await session_in(bench, inner))
        await finish(watcher.session, "hello")
        assert RULE not in prompt_of(watcher.session)
        assert "it belongs to nobody (uid 65534)" in told(watcher)[0]


@pytest.mark.needs_root
async def test_instructions_of_a_folder_that_are_another_s_are_told_once_the_user_was_asked(bench: Bench) -> None:
    write(bench.project / "pkg" / "AGENTS.md", RULE)
    write(bench.project / "pkg" / "x", "x")
    os.chown(bench.project / "pkg" / "AGENTS.md", OTHER, -1)
    bench.script(*[call("ReadFile", path="pkg/x"), "text: ok"] * 3)
    async with bench.running():
        watcher = Watcher(await session_in(bench, bench.project))
        await finish(watcher.session, "look")
        assert RULE not in str(messages_of(watcher.session))
        assert "it belongs to nobody (uid 65534); /trust" in told(watcher)[0]
        assert "pkg/AGENTS.md: there NOT ONLY YOURS, it belongs to nobody" in await trust_asked_about(bench)
        trusted = Watcher(await session_in(bench, bench.project))
        await finish(trusted.session, "look")
        assert RULE in str(messages_of(trusted.session))
        (bench.project / "pkg" / "AGENTS.md").write_text("And in Latin.")
        changed = Watcher(await session_in(bench, bench.project))
        await finish(changed.session, "look")
        assert "in Latin" not in str(messages_of(changed.session))
