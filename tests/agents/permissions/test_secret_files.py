"""Files of secrets in a session: asked about in every mode, shown to people, and kept nowhere."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from sould.agents.permissions.policy import Mode
from sould.agents.sessions.session import Session
from sould.agents.soul.session_request import SessionRequest
from sould.agents.soul.timetravel.outcome import describe
from sould.agents.wire.display import DiffBlock
from sould.agents.wire.messages import ApprovalKind, ApprovalRequest, FilesRestored, Notification, TextPart, ToolResult
from soultest.bench import Bench, Watcher, call, finish, make_bench

CANARY = "hunter2canary"
CERTAIN = (".env", "key.pem", "id_rsa", ".netrc", ".git-credentials")
READ: Mapping[str, str] = {
    "prod.env": f"DB_PASSWORD={CANARY}\n",
    "secrets.yml": f"production:\n  secret_key_base: {CANARY}\n",
    "credentials.json": f'{{"installed": {{"client_secret": "{CANARY}"}}}}\n',
    "service-account.json": f'{{"private_key": "{CANARY}"}}\n',
    "terraform.tfstate": f'{{"outputs": {{"db_password": {{"value": "{CANARY}", "type": "string"}}}}}}\n',
    ".htpasswd": "admin:$apr1$hunter2canary$yyyyyyyyyyyyyyyyyyyyyy\n",
    "kubeconfig": f"users:\n- user:\n    token: {CANARY}\n",
    ".dockercfg": f'{{"r.invalid": {{"auth": "{CANARY}"}}}}\n',
    ".npmrc": f"//npm.invalid/:_authToken={CANARY}\n",
    ".git/config": f"[remote]\n\turl = https://me:{CANARY}@git.invalid/a\n",
    "deploy": f"-----BEGIN OPENSSH PRIVATE KEY-----\n{CANARY}\n",
    "notes.txt": f"SECRET={CANARY}\n",
    "link.txt": f"SECRET={CANARY}\n",
}
"""What each file holds; `notes.txt` is a hard link to `.env`, `link.txt` a symbolic one."""


def lay_out(project: Path) -> None:
    (project / ".git").mkdir()
    (project / ".env").write_text(READ["notes.txt"])
    os.link(project / ".env", project / "notes.txt")
    (project / "link.txt").symlink_to(".env")
    for name, text in READ.items():
        if not (project / name).exists():
            (project / name).write_text(text)


def calls(*lines: str) -> str:
    """One script with several calls, each with its own id."""
    return "\n".join(line.replace('"id": "1"', f'"id": "c{number}"') for number, line in enumerate(lines))


def kept(bench: Bench, text: str = CANARY) -> list[Path]:
    """The files of ours on disk that hold it."""
    files = (path for path in bench.state.rglob("*") if path.is_file())
    return [path for path in files if text.encode() in path.read_bytes()]


def said(watcher: Watcher) -> str:
    return "".join(part.text for part in watcher.of(TextPart)) + "".join(note.body for note in watcher.of(Notification))


async def session_in(bench: Bench, mode: Mode, answer: ApprovalKind | None = "approve") -> tuple[Session, Watcher]:
    session = await bench.new(mode)
    return session, Watcher(session, answer=answer)


@pytest.mark.parametrize("mode", ["plan", "ask", "review", "full"])
async def test_secrets_are_read_in_no_mode_unasked_and_nothing_of_them_shows_before_a_yes(
    tmp_path: Path, mode: Mode
) -> None:
    bench = make_bench(tmp_path)
    lay_out(bench.project)
    bench.script(
        calls(*(call("ReadFile", path=name) for name in READ)),
        calls(
            call("Grep", pattern="canary", output_mode="content", include_ignored=True),
            call("Grep", pattern="canary", output_mode="files_with_matches"),
            call("Grep", pattern="canary", output_mode="count_matches", path="."),
        ),
        "text: done",
    )
    async with bench.running():
        session = await bench.new(mode)
        watcher = Watcher(session, answer="reject", feedback="no")
        await finish(session, "look")
        asked = watcher.of(ApprovalRequest)
        assert len(asked) == len(READ)
        assert {each.scope for each in asked} == {""}
        for name in READ.keys() - {"link.txt"}:
            assert any(f"{bench.project}/{name}`" in each.description for each in asked), name
        assert len(watcher.of(ToolResult)) == len(READ) + 3
        await session.log.commit()
        assert CANARY not in repr(watcher.messages)
        assert kept(bench) == []


@pytest.mark.parametrize("mode", ["review", "full"])
async def test_secrets_are_replaced_after_a_question_and_what_they_held_is_on_no_disk(
    tmp_path: Path, mode: Mode
) -> None:
    bench = make_bench(tmp_path)
    for name in CERTAIN:
        (bench.project / name).write_text(f"SECRET={CANARY}\n")
    bench.script(calls(*(call("WriteFile", path=name, content="SECRET=new\n") for name in CERTAIN)), "text: done")
    async with bench.running():
        session, watcher = await session_in(bench, mode)
        await finish(session, "replace")
        asked = watcher.of(ApprovalRequest)
        edits = [each for each in asked if each.display]
        assert len(edits) == len(CERTAIN)
        for each in edits:
            assert isinstance(each.display[0], DiffBlock)
            assert CANARY in each.display[0].old_text
            assert each.scope == ""
            assert "undo ends with the daemon" in each.description
        assert {(bench.project / name).read_text() for name in CERTAIN} == {"SECRET=new\n"}
        await session.log.commit()
        assert kept(bench) == []
        await finish(session, "/undo")
        assert {(bench.project / name).read_text() for name in CERTAIN} == {f"SECRET={CANARY}\n"}
        assert kept(bench) == []


async def test_undo_of_a_secret_says_that_it_ended_with_the_daemon(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    (bench.project / ".env").write_text(f"SECRET={CANARY}\n")
    bench.script(call("WriteFile", path=".env", content="SECRET=new\n"), "text: done")
    async with bench.running():
        session, _ = await session_in(bench, "full")
        await finish(session, "replace")
        name = session.id
    async with bench.running():
        again = await bench.open(name)
        watcher = Watcher(again)
        await finish(again, "/undo")
        assert "ended with the daemon" in describe(watcher.of(FilesRestored)[-1])
        assert (bench.project / ".env").read_text() == "SECRET=new\n"


async def test_what_a_command_did_to_a_secret_is_on_no_disk_and_can_be_undone(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    (bench.project / ".env").write_text(f"SECRET={CANARY}\n")
    (bench.project / "prod.env").write_text(f"DB_PASSWORD={CANARY}\n")
    line = "echo SECRET=new > .env; echo DB_PASSWORD=other99 > prod.env"
    bench.script(call("Shell", command=line), "text: done")
    async with bench.running():
        session, watcher = await session_in(bench, "full")
        await finish(session, "replace")
        assert ".env holds secrets" in watcher.of(ApprovalRequest)[0].description
        assert kept(bench) == []
        assert [path for path in Path("/proc/self/fd").iterdir() if holds(path, CANARY)] == []
        await finish(session, "/undo")
        assert (bench.project / ".env").read_text() == f"SECRET={CANARY}\n"
        assert (bench.project / "prod.env").read_text() == f"DB_PASSWORD={CANARY}\n"
        assert kept(bench) == []


def holds(descriptor: Path, text: str) -> bool:
    """Whether an open file, one without a name included, holds a text."""
    try:
        return descriptor.is_file() and text.encode() in descriptor.read_bytes()
    except OSError:
        return False


async def test_a_copy_that_an_allowed_command_made_is_a_secret_too(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    (bench.project / ".env").write_text(f"SECRET={CANARY}\n")
    bench.script(call("Shell", command="cp .env plain.txt"), call("ReadFile", path="plain.txt"), "text: done")
    async with bench.running():
        session, watcher = await session_in(bench, "full")
        await finish(session, "copy")
        assert [
            f"{bench.project}/plain.txt holds the same as {bench.project}/.env" in each.description
            for each in watcher.of(ApprovalRequest)
        ] == [False, True]


async def test_secrets_are_known_again_wherever_they_went(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    (bench.project / "deep").mkdir()
    (bench.project / "deep/.env").write_text(f"SECRET={CANARY}\n")
    (bench.project / "key.pem").write_text(f"{CANARY} and more\n")
    bench.script(
        call("Shell", command="mv deep/.env deep/old.txt"),
        call("Grep", pattern="canary", output_mode="content"),
        call("ReadFile", path="deep/old.txt"),
        call("ReadFile", path="key.pem"),
        call("WriteFile", path="copy.txt", content=f"{CANARY} and more\n"),
        call("StrReplaceFile", path="copy.txt", edit={"old": "more", "new": "less"}),
        "text: done",
    )
    async with bench.running():
        session, watcher = await session_in(bench, "full")
        await finish(session, "move")
        copies = [each.description for each in watcher.of(ApprovalRequest) if "holds the same as" in each.description]
        assert [text.split()[2].rpartition("/")[2] for text in copies] == ["old.txt`", "copy.txt`", "copy.txt`"]
        found = [str(each.return_value.output) for each in watcher.of(ToolResult)]
        assert not [output for output in found if output.startswith("deep/old.txt:")]


async def test_names_of_secrets_are_still_listed(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    lay_out(bench.project)
    bench.script(call("Glob", pattern="*"), "text: done")
    async with bench.running():
        session, watcher = await session_in(bench, "ask", answer=None)
        await finish(session, "list")
        listed = str(watcher.of(ToolResult)[0].return_value.output)
        assert {".env", "prod.env", "kubeconfig"} <= set(listed.splitlines())


async def test_configured_names_are_asked_about(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, {"secrets": {"certain": ["*.vault"]}})
    (bench.project / "a.vault").write_text("x\n")
    bench.script(call("ReadFile", path="a.vault"), "text: done")
    async with bench.running():
        session, watcher = await session_in(bench, "full")
        await finish(session, "read")
        assert "a.vault holds secrets" in watcher.of(ApprovalRequest)[0].description


async def test_a_command_that_searches_unasked_sees_no_secret_whatever_the_project_s_ignore_files_say(
    bench: Bench, program_path: str
) -> None:
    project = bench.project
    (project / ".ignore").write_text("!.env\n!*.pem\n")
    (project / "bare.git").mkdir()
    (project / "bare.git" / "config").write_text("url = https://u:hunter2@example.org\n")
    for name in (".env", "key.pem", "secrets.yml", "conf.env", "conf.env.old", "#.env#", "notes.md"):
        (project / name).write_text("canary = hunter2\n")
    bench.script(call("Shell", command="rg -n hunter2"), "text: done")
    async with bench.running():
        environment = {"HOME": str(bench.root), "PATH": program_path}
        watcher = Watcher(await bench.host.new(SessionRequest(project, environment=environment, mode="plan")))
        await finish(watcher.session, "search")
    (result,) = watcher.of(ToolResult)
    assert str(result.return_value.output) == "notes.md:1:canary = hunter2\n"
    assert not watcher.of(ApprovalRequest)
