"""Nothing of a file that needs a yes shows before it: every tool, every parameter that names a path, every mode.

Two worlds differ in nothing but what needs a yes: what secrets hold, and what there is outside the project. The same calls
are made in both, and every question is refused. Whatever a model, a client, a journal or the blob store gets to see must
then be the same: content, equality, near matches, sizes, kinds and existence would all make a difference.
"""

import importlib
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from sould.agents.base.config import Config
from sould.agents.base.environment import Environment
from sould.agents.base.filelocks import FileLocks
from sould.agents.base.localworkspace import LocalWorkspace
from sould.agents.base.process.guard import ProcessGuard
from sould.agents.base.workspace import TextFile
from sould.agents.files.projects.projects import Projects
from sould.agents.files.projects.sessionfiles import Author, SessionFiles
from sould.agents.permissions.approval import Approval
from sould.agents.permissions.callfiles import CallFiles
from sould.agents.permissions.policy import MODES, Mode
from sould.agents.permissions.policycontext import PolicyContext
from sould.agents.permissions.protected import account_places
from sould.agents.sessions.workfiles import run_command
from sould.agents.toolapi.base import Tool, parameters_schema
from sould.agents.toolapi.session import ModelCapabilities
from sould.agents.tools import ToolCallContext, ToolReturn, Toolset, Workspace
from sould.agents.wire.messages import ApprovalKind, ApprovalRequest, ApprovalResponse, ToolResult
from soultest.bench import Watcher, call, finish, make_bench
from soultest.policy import approval_of, environment_of
from soultest.toolcalling import call_tool

TOOLS = (
    "sould.agents.tools.readfile:ReadFile",
    "sould.agents.tools.readmedia:ReadMediaFile",
    "sould.agents.tools.writefile:WriteFile",
    "sould.agents.tools.strreplace:StrReplaceFile",
    "sould.agents.tools.globtool:Glob",
    "sould.agents.tools.grep:Grep",
    "sould.agents.tools.shell:Shell",
    "soultest.sampletools:count_lines",
)
WALKED = {
    "ReadFile": {"path"},
    "ReadMediaFile": {"path"},
    "WriteFile": {"path"},
    "StrReplaceFile": {"path"},
    "Glob": {"directory", "pattern"},
    "Grep": {"path", "glob"},
    "Shell": {"command"},
}
"""Parameters that name a path; `probes` has calls for each."""
NO_PATHS = {
    "Agent": {
        "description",
        "model",
        "pipeline[].prompt",
        "pipeline[].subagent_type",
        "prompt",
        "resume",
        "subagent_type",
    },
    "AskUserQuestion": {"questions[].header", "questions[].question"}
    | {f"questions[].options[].{name}" for name in ("description", "label")},
    "CreateSubagent": {"description", "name", "system_prompt", "tools[]"},
    "ExitPlanMode": {"options[].description", "options[].label", "plan"},
    "FetchURL": {"url"},  # an address of the web; other kinds are refused
    "Grep": {"pattern", "type"},
    "ReadMcpResource": {"server", "uri"},  # the server opens it, and is asked about as a server
    "SearchWeb": {"query"},
    "SendDMail": {"message", "to"},
    "SetTodoList": {"todos[].title"},
    "Shell": {"description"},
    "StrReplaceFile": {"edit.new", "edit.old", "edit[].new", "edit[].old"},
    "TaskOutput": {"task_id"},
    "TaskStop": {"reason", "task_id"},
    "Think": {"thought"},
    "WriteFile": {"content"},
}

CANARY = "canary-7f3a"
KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n"
TOKEN = "ghp_{}A1b2C3d4E5f6G7h8I9j0K1l2M3n4o5"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\6\0\0\0" + bytes(40)


def every_tool() -> Iterator[type[Tool[Any]]]:
    """The classes of all tools of ours; those of MCP servers are made when a server names them."""
    root = Path(Toolset.__module__.replace(".", "/"))
    sources = next(Path(place) for place in sys.path if (Path(place) / root).with_suffix(".py").exists())
    for source in sorted((sources / "sould" / "agents").rglob("*.py")):
        if "(Tool[" not in (text := source.read_text()):
            continue
        module = importlib.import_module(".".join(source.relative_to(sources).with_suffix("").parts))
        yield from (getattr(module, name) for name in re.findall(r"^class (\w+)\(Tool\[\w+\]\)", text, re.MULTILINE))


def texts(schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """The parameters that take any text."""
    if schema.get("type") == "string" and not {"enum", "const"} & schema.keys():
        yield at
    for name, each in schema.get("properties", {}).items():
        yield from texts(each, f"{at}.{name}" if at else name)
    for each in (*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())):
        yield from texts(each, at)
    for name, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(schema.get(name), dict):
            yield from texts(schema[name], at + mark)


