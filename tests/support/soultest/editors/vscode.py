"""vscode-languageclient, the library of VS Code's extensions, in Node.js without a workbench (tests/clients/vscode_editor.cjs)."""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from soultest.clients import FOLDER, NODE
from soultest.daemon import until
from soultest.editors.driving import Editor
from soultest.screen import PATIENCE
from soultest.world import SOULD, World


class VsCode(Editor):
    """One request at a time; what its user is asked stays open meanwhile."""

    def __init__(self, process: "subprocess.Popen[str]", formats: bool) -> None:
        self._process = process
        self._formats = formats

    def _ask(self, operation: str, given: object = None) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps({"op": operation, "given": given}), file=self._process.stdin, flush=True)
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer
        return answer["result"]

    def ready(self) -> None:
        self._ask("ready")

    def buffer(self) -> str:
        return self._ask("buffer")

    def unsaved(self) -> bool:
        return self._ask("unsaved")

    def go(self, line: int) -> None:
        self._ask("go", line)

    def append(self, text: str) -> None:
        self._ask("append", text)

    def undo(self) -> None:
        self._ask("undo")

    def save(self) -> None:
        if self._formats:
            self._ask("trim")
        self._ask("save")

    def act(self, title: str) -> None:
        until(lambda: self._ask("act", title), PATIENCE, f"the action {title}")

    def choose(self, title: str) -> None:
        until(lambda: self._ask("choose", title), PATIENCE, f"{title} asked")

    def offered(self) -> list[str]:
        return self._ask("offered")

    def lenses(self) -> list[str]:
        return self._ask("lenses")

    def kill(self) -> None:
        self._process.kill()


@contextmanager
def vscode(world: World, file: Path, formats: bool) -> Generator[VsCode]:
    """The client with that file, until the block is left."""
    command = [str(NODE), str(FOLDER / "vscode_editor.cjs"), str(file), str(SOULD), "lsp"]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=world.environment, cwd=world.project, stdin=pipe, stdout=pipe, text=True)
    with process:
        yield VsCode(process, formats)
        if process.stdin is not None:
            process.stdin.close()
