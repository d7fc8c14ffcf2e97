"""The rules of the house: each is shown to bite on a small tree, and the real tree keeps them all."""

import subprocess
import sys
import textwrap
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import house
import housefrontends
import housetree
import pytest

ROOT = Path(__file__).resolve().parent.parent


def check(root: Path) -> tuple[int, str]:
    with redirect_stdout(StringIO()) as said:
        status = house.main(root)
    return status, said.getvalue()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A small tree that keeps all rules."""
    write(tmp_path, "pyproject.toml", '[project]\nname = "x"\nversion = "1.2.3"\n')
    write(tmp_path, "CHANGELOG.md", "# Changelog\n\n## 1.2.3 - today\n")
    write(tmp_path, "agents/sould/agents/loop.py", "from sould.agents import wire\n")
    write(tmp_path, "agents/sould/agents/tools/__init__.py", "")
    write(tmp_path, "agents/sould/agents/tools/editor/__init__.py", "")
    write(tmp_path, "acp/sould/acp/server/__init__.py", "")
    write(tmp_path, "daemon/sould/daemon/cli/__init__.py", "")
    write(tmp_path, "daemon/sould/daemon/main.py", "from sould.acp.serve import x\nfrom sould.agents.loop import y\n")
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def write(root: Path, name: str, content: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(content))


def test_a_tree_that_keeps_all_rules_passes(tree: Path) -> None:
    status, output = check(tree)
    assert (status, output.split(";")[0].strip()) == (0, "house: in order")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("agents/sould/agents/bad.py", "import sould.acp.serve\n", "bad.py:1: agents must not import sould.acp.serve"),
        (
            "agents/sould/agents/bad.py",
            "def f():\n    from sould import daemon\n",
            "bad.py:2: agents must not import sould.daemon",
        ),
        ("acp/sould/acp/bad.py", "from sould.editors.x import y\n", "acp must not import sould.editors.x"),
        ("editors/sould/editors/bad.py", "from sould.acp.x import y\n", "editors must not import sould.acp.x"),
        ("acp/sould/acp/bad.py", "from sould.daemon import x\n", "acp must not import sould.daemon"),
        ("acp/sould/acp/bad.py", "from dataclasses import dataclass\n", "a dataclass; make it a msgspec.Struct"),
        ("acp/sould/acp/bad.py", "from acp.schema import x\n", "acp must not import acp.schema"),
        ("acp/sould/acp/bad.py", "from . import x\n", "relative import"),
        (
            "agents/sould/agents/wire/bad.py",
            "from sould.agents.tools import x\n",
            "bad.py:1: wire must not import tools",
        ),
        (
            "agents/sould/agents/wire/bad.py",
            "def f():\n    from sould.agents import tools\n",
            "bad.py:2: wire must not import tools",
        ),
        (
            "agents/sould/agents/tools/web/bad.py",
            "from sould.agents.tools.editor import x\n",
            "web must not import editor",
        ),
        ("agents/sould/agents/odd/bad.py", "", "package odd stands in no layer"),
        ("acp/sould/acp/connection/bad.py", "from sould.acp.server.x import y\n", "connection must not import server"),
        ("daemon/sould/daemon/process/bad.py", "from sould.daemon.cli.x import y\n", "process must not import cli"),
        (
            "acp/sould/acp/bad.py",
            "def f():\n    from sould.agents.sessions.session import Session\n",
            "bad.py:2: sould.agents.sessions.session.Session in a frontend",
        ),
        (
            "acp/sould/acp/bad.py",
            "from sould.agents.sessions import host\n",
            "sould.agents.sessions.host in a frontend",
        ),
        ("acp/sould/acp/bad.py", "from sould.agents import sessions\n", "sould.agents.sessions in a frontend"),
        (
            "acp/sould/acp/bad.py",
            "import sould.agents.sessions.turns.turns\n",
            "sould.agents.sessions.turns.turns in a frontend",
        ),
        (
            "daemon/sould/daemon/bad.py",
            "from sould.agents.sessions.turns.turns import Turns\n",
            "turns.turns.Turns in a frontend",
        ),
        ("acp/sould/__init__.py", "", "acp/sould/__init__.py: must not exist"),
        ("agents/sould/agents/tools/bad.py", "import os\n", "bad.py:1: os in a tool; open files through CallFiles"),
        ("agents/sould/agents/tools/bad.py", "def f(path):\n    return open(path)\n", "bad.py:2: open in a tool"),
        ("agents/sould/agents/tools/bad.py", "def f(path):\n    return path.exists()\n", "bad.py:2: exists in a tool"),
        (
            "agents/sould/agents/tools/bad.py",
            "from sould.agents.base.workspace import Workspace\n",
            "Workspace in a tool",
        ),
        (
            "agents/sould/agents/bad.py",
            "class Bad(Tool[X]):\n    def f(self, path):\n        return path.read_text()\n",
            "bad.py:3: read_text in a tool; open files through CallFiles",
        ),
        (
            "agents/sould/agents/bad.py",
            "def f(x):\n    x.y = 1\n",
            "bad.py:2: x.y is assigned outside its class",
        ),
        ("agents/sould/agents/bad.py", "def f(x):\n    x.y += 1\n", "bad.py:2: x.y is assigned outside its class"),
        ("agents/sould/agents/bad.py", "def f(x):\n    x.a, x.y = 1, 2\n", "bad.py:2: x.y is assigned outside"),
        ("agents/sould/agents/bad.py", "def f(x):\n    del x.y\n", "bad.py:2: x.y is assigned outside its class"),
        ("agents/sould/agents/bad.py", "def f(x):\n    setattr(x, 'y', 1)\n", "bad.py:2: setattr(x, 'y', 1) is"),
        (
            "agents/sould/agents/bad.py",
            "class Bad:\n    def f(self):\n        self.x.y = 1\n",
            "bad.py:3: self.x.y is assigned outside its class",
        ),
        (
            "agents/sould/agents/bad.py",
            "class Bad:\n    def __init__(self, a, b, c, d, e, f, g, h, *, i): ...\n",
            "bad.py:1: Bad is given 9 things; the limit is 8",
        ),
        (
            "agents/sould/agents/bad.py",
            "@dataclass\nclass Bad:\n" + "".join(f"    f{n}: int\n" for n in range(9)) + "    def g(self): ...\n",
            "bad.py:2: Bad is given 9 things; the limit is 8",
        ),
        (
            "agents/sould/agents/bad.py",
            "class Service:\n    def f(self): ...\n\n@dataclass\nclass Bundle:\n"
            + "".join(f"    f{n}: Service | None = None\n" for n in range(9)),
            "bad.py:5: Bundle is given 9 things; the limit is 8",
        ),
        (
            "agents/sould/agents/bad.py",
            "class Bad:\n" + "".join(f"    def f{n}(self): ...\n" for n in range(21)),
            "bad.py:1: Bad has 21 public methods; the limit is 20",
        ),
        (
            "agents/sould/agents/bad.py",
            "class Bad:\n    f: Callable[[], int] | None = None\n",
            "bad.py:2: Bad.f is a bare Callable; give it a named Protocol",
        ),
        (
            "agents/sould/agents/bad.py",
            "class Bad:\n    def __init__(self, f: Callable[[], int]):\n        self._f = f\n",
            "bad.py:3: Bad._f is a bare Callable; give it a named Protocol",
        ),
        (
            "acp/sould/acp/bad.py",
            "import asyncio\n\nasync def f(x):\n    await asyncio.shield(x)\n",
            "bad.py:4: asyncio.shield;",
        ),
        ("acp/sould/acp/bad.py", "def f(loop):\n    loop.create_task(x())\n", "bad.py:2: a task of the loop"),
        ("acp/sould/acp/bad.py", "import httpx2\n\nx = httpx2.AsyncClient()\n", "bad.py:3: httpx2.AsyncClient"),
        (
            "acp/sould/acp/bad.py",
            "def f():\n    with suppress(CancelledError):\n        pass\n",
            "bad.py:2: a cancellation is lost",
        ),
        ("acp/sould/acp/bad.py", "from asyncio import shield\n", "bad.py:1: names of asyncio stand behind its own"),
        ("acp/sould/acp/bad.py", "from anyio.abc import TaskGroup\n", "bad.py:1: anyio is for mcp"),
        ("daemon/sould/daemon/long.py", "x = 1\n" * 501, "501 lines; the limit is 500"),
        ("tests/long.py", "def f():\n" + "    x = 1\n" * 61, "f has 62 lines; the limit is 60"),
        ("CHANGELOG.md", "# Changelog\n\n## 1.3.0\n\n## 1.2.3\n", "newest version is 1.3.0, the package's is 1.2.3"),
        ("CHANGELOG.md", "# Changelog\n", "names no version"),
        (
            "vscode-extension/package.json",
            '{\n  "version": "1.2.4"\n}\n',
            "its version is 1.2.4, the package's is 1.2.3",
        ),
        (
            "acp/registry/sould/agent.json",
            '{\n  "version": "1.2.4"\n}\n',
            "its version is 1.2.4, the package's is 1.2.3",
        ),
        ("notes.md", "see /" + "root/x\n", "notes.md:1: a path of one machine"),
        ("notes.md", "see /" + "home/ada/x\n", "notes.md:1: a path of one machine"),
        ("lock.json", '{"resolved": "https' + '://x/y.tgz"}\n', "lock.json:1: the address of a package registry"),
        ("lock.txt", "--index https://pypi" + ".org/simple\n", "lock.txt:1: the address of a package registry"),
    ],
)
def test_a_broken_rule_is_named_with_its_place(tree: Path, name: str, content: str, said: str) -> None:
    write(tree, name, content)
    status, output = check(tree)
    assert status == 1
    assert said in output


def test_a_docstring_does_not_count_as_length(tree: Path) -> None:
    write(
        tree,
        "agents/sould/agents/doc.py",
        'def f():\n    """Say.\n' + "    more\n" * 80 + '    """\n' + "    x = 1\n" * 55,
    )
    assert check(tree)[0] == 0


@pytest.mark.parametrize(
    "content",
    [
        "class Good:\n    def f(self):\n        self.x = 1\n",
        "class Good:\n    @classmethod\n    def f(cls):\n        made = cls()\n        made.x = 1\n        return made\n",
        "import sys\n\ndef f():\n    sys.excepthook = print\n",
        "import httpx2\n\ndef f(response: httpx2.Response):\n    response.stream = None\n",
        "@dataclass\nclass Data:\n" + "".join(f"    f{n}: int\n" for n in range(20)),
        "class Listener(Protocol):\n    def __call__(self): ...\n\nclass Good:\n    f: Listener\n",
        "class Good:\n    def f(self, work: Callable[[], int]):\n        return work()\n",
    ],
)
def test_what_the_rules_about_classes_allow(tree: Path, content: str) -> None:
    write(tree, "agents/sould/agents/good.py", content)
    assert check(tree)[0] == 0


def test_a_face_may_import_ports_and_values_and_only_the_composition_root_more(tree: Path) -> None:
    write(tree, "acp/sould/acp/good.py", "from sould.agents.sessions.port import SessionPort\n")
    write(tree, "acp/sould/acp/values.py", "from sould.agents.turns.turns import INTERRUPTED, Prompt\n")
    write(tree, housefrontends.COMPOSITION_ROOT, "from sould.agents.sessions.host import SessionHost\n")
    assert check(tree)[0] == 0


@pytest.mark.long
def test_nothing_but_the_ports_stands_on_the_list_of_faces_without_need() -> None:
    paths = [
        path for path in housetree.tracked(ROOT) if path.startswith(housefrontends.FRONTENDS) and path.endswith(".py")
    ]
    frontends = [housetree.read_file(ROOT, path) for path in paths]
    names = {name for frontend in frontends for node in frontend.imports() for name in house.reached(node)}
    needless = [
        each
        for each in housefrontends.MAY_IMPORT
        if not each.endswith("port") and not any(f"{name}.".startswith(f"sould.agents.{each}.") for name in names)
    ]
    assert needless == []


def test_a_circle_of_imports_is_named_with_the_way_round_it(tree: Path) -> None:
    write(tree, "acp/sould/acp/first.py", "import os\n\nfrom sould.acp import second\n")
    write(tree, "acp/sould/acp/second.py", "try:\n    from sould.acp.third import x\nexcept ImportError:\n    pass\n")
    write(tree, "acp/sould/acp/third.py", "class Third:\n    import sould.acp.first\n")
    status, output = check(tree)
    assert status == 1
    assert "acp/sould/acp/first.py:3: a circle of imports: " in output
    assert "sould.acp.first -> sould.acp.second -> sould.acp.third -> sould.acp.first" in output


def test_a_package_that_imports_its_own_modules_must_not_be_imported_by_them(tree: Path) -> None:
    write(tree, "agents/sould/agents/tools/__init__.py", "from sould.agents.tools.shell import Shell\n")
    write(tree, "agents/sould/agents/tools/shell.py", "from sould.agents.tools import Tool\n")
    assert "sould.agents.tools -> sould.agents.tools.shell -> sould.agents.tools" in check(tree)[1]


def test_a_package_runs_when_a_module_of_it_is_imported(tree: Path) -> None:
    write(tree, "agents/sould/agents/tools/__init__.py", "import sould.agents.floor\n")
    write(tree, "agents/sould/agents/tools/shell.py", "")
    write(tree, "agents/sould/agents/floor.py", "from sould.agents.tools.shell import Shell\n")
    assert "sould.agents.floor -> sould.agents.tools -> sould.agents.floor" in check(tree)[1]


@pytest.mark.parametrize(
    "content",
    [
        "def f():\n    from sould.acp.first import x\n",
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from sould.acp.first import X\n",
    ],
)
def test_late_imports_and_those_for_types_make_a_circle(tree: Path, content: str) -> None:
    write(tree, "acp/sould/acp/first.py", "from sould.acp.second import y\n")
    write(tree, "acp/sould/acp/second.py", content)
    status, output = check(tree)
    assert status == 1
    assert "a circle of imports: sould.acp.first -> sould.acp.second -> sould.acp.first" in output


def test_files_that_git_ignores_are_not_looked_at(tree: Path) -> None:
    write(tree, ".gitignore", "made/\n")
    write(tree, "made/lock.json", "/" + "root/x\n")
    assert check(tree)[0] == 0


@pytest.mark.long
def test_our_own_tree_is_in_order() -> None:
    line = [sys.executable, str(ROOT / "scripts" / "house.py")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_importing_the_soul_loads_no_adapter() -> None:
    program = "import sys, sould.agents.wire.messages; print([m for m in sys.modules if m.startswith('sould.') and '.agents' not in m])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_script_can_be_imported_without_running() -> None:
    assert house.FILE_LIMIT == 500


def test_the_architecture_page_names_the_packages_in_their_order() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text().split("### `agents/sould/agents`")[1].split("\n### ")[0]
    rows = [line.split("|")[1].strip().strip("`") for line in page.splitlines() if line.startswith("| `")]
    assert rows == list(house.LAYERS["agents"][1:])


def test_a_decision_that_nobody_can_look_up_is_named(tree: Path) -> None:
    write(tree, "docs/decisions.md", "**D7. Defaults** stand in one table.\n")
    write(tree, "agents/sould/agents/a.py", '"""The numbers (D7), and silence (D16)."""\n')
    status, output = check(tree)
    assert (status, "a.py:1: D16 is not in docs/decisions.md" in output, "D7" in output) == (1, True, False)


def test_a_package_without_a_page_or_with_a_long_one_is_named(tree: Path) -> None:
    write(tree, "ARCHITECTURE.md", "")
    write(tree, "agents/sould/agents/llm/__init__.py", '"""Models."""\n')
    assert "agents/llm/README.md: must say what the package is" in check(tree)[1]
    write(tree, "agents/sould/agents/llm/README.md", "\n" * 41)
    assert "agents/llm/README.md: 41 lines; the limit is 40" in check(tree)[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("from unittest.mock import patch", "a mock"),
        ("def test(monkeypatch): monkeypatch.setattr(x, 'y', 1)", "monkeypatch.setattr"),
        ("from sould.agents.loop import _turn", "_turn is private to sould.agents.loop"),
        ("assert session._turns == 1", "_turns is private"),
        ("from tests.agents.test_other import scene", "imports tests.agents.test_other"),
        ("time.sleep(0.1)", "a sleep"),
        ("async def test(): await asyncio.sleep(1)", "a sleep"),
    ],
)
def test_a_test_that_reaches_inside_or_sleeps_is_named(tree: Path, line: str, said: str) -> None:
    write(tree, "tests/agents/test_bad.py", f"{line}\n")
    status, output = check(tree)
    assert (status, said in output) == (1, True)
    assert "tests/agents/test_bad.py:1: " in output


@pytest.mark.parametrize(
    "line",
    [
        "def test(monkeypatch): monkeypatch.setenv('X', '1')",
        "class T(Client):\n    def _own(self): return super()._own() + self._kept",
        "from tests.agents.scenes import scene",
        "async def test(): await asyncio.sleep(0)",
    ],
)
def test_what_a_test_may_do_is_not_named(tree: Path, line: str) -> None:
    write(tree, "tests/agents/test_good.py", f"{line}\n")
    assert check(tree)[0] == 0