def test_the_walk_knows_every_parameter_of_every_tool() -> None:
    """A new one is added to `WALKED`, with calls for it, or to `NO_PATHS`."""
    ours = [tool for tool in every_tool() if hasattr(tool, "name") and hasattr(tool, "params")]
    found = {tool.name: set(texts(parameters_schema(cast("Any", tool).params))) for tool in ours}
    known = {name: WALKED.get(name, set()) | NO_PATHS.get(name, set()) for name in found}
    assert {name: names for name, names in found.items() if names} == {
        name: known[name] for name in known if known[name]
    }
    assert WALKED.keys() <= {path.rpartition(":")[2] for path in TOOLS}, (
        "a tool that is not loaded answers the same in both worlds"
    )
    walked = {(name, key) for name, arguments in probes(Path("/w"), outside=True) for key in arguments}
    assert {(name, key) for name, keys in WALKED.items() for key in keys} <= walked


# --- two worlds --------------------------------------------------------------------------------------------------------


def build(world: Path, *, other: bool) -> None:
    """A project, a home and our own directory. In the `other` world secrets hold something else, and little is outside."""
    mark = "other-text-1" if other else f"{CANARY}-"
    project, home = world / "project", world / "home"
    inside = {
        "a.txt": "hello\n",
        ".vscode/settings.json": "{}\n",
        ".env": f"KEY={mark}\n",
        "sub/.env.local": f"KEY={mark}\n",
        "server.pem": KEY.format(mark),
        "prod.env": f"GITHUB_TOKEN={TOKEN.format(mark[:4])}\n",
        ".git/config": f'[remote "o"]\n\turl = https://u:{TOKEN.format(mark[:4])}@github.com/a/b\n',
    }
    for name, text in inside.items():
        write(project / name, text)
    (project / "notes.txt").hardlink_to(project / ".env")
    (project / "innocent").symlink_to(".env")
    (project / "link").symlink_to("../home/out/plain.txt")
    (project / "linkdir").symlink_to("../home/out/dir")
    write(home / ".netrc", f"machine a password {mark}\n")
    write(world / "own" / "credentials.json", f'{{"key": "{mark}"}}\n')
    (project / "deploy").hardlink_to(world / "own" / "credentials.json")
    if not other:
        for name, text in {"plain.txt": "one\ntwo\n", "dir/inner.txt": f"{mark}\n", "text/x": "x"}.items():
            write(home / "out" / name, text)
        write(home / "out" / "picture.png", PNG.decode("latin-1"))
        write(home / ".git-credentials", f"https://u:{mark}@x\n")
        (home / "out" / "led").symlink_to("plain.txt")
    else:
        write(home / "out" / "text", "a file here, a directory there")
        (home / "out" / "led").mkdir()
    for path in (world, *world.rglob("*")):
        os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("latin-1"))


def secrets(world: Path) -> list[str]:
    """Paths of secrets, as a model may write them."""
    inside = [".env", "sub/.env.local", "server.pem", "prod.env", ".git/config", "notes.txt", "deploy", "innocent"]
    spelled = [
        "./sub/../.env",
        str(world / "project" / ".env"),
        f"/proc/self/root{world}/project/.env",
        "sub//.env.local",
    ]
    return [*inside, *spelled, "~/.netrc", str(world / "own" / "credentials.json"), "~/.git-credentials", ".ENV"]


def others(world: Path) -> list[str]:
    """Paths of what is outside."""
    out = world / "home" / "out"
    names = [
        "plain.txt",
        "missing",
        "dir",
        "dir/inner.txt",
        "text",
        "text/x",
        "picture.png",
        "led",
        "led/x",
        "dir/../text/x",
    ]
    spelled = [
        "../home/out/plain.txt",
        "~/out/plain.txt",
        f"{world}/project/../home/out/text",
        "/proc/self/fd/0",
    ]
    return [*(str(out / name) for name in names), *spelled, "link", "linkdir", "linkdir/inner.txt", "linkdir/../text"]


