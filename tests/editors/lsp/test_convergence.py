"""Two clients of different protocols keep, reject, take back and type in the same file: they see the same, and nothing typed is lost."""

import random
from pathlib import Path
from typing import Any

import pytest
from tests.acp.handlers.test_review import CHANGED, edited, reviewer

from soultest.acpclient import AcpClient
from soultest.bench import Bench
from soultest.bench.acp import Connect
from soultest.bench.lsp import ConnectEditor
from soultest.lspclient import FULL, LspClient

Json = dict[str, Any]
LINES = 240
EVERY = 4
STEPS = 200


def text(*, changed: bool) -> str:
    return "".join(f"{'agent' if changed and n % EVERY == 0 else 'line'} {n}\n" for n in range(LINES))


class Eye:
    """What one client knows of what is pending, from what it was told since it subscribed."""

    def __init__(self, client: AcpClient | LspClient, known: Json) -> None:
        self.client = client
        self._known = known["files"]

    def sees(self) -> dict[str, list[tuple[int, str, int]]]:
        """The hunks of each file."""
        files = {file["path"]: file["hunks"] for file in self._known}
        for message in self.client.messages:
            if message.get("method") == CHANGED:
                assert not message["params"].get("everything")
                assert not message["params"].get("others")
                files |= {file["path"]: file["hunks"] for file in message["params"]["files"]}
        return {
            path: [(each["id"], each["digest"], each["start"]) for each in hunks]
            for path, hunks in files.items()
            if hunks
        }

    async def catches_up(self, wanted: dict[str, list[tuple[int, str, int]]]) -> None:
        """It sees this."""
        await self.client.wait_for(lambda _: self.sees() == wanted)


class User:
    """Does something at random in one client or the other."""

    def __init__(
        self, seed: int, path: Path, editor: LspClient, uri: str, clients: list[AcpClient | LspClient]
    ) -> None:
        self._random = random.Random(seed)
        self._path = path
        self._editor = editor
        self._uri = uri
        self._clients = clients
        self._known: list[int] = []
        self._saved = True
        self.typed: list[str] = []

    async def step(self, n: int) -> None:
        """One thing."""
        what = self._random.choice(("keep", "reject", "undo", "type", "type", "save", "lines"))
        if what == "type":
            lines = self._editor.buffers[self._uri].text.splitlines(keepends=True)
            at = sum(map(len, lines[: self._random.randint(0, len(lines))]))
            self.typed.append(f"typed {n}\n")
            self._saved = False
            self._editor.replace(self._uri, at, at, self.typed[-1])
        elif what == "save":
            self.save()
        else:
            await self._decide(what, self._random.choice(self._clients))
            self.reload()

    def save(self) -> None:
        """Save the file in the editor."""
        self._editor.save(self._uri, self._path)
        self._saved = True

    def reload(self) -> None:
        """The editor shows what is on disk, as editors do with what is saved in them."""
        buffer, there = self._editor.buffers[self._uri].text, self._path.read_text()
        if self._saved and buffer != there:
            self._editor.replace(self._uri, 0, len(buffer), there)

    async def _decide(self, what: str, client: AcpClient | LspClient) -> None:
        cwd = str(self._path.parent)
        listed = await client.request("_sould/review/list", cwd=cwd)
        hunks = [hunk for file in listed["files"] for hunk in file["hunks"]]
        if what == "undo":
            chosen = [{"id": self._random.choice(self._known)}] if self._known else []
        else:
            chosen = [
                {"id": each["id"], "digest": each["digest"]} for each in self._random.sample(hunks, min(2, len(hunks)))
            ]
        if chosen:
            self._known += [each["id"] for each in chosen]
            more: Json = {"lines": [0, 1]} if what == "lines" and len(chosen) == 1 else {}
            verdict = self._random.choice(("keep", "reject")) if what == "lines" else what
            await client.request(f"_sould/review/{verdict}", cwd=cwd, hunks=chosen, **more)


@pytest.mark.parametrize("seed", [1, 2])
async def test_two_clients_see_the_same_whatever_is_decided_and_typed(
    bench: Bench, connect: Connect, connect_editor: ConnectEditor, seed: int
) -> None:
    path = bench.project / "a.txt"
    await edited(bench, {"a.txt": (text(changed=False), text(changed=True))})
    async with bench.running(), reviewer(connect) as other, connect_editor() as editor:
        await editor.initialize(FULL, bench.project)
        uri = editor.open(path)
        clients: list[AcpClient | LspClient] = [other, editor]
        cwd = str(bench.project)
        eyes = [Eye(each, await each.request("_sould/review/subscribe", cwd=cwd)) for each in clients]
        user = User(seed, path, editor, uri, clients)
        for n in range(STEPS):
            await user.step(n)

        user.save()
        lists = [await each.request("_sould/review/list", cwd=cwd) for each in (editor, other)]  # what was typed first
        there = [_hunks(each) for each in lists]
        assert there[0] == there[1]
        for eye in eyes:
            await eye.catches_up(there[0])
        assert path.read_text() == editor.buffers[uri].text
        assert set(user.typed) <= set(path.read_text().splitlines(keepends=True))

        await other.request("_sould/review/reject", cwd=cwd, all=True)
        user.reload()
        for eye in eyes:
            await eye.catches_up({})
        base = (await editor.request("_sould/review/base", path=str(path)))["text"]
        assert base == editor.buffers[uri].text
        assert set(user.typed) <= set(base.splitlines(keepends=True))


def _hunks(listed: Json) -> dict[str, list[tuple[int, str, int]]]:
    return {
        file["path"]: [(each["id"], each["digest"], each["start"]) for each in file["hunks"]]
        for file in listed["files"]
        if file["hunks"]
    }