def probes(world: Path, *, outside: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Calls that would tell of what is not to be known. `outside`: also of what is outside the project."""
    for path in (*secrets(world), *(others(world) if outside else ())):
        yield from (("ReadFile", {"path": path}), ("ReadFile", {"path": path, "line_offset": 99}))
        yield from (("ReadMediaFile", {"path": path}), ("CountLines", {"path": path}))
        for content in ("one\ntwo\n", f"KEY={CANARY}-\n", KEY.format(f"{CANARY}-"), f"machine a password {CANARY}-\n"):
            yield "WriteFile", {"path": path, "content": content}
        yield "WriteFile", {"path": path, "content": "more", "mode": "append"}
        for old in ("one", f"KEY={CANARY}-", "KEY=nearly"):
            yield "StrReplaceFile", {"path": path, "edit": {"old": old, "new": "x"}}
        yield "StrReplaceFile", {"path": path, "edit": [{"old": "one", "new": "x"}, {"old": "zzz", "new": "y"}]}
        yield "Grep", {"path": path, "pattern": ".", "output_mode": "content"}
        for command in (
            "cat {}",
            "head -c 3 {}",
            "wc -c {}",
            "grep -c KEY {}",
            "ls -l {}",
            "stat {}",
            "du {}",
            "cat < {}",
        ):
            yield "Shell", {"command": command.format(path)}
        yield "Shell", {"command": f"cmp {path} a.txt && test -s {path}"}
    for glob in (".env", "**/*", "*.{env,pem}", "../home/out/*", f"{world}/home/out/*", "!*.txt", "notes.txt"):
        for pattern in ("KEY=canary", r"(?s)\A.*\Z"):
            yield "Grep", {"pattern": pattern, "glob": glob, "output_mode": "content", "include_ignored": True}
    if outside:
        for pattern in (
            "../home/out/*",
            f"{world}/home/out/*",
            "link*",
            "link*/*",
            "linkdir/**",
            "{..,.}/home/*",
            "**",
            "*",
        ):
            yield "Glob", {"pattern": pattern}
        for directory in others(world):
            yield "Glob", {"pattern": "*", "directory": directory}
        for command in (
            "ls -lL .",
            "ls -LR .",
            "du -aL .",
            "ls linkdir/",
            "cat linkdir/*",
            "readlink -e link",
            "tree -l",
        ):
            yield "Shell", {"command": command}


class Recorder(LocalWorkspace):
    """What an editor would be asked for, too."""

    opened: list[Path]

    async def read_text(self, path: Path) -> TextFile:
        self.opened.append(path)
        return await super().read_text(path)

    async def read_bytes(self, path: Path, limit: int) -> bytes:
        self.opened.append(path)
        return await super().read_bytes(path, limit)


@dataclass(slots=True)
class Session:
    """The tools of one session over one world, and all that leaves it."""

    tools: Toolset
    disk: Recorder
    asked: list[ApprovalRequest]
    meanwhile: list[Callable[[], None]]
    """What happens while the first question is open; later ones are refused then."""

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolReturn:
        return await call_tool(self.tools, name, arguments, ToolCallContext("call", 1, turn_id="turn"))

    async def seen(self, name: str, arguments: dict[str, Any]) -> str:
        """What is to be seen of a call.

        A question says where a link leads, also outside: else nobody would know what is asked.
        """
        self.asked.clear()
        checked = self.tools.check(name, arguments)
        result = await self.call(name, arguments)
        questions = [
            request.model_dump(exclude={"id", "digest"}) for request in self.asked if "/out/led" not in str(arguments)
        ]
        return f"{name} {arguments}\n{checked}\n{result}\n{questions}"


@asynccontextmanager
async def session(world: Path, mode: Mode, answer: ApprovalKind) -> AsyncGenerator[Session]:
    guard = ProcessGuard()
    environment = environment_of(world / "home", os.environ["PATH"])
    project = world / "project"
    disk = Recorder(project, (), partial(run_command, guard, environment), world / "home")
    disk.opened = []
    state = world.parent / "state"
    recorded = await SessionFiles.open(disk, Projects(state), Author("session", state, state))
    asked: list[ApprovalRequest] = []
    meanwhile: list[Callable[[], None]] = []
    swapped: list[ApprovalRequest] = []

    async def ask(request: ApprovalRequest) -> ApprovalResponse:
        asked.append(request)
        given: ApprovalKind = "reject" if swapped else answer
        if meanwhile:
            meanwhile.pop()()
            swapped.append(request)
        return ApprovalResponse(request_id=request.id, response=given, feedback="no")

    place = PolicyContext.of(project, (), environment, (world / "own",), account=account_places(environment.home))
    approval = approval_of(ask, place, mode)
    files = CallFiles(recorded, approval, FileLocks())
    services = {CallFiles: files, Workspace: files, Approval: approval, Environment: environment, Config: Config()}
    tools = Toolset.load(TOOLS, {**services, ModelCapabilities: ModelCapabilities(lambda: frozenset({"image_in"}))})
    try:
        yield Session(tools, disk, asked, meanwhile)
    finally:
        await recorded.aclose()
        await guard.aclose()


async def walked(world: Path, mode: Mode, *, other: bool) -> list[str]:
    """What is to be seen of every call in one of the worlds, each question refused."""
    shutil.rmtree(world.parent, ignore_errors=True)
    build(world, other=other)
    shown: list[str] = []
    async with session(world, mode, "reject") as at:
        for name, arguments in probes(world, outside=mode != "full"):
            shown.append(await at.seen(name, arguments))
            assert CANARY not in shown[-1] or CANARY in str(arguments)
    opened = {path.relative_to(world) for path in at.disk.opened}
    assert {path.parts[0] for path in opened} <= {"project"}
    assert not {path.name for path in opened} & {".env", ".env.local", "server.pem", "prod.env", "notes.txt", "deploy"}
    assert CANARY not in kept(world)
    return shown


@pytest.mark.long
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "auto"])
async def test_nothing_shows_before_a_yes(tmp_path: Path, mode: Mode) -> None:
    world = tmp_path / "both" / "world"  # at one place, so that all they say can be compared
    one, two = await walked(world, mode, other=False), await walked(world, mode, other=True)
    assert [pair for pair in zip(one, two, strict=True) if pair[0] != pair[1]] == []


async def test_with_a_yes_it_is_all_there(tmp_path: Path) -> None:
    """Else the walk would prove nothing."""
    world = tmp_path / "both" / "world"
    build(world, other=False)
    out = world / "home" / "out"
    async with session(world, "ask", "approve") as at:
        for path in (".env", "notes.txt", "~/.netrc", str(out / "dir" / "inner.txt")):
            assert CANARY in str(await at.call("ReadFile", {"path": path}))
            assert CANARY in str(await at.call("Grep", {"path": path, "pattern": CANARY, "output_mode": "content"}))
        same = await at.call("WriteFile", {"path": "~/out/plain.txt", "content": "one\ntwo\n"})
        assert "already holds" in same.message
        assert not (
            await at.call("StrReplaceFile", {"path": "~/out/plain.txt", "edit": {"old": "on", "new": "x"}})
        ).is_error
        assert (out / "plain.txt").read_text() == "xe\ntwo\n"


@pytest.mark.parametrize("swap", ["a link", "a hard link", "a link in its directory's place"])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ReadFile", {}),
        ("ReadMediaFile", {}),
        ("CountLines", {}),
        ("WriteFile", {"content": "x", "mode": "append"}),
        ("StrReplaceFile", {"edit": {"old": "KEY=nearly", "new": "x"}}),
        ("Grep", {"pattern": "KEY", "output_mode": "content"}),
    ],
)
async def test_what_takes_a_files_place_while_it_is_asked_about_is_not_what_was_allowed(
    tmp_path: Path, tool: str, arguments: dict[str, Any], swap: str
) -> None:
    world = tmp_path / "world"
    build(world, other=False)
    folder, secret = world / "home" / "out" / "dir", world / "project" / ".env"
    target = folder / ".env" if "directory" in swap else folder / "inner.txt"

    def take_its_place() -> None:
        if "directory" in swap:
            shutil.rmtree(folder)
            folder.symlink_to(secret.parent)
            return
        target.unlink()
        if swap == "a link":
            target.symlink_to(secret)
        else:
            target.hardlink_to(secret)

    async with session(world, "ask", "approve") as at:
        at.meanwhile.append(take_its_place)
        result = await at.call(tool, {"path": str(target), **arguments})
        assert at.meanwhile == []
        assert CANARY not in str(result)
        assert "lines" not in str(result.output)
        assert secret.read_text() == f"KEY={CANARY}-\n"


async def test_a_sessions_journal_and_blobs_hold_nothing_of_what_was_refused(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    (bench.project / ".env").write_text(f"KEY={CANARY}\n")
    (tmp_path / "outside.txt").write_text(f"{CANARY}\n")
    calls = [
        call(name, path=path, **arguments)
        for path in (".env", str(tmp_path / "outside.txt"))
        for name, arguments in (
            ("ReadFile", {}),
            ("WriteFile", {"content": "x", "mode": "append"}),
            ("StrReplaceFile", {"edit": {"old": "canary", "new": "x"}}),
            ("Grep", {"pattern": "canary", "output_mode": "content"}),
        )
    ]
    bench.script("\n".join(calls), "text: done")
    async with bench.running():
        watcher = Watcher(await bench.new("ask"), answer="reject", feedback="no")
        await finish(watcher.session, "go")
        assert len(watcher.of(ApprovalRequest)) == len(watcher.of(ToolResult)) == len(calls)
    found = [path for path in bench.state.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert found == []


def kept(world: Path) -> str:
    """All that is on disk of a session."""
    return "".join(path.read_text("latin-1") for path in (world.parent / "state").rglob("*") if path.is_file())
